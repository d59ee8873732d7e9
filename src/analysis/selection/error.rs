//! Why a report cannot be run.

use polars::prelude::PolarsError;

use super::dimension::DIMENSIONS;
use super::scope::UnknownTimezone;
use crate::analysis::rows::PatternTooLong;
use crate::store::query::near;

/// Why a report cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No report has this name.
    #[error("no report {name:?}; {suggestion}", suggestion = suggested_report(.name, .list))]
    Report {
        /// The name.
        name: String,
        /// The reports.
        list: String,
    },
    /// No dimension has this name.
    #[error("no dimension {0:?}; {suggestion}", suggestion = suggested_dimension(.0))]
    Dimension(String),
    /// A dimension of labels without a key.
    #[error("label: needs the key of a label, such as label:experiment")]
    LabelWithoutKey,
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
    /// Lines of a bill are of more than a day.
    #[error("{0} of the bill's lines are of more than a day: --by model compares the whole period")]
    NotOfDays(usize),
    /// Only one report has the option: `report outcomes` has trials, and `report shipped` outcomes of commits.
    #[error("only report {2} accepts {1}, not report {0}")]
    NotOfOther(&'static str, &'static str, &'static str),
    /// Only `report waste` has causes.
    #[error("only report waste accepts --top, not report {0}")]
    NotOfWaste(&'static str),
    /// Only `report sessions` has trees.
    #[error("only report sessions accepts --tree, not report {0}")]
    NotOfSessions(&'static str),
    /// A tree is not grouped.
    #[error("report sessions --tree does not accept --by: each row is a session")]
    GroupedTree,
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
    #[error(
        "{what}{report} has no dimension {dimension}{with}{near}; it has: {list}, label:KEY",
        near = suggested_of(.dimension, .list), what = if *.report == "compare" { "" } else { "report " }, with = reports_with(.reports)
    )]
    NotOfReport {
        /// The report, or `compare`.
        report: &'static str,
        /// The dimension.
        dimension: String,
        /// The dimensions of the report.
        list: String,
        /// The reports that have it; empty if there are none, or they are not known.
        reports: String,
    },
    /// No column to sort by has this name.
    #[error("no column {column:?} to sort by{near}; there are: {list}", near = suggested_column(.column, .list))]
    Sort {
        /// The name.
        column: String,
        /// The columns of the report.
        list: String,
    },
    /// The bounds of time exclude everything.
    #[error("no time is between --since {since} ({first}) and --until {until} ({end})")]
    EmptyPeriod {
        /// The value of `--since`.
        since: String,
        /// Its local time.
        first: String,
        /// The value of `--until`.
        until: String,
        /// Its local time.
        end: String,
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

/// What people write for a report that exists under another name, or with another dimension: the words of other programs.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("blocks", "limits"),
    ("daily", "cost --by day"),
    ("hourly", "cost --by hour"),
    ("monthly", "cost --by month"),
    ("mcp", "tools --by mcp_server"),
    ("projects", "cost --by project"),
    ("repositories", "cost --by repository"),
    ("runtimes", "cost --by runtime"),
    ("usage", "tokens"),
    ("verdicts", "outcomes"),
    ("weekly", "cost --by week"),
];

/// The report with the content of one that other programs have under this name.
pub fn other_report(name: &str) -> Option<&'static str> {
    OTHER_NAMES.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, report)| *report)
}

/// The report that a wrong name probably means, or all reports.
fn suggested_report(name: &str, list: &str) -> String {
    match other_report(name).or_else(|| near(name, list.split(", "))) {
        Some(report) => format!("did you mean report {report}?"),
        None => format!("there are: {list}"),
    }
}

/// The dimension that a wrong name probably means, or all dimensions.
fn suggested_dimension(name: &str) -> String {
    match near(name, DIMENSIONS.iter().map(|it| it.name)) {
        Some(dimension) => format!("did you mean --by {dimension}?"),
        None => format!("there are: {}, label:KEY", names(DIMENSIONS.iter().map(|it| it.name))),
    }
}

/// The dimension of a report that has the name of another report's as a word. Names with similar letters are others.
fn suggested_of(name: &str, list: &str) -> String {
    let mut found = list.split(", ").filter(|known| known.split('_').any(|word| word == name));
    found.next().map(|found| format!("; did you mean --by {found}?")).unwrap_or_default()
}

/// The reports that have a dimension which another one does not have.
fn reports_with(reports: &str) -> String {
    if reports.is_empty() { String::new() } else { format!(" (of {reports})") }
}

/// The column that a wrong name probably means.
fn suggested_column(name: &str, list: &str) -> String {
    near(name, list.split(", ")).map(|column| format!("; did you mean --sort {column}?")).unwrap_or_default()
}

/// Similar names, as the end of a message.
fn similar_names(similar: &[String]) -> String {
    if similar.is_empty() { String::new() } else { format!("; similar names are {}", similar.join(", ")) }
}

/// Names as a list for people.
pub(in crate::analysis) fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}
