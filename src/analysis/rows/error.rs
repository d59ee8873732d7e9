//! Why a report cannot be run.

use polars::prelude::PolarsError;

use super::dimension::DIMENSIONS;
use super::pattern::PatternTooLong;
use super::scope::UnknownTimezone;

/// Why a report cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No report has this name.
    #[error("no report {name:?}; there are: {list}")]
    Report {
        /// The name.
        name: String,
        /// The reports.
        list: String,
    },
    /// No dimension has this name.
    #[error("no dimension {0:?}; there are: {list}, label:KEY", list = names(DIMENSIONS.iter().map(|dimension| dimension.name)))]
    Dimension(String),
    /// `report health` does not accept this option.
    #[error(
        "report health accepts --runtime, --sort and --limit, not {0}: its findings are about whole files and sessions"
    )]
    NotOfHealth(String),
    /// `report limits` cannot group by dimensions.
    #[error("report limits does not accept --by: each row is a window")]
    GroupedLimits,
    /// `report limits` cannot include rows without a time.
    #[error("report limits does not accept --undated: rows without a time are in no window")]
    UndatedLimits,
    /// Only `report limits` has active windows.
    #[error("only report limits accepts --active, not report {0}")]
    NotActive(&'static str),
    /// Only `report outcomes` has trials.
    #[error("only report outcomes accepts {1}, not report {0}")]
    NotOfOutcomes(&'static str, &'static str),
    /// Only `report waste` has causes.
    #[error("only report waste accepts --top, not report {0}")]
    NotOfWaste(&'static str),
    /// Only `report cost` computes the cost at the prices of another model.
    #[error("only report cost accepts --price-as, not report {0}")]
    NotOfCost(&'static str),
    /// No model has this name.
    #[error("no model in the catalog is named {model:?}{}", similar_names(.similar))]
    UnknownModel {
        /// The name.
        model: String,
        /// Similar names.
        similar: Vec<String>,
    },
    /// The rows of the report do not have this dimension.
    #[error("report {report} has no dimension {dimension}; it has: {list}, label:KEY")]
    NotOfReport {
        /// The report.
        report: &'static str,
        /// The dimension.
        dimension: String,
        /// The dimensions of the report.
        list: String,
    },
    /// No column to sort by has this name.
    #[error("no column {column:?} to sort by; there are: {list}")]
    Sort {
        /// The name.
        column: String,
        /// The columns of the report.
        list: String,
    },
    /// A filter with a `*` is too long.
    #[error(transparent)]
    Pattern(#[from] PatternTooLong),
    /// The time zone does not exist.
    #[error(transparent)]
    Timezone(#[from] UnknownTimezone),
    /// The SQL of the findings failed.
    #[error(transparent)]
    Query(#[from] crate::store::query::Error),
    /// A time is out of the range of the calendar.
    #[error("{0}")]
    Time(#[from] jiff::Error),
    /// The tables cannot be read.
    #[error(transparent)]
    Polars(#[from] PolarsError),
}

/// Similar names, as the end of a message.
fn similar_names(similar: &[String]) -> String {
    if similar.is_empty() { String::new() } else { format!("; similar names are {}", similar.join(", ")) }
}

/// Names as a list for people.
pub(in crate::analysis) fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}
