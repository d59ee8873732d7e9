//! Filters the rows of a report, and gives them the columns of their dimensions.

use std::borrow::Cow;

use jiff::Timestamp;
use polars::prelude::*;

use super::dimension::{DIMENSIONS, Dimension, LABEL, Outcome, Value, columns_of_session};
use super::error::{self, Error};
use super::left_out::LeftOut;
use super::scope::{Scope, Undated};
use crate::analysis::failures::frame::{FAILURE_CLASS, failures};
use crate::analysis::outcomes::frame::{OUTCOME_PASSED, OUTCOME_TASK, OUTCOME_TRIAL, outcomes_of_sessions};
use crate::analysis::outcomes::sets::set_of_task;
use crate::analysis::rows::{
    CostBasis, KEY, NONE, ReportRows, SEPARATOR, Sessions, WeekStart, beginning_of_id, both_ends_of_id, escaped,
    has_entry, is_named, known_sum, matches,
};
use crate::base::time::{DAY_MICROS, Time};
use crate::store::frames::{Frames, sessions, time_value, tool_calls, turns};

/// The rows of a report before they are grouped.
pub(in crate::analysis) struct Grouping {
    /// The report, for messages.
    report: &'static str,
    pub(in crate::analysis) rows: LazyFrame,
    schema: SchemaRef,
    /// The time zone of [`Scope::timezone`].
    zone: jiff::tz::TimeZone,
    /// See [`Scope::week_start`].
    week_start: WeekStart,
    /// The table of sessions; `None` once the rows are joined with it.
    sessions: Option<LazyFrame>,
    /// The tables of the outcomes; `None` once the rows are joined with them.
    outcomes: Option<Frames>,
    /// The same of failures.
    failures: Option<Frames>,
    /// Whether each row is known to have a time.
    has_only_dated: bool,
    /// Whether [`Self::date_rows`] has run.
    is_dated: bool,
    /// Undated rows that are excluded.
    pub(in crate::analysis) left_out: LeftOut,
}

impl Grouping {
    /// The rows of a report that are in scope.
    pub(in crate::analysis) fn new(
        report: &'static str,
        rows: &dyn ReportRows,
        tables: &Frames,
        scope: &Scope,
        cost: CostBasis,
    ) -> Result<Self, Error> {
        let now = scope.zoned()?;
        let (since, until) = scope.edges()?;
        let has_only_dated = rows.are_dated(tables);
        let recent = match since {
            Some(since) if rows.has_times_of_tables() => tables.since(since)?,
            _ => tables.clone(),
        };
        let mut rows = cost.applied_to(rows.frame(&recent)?)?;
        let schema = rows.collect_schema()?;
        let zone = now.time_zone().clone();
        let mut grouping = Self {
            report,
            rows,
            schema,
            zone,
            week_start: scope.week_start,
            sessions: Some(recent.table(sessions::TABLE)),
            outcomes: Some(tables.clone()),
            failures: Some(tables.clone()),
            has_only_dated,
            is_dated: false,
            left_out: LeftOut::default(),
        };
        for (name, pattern) in &scope.only {
            if let Some(key) = name.strip_prefix(LABEL) {
                let is_match = has_entry(grouping.labels(key)?, key, pattern)?;
                grouping.rows = grouping.rows.filter(is_match);
                continue;
            }
            let pattern = &*if name == "session" { pattern_of_session(pattern, tables)? } else { pattern.into() };
            let mut is_match = matches(grouping.dimension(name)?, pattern)?;
            if name == "model" {
                is_match = is_match.or(matches(grouping.dimension("model_as_logged")?, pattern)?);
            }
            if name == "project" || name == "repository" {
                is_match = grouping.is_in_project(name, pattern, tables)?;
            }
            grouping.rows = grouping.rows.filter(is_match);
        }
        grouping.filter_by_time(scope, since, until)?;
        Ok(grouping)
    }

