//! Results of calls that only a copy of the history contains: what the user answers to a question may begin another session, whose
//! copy of the history has the answer, while the call belongs to the session before.

use foldhash::{HashMap, HashMapExt as _, HashSet};

use super::election::Owner;
use super::transfer::OwnedCall;
use crate::ledger::part::{SessionPart, Sessions};
use crate::model::session::{CallStatus, Event, EventKind, FileChange, ToolCall};

/// A call with its result, as a copy of the history shows it.
struct Outcome {
    call: Box<ToolCall>,
    changes: Vec<FileChange>,
    denials: Vec<Event>,
}

/// A call of a session, by the number of the session.
type CallOfSession = (usize, OwnedCall);

fn name_of(call: &ToolCall) -> OwnedCall {
    (call.call_id.clone(), call.args_hash.get())
}

/// Gives the calls of the sessions that own shared responses the results that only other sessions contain. `foreign_owner` is the
/// session that owns a turn, by the number of its session, of the part and of the turn, if it is another one.
pub(super) fn add_results_of_copies(
    sessions: &mut Sessions,
    owners: &HashSet<usize>,
    foreign_owner: impl Fn(usize, usize, usize) -> Option<Owner>,
) {
    let open = open_calls(sessions, owners);
    if open.is_empty() {
        return;
    }
    let mut outcomes: HashMap<CallOfSession, Outcome> = HashMap::new();
    for (session, parts) in sessions.values().enumerate() {
        for (number, part) in parts.iter().enumerate() {
            for (index, call) in part.session.tool_calls.iter().enumerate() {
                let owner = call.turn.and_then(|turn| foreign_owner(session, number, turn));
                let Some(owner) = owner.filter(|_| call.status != CallStatus::Incomplete) else { continue };
                let name = (owner.session, name_of(call));
                // Several copies can have results of their own: the first one counts.
                let is_later =
                    |known: &Outcome| (known.call.ended_at, known.call.status) <= (call.ended_at, call.status);
                if open.contains(&name) && !outcomes.get(&name).is_some_and(is_later) {
                    outcomes.insert(name, outcome(part, index));
                }
            }
        }
    }
    for (session, parts) in sessions.values_mut().enumerate() {
        for part in parts.iter_mut().filter(|_| owners.contains(&session)) {
            for index in 0..part.session.tool_calls.len() {
                let name = (session, name_of(&part.session.tool_calls[index]));
                if let Some(outcome) = outcomes.get_mut(&name) {
                    apply(part, index, outcome);
                }
            }
        }
    }
}

/// The calls of owners that have no result in any of their files.
fn open_calls(sessions: &Sessions, owners: &HashSet<usize>) -> HashSet<CallOfSession> {
    let is_owner = |(session, _): &(usize, _)| owners.contains(session);
    let names = |is_open: bool| {
        let sessions = sessions.values().enumerate().filter(is_owner);
        sessions.flat_map(move |(session, parts)| {
            let calls = parts.iter().flat_map(|part| &part.session.tool_calls);
            let calls = calls.filter(move |call| (call.status == CallStatus::Incomplete) == is_open);
            calls.map(move |call| (session, name_of(call)))
        })
    };
    let mut open: HashSet<CallOfSession> = names(true).collect();
    if !open.is_empty() {
        names(false).for_each(|name| {
            open.remove(&name);
        });
    }
    open
}

fn outcome(part: &SessionPart, index: usize) -> Outcome {
    let session = &part.session;
    let call = session.tool_calls[index].clone();
    let changes = session.file_changes.iter().filter(|change| change.call == Some(index)).cloned().collect();
    let is_denial =
        |event: &&Event| event.kind == EventKind::PermissionDenial && event.call_id.as_ref() == Some(&call.call_id);
    let denials = session.events.iter().filter(is_denial).cloned().collect();
    Outcome { call, changes, denials }
}

/// Gives a call its result. Its denial is added once, also if several files contain the call.
fn apply(part: &mut SessionPart, index: usize, outcome: &mut Outcome) {
    let session = &mut part.session;
    let call = &mut session.tool_calls[index];
    if call.status != CallStatus::Incomplete {
        return;
    }
    let own = (call.line, call.turn, call.message_id.clone(), call.agent.clone(), call.is_subagent);
    call.clone_from(&outcome.call);
    (call.line, call.turn, call.message_id, call.agent, call.is_subagent) = own;
    let (line, turn) = (call.line, call.turn);
    // A call that failed changed nothing, and only a result contains all lines.
    session.file_changes.retain(|change| change.call != Some(index));
    let own_change = |change: &FileChange| FileChange { call: Some(index), line, ..change.clone() };
    session.file_changes.extend(outcome.changes.iter().map(own_change));
    session.events.extend(outcome.denials.drain(..).map(|event| Event { line, turn: event.turn.and(turn), ..event }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::SessionResult;

    fn part(source: usize, status: CallStatus, with_change: bool) -> SessionPart {
        let call = ToolCall { call_id: "c".into(), turn: Some(0), status, line: 7, ..ToolCall::default() };
        let change = FileChange { call: Some(0), path: "a".into(), ..FileChange::default() };
        let denial =
            Event { kind: EventKind::PermissionDenial, call_id: Some("c".into()), line: 9, ..Event::default() };
        let session = SessionResult {
            tool_calls: vec![Box::new(call)].into(),
            file_changes: if with_change { vec![change].into() } else { Vec::new().into() },
            events: if status == CallStatus::Denied { vec![denial].into() } else { Vec::new().into() },
            ..SessionResult::default()
        };
        SessionPart::new(source, session)
    }

    #[test]
    fn an_open_call_gets_the_result_of_a_copy() {
        use CallStatus::{Denied, Error, Incomplete, Ok};
        for (own, copy, expected, changes, denials) in [
            (vec![Incomplete], Denied, vec![Denied], 0, 1),
            (vec![Incomplete, Incomplete], Denied, vec![Denied, Denied], 0, 1),
            (vec![Incomplete], Incomplete, vec![Incomplete], 1, 0),
            (vec![Incomplete, Ok], Denied, vec![Incomplete, Ok], 2, 0),
            (vec![Error], Denied, vec![Error], 1, 0),
        ] {
            let own: Vec<_> = own.into_iter().enumerate().map(|(source, it)| part(source, it, true)).collect();
            let mut sessions = Sessions::new();
            sessions.insert(("r".to_owned(), "a".to_owned()), own);
            sessions.insert(("r".to_owned(), "b".to_owned()), vec![part(9, copy, false)]);
            let owner = |session: usize, _, _| (session == 1).then_some(Owner { session: 0, source: 0 });
            add_results_of_copies(&mut sessions, &[0].into_iter().collect(), owner);
            let parts = &sessions[&("r".to_owned(), "a".to_owned())];
            let statuses: Vec<_> = parts.iter().map(|part| part.session.tool_calls[0].status).collect();
            assert_eq!(statuses, expected);
            assert_eq!(parts.iter().map(|part| part.session.file_changes.len()).sum::<usize>(), changes);
            assert_eq!(parts.iter().map(|part| part.session.events.len()).sum::<usize>(), denials);
            assert!(parts.iter().all(|part| part.session.tool_calls[0].line == 7));
        }
    }
}
