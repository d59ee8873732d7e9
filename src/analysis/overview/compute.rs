//! The overview, from the tables of an archive.

use jiff::Zoned;
use polars::prelude::*;

use super::periods::Calendar;
use super::sums::{Day, Period, Sums, Top, TopSession, Turns};
use super::turns::turns;
use crate::analysis::limits::{ActiveWindows, Window};
use crate::analysis::reports::LowerBound;
use crate::analysis::rows::{CostBasis, Frames, Table};
use crate::analysis::selection::{Error, Grouping, Scope};
use crate::base::time::Time;
use crate::store::frames::{limits, sessions, sources, time_value, tool_calls, turns, unknown_records};

/// The last days of all sessions.
#[derive(Debug)]
pub struct Overview {
    /// The time that it was computed for.
    pub now: Zoned,
    /// Today, the last 7 and the last 30 days.
    pub periods: Vec<Period>,
    /// The last 30 days, the oldest first.
    pub days: Vec<Day>,
    /// The number of days of `sessions`, `models`, `projects` and `tools`: 7, or 30 if there is nothing in the last 7.
    pub top_days: i64,
    /// The most expensive sessions.
    pub sessions: Vec<TopSession>,
    /// All models, by cost.
    pub models: Vec<Top>,
    /// All repositories, or projects where no repository is known, by cost.
    pub projects: Vec<Top>,
    /// Tools with errors, by their number.
    pub tools: Vec<Tool>,
    /// The current windows of limits.
    pub limits: Vec<Window>,
    /// The sessions of each period whose logs omit tokens.
    pub lower_bounds: [LowerBound; 3],
    /// What these numbers do not contain.
    pub lost: Lost,
}

/// A tool with errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// Its name.
    pub name: Option<String>,
    /// Number of calls.
    pub calls: u64,
    /// Number of failed calls.
    pub errors: u64,
}

/// What could not be read, priced or dated.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lost {
    /// Rejected lines of all files.
    pub rejected_lines: i64,
    /// Records of unknown types in all files.
    pub unknown_records: i64,
    /// Records of unknown types, or parts of records, with token counts or costs.
    pub counted: Counted,
    /// Files that cannot be read, or not to their end.
    pub unreadable_files: i64,
    /// Tokens of the last 30 days without a cost.
    pub unpriced_tokens: i64,
    /// Rows of the ledger without a time.
    pub undated: Sums,
    /// Rows of the ledger with a time after today.
    pub after_today: u64,
}

/// Unknown records with token counts or costs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counted {
    /// Their number.
    pub records: i64,
    /// The types, the one with most records first.
    pub types: Vec<String>,
}

impl Overview {
    /// The tables that it is computed from.
    pub const TABLES: &'static [&'static str] =
        &[sessions::TABLE, turns::TABLE, tool_calls::TABLE, limits::TABLE, sources::TABLE, unknown_records::TABLE];

    /// The overview at a time, whose time zone decides what a day is.
    ///
    /// # Errors
    /// When the tables cannot be read, or the time is at the ends of the calendar.
    pub fn of(tables: &Frames, now: &Zoned) -> Result<Self, Error> {
        let calendar = Calendar::at(now)?;
        let recent = recent(tables, calendar.first)?;
        let time = Time::from(now.timestamp());
        // At the same time, because each of them waits for its files.
        let (turns, (tools, unread)) = rayon::join(
            || {
                let mut windows = ActiveWindows::new(&recent, time)?;
                Ok::<_, Error>((turns(&recent, &calendar, &mut windows)?, windows.finished()))
            },
            || {
                rayon::join(
                    || tools(&recent, &calendar),
                    || Ok::<_, Error>((unread(tables)?, lower_bounds(tables, &calendar)?)),
                )
            },
        );
        let (unread, lower_bounds) = unread?;
        let (Turns { periods, days, models, projects, sessions, unpriced_tokens, undated, after_today }, mut limits) =
            turns?;
        let is_in_week = periods.get(1).is_some_and(|week| week.now.rows > 0);
        let (top_days, index) = if is_in_week { (7, 0) } else { (30, 1) };
        let of_period = |lists: [Vec<Top>; 2]| lists.into_iter().nth(index).unwrap_or_default();
        limits.sort_by(|a, b| (&a.runtime, a.ends_at).cmp(&(&b.runtime, b.ends_at)));
        Ok(Self {
            now: now.clone(),
            periods,
            days,
            top_days,
            sessions: sessions.into_iter().nth(index).unwrap_or_default(),
            models: of_period(models),
            projects: of_period(projects),
            tools: tools?.into_iter().nth(index).unwrap_or_default(),
            limits,
            lower_bounds,
            lost: Lost { unpriced_tokens, undated, after_today, ..unread },
        })
    }

    /// Whether none of its periods has a response.
    pub fn is_empty(&self) -> bool {
        self.periods.iter().all(|period| period.now.rows == 0)
    }
}

/// The tables, without rows before a time. All sessions stay: a short id has to be unique among all of them.
fn recent(tables: &Frames, since: Time) -> PolarsResult<Frames> {
    let is_recent = col(turns::OCCURRED_AT).is_null().or(col(turns::OCCURRED_AT).gt_eq(time_value(since)));
    Ok(tables.since(since)?.map(|name, frame| match name {
        turns::TABLE | tool_calls::TABLE | limits::TABLE => frame.filter(is_recent.clone()),
        sessions::TABLE => tables.table(sessions::TABLE),
        _ => frame,
    }))
}

