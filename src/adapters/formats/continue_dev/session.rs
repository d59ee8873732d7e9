//! Continue's sessions `~/.continue/sessions/ID.json`, and their index `sessions.json` (docs/formats/continue_dev.md#continue-session).
//!
//! - The editor's extension logs no tokens in a session. Its answers are only counted, as their requests are rows of its
//!   `dev_data` ([`dev_data`](super::dev_data)), which names no session.
//! - The program for the terminal (`cn`) logs the usage of most answers, and the sums of the session, which include answers that
//!   were not kept. Whether the prompt includes cached tokens depends on the API.
//! - No message has a time. The index contains when a session was created.
//!
//! # `continue-session`
//!
//! Continue's `~/.continue/sessions/ID.json`, one document for each session of the editor's extension and of `cn`, and the index
//! `sessions.json`. Recognised by `sessionId`, `title` and `workspaceDirectory` with `history` or `dateCreated`. Seen: 15 sessions
//! of the extension, 2024-09 to 2026-02; the usage of `cn` from a description of 2 sessions.
//!
//! | what | from |
//! | --- | --- |
//! | session, cwd | `sessionId`; `workspaceDirectory`, a path or a `file:` URL |
//! | start | `dateCreated` of the index; no message has a time |
//! | model | `usage.model`, else `promptLogs`: `completionOptions.model`, else the title in the settings (`modelTitle`, `chatModelTitle`) |
//! | turn | an assistant's message with `usage` (`cn`). Answers of the extension are only counted, by the same identities: their requests are in `continue-dev-data` |
//! | tokens | `prompt_tokens`, `completion_tokens`; `prompt_tokens_details`: `cache_read_tokens`, else `cached_tokens`, and `cache_write_tokens`. The part of `total_tokens` beyond prompt and completion is reasoning and output; without such a part `reasoning_tokens` of `completion_tokens_details` is the reasoning. The prompt includes what was read from the cache and written to it, except with `cache_read_tokens` (Anthropic's API) under a model without `/`: the AI SDK, whose models are `PROVIDER/MODEL`, writes `cache_read_tokens` and includes them. If the sums of the session have cached tokens, the prompt of a message without details is known for the session only |
//! | total, cost | `usage` of the session: `promptTokens`, `completionTokens`, `cachedTokens` (the sum of `cache_read_tokens` only), `cacheWriteTokens`, `totalCost`. What these sums contain beyond the messages is a row of grain `session` (an answer that was not kept); its prompt includes cached tokens if those of the messages do, or, without details in a message, unless the model is a Claude |
//! | call | `toolCallStates` (older: `toolCallState`), else `toolCalls`; results also in `tool` messages |
//! | call status | `done` is `ok`, `errored` is `error`, `canceled` is `denied`; else `incomplete`. The exit code of a command is in the status of its output, `Command failed with exit code N`, which is an `error` |
//! | file change | the file of an edit or a write; of an edit the lines of `old_string` and `new_string` |
//! | user turns | `user` messages, by their `id` |
//! | status | the last message: an answer with text and without calls is `success`, else `incomplete` |
//!
//! A session that was copied under a new id has the same messages: they count once, by their ids, else by a hash of the
//! conversation up to them, in the session that was created first. The `usage` of a copy begins at 0. Without the
//! index, a copy can have the messages of its original: they are subtracted from a `usage` that is exactly the sum of its messages. *Unknown*: tokens of the extension's sessions.

use self::conversation::Session;
use self::records::Document;
use crate::adapters::engine::document::LineNumbers;
use crate::adapters::engine::{
    Adapter, FinishedSessions, Probe, RecordErrors, RecordKind, SessionRecords, session_records,
};
use crate::json::Raw;
use crate::json::lines::Line;
use crate::model::places::Place;
use crate::model::session::Capabilities;

mod conversation;
mod counts;
mod records;

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "continue-session",
    runtime: "continue",
    about: "Continue, ~/.continue/sessions/ID.json of the editor and of cn",
    tested: None,
    capabilities: Capabilities::TOOL_CALLS
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::PERMISSION_DENIALS)
        .and(Capabilities::USER_TURNS)
        .and(Capabilities::KEPT_BY_RUNTIME),
    places: &[Place::variable("CONTINUE_GLOBAL_DIR", ".continue", "sessions")],
    claims,
    parse: session_records::<Sessions>,
};

fn claims(probe: &Probe<'_>) -> u32 {
    if !probe.has_all(&["sessionId", "title", "workspaceDirectory"]) {
        return 0;
    }
    let is_session = probe.is_list("history");
    6 * u32::from(is_session || probe.has("dateCreated"))
}

enum Sessions {}

impl SessionRecords for Sessions {
    type Record<'a> = Document<'a>;

    fn record(
        log: &mut FinishedSessions,
        line: Line<'_>,
        document: Document<'_>,
        damage: &mut RecordErrors,
    ) -> RecordKind {
        let id = document.session_id.as_str();
        if id.is_empty() || document.history.is_empty() && document.date_created.0.is_none() {
            return RecordKind::Unknown;
        }
        let mut session = Session::new(&log.context, &document, line.number);
        let items: Vec<Raw<'_>> = document.history.read();
        let mut line_numbers = LineNumbers::new(line);
        for item in items {
            let number = line_numbers.line_of(item);
            session.item(item, number, damage);
        }
        log.sessions.push(session.finish(&document, line.last_number(), damage));
        RecordKind::Known
    }
}
