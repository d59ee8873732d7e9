//! The arguments of `report`.

use std::path::PathBuf;

use agentlogs::analysis::reports::Within;
use clap::Args;

use super::filters::{Cost, Filters, Unjudged};
use super::shared::{DataSource, Printed};

/// Print a report: cost, tokens, tools, errors, waste and others
///
/// A report groups the rows of the archive by dimensions. Each report has default dimensions; --by sets others.
#[derive(Debug, Args)]
pub struct Report {
    /// The report, see the list above
    pub name: String,
    /// The dimensions, see the list below
    #[arg(long, value_name = "DIM,DIM", value_delimiter = ',')]
    pub by: Vec<String>,
    #[command(flatten)]
    pub filters: Filters,
    /// Which cost to use
    #[arg(long, value_enum, default_value_t)]
    pub cost: Cost,
    /// The column to sort by: -COLUMN descending, +COLUMN ascending; COLUMN has the largest numbers, the latest times, or the first
    /// names first
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub sort: Option<String>,
    /// Only the current windows
    #[arg(long)]
    pub active: bool,
    /// The number of trials of pass@k and pass^k [default: 5]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    pub k: Option<u32>,
    /// What trials without a verdict count as
    #[arg(long, value_enum, value_name = "HOW", default_value_t, hide_default_value = true)]
    pub unjudged: Unjudged,
    /// After so long without a commit work is abandoned, and work that is gone so soon is rewritten: up to 90d [default: 14d]
    #[arg(long, value_name = "DAYS")]
    pub within: Option<Within>,
    /// Also the cost of the same tokens at the prices of this model, with and without its cache prices
    #[arg(long, value_name = "MODEL")]
    pub price_as: Option<String>,
    /// The N most expensive sessions and tools of each cause, with the log and the line of the worst case
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
    /// Each session below the one that started it, with its own cost and that of its whole tree
    #[arg(long, conflicts_with_all = ["chart", "svg"])]
    pub tree: bool,
    /// Print a chart instead of a table: columns if time is a dimension, else bars. It shows the column of --sort, or the first
    #[arg(long, conflicts_with = "format")]
    pub chart: bool,
    /// Write the chart to an SVG file, besides the table; - is standard output, without the table
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    #[command(flatten)]
    pub source: DataSource,
    #[command(flatten)]
    pub printed: Printed,
}
