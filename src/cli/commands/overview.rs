//! `agentlogs` without a command: brings the user's archive up to date, and prints an overview.

use std::io::{self, Write};
use std::path::PathBuf;

use agentlogs::analysis::overview::{Look, Overview, Space};
use agentlogs::base::zone::in_zone;
use agentlogs::ingest::Options;
use agentlogs::input::discover;
use agentlogs::model::source::SourceStatus;
use agentlogs::store::archive::{self, Archive};
use anyhow::Context;
use jiff::{Timestamp, Zoned};

use super::first_look::Newest;
use super::hints::option_of;
use super::ingest::read_into;
use super::output::{complain, has_color, say};
use super::reading::{options, start_threads};
use super::resolve::report_error;
use super::source::some_tables;
use super::summary::{complain_of_unreadable, report_damage};
use super::{Outcome, places};
use crate::cli::args::{DataSource, Reading};
use crate::cli::settings::{Chosen, Settings};
use crate::cli::terminal;

pub fn run(now: Option<Timestamp>, settings: &Settings) -> anyhow::Result<Outcome> {
    let paths = places::existing(settings, None)?;
    let archive = settings.users_archive()?;
    let mut outcome = Outcome::Done;
    if paths.is_empty() {
        let has_nothing = match archive.sums() {
            Ok(sums) => sums.sessions == 0,
            Err(error) => matches!(error, archive::Error::Missing(_)),
        };
        if has_nothing {
            places::say_searched(settings, None);
            return Ok(Outcome::NotAllDone);
        }
        say(
            "no directories with logs were found (`agentlogs runtimes --all` lists where they are searched); this is what \
             the archive contains",
        );
        start_threads(None)?;
    } else {
        let options = options(paths.clone(), Some(archive.directory().to_owned()), &Reading::default(), settings)?;
        show_newest(&options, &archive, now, settings);
        let read = match explained(read_into(&archive, options), &archive) {
            Err(error) if is_not_writable(&error) => return without_archive(&error, paths, now, &archive, settings),
            read => read?,
        };
        let Some(run) = read else {
            places::say_searched(settings, None);
            return Ok(Outcome::NotAllDone);
        };
        outcome = report_damage(&archive, &run.written);
        if !run.errors.iter().all(discover::Error::is_left_out) {
            outcome = Outcome::NotAllDone;
        }
        let mut unreadable = run.written.sources().filter(|(_, source)| source.status == SourceStatus::Unreadable);
        if let (0, Some((first, _))) = (run.written.sums.sessions, unreadable.next()) {
            complain_of_unreadable(unreadable.count() + 1, first, None);
            say(&format!("`agentlogs report health{}` lists the reasons", option_of(&archive, settings)));
            return Ok(Outcome::NotAllDone);
        }
        if run.written.sums.sessions == 0 {
            places::say_searched(settings, None);
            return Ok(Outcome::NotAllDone);
        }
    }
    let overview = explained(overview(&archive, now, settings), &archive)?;
    print(&overview, &archive, settings)?;
    Ok(outcome)
}

/// On a terminal, reads the newest logs into a new archive and shows them, if the others take long. Logs that were copied lately can be
/// older: then there is nothing to show. What fails is stated when all logs are read.
fn show_newest(options: &Options, archive: &Archive, now: Option<Timestamp>, settings: &Settings) {
    let is_new = || matches!(archive.snapshot(), Err(archive::Error::Missing(_)));
    let Some(newest) = terminal::screen().filter(|_| is_new()).and_then(|_| Newest::of(options)) else { return };
    let options = Options { written_since: Some(newest.since), ..options.clone() };
    if let Ok(Some(run)) = read_into(archive, options)
        && run.written.sums.sessions > 0
        && let Ok(overview) = overview(archive, now, settings)
        && !overview.is_empty()
        && print(&overview, archive, settings).is_ok()
    {
        say(&newest.message());
    }
}

fn print(overview: &Overview, archive: &Archive, settings: &Settings) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(overview.text(&look(archive, settings)).as_bytes())?;
    out.flush()
}

/// Whether the archive is in a directory that this account cannot write, as in a container with a read-only home.
fn is_not_writable(error: &anyhow::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    let Some(archive::Error::File { error, .. } | archive::Error::NotWritable { error, .. }) = error.downcast_ref()
    else {
        return false;
    };
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem)
}

/// The overview of the logs at these paths, without the archive.
fn without_archive(
    error: &anyhow::Error,
    paths: Vec<PathBuf>,
    now: Option<Timestamp>,
    archive: &Archive,
    settings: &Settings,
) -> anyhow::Result<Outcome> {
    complain(format_args!(
        "{error}: nothing is kept, and this overview is of the logs that exist now; AGENTLOGS_ARCHIVE=DIR names another directory"
    ));
    let source = DataSource { logs: paths, ..DataSource::default() };
    let tables = some_tables(source, settings, Overview::TABLES)?;
    let overview = Overview::of(&tables.frames, &zoned(now, settings)?).map_err(report_error)?;
    print(&overview, archive, settings)?;
    Ok(Outcome::Done)
}

/// The overview of an archive.
///
/// # Errors
/// When the archive cannot be read.
pub fn overview(archive: &Archive, now: Option<Timestamp>, settings: &Settings) -> anyhow::Result<Overview> {
    let snapshot = archive.snapshot()?;
    let now = zoned(now, settings)?;
    let tables = settings.project_names().apply(snapshot.some_tables(Overview::TABLES)?);
    Overview::of(&tables, &now).map_err(report_error)
}

/// A time, or the current one, in the time zone of the settings.
///
/// # Errors
/// When the time zone does not exist.
pub fn zoned(now: Option<Timestamp>, settings: &Settings) -> anyhow::Result<Zoned> {
    let Chosen { value, origin } = &settings.timezone;
    let now = now.unwrap_or_else(Timestamp::now);
    in_zone(now, value).with_context(|| format!("{origin}: no time zone {value:?}, such as Europe/Berlin or +05:30"))
}

/// How the overview of an archive is printed.
pub fn look(archive: &Archive, settings: &Settings) -> Look {
    /// The lines of the command and of the prompt after it.
    const OTHERS: usize = 2;
    let screen = terminal::screen();
    Look {
        color: has_color(),
        currency: settings.shown_currency(),
        archive_option: option_of(archive, settings),
        space: screen.map(|screen| Space {
            width: screen.width.into(),
            height: usize::from(screen.height).saturating_sub(OTHERS),
        }),
        is_ascii: screen.is_some_and(|screen| screen.is_ascii),
    }
}

/// Adds to the error of an archive that cannot be repaired the command that writes it again. The user did not name the archive.
///
/// # Errors
/// The given one.
pub fn explained<T>(result: anyhow::Result<T>, archive: &Archive) -> anyhow::Result<T> {
    result.or_else(|error| {
        let directory = archive.directory().display();
        let again =
            format!("this writes it again from the logs that still exist: mv {directory} {directory}.old && agentlogs");
        let remedy = match error.downcast_ref::<archive::Error>() {
            Some(error @ archive::Error::Version { .. }) if !error.is_of_newer_program() => again,
            Some(archive::Error::Unrepairable(_)) => again,
            _ => return Err(error),
        };
        Err(error).context(remedy)
    })
}
