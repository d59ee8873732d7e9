//! The arguments of `browse`.

use clap::Args;

use super::filters::{Cost, Filters};
use super::shared::DataSource;

/// Browse sessions, timelines and reports in the terminal
///
/// The list of sessions has the newest first. Enter opens the timeline of a session, and there the details of a call; / filters, Tab shows
/// the reports, ? the keys. `e` opens the log at the line of the row in $VISUAL or $EDITOR.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agentlogs browse
  agentlogs browse --last 7d
  agentlogs browse --project shop --verdict failed
  agentlogs browse --logs ~/.codex/sessions")]
pub struct Browse {
    #[command(flatten)]
    pub filters: Filters,
    /// Which cost to use
    #[arg(long, value_enum, default_value_t)]
    pub cost: Cost,
    #[command(flatten)]
    pub source: DataSource,
}
