//! The rows that each kind of report groups.

use std::collections::HashSet;
use std::sync::LazyLock;

use polars::prelude::*;

use super::spec::{Rows, sum_of};
use super::tables::Frames;
use crate::analysis::waste::frame::{CAUSE, TOOL};
use crate::store::frames;

impl Rows {
    /// The rows, from the tables.
    pub(super) fn frame(&self, tables: &Frames) -> PolarsResult<LazyFrame> {
        match self {
            Self::Table(name) => Ok(tables.table(name)),
            Self::Where(name, condition) => Ok(tables.table(name).filter(condition())),
            // The measures are added to the sessions in scope.
            Self::Sessions | Self::Behaviour | Self::Outcomes => {
                Ok(tables.table("sessions").with_column(col("started_at").alias("occurred_at")))
            }
            // Their values are added to the sessions in scope.
            Self::Waste => {
                let unknown = |name: &str| lit(NULL).cast(DataType::String).alias(name);
                Ok(Self::Sessions.frame(tables)?.with_columns([unknown(CAUSE), unknown(TOOL)]))
            }
            Self::Errors => problems(tables),
            Self::Reconcile => costs_by_model(tables),
        }
    }

    /// Whether every row is known to have a time.
    pub(super) fn are_dated(&self, tables: &Frames) -> bool {
        match self {
            Self::Table(name) | Self::Where(name, _) => tables.is_dated(name),
            Self::Sessions | Self::Behaviour | Self::Outcomes | Self::Waste => tables.is_dated("sessions"),
            Self::Reconcile => tables.is_dated("turns"),
            // Failed sessions are at their end.
            Self::Errors => false,
        }
    }

    /// The tables of the rows and their sessions.
    pub(super) fn tables(&self) -> Vec<&'static str> {
        match self {
            Self::Table(name) | Self::Where(name, _) => vec![name, "sessions"],
            Self::Sessions => vec!["sessions"],
            Self::Behaviour => vec!["sessions", "turns", "tool_calls", "file_changes"],
            Self::Outcomes => vec!["sessions", "verdicts"],
            Self::Waste => vec!["sessions", "turns", "tool_calls", "events", "verdicts"],
            Self::Errors => vec!["events", "sessions"],
            Self::Reconcile => vec!["turns", "sessions"],
        }
    }

    /// Whether the rows have a column.
    pub(super) fn has(&self, column: &str) -> bool {
        match self {
            Self::Table(table) | Self::Where(table, _) => COLUMNS.contains(&(*table, column)),
            Self::Sessions | Self::Behaviour | Self::Outcomes => {
                column == "occurred_at" || COLUMNS.contains(&("sessions", column))
            }
            Self::Waste => [CAUSE, TOOL].contains(&column) || Self::Sessions.has(column),
            Self::Errors => OF_ERRORS.contains(&column),
            Self::Reconcile => OF_RECONCILE.contains(&column),
        }
    }
}

/// The tables and columns of an archive.
static COLUMNS: LazyLock<HashSet<(&str, &str)>> =
    LazyLock::new(|| frames::schema().into_iter().map(|column| (column.table, column.column)).collect());

/// The columns of [`problems`].
#[rustfmt::skip]
const OF_ERRORS: &[&str] =
    &["runtime", "session_id", "format", "agent", "occurred_at", "day", "kind", "code", "message"];

/// The columns of [`costs_by_model`].
#[rustfmt::skip]
const OF_RECONCILE: &[&str] = &[
    "runtime", "session_id", "model", "canonical_model", "reported_cost_usd", "computed_cost_usd", "occurred_at", "format",
    "provider", "difference_usd",
];

/// The columns that identify a session.
fn key() -> [Expr; 2] {
    [col("runtime"), col("session_id")]
}

/// Events that are problems, and a row for each failed session without an error event. See docs/reports.md#errors.
fn problems(tables: &Frames) -> PolarsResult<LazyFrame> {
    let columns = |kind: Expr, code: &str, message: &str, time: &str| {
        let [runtime, session] = key();
        let day = col(time).dt().date().alias("day");
        let time = col(time).alias("occurred_at");
        let kind = kind.alias("kind");
        let (code, message) = (col(code).alias("code"), col(message).alias("message"));
        [runtime, session, col("format"), col("agent"), time, day, kind, code, message]
    };
    let is_error = col("kind").eq(lit("error"));
    let is_problem =
        col("kind").is_in(lit(Series::new("".into(), ["compaction", "subagent"])).implode(true), false).not();
    let events = tables.table("events");
    let failed = tables.table("sessions").filter(col("status").eq(lit("error")));
    let without_event = failed.join(events.clone().filter(is_error), key(), key(), JoinType::Anti.into());
    let without_event = without_event.select(columns(lit("error"), "error_kind", "error_message", "ended_at"));
    let events = events.filter(is_problem).select(columns(col("kind"), "code", "message", "occurred_at"));
    concat([events, without_event], UnionArgs::default())
}

/// A row for each session and model with a reported cost: the reported and the computed cost, and their difference.
fn costs_by_model(tables: &Frames) -> PolarsResult<LazyFrame> {
    let rows = with_models_of_totals(tables)?;
    let sum_if =
        |is_known: Expr, name: &str| when(is_known).then(sum_of(name, col(name))).otherwise(lit(NULL)).alias(name);
    let is_priced = col("computed_cost_usd").is_not_null().or(col("total_tokens").fill_null(lit(0)).eq(lit(0)));
    let sums = rows.group_by([col("runtime"), col("session_id"), col("model")]);
    let sums = sums.agg([
        col("canonical_model").first(),
        sum_if(col("reported_cost_usd").count().gt(lit(0)), "reported_cost_usd"),
        sum_if(is_priced.all(true).and(col("computed_cost_usd").count().gt(lit(0))), "computed_cost_usd"),
        col("occurred_at").min(),
        col("format").first(),
        col("provider").first(),
    ]);
    let difference = col("computed_cost_usd") - col("reported_cost_usd");
    // As precise as reports are, so that the last digits of sums do not decide which session differs most.
    let difference = difference.round(10, RoundMode::HalfAwayFromZero);
    let difference = when(col("reported_cost_usd").gt(lit(0))).then(difference).otherwise(lit(NULL));
    Ok(sums.filter(col("reported_cost_usd").is_not_null()).with_column(difference.alias("difference_usd")))
}

/// The rows of the ledger. If a reported total of a session names no model, all rows of the session have the session's model, so that
/// the total is compared with the computed cost of the whole session.
fn with_models_of_totals(tables: &Frames) -> PolarsResult<LazyFrame> {
    let turns = tables.table("turns");
    let unnamed = turns.clone().filter(col("model").is_null().and(col("reported_cost_usd").is_not_null()));
    // Most archives have no such total, and the joins need much memory.
    let count = unnamed.clone().select([col("reported_cost_usd").count()]).collect()?;
    if count.column("reported_cost_usd")?.get(0)?.extract() == Some(0) {
        return Ok(turns);
    }
    let [runtime, session] = key();
    let models = ["model", "canonical_model"];
    let of_session = models.map(|name| col(name).alias(format!("session_{name}")));
    let sessions = tables.table("sessions").select([[runtime, session], of_session].concat());
    let sessions =
        sessions.join(unnamed, key(), key(), JoinType::Semi.into()).with_column(lit(true).alias("is_unnamed"));
    let model =
        |name: &str| when(col("is_unnamed")).then(col(format!("session_{name}"))).otherwise(col(name)).alias(name);
    Ok(turns.join(sessions, key(), key(), JoinType::Left.into()).with_columns(models.map(model)))
}
