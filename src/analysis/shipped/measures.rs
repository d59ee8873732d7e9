//! `report shipped`: its measures over groups of shares. docs/shipped.md defines them.

use polars::prelude::*;

use super::frame::{
    COMMIT_KEY, IS_MERGED, LINES_ADDED, LINES_SURVIVING, PULL_REQUEST_KEY, SHARE, SHARED_COST_USD, SHARED_MS,
    SHARED_TOKENS,
};
use crate::analysis::rows::measure::{Measure, derived, float, measure, not_zero};
use crate::analysis::rows::{SESSION_KEY, known_sum, sum_where, whole};
use crate::store::frames::{commits, sessions, turns};

/// The measures.
pub(in crate::analysis) const MEASURES: &[Measure] = &[
    measure(turns::COST_USD, "US dollars: the shares of sessions", || known_sum(SHARED_COST_USD)),
    derived("share", "Share of the cost of all rows", || float(turns::COST_USD) / not_zero(col(turns::COST_USD).sum())),
    measure("sessions", "Distinct sessions", || col(SESSION_KEY).n_unique().cast(DataType::Int64)),
    measure("session_shares", "Sum of the shares of these sessions", || col(SHARE).sum()).wide(),
    measure(turns::TOTAL_TOKENS, "Their shares of tokens", || whole(known_sum(SHARED_TOKENS))).wide(),
    measure(sessions::DURATION_MS, "Their shares of the time of sessions", || whole(known_sum(SHARED_MS))).wide(),
    measure("commits", "Commits, each once", || distinct(COMMIT_KEY, lit(true))),
    measure("merged_commits", "Those that the default branch contains", || distinct(COMMIT_KEY, col(IS_MERGED))).wide(),
    measure(sessions::PULL_REQUESTS, "Pull requests", || distinct(PULL_REQUEST_KEY, lit(true))).wide(),
    measure("merged_pull_requests", "Those that were merged", || distinct(PULL_REQUEST_KEY, col(IS_MERGED))).wide(),
    measure(commits::LINES_ADDED, "Lines that the commits added; a commit of several sessions is divided", || {
        whole(known_sum(LINES_ADDED))
    })
    .wide(),
    measure(commits::LINES_SURVIVING, "Those that the default branch still has", || whole(known_sum(LINES_SURVIVING))),
    measure(
        "cost_per_merged_pull_request_usd",
        "cost_usd / merged_pull_requests with a known cost: all other cost is included",
        || cost_per(distinct(PULL_REQUEST_KEY, col(IS_MERGED).and(has_cost()))),
    )
    .wide(),
    measure("cost_per_surviving_line_usd", "cost_usd / lines_surviving of sessions with a known cost", || {
        cost_per(whole(sum_where(LINES_SURVIVING, has_cost())))
    })
    .wide(),
];

fn has_cost() -> Expr {
    col(SHARED_COST_USD).is_not_null()
}

fn cost_per(count: Expr) -> Expr {
    known_sum(SHARED_COST_USD) / not_zero(count.cast(DataType::Float64))
}

/// The number of distinct values in rows that fulfil a condition.
fn distinct(column: &str, condition: Expr) -> Expr {
    col(column).filter(condition.and(col(column).is_not_null())).n_unique().cast(DataType::Int64)
}
