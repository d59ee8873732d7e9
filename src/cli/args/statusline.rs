//! The arguments of `statusline`.

use clap::Args;

use super::shared::ArchiveDirectory;

/// Print a line about the session, for Claude Code's status line
///
/// The line contains the model, the cost of the session and of today, the current limit window, and the size of the context. What is unknown is omitted. Claude Code runs the command if ~/.claude/settings.json contains
///
///   "statusLine": {"type": "command", "command": "agentlogs statusline"}
///
/// and writes JSON about the session to its standard input. Nothing is ingested: docs/configuration.md#status-line describes how to keep the archive up to date.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  agentlogs statusline < session.json
  agentlogs statusline --verbose --archive evals < session.json"
)]
pub struct Statusline {
    #[command(flatten)]
    pub archive: ArchiveDirectory,
    /// Time zone of the day, such as Europe/Berlin [default: the system's]
    #[arg(long, value_name = "TZ", value_parser = super::shared::timezone, allow_hyphen_values = true)]
    pub timezone: Option<String>,
    /// Print to stderr why a part of the line is missing
    #[arg(long)]
    pub verbose: bool,
    /// The time that counts as now, so that tests are repeatable
    #[arg(long, value_name = "TIME", hide = true)]
    pub now: Option<jiff::Timestamp>,
}
