//! The rows that a command works on: those of an archive, or those of logs that are read only for this command.

use std::collections::BTreeMap;
use std::path::PathBuf;

use agentlogs::ingest::{self, Progress};
use agentlogs::ledger;
use agentlogs::ledger::costs;
use agentlogs::model::source::Source;
use agentlogs::model::tables::Tables;
use agentlogs::prices::Catalog;
use agentlogs::store::archive::Snapshot;
use agentlogs::store::frames::{self, TABLES};
use polars::prelude::{IntoLazy, LazyFrame};

use super::output::complain_of_path;
use super::reading::{options, start_threads};
use crate::cli::args;
use crate::cli::settings::Settings;

/// The tables that a command reads.
pub struct Opened {
    pub frames: Vec<(&'static str, LazyFrame)>,
    /// Keeps writers from removing the files of the tables; `None` for logs that are read only for this command.
    snapshot: Option<Snapshot>,
}

impl Opened {
    /// The date of the prices of computed costs, for people.
    pub fn priced_with(&self) -> String {
        let newest = Catalog::built_in_date();
        match self.snapshot.as_ref().map_or(Some(newest), Snapshot::priced_with) {
            Some(date) if date == newest => format!("prices of {date}"),
            Some(date) => format!("prices of {date}; the next ingest uses the prices of {newest}"),
            None => format!("no prices; the next ingest uses the prices of {newest}"),
        }
    }
}

/// All tables of the archive, or of the logs of `--logs`.
///
/// # Errors
/// When they cannot be read.
pub fn tables(source: args::DataSource, settings: &Settings) -> anyhow::Result<Opened> {
    some_tables(source, settings, &TABLES)
}

/// As [`tables`], without the tables of an archive that are not named: the check of their files takes as long as a small report.
///
/// # Errors
/// When they cannot be read.
pub fn some_tables(source: args::DataSource, settings: &Settings, names: &[&'static str]) -> anyhow::Result<Opened> {
    if source.logs.is_empty() {
        start_threads(None)?;
        let snapshot = settings.archive(source.archive.archive, false)?.snapshot()?;
        return Ok(Opened { frames: snapshot.some_tables(names)?, snapshot: Some(snapshot) });
    }
    let tables = settled(read(source.logs, settings)?, &*settings.catalog()?);
    let frames = frames::frames(&tables)?.into_iter().map(|(name, frame)| (name, frame.lazy())).collect();
    Ok(Opened { frames, snapshot: None })
}

/// The content of logs that are read only for this command.
///
/// # Errors
/// When a path does not exist or cannot be read.
pub fn read(logs: Vec<PathBuf>, settings: &Settings) -> anyhow::Result<Vec<Source>> {
    let options = options(logs, None, &args::Reading::default(), settings)?;
    let read = ingest::read(&options, &BTreeMap::new(), &Progress::default());
    for error in read.errors {
        if !error.is_left_out() {
            return Err(error.into());
        }
        complain_of_path(&error);
    }
    Ok(read.sources)
}

/// The reconciled tables of sources, with costs.
pub fn settled(sources: Vec<Source>, catalog: &Catalog) -> Tables {
    let mut tables = ledger::settle(sources);
    costs::price(&mut tables, catalog);
    tables
}