/// The tools with errors of the last 7 days, and of the last 30.
fn tools(tables: &Frames, calendar: &Calendar) -> Result<[Vec<Tool>; 2], Error> {
    let [_, week, month] = calendar.periods.map(|bounds| bounds.start);
    let mut calls = Grouping::new("overview", &Table(tool_calls::TABLE), tables, &Scope::default(), CostBasis::Auto)?;
    calls.date_rows()?;
    let is_since = |start| col(turns::OCCURRED_AT).gt_eq(time_value(start));
    let is_error = || col(tool_calls::STATUS).eq(lit("error"));
    let count = |is_counted: Expr, name: &str| is_counted.cast(DataType::Int64).sum().alias(name);
    let is_in_time = is_since(month).and(col(turns::OCCURRED_AT).lt(time_value(calendar.end)));
    let counts = calls.rows.filter(is_in_time).group_by([col(tool_calls::TOOL)]).agg([
        count(is_since(week), "calls of week"),
        count(is_since(week).and(is_error()), "errors of week"),
        len().cast(DataType::Int64).alias("calls of month"),
        count(is_error(), "errors of month"),
    ]);
    let frame = counts.collect_with_engine(Engine::Streaming)?.unwrap_single();
    Ok([
        with_errors(&frame, "calls of week", "errors of week")?,
        with_errors(&frame, "calls of month", "errors of month")?,
    ])
}

/// The tools with errors by their number, from the columns of these names.
fn with_errors(counts: &DataFrame, calls: &str, errors: &str) -> PolarsResult<Vec<Tool>> {
    let (names, calls, errors) =
        (counts.column(tool_calls::TOOL)?.str()?, counts.column(calls)?.i64()?, counts.column(errors)?.i64()?);
    let count = |count: Option<i64>| count.and_then(|count| u64::try_from(count).ok()).unwrap_or_default();
    let tools = names.iter().zip(calls.iter()).zip(errors.iter()).map(|((name, calls), errors)| Tool {
        name: name.map(str::to_owned),
        calls: count(calls),
        errors: count(errors),
    });
    let mut tools: Vec<Tool> = tools.filter(|tool| tool.errors > 0).collect();
    tools.sort_by(|a, b| b.errors.cmp(&a.errors).then_with(|| a.name.cmp(&b.name)));
    Ok(tools)
}

/// The sessions with a record in each period whose logs omit tokens.
fn lower_bounds(tables: &Frames, calendar: &Calendar) -> Result<[LowerBound; 3], Error> {
    let is_in_time = |start| {
        col(sessions::ENDED_AT).gt_eq(time_value(start)).and(col(sessions::STARTED_AT).lt(time_value(calendar.end)))
    };
    // The table is read once, for the longest period, which contains the others.
    let [.., longest] = calendar.periods;
    let columns = [sessions::USAGE, turns::COST_USD, sessions::STARTED_AT, sessions::ENDED_AT].map(col);
    let sessions = tables.table(sessions::TABLE).filter(is_in_time(longest.start)).select(columns).collect()?;
    let mut found = [LowerBound::default(); 3];
    for (bound, period) in found.iter_mut().zip(calendar.periods) {
        *bound = LowerBound::among(sessions.clone().lazy().filter(is_in_time(period.start)))?;
    }
    Ok(found)
}

/// What could not be read, over all files.
fn unread(tables: &Frames) -> Result<Lost, Error> {
    let sum = |name: &str| col(name).cast(DataType::Int64).sum().alias(name);
    let status = || col(sources::STATUS).cast(DataType::String);
    let is_unread = status().eq(lit("unreadable")).or(status().eq(lit("truncated")));
    let unread = is_unread.cast(DataType::Int64).sum().alias("unread");
    let columns = [sum(sources::REJECTED_LINES), sum(sources::UNKNOWN_RECORDS), unread];
    let sums = tables.table(sources::TABLE).select(columns).collect()?;
    let number = |name: &str| -> PolarsResult<i64> { Ok(sums.column(name)?.i64()?.get(0).unwrap_or(0)) };
    Ok(Lost {
        rejected_lines: number(sources::REJECTED_LINES)?,
        unknown_records: number(sources::UNKNOWN_RECORDS)?,
        unreadable_files: number("unread")?,
        counted: counted(tables)?,
        ..Lost::default()
    })
}

/// The unknown records with token counts or costs.
fn counted(tables: &Frames) -> Result<Counted, Error> {
    let records = || col(unknown_records::RECORDS).cast(DataType::Int64).sum().alias(unknown_records::RECORDS);
    let name = col(unknown_records::TYPE).cast(DataType::String).alias(unknown_records::TYPE);
    let rows =
        tables.table(unknown_records::TABLE).filter(col(unknown_records::HAS_COUNTS)).group_by([name]).agg([records()]);
    let order = SortMultipleOptions::default().with_order_descending_multi([true, false]);
    let rows = rows.sort_by_exprs([col(unknown_records::RECORDS), col(unknown_records::TYPE)], order).collect()?;
    let (names, counts) = (rows.column(unknown_records::TYPE)?.str()?, rows.column(unknown_records::RECORDS)?.i64()?);
    Ok(Counted {
        records: counts.sum().unwrap_or_default(),
        types: names.iter().map(|name| name.unwrap_or("(no type)").to_owned()).collect(),
    })
}
