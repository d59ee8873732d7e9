//! The part of a session that one file contains.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use crate::base::rows::Rows;
use crate::model::session::{SessionResult, Status};
use crate::model::source::{Source, SourceStatus};

/// The runtime and the id of a session.
pub(super) type SessionKey = (String, String);

/// The parts of all sessions, each in the order of the files.
pub(super) type Sessions = BTreeMap<SessionKey, Vec<SessionPart>>;

/// What one file contains of one session.
pub(super) struct SessionPart {
    /// Index of the file.
    pub source: usize,
    /// What the file contains, less the rows that were removed.
    pub session: SessionResult,
    /// A file that has the rows which were removed from this part.
    pub transferred_to: Option<usize>,
    /// Whether the part only fills what the other parts leave unknown.
    pub is_supplement: bool,
    /// Whether such a part has rows after the end of the others.
    pub goes_on: bool,
}

impl SessionPart {
    /// What the file `source` contains of a session, with all of its rows.
    pub const fn new(source: usize, session: SessionResult) -> Self {
        Self { source, session, transferred_to: None, is_supplement: false, goes_on: false }
    }

    pub fn row_count(&self) -> usize {
        let Self { session, .. } = self;
        let rows = session.turns.len() + session.tool_calls.len() + session.events.len();
        rows + session.totals.len() + session.prompts.len() + session.answers.len()
    }
}

/// The key of a session.
pub(super) fn key_of(session: &SessionResult) -> SessionKey {
    (session.runtime.to_string(), session.session_id.clone())
}

/// Takes the sessions out of all files. Of a copied file only the facts remain: a file next to it may add to them.
pub(super) fn group_by_session(sources: &mut [Source]) -> Sessions {
    let mut sessions = Sessions::new();
    for (index, source) in sources.iter_mut().enumerate() {
        let is_copy = source.status == SourceStatus::Duplicate;
        let ids: BTreeSet<&str> = source.sessions.iter().map(|session| &*session.session_id).collect();
        source.session_count = ids.len();
        for session in mem::take(&mut source.sessions) {
            let key = key_of(&session);
            let (session, transferred_to) = if is_copy { (facts_only(session), Some(index)) } else { (session, None) };
            let part = SessionPart { transferred_to, ..SessionPart::new(index, session) };
            sessions.entry(key).or_default().push(part);
        }
    }
    sessions
}

/// Where messages and their texts are in different files, the prompts are the messages whose text a human typed.
pub(super) fn resolve_prompts(parts: &mut [SessionPart]) {
    let typed: BTreeSet<String> =
        parts.iter_mut().flat_map(|part| mem::take(&mut part.session.typed_message_ids)).collect();
    for part in parts {
        let candidates = mem::take(&mut part.session.prompt_candidates).into_iter();
        let (prompts, others): (Vec<_>, Vec<_>) = candidates.partition(|(message, _)| typed.contains(message));
        part.session.is_prompted_by_program |= !others.is_empty();
        part.session.prompts.extend(prompts.into_iter().map(|(_, identity)| identity));
    }
}

/// Sorts the parts of one session by their start, then by their number of rows, their end and the content of their files, so that names
/// of files decide nothing. Parts of one file stay in the order of lines.
pub(super) fn order_by_time(parts: &mut [SessionPart], sources: &[Source]) {
    let content = |part: &SessionPart| sources.get(part.source).and_then(|source| source.content_hash.as_deref());
    let key = |part: &SessionPart| {
        let SessionResult { started_at, ended_at, .. } = part.session;
        (started_at.is_none(), started_at, Reverse(part.row_count()), Reverse(ended_at))
    };
    parts.sort_by(|a, b| key(a).cmp(&key(b)).then_with(|| content(a).cmp(&content(b))));
}

/// A session without its rows, and without the times if they are those of its rows.
pub(super) fn facts_only(session: SessionResult) -> SessionResult {
    let has_times = session.turns.iter().any(|turn| turn.occurred_at.is_some());
    SessionResult {
        started_at: session.started_at.filter(|_| !has_times),
        ended_at: session.ended_at.filter(|_| !has_times),
        recording: None,
        prompts: BTreeSet::new(),
        answers: BTreeSet::new(),
        prompt_candidates: BTreeMap::new(),
        typed_message_ids: BTreeSet::new(),
        turns: Rows::default(),
        tool_calls: Rows::default(),
        file_changes: Rows::default(),
        events: Rows::default(),
        totals: Vec::new(),
        limits: Rows::default(),
        ..session
    }
}

/// A session without how it ended.
pub(super) fn without_end(session: SessionResult) -> SessionResult {
    SessionResult { status: Status::Unknown, error_kind: None, error_message: None, stop_reason: None, ..session }
}

/// Moves the part of a session whose rows are all in another one to the parts of that session: what others state about it, so that
/// its labels and verdicts stay, and its file has a row that is not its own. `source` is a file with the rows.
pub(super) fn move_to_original(part: SessionPart, original: &mut Vec<SessionPart>, source: usize) {
    let Some(first) = original.first().map(|part| &part.session) else { return };
    let session = SessionResult {
        session_id: first.session_id.clone(),
        runtime: first.runtime.clone(),
        format: first.format.clone(),
        capabilities: first.capabilities,
        labels: part.session.labels,
        verdicts: part.session.verdicts,
        ..SessionResult::default()
    };
    original.push(SessionPart {
        transferred_to: Some(source),
        is_supplement: true,
        ..SessionPart::new(part.source, session)
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::Identity;

    fn source(path: &str, status: SourceStatus, ids: &[&str]) -> Source {
        let session = |id: &&str| SessionResult {
            runtime: "runtime".into(),
            session_id: (*id).to_owned(),
            prompts: [Identity::Global("prompt".into())].into(),
            ..SessionResult::default()
        };
        let sessions = ids.iter().map(session).collect();
        Source { path: path.to_owned(), status, sessions, ..Source::default() }
    }

    #[test]
    fn sessions_are_grouped_by_runtime_and_id() {
        let mut sources =
            [source("a", SourceStatus::Parsed, &["s1", "s2", "s2"]), source("b", SourceStatus::Duplicate, &["s1"])];
        let sessions = group_by_session(&mut sources);
        let found: Vec<_> = sessions
            .iter()
            .map(|((_, id), parts)| {
                let parts = parts.iter().map(|part| (part.source, part.row_count(), part.transferred_to));
                (id.as_str(), parts.collect::<Vec<_>>())
            })
            .collect();
        assert_eq!(found, [("s1", vec![(0, 1, None), (1, 0, Some(1))]), ("s2", vec![(0, 1, None), (0, 1, None)])]);
        assert_eq!(sources.map(|source| source.session_count), [2, 1]);
    }

    #[test]
    fn a_prompt_is_a_message_that_a_human_typed() {
        let identity = |text: &str| Identity::Session(text.into());
        let asked = ["m1", "m2"].map(|message| (message.to_owned(), identity(message)));
        let messages = SessionResult { prompt_candidates: asked.into(), ..SessionResult::default() };
        let texts = SessionResult { typed_message_ids: ["m2".to_owned()].into(), ..SessionResult::default() };
        let mut parts = [messages, texts].map(|session| SessionPart::new(0, session));
        resolve_prompts(&mut parts);
        assert_eq!(parts.map(|part| part.session.prompts), [[identity("m2")].into(), BTreeSet::new()]);
    }
}
