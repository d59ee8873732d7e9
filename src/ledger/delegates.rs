//! Turns that another program ran, whose log bills them: see docs/accounting.md#programs-that-run-another-agent.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::{HashMap, HashSet};

use super::part::{SessionKey, SessionPart, Sessions};
use super::renumber::NewIndexes;
use crate::base::text::Symbol;
use crate::base::time::{SECOND_MICROS, Time};
use crate::model::session::SessionResult;

/// By session: the sessions of other programs that ran turns of it, each with the provider that those turns name.
pub(super) type Delegates = BTreeMap<SessionKey, Vec<(Symbol, String)>>;

/// Takes the entries of indexes out of the sessions: they have no rows.
pub(super) fn take_delegates(sessions: &mut Sessions) -> Delegates {
    let mut delegates = Delegates::new();
    for (key, parts) in sessions.iter_mut() {
        parts.retain_mut(|part| {
            let named = std::mem::take(&mut part.session.delegates);
            let is_entry = !named.is_empty();
            if is_entry {
                delegates.entry(key.clone()).or_default().extend(named);
            }
            !is_entry
        });
    }
    sessions.retain(|_, parts| !parts.is_empty());
    delegates
}

/// Removes the turns that another program ran, if its own log has their responses.
pub(super) fn defer_to_delegates(sessions: &mut Sessions, delegates: &Delegates) {
    let ids: HashSet<&str> = delegates.values().flatten().map(|(_, id)| id.as_str()).collect();
    if ids.is_empty() {
        return;
    }
    let mut by_id: HashMap<&str, Vec<SessionKey>> = HashMap::default();
    for key in sessions.keys() {
        if let Some(id) = ids.get(key.1.as_str()) {
            by_id.entry(*id).or_default().push(key.clone());
        }
    }
    for (key, named) in delegates {
        let keys = |id: &str| by_id.get(id).map_or(&[][..], Vec::as_slice);
        let logs: Vec<(&Symbol, Responses)> = named
            .iter()
            .map(|(provider, id)| (provider, Responses::of(sessions, key, keys(id), Vec::new())))
            .filter(|(_, responses)| !responses.is_empty())
            .collect();
        let Some(parts) = sessions.get_mut(key).filter(|_| !logs.is_empty()) else { continue };
        for (provider, responses) in &logs {
            remove_covered(parts, provider, responses);
        }
    }
}

/// The times of the responses with counts of the sessions of an id, besides those of the outer session.
pub(super) struct Responses {
    times: Vec<Option<Time>>,
    /// When the outer session was asked, in order, if that is known.
    asked_at: Vec<Time>,
}

impl Responses {
    pub fn of(sessions: &Sessions, outer: &SessionKey, keys: &[SessionKey], asked_at: Vec<Time>) -> Self {
        let others = keys.iter().filter(|key| *key != outer).filter_map(|key| sessions.get(key));
        let inner = others.flatten().map(|part| &part.session);
        Self { times: inner.flat_map(times_of).collect(), asked_at }
    }

    pub const fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// Whether there is a response to each of the first requests: after it, and before the next one.
    pub fn answer_first(&self, count: usize) -> bool {
        let asked_at = &self.asked_at;
        let mut times: Vec<Time> = self.times.iter().flatten().copied().collect();
        times.sort_unstable();
        let is_answered = |(asked, next): (&Time, Option<&Time>)| {
            let response = times.get(times.partition_point(|time| time < asked));
            response.is_some_and(|response| next.is_none_or(|next| response < next))
        };
        asked_at.iter().zip(asked_at.iter().skip(1).map(Some).chain([None])).take(count).all(is_answered)
    }

    /// The ends of the turns that have one of the responses: of each response the first end that is not before it. `ends` are those of
    /// all turns of the outer session, in order; a turn that ends after the next request is another one. `None` if a response without a time may be in any turn.
    fn ends_of_their_turns(&self, ends: &[Time]) -> Option<BTreeSet<Time>> {
        /// The outer program may have logged its last turn before the inner one logged its last response.
        const TOLERANCE_MS: i64 = 30_000;
        // A program may log times without their fractions of a second.
        let has_fractions = ends.iter().any(|end| end.micros() % SECOND_MICROS != 0);
        let end_of = |time: Time| {
            let time =
                if has_fractions { time } else { Time::from_micros(time.micros() / SECOND_MICROS * SECOND_MICROS) };
            let Some(end) = ends.get(ends.partition_point(|end| *end < time)) else {
                return ends.last().filter(|last| time.since(**last) <= TOLERANCE_MS).copied();
            };
            let next_request = self.asked_at.get(self.asked_at.partition_point(|asked| *asked <= time));
            next_request.is_none_or(|request| end <= request).then_some(*end)
        };
        let times: Option<Vec<Time>> = self.times.iter().copied().collect();
        Some(times?.into_iter().filter_map(end_of).collect())
    }
}

