//! `agentlogs completions`: a script by which a shell calls the program at each Tab, and the candidates that it then prints.
//!
//! Names of runtimes, models, projects, repositories, tasks and sessions are those of the archive that a command without `--archive` reads.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, Write};

use agentlogs::analysis::reports::{self, DIMENSIONS, Options, REPORTS, Report};
use agentlogs::store::frames::{Frames, names_of_tables, sessions, verdicts};
use anyhow::Context;
use clap::{Arg, Command};
use clap_complete::env::Shells;
use clap_complete::{ArgValueCandidates, CompleteEnv, CompletionCandidate};
use polars::prelude::*;

use super::Outcome;
use super::source::some_tables;
use super::sql::named_queries;
use crate::cli::args::{self, Completions, DataSource};
use crate::cli::settings::Settings;

/// The variable by which a script states its shell.
const VARIABLE: &str = "AGENTLOGS_COMPLETE";

const PROGRAM: &str = "agentlogs";

pub fn run(completions: &Completions) -> anyhow::Result<Outcome> {
    let shell = completions.shell.to_string();
    let shells = Shells::builtins();
    let completer = shells.completer(&shell).with_context(|| format!("no completions for {shell}"))?;
    let mut script = Vec::new();
    completer.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)?;
    io::stdout().lock().write_all(&script)?;
    Ok(Outcome::Done)
}

/// Prints the candidates if a shell asks for them. Returns whether it did.
///
/// # Errors
/// When the shell is unknown, or stdout cannot be written.
pub fn answered(arguments: &[OsString]) -> Result<bool, clap::Error> {
    let directory = std::env::current_dir().ok();
    CompleteEnv::with_factory(command).var(VARIABLE).try_complete(arguments.iter().cloned(), directory.as_deref())
}

/// The command line with the candidates of its arguments.
fn command() -> Command {
    let mut command = args::command(&[]);
    let names: Vec<String> = command.get_subcommands().map(|it| it.get_name().to_owned()).collect();
    for name in names {
        command = command.mut_subcommand(&name, |subcommand| subcommand.mut_args(|arg| with_candidates(&name, arg)));
    }
    command
}

/// The argument of a command with its candidates, if it has any.
fn with_candidates(command: &str, arg: Arg) -> Arg {
    let candidates: fn() -> Vec<CompletionCandidate> = match (command, arg.get_id().as_str()) {
        ("report", "name") => || described(REPORTS.iter().map(|it| (it.name, it.about))),
        ("query", "sql" | "show") => || described(named_queries()),
        ("schema", "table") => || names_of_tables().into_iter().map(CompletionCandidate::new).collect(),
        (_, "by") => || described(DIMENSIONS.iter().map(|it| (it.name, it.about))),
        ("report", "sort") => || described(REPORTS.iter().flat_map(Report::measures).map(|it| (it.name, it.about))),
        (_, "runtime") => || values(sessions::TABLE, sessions::RUNTIME),
        (_, "model") => || values(sessions::TABLE, sessions::CANONICAL_MODEL),
        (_, "project") => || values(sessions::TABLE, sessions::PROJECT),
        (_, "repository") => || values(sessions::TABLE, sessions::REPOSITORY),
        (_, "status") => || values(sessions::TABLE, sessions::STATUS),
        (_, "usage") => || values(sessions::TABLE, sessions::USAGE),
        (_, "task") => || values(verdicts::TABLE, verdicts::TASK),
        (_, "session") => newest_sessions,
        _ => return arg,
    };
    arg.add(ArgValueCandidates::new(candidates))
}

/// Names with their descriptions, each once.
fn described<'t>(names: impl Iterator<Item = (&'t str, &'t str)>) -> Vec<CompletionCandidate> {
    let mut seen = BTreeSet::new();
    let new = names.filter(|(name, _)| seen.insert(*name));
    new.map(|(name, about)| CompletionCandidate::new(name).help(Some(about.to_owned().into()))).collect()
}

/// The tables of the default archive, if it can be read.
fn archive(tables: &[&'static str]) -> Option<(Frames, Settings)> {
    let settings = Settings::load().ok()?;
    // A named archive is not stated on stderr, which is the command line that is being written.
    let archive = args::ArchiveDirectory { archive: Some(settings.archive_name(None).ok()?) };
    let opened = some_tables(DataSource { archive, logs: Vec::new() }, &settings, tables).ok()?;
    Some((opened.frames, settings))
}

/// The different values of a column.
fn values(table: &'static str, column: &str) -> Vec<CompletionCandidate> {
    let read = || -> Option<Vec<CompletionCandidate>> {
        let (frames, _) = archive(&[table])?;
        let rows = frames.table(table).select([col(column)]).unique(None, UniqueKeepStrategy::Any);
        let rows = rows.sort([column], SortMultipleOptions::default()).collect().ok()?;
        Some(rows.column(column).ok()?.str().ok()?.iter().flatten().map(CompletionCandidate::new).collect())
    };
    read().unwrap_or_default()
}

/// The newest sessions: the beginnings of their ids, with start, project and model.
fn newest_sessions() -> Vec<CompletionCandidate> {
    /// More are of no use in a menu.
    const OFFERED: u32 = 200;
    let read = || -> Option<Vec<CompletionCandidate>> {
        let (frames, settings) = archive(&reports::tables_of_sessions(&Options::default()))?;
        let scope = super::resolve::scope(args::Filters::default(), &settings);
        let options = Options { scope, limit: Some(OFFERED), ..Options::default() };
        let answer = reports::session_list(&frames, &options).ok()?;
        let rows = reports::sessions_for_people(&answer.rows, &frames, &options.scope.zoned().ok()?).ok()?;
        let column = |name: &str| rows.column(name).ok()?.str().ok().cloned();
        let ids = column("session")?;
        let about = ["started", sessions::PROJECT, sessions::MODEL].map(column);
        let candidates = ids.iter().enumerate().filter_map(|(row, id)| {
            let parts: Vec<&str> = about.iter().flatten().filter_map(|texts| texts.get(row)).collect();
            // The order of the list is that of the candidates.
            Some(CompletionCandidate::new(id?).help(Some(parts.join(" ").into())).display_order(Some(row)))
        });
        Some(candidates.collect())
    };
    read().unwrap_or_default()
}
