//! What an earlier observation of a file contains and a later one does not: responses that were billed, although the runtime or
//! another program removed them from the file.

use foldhash::HashSet;

use crate::base::time::Time;
use crate::model::session::{Capabilities, Identity, SessionResult, Turn};
use crate::model::total::{Total, TotalKind};

/// The content of an observation, to be searched for that of earlier ones.
pub(super) struct Content<'a> {
    sessions: &'a [SessionResult],
    responses: HashSet<Name<'a>>,
}

/// What a response can be recognised by.
#[derive(PartialEq, Eq, Hash)]
enum Name<'a> {
    /// Its identity, with its session if it is unique within that only.
    Identity(Option<&'a str>, &'a Identity),
    /// The provider's id: the identity of a response that is not complete can have other counts.
    Id(&'a str),
    /// Its session and time, if it has no id.
    Time(&'a str, Option<Time>),
}

impl<'a> Content<'a> {
    pub(super) fn of(sessions: &'a [SessionResult]) -> Self {
        let names = |session: &'a SessionResult| session.turns.iter().flat_map(|turn| names_of(session, turn));
        Self { sessions, responses: sessions.iter().flat_map(names).collect() }
    }

    /// Whether a session was billed for something that is not in this content. Nothing is missing where the log does not show whether it is
    /// the same.
    pub(super) fn lacks_some_of(&self, session: &SessionResult) -> bool {
        if let Some(recording) = &session.recording {
            let mut recordings = self.sessions.iter().filter_map(|session| session.recording.as_ref());
            return !recordings.any(|other| other.starts_with(recording));
        }
        let is_undecided =
            |turn: &Turn| turn.identity == Identity::Unique || turn.message_id.is_none() && turn.occurred_at.is_none();
        if session.turns.iter().any(|turn| is_billed(turn) && is_undecided(turn)) {
            return false;
        }
        let is_missing =
            |turn: &Turn| is_billed(turn) && !names_of(session, turn).iter().any(|name| self.responses.contains(name));
        session.turns.iter().any(|turn| is_missing(turn))
            || session.totals.iter().any(|total| self.lacks_total(session, total))
    }

    /// Whether a total of a run is missing, and no total of the session contains it. Only totals of output that a program captured are
    /// compared: a runtime goes on counting in its own files.
    fn lacks_total(&self, session: &SessionResult, total: &Total) -> bool {
        let is_of_run = matches!(total.kind, TotalKind::Process | TotalKind::Run);
        let of_session = self.sessions.iter().filter(|other| other.session_id == session.session_id);
        let is_same = |other: &Total| other.key == total.key;
        let is_same_run = |other: &Total| total.kind == TotalKind::Run && is_same(other);
        // The next process may have begun its sums at 0.
        let goes_on = |other: &Total| is_same(other) || total.tokens().plus(other.own).fits(other.tokens());
        let contains = |other: &Total| is_same_run(other) || is_at_least(other, total) && goes_on(other);
        is_of_run
            && !session.capabilities.has(Capabilities::KEPT_BY_RUNTIME)
            && !of_session.flat_map(|other| &other.totals).any(contains)
    }
}

fn names_of<'a>(session: &'a SessionResult, turn: &'a Turn) -> [Name<'a>; 2] {
    let is_of_session = matches!(turn.identity, Identity::Session(_));
    let identity = Name::Identity(is_of_session.then_some(session.session_id.as_str()), &turn.identity);
    let other = match &turn.message_id {
        Some(id) => Name::Id(id),
        None => Name::Time(&session.session_id, turn.occurred_at),
    };
    [identity, other]
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
    cost(total) >= cost(other) && other.tokens().fits(total.tokens())
}
