//! Filters of rows, and the choice of the cost.

use agentlogs::analysis::reports::Bound;
use agentlogs::analysis::{outcomes, reports};
use clap::{Args, ValueEnum};

use super::shared::label;

/// Which rows are included.
#[derive(Debug, Clone, Default, Args)]
pub struct Filters {
    /// The earliest time: today, yesterday, week, month, a number of days up to today (7d, 2w, 3mo), hours before now (12h), a day
    /// (2026-10-05), month (2026-10), week (2026-W41) or time (2026-10-05T08:00)
    #[arg(long, value_name = "TIME")]
    pub since: Option<Bound>,
    /// The latest time, in the same forms; a day, week or month is included as a whole
    #[arg(long, value_name = "TIME")]
    pub until: Option<Bound>,
    /// The last days (7d: seven days, of which today is the last), weeks (2w), months (3mo) or hours (12h)
    #[arg(long, value_name = "SPAN", value_parser = last, conflicts_with_all = ["since", "until"])]
    pub last: Option<Bound>,
    /// Whether to include rows without a time in sessions without a start. By default --since and --until exclude them, and
    /// their number is printed
    #[arg(long, value_enum, value_name = "HOW")]
    pub undated: Option<Undated>,
    /// Time zone of days, weeks, hours and of times without a zone, such as Europe/Berlin [default: the system's]
    #[arg(long, value_name = "TZ", value_parser = super::shared::timezone, allow_hyphen_values = true)]
    pub timezone: Option<String>,
    /// Only this runtime. In all filters * matches any text: 'c*'
    #[arg(long, value_name = "R")]
    pub runtime: Option<String>,
    /// Only this model, by any of its names; of sessions their main model
    #[arg(long, value_name = "M")]
    pub model: Option<String>,
    /// Only this project: its directory, the last part of it, or its name in the overview
    #[arg(long, value_name = "P")]
    pub project: Option<String>,
    /// Only this repository: host/owner/name, or the last part of it
    #[arg(long, value_name = "R")]
    pub repository: Option<String>,
    /// Only this session: its id, or the beginning of it
    #[arg(long, value_name = "S")]
    pub session: Option<String>,
    /// Only sessions with this status
    #[arg(long, value_name = "S")]
    pub status: Option<String>,
    /// Only trials that passed or failed by their verdict, or have none
    #[arg(long, value_enum, value_name = "V")]
    pub verdict: Option<Verdict>,
    /// Only trials of this task, as verdicts name it
    #[arg(long, value_name = "T")]
    pub task: Option<String>,
    /// Only sessions that failed for this reason, such as loop: see report failures
    #[arg(long, value_name = "CLASS")]
    pub failure: Option<String>,
    #[arg(
        long,
        value_name = "U",
        help = "Only sessions whose tokens can be trusted so far: exact, lower_bound, estimate, unknown or conflict"
    )]
    pub usage: Option<String>,
    /// Only sessions with this label; repeatable
    #[arg(long = "label", value_name = "K=V", value_parser = label)]
    pub labels: Vec<String>,
    /// The time that counts as now, so that tests are repeatable
    #[arg(long, value_name = "TIME", hide = true)]
    pub now: Option<jiff::Timestamp>,
}

impl Filters {
    /// The filters by a dimension other than labels, each with the name of the dimension.
    pub fn by_dimension(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            ("runtime", &self.runtime),
            ("model", &self.model),
            ("project", &self.project),
            ("repository", &self.repository),
            ("session", &self.session),
            ("status", &self.status),
            ("task", &self.task),
            ("failure_class", &self.failure),
            ("usage", &self.usage),
        ];
        let verdict = self.verdict.map(|verdict| ("verdict", verdict.as_str()));
        all.into_iter().filter_map(|(name, pattern)| Some((name, pattern.as_deref()?))).chain(verdict)
    }

    /// The earliest time, by `--since` or `--last`.
    pub fn start(&self) -> Option<Bound> {
        self.since.or(self.last)
    }
}

/// Validates the value of `--last`.
fn last(text: &str) -> Result<Bound, String> {
    const SPANS: &str = "a span such as 7d, 2w, 3mo or 12h";
    match text.parse::<Bound>() {
        Ok(bound) if bound.is_span() => Ok(bound),
        Ok(_) => Err(format!("a point in time; write --since {text}, or {SPANS}")),
        // Names of days and months do not help here.
        Err(reason) if reason.starts_with("not a time") => Err(format!("not a span of time; write {SPANS}")),
        Err(reason) => Err(reason),
    }
}

/// What the verdict of a trial states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Verdict {
    /// It passed
    Passed,
    /// It failed
    Failed,
    /// No verdict states either
    Unjudged,
}

impl Verdict {
    /// The value of the dimension.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Unjudged => "unjudged",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Undated {
    /// Include them, whatever --since and --until
    Include,
    /// Exclude them
    Exclude,
    /// Include only them
    Only,
}

impl Undated {
    /// The value on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Include => "include",
            Self::Exclude => "exclude",
            Self::Only => "only",
        }
    }
}

impl From<Undated> for reports::Undated {
    fn from(undated: Undated) -> Self {
        match undated {
            Undated::Include => Self::Include,
            Undated::Exclude => Self::Exclude,
            Undated::Only => Self::Only,
        }
    }
}

/// What trials count as that no verdict judges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Unjudged {
    /// Neither passed nor failed
    #[default]
    Apart,
    /// Failed, as leaderboards count them
    Failed,
}

impl From<Unjudged> for outcomes::Unjudged {
    fn from(unjudged: Unjudged) -> Self {
        match unjudged {
            Unjudged::Apart => Self::Apart,
            Unjudged::Failed => Self::Failed,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Cost {
    /// The reported cost where a log reports it, else the computed one
    #[default]
    Auto,
    /// The cost that logs report
    Reported,
    /// Tokens times prices
    Computed,
}

impl From<Cost> for reports::CostBasis {
    fn from(cost: Cost) -> Self {
        match cost {
            Cost::Auto => Self::Auto,
            Cost::Reported => Self::Reported,
            Cost::Computed => Self::Computed,
        }
    }
}
