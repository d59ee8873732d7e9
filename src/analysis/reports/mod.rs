//! Reports: the archive's rows grouped by dimensions. Local time begins here.
//!
//! A report is one entry of [`REPORTS`], a dimension one of [`DIMENSIONS`], a measure one line of its report: every report
//! takes every dimension that its rows have.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use jiff::civil::{Date, DateTime};
use jiff::fmt::temporal::Pieces;
use jiff::{Span, Timestamp, Zoned};
use polars::prelude::*;

use crate::analysis::render::{counted, grouped};

pub mod cells;
mod health;
mod list;

pub use list::REPORTS;

/// Tables by name.
pub type Frames = Vec<(&'static str, LazyFrame)>;

/// One of them; nothing if it is not there.
fn table(tables: &Frames, name: &str) -> LazyFrame {
    tables.iter().find(|it| it.0 == name).map(|it| it.1.clone()).unwrap_or_default()
}

/// A question about the archive.
#[derive(Debug)]
pub struct Report {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it answers.
    pub about: &'static str,
    body: Body,
}

#[derive(Debug)]
enum Body {
    /// Rows grouped by dimensions.
    Groups {
        rows: Rows,
        /// Dimensions if none are asked for.
        by: &'static [&'static str],
        measures: &'static [Measure],
    },
    /// A list of findings: see [`health`].
    Health,
}

