//! `agentlogs verdicts`: imports judgements of sessions.

use std::collections::BTreeMap;
use std::path::PathBuf;

use agentlogs::analysis::present::{counted, grouped};
use agentlogs::base::time::Time;
use agentlogs::ingest::verdict_files::{self, Defaults, Read, VerdictFile};
use agentlogs::ledger::Unmatched;
use agentlogs::model::source::{Source, SourceStatus};
use agentlogs::store::archive::{Archive, VERDICTS, Written};
use agentlogs::store::frames::verdicts;
use polars::prelude::*;

use super::Outcome;
use super::output::{Layout, complain, print, say};
use super::resolve::check_standard_input;
use crate::cli::args::{Import, Verdicts};
use crate::cli::settings::Settings;

pub fn run(args: Verdicts, settings: &Settings) -> anyhow::Result<Outcome> {
    match args {
        Verdicts::Import(args) => import(*args, settings),
    }
}

fn import(args: Import, settings: &Settings) -> anyhow::Result<Outcome> {
    check_standard_input(&args.files)?;
    let defaults = Defaults {
        session_id: args.session,
        runtime: args.runtime,
        task: args.task,
        trial: args.trial,
        name: args.name,
        judge: args.judge,
        labels: args.label,
    };
    let (mut files, outcome) = read(&args.files, &defaults);
    files.retain(|_, file| !file.verdicts.is_empty());
    let count: usize = files.values().map(|file| file.verdicts.len()).sum();
    if count == 0 {
        return Ok(Outcome::NotAllDone);
    }
    let imported: Vec<String> = files.keys().cloned().collect();
    let archive = settings.archive_or_local(args.archive.archive)?;
    let is_new = archive.stamp()?.is_none();
    let written = write(&archive, files)?;
    let unmatched: Vec<&Unmatched> =
        written.unmatched.iter().filter(|unmatched| imported.contains(&unmatched.path)).collect();
    let repeated = imported.iter().filter_map(|path| written.repeated_verdicts.get(&format!("{VERDICTS}{path}")));
    let (repeated, with_session) = repeated.fold((0, 0), |sum, it| (sum.0 + it.verdicts, sum.1 + it.with_session));
    let without = unmatched.len() + repeated - with_session;
    say(&format!(
        "imported {} from {}: {} with a session, {without} without",
        counted(count, "verdict"),
        counted(imported.len(), "file"),
        count.saturating_sub(without),
    ));
    if is_new {
        say(&format!(
            "{} is a new archive: without sessions until `agentlogs ingest` reads logs into it",
            archive.directory().display()
        ));
    }
    if repeated > 0 {
        let verb = if repeated == 1 { "states" } else { "state" };
        say(&format!("{} of them {verb} what another file states; each is listed once", grouped(repeated)));
    }
    if !unmatched.is_empty() {
        print(&listed(&unmatched)?, args.printed, Layout::default())?;
        say("verdicts without a session are kept; when a later ingest contains the session, they are about it");
    }
    Ok(outcome)
}

/// Reads files and the files of directories, and prints what cannot be read. Returns them by path, and whether all could be read.
fn read(paths: &[PathBuf], defaults: &Defaults) -> (BTreeMap<String, VerdictFile>, Outcome) {
    let mut outcome = Outcome::Done;
    let mut files: BTreeMap<String, VerdictFile> = BTreeMap::new();
    for path in paths {
        match verdict_files::read(path, defaults) {
            Ok(Read { files: read, skipped, errors }) => {
                for error in errors {
                    complain(format_args!("{error}"));
                    outcome = Outcome::NotAllDone;
                }
                if !skipped.is_empty() {
                    say(&format!("{}: {}", path.display(), listing(&skipped)));
                }
                files.extend(read.into_iter().map(|file| (file.path.clone(), file)));
            }
            Err(error) => {
                complain(format_args!("{error}"));
                outcome = Outcome::NotAllDone;
            }
        }
    }
    for file in files.values() {
        for (line, problem) in &file.problems {
            let line = if *line > 0 { format!(":{line}") } else { String::new() };
            complain(format_args!("{}{line}: {problem}", file.path));
            outcome = Outcome::NotAllDone;
        }
        if !file.ignored.is_empty() {
            say(&format!("{}: not read: {}", file.path, file.ignored.join(", ")));
        }
    }
    (files, outcome)
}

/// Writes files of verdicts into the archive, in place of what it contains of them.
fn write(archive: &Archive, files: BTreeMap<String, VerdictFile>) -> anyhow::Result<Written> {
    let writer = archive.write()?;
    let (host, now) = (gethostname::gethostname().into_string().ok(), Time::from(jiff::Timestamp::now()));
    for (path, file) in files {
        writer.replace(Source {
            path: format!("{VERDICTS}{path}"),
            host: host.clone(),
            bytes: file.bytes,
            modified_at: file.modified_at,
            status: SourceStatus::Auxiliary,
            ingested_at: Some(now),
            verdicts: file.verdicts,
            ..Source::default()
        });
    }
    Ok(writer.commit()?)
}

/// A sentence about the files of a directory that were skipped, by what they are.
fn listing(skipped: &BTreeMap<&'static str, usize>) -> String {
    let counts = skipped.iter().map(|(what, count)| match *what {
        "log" => counted(*count, "log"),
        what => format!("{} {what}", grouped(*count)),
    });
    let counts = counts.collect::<Vec<_>>().join(", ");
    let files = counted(skipped.values().sum::<usize>(), "file");
    format!("skipped {files} without results of trials: {counts}")
}

/// The verdicts without a session, with the reasons.
fn listed(unmatched: &[&Unmatched]) -> PolarsResult<DataFrame> {
    let text = |name: &str, of: fn(&Unmatched) -> Option<String>| -> Column {
        Column::new(name.into(), unmatched.iter().map(|row| of(row)).collect::<Vec<_>>())
    };
    let columns = vec![
        text("file", |row| Some(row.path.clone())),
        Column::new(
            "line".into(),
            unmatched.iter().map(|row| Some(row.imported.line).filter(|line| *line > 0)).collect::<Vec<_>>(),
        ),
        text(verdicts::SESSION_ID, |row| row.imported.session_id.clone()),
        text(verdicts::TASK, |row| row.imported.verdict.task.clone()),
        text(verdicts::TRIAL, |row| row.imported.verdict.trial.clone()),
        text("reason", |row| Some(row.reason.to_string())),
    ];
    DataFrame::new(unmatched.len(), columns)
}
