//! The commit was made while a call of the session ran that makes commits and printed no hash.

use super::TOLERANCE;
use crate::analysis::shipped::history::History;
use crate::analysis::shipped::session::{Call, Session};
use crate::base::time::SECOND_MICROS;

/// Times of commits are whole seconds, and the log is of the same machine.
const ROUNDING: i64 = 5 * SECOND_MICROS;

/// The commits that were made during such calls, without merges.
pub(in crate::analysis::shipped) fn commits(session: &Session, history: &History, own: &[usize]) -> Vec<usize> {
    let spans = session.calls.iter().filter(|call| call.printed.is_empty()).filter_map(span);
    let commits = spans.flat_map(|(start, end)| history.between(start, end));
    commits.filter(|(.., commit)| own.contains(&commit.repository)).map(|(_, index, _)| index).collect()
}

/// When the commit of a call can have been made.
fn span(call: &Call) -> Option<(i64, i64)> {
    match (call.started_at, call.ended_at) {
        (Some(start), Some(end)) => Some((start.saturating_sub(ROUNDING), end.saturating_add(ROUNDING))),
        (Some(time), None) | (None, Some(time)) => {
            Some((time.saturating_sub(TOLERANCE), time.saturating_add(TOLERANCE)))
        }
        (None, None) => None,
    }
}
