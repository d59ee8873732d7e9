//! What an earlier observation of a file contains and a later one does not: responses that were billed, although the runtime or
//! another program removed them from the file.

use foldhash::HashSet;

use crate::model::session::{Capabilities, Identity, SessionResult, Turn};
use crate::model::total::{Total, TotalKind};

/// The content of an observation, to be searched for that of earlier ones.
pub(super) struct Content<'a> {
    sessions: &'a [SessionResult],
    responses: HashSet<Response<'a>>,
}

/// A response, with its session if its identity is unique within that only.
type Response<'a> = (Option<&'a str>, &'a Identity);

impl<'a> Content<'a> {
    pub(super) fn of(sessions: &'a [SessionResult]) -> Self {
        let responses = sessions.iter().flat_map(|session| session.turns.iter().map(|turn| response(session, turn)));
        Self { sessions, responses: responses.collect() }
    }

    /// Whether a session was billed for something that is not in this content. What an identity does not distinguish from a part of this
    /// content does not count.
    pub(super) fn lacks_some_of(&self, session: &SessionResult) -> bool {
        if let Some(recording) = &session.recording {
            let mut recordings = self.sessions.iter().filter_map(|session| session.recording.as_ref());
            return !recordings.any(|other| other.starts_with(recording));
        }
        if session.turns.iter().any(|turn| turn.identity == Identity::Unique && is_billed(turn)) {
            return false;
        }
        session.turns.iter().any(|turn| is_billed(turn) && !self.responses.contains(&response(session, turn)))
            || session.totals.iter().any(|total| self.lacks_total(session, total))
    }

    /// Whether a total of a run is missing, and no total of the session contains it. Only totals of output that a program captured are
    /// compared: a runtime goes on counting in its own files.
    fn lacks_total(&self, session: &SessionResult, total: &Total) -> bool {
        let is_of_run = matches!(total.kind, TotalKind::Process | TotalKind::Run);
        let of_session = self.sessions.iter().filter(|other| other.session_id == session.session_id);
        let is_same = |other: &Total| total.kind == TotalKind::Run && other.key == total.key;
        let contains = |other: &Total| is_same(other) || is_at_least(other, total);
        is_of_run
            && !session.capabilities.has(Capabilities::KEPT_BY_RUNTIME)
            && !of_session.flat_map(|other| &other.totals).any(contains)
    }
}

fn response<'a>(session: &'a SessionResult, turn: &'a Turn) -> Response<'a> {
    let is_of_session = matches!(turn.identity, Identity::Session(_));
    (is_of_session.then_some(session.session_id.as_str()), &turn.identity)
}

/// Whether a response has tokens or a cost.
fn is_billed(turn: &Turn) -> bool {
    turn.cost.as_ref().is_some_and(|cost| cost.total > 0.0) || turn.tokens.get().total().is_some_and(|total| total > 0)
}

/// Whether no count of a total is smaller than that of another one.
fn is_at_least(total: &Total, other: &Total) -> bool {
    let cost = |total: &Total| {
        let of_models: f64 = total.models.iter().filter_map(|model| model.cost).sum();
        total.cost.unwrap_or(of_models)
    };
    let counts = |total: &Total| total.tokens().kinds().map(|count| count.unwrap_or(0));
    cost(total) >= cost(other) && counts(total).iter().zip(counts(other)).all(|(count, other)| *count >= other)
}
