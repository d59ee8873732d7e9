//! What the verdicts of sessions state, as columns of exported sessions: an archive has verdicts in a table of their own.

use polars::prelude::*;

use crate::analysis::outcomes::frame::{OUTCOME_PASSED, OUTCOME_TASK, OUTCOME_TRIAL, outcomes_of_sessions};
use crate::analysis::rows::{Frames, KEY};
use crate::store::frames::{computed_columns, sessions};

// Columns that `with_verdicts` adds, by the names of the dimensions.
computed_columns! {
    /// Whether the trial passed.
    pub(super) PASSED: MaybeFlag = "passed";
    /// Its task.
    pub(super) TASK: Text = "task";
    /// Its name.
    pub(super) TRIAL: Text = "trial";
}

/// The columns and their meanings.
pub(super) const OF_VERDICTS: [(&str, &str); 3] = [
    (PASSED, "Whether the trial of the session passed by its verdict; NULL if no verdict judges it"),
    (TASK, "Task of the trial, as in verdicts"),
    (TRIAL, "Name of the trial of its task, as in verdicts"),
];

/// The tables with these columns at the end of `sessions`. `all` has all sessions: that of a child's verdict may not be in `tables`.
///
/// # Errors
/// When the tables cannot be read.
pub fn with_verdicts(tables: Frames, all: &Frames) -> PolarsResult<Frames> {
    if tables.table(sessions::TABLE).collect_schema()?.contains(PASSED) {
        return Ok(tables);
    }
    let [runtime, session] = KEY;
    let outcomes = outcomes_of_sessions(all)?.select([
        col(runtime),
        col(session),
        col(OUTCOME_PASSED).alias(PASSED),
        col(OUTCOME_TASK).alias(TASK),
        col(OUTCOME_TRIAL).alias(TRIAL),
    ]);
    let how = JoinArgs { maintain_order: MaintainOrderJoin::Left, ..JoinArgs::new(JoinType::Left) };
    Ok(tables.map(|name, frame| match name {
        sessions::TABLE => frame.join(outcomes.clone(), KEY.map(col), KEY.map(col), how.clone()),
        _ => frame,
    }))
}
