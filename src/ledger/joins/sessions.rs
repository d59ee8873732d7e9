//! Joins sessions that are one session under different names.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::mem;

use foldhash::{HashMap, HashMapExt as _, HashSet};

use super::conversions::{are_conversions, beginnings_of_conversions, conversions_with_other_names};
use super::proxied::proxied_with_their_session;
use super::runs::{runs_in_other_runs, runs_without_an_id};
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::ledger::part::{SessionKey, SessionPart, Sessions, facts_only};
use crate::ledger::views::{View, view};
use crate::model::session::{Identity, SessionResult};

/// Joins sessions that are one session under different names. Returns the new key of each session that was joined to
/// another one.
pub(in crate::ledger) fn join_sessions(sessions: &mut Sessions) -> HashMap<SessionKey, SessionKey> {
    let mut renamed = HashMap::new();
    for find in [
        cut_before_their_id,
        copies_of_other_runtimes,
        runs_in_other_runs,
        runs_without_an_id,
        beginnings_of_conversions,
        conversions_with_other_names,
        proxied_with_their_session,
    ] {
        for (from, to) in find(sessions) {
            let Some(mut parts) = sessions.remove(&from) else { continue };
            let joined = sessions.entry(to.clone()).or_default();
            for part in &mut parts {
                part.session.runtime = Cow::Owned(to.0.clone());
                part.session.session_id.clone_from(&to.1);
                defer_to_longer_log(part, joined);
            }
            joined.append(&mut parts);
            joined.sort_by_key(|part| part.source);
            renamed.insert(from, to);
        }
    }
    renamed
}

/// Removes the rows of a log in the format of another runtime if none of its responses can be matched: it is the
/// beginning of a longer log, which contains all of them.
fn defer_to_longer_log(part: &mut SessionPart, joined: &[SessionPart]) {
    let Some(longest) = joined.iter().max_by_key(|part| part.row_count()) else { return };
    if matches!(view(part), View::Conversion | View::Proxied | View::Summary)
        // The log of a subagent is not a beginning of that of its session.
        || is_of_subagents(&part.session)
        || Records::of(joined).have_responses(&part.session)
    {
        return;
    }
    part.session = facts_only(mem::take(&mut part.session));
    part.transferred_to = Some(longest.source);
}

/// Logs that were cut before the record that states the id of their session, each with the session of a complete log that has a record
/// in common with it: the name of a file may give its id to several recordings. So are logs of subagents that the session names.
fn cut_before_their_id(sessions: &Sessions) -> Vec<(SessionKey, SessionKey)> {
    let mut cut = Vec::new();
    for (key, parts) in sessions {
        for id in parts.iter().filter_map(|part| part.session.id_if_cut.as_ref()) {
            let of_copy = (key.0.clone(), id.clone());
            let copies = sessions.get(&of_copy).filter(|_| of_copy != *key);
            if copies.is_some_and(|copies| Records::of(parts).have_any_of(copies) || are_of_subagents(copies, parts)) {
                cut.push((of_copy, key.clone()));
            }
        }
    }
    cut
}

/// Whether all responses of some logs are those of subagents that the session of `parts` names.
fn are_of_subagents(logs: &[SessionPart], parts: &[SessionPart]) -> bool {
    let is_named = |agent: &Symbol| parts.iter().any(|part| part.session.subagents.contains(agent));
    logs.iter().all(|log| is_of_subagents(&log.session))
        && logs.iter().flat_map(|log| &log.session.turns).all(|turn| turn.agent_id.as_ref().is_some_and(is_named))
}

/// Whether a log has responses, all of subagents.
fn is_of_subagents(session: &SessionResult) -> bool {
    !session.turns.is_empty() && session.turns.iter().all(|turn| turn.is_subagent)
}

/// Logs that were recognised as the format of another runtime, because they are only the beginning of a log. A longer
/// log with the same session id and a record in common determines the runtime. Returns the old and the new key.
fn copies_of_other_runtimes(sessions: &Sessions) -> Vec<(SessionKey, SessionKey)> {
    let mut by_id: BTreeMap<&str, Vec<&SessionKey>> = BTreeMap::new();
    for (key, parts) in sessions {
        // A program that runs another agent may give its own session that agent's id.
        let is_outer = parts.iter().any(|part| part.session.provider_session_id.as_ref() == Some(&key.1));
        if !is_outer && !are_conversions(parts) {
            by_id.entry(&key.1).or_default().push(key);
        }
    }
    let rows = |key: &SessionKey| sessions.get(key).into_iter().flatten().map(SessionPart::row_count).max();
    let mut copies = Vec::new();
    for keys in by_id.into_values().filter(|keys| keys.len() > 1) {
        let Some(longest) = keys.iter().copied().max_by_key(|key| (rows(key), Reverse(*key))) else { continue };
        let records = Records::of(sessions.get(longest).map_or(&[], Vec::as_slice));
        let is_copy =
            |key: &&SessionKey| *key != longest && sessions.get(*key).is_some_and(|parts| records.have_any_of(parts));
        copies.extend(keys.iter().copied().filter(is_copy).map(|key| (key.clone(), longest.clone())));
    }
    copies
}

/// The identities of records, to find another log that has the same ones.
struct Records<'a> {
    responses: HashSet<&'a Identity>,
    calls: HashSet<&'a str>,
    starts: HashSet<Time>,
}

impl<'a> Records<'a> {
    fn of(parts: &'a [SessionPart]) -> Self {
        let sessions = || parts.iter().map(|part| &part.session);
        let identities = sessions().flat_map(|session| &session.turns).map(|turn| &turn.identity);
        Self {
            responses: identities.filter(|identity| **identity != Identity::Unique).collect(),
            calls: sessions().flat_map(|session| &session.tool_calls).map(|call| &*call.call_id).collect(),
            starts: sessions().filter_map(|session| session.started_at).collect(),
        }
    }

    fn have_responses(&self, session: &SessionResult) -> bool {
        session.turns.iter().any(|turn| self.responses.contains(&turn.identity))
    }

    fn have_any_of(&self, parts: &[SessionPart]) -> bool {
        parts.iter().map(|part| &part.session).any(|session| {
            self.have_responses(session)
                || session.tool_calls.iter().any(|call| self.calls.contains(&*call.call_id))
                || session.started_at.is_some_and(|start| self.starts.contains(&start))
        })
    }
}
