//! Reports: the ledger's rows grouped by dimensions. Local time begins here.
//!
//! A report is one entry of [`REPORTS`], a dimension one of [`DIMENSIONS`], a measure one function: every report takes
//! every dimension that its rows have.

use std::collections::BTreeSet;

use polars::prelude::*;
use polars::sql::SQLContext;

/// What is counted per group, and of which rows.
#[derive(Debug)]
pub struct Report {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it answers.
    pub about: &'static str,
    /// The table whose rows are grouped.
    table: &'static str,
    /// Dimensions if none are asked for.
    by: &'static [&'static str],
    measures: &'static [Measure],
}

/// All reports.
pub static REPORTS: &[Report] = &[
    Report {
        name: "cost",
        about: "What it cost, with the tokens behind it",
        table: "turns",
        by: &["model"],
        measures: &[
            sum("cost_usd"),
            sum("input_tokens"),
            sum("output_tokens"),
            sum("cache_read_tokens"),
            sum("cache_write_tokens"),
            sum("total_tokens"),
            UNPRICED,
            SESSIONS,
        ],
    },
    Report {
        name: "tokens",
        about: "Where the tokens went",
        table: "turns",
        by: &["model"],
        measures: &[
            sum("input_tokens"),
            sum("output_tokens"),
            sum("reasoning_tokens"),
            sum("cache_read_tokens"),
            sum("cache_write_tokens"),
            sum("total_tokens"),
            TURNS,
            SESSIONS,
        ],
    },
    Report {
        name: "tools",
        about: "Which tools are called, and which fail",
        table: "tool_calls",
        by: &["tool"],
        measures: &[
            Measure { name: "calls", of: Of::Rows },
            Measure { name: "errors", of: Of::Where("status", "error") },
            Measure { name: "denied", of: Of::Where("status", "denied") },
            Measure { name: "incomplete", of: Of::Where("status", "incomplete") },
            Measure { name: "error_rate", of: Of::Share("status", "error") },
            Measure { name: "mean_duration_ms", of: Of::Mean("duration_ms") },
            sum("result_bytes"),
            SESSIONS,
        ],
    },
];

/// Dimensions, with the column of the table or of its session that gives them. Those of time are made from
/// `occurred_at`.
pub static DIMENSIONS: &[(&str, Dimension)] = &[
    ("agent", Dimension::Column("agent")),
    ("category", Dimension::Column("category")),
    ("day", Dimension::Day),
    ("format", Dimension::Column("format")),
    ("hour", Dimension::Formatted("%Y-%m-%d %H:00")),
    ("mcp_server", Dimension::Column("mcp_server")),
    ("model", Dimension::Column("model")),
    ("month", Dimension::Formatted("%Y-%m")),
    ("project", Dimension::OfSession("project")),
    ("provider", Dimension::Column("provider")),
    ("runtime", Dimension::Column("runtime")),
    ("session", Dimension::Column("session_id")),
    ("status", Dimension::OfSession("status")),
    ("tool", Dimension::Column("tool")),
    ("week", Dimension::Week),
];

