//! The session worked on the branch of the commit: the commits that were made on it while the session ran, else the next one within three
//! days. Without the bound, one long branch would get all sessions of months.

use super::{DAY, TOLERANCE};
use crate::analysis::shipped::history::{Commit, History};
use crate::analysis::shipped::session::Session;

/// How long after the session the next commit may be made.
const LATEST: i64 = 3 * DAY;

/// The commits of the branch of a session, without merges. The default branch is no such branch.
pub(in crate::analysis::shipped) fn commits(session: &Session, history: &History, own: &[usize]) -> Vec<usize> {
    let (Some(branch), Some(start)) = (&session.branch, session.started_at) else { return Vec::new() };
    let end = session.ended_at.unwrap_or(start);
    let of_branch = |from: i64, to: i64| {
        let is_of = |commit: &Commit| own.contains(&commit.repository) && commit.branches.contains(branch);
        let commits = history.between(from, to).filter(move |(.., commit)| is_of(commit));
        commits.map(|(_, index, _)| index)
    };
    let during: Vec<usize> = of_branch(start.saturating_sub(TOLERANCE), end.saturating_add(TOLERANCE)).collect();
    if during.is_empty() { of_branch(end, end.saturating_add(LATEST)).take(1).collect() } else { during }
}
