//! The summary of an ingest, and the content of an archive in numbers.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use agentlogs::analysis::present::{Currency, counted, exact_amount, grouped, human};
use agentlogs::base::width::{packed, width};
use agentlogs::ingest::Progress;
use agentlogs::input::discover;
use agentlogs::model::health::Reason;
use agentlogs::model::source::{Source, SourceStatus};
use agentlogs::store::archive::{Archive, Problem, Sums, Written};

use super::Outcome;
use super::files::Files;
use super::hints::{option_of, option_of_directory, options_of, with_options};
use super::output::{complain, say};
use crate::cli::args::DataSource;
use crate::cli::settings::Settings;
use crate::cli::terminal::{screen, width_of_messages};

/// What to do if no logs were found.
const HINT: &str = "`agentlogs runtimes --formats` lists the supported formats, `agentlogs inspect FILE` shows why a file is not recognised";

/// The statuses of files that an adapter recognised.
pub(super) const LOGS: [SourceStatus; 3] = [SourceStatus::Parsed, SourceStatus::Duplicate, SourceStatus::Truncated];

/// What was read into an archive.
pub struct Ingested {
    /// The files that were read or skipped.
    pub files: Files,
    /// The archive after it.
    pub written: Written,
    /// Paths that could not be read.
    pub errors: Vec<discover::Error>,
    /// How much was read.
    pub progress: Progress,
    /// How long it took, without the time to wait for other processes that write the archive.
    pub time: Duration,
}

/// Prints what was read and what was rejected. Returns whether lines were rejected, or files could not be read completely.
pub fn summary(archive: &Archive, run: &Ingested, settings: &Settings) -> bool {
    let Ingested { files, written, progress, time, .. } = run;
    let mut statuses: BTreeMap<&str, usize> = BTreeMap::new();
    let mut reasons: BTreeMap<&str, i64> = BTreeMap::new();
    let (mut rejected, mut unknown, mut unchanged) = (0, 0, 0);
    for (path, source) in written.sources() {
        if !files.is_read(path) {
            if !files.is_unchanged(path) {
                continue;
            }
            unchanged += 1;
        }
        *statuses.entry(source.status.as_str()).or_default() += 1;
        rejected += source.rejected_lines();
        unknown += source.unknown_records;
        for (reason, lines) in &source.rejects {
            *reasons.entry(reason.as_str()).or_default() += lines;
        }
    }
    let has = |status: SourceStatus| statuses.contains_key(status.as_str());
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let bytes = progress.bytes.load(Ordering::Relaxed) as f64;
    let seconds = time.as_secs_f64();
    let unchanged = if unchanged > 0 { format!(", {unchanged} of them unchanged") } else { String::new() };
    let count: usize = statuses.values().sum();
    line("files", &grouped(count), &format!("{}{unchanged}", counts(&statuses)));
    line("bytes", &size(bytes), &format!("in {seconds:.2} s{}", rate(bytes, seconds)));
    line("rejected", &counted(rejected, "line"), &counts(&reasons));
    if unknown > 0 {
        line("unknown", &counted(unknown, "record"), "of types that no adapter knows");
    }
    let is_incomplete = rejected > 0 || has(SourceStatus::Unreadable) || has(SourceStatus::Truncated);
    if is_incomplete || unknown > 0 {
        say(&format!("`agentlogs report health{}` lists the files and reasons", option_of(archive, settings)));
    }
    let unreadable = || {
        written.sources().filter(|(path, source)| {
            source.status == SourceStatus::Unreadable && (files.is_read(path) || files.is_unchanged(path))
        })
    };
    if let Some((first, _)) = unreadable().next() {
        complain_of_unreadable(unreadable().count(), first, None);
    } else if count > 0 && !LOGS.into_iter().any(has) {
        say(&format!("none of these files is a supported log; {HINT}"));
    }
    let without_session = written.unmatched.iter().filter(|it| it.imported.beside.is_some()).count();
    if without_session > 0 {
        say(&format!("{} of SWE-bench reports without a session", counted(without_session, "verdict")));
    }
    contents(archive, &written.sums);
    is_incomplete
}

/// That there are no files at some paths, and what lists the right ones.
pub fn no_files(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    format!("no files in {}; `agentlogs runtimes` lists where the runtimes keep their logs", paths.join(", "))
}

/// A number of bytes for people.
fn size(bytes: f64) -> String {
    human("bytes", bytes, Currency::default())
}

/// How fast so many bytes were read; empty for so few that the start of the program takes longer.
fn rate(bytes: f64, seconds: f64) -> String {
    const LEAST: f64 = 1e6;
    if bytes < LEAST || seconds <= 0.0 { String::new() } else { format!(", {}/s", size(bytes / seconds)) }
}

/// Prints which files could not be read: how many, and the first of them with the reason.
pub fn complain_of_unreadable(count: usize, first: &str, reason: Option<&str>) {
    let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
    let more = if count > 1 { format!(" and {} more", grouped(count - 1)) } else { String::new() };
    complain(format_args!("{first}{more} could not be read{reason}"));
}