    /// Whether a row is in a project or a repository: by the whole value or by the last part of it. The overview names a project by
    /// its repository where it has one, so that a project is found by that, too, unless the user gave it a name.
    fn is_in_project(&mut self, name: &str, pattern: &str, tables: &Frames) -> Result<Expr, Error> {
        let dimensions: &[&str] = if name == "project" { &["project", "repository"] } else { &["repository"] };
        let mut is_match = lit(false);
        let is_named = if name == "project" { is_named(&self.dimension(name)?, tables) } else { None };
        for dimension in dimensions {
            let value = self.dimension(dimension)?;
            let value = match &is_named {
                Some(is_named) if *dimension == "repository" => {
                    when(is_named.clone().not()).then(value).otherwise(lit(NULL))
                }
                _ => value,
            };
            is_match = is_match.or(matches(value.clone(), pattern)?.fill_null(lit(false)));
            if !pattern.contains(['*', '/', '\\']) {
                for end in [format!("*/{pattern}"), format!("*\\{pattern}")] {
                    is_match = is_match.or(matches(value.clone(), &end)?);
                }
            }
        }
        Ok(is_match)
    }

    /// Excludes the rows outside of the bounds of time, and undated rows unless the scope includes them.
    fn filter_by_time(&mut self, scope: &Scope, since: Option<Time>, until: Option<Time>) -> PolarsResult<()> {
        let undated = scope.undated();
        if !scope.is_bounded() && undated == Undated::Include {
            return Ok(());
        }
        self.skip_other_days(since, until);
        self.date_rows()?;
        if undated == Undated::Exclude {
            self.left_out = self.count_undated()?;
        }
        let mut is_in_time = col(turns::OCCURRED_AT).is_not_null();
        if let Some(since) = since {
            is_in_time = is_in_time.and(col(turns::OCCURRED_AT).gt_eq(time_value(since)));
        }
        if let Some(until) = until {
            is_in_time = is_in_time.and(col(turns::OCCURRED_AT).lt(time_value(until)));
        }
        let is_undated = col(turns::OCCURRED_AT).is_null();
        let is_kept = match undated {
            Undated::Include => is_in_time.or(is_undated),
            Undated::Exclude => is_in_time,
            Undated::Only => is_undated,
        };
        let rows = std::mem::take(&mut self.rows);
        self.rows = rows.filter(is_kept);
        Ok(())
    }

    /// Excludes rows of days outside of the bounds, so that their files are not read: the files of a lake are those of days. Rows without
    /// a time have no day.
    fn skip_other_days(&mut self, since: Option<Time>, until: Option<Time>) {
        if !self.schema.contains(turns::DAY) {
            return;
        }
        let day = |time: Time| lit(time.day()).cast(DataType::Date);
        let first = since.map(|since| col(turns::DAY).gt_eq(day(since)));
        let last = until.map(|until| col(turns::DAY).lt_eq(day(until)));
        if let Some(is_near) = first.into_iter().chain(last).reduce(Expr::and) {
            let rows = std::mem::take(&mut self.rows);
            self.rows = rows.filter(is_near.or(col(turns::DAY).is_null()));
        }
    }

