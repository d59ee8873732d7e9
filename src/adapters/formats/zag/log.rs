//! zag's own session log, `~/.zag/projects/*/logs/sessions/ID.jsonl` (docs/formats/zag.md#zag-log).
//!
//! It contains what the wrapper did, and what it read in the provider's files and on the provider's stdout. So one event may
//! be logged several times, from several sources.
//!
//! # `zag-log`
//!
//! zag's session log, `~/.zag/projects/*/logs/sessions/*.jsonl`. Recognised by `wrapper_session_id` with `source_kind`. From zag's
//! source.
//!
//! | what | from |
//! | --- | --- |
//! | session | `wrapper_session_id` |
//! | tokens, cost | `usage` events of one `source_kind` only, the most reliable (`provider_file`, `provider_log`, `stdout`, `backfill`, `wrapper`): each is the sum of one process of the provider, in rows of grain `session` |
//! | model, cwd | `session_started`, or "Initialized MODEL" |
//! | call, file change | `tool_call`, `tool_result`, with Claude's structured result in `data`; without it, the lines of an edit's arguments |
//! | user turns | `user_message` of the wrapper, else of the best source |
//! | events | refused `permission`, `usage_limit_hit` (error), subagents |
//! | status | `session_ended`; an imported log: `unknown` |
//!
//! *Lower bound*: runs with subagents (Claude's usage excludes them), and runs that did not end. Of other providers zag logs less,
//! and the other counters are NULL: of Codex only calls are logged, of a captured run only its end.

use self::records::Record;
use self::session::Session;
use crate::adapters::engine::sessions::SessionsById;
use crate::adapters::engine::{Adapter, Context, Fold, RecordErrors, RecordKind, fold};
use crate::adapters::shared::ids::{hash_of_document, hashed_id};
use crate::json::lines::Line;
use crate::model::places::Place;
use crate::model::session::{Capabilities, SessionResult};

mod records;
mod session;

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "zag-log",
    runtime: "zag",
    about: "zag, session log under ~/.zag/projects",
    tested: None,
    capabilities: Capabilities::USER_TURNS
        .and(Capabilities::TOOL_CALLS)
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::SUBAGENTS)
        .and(Capabilities::PERMISSION_DENIALS)
        .and(Capabilities::KEPT_BY_RUNTIME),
    places: &[Place::home(".zag/projects")],
    claims: |probe| if probe.has_all(&["wrapper_session_id", "source_kind"]) { 10 } else { 0 },
    parse: fold::<Log>,
};

struct Log {
    context: Context,
    sessions: SessionsById<Session>,
}

impl Fold for Log {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), sessions: SessionsById::default() }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        let session = self.session(&record, line);
        // Each record has a number and a time: an equal record is a copy.
        if !session.hashes.insert(hash_of_document(line.bytes)) {
            return RecordKind::Known;
        }
        let seen = session.record(&record, line, damage);
        session.builder.name_events(None, line.bytes);
        seen
    }

    fn finish(self) -> Vec<SessionResult> {
        self.sessions.into_iter().map(Session::finish).collect()
    }
}

impl Log {
    fn session(&mut self, record: &Record<'_>, line: Line<'_>) -> &mut Session {
        let id = record.wrapper_session_id.some().map_or_else(
            // A record without a session id belongs to the one before it.
            || self.sessions.last().map_or_else(|| hashed_id(line.bytes), |it| it.builder.session.session_id.clone()),
            str::to_owned,
        );
        self.sessions.find_or_add(&id, || Session::new(&self.context, &id, line.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::parse;
    use crate::adapters::shared::builder::Retention;
    use crate::model::errors::ErrorKind;
    use crate::model::session::Status;

    fn read(events: &[(&str, &str)]) -> SessionResult {
        let line = |(source, event): &(&str, &str)| {
            format!(
                r#"{{"seq":1,"ts":"2026-10-05T10:00:00Z","provider":"claude","wrapper_session_id":"w","source_kind":"{source}",{event}}}"#
            )
        };
        let log = events.iter().map(line).collect::<Vec<_>>().join("\n");
        parse(log.as_bytes(), crate::adapters::Hints::default(), Retention::Text).sessions.swap_remove(0)
    }

    #[test]
    fn one_source_counts() {
        let usage = r#""type":"usage","input_tokens":10,"output_tokens":2"#;
        let other = r#""type":"usage","input_tokens":7,"output_tokens":1"#;
        let prompt = r#""type":"user_message","content":"a","message_id":"1""#;
        let session = read(&[
            ("wrapper", usage),
            ("stdout", usage),
            ("stdout", other),
            ("stdout", prompt),
            ("stdout", prompt),
            ("elsewhere", prompt),
        ]);
        let total = session.totals.last().unwrap();
        assert_eq!((total.models[0].tokens.input, total.models[0].tokens.output), (Some(17), Some(3)));
        assert_eq!((session.totals.len(), session.prompts.len()), (2, 1));
    }

    #[test]
    fn an_import_has_no_times_and_no_end() {
        let session = read(&[
            ("backfill", r#""type":"session_started","command":"backfill","backfilled":true"#),
            ("backfill", r#""type":"assistant_message","content":"a""#),
            ("wrapper", r#""type":"session_ended","success":true,"error":null"#),
        ]);
        assert_eq!((session.started_at, session.ended_at, session.status), (None, None, Status::Unknown));
    }

    #[test]
    fn an_end_without_a_message_is_that_of_the_limit() {
        let end = ("wrapper", r#""type":"session_ended","success":false,"error":null"#);
        let hit = ("wrapper", r#""type":"usage_limit_hit","scope":"weekly","raw":null"#);
        assert_eq!(read(&[hit, end]).error_kind, Some(ErrorKind::RateLimit));
        assert_eq!(
            read(&[hit, ("wrapper", r#""type":"usage_limit_resumed""#), end]).error_kind,
            Some(ErrorKind::Other)
        );
    }
}
