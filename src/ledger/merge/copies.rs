//! Which rows of a session are copies of rows that an earlier part contained.

use foldhash::{HashMap, HashSet, HashSetExt as _};

use super::calls::{CallIds, KnownCalls};
use crate::base::rows::Rows;
use crate::base::text::{SharedStr, Symbol};
use crate::base::time::Time;
use crate::ledger::event_id::EventId;
use crate::ledger::merge::limits::LimitId;
use crate::ledger::part::SessionPart;
use crate::model::session::{Event, Identity, Limit, Tokens, ToolCall, Turn};

/// Whether rows of a part can be copies of rows of the other parts of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartKind {
    /// The session has no other part.
    Only,
    /// One of several, a recording. Copied recordings were removed as a whole: its calls, and its turns without an identity, are new.
    Recording,
    /// One of several. It can repeat any row of another part.
    Log,
}

impl PartKind {
    pub(super) fn of(part: &SessionPart, part_count: usize) -> Self {
        match part_count {
            1 => Self::Only,
            _ if part.session.recording.is_some() => Self::Recording,
            _ => Self::Log,
        }
    }
}

/// The rows of a session so far, by their identities.
#[derive(Default)]
pub(super) struct KnownRows {
    turns: HashMap<Identity, usize>,
    unnamed_turns: HashMap<UnnamedTurn, usize>,
    occurrences: HashMap<(usize, UnnamedTurn), usize>,
    calls: KnownCalls,
    /// Calls with the files that they changed.
    changes: HashSet<(usize, SharedStr)>,
    events: HashSet<EventId>,
    limits: HashSet<LimitId>,
}

impl KnownRows {
    /// The index of a turn, which is `next` if the turn is new.
    pub fn turn(&mut self, source: usize, turn: &Turn, kind: PartKind, next: usize) -> usize {
        match &turn.identity {
            Identity::Unique if kind != PartKind::Log => next,
            Identity::Unique => {
                let name = self.name_unnamed(source, turn);
                *self.unnamed_turns.entry(name).or_insert(next)
            }
            named => *self.turns.entry(named.clone()).or_insert(next),
        }
    }

    fn name_unnamed(&mut self, source: usize, turn: &Turn) -> UnnamedTurn {
        let mut name = UnnamedTurn {
            occurred_at: turn.occurred_at,
            model: turn.model.clone(),
            agent_id: turn.agent_id.clone(),
            tokens: turn.tokens.get(),
            occurrence: 0,
        };
        let count = self.occurrences.entry((source, name.clone())).or_default();
        *count += 1;
        name.occurrence = *count;
        name
    }

    /// The index of a call, which is `next` if the call is new. Its turn is that of the merged session.
    pub fn call(&mut self, ids: &mut CallIds, call: &ToolCall, next: usize) -> usize {
        self.calls.index(ids, call, next)
    }

    /// Whether no earlier part contained the change. A change without a call is never a copy.
    pub fn is_new_change(&mut self, call: Option<usize>, path: &SharedStr) -> bool {
        call.is_none_or(|call| self.changes.insert((call, path.clone())))
    }

    /// Whether no earlier part contained the event.
    pub fn is_new_event(&mut self, event: &Event) -> bool {
        EventId::of(event).is_none_or(|id| self.events.insert(id))
    }

    /// Whether no earlier part contained the state of a limit.
    pub fn is_new_limit(&mut self, limit: &Limit) -> bool {
        LimitId::of(limit).is_none_or(|id| self.limits.insert(id))
    }
}

/// What identifies a response without an identity: equal ones in two files are copies, while equal ones in the same
/// file are different responses. See docs/accounting.md#responses-without-an-id.
#[derive(Clone, PartialEq, Eq, Hash)]
struct UnnamedTurn {
    occurred_at: Option<Time>,
    model: Option<Symbol>,
    agent_id: Option<Symbol>,
    tokens: Tokens,
    /// The ordinal of the response among equal ones of its file.
    occurrence: usize,
}

/// Whether no two turns of one file are copies of each other. Turns without an identity are never copies within one
/// file.
pub(super) fn are_distinct(turns: &Rows<Box<Turn>>) -> bool {
    let mut identities = HashSet::with_capacity(turns.len());
    let mut named = turns.iter().map(|turn| &turn.identity).filter(|identity| **identity != Identity::Unique);
    named.all(|identity| identities.insert(identity))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_responses_without_an_id_are_copies_in_other_files_only() {
        let turn = |time| Turn { occurred_at: Some(Time::from_micros(time)), ..Turn::default() };
        let mut known = KnownRows::default();
        let mut indexes = Vec::new();
        let mut next = 0;
        for (source, time) in [(0, 1), (0, 1), (0, 2), (1, 1), (1, 1), (1, 1), (1, 2)] {
            let index = known.turn(source, &turn(time), PartKind::Log, next);
            next += usize::from(index == next);
            indexes.push(index);
        }
        assert_eq!(indexes, [0, 1, 2, 0, 1, 3, 2]);
        assert_eq!(known.turn(2, &turn(1), PartKind::Recording, next), next);
    }
}
