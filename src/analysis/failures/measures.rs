//! `report failures`: its measures over groups of failed sessions. docs/failures.md defines them.

use polars::prelude::*;

use super::frame::{FAILURE_LINE, FAILURE_PATH, FAILURE_SIGN};
use crate::analysis::rows::count_of;
use crate::analysis::rows::measure::{Measure, derived, example, float, measure, median, not_zero, rows, sum};
use crate::store::frames::sessions;

/// The measures.
pub(in crate::analysis) const MEASURES: &[Measure] = &[
    rows("sessions", "Failed sessions"),
    derived("share", "Share of all failed sessions", || share_of("sessions")).wide(),
    sum(sessions::COST_USD, "US dollars of these sessions, by the choice of --cost"),
    derived("cost_share", "Share of the cost of all failed sessions", || share_of(sessions::COST_USD)).wide(),
    sum(sessions::TOTAL_TOKENS, "Tokens").wide(),
    measure("errors", "Those with the status error", || count_of(sessions::STATUS, "error")).wide(),
    measure("incomplete", "Those whose log has no end", || count_of(sessions::STATUS, "incomplete")).wide(),
    median("p50_turns", "Median number of responses", sessions::TURNS).wide(),
    median("p50_duration_ms", "Median duration", sessions::DURATION_MS).wide(),
    example("example_session", "The session of the group with the highest cost", || {
        of_most_expensive(sessions::SESSION_ID)
    }),
    example("example_sign", "What shows its class", || of_most_expensive(FAILURE_SIGN)),
    example("example_path", "The log that shows it", || of_most_expensive(FAILURE_PATH)).wide(),
    example("example_line", "The line there", || of_most_expensive(FAILURE_LINE)).wide(),
];

fn share_of(column: &str) -> Expr {
    float(column) / not_zero(col(column).sum())
}

/// The value of the session with the highest cost.
fn of_most_expensive(column: &str) -> Expr {
    let order = SortMultipleOptions::default().with_order_descending_multi([true, false, false]).with_nulls_last(true);
    col(column).sort_by([col(sessions::COST_USD), col(sessions::SESSION_ID), col(sessions::RUNTIME)], order).first()
}
