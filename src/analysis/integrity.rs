//! `report integrity`: the calls that are a sign that a result should not be trusted. docs/integrity.md states what each sign proves.

use polars::prelude::*;

use crate::analysis::outcomes::frame::TRIAL_PASSED;
use crate::analysis::rows::measure::{Measure, example, measure, rows};
use crate::analysis::rows::{SESSION_KEY, Where, distinct_sessions};
use crate::store::frames::tool_calls;

/// The calls with a sign that ran: a refused or failed call changed nothing.
pub(super) static ROWS: Where = Where(tool_calls::TABLE, || {
    let has_run = col(tool_calls::STATUS).eq(lit("ok")).or(col(tool_calls::STATUS).eq(lit("incomplete")));
    col(tool_calls::SIGN).is_not_null().and(has_run)
});

/// The measures.
pub(super) const MEASURES: &[Measure] = &[
    rows("calls", "Calls with the sign"),
    measure("sessions", "Distinct sessions", || col(SESSION_KEY).n_unique().cast(DataType::Int64)),
    measure("passed_sessions", "Those of a trial that passed: results that the sign is about", || {
        distinct_sessions(col(TRIAL_PASSED))
    })
    .of_outcome(),
    example("example_session", "The session of the first call", || first(tool_calls::SESSION_ID)),
    example("example_target", "Its file, host or program", || first(tool_calls::TARGET)),
    example("example_path", "The log with it", || first(tool_calls::SOURCE_PATH)).wide(),
    example("example_line", "The line there", || first(tool_calls::LINE)).wide(),
];

/// The column's value in the first call of a group.
fn first(column: &str) -> Expr {
    let order = [tool_calls::OCCURRED_AT, tool_calls::SESSION_ID, tool_calls::SOURCE_PATH, tool_calls::LINE];
    col(column).sort_by(order.map(col), SortMultipleOptions::default().with_nulls_last(true)).first()
}
