//! Finds the session of the output of runs that does not state its id.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use foldhash::{HashMap, HashSet};

use super::conversions::logs_without_conversions;
use super::signature::{global_calls, is_unnamed_run};
use crate::ledger::part::{SessionKey, SessionPart, Sessions};
use crate::model::id_hash::IdHash;
use crate::model::session::SessionResult;

fn are_unnamed_runs(parts: &[SessionPart]) -> bool {
    parts.iter().all(|part| is_unnamed_run(&part.session))
}

/// An output with its messages.
type Run<'s> = (&'s SessionKey, BTreeSet<IdHash>);

/// Outputs whose messages another output has, too: each with the output that has most. They are of one session.
pub(super) fn runs_in_other_runs(sessions: &Sessions) -> Vec<(SessionKey, SessionKey)> {
    let messages = |parts: &[SessionPart]| -> BTreeSet<IdHash> {
        parts.iter().flat_map(|part| &part.session.messages).copied().collect()
    };
    let runs = sessions.iter().filter(|(_, parts)| are_unnamed_runs(parts));
    let runs: Vec<Run<'_>> = runs.map(|(key, parts)| (key, messages(parts))).collect();
    let mut by_message: HashMap<IdHash, Vec<&Run<'_>>> = HashMap::default();
    for run in &runs {
        run.1.iter().for_each(|message| by_message.entry(*message).or_default().push(run));
    }
    let find = |(key, messages): &Run<'_>| {
        let with_each = messages.iter().filter_map(|message| by_message.get(message));
        let candidates = with_each.min_by_key(|runs| runs.len())?;
        let has_all = |(other, all): &&&Run<'_>| other.0 == key.0 && messages.is_subset(all);
        let most = candidates.iter().filter(has_all).max_by_key(|(other, all)| (all.len(), Reverse(*other)))?;
        (most.0 != *key).then(|| ((*key).clone(), most.0.clone()))
    };
    runs.iter().filter_map(find).collect()
}

/// Outputs of runs that do not state the id of their session: each with the session that has their messages or calls, if that is present.
pub(super) fn runs_without_an_id(sessions: &Sessions) -> Vec<(SessionKey, SessionKey)> {
    let (runs, others): (Vec<_>, Vec<_>) = sessions.iter().partition(|(_, parts)| are_unnamed_runs(parts));
    if runs.is_empty() || others.is_empty() {
        return Vec::new();
    }
    let logs = logs_without_conversions(&others);
    let find = |(key, parts): (&SessionKey, &Vec<SessionPart>)| {
        let runs = || parts.iter().map(|part| &part.session);
        let found = runs().find_map(|run| logs.of_same_messages(run));
        let found = found.or_else(|| runs().find_map(|run| logs.of_same_calls(run, sessions)))?;
        let has_work = sessions.get(found).is_some_and(|logs| has_work_of(logs, parts));
        (found.0 == key.0 && has_work).then(|| (key.clone(), found.clone()))
    };
    runs.into_iter().filter_map(find).collect()
}

/// Whether a session has the tokens of runs: it has a message or a call of them as its own, or the sums with the history that it copied.
fn has_work_of(parts: &[SessionPart], runs: &[SessionPart]) -> bool {
    let of_runs = || runs.iter().map(|part| &part.session);
    let stated = |session: &SessionResult| session.totals.iter().filter_map(|total| total.tokens().total()).max();
    let calls: HashSet<&str> = of_runs().flat_map(global_calls).collect();
    let is_shared = |session: &SessionResult| {
        of_runs().any(|run| !run.messages.is_disjoint(&session.messages))
            || global_calls(session).any(|call| calls.contains(call))
    };
    parts.iter().map(|part| &part.session).any(|session| {
        if session.is_copied_history {
            stated(session) >= of_runs().filter_map(stated).max()
        } else {
            is_shared(session)
        }
    })
}