    /// The undated rows, with their tokens and cost where the rows have those columns.
    pub(in crate::analysis) fn count_undated(&mut self) -> PolarsResult<LeftOut> {
        if self.has_only_dated {
            return Ok(LeftOut::default());
        }
        let sums = [turns::TOTAL_TOKENS, turns::COST_USD];
        let known = sums.into_iter().filter(|column| self.schema.contains(column));
        // Not `len()`: over joined tables, polars casts a lone `len()` to a type that this build does not include.
        let rows = col(turns::OCCURRED_AT).null_count().alias("rows");
        let columns = known.map(|column| known_sum(column).alias(column)).chain([rows]);
        let undated = self.rows.clone().filter(col(turns::OCCURRED_AT).is_null());
        let found = undated.select(columns.collect::<Vec<_>>()).collect()?;
        let number = |name: &str| -> PolarsResult<Option<AnyValue<'_>>> {
            found.column(name).ok().map(|column| column.get(0)).transpose()
        };
        Ok(LeftOut {
            rows: number("rows")?.and_then(|value| value.extract()).unwrap_or_default(),
            tokens: number(turns::TOTAL_TOKENS)?.and_then(|value| value.extract()),
            cost_usd: number(turns::COST_USD)?.and_then(|value| value.extract()),
        })
    }

    /// Adds the columns of each row's session, and sets the time of rows without one to the start of their session.
    pub(in crate::analysis) fn join_sessions(&mut self) -> PolarsResult<()> {
        let Some(sessions) = self.sessions.take() else { return Ok(()) };
        let prefixed = |name: &'static str| col(name).alias(format!("session_{name}"));
        let columns =
            [col(turns::RUNTIME), col(turns::SESSION_ID)].into_iter().chain(columns_of_session().map(prefixed));
        let keys = [col(turns::RUNTIME), col(turns::SESSION_ID)];
        let rows = std::mem::take(&mut self.rows);
        let joined = rows.join(sessions.select(columns.collect::<Vec<_>>()), keys.clone(), keys, JoinType::Left.into());
        let time = coalesce(&[col(turns::OCCURRED_AT), col("session_started_at")]).alias(turns::OCCURRED_AT);
        self.rows = joined.with_column(time);
        self.schema = self.rows.collect_schema()?;
        Ok(())
    }

    /// Sets the time of rows without one to the start of their session, if that has one. The join is skipped if there are no such
    /// rows, which polars finds in the statistics of the files.
    pub(in crate::analysis) fn date_rows(&mut self) -> PolarsResult<()> {
        if !self.is_dated {
            self.is_dated = true;
            if self.sessions.is_some() && self.count_undated()?.rows > 0 {
                self.join_sessions()?;
            }
        }
        Ok(())
    }

    /// A value of `occurred_at`, which `of` computes from local microseconds.
    fn of_local_time(
        &mut self,
        dtype: DataType,
        of: impl Fn(i64) -> i64 + Copy + Send + Sync + 'static,
    ) -> PolarsResult<Expr> {
        self.date_rows()?;
        let zone = self.zone.clone();
        let result = dtype.clone();
        Ok(col(turns::OCCURRED_AT).map(
            move |times| {
                let times = times.as_materialized_series().to_physical_repr();
                Ok(local_times(times.i64()?, &zone).apply_values(of).into_series().cast(&dtype)?.into())
            },
            move |_, field| Ok(Field::new(field.name().clone(), result.clone())),
        ))
    }

    /// What the verdicts of each row's trial state.
    fn outcome(&mut self, outcome: Outcome) -> PolarsResult<Expr> {
        if let Some(outcomes) = self.outcomes.take() {
            let keys = KEY.map(col);
            let rows = std::mem::take(&mut self.rows);
            self.rows = rows.join(outcomes_of_sessions(&outcomes)?, keys.clone(), keys, JoinType::Left.into());
            self.schema = self.rows.collect_schema()?;
        }
        Ok(match outcome {
            Outcome::Passed => col(OUTCOME_PASSED),
            Outcome::Task => col(OUTCOME_TASK),
            Outcome::Set => col(OUTCOME_TASK).map(
                |tasks| Ok(tasks.str()?.apply_values(|task| Cow::Borrowed(set_of_task(task))).into_column()),
                |_, field| Ok(field.clone()),
            ),
            Outcome::Trial => col(OUTCOME_TRIAL),
            Outcome::Verdict => when(col(OUTCOME_PASSED).is_null())
                .then(lit("unjudged"))
                .otherwise(when(col(OUTCOME_PASSED)).then(lit("passed")).otherwise(lit("failed"))),
        })
    }

    /// Adds the column [`FAILURE_CLASS`] of each row's session, if the rows do not have it.
    pub(in crate::analysis) fn join_failures(&mut self) -> PolarsResult<()> {
        if let Some(tables) = self.failures.take().filter(|_| !self.schema.contains(FAILURE_CLASS)) {
            let keys = KEY.map(col);
            let rows = std::mem::take(&mut self.rows);
            let classes = failures(&tables)?.select([&keys[..], &[col(FAILURE_CLASS)]].concat());
            self.rows = rows.join(classes, keys.clone(), keys, JoinType::Left.into());
            self.schema = self.rows.collect_schema()?;
        }
        Ok(())
    }

    /// Why each row's session failed. Sessions without a class did not fail, unless the log does not contain how they ended.
    fn failure_class(&mut self) -> PolarsResult<Expr> {
        self.join_failures()?;
        self.join_sessions()?;
        Ok(none_where(status_is_not("unknown"), FAILURE_CLASS))
    }

    /// The labels of each row's session, joined by [`SEPARATOR`].
    fn labels(&mut self, key: &str) -> Result<Expr, Error> {
        if key.is_empty() {
            return Err(Error::LabelWithoutKey);
        }
        self.join_sessions()?;
        Ok(col("session_labels").list().join(lit(SEPARATOR), true))
    }

    /// The value of a dimension, by its name. Joins the sessions if the dimension needs them.
    ///
    /// # Errors
    /// When no dimension has that name, or the rows do not have it.
    pub(in crate::analysis) fn dimension(&mut self, name: &str) -> Result<Expr, Error> {
        if let Some(key) = name.strip_prefix(LABEL) {
            // Of several labels with this key, the first one.
            let value = format!("(?:^|{SEPARATOR}){}=([^{SEPARATOR}]*)", escaped(key));
            return Ok(self.labels(key)?.str().extract(lit(value), 1).alias(name));
        }
        let dimension = Dimension::find(name).ok_or_else(|| Error::Dimension(name.to_owned()))?;
        let has = |column: &str| self.schema.contains(column);
        if !dimension.is_of(has) {
            let list = DIMENSIONS.iter().filter(|dimension| dimension.is_of(has)).map(|dimension| dimension.name);
            let list = error::names(list);
            let (report, dimension) = (self.report, name.to_owned());
            return Err(Error::NotOfReport { report, dimension, list, reports: String::new() });
        }
        let expression = match dimension.value {
            Value::OfRow(column) => col(column),
            Value::OfRowOrNone(column) => or_none(column, has),
            // Rows of the main agent do not name it, and those of a session can.
            Value::OfRowOrSession(turns::AGENT) if has(turns::AGENT) && has(turns::IS_SUBAGENT) => {
                self.join_sessions()?;
                let of_main = coalesce(&[col(turns::AGENT), col("session_agent")]);
                when(col(turns::IS_SUBAGENT)).then(col(turns::AGENT)).otherwise(of_main)
            }
            Value::OfRowOrSession(column) if has(column) => col(column),
            Value::OfRowOrSession(column) | Value::OfSession(column) => {
                self.join_sessions()?;
                col(format!("session_{column}"))
            }
            Value::Day => self.of_local_time(DataType::Date, day_of)?,
            Value::Week => {
                // Day 0 of the epoch was a Thursday.
                let first = 3 + self.week_start.days_before_monday();
                self.of_local_time(DataType::Date, move |time| day_of(time) - (day_of(time) + first).rem_euclid(7))?
            }
            Value::OfOutcome(outcome) => self.outcome(outcome)?,
            Value::OfError => {
                self.join_sessions()?;
                none_where(status_is_not("unknown").and(status_is_not("error")), "session_error_kind")
            }
            Value::OfFailure => self.failure_class()?,
            Value::Formatted(form) | Value::Recurring(form) => {
                self.of_local_time(LOCAL_TIME, |time| time)?.dt().to_string(form)
            }
        };
        Ok(expression.alias(dimension.name))
    }
}