/// Which rows are grouped. All have `runtime`, `session_id` and `occurred_at`.
#[derive(Debug)]
enum Rows {
    /// Those of a table.
    Table(&'static str),
    /// Those of a table of which this holds.
    Where(&'static str, fn() -> Expr),
    /// The sessions, at the time of their start.
    Sessions,
    /// Events, and sessions that failed without one.
    Errors,
    /// Sessions by model, with what they cost by their logs and by the prices.
    Reconcile,
}

/// Dimensions, with the column of the table or of its session that gives them. Those of time are made from
/// `occurred_at`.
pub static DIMENSIONS: &[(&str, Dimension)] = &[
    ("agent", Dimension::Column("agent")),
    ("category", Dimension::Column("category")),
    ("code", Dimension::Column("code")),
    ("day", Dimension::Day),
    ("effort", Dimension::Column("effort")),
    ("entrypoint", Dimension::Column("entrypoint")),
    ("error_kind", Dimension::Column("error_kind")),
    ("format", Dimension::Column("format")),
    ("git_branch", Dimension::Column("git_branch")),
    ("hour", Dimension::Formatted("%Y-%m-%d %H:00")),
    ("kind", Dimension::Column("kind")),
    ("mcp_server", Dimension::Column("mcp_server")),
    ("model", Dimension::Column("model")),
    ("month", Dimension::Formatted("%Y-%m")),
    ("operation", Dimension::Column("operation")),
    ("path", Dimension::Column("path")),
    ("project", Dimension::OfSession("project")),
    ("provider", Dimension::Column("provider")),
    ("runtime", Dimension::Column("runtime")),
    ("runtime_version", Dimension::Column("runtime_version")),
    ("session", Dimension::Column("session_id")),
    ("status", Dimension::OfSession("status")),
    ("target", Dimension::Column("target")),
    ("tool", Dimension::Column("tool")),
    ("week", Dimension::Week),
];

/// What a dimension of a label's value begins with: `label:experiment`.
const LABEL: &str = "label:";

/// Columns of the session that rows of other tables are joined with, as `session_NAME`.
const OF_SESSION: &[&str] = &[
    "agent",
    "entrypoint",
    "error_kind",
    "git_branch",
    "labels",
    "model",
    "project",
    "runtime_version",
    "started_at",
    "status",
];

/// The column of the rows that tells sessions apart.
const SESSION_KEY: &str = "session_key";

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

/// A column of a report.
#[derive(Debug)]
pub struct Measure {
    /// Its name.
    pub name: &'static str,
    /// What it says.
    pub about: &'static str,
    of: Of,
    /// Whether it is left out unless all columns are asked for, or it is sorted by.
    is_wide: bool,
    /// Whether it needs columns of the session.
    needs_session: bool,
    /// Whether it is a part of the cost that stands in the archive, and says nothing of another.
    is_part: bool,
}

#[derive(Debug)]
enum Of {
    /// The sum of a column, NULL if nothing is known.
    Sum(&'static str),
    /// The largest value of a column.
    Max(&'static str),
    /// A percentile of a column: of the known values in order, the one at this part of the way from the first to the last,
    /// rounded to the nearest value.
    Quantile(&'static str, f64),
    /// The number of rows where a column is a word.
    Where(&'static str, &'static str),
    /// Any other over the rows of a group.
    Rows(fn() -> Expr),
    /// One over the measures, with a row for every group.
    Groups(fn() -> Expr),
}

impl Measure {
    const fn wide(self) -> Self {
        Self { is_wide: true, ..self }
    }

    const fn of_session(self) -> Self {
        Self { needs_session: true, ..self }
    }

    /// Over the rows of a group; none if it is made of other measures.
    fn of_rows(&self) -> Option<Expr> {
        let value = match self.of {
            Of::Sum(column) => known_sum(column),
            Of::Max(column) => col(column).max(),
            Of::Quantile(column, part) => {
                let value = col(column).quantile(lit(part), QuantileMethod::Nearest);
                if column.ends_with("_usd") { value } else { value.cast(DataType::Int64) }
            }
            Of::Where(column, word) => count_of(column, word),
            Of::Rows(of) => of(),
            Of::Groups(_) => return None,
        };
        Some(value.alias(self.name))
    }

    fn of_groups(&self) -> Option<Expr> {
        match self.of {
            Of::Groups(of) => Some(of().alias(self.name)),
            _ => None,
        }
    }
}

/// The sum of a column, NULL if nothing is known.
fn known_sum(column: &str) -> Expr {
    when(col(column).count().gt(lit(0))).then(col(column).sum()).otherwise(lit(NULL))
}

/// The number of rows where a column is a word.
fn count_of(column: &str, word: &str) -> Expr {
    col(column).eq(lit(word)).sum().cast(DataType::Int64)
}

/// What is asked of a report.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Dimensions, in order; the report's own if empty.
    pub by: Vec<String>,
    /// Which rows.
    pub scope: Scope,
    /// Which cost.
    pub cost: Cost,
    /// The column to sort by, descending.
    pub sort: Option<String>,
    /// At most so many rows.
    pub limit: Option<u32>,
    /// Whether the sums over all rows are asked for as well.
    pub total: bool,
    /// Whether columns are asked for that tables leave out.
    pub wide: bool,
}

/// Which rows are asked for: those that fit all of it.
#[derive(Debug, Clone)]
pub struct Scope {
    /// Not before this.
    pub since: Option<Bound>,
    /// Not after this.
    pub until: Option<Bound>,
    /// What happens to rows without a time. By default `since` and `until` exclude them, and without bounds they are
    /// included.
    pub undated: Option<Undated>,
    /// Name of the time zone of days, weeks and hours.
    pub timezone: String,
    /// Pairs of dimension and pattern, in which `*` stands for anything.
    pub only: Vec<(String, String)>,
    /// What bounds that lie so long ago are counted from.
    pub now: Timestamp,
}

impl Default for Scope {
    fn default() -> Self {
        Self {
            since: None,
            until: None,
            undated: None,
            timezone: "UTC".to_owned(),
            only: Vec::new(),
            now: Timestamp::UNIX_EPOCH,
        }
    }
}

/// What happens to undated rows: those without a time whose session has no start either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undated {
    /// They are kept, whatever the bounds of time.
    Include,
    /// They are left out.
    Exclude,
    /// They are kept, and all others are left out.
    Only,
}

/// The undated rows that a scope leaves out.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LeftOut {
    /// Their number.
    pub rows: u64,
    /// Their tokens; `None` if the rows have no tokens or none are known.
    pub tokens: Option<i64>,
    /// Their cost in US dollars; `None` if the rows have no cost or none is known.
    pub cost_usd: Option<f64>,
}

impl LeftOut {
    /// A sentence for people on these rows and what they lack: `3 rows without a time are left out (1,200 tokens, $0.0100)`.
    /// `None` if nothing is left out.
    pub fn stated(&self, thing: &str, lack: &str) -> Option<String> {
        if self.rows == 0 {
            return None;
        }
        let tokens = self.tokens.map(|tokens| format!("{} tokens", grouped(tokens)));
        let cost = self.cost_usd.map(|cost| format!("${cost:.4}"));
        let sums: Vec<String> = tokens.into_iter().chain(cost).collect();
        let sums = if sums.is_empty() { String::new() } else { format!(" ({})", sums.join(", ")) };
        let verb = if self.rows == 1 { "is" } else { "are" };
        Some(format!("{} without a {lack} {verb} left out{sums}", counted(self.rows, thing)))
    }
}

/// Where a time begins or ends.
#[derive(Debug, Clone, Copy)]
pub enum Bound {
    /// A local day, the whole of it.
    Day(Date),
    /// A local time. One that occurs twice, when clocks go back, is the earlier one; one that clocks skip is as much later
    /// as they skip: 02:30 becomes 03:30.
    Local(DateTime),
    /// A moment.
    Moment(Timestamp),
    /// So long ago; whole local days if it is days, weeks, months or years.
    Ago(Span),
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Day(day) => write!(f, "{day}"),
            Self::Local(time) => write!(f, "{time}"),
            Self::Moment(moment) => write!(f, "{moment}"),
            Self::Ago(span) => write!(f, "{span:#} ago"),
        }
    }
}

