//! Finds the session that a trajectory was converted from, if the conversion has another session id or runtime.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use foldhash::{HashMap, HashSet};

use super::signature::{
    Beginning, Spent, beginning, first_calls, global_calls, is_global, spending, unnamed_recording,
};
use crate::ledger::part::{SessionKey, SessionPart, Sessions};
use crate::ledger::views::{View, view};
use crate::model::id_hash::IdHash;
use crate::model::session::{Capabilities, SessionResult};

/// Whether all parts of a session are conversions.
pub(super) fn are_conversions(parts: &[SessionPart]) -> bool {
    parts.iter().all(|part| view(part) == View::Conversion)
}

/// Conversions whose session id, or runtime, is not that of their session: each with the session that it was converted
/// from, if that is present.
pub(super) fn conversions_with_other_names(sessions: &Sessions) -> Vec<(SessionKey, SessionKey)> {
    let (conversions, others): (Vec<_>, Vec<_>) = sessions.iter().partition(|(_, parts)| are_conversions(parts));
    if conversions.is_empty() || others.is_empty() {
        return Vec::new();
    }
    let logs = logs_without_conversions(&others);
    let find = |(key, parts): (&SessionKey, &Vec<SessionPart>)| {
        let conversions = || parts.iter().map(|part| &part.session);
        let found = conversions()
            .find_map(|conversion| logs.of_same_id(conversion))
            .or_else(|| conversions().find_map(|conversion| logs.of_same_calls(conversion, sessions)))
            .or_else(|| conversions().find_map(|conversion| logs.of_same_tokens(conversion)))
            .or_else(|| conversions().find_map(|conversion| logs.of_same_trial(conversion)));
        Some((key.clone(), found?.clone()))
    };
    conversions.into_iter().filter_map(find).collect()
}

/// Conversions without an id and without times that begin longer ones, as older copies do: each with the longest of these.
pub(super) fn beginnings_of_conversions(sessions: &Sessions) -> Vec<(SessionKey, SessionKey)> {
    let recording = |(key, parts): (_, &'_ Vec<SessionPart>)| {
        let first = parts.iter().find_map(|part| unnamed_recording(&part.session));
        Some((key, first.filter(|_| are_conversions(parts))?.to_vec()))
    };
    let mut recordings: Vec<(&SessionKey, Vec<u64>)> = sessions.iter().filter_map(recording).collect();
    // A recording is next to one that begins with it, if there is one.
    recordings.sort_by(|(a, records), (b, others)| (&a.0, records, &a.1).cmp(&(&b.0, others, &b.1)));
    let mut found = Vec::new();
    let mut longer: Option<(&SessionKey, &[u64])> = None;
    let mut longest: Option<&SessionKey> = None;
    for (key, records) in recordings.iter().rev() {
        let begins = longer.is_some_and(|(other, others)| other.0 == key.0 && others.starts_with(records));
        match longest.filter(|_| begins) {
            Some(longest) => found.push(((*key).clone(), longest.clone())),
            None => longest = Some(*key),
        }
        longer = Some((*key, records));
    }
    found
}

/// The logs of these sessions, without conversions and counts of a proxy.
pub(super) fn logs_without_conversions<'a>(sessions: &[(&'a SessionKey, &'a Vec<SessionPart>)]) -> Logs<'a> {
    let mut logs = Logs::default();
    for (key, parts) in sessions {
        for part in parts.iter().filter(|part| !matches!(view(part), View::Conversion | View::Proxied)) {
            logs.add(key, &part.session);
        }
    }
    logs
}

/// The logs that conversions may be made from. They are found by the same keys as their
/// [links](super::signature::links), so a conversion finds the same log whichever files are reconciled together.
#[derive(Default)]
pub(super) struct Logs<'a> {
    logs: Vec<(&'a SessionKey, &'a SessionResult, Vec<Spent>)>,
    by_id: HashMap<&'a str, Vec<usize>>,
    by_message: HashMap<IdHash, Vec<usize>>,
    by_call: HashMap<&'a str, Vec<usize>>,
    by_beginning: HashMap<Beginning, Vec<usize>>,
    by_trial: HashMap<(&'a str, &'a str), Vec<usize>>,
}

impl<'a> Logs<'a> {
    fn add(&mut self, key: &'a SessionKey, session: &'a SessionResult) {
        let index = self.logs.len();
        let spent = spending(session);
        self.by_id.entry(&key.1).or_default().push(index);
        for message in &session.messages {
            self.by_message.entry(*message).or_default().push(index);
        }
        for call in first_calls(session) {
            self.by_call.entry(call).or_default().push(index);
        }
        if let Some(beginning) = beginning(&spent) {
            self.by_beginning.entry(beginning).or_default().push(index);
        }
        if let Some(trial) = &session.trial {
            self.by_trial.entry((&session.runtime, trial)).or_default().push(index);
        }
        self.logs.push((key, session, spent));
    }

    fn at(
        &self,
        indexes: Option<&Vec<usize>>,
    ) -> impl Iterator<Item = &(&'a SessionKey, &'a SessionResult, Vec<Spent>)> {
        indexes.into_iter().flatten().filter_map(|index| self.logs.get(*index))
    }

