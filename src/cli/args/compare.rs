//! The arguments of `compare`.

use clap::Args;

use super::filters::{Undated, Unjudged};
use super::shared::{DataSource, Printed};

/// Compare two cohorts of sessions: models, experiments, weeks
///
/// Each line shows a number of both cohorts, the difference from A to B, and its 95 % confidence interval, computed by
/// resampling sessions. The result is: B is higher, lower, inconclusive, or too few sessions; `test` names the test that decided.
/// With a bootstrap, a result is inconclusive if the interval contains 0.
///
/// `p_adjusted` is the p-value after Holm's correction for all lines. With --wide, `detectable` is the least difference that is found
/// with a power of 80 %, and `needed` the number in each cohort that finds the observed one.
///
/// Where sessions have verdicts, the measures of `report outcomes` are compared too. If both cohorts have tasks in common, means over
/// these tasks, `paired_…`, decide instead of them: McNemar's exact test compares whether tasks pass, and a paired bootstrap (BCa)
/// their cost, tokens, turns and time.
#[derive(Debug, Args)]
#[command(after_help = "\
FILTERS is a list of NAME=VALUE, separated by commas. The names are since, until and last, which apply to the start of the \
session, and runtime, model, project, session, status, verdict, task, label:KEY and the other dimensions of sessions. In a value, \
* matches any text.

Examples:
  agentlogs compare --a 'model=claude-opus-*' --b 'model=gpt-5*'
  agentlogs compare --a label:experiment=base --b label:experiment=new-prompt --format json
  agentlogs compare --a label:experiment=base --b label:experiment=new-prompt --tasks
  agentlogs compare --by model --where label:experiment=base
  agentlogs compare --a since=2026-10-01,until=2026-10-07 --b since=2026-10-08,until=2026-10-14
  agentlogs compare --a 'runtime=codex,project=*/shop' --b 'runtime=claude,project=*/shop'")]
pub struct Compare {
    /// The first cohort; repeatable for more filters
    #[arg(long, value_name = "FILTERS", required_unless_present = "by")]
    pub a: Vec<String>,
    /// The second cohort; repeatable for more filters
    #[arg(long, value_name = "FILTERS", required_unless_present = "by")]
    pub b: Vec<String>,
    /// List the tasks that broke, were fixed, are flaky or stayed, in place of the measures
    #[arg(long, conflicts_with = "by")]
    pub tasks: bool,
    /// Compare the cohorts of a dimension, such as model or label:experiment, in place of two; of more than 12 those with most sessions
    #[arg(long, value_name = "DIM", conflicts_with_all = ["a", "b"])]
    pub by: Option<String>,
    /// The sessions that --by divides; repeatable for more filters
    #[arg(long = "where", value_name = "FILTERS", requires = "by")]
    pub only: Vec<String>,
    /// Only tasks that are held out: those that `export --as evidence` does not show
    #[arg(long)]
    pub held_out: bool,
    /// Time zone of days and of times without a zone, such as Europe/Berlin [default: the system's]
    #[arg(long, value_name = "TZ", value_parser = super::shared::timezone, allow_hyphen_values = true)]
    pub timezone: Option<String>,
    /// Whether to include sessions without a start. By default since and until exclude them, and their number is printed
    #[arg(long, value_enum, value_name = "HOW")]
    pub undated: Option<Undated>,
    /// What trials without a verdict count as
    #[arg(long, value_enum, value_name = "HOW", default_value_t, hide_default_value = true)]
    pub unjudged: Unjudged,
    #[command(flatten)]
    pub source: DataSource,
    #[command(flatten)]
    pub printed: Printed,
}
