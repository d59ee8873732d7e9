//! The copied histories of all sessions, and what other sessions have of them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use foldhash::{HashMap, HashSet};

use super::rows::RowNames;
use crate::base::text::SharedStr;
use crate::ledger::joins::{first_calls, global_calls};
use crate::ledger::part::{SessionKey, SessionPart, Sessions};
use crate::model::id_hash::IdHash;
use crate::model::session::Capabilities;

/// The copied history of a session, in all of its files.
pub(super) struct History {
    pub key: SessionKey,
    /// One of the files.
    pub source: usize,
    pub rows: RowNames,
    pub messages: HashSet<IdHash>,
    calls: HashSet<SharedStr>,
}

impl History {
    /// The histories of all sessions, the longest first.
    pub fn all(sessions: &Sessions) -> Vec<Self> {
        let history = |(key, parts): (&SessionKey, &Vec<SessionPart>)| {
            let copied = || parts.iter().filter(|part| part.session.is_copied_history);
            Some(Self {
                key: key.clone(),
                source: copied().next()?.source,
                rows: RowNames::of(copied()),
                messages: copied().flat_map(|part| &part.session.messages).copied().collect(),
                calls: copied().flat_map(|part| global_calls(&part.session)).map(SharedStr::from).collect(),
            })
        };
        let mut histories: Vec<Self> = sessions.iter().filter_map(history).collect();
        histories.sort_by_key(|history| Reverse(history.messages.len()));
        histories
    }

    /// Whether rows contain all calls of the history that no other session has.
    pub fn has_calls_in(&self, rows: &[&RowNames]) -> bool {
        self.calls.iter().all(|call| rows.iter().any(|rows| rows.has_global_call(call)))
    }
}

/// The parts with what a session did itself. The output of a run repeats the history, too, so that it counts only alone.
pub(super) fn own_parts(parts: &[SessionPart]) -> impl Iterator<Item = &SessionPart> {
    let is_run = |part: &SessionPart| part.session.capabilities.has(Capabilities::RUNS_ONLY);
    let are_runs = parts.iter().all(is_run);
    parts.iter().filter(move |part| !part.session.is_copied_history && (are_runs || !is_run(part)))
}

/// Where messages and calls of a history are, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Keeper {
    /// A session that has them as its own, by its index.
    Session(usize),
    /// A longer history, by its index.
    History(usize),
}

/// What other sessions have of one history.
#[derive(Default)]
pub(super) struct Kept {
    /// The keepers of its messages and calls, those of most first.
    pub keepers: Vec<Keeper>,
    /// Whether it has messages that are in no other one.
    pub has_messages: bool,
}

/// The keepers of each history: of each message the first session that has it as its own, else the longest history. Calls are compared
/// by the first one of each agent, which are [links](crate::ledger::joins::links) of a session.
pub(super) fn kept(histories: &[History], sessions: &Sessions) -> Vec<Kept> {
    let messages: HashSet<IdHash> = histories.iter().flat_map(|history| &history.messages).copied().collect();
    let calls: HashSet<&SharedStr> = histories.iter().flat_map(|history| &history.calls).collect();
    let (mut by_message, mut by_call) = (HashMap::<IdHash, Keeper>::default(), HashMap::<SharedStr, Keeper>::default());
    for (index, parts) in sessions.values().enumerate() {
        for part in own_parts(parts) {
            for message in part.session.messages.iter().filter(|message| messages.contains(*message)) {
                by_message.entry(*message).or_insert(Keeper::Session(index));
            }
            for call in first_calls(&part.session).into_iter().map(SharedStr::from).filter(|call| calls.contains(call))
            {
                by_call.entry(call).or_insert(Keeper::Session(index));
            }
        }
    }
    let mut kept = Vec::new();
    for (index, history) in histories.iter().enumerate() {
        let own = Keeper::History(index);
        let mut counts: BTreeMap<Keeper, usize> = BTreeMap::new();
        for message in &history.messages {
            *counts.entry(*by_message.entry(*message).or_insert(own)).or_default() += 1;
        }
        let has_messages = counts.contains_key(&own);
        for call in &history.calls {
            *counts.entry(*by_call.entry(call.clone()).or_insert(own)).or_default() += 1;
        }
        counts.remove(&own);
        let mut keepers: Vec<(Keeper, usize)> = counts.into_iter().collect();
        keepers.sort_by_key(|(keeper, count)| (Reverse(*count), *keeper));
        kept.push(Kept { keepers: keepers.into_iter().map(|(keeper, _)| keeper).collect(), has_messages });
    }
    kept
}
