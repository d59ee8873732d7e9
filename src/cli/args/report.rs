//! The arguments of `report`.

use std::path::PathBuf;

use agentlogs::analysis::reports::{DIMENSIONS, REPORTS};
use clap::Args;

use super::filters::{Cost, Filters, Unjudged};
use super::shared::{DataSource, Printed};

/// Print a report: cost, tokens, tools, turns, sessions, models, files, errors, behaviour, outcomes, waste, limits,
/// health, reconcile
///
/// A report groups the rows of the archive by dimensions. Each report has default dimensions; --by sets others.
#[derive(Debug, Args)]
#[command(after_help = after_help())]
pub struct Report {
    /// The report, see the list below
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
    /// Of report limits, only the current windows
    #[arg(long)]
    pub active: bool,
    /// Of report outcomes, the number of trials of pass@k and pass^k [default: 5]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    pub k: Option<u32>,
    /// Of report outcomes, what trials without a verdict count as
    #[arg(long, value_enum, value_name = "HOW", default_value_t, hide_default_value = true)]
    pub unjudged: Unjudged,
    /// Of report cost, also the cost of the same tokens at the prices of this model, with and without its cache prices
    #[arg(long, value_name = "MODEL")]
    pub price_as: Option<String>,
    /// Of report waste, the N most expensive sessions and tools of each cause, with the log and the line of the worst case
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
    /// Print a chart instead of a table: columns if time is a dimension, else bars. It shows the column of --sort, or the first
    #[arg(long, conflicts_with = "format")]
    pub chart: bool,
    /// Write the chart to an SVG file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    #[command(flatten)]
    pub source: DataSource,
    #[command(flatten)]
    pub printed: Printed,
}

/// The lists of reports and dimensions, and examples.
fn after_help() -> String {
    let reports: Vec<(&str, String)> = REPORTS.iter().map(|report| (report.name, report.about.to_owned())).collect();
    let mut dimensions: Vec<(&str, String)> = Vec::new();
    for dimension in DIMENSIONS {
        dimensions.push((dimension.name, format!("{} ({})", dimension.about, dimension.reports_as_text())));
    }
    dimensions.push(("label:KEY", "Value of the session's label KEY (all but health)".to_owned()));
    format!(
        "Reports:\n{}\n\nDimensions, and the reports that have them:\n{}\n\nExamples:\n  \
         agentlogs report cost --by week,model --since 30d\n  \
         agentlogs report tools --by mcp_server,tool --runtime claude --sort errors\n  \
         agentlogs report sessions --by label:experiment --format csv\n  \
         agentlogs report cost --by session --project '*/shop' --limit 20\n  \
         agentlogs report cost --by week,runtime --chart --svg weeks.svg\n  \
         agentlogs report outcomes --by label:experiment,model --k 3 --wide\n  \
         agentlogs report cost --by model --price-as gpt-5.1-codex\n  \
         agentlogs report waste --by project,cause --since 30d\n  \
         agentlogs report waste --top 3\n  \
         agentlogs report limits --active --wide",
        listed(&reports),
        listed(&dimensions)
    )
}

/// Names with their descriptions, a line each.
fn listed(names: &[(&str, String)]) -> String {
    let width = names.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let lines: Vec<String> = names.iter().map(|(name, about)| format!("  {name:width$}  {about}")).collect();
    lines.join("\n")
}
