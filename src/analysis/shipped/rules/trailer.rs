//! The commit names the session, in a trailer of its message or in a note. Tools keep transcripts in branches of their own, whose commits
//! name sessions, too: a commit counts only if it is about the files of the session, or of the default branch.

use crate::analysis::shipped::history::{Commit, History, are_of_one_file};
use crate::analysis::shipped::session::Session;

/// The commits that name a session.
pub(in crate::analysis::shipped) fn commits(session: &Session, history: &History) -> Vec<usize> {
    let is_of_session = |commit: &Commit| {
        let mut changed = commit.files.iter().flat_map(|file| session.changes.iter().map(move |change| (file, change)));
        changed.any(|(file, change)| are_of_one_file(&change.path, &file.path))
    };
    let is_of_default = |commit: &Commit| {
        let is_on_default = |index: usize| history.commits.get(index).is_some_and(|it| it.on_default == Some(true));
        let mut files = commit.files.iter();
        commit.on_default == Some(true)
            || commit.files.is_empty()
            || files.any(|file| history.of_file(commit.repository, &file.path).any(|(index, _)| is_on_default(index)))
    };
    let counts = |index: &usize| history.commits.get(*index).is_some_and(|it| is_of_session(it) || is_of_default(it));
    history.of_session(&session.id).iter().copied().filter(counts).collect()
}
