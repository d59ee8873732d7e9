//! Sessions that go on with a log of an earlier version of the runtime, which it kept in another format: see
//! docs/accounting.md#migrated-sessions.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use foldhash::{HashMap, HashMapExt as _};

use super::joins::first_calls;
use super::part::{SessionKey, SessionPart, Sessions};
use crate::base::rows::Rows;
use crate::base::text::SharedStr;
use crate::model::session::{Capabilities, SessionResult};

/// Removes what a session repeats of the earlier log, where that log is present.
pub(super) fn defer_to_earlier_logs(sessions: &mut Sessions) {
    let formats: BTreeMap<SessionKey, Cow<'static, str>> = sessions
        .iter()
        .filter_map(|(key, parts)| {
            Some((key.clone(), parts.iter().find(|part| is_migrated(part))?.session.format.clone()))
        })
        .collect();
    if formats.is_empty() {
        return;
    }
    let by_call = logs_by_first_call(sessions, &formats);
    let find = |(key, format): (SessionKey, Cow<'static, str>)| {
        let of_call = || Earlier::of(sessions.get(by_call.get(&first_migrated_call(&key, sessions)?)?)?, &format);
        let earlier = earlier_of_chain(&key, &format, sessions).or_else(of_call)?;
        Some((key, earlier))
    };
    let found: Vec<(SessionKey, Earlier)> =
        formats.iter().map(|(key, format)| (key.clone(), format.clone())).filter_map(find).collect();
    for (key, earlier) in found {
        let parts = sessions.get_mut(&key).into_iter().flatten();
        parts.filter(|part| is_migrated(part)).for_each(|part| earlier.remove_from(part));
    }
}

fn is_migrated(part: &SessionPart) -> bool {
    part.session.capabilities.has(Capabilities::MIGRATED)
}

/// Files of the earlier log that show turns, prompts and calls.
struct Earlier {
    with_turns: Option<usize>,
    with_prompts: Option<usize>,
    with_calls: Option<usize>,
}

impl Earlier {
    /// The earlier log in the parts of a session, if one of them is. `format` is that of the session that goes on with it.
    fn of(parts: &[SessionPart], format: &str) -> Option<Self> {
        let source_with = |shows: fn(&SessionResult) -> bool| {
            let mut with = parts.iter().filter(|part| is_log_of_other(part, format) && shows(&part.session));
            with.next().map(|part| part.source)
        };
        let earlier = Self {
            with_turns: source_with(SessionResult::has_counted_turns),
            with_prompts: source_with(|session| !session.prompts.is_empty()),
            with_calls: source_with(|session| !session.tool_calls.is_empty()),
        };
        earlier.any().is_some().then_some(earlier)
    }

    fn any(&self) -> Option<usize> {
        self.with_turns.or(self.with_prompts).or(self.with_calls)
    }

    fn remove_from(&self, part: &mut SessionPart) {
        let session = &mut part.session;
        if self.with_turns.is_some() {
            session.totals.clear();
        }
        if self.with_prompts.is_some() {
            session.prompts.clear();
        }
        if self.with_calls.is_some() {
            session.tool_calls = Rows::default();
            session.file_changes = Rows::default();
            session.events = Rows::default();
        }
        part.transferred_to = part.transferred_to.or(self.any());
    }
}

fn is_log_of_other(part: &SessionPart, format: &str) -> bool {
    part.session.capabilities.has(Capabilities::KEPT_BY_RUNTIME) && part.session.format != format
}

/// The earlier log of a session, or of the session of which it is a fork: a fork has the converted messages, too.
fn earlier_of_chain(key: &SessionKey, format: &str, sessions: &Sessions) -> Option<Earlier> {
    let mut passed: BTreeSet<&SessionKey> = BTreeSet::new();
    let (mut key, mut parts) = sessions.get_key_value(key)?;
    loop {
        if let Some(earlier) = Earlier::of(parts, format) {
            return Some(earlier);
        }
        passed.insert(key);
        let parent = parts.iter().find_map(|part| part.session.parent_session_id.clone())?;
        (key, parts) = sessions.get_key_value(&(key.0.clone(), parent)).filter(|(key, _)| !passed.contains(key))?;
    }
}

/// The runtime of a session, and a call with an id that no other session has.
type Call = (String, SharedStr);

