//! Filters of rows, and the choice of the cost.

use agentlogs::analysis::reports::Bound;
use clap::{Args, ValueEnum};

use super::shared::label;

/// Which rows are included.
#[derive(Debug, Clone, Default, Args)]
pub struct Filters {
    /// The earliest time: a day (2026-10-05), a time in --timezone (2026-10-05T08:00) or with its own zone
    /// (2026-10-05T08:00:00Z), or a span before now (30d, 2w, 12h)
    #[arg(long, value_name = "TIME")]
    pub since: Option<Bound>,
    /// The latest time; a day includes the whole day
    #[arg(long, value_name = "TIME")]
    pub until: Option<Bound>,
    /// Whether to include rows without a time in sessions without a start. By default --since and --until exclude them, and
    /// their number is printed
    #[arg(long, value_enum, value_name = "HOW")]
    pub undated: Option<Undated>,
    /// Time zone of days, weeks, hours and of times without a zone, such as Europe/Berlin [default: the system's]
    #[arg(long, value_name = "TZ", value_parser = super::shared::timezone, allow_hyphen_values = true)]
    pub timezone: Option<String>,
    /// Only this runtime; in this and the following filters, * matches any text
    #[arg(long, value_name = "R")]
    pub runtime: Option<String>,
    /// Only this model, by any of its names
    #[arg(long, value_name = "M")]
    pub model: Option<String>,
    /// Only this project: its directory, the last part of it, or its name in the overview
    #[arg(long, value_name = "P")]
    pub project: Option<String>,
    /// Only this repository: host/owner/name, or the last part of it
    #[arg(long, value_name = "R")]
    pub repository: Option<String>,
    /// Only this session
    #[arg(long, value_name = "S")]
    pub session: Option<String>,
    /// Only sessions with this status
    #[arg(long, value_name = "S")]
    pub status: Option<String>,
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
        ];
        all.into_iter().filter_map(|(name, pattern)| Some((name, pattern.as_deref()?)))
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

/// What trials count as that no verdict judges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Unjudged {
    /// Neither passed nor failed
    #[default]
    Apart,
    /// Failed, as leaderboards count them
    Failed,
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
