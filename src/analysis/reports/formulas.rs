//! Formulas of the reports in `list`.

use polars::prelude::*;

use crate::analysis::rows::measure::{float, not_zero};
use crate::analysis::rows::{IS_UNPRICED, calls_with_result, count_of, distinct_sessions, known_sum, sum_where};
use crate::store::frames::{tool_calls, turns};

/// The part of the prompts that was read from a cache, of those for which it is known.
pub(super) fn cache_hit_rate() -> Expr {
    let sum = |tokens: Expr| tokens.sum().cast(DataType::Float64);
    sum(col(turns::CACHE_READ_TOKENS)) / not_zero(sum(prompt_tokens()))
}

/// The tokens of a prompt; NULL if it is unknown how many of them were read from a cache.
pub(super) fn prompt_tokens() -> Expr {
    let known = |column: &str| col(column).fill_null(lit(0));
    col(turns::CACHE_READ_TOKENS) + known(turns::INPUT_TOKENS) + known(turns::CACHE_WRITE_TOKENS)
}

/// The part of the calls with a result that failed.
pub(super) fn error_rate() -> Expr {
    count_of(tool_calls::STATUS, "error").cast(DataType::Float64) / not_zero(calls_with_result())
}

/// The known cost of all rows for each response. Responses with tokens that no cost covers are left out; those without tokens of their
/// own have a part of the sums that their log gives.
pub(super) fn cost_per_turn() -> Expr {
    let is_uncovered = col(IS_UNPRICED).and(col(turns::TOTAL_TOKENS).gt(lit(0))).fill_null(lit(false));
    let turns = col(turns::GRAIN).eq(lit("turn")).and(is_uncovered.not()).sum();
    known_sum(turns::COST_USD) / not_zero(turns.cast(DataType::Float64))
}

/// The known cost of all rows for each session whose cost is known.
pub(super) fn cost_per_session() -> Expr {
    let sessions = distinct_sessions(col(turns::COST_USD).is_not_null());
    known_sum(turns::COST_USD) / not_zero(sessions.cast(DataType::Float64))
}

/// The known cost of all sessions whose end is known for each of them that ended cleanly, as in `compare`: failures are part of what a
/// clean end costs. A session whose end is unknown may be either.
pub(super) fn cost_per_clean_end() -> Expr {
    let sessions = distinct_sessions(col(turns::COST_USD).is_not_null().and(has_ended_cleanly()));
    let has_known_end = col("session_status").neq(lit("unknown"));
    sum_where(turns::COST_USD, has_known_end) / not_zero(sessions.cast(DataType::Float64))
}

pub(super) fn has_ended_cleanly() -> Expr {
    col("session_status").eq(lit("success"))
}

pub(super) fn share_of(column: &str) -> Expr {
    float(column) / not_zero(col(column).sum())
}

/// The column's value in the row with the largest absolute `difference_usd`; rows without a difference come last.
pub(super) fn of_worst_session(column: &str) -> Expr {
    let order = SortMultipleOptions::default().with_order_descending_multi([true, false, false]).with_nulls_last(true);
    col(column).sort_by([col("difference_usd").abs(), col(turns::SESSION_ID), col("difference_usd")], order).first()
}

/// The sum of a column over rows with both costs, if the reported one is not 0.
pub(super) fn sum_of_comparable(column: &str) -> Expr {
    let is_known = || col("difference_usd").is_not_null();
    when(is_known().any(true)).then(sum_where(column, is_known())).otherwise(lit(NULL))
}
