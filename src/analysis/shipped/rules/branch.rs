//! The session worked on the branch of the commit: the commits that were written on it while the session ran, else the next one within
//! three days. Without the bound, one long branch would get all sessions of months. A rebase changes when a commit was made, and not when
//! it was written.

use super::TOLERANCE;
use crate::analysis::shipped::history::History;
use crate::analysis::shipped::session::Session;
use crate::base::time::DAY_MICROS;

/// How long after the session the next commit may be written.
const LATEST: i64 = 3 * DAY_MICROS;

/// The commits of the branch of a session, without merges. The default branch is not such a branch. A session that printed the hash of a
/// commit made one that is not known, and not the next one on its branch.
pub(in crate::analysis::shipped) fn commits(session: &Session, history: &History, own: &[usize]) -> Vec<usize> {
    let (Some(branch), Some(start)) = (&session.branch, session.started_at) else { return Vec::new() };
    if session.calls.iter().any(|call| !call.printed.is_empty()) {
        return Vec::new();
    }
    let end = session.ended_at.unwrap_or(start);
    let of_branch = |from: i64, to: i64| {
        let is_own = |index: &usize| {
            history.commits.get(*index).is_some_and(|commit| own.contains(&commit.repository) && !commit.is_merge)
        };
        history.on_branch(branch, from, to).filter(is_own)
    };
    let during: Vec<usize> = of_branch(start.saturating_sub(TOLERANCE), end.saturating_add(TOLERANCE)).collect();
    if during.is_empty() { of_branch(end, end.saturating_add(LATEST)).take(1).collect() } else { during }
}