/// A column with [`NONE`] in place of NULL where the log shows that there is no value: the main agent has no type of a subagent, and a log
/// that shows calls shows the skills. Rows of calls are such a log.
fn or_none(column: &str, has: impl Fn(&str) -> bool) -> Expr {
    let is_shown = match column {
        turns::AGENT_TYPE => col(turns::IS_SUBAGENT).not(),
        _ if has(turns::GRAIN) => col(turns::TOOL_CALLS).is_not_null(),
        _ => lit(has(tool_calls::CALL_ID)),
    };
    none_where(is_shown, column)
}

/// A column with [`NONE`] in place of NULL where a condition is true.
fn none_where(is_shown: Expr, column: &str) -> Expr {
    when(col(column).is_null().and(is_shown)).then(lit(NONE)).otherwise(col(column))
}

/// Whether the status of a row's session is another one.
fn status_is_not(status: &str) -> Expr {
    col("session_status").neq(lit(status))
}

/// The sessions in scope, with the columns of `sessions`, and the sessions without a start that the scope excludes.
///
/// # Errors
/// When a filter names something that does not exist, or the tables cannot be read.
pub fn sessions(tables: &Frames, scope: &Scope) -> Result<(LazyFrame, LeftOut), Error> {
    let grouping = Grouping::new(sessions::TABLE, &Sessions, tables, scope, CostBasis::Auto)?;
    Ok((grouping.rows, grouping.left_out))
}

