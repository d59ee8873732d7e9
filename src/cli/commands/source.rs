//! The rows that a command works on: those of an archive or lake, or those of logs that are read only for this command.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use agentlogs::analysis::export::Facts;
use agentlogs::base::time::Day;
use agentlogs::ingest::{self, Progress};
use agentlogs::ledger;
use agentlogs::ledger::costs;
use agentlogs::model::source::Source;
use agentlogs::model::tables::Tables;
use agentlogs::prices::Catalog;
use agentlogs::store::archive::{self, RepositoryFacts, Snapshot};
use agentlogs::store::frames::{self, Frames, TABLES};
use agentlogs::store::lake::Lake;
use polars::prelude::IntoLazy;

use super::hints::options_of;
use super::output::{complain_of_path, say};
use super::reading::{options, start_threads};
use super::summary::Losses;
use crate::cli::args;
#[cfg(unix)]
use crate::cli::memory;
use crate::cli::settings::Settings;
use crate::cli::terminal;

/// The tables that a command reads.
pub struct Opened {
    pub frames: Frames,
    /// The options that name them, for the commands in messages: see [`options_of`].
    pub options: String,
    origin: OpenedFrom,
}

/// Where tables are from.
enum OpenedFrom {
    /// An archive. The snapshot keeps writers from removing the files of the tables.
    Archive(Snapshot),
    Lake(Lake),
    /// Logs that are read only for this command, with their facts if they are needed.
    Logs(Vec<Source>),
}

impl Opened {
    /// The option that names the archive; empty for logs, which are in none.
    pub fn archive_option(&self) -> &str {
        if matches!(self.origin, OpenedFrom::Logs(_)) { "" } else { &self.options }
    }

    /// The date of the prices of computed costs, if it is known.
    pub fn prices(&self) -> Option<Day> {
        match &self.origin {
            OpenedFrom::Archive(snapshot) => snapshot.priced_with(),
            OpenedFrom::Lake(lake) => lake.priced_with(),
            OpenedFrom::Logs(_) => Some(Catalog::built_in_date()),
        }
    }

    /// Prints the date of the prices of computed costs; for a person only if they are not the newest, or with `--verbose`.
    pub fn state_prices(&self) {
        let is_newest = self.prices() == Some(Catalog::built_in_date());
        if !is_newest || terminal::screen().is_none() || terminal::is_verbose() {
            say(&self.priced_with());
        }
    }

    /// The date of the prices of computed costs, for people.
    pub fn priced_with(&self) -> String {
        let newest = Catalog::built_in_date();
        match (self.prices(), &self.origin) {
            (Some(date), _) if date == newest => format!("prices of {date}"),
            (Some(date), OpenedFrom::Lake(_)) => {
                format!("prices of {date}; export the lake again for the prices of {newest}")
            }
            (Some(date), _) => format!("prices of {date}; the next ingest uses the prices of {newest}"),
            (None, OpenedFrom::Lake(_)) => "prices as in the lake".to_owned(),
            (None, _) => format!("no prices; the next ingest uses the prices of {newest}"),
        }
    }

    /// The facts of the sources, and those of repositories.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn facts(self) -> anyhow::Result<(Facts, RepositoryFacts)> {
        let by_path = |sources: Vec<Source>| sources.into_iter().map(|source| (source.path.clone(), source));
        Ok(match self.origin {
            OpenedFrom::Archive(snapshot) => {
                let repositories = snapshot.histories()?.repositories()?;
                (Facts::Stored(snapshot.facts()?), repositories)
            }
            OpenedFrom::Logs(sources) => (Facts::InMemory(by_path(sources).collect()), RepositoryFacts::default()),
            OpenedFrom::Lake(lake) if lake.has_facts() => {
                let files = lake.facts()?.collect::<Result<Vec<_>, _>>()?;
                (Facts::InMemory(files.into_iter().flat_map(by_path).collect()), lake.repositories()?)
            }
            OpenedFrom::Lake(_) => (Facts::None, RepositoryFacts::default()),
        })
    }
}

/// All tables of the archive or lake, or of the logs of `--logs`.
///
/// # Errors
/// When they cannot be read.
pub fn tables(source: args::DataSource, settings: &Settings) -> anyhow::Result<Opened> {
    open(source, settings, &TABLES, false)
}

