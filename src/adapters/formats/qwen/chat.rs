//! Qwen Code's session files, `~/.qwen/projects/*/chats/*.jsonl`, and those of its subagents,
//! `~/.qwen/projects/*/subagents/SESSION/agent-*.jsonl` (docs/formats/qwen.md#qwen-chat).
//!
//! The rules are those of Qwen Code's source (0.8.2 and 0.24.4: `ChatRecordingService`, the transcripts of agents, the
//! conversion of usage). An `assistant` record is one response with its own usage, which is no running total. The prompt
//! includes cached tokens and cache writes; the number of writes is not logged. Candidates include thoughts, unless the total
//! shows that they exclude them (Gemini's models).
//!
//! `ui_telemetry` logs every request again. It also logs requests without an `assistant` record: compactions, retried requests,
//! and those of subagents, which are in the subagents' own files as well. Each response is matched with the telemetry of a
//! request with the same prompt size; the other requests count as responses of their own. A branched session begins as a copy
//! with the same record ids.
//!
//! # `qwen-chat`
//!
//! Qwen Code's `~/.qwen/projects/*/chats/*.jsonl`, and its subagents' `subagents/SESSION/agent-*.jsonl`. Recognised by `uuid`,
//! `sessionId`, `timestamp` and messages with `parts` (Claude's have `content`), `usageMetadata`, `toolCallResult`,
//! `systemPayload` or `managedSession`. From Qwen Code's source, 0.8.2 and 0.24.4.
//!
//! | what | from |
//! | --- | --- |
//! | session, parent | `sessionId`; `forkedFrom.sessionId`, `parent_session` |
//! | version, cwd, branch | `version`, `cwd`, `gitBranch` |
//! | turn | each `assistant` record with a model or `usageMetadata`, by `uuid`: `model`, `contextWindowSize` |
//! | tokens | input is `promptTokenCount` minus `cachedContentTokenCount` (unless that is larger) plus `toolUsePromptTokenCount`; output is `candidatesTokenCount`, plus `thoughtsTokenCount` only if `totalTokenCount` shows that candidates exclude them |
//! | other requests | `ui_telemetry` `api_response`: each response gets duration and id from one with the same prompt size; the others (compactions, retried requests) are turns of their own. That of a subagent only counts if the subagent's own file does not contain it |
//! | call | `functionCall` parts; `tool_result` with `toolCallResult.status`, `durationMs`; the MCP server from `tool_call` of the telemetry |
//! | file change | `resultDisplay`, as in `gemini-chat`; a new file's lines also from the arguments |
//! | subagent | `isSidechain` with `agentId`, `agentName`; `subagent_name` of the telemetry |
//! | events | `chat_compression`, `api_error` (error), refused calls |
//! | user turns | `user` records outside of sidechains, except those of timers, notices and goals |
//! | status | `turn_result` (`completed`, `cancelled`, `error`), `api_error`; else an answer without calls is `success`, else `incomplete` |
//!
//! *Unknown*: cache writes, which are included in the input, and cost. Records of managed sessions (`managed_session_…_v1`, 0.24.7) have
//! rows of `unknown_records`: their messages and usage are in other files.

use self::records::Record;
use self::session::Chat;
use crate::adapters::engine::sessions::{Sessions, streaming_sessions};
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::json::lines::Line;
use crate::model::places::Place;
use crate::model::session::Capabilities;

mod records;
mod session;

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "qwen-chat",
    runtime: "qwen",
    about: "Qwen Code, session files under ~/.qwen/projects",
    tested: Some("0.24.4"),
    capabilities: Capabilities::TURNS
        .and(Capabilities::TOOL_CALLS)
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::SUBAGENTS)
        .and(Capabilities::COMPACTIONS)
        .and(Capabilities::PERMISSION_DENIALS)
        .and(Capabilities::USER_TURNS)
        .and(Capabilities::KEPT_BY_RUNTIME),
    places: &[Place::home(".qwen/projects")],
    claims,
    parse: fold::<Chats>,
};

/// Records resemble those of Claude Code, whose messages have `content` instead of `parts`.
fn claims(probe: &Probe<'_>) -> u32 {
    if !probe.has_all(&["uuid", "sessionId", "timestamp"]) {
        return 0;
    }
    let is_own = match probe.kind() {
        "user" | "assistant" => probe.object("message").has("parts") || probe.has("usageMetadata"),
        "tool_result" => probe.has("toolCallResult") || probe.object("message").has("parts"),
        "system" => probe.has("systemPayload") || probe.has("managedSession"),
        _ => false,
    };
    5 * u32::from(is_own)
}

struct Chats {
    context: Context,
    sessions: Sessions<Chat>,
}

impl Fold for Chats {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), sessions: Sessions::new() }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        if !matches!(record.kind.as_str(), "user" | "assistant" | "tool_result" | "system") {
            return RecordKind::Unknown;
        }
        let Some(id) = record.session_id.some() else { return RecordKind::Unknown };
        let new = || Chat::new(&self.context, id, line.number);
        if let Some(chat) = self.sessions.get(id, line.number, new) {
            chat.record(&record, line, damage);
        }
        // The messages and counts of a managed session are in files that its records name, which are not read. As unknown records, those
        // would be read as Claude Code's.
        if !record.managed_session.is_empty() {
            damage.unknown_part(&format!("system/{}", record.subtype.as_str()), record.managed_session);
        }
        RecordKind::Known
    }

    streaming_sessions!(Chat::finish);
}
