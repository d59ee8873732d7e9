//! The arguments of `sessions`.

use clap::Args;

use super::filters::{Cost, Filters};
use super::shared::{DataSource, Printed};

/// List the sessions, the newest first
///
/// Each has the beginning of its id and a number, by which `agentlogs show` finds it. What it was about is the first prompt, where
/// the archive contains text (ingest --content text).
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agentlogs sessions
  agentlogs sessions --since today
  agentlogs sessions --project shop --status error --last 7d
  agentlogs sessions --sort cost_usd --limit 10
  agentlogs sessions --verdict failed --format json | jq -r '.[].source_path'")]
pub struct Sessions {
    #[command(flatten)]
    pub filters: Filters,
    /// Which cost to use
    #[arg(long, value_enum, default_value_t)]
    pub cost: Cost,
    /// The column to sort by: -COLUMN descending, +COLUMN ascending; COLUMN has the largest numbers, the latest times, or the first
    /// names first
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub sort: Option<String>,
    #[command(flatten)]
    pub source: DataSource,
    #[command(flatten)]
    pub printed: Printed,
}
