//! Finds the session whose requests a proxy counted. The proxy knows neither the session nor the agent.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use foldhash::HashMap;

use super::conversions::{are_apart, logs_without_conversions};
use crate::ledger::part::{SessionKey, SessionPart, Sessions};
use crate::ledger::views::{View, view};
use crate::model::session::EventKind;

/// Whether all parts of a session are counts of a proxy.
fn are_proxied(parts: &[SessionPart]) -> bool {
    parts.iter().all(|part| view(part) == View::Proxied)
}

/// A session with its key.
type Entry<'s> = (&'s SessionKey, &'s Vec<SessionPart>);

/// The counts of proxies, and the other sessions, if there are both.
fn divide(sessions: &Sessions) -> Option<(Vec<Entry<'_>>, Vec<Entry<'_>>)> {
    if !sessions.values().any(|parts| are_proxied(parts)) {
        return None;
    }
    let (proxied, others): (Vec<_>, Vec<_>) = sessions.iter().partition(|(_, parts)| are_proxied(parts));
    (!others.is_empty()).then_some((proxied, others))
}

/// Counts of a proxy, each with the session that sent the requests: the only one of the same run at the same time that no other
/// session started, else one with the same counts.
pub(super) fn proxied_with_their_session(sessions: &Sessions) -> Vec<(SessionKey, SessionKey)> {
    let Some((proxied, others)) = divide(sessions) else { return Vec::new() };
    let (by_run, logs) = (by_run(&others), LazyCell::new(|| logs_without_conversions(&others)));
    let find = |(key, parts): Entry<'_>| {
        let found = match roots_of_run(parts, &by_run).as_slice() {
            [] => parts.iter().find_map(|part| logs.of_same_tokens(&part.session)),
            [root] => Some(*root),
            [_, _, ..] => None,
        };
        Some((key.clone(), found?.clone()))
    };
    proxied.into_iter().filter_map(find).collect()
}

/// Removes counts of a proxy that belong to several sessions of one run, if one of these has counts of its own.
pub(in crate::ledger) fn defer_to_sessions_of_run(sessions: &mut Sessions) {
    let Some((proxied, others)) = divide(sessions) else { return };
    let has_counts = |key: &SessionKey| sessions.get(key).into_iter().flatten().any(|part| part.session.has_tokens());
    let by_run = by_run(&others);
    let is_counted = |parts: &Vec<SessionPart>| {
        let roots = roots_of_run(parts, &by_run);
        roots.len() > 1 && roots.into_iter().any(has_counts)
    };
    let counted = proxied.into_iter().filter(|(_, parts)| is_counted(parts)).map(|(key, _)| key.clone());
    for key in counted.collect::<Vec<_>>() {
        sessions.remove(&key);
    }
}

/// The sessions by the runs that their logs name.
type Runs<'s> = HashMap<&'s str, Vec<Entry<'s>>>;

fn by_run<'s>(others: &[Entry<'s>]) -> Runs<'s> {
    let mut runs = Runs::default();
    for &(key, parts) in others {
        let names: BTreeSet<&str> = parts.iter().filter_map(|part| part.session.trial.as_deref()).collect();
        for run in names {
            runs.entry(run).or_default().push((key, parts));
        }
    }
    runs
}

/// The sessions of the same run at the same time that no other session started.
fn roots_of_run<'s>(proxied: &[SessionPart], by_run: &Runs<'s>) -> Vec<&'s SessionKey> {
    let runs: BTreeSet<&str> = proxied.iter().filter_map(|part| part.session.trial.as_deref()).collect();
    let is_of_run = |part: &SessionPart| {
        let is_same_run = part.session.trial.as_deref().is_some_and(|run| runs.contains(run));
        is_same_run && proxied.iter().any(|it| !are_apart(&it.session, &part.session))
    };
    let candidates = runs.iter().filter_map(|run| by_run.get(run)).flatten().copied();
    let of_run: BTreeMap<&SessionKey, &Vec<SessionPart>> =
        candidates.filter(|(_, parts)| parts.iter().any(is_of_run)).collect();
    let events = of_run.values().flat_map(|parts| parts.iter()).flat_map(|part| &part.session.events);
    let children: BTreeSet<&str> =
        events.filter(|event| event.kind == EventKind::Subagent).filter_map(|event| event.code.as_deref()).collect();
    let is_root = |key: &SessionKey, parts: &[SessionPart]| {
        !children.contains(key.1.as_str()) && parts.iter().all(|part| part.session.parent_session_id.is_none())
    };
    of_run.iter().filter(|(key, parts)| is_root(key, parts)).map(|(key, _)| *key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::time::Time;
    use crate::ledger::part::key_of;
    use crate::model::session::{Capabilities, Identity, SessionResult, Tokens, Turn};

    fn part(runtime: &'static str, id: &str, capabilities: Capabilities, minute: i64) -> SessionPart {
        let time = Some(Time::from_micros(1_790_000_000_000_000 + minute * 60_000_000));
        let tokens = Tokens { input: Some(minute), output: Some(1), ..Tokens::UNKNOWN };
        let turn = Turn { identity: Identity::Unique, tokens: tokens.into(), ..Turn::default() };
        let session = SessionResult {
            session_id: id.to_owned(),
            runtime: runtime.into(),
            capabilities,
            started_at: time,
            ended_at: time,
            trial: Some("run".to_owned()),
            turns: [Box::new(turn)].into_iter().collect(),
            ..SessionResult::default()
        };
        SessionPart::new(0, session)
    }

    fn sessions(parts: impl IntoIterator<Item = SessionPart>) -> Sessions {
        parts.into_iter().map(|part| (key_of(&part.session), vec![part])).collect()
    }

    #[test]
    fn counts_belong_to_the_only_session_of_their_run() {
        let proxy = || part("proxy", "m", Capabilities::PROXIED, 1);
        let agent = |id: &str, minute: i64| part("agent", id, Capabilities::KEPT_BY_RUNTIME, minute);
        let child = || {
            let mut child = agent("c", 1);
            child.session.parent_session_id = Some("a".to_owned());
            child
        };
        let found = |parts: Vec<SessionPart>| {
            let mut sessions = sessions(parts);
            let joined: Vec<String> = proxied_with_their_session(&sessions).into_iter().map(|(_, to)| to.1).collect();
            defer_to_sessions_of_run(&mut sessions);
            (joined, sessions.len())
        };
        assert_eq!(found(vec![proxy(), agent("a", 1), child()]), (vec!["a".to_owned()], 3));
        // Another time: the agent of another step of the run.
        assert_eq!(found(vec![proxy(), agent("a", 5)]), (Vec::new(), 2));
        // Several sessions have all of these counts.
        assert_eq!(found(vec![proxy(), agent("a", 1), agent("b", 1)]), (Vec::new(), 2));
    }
}