/// The sessions that can be earlier logs, by their first calls. Forks that name no parent are found by them.
fn logs_by_first_call(
    sessions: &Sessions,
    formats: &BTreeMap<SessionKey, Cow<'static, str>>,
) -> HashMap<Call, SessionKey> {
    let formats: BTreeSet<&str> = formats.values().map(AsRef::as_ref).collect();
    let mut by_call: HashMap<Call, SessionKey> = HashMap::new();
    for (key, parts) in sessions {
        for part in parts.iter().filter(|part| formats.iter().all(|format| is_log_of_other(part, format))) {
            for call in first_calls(&part.session) {
                by_call.entry((key.0.clone(), call.into())).or_insert_with(|| key.clone());
            }
        }
    }
    by_call
}

/// The first of the calls that a session repeats.
fn first_migrated_call(key: &SessionKey, sessions: &Sessions) -> Option<Call> {
    let mut migrated = sessions.get(key)?.iter().filter(|part| is_migrated(part));
    let call = migrated.find_map(|part| first_calls(&part.session).first().map(|call| SharedStr::from(*call)))?;
    Some((key.0.clone(), call))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::{Identity, ModelTotal, Tokens, ToolCall, Total, TotalKind, Turn};

    fn part(format: &'static str, id: &str, parent: Option<&str>, is_migrated: bool) -> SessionPart {
        let tokens = Tokens { input: Some(1), ..Tokens::UNKNOWN };
        let call = ToolCall { call_id: "call_7f3c9a1b".into(), ..ToolCall::default() };
        let of_log = Total {
            kind: TotalKind::Migrated,
            models: vec![ModelTotal { tokens, ..ModelTotal::default() }],
            ..Total::default()
        };
        let turn = Turn { tokens: tokens.into(), ..Turn::default() };
        let kept = Capabilities::KEPT_BY_RUNTIME;
        let session = SessionResult {
            runtime: "r".into(),
            format: format.into(),
            session_id: id.to_owned(),
            parent_session_id: parent.map(str::to_owned),
            capabilities: if is_migrated { kept.and(Capabilities::MIGRATED) } else { kept },
            totals: if is_migrated { vec![of_log] } else { Vec::new() },
            turns: if is_migrated { Vec::new() } else { vec![Box::new(turn)] }.into(),
            tool_calls: vec![Box::new(call)].into(),
            prompts: [Identity::Global("prompt".into())].into(),
            ..SessionResult::default()
        };
        SessionPart::new(0, session)
    }

    #[test]
    fn a_migrated_session_and_its_forks_have_nothing_of_the_earlier_log() {
        let migrated = |id: &str, parent: Option<&str>| part("new", id, parent, true);
        let other = |id: &str, parent: Option<&str>| {
            let mut other = part("new", id, parent, false);
            other.session.tool_calls = Rows::default();
            other
        };
        let task = || part("old", "t", None, false);
        let without_calls = || {
            let mut task = task();
            task.session.tool_calls = Rows::default();
            task
        };
        for (name, parts, expected) in [
            ("the session of the task", vec![task(), migrated("t", None)], (0, 0, 0)),
            ("a fork", vec![task(), migrated("s", Some("t"))], (0, 0, 0)),
            ("a fork of a fork", vec![task(), other("m", Some("t")), migrated("s", Some("m"))], (0, 0, 0)),
            ("a fork that names no parent", vec![task(), migrated("s", None)], (0, 0, 0)),
            ("a task without calls", vec![without_calls(), migrated("s", Some("t"))], (0, 0, 1)),
            ("no task", vec![migrated("s", Some("t"))], (1, 1, 1)),
            ("a parent that is not migrated", vec![other("m", None), migrated("s", Some("m"))], (1, 1, 1)),
            ("a circle", vec![migrated("a", Some("s")), migrated("s", Some("a"))], (1, 1, 1)),
        ] {
            let mut sessions = Sessions::new();
            for part in parts {
                let key = ("r".to_owned(), part.session.session_id.clone());
                sessions.entry(key).or_default().push(part);
            }
            defer_to_earlier_logs(&mut sessions);
            let migrated = sessions.values().flatten().rfind(|part| is_migrated(part));
            let counts = migrated.map(|part| {
                let session = &part.session;
                (session.totals.len(), session.prompts.len(), session.tool_calls.len())
            });
            assert_eq!(counts, Some(expected), "{name}");
        }
    }
}
