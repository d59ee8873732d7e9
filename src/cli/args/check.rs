//! The arguments of `check`.

use agentlogs::analysis::budget::Limit;
use clap::Args;

use super::filters::{Cost, Filters};
use super::shared::{DataSource, Printed};

/// Compare measures of reports with bounds, for cron and CI
///
/// Prints each value with its bound. The exit status is 4 if a bound is exceeded, and 5 if a filter other than those of time
/// matches no session at all, as after a typing error. Without --max and --min, the budgets of
/// agentlogs.toml are compared. A value is unknown if no row is in scope: it exceeds every --min and no --max.
#[derive(Debug, Args)]
#[command(after_help = "\
MEASURE is a column of a report, such as cost_usd, total_tokens, sessions or error_rate. The first report that has it computes it, \
in the order of `agentlogs report --help`; REPORT.MEASURE names another one. sessions and tool_calls are those of report sessions. Rates and shares \
are between 0 and 1: 0.1 and 10% are the same bound.

Examples:
  agentlogs check --max-cost 50 --last 7d
  agentlogs check --max cost_usd=20 --max tools.error_rate=10% --project shop --since today
  agentlogs check --min sessions=1 --since yesterday --format json
  agentlogs check --baseline 2026-10 --since 2026-11-01 --label prompt=new
  agentlogs check")]
pub struct Check {
    /// The largest permitted value of a measure; repeatable
    #[arg(long, value_name = "MEASURE=VALUE", value_parser = bound)]
    pub max: Vec<(String, Limit)>,
    /// The smallest permitted value of a measure; repeatable
    #[arg(long, value_name = "MEASURE=VALUE", value_parser = bound)]
    pub min: Vec<(String, Limit)>,
    /// The largest permitted cost in US dollars, as `--max cost_usd=USD`
    #[arg(long, value_name = "USD")]
    pub max_cost: Option<Limit>,
    /// Compare with the sessions of a period (2026-10, 2026-10-01..2026-10-14) or of another archive: exit with 4 only if a measure
    /// became worse by more than chance. The other filters apply to both
    #[arg(long, value_name = "PERIOD|ARCHIVE", conflicts_with_all = ["max", "min", "max_cost", "cost"])]
    pub baseline: Option<String>,
    /// Exit with 0 if a filter other than those of time matches no session
    #[arg(long)]
    pub allow_empty: bool,
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

fn bound(text: &str) -> Result<(String, Limit), String> {
    let parsed = text.split_once('=').and_then(|(name, value)| Some((name.to_owned(), value.parse::<Limit>().ok()?)));
    parsed.filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
        "a bound has the form MEASURE=VALUE, where VALUE is a number or a percentage, such as cost_usd=50 or error_rate=10%".to_owned()
    })
}