    /// A session with the same id at the same time, in any runtime. Short ids may be counters, so they are not
    /// compared.
    fn of_same_id(&self, conversion: &SessionResult) -> Option<&'a SessionKey> {
        const SHORTEST: usize = 16;
        let spent = spending(conversion);
        let is_it = |session: &SessionResult, other: &[Spent]| {
            let has_times = session.started_at.is_some() && conversion.started_at.is_some();
            let same_tokens = !spent.is_empty() && spent.iter().zip(other).all(|(a, b)| a == b);
            !are_apart(session, conversion) && (has_times || same_tokens)
        };
        let id = conversion.session_id.as_str();
        let mut logs = self.at(self.by_id.get(id).filter(|_| id.len() >= SHORTEST));
        logs.find(|(_, session, other)| is_it(session, other)).map(|(key, ..)| *key)
    }

    /// The session with the most of the conversion's messages. A copied history has them, too: it comes last.
    pub(super) fn of_same_messages(&self, conversion: &SessionResult) -> Option<&'a SessionKey> {
        let mut counts: BTreeMap<&SessionKey, (usize, usize)> = BTreeMap::new();
        for message in &conversion.messages {
            for (key, session, _) in self.at(self.by_message.get(message)) {
                let (all, own) = counts.entry(key).or_default();
                *all += 1;
                *own += usize::from(!session.is_copied_history);
            }
        }
        counts.into_iter().max_by_key(|(key, counts)| (*counts, Reverse(*key))).map(|(key, _)| key)
    }

    /// The session with the most calls of the conversion's main agent, and at least four fifths of them. A fork repeats
    /// calls of an earlier session, and the session around a subagent contains the subagent's calls, but both have
    /// others too.
    pub(super) fn of_same_calls(&self, conversion: &SessionResult, sessions: &Sessions) -> Option<&'a SessionKey> {
        let logs = global_calls(conversion).flat_map(|call| self.at(self.by_call.get(call)));
        let logs = logs.filter(|(_, session, _)| !are_apart(session, conversion));
        let candidates: BTreeSet<&SessionKey> = logs.map(|(key, ..)| *key).collect();
        let count_common = |key: &SessionKey| {
            let sessions = || sessions.get(key).into_iter().flatten().map(|part| &part.session);
            let known: HashSet<&str> = sessions().flat_map(global_calls).collect();
            let cut_at = sessions().filter_map(|session| session.ended_at).max();
            let cut_at = cut_at.filter(|_| !sessions().any(|session| session.status.is_end()));
            let calls = conversion.tool_calls.iter().filter(|call| !call.is_subagent && is_global(&call.call_id));
            let calls = calls.filter(|call| cut_at.is_none() || call.occurred_at <= cut_at);
            let (common, others): (Vec<_>, Vec<_>) = calls.partition(|call| known.contains(&*call.call_id));
            (common.len() > 4 * others.len()).then_some(common.len())
        };
        let counts = candidates.into_iter().filter_map(|key| Some((count_common(key)?, Reverse(key))));
        counts.max().map(|(_, Reverse(key))| key)
    }

    /// The session of the same runtime in the same trial: a program that runs trials converts the logs of its agent, and may give the
    /// result a new id, or no id. Several sessions of one trial are those of one agent: the conversion is about the longest of them.
    fn of_same_trial(&self, conversion: &SessionResult) -> Option<&'a SessionKey> {
        let trial = conversion.trial.as_deref().filter(|_| conversion.parent_session_id.is_none())?;
        let logs = self.at(self.by_trial.get(&(&*conversion.runtime, trial)));
        let logs = logs.filter(|(_, session, _)| {
            !session.capabilities.has(Capabilities::EXPORTED) && session.parent_session_id.is_none()
        });
        let length = |session: &SessionResult| session.turns.len() + session.tool_calls.len();
        logs.max_by_key(|(key, session, _)| (length(session), Reverse(*key))).map(|(key, ..)| *key)
    }

    /// A session whose responses have the same sizes in the same order. The conversion must not continue after its end.
    pub(super) fn of_same_tokens(&self, conversion: &SessionResult) -> Option<&'a SessionKey> {
        let spent = spending(conversion);
        let is_it = |session: &SessionResult, other: &[Spent]| {
            let may_be_cut = !session.status.is_end() && session.ended_at.is_some();
            !are_apart(session, conversion)
                && (spent.len() <= other.len() || may_be_cut)
                && spent.iter().zip(other).all(|(a, b)| a == b)
        };
        let mut logs = self.at(self.by_beginning.get(&beginning(&spent)?));
        logs.find(|(_, session, other)| is_it(session, other)).map(|(key, ..)| *key)
    }
}

/// Whether one session ended before the other began.
pub(super) fn are_apart(one: &SessionResult, other: &SessionResult) -> bool {
    let is_before =
        |a: &SessionResult, b: &SessionResult| a.ended_at.zip(b.started_at).is_some_and(|(end, start)| end < start);
    is_before(one, other) || is_before(other, one)
}
