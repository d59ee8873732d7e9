//! The arguments of `verdicts`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::shared::{ArchiveDirectory, Printed, label};

#[derive(Debug, Subcommand)]
pub enum Verdicts {
    Import(Box<Import>),
}

/// Import judgements of sessions: whether a task was solved, scores
///
/// FILE is CSV or JSON Lines with the columns `session_id`, runtime, label, log, task, trial, name, passed, score, judge,
/// `judged_at` and message; JUnit XML; a report of SWE-bench; or a result file of terminal-bench or Harbor, or a directory, tar or zip
/// archive that contains results, in which other files are skipped and counted. docs/verdicts.md describes how a verdict finds its session. Verdicts without a session are listed with the reason; they
/// are kept, and later ingests can provide the session. Another import of the same file replaces its verdicts.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agentlogs verdicts import verdicts.csv
  agentlogs verdicts import runs/*/junit.xml --judge ci
  agentlogs verdicts import report.json --label run=2026-11-20
  agentlogs verdicts import jobs/nightly --format json")]
pub struct Import {
    /// Files of verdicts, or directories, tar and zip archives with results of trials. - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The session of verdicts that name none
    #[arg(long, value_name = "S")]
    pub session: Option<String>,
    /// The runtime of the session, where a verdict does not state it
    #[arg(long, value_name = "R")]
    pub runtime: Option<String>,
    /// The task, where a verdict does not state it
    #[arg(long, value_name = "T")]
    pub task: Option<String>,
    /// The trial, where a verdict does not state it
    #[arg(long, value_name = "T")]
    pub trial: Option<String>,
    /// The name of verdicts that have none, to have several of one session [default: verdict]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Who or what judged, where a verdict does not state it
    #[arg(long, value_name = "NAME")]
    pub judge: Option<String>,
    /// Only sessions with this label can match; repeatable
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    pub label: Vec<String>,
    #[command(flatten)]
    pub archive: ArchiveDirectory,
    #[command(flatten)]
    pub printed: Printed,
}
