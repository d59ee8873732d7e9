//! The sessions and the trials of a cohort.

use polars::prelude::*;

use crate::analysis::outcomes::frame::{Trial, all_trials, judged};
use crate::analysis::rows::{
    CostBasis, Frames, Judged, KEY, Key, ReportRows, Sessions, Unjudged, calls_with_result, of_partitions,
};
use crate::analysis::selection::{Error, Grouping, LeftOut, Scope};
use crate::store::frames::{sessions, tool_calls, verdicts};

/// The tables that a cohort is read from.
pub const TABLES: &[&str] = &[sessions::TABLE, tool_calls::TABLE, verdicts::TABLE];

/// The calls of a session with a result. A log that states only the numbers of its calls and errors counts all calls.
const CALLS_WITH_RESULT: &str = "calls_with_result";

/// The sessions, with the numbers that a cohort has of their calls.
#[derive(Debug)]
pub(in crate::analysis) struct CohortSessions;

impl ReportRows for CohortSessions {
    fn tables(&self) -> Vec<&'static str> {
        TABLES.to_vec()
    }

    fn has_times_of_tables(&self) -> bool {
        Sessions.has_times_of_tables()
    }

    fn frame(&self, tables: &Frames) -> PolarsResult<LazyFrame> {
        let results = of_partitions(tables, |partition| {
            let calls = partition.table(tool_calls::TABLE).group_by(KEY.map(col));
            calls.agg([calls_with_result().alias(CALLS_WITH_RESULT)]).collect()
        })?;
        let rows = Sessions.frame(tables)?.join(results, KEY.map(col), KEY.map(col), JoinType::Left.into());
        Ok(rows.with_column(coalesce(&[col(CALLS_WITH_RESULT), col(sessions::TOOL_CALLS)]).alias(CALLS_WITH_RESULT)))
    }
}

/// A number of a session: an index into [`Row`].
#[derive(Clone, Copy)]
pub(in crate::analysis) enum Column {
    /// 1 for every session.
    One,
    /// 1 if it ended cleanly, or as a trial passed, 0 if not; unknown if the log does not contain how it ended, or without a
    /// verdict.
    Success,
    Cost,
    Tokens,
    Turns,
    Duration,
    Calls,
    /// Its calls with a result, and those of them that failed.
    CallsWithResult,
    Errors,
    /// Its cost if its outcome is known: reports have the same definition.
    CostIfOutcomeKnown,
}

const N_COLUMNS: usize = 10;

/// The columns of a session; NaN is unknown.
pub(in crate::analysis) type Row = [f64; N_COLUMNS];

/// The columns of a trial.
pub(in crate::analysis) fn row_of_trial(trial: &Trial) -> Row {
    let number = |value: Option<i64>| value.map_or(f64::NAN, |value| value as f64);
    let passed = trial.passed.map_or(f64::NAN, |passed| f64::from(u8::from(passed)));
    let cost = trial.cost.unwrap_or(f64::NAN);
    let known = if passed.is_nan() { f64::NAN } else { cost };
    let (tokens, turns, duration) = (number(trial.tokens), number(trial.turns), number(trial.duration_ms));
    [1.0, passed, cost, tokens, turns, duration, f64::NAN, f64::NAN, f64::NAN, known]
}

/// The sessions of a cohort, in the order of their keys.
pub(in crate::analysis) struct Cohort {
    pub keys: Vec<Key>,
    pub rows: Vec<Row>,
    /// The trials of these sessions, each with all of its sessions. Empty if no session of the tables is judged.
    pub trials: Vec<Trial>,
    pub judged: Judged,
}

impl Cohort {
    /// The sessions in a scope, and those without a start that it excludes.
    pub(in crate::analysis) fn read(
        tables: &Frames,
        scope: &Scope,
        unjudged: Unjudged,
    ) -> Result<(Self, LeftOut), Error> {
        let Grouping { rows, left_out, .. } =
            Grouping::new(sessions::TABLE, &CohortSessions, tables, scope, CostBasis::Auto)?;
        Ok((Self::of(&rows, &all_trials(tables, CostBasis::Auto, unjudged)?)?, left_out))
    }

    /// Its trials; none if none of them is judged.
    pub(in crate::analysis) fn judged_trials(&self) -> &[Trial] {
        let are_judged = self.trials.iter().any(|trial| trial.passed.is_some());
        if are_judged { &self.trials } else { &[] }
    }

    /// These sessions. `all` are the trials of all sessions, of which the cohort has those whose session is one of these.
    pub(super) fn of(sessions: &LazyFrame, all: &[Trial]) -> PolarsResult<Self> {
        let number = |name: &'static str| col(name).cast(DataType::Float64).fill_null(lit(f64::NAN)).alias(name);
        let numbers = [
            sessions::COST_USD,
            sessions::TOTAL_TOKENS,
            sessions::TURNS,
            sessions::DURATION_MS,
            sessions::TOOL_CALLS,
            CALLS_WITH_RESULT,
            sessions::TOOL_ERRORS,
        ];
        let texts = [sessions::RUNTIME, sessions::SESSION_ID, sessions::STATUS].map(col).into_iter();
        let frame = sessions
            .clone()
            .select(texts.chain(numbers.map(number)).collect::<Vec<_>>())
            .sort([sessions::RUNTIME, sessions::SESSION_ID], SortMultipleOptions::default())
            .collect()?;
        let text = |name: &str| frame.column(name)?.str().cloned();
        let (runtime, session, status) =
            (text(sessions::RUNTIME)?, text(sessions::SESSION_ID)?, text(sessions::STATUS)?);
        let values = numbers.map(|name| frame.column(name).and_then(|column| column.f64().cloned()));
        let [cost, tokens, turns, duration, calls, results, errors] = values;
        let (cost, tokens, turns, duration) = (cost?, tokens?, turns?, duration?);
        let (calls, results, errors) = (calls?, results?, errors?);
        let row = |row: usize| {
            let of = |column: &Float64Chunked| column.get(row).unwrap_or(f64::NAN);
            let success = match status.get(row) {
                Some("success") => 1.0,
                Some("unknown") | None => f64::NAN,
                Some(_) => 0.0,
            };
            let known = if success.is_nan() { f64::NAN } else { of(&cost) };
            let (calls, results, errors) = (of(&calls), of(&results), of(&errors));
            [1.0, success, of(&cost), of(&tokens), of(&turns), of(&duration), calls, results, errors, known]
        };
        let key = |row: usize| [&runtime, &session].map(|it| it.get(row).unwrap_or_default().to_owned()).into();
        let keys: Vec<Key> = (0..frame.height()).map(key).collect();
        let rows = (0..frame.height()).map(row).collect();
        let trials: Vec<Trial> = all.iter().filter(|trial| keys.binary_search(&trial.key).is_ok()).cloned().collect();
        let judged = judged(&trials);
        Ok(Self { keys, rows, trials, judged })
    }
}