/// As [`tables`], without the tables of an archive that are not named: the check of their files takes as long as a small report. A table
/// may be named twice.
///
/// # Errors
/// When they cannot be read.
pub fn some_tables(source: args::DataSource, settings: &Settings, names: &[&'static str]) -> anyhow::Result<Opened> {
    let names: Vec<&'static str> = names.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
    open(source, settings, &names, false)
}

/// As [`some_tables`]. `with_facts` keeps the facts of the logs of `--logs` for [`Opened::facts`].
///
/// # Errors
/// When they cannot be read.
pub fn open(
    source: args::DataSource,
    settings: &Settings,
    names: &[&'static str],
    with_facts: bool,
) -> anyhow::Result<Opened> {
    let opened = open_as_stored(source, settings, names, with_facts)?;
    Ok(Opened { frames: settings.project_names().apply(opened.frames), ..opened })
}

/// As [`open`], without the names of projects in the settings.
fn open_as_stored(
    source: args::DataSource,
    settings: &Settings,
    names: &[&'static str],
    with_facts: bool,
) -> anyhow::Result<Opened> {
    let options = options_of(&source);
    if source.logs.is_empty() {
        start_threads(None)?;
        #[cfg(unix)]
        memory::keep_longer();
        let name = settings.archive_name(source.archive.archive.as_deref())?;
        if Lake::is_at(&name) {
            let lake = Lake::open(&name)?;
            return Ok(Opened { frames: lake.some_tables(names)?, options, origin: OpenedFrom::Lake(lake) });
        }
        let is_implicit = source.archive.archive.is_none();
        let snapshot = settings.archive(source.archive.archive)?.snapshot();
        let snapshot = advised(snapshot.map_err(Into::into), is_implicit)?;
        return Ok(Opened { frames: snapshot.some_tables(names)?, options, origin: OpenedFrom::Archive(snapshot) });
    }
    let sources = read(source.logs, settings)?;
    let facts = if with_facts { sources.clone() } else { Vec::new() };
    let tables = reconciled(sources, &*settings.catalog()?);
    let frames = frames::some_frames(&tables, names)?.into_iter().map(|(name, frame)| (name, frame.lazy())).collect();
    Ok(Opened { frames, options, origin: OpenedFrom::Logs(facts) })
}

/// Adds to the error of an archive that the user did not name how to make one: that it does not exist yet is the usual first error.
///
/// # Errors
/// The given one.
pub fn advised<T>(result: anyhow::Result<T>, is_implicit: bool) -> anyhow::Result<T> {
    result.map_err(|error| match error.downcast_ref::<archive::Error>() {
        Some(archive::Error::Missing(directory)) if is_implicit => anyhow::anyhow!(
            "{}: no archive here yet; `agentlogs` reads the logs of this machine into your own, `agentlogs ingest PATH` other logs",
            directory.display()
        ),
        _ => error,
    })
}

/// The prices of the archive, with those that were imported into it; of a lake and of logs those of the settings.
///
/// # Errors
/// When they cannot be read.
pub fn catalog(source: &args::DataSource, settings: &Settings) -> anyhow::Result<Cow<'static, Catalog>> {
    if source.logs.is_empty() && !Lake::is_at(&settings.archive_name(source.archive.archive.as_deref())?) {
        return Ok(settings.archive(source.archive.archive.clone())?.catalog()?);
    }
    settings.catalog()
}

/// The content of logs that are read only for this command.
///
/// # Errors
/// When a path does not exist or cannot be read.
pub fn read(logs: Vec<PathBuf>, settings: &Settings) -> anyhow::Result<Vec<Source>> {
    let source = args::DataSource { logs: logs.clone(), ..args::DataSource::default() };
    let options = options(logs, None, &args::Reading::default(), settings)?;
    let read = ingest::read(&options, &BTreeMap::new(), &Progress::default());
    for error in read.errors {
        if !error.is_left_out() {
            return Err(error.into());
        }
        complain_of_path(&error);
    }
    Losses::of(&read.sources).state_of_logs(&source);
    Ok(read.sources)
}

/// The reconciled tables of sources, with costs.
pub fn reconciled(sources: Vec<Source>, catalog: &Catalog) -> Tables {
    let mut tables = ledger::reconcile(sources);
    ledger::find_sessions_in(&mut tables);
    costs::price(&mut tables, catalog);
    tables
}
