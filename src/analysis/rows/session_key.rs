//! The columns that identify a session.

use polars::prelude::*;

use crate::store::frames::sessions;

/// The columns that identify a session.
pub(in crate::analysis) const KEY: [&str; 2] = [sessions::RUNTIME, sessions::SESSION_ID];

/// Their values: the runtime and the id of a session.
pub(in crate::analysis) type Key = (String, String);

/// The column of one value that identifies the session of a row, where a measure counts sessions.
pub(in crate::analysis) const SESSION_KEY: &str = "session_key";

/// The beginning and the end of an id that a terminal has no space for: `01a1f9…`, `swebench…10920`, in ASCII `swebench...10920` in
/// tables and `swebench~10920` in the overview.
pub(in crate::analysis) fn ends_of_shortened(text: &str) -> Option<(&str, &str)> {
    let ends = ["…", "...", "~"].iter().find_map(|sign| text.split_once(*sign));
    ends.filter(|(first, _)| !first.is_empty())
}

/// The number of distinct sessions whose rows fulfil a condition.
pub(in crate::analysis) fn distinct_sessions(condition: Expr) -> Expr {
    col(SESSION_KEY).filter(condition).n_unique().cast(DataType::Int64)
}
