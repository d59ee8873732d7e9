//! A call of the session printed the hash of the commit, which was written and made while the session ran: a call that merges or pushes may print the
//! commits of others, too.

use super::TOLERANCE;
use crate::analysis::shipped::history::{Commit, History};
use crate::analysis::shipped::session::Session;

/// The commits that calls of a session printed. Of commits of several repositories, those of its own are preferred.
pub(in crate::analysis::shipped) fn commits(session: &Session, history: &History, own: &[usize]) -> Vec<usize> {
    let mut found = Vec::new();
    for call in &session.calls {
        let end = call.ended_at.or(call.started_at).or(session.ended_at);
        let is_made = |time: i64| {
            session.is_at(time, TOLERANCE, TOLERANCE) && end.is_none_or(|end| time <= end.saturating_add(TOLERANCE))
        };
        // A rebase makes commits that were written before the session.
        let is_written = |commit: &Commit| {
            let earliest = session.started_at.map(|start| start.saturating_sub(TOLERANCE));
            commit.authored_at.zip(earliest).is_none_or(|(written, earliest)| earliest <= written)
        };
        for start in &call.printed {
            let with_hash = history.with_hash(start).filter_map(|index| Some((index, history.commits.get(index)?)));
            let made: Vec<(usize, bool)> = with_hash
                .filter(|(_, commit)| commit.time.is_some_and(is_made) && is_written(commit))
                .map(|(index, commit)| (index, own.contains(&commit.repository)))
                .collect();
            let has_own = made.iter().any(|(_, is_own)| *is_own);
            found.extend(made.into_iter().filter(|(_, is_own)| *is_own || !has_own).map(|(index, _)| index));
        }
    }
    found
}