impl FromStr for Bound {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(moment) = text.parse() {
            return Ok(Self::Moment(moment));
        }
        if let Ok(zoned) = text.parse::<Zoned>() {
            return Ok(Self::Moment(zoned.timestamp()));
        }
        // A `Date` can be parsed from a date and a time as well, and drops the time.
        if let Ok(pieces) = Pieces::parse(text)
            && pieces.offset().is_none()
            && pieces.time_zone_annotation().is_none()
        {
            return Ok(pieces
                .time()
                .map_or(Self::Day(pieces.date()), |time| Self::Local(pieces.date().to_datetime(time))));
        }
        match text.parse::<Span>() {
            Ok(span) if !span.is_negative() => Ok(Self::Ago(span)),
            _ => Err(
                "neither a day such as 2026-10-05, a time such as 2026-10-05T08:00 or 2026-10-05T08:00:00Z, nor so long ago: \
                 30d, 2w, 12h"
                    .into(),
            ),
        }
    }
}

impl Bound {
    /// The first moment of it, or the first that is behind it.
    fn edge(self, now: &Zoned, is_end: bool) -> Result<Timestamp, jiff::Error> {
        let day = match self {
            Self::Moment(moment) => return Ok(moment),
            Self::Local(time) => return Ok(time.to_zoned(now.time_zone().clone())?.timestamp()),
            Self::Day(day) => day,
            Self::Ago(span) => {
                let then = now.checked_sub(span)?;
                let is_of_days = [span.get_hours().into(), span.get_minutes(), span.get_seconds()] == [0, 0, 0];
                if !is_of_days {
                    return Ok(then.timestamp());
                }
                then.date()
            }
        };
        let day = if is_end { day.tomorrow()? } else { day };
        Ok(day.to_zoned(now.time_zone().clone())?.timestamp())
    }
}

/// Which cost a report is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Cost {
    /// Reported where the log reports it, else computed.
    #[default]
    Auto,
    /// What logs report, a 0 included.
    Reported,
    /// Tokens times prices.
    Computed,
}

impl Cost {
    /// `cost_usd` as asked for, and whether a row's tokens are without it.
    fn columns(self) -> [Expr; 2] {
        let is_shared = || col("cost_source").eq(lit("reported"));
        let (cost, is_unpriced) = match self {
            Self::Auto => (col("cost_usd"), col("cost_source").is_null()),
            // A total stands shared over its rows in `cost_usd`.
            Self::Reported => (
                when(is_shared().and(col("cost_usd").is_not_null()))
                    .then(col("cost_usd"))
                    .otherwise(col("reported_cost_usd")),
                is_shared().fill_null(lit(false)).not().and(col("reported_cost_usd").is_null()),
            ),
            Self::Computed => (col("computed_cost_usd"), col("computed_cost_usd").is_null()),
        };
        [cost.alias("cost_usd"), is_unpriced.alias("is_unpriced")]
    }
}

/// What a report says.
#[derive(Debug)]
pub struct Answer {
    /// Its rows.
    pub rows: DataFrame,
    /// How many of their columns, the first, are dimensions.
    pub dimensions: usize,
    /// The measures over all rows, where asked for.
    pub total: Option<DataFrame>,
    /// Undated rows that are left out.
    pub left_out: LeftOut,
}