/// The times of the responses with counts; that of a total where there are no responses.
fn times_of(session: &SessionResult) -> Vec<Option<Time>> {
    let turns = session.turns.iter().filter(|turn| turn.tokens.get().total().is_some());
    let times: Vec<Option<Time>> = turns.map(|turn| turn.occurred_at).collect();
    if !times.is_empty() {
        return times;
    }
    session.totals.iter().filter(|total| total.has_tokens()).map(|total| total.occurred_at).collect()
}

/// Removes the turns of that provider that have a response in the inner log. A turn from before the inner session, or from after the
/// end of its log, stays: nothing else has its tokens.
pub(super) fn remove_covered(parts: &mut [SessionPart], provider: &Symbol, responses: &Responses) {
    let turns = parts.iter().flat_map(|part| &part.session.turns);
    let mut ends: Vec<Time> = turns.filter_map(|turn| turn.occurred_at).collect();
    ends.sort_unstable();
    let covered = responses.ends_of_their_turns(&ends);
    let is_covered = |end: Option<Time>| match (&covered, end) {
        (Some(covered), Some(end)) => covered.contains(&end),
        _ => true,
    };
    for part in parts {
        let session = &mut part.session;
        let count = session.turns.len();
        let turns = NewIndexes::after_removal(&mut session.turns, |turn| {
            let is_of_provider = turn.provider.as_ref().is_some_and(|it| it == provider);
            !is_of_provider || !is_covered(turn.occurred_at)
        });
        if session.turns.len() == count {
            continue;
        }
        let calls = NewIndexes::after_removal(&mut session.tool_calls, |call| turns.update(&mut call.turn));
        session.file_changes.retain_mut(|change| calls.update(&mut change.call));
        session.events.iter_mut().for_each(|event| {
            turns.update(&mut event.turn);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::part::key_of;
    use crate::model::session::{Tokens, Turn};

    fn session(runtime: &'static str, id: &str, turns: &[(i64, &str)]) -> SessionResult {
        let turn = |(second, provider): &(i64, &str)| {
            Box::new(Turn {
                occurred_at: Some(Time::from_micros(second * 1_000_000)),
                provider: Some((*provider).into()),
                tokens: Tokens { input: Some(1), ..Tokens::UNKNOWN }.into(),
                ..Turn::default()
            })
        };
        SessionResult {
            runtime: runtime.into(),
            session_id: id.to_owned(),
            turns: turns.iter().map(turn).collect::<Vec<_>>().into(),
            ..SessionResult::default()
        }
    }

    /// The seconds of the outer session's turns that stay.
    fn remaining(outer: &[(i64, &str)], inner: &[(i64, &str)]) -> Vec<i64> {
        let index = SessionResult { delegates: vec![("x-cli".into(), "i".to_owned())], ..session("outer", "o", &[]) };
        let mut sessions = Sessions::new();
        for session in [session("outer", "o", outer), index, session("inner", "i", inner)] {
            sessions.entry(key_of(&session)).or_default().push(SessionPart::new(0, session));
        }
        let delegates = take_delegates(&mut sessions);
        defer_to_delegates(&mut sessions, &delegates);
        let parts = sessions.remove(&("outer".to_owned(), "o".to_owned())).unwrap_or_default();
        assert_eq!(parts.len(), 1);
        let turns = parts.iter().flat_map(|part| &part.session.turns);
        turns.filter_map(|turn| Some(turn.occurred_at?.micros() / 1_000_000)).collect()
    }

    #[test]
    fn turns_whose_responses_the_inner_log_has_are_removed() {
        let outer = [(10, "x-cli"), (20, "other"), (30, "x-cli"), (40, "x-cli")];
        for (inner, expected) in [
            (&[][..], &[10, 20, 30, 40][..]),
            (&[(9, "p"), (29, "p"), (38, "p"), (39, "p")], &[20]),
            // The inner session began after the first turn, and its log is cut before the last one.
            (&[(25, "p")], &[10, 20, 40]),
            (&[(41, "p")], &[10, 20, 30]),
            (&[(99, "p")], &[10, 20, 30, 40]),
        ] {
            assert_eq!(remaining(&outer, inner), expected, "{inner:?}");
        }
    }
}
