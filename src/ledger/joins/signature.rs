//! What identifies a log when a conversion of it has another session id: the ids of its calls and the tokens of its
//! first responses.

use foldhash::HashSet;

use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::ledger::views::View;
use crate::model::id_hash::link;
use crate::model::session::{Capabilities, SessionResult};

/// The [links](crate::ledger::links) that a conversion with another session id has in common with its log. A log has
/// few, because there are many logs: the first call of each agent and the tokens of its first responses. A conversion
/// has all its calls, and so have a copied history and the output of a run.
pub(in crate::ledger) fn links(session: &SessionResult) -> Vec<u64> {
    let of_call = |call: &str| link("call", call);
    let mut links: Vec<u64> = match View::of(session) {
        View::Conversion => global_calls(session).map(of_call).collect(),
        _ if session.is_copied_history || is_unnamed_run(session) => global_calls(session).map(of_call).collect(),
        _ => first_calls(session).into_iter().map(of_call).collect(),
    };
    // The first records of a conversion that its converter did not name are in each longer copy of it.
    let first = unnamed_recording(session).and_then(|recording| recording.first());
    links.extend(first.map(|hash| link("beginning", &hash.to_string())));
    links.extend(beginning(&spending(session)).map(|beginning| link("tokens", &format!("{beginning:?}"))));
    links
}

/// Whether it is the output of runs that does not state the id of their session.
pub(super) fn is_unnamed_run(session: &SessionResult) -> bool {
    session.capabilities.has(Capabilities::RUNS_ONLY) && session.session_id.starts_with('~')
}

/// The records of a conversion without an id and without times.
pub(super) fn unnamed_recording(session: &SessionResult) -> Option<&[u64]> {
    let is_unnamed = View::of(session) == View::Conversion && session.session_id.starts_with('~');
    session.recording.as_deref().filter(|_| is_unnamed)
}

/// The first call of each agent with an id that no other session has.
pub(in crate::ledger) fn first_calls(session: &SessionResult) -> Vec<&str> {
    let mut agents: HashSet<Option<&Symbol>> = HashSet::default();
    let mut first = Vec::new();
    for call in &session.tool_calls {
        let agent = call.agent.as_ref();
        if !agents.contains(&agent) && is_global(&call.call_id) {
            agents.insert(agent);
            first.push(&*call.call_id);
        }
    }
    first
}

/// Ids of calls that no other session has.
pub(in crate::ledger) fn global_calls(session: &SessionResult) -> impl Iterator<Item = &str> {
    session.tool_calls.iter().map(|call| &*call.call_id).filter(|id| is_global(id))
}

/// Whether a call id is random or a time, and not a counter: it contains a long word of letters and digits, or a long
/// number.
pub(in crate::ledger) fn is_global(call_id: &str) -> bool {
    const SHORTEST_WORD: usize = 8;
    const SHORTEST_NUMBER: usize = 12;
    call_id.split(|character: char| !character.is_ascii_alphanumeric()).any(|word| {
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        digits >= SHORTEST_NUMBER || digits > 0 && digits < word.len() && word.len() >= SHORTEST_WORD
    })
}

/// The size of the request and of the response.
pub(super) type Spent = (Option<i64>, Option<i64>);

/// The first responses of a session. Fewer may be equal in several sessions with the same prompt.
pub(super) type Beginning = [Spent; 3];

pub(super) fn beginning(spent: &[Spent]) -> Option<Beginning> {
    spent.first_chunk().copied()
}

/// The tokens of the main agent's responses, by time; in a subagent's own log those of the subagent.
pub(super) fn spending(session: &SessionResult) -> Vec<Spent> {
    let of_subagent = session.turns.iter().all(|turn| turn.is_subagent);
    let turns = session.turns.iter().filter(|turn| turn.is_subagent == of_subagent);
    let mut spent: Vec<(Option<Time>, Spent)> = turns
        .map(|turn| (turn.occurred_at, turn.tokens.get()))
        .filter(|(_, tokens)| tokens.total().is_some())
        .map(|(time, tokens)| (time, (tokens.context(), tokens.output)))
        .collect();
    if spent.iter().all(|(time, _)| time.is_some()) {
        spent.sort_by_key(|(time, _)| *time);
    }
    spent.into_iter().map(|(_, spent)| spent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_call_ids_and_times_are_global() {
        for id in ["toolu_01A9bcDeF2", "call_7f3c9a1b", "1791180001000", "a/b:chatcmpl-9xK2m4Qp"] {
            assert!(is_global(id), "{id}");
        }
        for id in ["", "call_1", "tool_call", "item_12345678901", "functions.shell:0", "x"] {
            assert!(!is_global(id), "{id}");
        }
    }
}