/// What is wrong with what is asked for.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such report.
    #[error("no report {0:?}; there are: {list}", list = names(REPORTS.iter().map(|it| it.name)))]
    Report(String),
    /// There is no such dimension.
    #[error("no dimension {0:?}; there are: {list}, label:KEY", list = names(DIMENSIONS.iter().map(|it| it.0)))]
    Dimension(String),
    /// The report of health takes no such option.
    #[error(
        "report health lists what was lost of whole files and sessions: it takes --runtime, --sort and --limit, not {0}"
    )]
    NotOfHealth(String),
    /// The report's rows do not have it.
    #[error("report {report} has no dimension {dimension}")]
    NotOfReport {
        /// The report.
        report: &'static str,
        /// The dimension.
        dimension: String,
    },
    /// There is no such column to sort by.
    #[error("no column {column:?} to sort by; there are: {list}")]
    Sort {
        /// What was asked for.
        column: String,
        /// What there is.
        list: String,
    },
    /// A filter with a `*` is too long, in bytes.
    #[error("a filter with * has {LONGEST_PATTERN} bytes at most, not {0}")]
    Pattern(usize),
    /// There is no such time zone.
    #[error("no time zone {0:?}; names are those of IANA, such as Europe/Berlin")]
    Timezone(String),
    /// The findings cannot be asked for.
    #[error(transparent)]
    Query(#[from] crate::store::query::Error),
    /// A time that no calendar has.
    #[error("{0}")]
    Time(#[from] jiff::Error),
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

/// The sessions in scope, with the columns of `sessions`, and what is left out of them for want of a start.
///
/// # Errors
/// When something is asked for that is not there.
pub fn sessions(tables: &Frames, scope: &Scope) -> Result<(LazyFrame, LeftOut), Error> {
    let grouping = Grouping::new("sessions", &Rows::Sessions, tables.clone(), scope, Cost::Auto)?;
    Ok((grouping.rows, grouping.left_out))
}

impl Scope {
    /// Whether it holds everything.
    pub fn is_everything(&self) -> bool {
        !self.is_bounded() && self.undated() == Undated::Include && self.only.is_empty()
    }

    /// Whether it has a bound of time.
    fn is_bounded(&self) -> bool {
        self.since.is_some() || self.until.is_some()
    }

    /// What happens to undated rows.
    fn undated(&self) -> Undated {
        self.undated.unwrap_or(if self.is_bounded() { Undated::Exclude } else { Undated::Include })
    }

    /// Now, in the time zone asked for.
    fn now(&self) -> Result<Zoned, Error> {
        self.now.in_tz(&self.timezone).map_err(|_| Error::Timezone(self.timezone.clone()))
    }
}

/// Rows on the way into groups.
struct Grouping {
    report: &'static str,
    rows: LazyFrame,
    schema: SchemaRef,
    /// The time zone asked for.
    zone: jiff::tz::TimeZone,
    /// The sessions, until the rows are joined with them.
    sessions: Option<LazyFrame>,
    /// The first and the last time of the rows, once they are asked for.
    times: Option<[Option<Timestamp>; 2]>,
    /// `occurred_at` as the clocks on the wall showed it, once it is asked for.
    local: Option<Expr>,
    /// Undated rows that are left out.
    left_out: LeftOut,
}

impl Grouping {
    /// The rows of a report that are in scope.
    fn new(report: &'static str, rows: &Rows, tables: Frames, scope: &Scope, cost: Cost) -> Result<Self, Error> {
        let now = scope.now()?;
        let tables: BTreeMap<&str, LazyFrame> = tables.into_iter().collect();
        let sessions = tables.get("sessions").cloned().unwrap_or_default();
        let mut rows = rows.frame(&tables)?;
        if rows.collect_schema()?.contains("cost_source") {
            rows = rows.with_columns(cost.columns());
        }
        let schema = rows.collect_schema()?;
        let zone = now.time_zone().clone();
        let mut it = Self {
            report,
            rows,
            schema,
            zone,
            sessions: Some(sessions),
            times: None,
            local: None,
            left_out: LeftOut::default(),
        };
        for (name, pattern) in &scope.only {
            let value = it.dimension(name)?;
            it.rows = it.rows.filter(fits(value, pattern)?);
        }
        it.keep_in_time(scope, &now)?;
        Ok(it)
    }

    /// Leaves out the rows that are out of the bounds of time, and the undated ones unless they are asked for.
    fn keep_in_time(&mut self, scope: &Scope, now: &Zoned) -> Result<(), Error> {
        let undated = scope.undated();
        if !scope.is_bounded() && undated == Undated::Include {
            return Ok(());
        }
        // Undated rows first take the start of their session, where it has one.
        self.times()?;
        if undated == Undated::Exclude {
            self.left_out = self.count_undated()?;
        }
        let edge = |bound: Option<Bound>, is_end| bound.map(|bound| bound.edge(now, is_end)).transpose();
        let time = |moment: Timestamp| {
            let utc = DataType::Datetime(TimeUnit::Microseconds, Some(TimeZone::UTC));
            lit(moment.as_microsecond()).cast(utc)
        };
        let mut is_in_time = col("occurred_at").is_not_null();
        if let Some(since) = edge(scope.since, false)? {
            is_in_time = is_in_time.and(col("occurred_at").gt_eq(time(since)));
        }
        if let Some(until) = edge(scope.until, true)? {
            is_in_time = is_in_time.and(col("occurred_at").lt(time(until)));
        }
        let is_undated = col("occurred_at").is_null();
        let is_kept = match undated {
            Undated::Include => is_in_time.or(is_undated),
            Undated::Exclude => is_in_time,
            Undated::Only => is_undated,
        };
        let rows = std::mem::take(&mut self.rows);
        self.rows = rows.filter(is_kept);
        Ok(())
    }

    /// The undated rows, with their tokens and cost where the rows have those columns.
    fn count_undated(&mut self) -> PolarsResult<LeftOut> {
        let sums = ["total_tokens", "cost_usd"];
        let known = sums.into_iter().filter(|column| self.schema.contains(column));
        // Not `len()`: alone over rows of two tables, polars casts it to a type that is not built in.
        let rows = col("occurred_at").null_count().alias("rows");
        let columns = known.map(|column| known_sum(column).alias(column)).chain([rows]);
        let undated = self.rows.clone().filter(col("occurred_at").is_null());
        let found = undated.select(columns.collect::<Vec<_>>()).collect()?;
        let number = |name: &str| -> PolarsResult<Option<AnyValue<'_>>> {
            found.column(name).ok().map(|column| column.get(0)).transpose()
        };
        Ok(LeftOut {
            rows: number("rows")?.and_then(|value| value.extract()).unwrap_or_default(),
            tokens: number("total_tokens")?.and_then(|value| value.extract()),
            cost_usd: number("cost_usd")?.and_then(|value| value.extract()),
        })
    }

    /// Gives the rows the columns of their sessions, and those without a time the start of theirs.
    fn join_sessions(&mut self) -> PolarsResult<()> {
        let Some(sessions) = self.sessions.take() else { return Ok(()) };
        let prefixed = |it: &&'static str| col(*it).alias(format!("session_{it}"));
        let columns = [col("runtime"), col("session_id")].into_iter().chain(OF_SESSION.iter().map(prefixed));
        let keys = [col("runtime"), col("session_id")];
        let rows = std::mem::take(&mut self.rows);
        let joined = rows.join(sessions.select(columns.collect::<Vec<_>>()), keys.clone(), keys, JoinType::Left.into());
        let time = coalesce(&[col("occurred_at"), col("session_started_at")]).alias("occurred_at");
        self.rows = joined.with_column(time);
        self.schema = self.rows.collect_schema()?;
        Ok(())
    }

    /// The first and the last time of the rows. Those without one take the start of their session; where there are none,
    /// that costs a look at one column, and not a join.
    fn times(&mut self) -> PolarsResult<[Option<Timestamp>; 2]> {
        if let Some(times) = self.times {
            return Ok(times);
        }
        let time = || col("occurred_at").to_physical();
        let all = [time().min().alias("first"), time().max().alias("last"), time().null_count().alias("missing")];
        let found = self.rows.clone().select(all).collect()?;
        if self.sessions.is_some() && found.column("missing")?.idx()?.get(0) > Some(0) {
            self.join_sessions()?;
            return self.times();
        }
        let end = |name: &str| -> PolarsResult<Option<Timestamp>> {
            Ok(found.column(name)?.i64()?.get(0).and_then(|it| Timestamp::from_microsecond(it).ok()))
        };
        Ok(*self.times.insert([end("first")?, end("last")?]))
    }

    /// `occurred_at` as the clocks showed it there. Their changes are looked up once for all the time there is: few, where a
    /// look-up for each row would be most of a report's time.
    fn local_time(&mut self) -> Result<Expr, Error> {
        if let Some(local) = &self.local {
            return Ok(local.clone());
        }
        let mut offsets = Vec::new();
        if let [Some(first), Some(last)] = self.times()? {
            let micros = |it: jiff::tz::Offset| i64::from(it.seconds()) * 1_000_000;
            offsets.push((i64::MIN, micros(self.zone.to_offset(first))));
            let changes = self.zone.following(first).take_while(|it| it.timestamp() <= last);
            offsets.extend(changes.map(|it| (it.timestamp().as_microsecond(), micros(it.offset()))));
        }
        let shown = move |time: i64| {
            let next = offsets.partition_point(|(from, _)| *from <= time);
            time.saturating_add(next.checked_sub(1).and_then(|it| offsets.get(it)).map_or(0, |it| it.1))
        };
        let local_type = DataType::Datetime(TimeUnit::Microseconds, None);
        let local = col("occurred_at").map(
            move |times| {
                let local = times.as_materialized_series().to_physical_repr().i64()?.apply_values(&shown);
                Ok(local.into_series().cast(&DataType::Datetime(TimeUnit::Microseconds, None))?.into())
            },
            move |_, field| Ok(Field::new(field.name().clone(), local_type.clone())),
        );
        self.local = Some(local.clone());
        Ok(local)
    }

    fn dimension(&mut self, name: &str) -> Result<Expr, Error> {
        if let Some(key) = name.strip_prefix(LABEL) {
            self.join_sessions()?;
            let value = format!("(?s)(?:^|\u{1f}){}=([^\u{1f}]*)", escaped(key));
            let labels = col("session_labels").list().join(lit("\u{1f}"), true);
            return Ok(labels.str().extract(lit(value), 1).alias(name));
        }
        let Some((name, dimension)) = DIMENSIONS.iter().find(|(it, _)| *it == name) else {
            return Err(Error::Dimension(name.to_owned()));
        };
        let expression = match *dimension {
            Dimension::Column(column) if self.schema.contains(column) => col(column),
            Dimension::Column(column) | Dimension::OfSession(column) => {
                if !OF_SESSION.contains(&column) {
                    return Err(Error::NotOfReport { report: self.report, dimension: (*name).to_owned() });
                }
                self.join_sessions()?;
                col(format!("session_{column}"))
            }
            Dimension::Day | Dimension::Week | Dimension::Formatted(_) => {
                let local = self.local_time()?;
                let date = || local.clone().dt().date();
                match *dimension {
                    // Day 0 was a Thursday.
                    Dimension::Week => {
                        let days = date().to_physical();
                        (days.clone() - (days + lit(3)) % lit(7)).cast(DataType::Date)
                    }
                    Dimension::Formatted(form) => local.dt().to_string(form),
                    _ => date(),
                }
            }
        };
        Ok(expression.alias(*name))
    }
}

/// What tells sessions apart: their id, or where two runtimes have the same, both. One text is much faster to count.
fn session_key(sessions: &LazyFrame) -> PolarsResult<Expr> {
    let id = || col("session_id");
    let ids = sessions.clone().select([id().n_unique().eq(len()).alias("are_unique")]).collect()?;
    let are_unique = ids.column("are_unique")?.bool()?.all();
    Ok(if are_unique { id() } else { as_struct(vec![col("runtime"), id()]) })
}

impl Rows {
    fn frame(&self, tables: &BTreeMap<&str, LazyFrame>) -> PolarsResult<LazyFrame> {
        let table = |name: &str| tables.get(name).cloned().unwrap_or_default();
        let key = || [col("runtime"), col("session_id")];
        Ok(match self {
            Self::Table(name) => table(name),
            Self::Where(name, holds) => table(name).filter(holds()),
            Self::Sessions => table("sessions").with_column(col("started_at").alias("occurred_at")),
            Self::Errors => {
                let columns = |kind: Expr, code: &str, message: &str, time: &str| {
                    let [runtime, session] = key();
                    let day = col(time).dt().date().alias("day");
                    let time = col(time).alias("occurred_at");
                    let kind = kind.alias("kind");
                    let (code, message) = (col(code).alias("code"), col(message).alias("message"));
                    [runtime, session, col("format"), col("agent"), time, day, kind, code, message]
                };
                let is_error = col("kind").eq(lit("error"));
                let is_trouble = col("kind")
                    .is_in(lit(Series::new("".into(), ["compaction", "subagent"])).implode(true), false)
                    .not();
                let events = table("events");
                let failed = table("sessions").filter(col("status").eq(lit("error")));
                let silent = failed.join(events.clone().filter(is_error), key(), key(), JoinType::Anti.into());
                let silent = silent.select(columns(lit("error"), "error_kind", "error_message", "ended_at"));
                let events = events.filter(is_trouble);
                let events = events.select(columns(col("kind"), "code", "message", "occurred_at"));
                concat([events, silent], UnionArgs::default())?
            }
            Self::Reconcile => {
                // A total that names no model is compared with all that its session did.
                let [runtime, session] = key();
                let main = table("sessions").select([runtime, session, col("model").alias("session_model")]);
                let rows = table("turns").join(main, key(), key(), JoinType::Left.into());
                let is_unnamed = col("model").is_null().and(col("reported_cost_usd").is_not_null());
                let model = when(is_unnamed.any(true).over(key())?).then(col("session_model")).otherwise(col("model"));
                let known = |it: Expr, name: &str| when(it).then(col(name).sum()).otherwise(lit(NULL)).alias(name);
                let is_priced =
                    col("computed_cost_usd").is_not_null().or(col("total_tokens").fill_null(lit(0)).eq(lit(0)));
                let sums =
                    rows.with_column(model.alias("model")).group_by([col("runtime"), col("session_id"), col("model")]);
                let sums = sums.agg([
                    known(col("reported_cost_usd").count().gt(lit(0)), "reported_cost_usd"),
                    known(is_priced.all(true).and(col("computed_cost_usd").count().gt(lit(0))), "computed_cost_usd"),
                    col("occurred_at").min(),
                    col("format").first(),
                    col("provider").first(),
                ]);
                let difference = col("computed_cost_usd") - col("reported_cost_usd");
                let difference = when(col("reported_cost_usd").gt(lit(0))).then(difference).otherwise(lit(NULL));
                sums.filter(col("reported_cost_usd").is_not_null()).with_column(difference.alias("difference_usd"))
            }
        })
    }
}

impl Report {
    /// Its columns behind the dimensions, with what they say.
    pub fn measures(&self) -> &'static [Measure] {
        match self.body {
            Body::Groups { measures, .. } => measures,
            Body::Health => &[],
        }
    }

    /// The report's rows.
    ///
    /// # Errors
    /// When something is asked for that is not there.
    pub fn run(&self, tables: Frames, options: &Options) -> Result<Answer, Error> {
        let Body::Groups { rows, by: own, measures } = &self.body else {
            return health::run(tables, options);
        };
        let mut by: Vec<&str> = options.by.iter().map(String::as_str).collect();
        if by.is_empty() {
            by = own.to_vec();
        }
        let mut seen = BTreeSet::new();
        by.retain(|it| seen.insert(*it));
        let mut measures: Vec<&Measure> =
            measures.iter().filter(|it| options.cost == Cost::Auto || !it.is_part).collect();
        let is_shown = |it: &&&Measure| !it.is_wide || options.wide || options.sort.as_deref() == Some(it.name);
        let shown: Vec<&Measure> = measures.iter().filter(is_shown).copied().collect();
        if let Some(column) = &options.sort
            && !by.iter().copied().chain(measures.iter().map(|it| it.name)).any(|it| it == column)
        {
            let names = by.iter().copied().chain(measures.iter().map(|it| it.name));
            return Err(Error::Sort { column: column.clone(), list: self::names(names) });
        }
        let sessions = table(&tables, "sessions");
        let mut grouping = Grouping::new(self.name, rows, tables, &options.scope, options.cost)?;
        let keys = by.iter().map(|it| grouping.dimension(it)).collect::<Result<Vec<_>, _>>()?;
        if shown.iter().any(|it| it.needs_session) {
            grouping.join_sessions()?;
        } else {
            measures.retain(|it| !it.needs_session);
        }
        let left_out = grouping.left_out;
        grouping.rows = grouping.rows.with_column(session_key(&sessions)?.alias(SESSION_KEY));
        let of_rows: Vec<Expr> = measures.iter().filter_map(|it| it.of_rows()).collect();
        // The order of a sum is no part of the answer, and so its last digits are none. One measure may be made of another
        // that stands before it.
        let digits = |frame: LazyFrame| {
            frame.with_column(
                dtype_col(&DataType::Float64).as_selector().as_expr().round(10, RoundMode::HalfAwayFromZero),
            )
        };
        let derive = |mut frame: LazyFrame| {
            for measure in measures.iter().filter_map(|it| it.of_groups()) {
                frame = frame.with_column(measure);
            }
            digits(frame)
        };
        // What is not shown is not computed, unless something shown is made of it.
        let names = |by: &[&str]| by.iter().copied().chain(shown.iter().map(|it| it.name)).map(col).collect::<Vec<_>>();
        let groups = derive(grouping.rows.clone().group_by_stable(keys).agg(of_rows.clone())).select(names(&by));
        let groups = sorted(groups, &by, shown.first().map(|it| it.name), options);
        let mut frames = vec![groups];
        if options.total {
            frames.push(derive(grouping.rows.select(of_rows)).select(names(&[])));
        }
        let plans = frames.into_iter().map(|it| it.logical_plan).collect();
        // Both read the rows, which are read once.
        let frames = LazyFrame::collect_all_with_engine(plans, Engine::InMemory, OptFlags::default())?;
        let mut frames = frames.into_iter();
        let (rows, total) = (frames.next().unwrap_or_default(), frames.next());
        Ok(Answer { rows, dimensions: by.len(), total, left_out })
    }
}