/// What was lost of logs: lines that were rejected, and files that could not be read.
#[derive(Debug, Default)]
pub struct Losses {
    files: usize,
    has_logs: bool,
    unreadable: usize,
    /// The first unreadable file by its path, with the reason.
    first: Option<(String, Option<String>)>,
    /// Rejected lines.
    rejected: i64,
    /// The same by their reasons, of which a line can have several.
    reasons: BTreeMap<&'static str, i64>,
}

impl Losses {
    /// The losses of some logs.
    pub fn of<'s>(sources: impl IntoIterator<Item = &'s Source>) -> Self {
        let mut losses = Self::default();
        sources.into_iter().for_each(|source| losses.add(source));
        losses
    }

    /// Adds those of a log.
    pub fn add(&mut self, source: &Source) {
        let rejects = source.health.rejects.iter().map(|reject| (reject.reason, reject.lines));
        let lines = source.health.rejected_lines();
        self.add_parts(&source.path, source.status, source.message.as_deref(), lines, rejects);
    }

    /// Adds those of a log, by its path, its status with the reason, and its rejected lines, all and by their reasons.
    pub fn add_parts(
        &mut self,
        path: &str,
        status: SourceStatus,
        message: Option<&str>,
        rejected: i64,
        rejects: impl Iterator<Item = (Reason, i64)>,
    ) {
        self.files += 1;
        self.has_logs |= LOGS.contains(&status);
        if status == SourceStatus::Unreadable {
            self.unreadable += 1;
            if self.first.as_ref().is_none_or(|(first, _)| path < first.as_str()) {
                self.first = Some((path.to_owned(), message.map(str::to_owned)));
            }
        }
        self.rejected += rejected;
        for (reason, lines) in rejects {
            *self.reasons.entry(reason.as_str()).or_default() += lines;
        }
    }

    /// Prints them, as an ingest does. `health` is the command that lists the files.
    pub fn state(&self, health: &str) {
        if let Some((path, reason)) = &self.first {
            complain_of_unreadable(self.unreadable, path, reason.as_deref());
        }
        if !self.reasons.is_empty() {
            complain(format_args!(
                "{} rejected ({}); `{health}` lists the files",
                counted(self.rejected, "line"),
                counts(&self.reasons)
            ));
        }
    }

    /// As [`Self::state`], of logs that are read only for a command. Prints also if none of the files is a log.
    pub fn state_of_logs(&self, source: &DataSource) {
        self.state(&format!("agentlogs report health{}", options_of(source)));
        if self.files == 0 {
            complain(format_args!("{}", no_files(&source.logs)));
        } else if self.unreadable == 0 && !self.has_logs {
            complain(format_args!("none of {} is a supported log; {HINT}", counted(self.files, "file")));
        }
    }
}

/// Prints what an archive contains after a change, and the damage that was found.
pub fn report_written(archive: &Archive, written: &Written) -> Outcome {
    contents(archive, &written.sums);
    report_damage(archive, written)
}

/// Prints the problems that were found in an archive while it was written.
pub fn report_damage(archive: &Archive, written: &Written) -> Outcome {
    state_problems(archive, &written.problems);
    if written.is_damaged { Outcome::NotAllDone } else { Outcome::Done }
}

/// Prints the problems of an archive, with the commands that are for it.
pub fn state_problems(archive: &Archive, problems: &[Problem]) {
    let option = option_of_directory(archive.directory());
    for problem in problems {
        complain(format_args!("{}", with_options(&problem.to_string(), &option)));
    }
}

/// Prints what an archive contains.
pub fn contents(archive: &Archive, sums: &Sums) {
    say(&format!("{} now contains", archive.directory().display()));
    line("sessions", &grouped(sums.sessions), "");
    // Logs that give only the sums of a session have tokens, but no turns.
    let is_unknown = sums.turns == 0 && sums.tokens > 0;
    line("turns", &if is_unknown { "unknown".to_owned() } else { grouped(sums.turns) }, "");
    line("tool calls", &grouped(sums.tool_calls), "");
    line("tokens", &grouped(sums.tokens), "");
    let missing = match sums.unpriced_tokens {
        0 => String::new(),
        1 => "without 1 token that has no cost".to_owned(),
        count => format!("without {} tokens that have no cost", grouped(count)),
    };
    let cost = sums.cost_usd.map_or_else(|| "unknown".to_owned(), dollars);
    line("cost", &cost, &missing);
}

/// An amount of all sessions: to the cent for a person.
fn dollars(cost: f64) -> String {
    let dollars = Currency::default();
    if screen().is_some() { dollars.amount(cost) } else { exact_amount(cost, dollars) }
}

/// Prints a name, a number and words, which a terminal shows in a column of their own.
fn line(name: &str, value: &str, more: &str) {
    let start = format!("  {name:<12}{value:>16}");
    let column = width(&start) + 2;
    let columns = width_of_messages().map_or(usize::MAX, |columns| columns.saturating_sub(column));
    let mut lines = packed(more.split(' '), columns).into_iter();
    say(format!("{start}  {}", lines.next().unwrap_or_default()).trim_end());
    lines.for_each(|line| say(&format!("{:column$}{line}", "")));
}

fn counts<N: Display>(counts: &BTreeMap<&str, N>) -> String {
    counts.iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
}
