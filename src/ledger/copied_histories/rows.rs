//! The rows that a copied history has in common with the session that it was copied from.

use foldhash::HashSet;

use crate::base::text::SharedStr;
use crate::base::time::Time;
use crate::ledger::event_id::EventId;
use crate::ledger::joins::is_global;
use crate::ledger::part::SessionPart;
use crate::ledger::renumber::NewIndexes;
use crate::model::session::{Identity, SessionResult, ToolCall};

/// The id of a call, with its time if other sessions may have a call of this id.
type CallName = (SharedStr, Option<Time>);

fn name_of(call: &ToolCall) -> CallName {
    (call.call_id.clone(), call.occurred_at.filter(|_| !is_global(&call.call_id)))
}

/// The names of rows.
#[derive(Default)]
pub(super) struct RowNames {
    prompts: HashSet<Identity>,
    calls: HashSet<CallName>,
    events: HashSet<EventId>,
}

impl RowNames {
    pub fn of<'a>(parts: impl IntoIterator<Item = &'a SessionPart>) -> Self {
        let mut names = Self::default();
        for session in parts.into_iter().map(|part| &part.session) {
            names.prompts.extend(session.prompts.iter().cloned());
            names.calls.extend(session.tool_calls.iter().map(|call| name_of(call)));
            names.events.extend(session.events.iter().filter_map(EventId::of));
        }
        names
    }

    pub fn has_global_call(&self, call: &SharedStr) -> bool {
        self.calls.contains(&(call.clone(), None))
    }
}

/// Removes prompts, calls, changes and events that are among the names.
pub(super) fn remove_rows(session: &mut SessionResult, known: &[&RowNames]) {
    session.prompts.retain(|prompt| !known.iter().any(|names| names.prompts.contains(prompt)));
    let mut removed: HashSet<SharedStr> = HashSet::default();
    let calls = NewIndexes::after_removal(&mut session.tool_calls, |call| {
        let name = name_of(call);
        let is_known = known.iter().any(|names| names.calls.contains(&name));
        if is_known {
            removed.insert(name.0);
        }
        !is_known
    });
    session.file_changes.retain_mut(|change| calls.update(&mut change.call));
    session.events.retain(|event| {
        let is_of_removed = event.call_id.as_ref().is_some_and(|call| removed.contains(call));
        let id = EventId::of(event);
        !is_of_removed && !id.is_some_and(|id| known.iter().any(|names| names.events.contains(&id)))
    });
}

/// Removes prompts and events, which cannot be compared with those of another runtime.
pub(super) fn remove_what_has_no_global_name(session: &mut SessionResult) {
    session.prompts.clear();
    session.events.retain(|event| event.call_id.is_some());
}

/// Sets the start of a session to its first row.
pub(super) fn begin_with_first_row(session: &mut SessionResult) {
    let calls = session.tool_calls.iter().filter_map(|call| call.occurred_at);
    let events = session.events.iter().filter_map(|event| event.occurred_at);
    session.started_at = calls.chain(events).min().or(session.ended_at);
}
