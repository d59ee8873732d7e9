//! The arguments of `bill`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::filters::{Cost, Filters};
use super::shared::{DataSource, Printed};

/// Compare an invoice or a usage export with the archive
///
/// FILE is a usage or cost report of Anthropic or OpenAI (JSON of the admin API, CSV of the console), OpenRouter's activity, spend logs
/// of LiteLLM, FOCUS as CSV, or a log of a gateway such as token-usage.jsonl. Several files are one bill: usage and costs together show
/// prices. Rows are days of UTC and models, those with the largest differences first. docs/bill.md describes the columns.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status: 1 if a file or a line cannot be read, 4 if less is explained than --min-explained.

Examples:
  agentlogs bill usage.csv cost.csv
  agentlogs bill openai-costs.json --since 2026-11 --until 2026-11
  agentlogs bill activity.csv --key ci --min-explained 95
  agentlogs bill focus.csv --by project,model --format json")]
pub struct Bill {
    /// The files of the bill; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// By what both sides are grouped [default: day,model, as far as the bill states them]
    #[arg(long, value_enum, value_name = "NAME,NAME", value_delimiter = ',')]
    pub by: Vec<BillBy>,
    /// The percentage by which two numbers may differ, besides a cent
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = percent)]
    pub tolerance: f64,
    /// The days before and after a day that may explain a difference
    #[arg(long, value_name = "DAYS", default_value_t = 1, value_parser = clap::value_parser!(u16).range(..=31))]
    pub delay: u16,
    /// Only lines of the bill with this API key. * matches any text
    #[arg(long, value_name = "K")]
    pub key: Option<String>,
    /// Only lines of the bill with this workspace, project or team
    #[arg(long, value_name = "W")]
    pub workspace: Option<String>,
    /// Exit with 4 if less than this percentage of the bill is explained
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub min_explained: Option<f64>,
    #[command(flatten)]
    pub filters: Filters,
    /// Which cost to use
    #[arg(long, value_enum, default_value_t)]
    pub cost: Cost,
    #[command(flatten)]
    pub source: DataSource,
    #[command(flatten)]
    pub printed: Printed,
}

/// A name by which both sides are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BillBy {
    /// The day in UTC
    Day,
    /// The model
    Model,
    /// The project; on the bill the workspace, project or team of the same name
    Project,
    /// The API key; in logs the label key
    Key,
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..=100.0).contains(number));
    number.ok_or_else(|| "a percentage is a number from 0 to 100".to_owned())
}