/// How a dimension's value comes about.
#[derive(Debug, Clone, Copy)]
pub enum Dimension {
    /// A column of the rows themselves, or of their session where they have none.
    Column(&'static str),
    /// A column of their session.
    OfSession(&'static str),
    /// The local day.
    Day,
    /// The Monday of the local week.
    Week,
    /// The local time, written in this form.
    Formatted(&'static str),
}

#[derive(Debug)]
struct Measure {
    name: &'static str,
    of: Of,
}

#[derive(Debug)]
enum Of {
    /// The sum of a column, NULL if nothing is known.
    Sum(&'static str),
    /// The mean of a column.
    Mean(&'static str),
    /// The number of rows.
    Rows,
    /// The number of rows where a column is a word.
    Where(&'static str, &'static str),
    /// Their share of all rows.
    Share(&'static str, &'static str),
    /// The tokens of rows that no cost covers.
    Unpriced,
    /// The number of distinct sessions.
    Sessions,
}

const fn sum(column: &'static str) -> Measure {
    Measure { name: column, of: Of::Sum(column) }
}

const SESSIONS: Measure = Measure { name: "sessions", of: Of::Sessions };
const TURNS: Measure = Measure { name: "turns", of: Of::Where("grain", "turn") };
const UNPRICED: Measure = Measure { name: "unpriced_tokens", of: Of::Unpriced };

impl Measure {
    fn expression(&self) -> Expr {
        let known = |column: &str, value: Expr| when(col(column).count().gt(lit(0))).then(value).otherwise(lit(NULL));
        let is = |column: &str, word: &str| col(column).eq(lit(word));
        let value = match self.of {
            Of::Sum(column) => known(column, col(column).sum()),
            Of::Mean(column) => col(column).mean(),
            Of::Rows => len().cast(DataType::Int64),
            Of::Where(column, word) => is(column, word).sum().cast(DataType::Int64),
            Of::Share(column, word) => is(column, word).mean(),
            Of::Unpriced => {
                col("total_tokens").filter(col("cost_source").is_null()).sum().fill_null(lit(0)).cast(DataType::Int64)
            }
            Of::Sessions => as_struct(vec![col("runtime"), col("session_id")]).n_unique().cast(DataType::Int64),
        };
        value.alias(self.name)
    }
}

/// What of the rows is asked for.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Dimensions, in order; the report's own if empty.
    pub by: Vec<String>,
    /// Only turns at this local day or later, `2026-10-05`.
    pub since: Option<jiff::civil::Date>,
    /// Only turns at this local day or earlier.
    pub until: Option<jiff::civil::Date>,
    /// Name of the time zone.
    pub timezone: String,
    /// Pairs of dimension and pattern, in which `*` stands for anything: only rows that fit all.
    pub only: Vec<(String, String)>,
    /// The column to sort by, descending.
    pub sort: Option<String>,
    /// At most so many rows.
    pub limit: Option<u32>,
}

/// What is wrong with what is asked for: the command line's fault.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such report.
    #[error("no report {0:?}; there are: {list}", list = names(REPORTS.iter().map(|it| it.name)))]
    Report(String),
    /// There is no such dimension.
    #[error("no dimension {0:?}; there are: {list}", list = names(DIMENSIONS.iter().map(|it| it.0)))]
    Dimension(String),
    /// The report's rows do not have it.
    #[error("report {report} cannot be grouped by {dimension}")]
    NotOfReport {
        /// The report.
        report: &'static str,
        /// The dimension.
        dimension: String,
    },
    /// There is no such column to sort by.
    #[error("no column {0:?} to sort by")]
    Sort(String),
    /// There is no such time zone.
    #[error("no time zone {0:?}; names are those of IANA, such as Europe/Berlin")]
    Timezone(String),
    /// The tables cannot be read.
    #[error(transparent)]
    Polars(#[from] PolarsError),
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// The report of that name.
///
/// # Errors
/// When there is none.
pub fn find(name: &str) -> Result<&'static Report, Error> {
    REPORTS.iter().find(|it| it.name == name).ok_or_else(|| Error::Report(name.to_owned()))
}

impl Report {
    /// The report's rows, and behind them one with the sums over all groups.
    ///
    /// # Errors
    /// When something is asked for that is not there.
    pub fn run(
        &self,
        tables: Vec<(&'static str, LazyFrame)>,
        options: &Options,
    ) -> Result<(DataFrame, DataFrame), Error> {
        let zone = TimeZone::opt_try_new(Some(options.timezone.as_str()))
            .ok()
            .flatten()
            .ok_or_else(|| Error::Timezone(options.timezone.clone()))?;
        let local = col("occurred_at").dt().convert_time_zone(zone);
        let asked: Vec<&str> = options.by.iter().map(String::as_str).collect();
        let mut by = if asked.is_empty() { self.by.to_vec() } else { asked };
        let mut seen = BTreeSet::new();
        by.retain(|it| seen.insert(*it));
        let mut rows = self.rows(tables)?;
        let schema = rows.collect_schema()?;
        let dimension = |name: &str| self.dimension(name, &local, &schema);
        for (name, pattern) in &options.only {
            rows = rows.filter(fits(dimension(name)?, pattern));
        }
        let day = local.clone().dt().date();
        if let Some(since) = options.since {
            rows = rows.filter(day.clone().gt_eq(lit(crate::time::days(since)).cast(DataType::Date)));
        }
        if let Some(until) = options.until {
            rows = rows.filter(day.lt_eq(lit(crate::time::days(until)).cast(DataType::Date)));
        }
        let keys = by.iter().map(|it| dimension(it)).collect::<Result<Vec<_>, _>>()?;
        let measures: Vec<Expr> = self.measures.iter().map(Measure::expression).collect();
        let total = rows.clone().select(measures.clone());
        let groups = rows.group_by_stable(keys).agg(measures);
        let groups = self.sorted(groups, &by, options)?;
        Ok((groups.collect()?, total.collect()?))
    }

    /// The table's rows with the columns of their sessions.
    fn rows(&self, tables: Vec<(&'static str, LazyFrame)>) -> PolarsResult<LazyFrame> {
        let mut context = SQLContext::new();
        for (name, frame) in tables {
            context.register(name, frame);
        }
        context.execute(&format!(
            "SELECT t.*, s.project AS session_project, s.status AS session_status, s.model AS session_model \
             FROM {} t JOIN sessions s ON t.runtime = s.runtime AND t.session_id = s.session_id",
            self.table
        ))
    }

    fn dimension(&self, name: &str, local: &Expr, schema: &Schema) -> Result<Expr, Error> {
        let Some((name, dimension)) = DIMENSIONS.iter().find(|(it, _)| *it == name) else {
            return Err(Error::Dimension(name.to_owned()));
        };
        let expression = match *dimension {
            Dimension::Column(column) if schema.contains(column) => col(column),
            Dimension::Column(column) | Dimension::OfSession(column) => {
                let column = format!("session_{column}");
                if !schema.contains(&column) {
                    return Err(Error::NotOfReport { report: self.name, dimension: (*name).to_owned() });
                }
                col(column)
            }
            Dimension::Day => local.clone().dt().date(),
            Dimension::Week => local.clone().dt().truncate(lit("1w")).dt().date(),
            Dimension::Formatted(form) => local.clone().dt().to_string(form),
        };
        Ok(expression.alias(*name))
    }

    /// In the order of time where time is a dimension, else the largest first.
    fn sorted(&self, groups: LazyFrame, by: &[&str], options: &Options) -> Result<LazyFrame, Error> {
        let is_time = |name: &&str| matches!(*name, "day" | "week" | "month" | "hour");
        let descending = |columns: &[&str], first: bool| {
            let mut order = vec![false; columns.len()];
            order[0] = first;
            SortMultipleOptions::default().with_order_descending_multi(order).with_nulls_last(true)
        };
        let largest = options.sort.as_deref().or_else(|| (!by.iter().any(is_time)).then(|| self.measures[0].name));
        let mut columns: Vec<&str> = by.to_vec();
        if let Some(largest) = largest {
            if !by.contains(&largest) && !self.measures.iter().any(|it| it.name == largest) {
                return Err(Error::Sort(largest.to_owned()));
            }
            columns.retain(|it| *it != largest);
            columns.insert(0, largest);
        }
        let order = descending(&columns, largest.is_some());
        let sorted = groups.sort(columns, order);
        Ok(match options.limit {
            Some(limit) => sorted.limit(limit),
            None => sorted,
        })
    }
}

/// Whether a text fits a pattern in which `*` stands for anything.
fn fits(value: Expr, pattern: &str) -> Expr {
    let value = value.cast(DataType::String);
    if !pattern.contains('*') {
        return value.eq(lit(pattern));
    }
    let parts: Vec<String> = pattern.split('*').map(escaped).collect();
    value.str().contains(lit(format!("(?s)^{}$", parts.join(".*"))), true).fill_null(lit(false))
}

/// A text as a regular expression that only it fits.
fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut out, it| {
        // A backslash before anything else has a meaning of its own, or none.
        if r"\.+*?()|[]{}^$#&-~".contains(it) {
            out.push('\\');
        }
        out.push(it);
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_has_no_sign_but_the_star() {
        let texts = ["/a–b\nc", "/<a>.b", "/xa>yb"];
        let fit = |pattern: &str| {
            let frame = df!("x" => texts).unwrap().lazy().filter(fits(col("x"), pattern)).collect().unwrap();
            frame.height()
        };
        assert_eq!(["*–*", "*<a>.b*", "*\\b*", "*b*", "/<a>.b", "*a?*"].map(fit), [1, 1, 0, 3, 1, 0]);
    }

    #[test]
    fn the_tables_are_in_order() {
        assert!(DIMENSIONS.is_sorted_by_key(|it| it.0));
        for report in REPORTS {
            assert!(report.by.iter().all(|by| DIMENSIONS.iter().any(|it| it.0 == *by)), "{}", report.name);
            assert!(!report.about.ends_with('.'), "{}", report.name);
        }
    }
}
