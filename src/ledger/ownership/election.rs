//! Which of the sessions that contain a response owns it: see docs/accounting.md#shared-responses.

use foldhash::{HashMap, HashMapExt as _};

use crate::base::rows::Rows;
use crate::base::time::Time;
use crate::ledger::part::{SessionKey, SessionPart};

/// A session that contains a response.
pub(super) struct Claim {
    pub session: usize,
    /// The first file in which the session contains it.
    pub source: usize,
    /// The earliest time of the response in this session.
    pub time: Option<Time>,
    /// Whether a file that the runtime keeps contains it.
    pub is_kept_by_runtime: bool,
}

impl Claim {
    /// Adds another claim of the same session.
    pub fn join(&mut self, other: &Self) {
        self.time = self.time.into_iter().chain(other.time).min();
        self.is_kept_by_runtime |= other.is_kept_by_runtime;
    }
}

/// What decides between sessions that contain the same response, besides the time of the response.
pub(super) struct Candidate<'a> {
    id: &'a str,
    parent: Option<&'a str>,
    last_record: Option<Time>,
    pub(super) started_at: Option<Time>,
}

impl<'a> Candidate<'a> {
    pub fn of_session((_, id): &'a SessionKey, parts: &'a [SessionPart]) -> Self {
        Self {
            id,
            parent: parts.iter().find_map(|part| part.session.parent_session_id.as_deref()),
            last_record: parts.iter().filter_map(|part| part.session.ended_at).max(),
            started_at: parts.iter().filter_map(|part| part.session.started_at).min(),
        }
    }
}

/// The session that owns a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner {
    pub session: usize,
    /// The first file in which the session contains the response.
    pub source: usize,
}

/// Chooses the owner of a response among the sessions that contain it, in this order: a session whose parent also
/// contains the response comes last; then the earliest time of the response decides, then whether the runtime keeps the
/// file, then the earliest last record, then the earliest start, which decides between logs without times of records,
/// then the key of the session. `candidates` are all sessions, in the order of their keys.
pub(super) fn elect_owner(claims: &[Claim], candidates: &Rows<Candidate<'_>>) -> Option<Owner> {
    let mut claims_by_id: HashMap<&str, usize> = HashMap::new();
    if claims.iter().any(|claim| candidates[claim.session].parent.is_some()) {
        for claim in claims {
            *claims_by_id.entry(candidates[claim.session].id).or_default() += 1;
        }
    }
    let rank = |claim: &Claim| {
        let candidate = &candidates[claim.session];
        let is_child = candidate.parent.is_some_and(|parent| {
            // Sessions of two runtimes may have the same id, so a session of that id may be another session.
            let is_own_id = usize::from(candidate.id == parent);
            claims_by_id.get(parent).is_some_and(|count| *count > is_own_id)
        });
        let earliest = |time: Option<Time>| (time.is_none(), time);
        (
            is_child,
            earliest(claim.time),
            !claim.is_kept_by_runtime,
            earliest(candidate.last_record),
            earliest(candidate.started_at),
            claim.session,
        )
    };
    let claim = claims.iter().min_by_key(|claim| rank(claim))?;
    Some(Owner { session: claim.session, source: claim.source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(session: usize, time: Option<i64>, is_kept_by_runtime: bool) -> Claim {
        Claim { session, source: 10 + session, time: time.map(Time::from_micros), is_kept_by_runtime }
    }

    fn candidate(id: &'static str, parent: Option<&'static str>, last_record: Option<i64>) -> Candidate<'static> {
        Candidate { id, parent, last_record: last_record.map(Time::from_micros), started_at: None }
    }

    fn started(id: &'static str, started_at: Option<i64>) -> Candidate<'static> {
        Candidate { started_at: started_at.map(Time::from_micros), ..candidate(id, None, None) }
    }

    /// Each rule decides where the rules before it do not: the sessions are in the order in which the later rules, and
    /// the order of the keys, would choose the first one.
    #[test]
    fn the_owner_is_elected_by_the_rules_in_their_order() {
        let plain = |id| candidate(id, None, Some(5));
        let cases = [
            (
                "a child defers to its parent",
                [claim(0, Some(1), true), claim(1, Some(2), false)],
                [candidate("a", Some("b"), Some(5)), plain("b")],
                1,
            ),
            (
                "a parent without the response",
                [claim(0, Some(1), true), claim(1, Some(2), true)],
                [candidate("a", Some("elsewhere"), Some(5)), plain("b")],
                0,
            ),
            (
                "its own id as parent",
                [claim(0, Some(1), true), claim(1, Some(2), true)],
                [candidate("a", Some("a"), Some(5)), plain("b")],
                0,
            ),
            (
                "a session of the same id in another runtime",
                [claim(0, Some(1), true), claim(1, Some(2), true)],
                [candidate("a", Some("a"), Some(5)), plain("a")],
                1,
            ),
            ("the earliest time", [claim(0, Some(2), true), claim(1, Some(1), false)], [plain("a"), plain("b")], 1),
            ("no time", [claim(0, None, true), claim(1, Some(1), false)], [plain("a"), plain("b")], 1),
            ("the runtime's file", [claim(0, Some(1), false), claim(1, Some(1), true)], [plain("a"), plain("b")], 1),
            (
                "the earliest last record",
                [claim(0, Some(1), true), claim(1, Some(1), true)],
                [candidate("a", None, Some(6)), plain("b")],
                1,
            ),
            (
                "no last record",
                [claim(0, Some(1), true), claim(1, Some(1), true)],
                [candidate("a", None, None), plain("b")],
                1,
            ),
            (
                "the earliest start",
                [claim(0, None, true), claim(1, None, true)],
                [started("a", Some(6)), started("b", Some(5))],
                1,
            ),
            ("no start", [claim(0, None, true), claim(1, None, true)], [started("a", None), started("b", Some(5))], 1),
            ("the key", [claim(0, Some(1), true), claim(1, Some(1), true)], [plain("a"), plain("b")], 0),
        ];
        for (rule, claims, candidates, session) in cases {
            let owner = elect_owner(&claims, &candidates.into_iter().collect());
            assert_eq!(owner, Some(Owner { session, source: 10 + session }), "{rule}");
        }
        assert_eq!(elect_owner(&[], &Rows::default()), None);
    }
}