/// In the order of time where time is a dimension, else the largest first.
fn sorted(groups: LazyFrame, by: &[&str], first: Option<&str>, options: &Options) -> LazyFrame {
    let is_time = |name: &&str| matches!(*name, "day" | "week" | "month" | "hour");
    let largest = options.sort.as_deref().or_else(|| first.filter(|_| !by.iter().any(is_time)));
    let mut columns: Vec<&str> = by.to_vec();
    if let Some(largest) = largest {
        columns.retain(|it| *it != largest);
        columns.insert(0, largest);
    }
    let mut order = vec![false; columns.len()];
    if let Some(first) = order.first_mut() {
        *first = largest.is_some();
    }
    let order = SortMultipleOptions::default().with_order_descending_multi(order).with_nulls_last(true);
    let sorted = groups.sort(columns, order);
    match options.limit {
        Some(limit) => sorted.limit(limit),
        None => sorted,
    }
}

/// Bytes of a pattern with a `*`: the expression that is made of it has to fit into the memory that is set aside for one.
const LONGEST_PATTERN: usize = 4096;

/// Whether a text fits a pattern in which `*` stands for anything.
fn fits(value: Expr, pattern: &str) -> Result<Expr, Error> {
    let value = value.cast(DataType::String);
    if !pattern.contains('*') {
        return Ok(value.eq(lit(pattern)));
    }
    if pattern.len() > LONGEST_PATTERN {
        return Err(Error::Pattern(pattern.len()));
    }
    let parts: Vec<String> = pattern.split('*').map(escaped).collect();
    Ok(value.str().contains(lit(format!("(?s)^{}$", parts.join(".*"))), true).fill_null(lit(false)))
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
            let frame = df!("x" => texts).unwrap().lazy().filter(fits(col("x"), pattern).unwrap()).collect().unwrap();
            frame.height()
        };
        assert!(matches!(fits(col("x"), &"a*".repeat(3000)), Err(Error::Pattern(6000))));
        assert_eq!((fit(&"*".repeat(LONGEST_PATTERN)), fit(&"*ä".repeat(LONGEST_PATTERN / 3))), (3, 0));
        assert_eq!(["*–*", "*<a>.b*", "*\\b*", "*b*", "/<a>.b", "*a?*"].map(fit), [1, 1, 0, 3, 1, 0]);
    }

    /// Days and weeks are those of the calendar there, over all changes of the clocks, before 1970, and in years that no
    /// log should have.
    #[test]
    fn local_days_and_weeks_are_those_of_the_calendar() {
        let text = |it: Option<AnyValue>| it.map(|it| it.to_string()).unwrap_or_default();
        for zone in ["UTC", "Europe/Berlin", "America/St_Johns", "Pacific/Apia", "Australia/Lord_Howe"] {
            for (from, step, count) in
                [(-86_400 * 900, 12_345_679, 60), (1_700_000_000, 1_801_803, 50), (0, 3_000_000_000, 60)]
            {
                let moments: Vec<Timestamp> =
                    (0..count).map(|it| Timestamp::from_second(from + it * step).unwrap()).collect();
                let micros: Vec<i64> = moments.iter().map(|it| it.as_microsecond()).collect();
                let utc = DataType::Datetime(TimeUnit::Microseconds, Some(TimeZone::UTC));
                let turns = df!("runtime" => vec!["x"; micros.len()], "session_id" => vec!["y"; micros.len()],
                    "occurred_at" => Series::new("".into(), micros).cast(&utc).unwrap());
                let tables =
                    vec![("turns", turns.unwrap().lazy()), ("sessions", df!("session_id" => ["y"]).unwrap().lazy())];
                let scope = Scope { timezone: zone.to_owned(), ..Scope::default() };
                let rows = Rows::Table("turns");
                let mut grouping = Grouping::new("turns", &rows, tables, &scope, Cost::Auto).unwrap();
                let columns = ["day", "week", "hour"].map(|it| grouping.dimension(it).unwrap());
                let found = grouping.rows.select(columns).collect().unwrap();
                for (index, moment) in moments.iter().enumerate() {
                    let there = moment.in_tz(zone).unwrap();
                    let date = there.date();
                    let monday = date.checked_sub(Span::new().days(date.weekday().to_monday_zero_offset())).unwrap();
                    let hour = format!("\"{}\"", there.strftime("%Y-%m-%d %H:00"));
                    let row = found.get(index).unwrap();
                    let row: Vec<String> = row.into_iter().map(|it| text(Some(it))).collect();
                    assert_eq!(row, [date.to_string(), monday.to_string(), hour], "{zone} {moment}");
                }
            }
        }
    }

    /// A time without a zone is local and keeps its time. Clocks in Berlin skip 02:00 to 03:00 on 2026-03-29 and show it
    /// twice on 2026-10-25.
    #[test]
    fn bounds_without_a_zone_are_local_times() {
        let now = "2026-11-24T12:00:00Z".parse::<Timestamp>().unwrap().in_tz("Europe/Berlin").unwrap();
        let edge = |text: &str, is_end| text.parse::<Bound>().unwrap().edge(&now, is_end).unwrap().to_string();
        for (text, expected) in [
            ("2026-10-05T08:00", "2026-10-05T06:00:00Z"),
            ("2026-10-05 08:00:30.5", "2026-10-05T06:00:30.5Z"),
            ("2026-10-05T08:00[Asia/Kolkata]", "2026-10-05T02:30:00Z"),
            ("2026-10-05T08:00Z", "2026-10-05T08:00:00Z"),
            ("2026-10-05T08:00+05:30", "2026-10-05T02:30:00Z"),
            ("2026-03-29T02:30", "2026-03-29T01:30:00Z"),
            ("2026-10-25T02:30", "2026-10-25T00:30:00Z"),
            ("2026-10-25T02:30+01:00", "2026-10-25T01:30:00Z"),
        ] {
            assert_eq!([edge(text, false), edge(text, true)], [expected, expected], "{text}");
        }
        let day = [edge("2026-10-25", false), edge("2026-10-25", true)];
        assert_eq!(day, ["2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"]);
        for wrong in ["2026-10-05T25:00", "2026-02-30", "08:00", "soon", "-3d"] {
            assert!(wrong.parse::<Bound>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_left_out_is_stated() {
        let stated = |rows, tokens, cost_usd| LeftOut { rows, tokens, cost_usd }.stated("row", "time");
        assert_eq!(stated(0, Some(1), None), None);
        assert_eq!(stated(1, None, None).unwrap(), "1 row without a time is left out");
        let expected = "1,200 rows without a time are left out (3,400 tokens, $0.5000)";
        assert_eq!(stated(1200, Some(3400), Some(0.5)).unwrap(), expected);
    }

    #[test]
    fn the_tables_are_in_order() {
        assert!(DIMENSIONS.is_sorted_by_key(|it| it.0));
        for report in REPORTS {
            assert!(!report.about.ends_with('.'), "{}", report.name);
            if let Body::Groups { by, measures, .. } = &report.body {
                assert!(by.iter().all(|by| DIMENSIONS.iter().any(|it| it.0 == *by)), "{}", report.name);
                let names: BTreeSet<_> = measures.iter().map(|it| it.name).collect();
                assert_eq!(names.len(), measures.len(), "{}", report.name);
            }
        }
    }
}