/// The type of times without a time zone.
const LOCAL_TIME: DataType = DataType::Datetime(TimeUnit::Microseconds, None);

/// The day of a time in microseconds, as days since 1970.
const fn day_of(time: i64) -> i64 {
    time.div_euclid(DAY_MICROS)
}

/// Times in microseconds, in local time. The few changes of the UTC offset between the first and the last of them are looked up
/// once: one lookup per time would take most of a report's time.
fn local_times(times: &Int64Chunked, zone: &jiff::tz::TimeZone) -> Int64Chunked {
    let moment = |time: Option<i64>| time.and_then(|time| Timestamp::from_microsecond(time).ok());
    let micros = |offset: jiff::tz::Offset| i64::from(offset.seconds()) * 1_000_000;
    let mut offsets = Vec::new();
    if let (Some(first), Some(last)) = (moment(times.min()), moment(times.max())) {
        offsets.push((i64::MIN, micros(zone.to_offset(first))));
        let changes = zone.following(first).take_while(|change| change.timestamp() <= last);
        offsets.extend(changes.map(|change| (change.timestamp().as_microsecond(), micros(change.offset()))));
    }
    times.apply_values(|time| {
        let next = offsets.partition_point(|(from, _)| *from <= time);
        let offset = next.checked_sub(1).and_then(|index| offsets.get(index)).map_or(0, |(_, offset)| *offset);
        time.saturating_add(offset)
    })
}

/// The pattern of the ids that a text means: the whole id, else the beginning or both ends of ids, as tables and messages shorten them.
/// All sessions decide, so that the text means the same in each report.
fn pattern_of_session<'p>(text: &'p str, tables: &Frames) -> Result<Cow<'p, str>, Error> {
    let has_sessions = tables.iter().any(|(table, _)| *table == sessions::TABLE);
    if text.is_empty() || text.contains('*') || !has_sessions {
        return Ok(Cow::Borrowed(text));
    }
    let shortened = match both_ends_of_id(text) {
        // What is shortened may itself be the beginning of an id.
        Some((first, last)) => vec![format!("{first}*{last}"), format!("{first}*{last}*")],
        None => vec![format!("{}*", beginning_of_id(text))],
    };
    for pattern in [Cow::Borrowed(text)].into_iter().chain(shortened.into_iter().map(Cow::Owned)) {
        let ids = tables.table(sessions::TABLE).select([col(sessions::SESSION_ID)]);
        if ids.filter(matches(col(sessions::SESSION_ID), &pattern)?).limit(1).collect()?.height() > 0 {
            return Ok(pattern);
        }
    }
    Ok(Cow::Borrowed(text))
}

