//! The arguments of `watch`.

use std::path::PathBuf;

use clap::Args;

use super::ingest::Reading;
use super::shared::ArchiveDirectory;

/// Follow logs while they are written, and show the overview
///
/// Reads what is new in the logs into the archive as soon as it is written. On a terminal, the overview fills the window, and
/// q quits; otherwise each update prints a line with the time, the number of logs that were read, and the cost of today.
/// Without paths, the logs that your own runtimes keep are followed, in your own archive. Ctrl-C ends it at once.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agentlogs watch
  agentlogs watch runs --archive evals
  agentlogs watch --exec 'agentlogs dashboard ~/agents.html'
  agentlogs watch /net/ci/logs --poll 60

The system reports which files change; without changes almost no time is used. Where it cannot, as on network file systems, \
--poll checks the files from time to time. watch and ingest can run at once: they wait for each other.")]
pub struct Watch {
    /// Files and directories to follow [default: where the runtimes keep their logs, see agentlogs runtimes]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    #[command(flatten)]
    pub archive: ArchiveDirectory,
    #[command(flatten)]
    pub reading: Reading,
    /// Run a shell command after each update
    #[arg(long, value_name = "CMD")]
    pub exec: Option<String>,
    /// Check all files every so many seconds, instead of waiting for the system to report changes
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub poll: Option<u64>,
    /// The time that counts as now, so that tests are repeatable
    #[arg(long, value_name = "TIME", hide = true)]
    pub now: Option<jiff::Timestamp>,
}
