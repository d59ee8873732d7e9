//! The classes of failed sessions as columns.

use polars::prelude::*;
use rayon::prelude::*;

use super::read::FailureRows;
use super::rows::{Session, Status};
use super::rules::{Finding, classify};
use crate::analysis::outcomes::frame::{OUTCOME_IS_CHILD, OUTCOME_PASSED, outcomes_of_sessions};
use crate::analysis::rows::{Frames, KEY, ReportRows, Sessions, for_sessions, take};
use crate::base::text::SharedStr;
use crate::store::frames::{TypedRows as _, computed_columns, events, rows, sessions, tool_calls, turns, verdicts};

computed_columns! {
    /// Why a session failed.
    pub(in crate::analysis) FAILURE_CLASS: Text = "failure_class";
    /// What shows it.
    pub(in crate::analysis) FAILURE_SIGN: Text = "failure_sign";
    /// The log that shows it.
    pub(in crate::analysis) FAILURE_PATH: Text = "failure_path";
    /// The line there.
    pub(in crate::analysis) FAILURE_LINE: Int = "failure_line";
}

/// The tables from which classes are computed.
pub const TABLES: &[&str] = &[sessions::TABLE, turns::TABLE, tool_calls::TABLE, events::TABLE, verdicts::TABLE];

/// The failed sessions.
#[derive(Debug)]
pub(in crate::analysis) struct Failures;

impl ReportRows for Failures {
    fn tables(&self) -> Vec<&'static str> {
        TABLES.to_vec()
    }

    fn frame(&self, tables: &Frames) -> PolarsResult<LazyFrame> {
        let rows = Sessions.frame(tables)?;
        Ok(rows.join(failures(tables)?, KEY.map(col), KEY.map(col), JoinType::Inner.into()))
    }
}

rows! {
    /// The columns of failed sessions.
    struct SessionColumns {
        path: sessions::SOURCE_PATH,
        status: sessions::STATUS,
        error_kind: sessions::ERROR_KIND,
        error_message: sessions::ERROR_MESSAGE,
        exit_code: sessions::EXIT_CODE,
        calls: sessions::TOOL_CALLS,
        labels: sessions::LABELS,
        passed: OUTCOME_PASSED,
        is_child: OUTCOME_IS_CHILD,
    }
}

/// The failed sessions by their keys, with their class, what shows it, and where.
pub(in crate::analysis) fn failures(tables: &Frames) -> PolarsResult<LazyFrame> {
    classes(failed(tables)?, tables)
}

/// The same, of the sessions that fulfil a condition on the columns that identify them.
pub(in crate::analysis) fn failures_among(tables: &Frames, which: &Expr) -> PolarsResult<LazyFrame> {
    let rows = tables.clone().map(|_, rows| rows.filter(which.clone()));
    classes(failed(tables)?.filter(which.clone()), &rows)
}

/// The classes of failed sessions by their rows in tables.
fn classes(failed: LazyFrame, tables: &Frames) -> PolarsResult<LazyFrame> {
    let mut sessions = failed.collect()?;
    // Values are read by their index.
    sessions.rechunk_mut();
    let columns = SessionColumns::of(&sessions)?;
    let keys = sessions.select(KEY)?;
    let compute = |rows: &FailureRows, indices: &[usize]| {
        let findings: Vec<Finding> = indices.par_iter().map(|index| finding(&columns, rows, *index)).collect();
        with_findings(take(&keys, indices.iter().copied())?, &findings)
    };
    for_sessions(&keys, tables, FailureRows::read, compute)
}

/// The sessions that failed: judged wrong, or ended by an error, by the user or in the middle, unless their trial passed.
fn failed(tables: &Frames) -> PolarsResult<LazyFrame> {
    let keys = || KEY.map(col);
    let rows = tables.table(sessions::TABLE);
    let rows = rows.join(outcomes_of_sessions(tables)?, keys(), keys(), JoinType::Left.into());
    let passed = || col(OUTCOME_PASSED);
    let is_judged_wrong = passed().eq(lit(false)).and(col(OUTCOME_IS_CHILD).not()).fill_null(lit(false));
    let is = |status: &str| col(sessions::STATUS).eq(lit(status));
    let ended_badly = is("error").or(is("aborted")).or(is("incomplete")).and(passed().fill_null(lit(false)).not());
    let columns = KEY.into_iter().chain(SessionColumns::NAMES.iter().copied()).map(col).collect::<Vec<_>>();
    Ok(rows.filter(is_judged_wrong.or(ended_badly)).select(columns))
}

fn finding(sessions: &SessionColumns, rows: &FailureRows, index: usize) -> Finding {
    let labels = sessions.labels(index);
    let exception = labels.iter().find_map(|label| label.strip_prefix("exception="));
    let calls = rows.calls.of(index);
    classify(&Session {
        status: Status::of(sessions.status(index)),
        is_judged_wrong: sessions.passed(index) == Some(false) && !sessions.is_child(index),
        error_kind: sessions.error_kind(index),
        error_message: sessions.error_message(index),
        exception,
        exit_code: sessions.exit_code(index),
        // Some logs contain only the number of calls.
        shows_calls: sessions.calls(index).is_some_and(|count| count == 0 || !calls.is_empty()),
        calls,
        events: rows.events.of(index),
        turns: rows.turns.of(index),
        path: SharedStr::from(sessions.path(index).unwrap_or_default()),
    })
}

fn with_findings(mut found: DataFrame, findings: &[Finding]) -> PolarsResult<DataFrame> {
    let places = || findings.iter().map(|finding| finding.place.as_ref());
    let classes = findings.iter().map(|finding| finding.class.as_str()).collect::<Vec<_>>();
    let signs = findings.iter().map(|finding| finding.sign.as_str()).collect::<Vec<_>>();
    let paths = places().map(|place| Some(place?.path.as_str())).collect::<Vec<_>>();
    let lines = places().map(|place| place?.line).collect::<Vec<_>>();
    found.with_column(Column::new(FAILURE_CLASS.into(), classes))?;
    found.with_column(Column::new(FAILURE_SIGN.into(), signs))?;
    found.with_column(Column::new(FAILURE_PATH.into(), paths))?;
    found.with_column(Column::new(FAILURE_LINE.into(), lines))?;
    Ok(found)
}
