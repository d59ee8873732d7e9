//! The arguments of `show`.

use std::ffi::OsString;

use clap::Args;

use super::filters::Cost;
use super::shared::{DataSource, Printed};

/// Show one session: responses, calls, changes and errors in order
///
/// The timeline has a line for each response with its size, duration and cost, below it the calls that it made, and the changes
/// of files. It is divided into phases, by what the calls are for. JSON and CSV have a row for each entry, the first of which is
/// the session.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agentlogs show
  agentlogs show 3
  agentlogs show 0f6c1d5e
  agentlogs show runs/task-7.jsonl
  agentlogs show 0f6c1d5e --logs ~/.codex/sessions --timezone Europe/Berlin
  agentlogs show 0f6c1d5e --format json | jq '.[] | select(.kind == \"call\" and .status == \"error\")'
  agentlogs show 0f6c1d5e | less")]
pub struct Show {
    /// The id of the session, its beginning, its number in `agentlogs sessions`, `last`, or the path of its log. A file that no
    /// archive is given for is read directly [default: last]
    pub session: Option<OsString>,
    /// The runtime of the session, if several use the id
    #[arg(long, value_name = "R")]
    pub runtime: Option<String>,
    /// Time zone of times, such as Europe/Berlin [default: the system's]
    #[arg(long, value_name = "TZ", value_parser = super::shared::timezone, allow_hyphen_values = true)]
    pub timezone: Option<String>,
    /// Which cost to use
    #[arg(long, value_enum, default_value_t)]
    pub cost: Cost,
    /// Print a line for each entry, also for repeated calls
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub source: DataSource,
    #[command(flatten)]
    pub printed: Printed,
}
