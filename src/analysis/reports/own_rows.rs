//! Rows of reports that are computed from tables by expressions alone.

use polars::prelude::*;

use crate::analysis::rows::{ReportRows, sum_of};
use crate::store::frames::{Frames, events, sessions, turns};

/// Events, and failed sessions without an error event.
#[derive(Debug)]
pub(super) struct Errors;

/// Sessions by model, with their reported and their computed cost.
#[derive(Debug)]
pub(super) struct Reconcile;

impl ReportRows for Errors {
    fn tables(&self) -> Vec<&'static str> {
        vec![events::TABLE, sessions::TABLE]
    }

    fn has(&self, column: &str) -> bool {
        OF_ERRORS.contains(&column)
    }

    /// Failed sessions are at their end.
    fn are_dated(&self, _: &Frames) -> bool {
        false
    }

    fn frame(&self, tables: &Frames) -> PolarsResult<LazyFrame> {
        problems(tables)
    }
}

impl ReportRows for Reconcile {
    fn tables(&self) -> Vec<&'static str> {
        vec![turns::TABLE, sessions::TABLE]
    }

    fn has(&self, column: &str) -> bool {
        OF_RECONCILE.contains(&column)
    }

    fn are_dated(&self, tables: &Frames) -> bool {
        tables.is_dated(turns::TABLE)
    }

    fn frame(&self, tables: &Frames) -> PolarsResult<LazyFrame> {
        costs_by_model(tables)
    }
}

/// The time in the log. Unlike `occurred_at`, it is not the start of the session where the log has no time.
pub(super) const LOGGED_AT: &str = "logged_at";

/// The columns of [`problems`].
const OF_ERRORS: &[&str] = &[
    turns::RUNTIME,
    turns::SESSION_ID,
    turns::FORMAT,
    turns::AGENT,
    turns::IS_SUBAGENT,
    turns::OCCURRED_AT,
    LOGGED_AT,
    turns::DAY,
    events::KIND,
    events::CODE,
    events::MESSAGE,
];

/// The columns of [`costs_by_model`].
const OF_RECONCILE: &[&str] = &[
    turns::RUNTIME,
    turns::SESSION_ID,
    turns::MODEL,
    turns::CANONICAL_MODEL,
    turns::REPORTED_COST_USD,
    turns::COMPUTED_COST_USD,
    turns::OCCURRED_AT,
    turns::FORMAT,
    turns::PROVIDER,
    "difference_usd",
];

/// The columns that identify a session.
fn key() -> [Expr; 2] {
    [col(turns::RUNTIME), col(turns::SESSION_ID)]
}

/// Events that are problems, and a row for each failed session without an error event. See docs/reports.md#errors.
fn problems(tables: &Frames) -> PolarsResult<LazyFrame> {
    let columns = |kind: Expr, code: &str, message: &str, time: &str, is_subagent: Expr| {
        let [runtime, session] = key();
        let day = col(time).dt().date().alias(events::DAY);
        let logged_at = col(time).alias(LOGGED_AT);
        let time = col(time).alias(turns::OCCURRED_AT);
        let is_subagent = is_subagent.alias(turns::IS_SUBAGENT);
        let kind = kind.alias(events::KIND);
        let (code, message) = (col(code).alias(events::CODE), col(message).alias(events::MESSAGE));
        let (format, agent) = (col(turns::FORMAT), col(turns::AGENT));
        [runtime, session, format, agent, is_subagent, time, logged_at, day, kind, code, message]
    };
    let is_error = col(events::KIND).eq(lit("error"));
    let is_problem =
        col(events::KIND).is_in(lit(Series::new("".into(), ["compaction", "subagent"])).implode(true), false).not();
    let events = tables.table(events::TABLE);
    let failed = tables.table(sessions::TABLE).filter(col(sessions::STATUS).eq(lit("error")));
    let without_event = failed.join(events.clone().filter(is_error), key(), key(), JoinType::Anti.into());
    let without_event = without_event.select(columns(
        lit("error"),
        sessions::ERROR_KIND,
        sessions::ERROR_MESSAGE,
        sessions::ENDED_AT,
        lit(false),
    ));
    let events = events.filter(is_problem).select(columns(
        col(events::KIND),
        events::CODE,
        events::MESSAGE,
        events::OCCURRED_AT,
        col(events::IS_SUBAGENT),
    ));
    concat([events, without_event], UnionArgs::default())
}

/// A row for each session and model with a reported cost: the reported and the computed cost, and their difference.
fn costs_by_model(tables: &Frames) -> PolarsResult<LazyFrame> {
    let rows = with_models_of_totals(tables)?;
    let sum_if =
        |is_known: Expr, name: &str| when(is_known).then(sum_of(name, col(name))).otherwise(lit(NULL)).alias(name);
    let is_priced =
        col(turns::COMPUTED_COST_USD).is_not_null().or(col(turns::TOTAL_TOKENS).fill_null(lit(0)).eq(lit(0)));
    let sums = rows.group_by([col(turns::RUNTIME), col(turns::SESSION_ID), col(turns::MODEL)]);
    let sums = sums.agg([
        col(turns::CANONICAL_MODEL).first(),
        sum_if(col(turns::REPORTED_COST_USD).count().gt(lit(0)), turns::REPORTED_COST_USD),
        sum_if(is_priced.all(true).and(col(turns::COMPUTED_COST_USD).count().gt(lit(0))), turns::COMPUTED_COST_USD),
        col(turns::OCCURRED_AT).min(),
        col(turns::FORMAT).first(),
        col(turns::PROVIDER).first(),
    ]);
    let difference = col(turns::COMPUTED_COST_USD) - col(turns::REPORTED_COST_USD);
    // As precise as reports are, so that the last digits of sums do not decide which session differs most.
    let difference = difference.round(10, RoundMode::HalfAwayFromZero);
    let difference = when(col(turns::REPORTED_COST_USD).gt(lit(0))).then(difference).otherwise(lit(NULL));
    Ok(sums.filter(col(turns::REPORTED_COST_USD).is_not_null()).with_column(difference.alias("difference_usd")))
}

/// The rows of the ledger. If a reported total of a session names no model, all rows of the session have the session's model, so that
/// the total is compared with the computed cost of the whole session.
fn with_models_of_totals(tables: &Frames) -> PolarsResult<LazyFrame> {
    let turns = tables.table(turns::TABLE);
    let unnamed = turns.clone().filter(col(turns::MODEL).is_null().and(col(turns::REPORTED_COST_USD).is_not_null()));
    // Most archives have no such total, and the joins need much memory.
    let count = unnamed.clone().select([col(turns::REPORTED_COST_USD).count()]).collect()?;
    if count.column(turns::REPORTED_COST_USD)?.get(0)?.extract() == Some(0) {
        return Ok(turns);
    }
    let [runtime, session] = key();
    let models = [turns::MODEL, turns::CANONICAL_MODEL];
    let of_session = models.map(|name| col(name).alias(format!("session_{name}")));
    let sessions = tables.table(sessions::TABLE).select([[runtime, session], of_session].concat());
    let sessions =
        sessions.join(unnamed, key(), key(), JoinType::Semi.into()).with_column(lit(true).alias("is_unnamed"));
    let model =
        |name: &str| when(col("is_unnamed")).then(col(format!("session_{name}"))).otherwise(col(name)).alias(name);
    Ok(turns.join(sessions, key(), key(), JoinType::Left.into()).with_columns(models.map(model)))
}
