//! The commit names the session, in a trailer of its message or in a note.

use crate::analysis::shipped::history::History;
use crate::analysis::shipped::session::Session;

/// The commits that name a session.
pub(in crate::analysis::shipped) fn commits(session: &Session, history: &History) -> Vec<usize> {
    history.of_session(&session.id).to_vec()
}