#[cfg(test)]
mod tests {
    use jiff::Span;
    use jiff::civil::Weekday;

    use super::*;
    use crate::analysis::rows::Table;
    use crate::store::frames::time_type;

    /// All sessions decide which are meant, whether or not a report has rows of them.
    #[test]
    fn a_text_means_one_session_or_those_that_begin_with_it() {
        let ids = df!("session_id" => ["run-1", "run-10", "run-11-flask", "other"]).unwrap();
        let tables = Frames::from_iter([(sessions::TABLE, ids.lazy())]);
        for (text, expected) in [
            ("run-1", "run-1"),
            ("run-", "run-*"),
            ("oth…", "oth*"),
            ("run…ask", "run*ask"),
            ("run…fla", "run*fla*"),
            ("*1", "*1"),
            ("missing", "missing"),
            ("", ""),
        ] {
            assert_eq!(pattern_of_session(text, &tables).unwrap(), expected, "{text}");
        }
        assert_eq!(pattern_of_session("run-", &Frames::default()).unwrap(), "run-");
    }

    /// Local days and weeks are those of the calendar: across all changes of the clocks, before 1970, and in the far future.
    #[test]
    fn local_days_and_weeks_are_those_of_the_calendar() {
        let text = |value: AnyValue| value.to_string();
        for (zone, week_start) in [
            ("UTC", WeekStart::Saturday),
            ("Europe/Berlin", WeekStart::Monday),
            ("Europe/Berlin", WeekStart::Sunday),
            ("America/St_Johns", WeekStart::Monday),
            ("Pacific/Apia", WeekStart::Saturday),
            ("Australia/Lord_Howe", WeekStart::Sunday),
        ] {
            for (from, step, count) in [
                (-86_400 * 900, 12_345_679, 60),
                // The hours around the end of summer time in Berlin, on Sunday 2026-10-25.
                (1_792_800_000, 3600, 72),
                (1_700_000_000, 1_801_803, 50),
                (0, 3_000_000_000, 60),
            ] {
                let moments: Vec<Timestamp> =
                    (0..count).map(|index| Timestamp::from_second(from + index * step).unwrap()).collect();
                let micros: Vec<i64> = moments.iter().map(|it| it.as_microsecond()).collect();
                let turns = df!("runtime" => vec!["x"; micros.len()], "session_id" => vec!["y"; micros.len()],
                    "occurred_at" => Series::new("".into(), micros).cast(&time_type()).unwrap());
                let tables =
                    [("turns", turns.unwrap().lazy()), ("sessions", df!("session_id" => ["y"]).unwrap().lazy())];
                let tables = tables.into_iter().collect();
                let scope = Scope { timezone: zone.to_owned(), week_start, ..Scope::default() };
                let rows = Table("turns");
                let mut grouping = Grouping::new("turns", &rows, &tables, &scope, CostBasis::Auto).unwrap();
                let columns = ["day", "week", "hour"].map(|name| grouping.dimension(name).unwrap());
                let found = grouping.rows.select(columns).collect().unwrap();
                for (index, moment) in moments.iter().enumerate() {
                    let local = moment.in_tz(zone).unwrap();
                    let date = local.date();
                    let before = |days: i64| date.checked_sub(Span::new().days(days)).unwrap();
                    let first_weekday = match week_start {
                        WeekStart::Monday => Weekday::Monday,
                        WeekStart::Sunday => Weekday::Sunday,
                        WeekStart::Saturday => Weekday::Saturday,
                    };
                    let first = (0..7).map(before).find(|day| day.weekday() == first_weekday).unwrap();
                    assert_eq!(week_start.first_day(date), first);
                    let hour = format!("\"{}\"", local.strftime("%Y-%m-%d %H:00"));
                    let row = found.get(index).unwrap();
                    let row: Vec<String> = row.into_iter().map(text).collect();
                    assert_eq!(row, [date.to_string(), first.to_string(), hour], "{zone} {moment}");
                }
            }
        }
    }
}
