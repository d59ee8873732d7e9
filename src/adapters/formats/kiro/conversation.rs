//! A conversation of Kiro as one document: a row of the database, or a file that `/save` wrote.
//!
//! # `kiro-conversation`
//!
//! Kiro CLI, and Amazon Q Developer CLI, as it was named before: the tables `conversations_v2` and `conversations` of
//! `~/.local/share/kiro-cli/data.sqlite3` or `amazon-q/data.sqlite3`, below `~/Library/Application Support` on macOS. A row contains
//! one document, which `/save` writes to a file as well. Recognised by `conversation_id` and `history`. From the source of Amazon Q
//! Developer CLI; no recorded file was at hand.
//!
//! | what | from |
//! | --- | --- |
//! | session, cwd | `conversation_id`; `key` of the row, else `current_working_directory` of the first message |
//! | turn | each `assistant` of `history`, by its `message_id`, without counts; model `request_metadata.model_id`, else `model_info` |
//! | times | `request_start_timestamp_ms`, `stream_end_timestamp_ms`, and the `timestamp` of a prompt |
//! | call | `tool_uses`, with results by id: `status` `Error`, or an `exit_status` other than 0, is `error` |
//! | call status | `CancelledToolUses` with a reply is `denied`, without one `cancelled` |
//! | file change | the path of `fs_write`; lines of `old_str` and `new_str` |
//! | events | `latest_summary` (one compaction: earlier ones are replaced), refusals, subagents |
//! | user turns | `Prompt`, and replies to a call other than the program's "I deny this tool request" |
//! | status | the last response: `Response` is `success`, `ToolUse` or a `next_message` is `incomplete` |
//!
//! *Unknown*: tokens and cost: `usage_info` counts credits. Messages before a compaction, and the oldest of long conversations, are
//! not kept.

use serde::Deserialize;

use super::common::{self, Outcome, Place, SHOWS, ShellResult};
use crate::adapters::engine::document::LineNumbers;
use crate::adapters::engine::{
    Adapter, FinishedSessions, Probe, RecordErrors, RecordKind, SessionRecords, session_records,
};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, Last};
use crate::base::text::Symbol;
use crate::json::Raw;
use crate::json::fields::{Count, Text, When};
use crate::json::lines::Line;
use crate::model::health::Reason;
use crate::model::places;
use crate::model::session::{CallStatus, EventKind, Identity, SessionResult};
use crate::model::sqlite_schema::Table;

pub(crate) const CONVERSATION: Adapter = Adapter {
    id: "kiro-conversation",
    runtime: "kiro",
    about: "Kiro CLI and Amazon Q Developer CLI, data.sqlite3 and saved conversations",
    tested: None,
    capabilities: SHOWS,
    places: &[
        places::Place::data("kiro-cli/data.sqlite3"),
        places::Place::data("amazon-q/data.sqlite3"),
        // Of macOS.
        places::Place::application("kiro-cli/data.sqlite3"),
        places::Place::application("amazon-q/data.sqlite3"),
    ],
    claims: |probe| match probe.text("table").as_ref() {
        "" => 6 * u32::from(is_conversation(probe)),
        "conversations" | "conversations_v2" => 6 * u32::from(is_conversation(&probe.object("value"))),
        _ => 0,
    },
    parse: session_records::<Conversations>,
};

pub(crate) const CONVERSATIONS_2: Table = Table {
    name: "conversations_v2",
    key: "conversation_id",
    needs: &["key", "value", "created_at", "updated_at"],
    columns: &["key", "value", "created_at", "updated_at"],
    json: &["value"],
    order: "created_at, conversation_id",
    ..Table::PLAIN
};

pub(crate) const CONVERSATIONS: Table = Table {
    name: "conversations",
    key: "key",
    needs: &["value"],
    columns: &["value"],
    json: &["value"],
    order: "key",
    ..Table::PLAIN
};

fn is_conversation(probe: &Probe<'_>) -> bool {
    probe.has_all(&["conversation_id", "history"]) && probe.is_list("history")
}

/// A row, or a document.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Record<'a> {
    table: Text<'a>,
    /// The working directory.
    key: Text<'a>,
    value: Raw<'a>,
    created_at: When,
    updated_at: When,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Document<'a> {
    conversation_id: Text<'a>,
    history: Raw<'a>,
    model_info: ModelInfo<'a>,
    /// In older versions.
    model: Text<'a>,
    /// The summary by which a compaction replaced the history before, and the request for it.
    latest_summary: Raw<'a>,
    next_message: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct ModelInfo<'a> {
    pub(super) model_id: Text<'a>,
    model_name: Text<'a>,
    pub(super) context_window_tokens: Count,
}

/// A prompt or results, and the response to them.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Entry<'a> {
    user: User<'a>,
    assistant: Assistant<'a>,
    request_metadata: Metadata<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct User<'a> {
    content: UserContent<'a>,
    timestamp: When,
    env_context: EnvContext<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase", bound(deserialize = "'de: 'a"))]
struct UserContent<'a> {
    prompt: UserText<'a>,
    tool_use_results: UserText<'a>,
    cancelled_tool_uses: UserText<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct UserText<'a> {
    prompt: Text<'a>,
    tool_use_results: Vec<ToolResult<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct ToolResult<'a> {
    tool_use_id: Text<'a>,
    content: Raw<'a>,
    status: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase", bound(deserialize = "'de: 'a"))]
struct ResultBlock<'a> {
    text: Text<'a>,
    json: ShellResult<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct EnvContext<'a> {
    env_state: EnvState<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct EnvState<'a> {
    current_working_directory: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase", bound(deserialize = "'de: 'a"))]
struct Assistant<'a> {
    response: Option<Answer<'a>>,
    tool_use: Option<Answer<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Answer<'a> {
    message_id: Text<'a>,
    content: Text<'a>,
    tool_uses: Vec<ToolUse<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct ToolUse<'a> {
    id: Text<'a>,
    name: Text<'a>,
    orig_name: Text<'a>,
    args: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Metadata<'a> {
    request_id: Text<'a>,
    message_id: Text<'a>,
    request_start_timestamp_ms: When,
    stream_end_timestamp_ms: When,
    model_id: Text<'a>,
}

pub(super) enum Conversations {}

impl SessionRecords for Conversations {
    type Record<'a> = Record<'a>;

    fn record(log: &mut FinishedSessions, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        let is_row = record.table.is_some();
        if is_row && !record.value.is_object() {
            damage.note(Reason::NotAnObject);
            return RecordKind::Known;
        }
        let document: Document<'_> = if is_row { record.value.read() } else { Raw(line.bytes).read() };
        let Some(id) = document.conversation_id.some() else { return RecordKind::Unknown };
        let mut builder = Builder::new(&log.context, id, line.number);
        builder.extend_to(record.created_at.0);
        builder.extend_to(record.updated_at.0);
        builder.session.cwd = record.key.owned().filter(|_| is_row);
        let mut conversation = Conversation::new(builder, &document);
        let entries: Vec<Raw<'_>> = document.history.read();
        let mut line_numbers = LineNumbers::new(line);
        for raw in entries {
            let number = line_numbers.line_of(raw);
            conversation.entry(&entry(raw), number);
        }
        log.sessions.push(conversation.finish(&document, line.number));
        RecordKind::Known
    }
}

/// An entry of the history; in older versions a list of the two messages.
fn entry(raw: Raw<'_>) -> Entry<'_> {
    if !raw.is_list() {
        return raw.read();
    }
    let messages: Vec<Raw<'_>> = raw.read();
    let message = |index: usize| messages.get(index).copied().unwrap_or_default();
    Entry { user: message(0).read(), assistant: message(1).read(), ..Entry::default() }
}

/// A conversation while its history is read.
struct Conversation {
    builder: Builder,
    model: Option<Symbol>,
    context_window: Option<i64>,
    entries: usize,
    last: Last,
}

impl Conversation {
    fn new(mut builder: Builder, document: &Document<'_>) -> Self {
        let info = &document.model_info;
        let model = info.model_id.owned().or_else(|| info.model_name.owned()).or_else(|| document.model.owned());
        builder.session.model.clone_from(&model);
        let context_window = info.context_window_tokens.get();
        Self { builder, model, context_window, entries: 0, last: Last::Work }
    }

    fn entry(&mut self, entry: &Entry<'_>, line: i64) {
        self.entries += 1;
        let metadata = &entry.request_metadata;
        let ids = [&metadata.message_id, &metadata.request_id];
        let name =
            ids.into_iter().find_map(|id| id.some()).map_or_else(|| format!("entry {}", self.entries), str::to_owned);
        self.user(&entry.user, &name, At { line, time: metadata.request_start_timestamp_ms.0 });
        let end = metadata.stream_end_timestamp_ms.0;
        self.builder.extend_to(end);
        let Some(answer) = entry.assistant.tool_use.as_ref().or(entry.assistant.response.as_ref()) else { return };
        let turn = self.response(answer, name.clone(), metadata, line);
        let place = Place { turn, at: At { line, time: end } };
        for call in &answer.tool_uses {
            let name = call.orig_name.some().unwrap_or_else(|| call.name.as_str());
            common::add(&mut self.builder, call.id.as_str(), name, call.args, place);
        }
        self.builder.name_events(Some(&name), &[]);
        self.builder.set_answer(answer.content.as_str());
        self.last = if entry.assistant.tool_use.is_some() { Last::Work } else { Last::Answer };
    }

    fn user(&mut self, user: &User<'_>, name: &str, at: At) {
        let time = user.timestamp.0.or(at.time);
        self.builder.extend_to(time);
        let directory = user.env_context.env_state.current_working_directory.owned();
        let cwd = &mut self.builder.session.cwd;
        *cwd = cwd.take().or(directory);
        let content = &user.content;
        if let Some(text) = content.prompt.prompt.some() {
            self.builder.asked(None, user.timestamp.0);
            self.builder.prompt_as(Identity::Session(format!("prompt {name}").into()), Some(text));
        }
        for result in &content.tool_use_results.tool_use_results {
            let blocks: Vec<ResultBlock<'_>> = result.content.read();
            let outcome = Outcome {
                is_error: result.status.as_str().eq_ignore_ascii_case("error"),
                exit_code: blocks.iter().find_map(|block| block.json.exit_code()),
                text: blocks.iter().map(|block| block.text.as_str()).collect(),
            };
            let id = result.tool_use_id.as_str();
            common::add_result(&mut self.builder, id, result.content, &outcome, at);
        }
        let cancelled = &content.cancelled_tool_uses;
        let reply = cancelled.prompt.some();
        for result in &cancelled.tool_use_results {
            let Some(call) = self.builder.call_index(result.tool_use_id.as_str()) else { continue };
            // With a reply, the user refused the calls; without one, the user interrupted the agent.
            self.builder.result(call, result.content, time, CallStatus::Cancelled);
            if reply.is_some() {
                self.builder.deny(call, At { time, ..at }, None);
            }
        }
        // This reply is the program's.
        if let Some(text) = reply.filter(|text| !text.starts_with("I deny this tool request")) {
            self.builder.prompt_as(Identity::Session(format!("prompt {name}").into()), Some(text));
        }
    }

    fn response(&mut self, answer: &Answer<'_>, name: String, metadata: &Metadata<'_>, line: i64) -> usize {
        let message_id = answer.message_id.some().or_else(|| metadata.message_id.some());
        let identity = message_id.map_or_else(|| Identity::Session(name.into()), |id| Identity::Global(id.into()));
        let index = self.builder.turn(identity, line);
        let turn = &mut self.builder.session.turns[index];
        let (start, end) = (metadata.request_start_timestamp_ms.0, metadata.stream_end_timestamp_ms.0);
        turn.message_id = message_id.map(Into::into);
        turn.request_id = metadata.request_id.owned();
        turn.model = metadata.model_id.owned().or_else(|| self.model.clone());
        turn.occurred_at = end;
        turn.duration_ms = start.zip(end).and_then(|(start, end)| end.duration_since(start)).into();
        turn.context_window = self.context_window.into();
        self.builder.answered(index, None, end);
        index
    }

    fn finish(mut self, document: &Document<'_>, line: i64) -> SessionResult {
        if !document.latest_summary.is_empty() {
            let parts: Vec<Raw<'_>> = document.latest_summary.read();
            let metadata: Metadata<'_> = parts.get(1).copied().unwrap_or_default().read();
            let event =
                self.builder.event(EventKind::Compaction, At { line, time: metadata.stream_end_timestamp_ms.0 });
            event.key = metadata.message_id.some().or(Some("summary")).map(Into::into);
        }
        if !document.next_message.is_empty() {
            self.last = Last::Work;
        }
        self.builder.end(self.last);
        self.builder.finish()
    }
}

#[cfg(test)]
mod tests {
    use crate::adapters::engine::Hints;
    use crate::adapters::parse;
    use crate::adapters::shared::builder::Retention;
    use crate::model::session::{CallStatus, SessionResult, Status};

    fn read(text: &str) -> SessionResult {
        parse(text.replace('\n', "").as_bytes(), Hints::default(), Retention::Text).sessions.swap_remove(0)
    }

    const PROMPT: &str = r#"{"user":{"content":{"Prompt":{"prompt":"Go"}},"timestamp":"2026-03-02T10:00:00+00:00","env_context":{"env_state":{"current_working_directory":"/work"}}},"assistant":{"ToolUse":{"message_id":"m1","content":"","tool_uses":[{"id":"t1","name":"execute_bash","orig_name":"execute_bash","args":{"command":"cargo test"}},{"id":"t2","name":"fs_write","orig_name":"fs_write","args":{"command":"str_replace","path":"/work/a","old_str":"a","new_str":"b\nc"}},{"id":"t3","name":"docs___find","orig_name":"@docs/find","args":{}}]}},"request_metadata":{"request_id":"r1","request_start_timestamp_ms":1772445601000,"stream_end_timestamp_ms":1772445604000,"model_id":"claude-sonnet-4.5"}}"#;

    fn document(entries: &str) -> String {
        format!(r#"{{"conversation_id":"c1","history":[{entries}],"latest_summary":null,"next_message":null}}"#)
    }

    #[test]
    fn a_conversation_has_calls_with_their_results() {
        let results = r#"{"user":{"content":{"ToolUseResults":{"tool_use_results":[{"tool_use_id":"t1","content":[{"Json":{"exit_status":"101","stdout":"","stderr":"x"}}],"status":"Success"},{"tool_use_id":"t2","content":[{"Text":""}],"status":"Success"},{"tool_use_id":"t3","content":[{"Text":"no"}],"status":"Error"}]}},"timestamp":null},"assistant":{"Response":{"message_id":"m2","content":"Done."}},"request_metadata":null}"#;
        let session = read(&document(&format!("{PROMPT},{results}")));
        assert_eq!((session.session_id.as_str(), session.cwd.as_deref()), ("c1", Some("/work")));
        assert_eq!((session.prompts.len(), session.turns.len(), session.status), (1, 2, Status::Success));
        let turn = &session.turns[0];
        assert_eq!((turn.model.as_deref(), turn.duration_ms.get()), (Some("claude-sonnet-4.5"), Some(3000)));
        assert_eq!((turn.latency_ms.map(u32::from), turn.tokens.get().total()), (Some(4000), None));
        let calls: Vec<_> = session.tool_calls.iter().map(|it| (it.category.as_ref(), it.status)).collect();
        assert_eq!(calls, [("shell", CallStatus::Error), ("edit", CallStatus::Ok), ("mcp", CallStatus::Error)]);
        assert_eq!((session.tool_calls[0].exit_code.get(), session.tool_calls[2].tool.as_str()), (Some(101), "find"));
        let change = &session.file_changes[0];
        assert_eq!((change.path.as_ref(), change.lines_added, change.lines_removed), ("/work/a", Some(2), Some(1)));
    }

    #[test]
    fn a_reply_refuses_the_calls() {
        let cancelled = |prompt: &str| {
            let entry = format!(
                r#"{{"user":{{"content":{{"CancelledToolUses":{{"prompt":{prompt},"tool_use_results":[{{"tool_use_id":"t1","content":[],"status":"Error"}}]}}}}}},"assistant":{{"Response":{{"content":"Ok."}}}}}}"#
            );
            let session = read(&document(&format!("{PROMPT},{entry}")));
            (session.tool_calls[0].status, session.prompts.len())
        };
        assert_eq!(cancelled("null"), (CallStatus::Cancelled, 1));
        assert_eq!(cancelled(r#""Use make""#), (CallStatus::Denied, 2));
        assert_eq!(cancelled(r#""I deny this tool request. Ask a follow up question""#), (CallStatus::Denied, 1));
    }

    #[test]
    fn rows_and_older_histories_are_read() {
        let pair = r#"[{"content":{"Prompt":{"prompt":"Hi"}}},{"Response":{"message_id":null,"content":"Hello."}}]"#;
        let row = format!(
            r#"{{"table":"conversations","key":"/work","value":{{"conversation_id":"c2","model":"claude-4","history":[{pair}],"latest_summary":["short",{{"message_id":"s1"}}]}}}}"#
        );
        let session = read(&row);
        assert_eq!((session.session_id.as_str(), session.cwd.as_deref()), ("c2", Some("/work")));
        assert_eq!((session.turns.len(), session.text.as_deref()), (1, Some("Hello.")));
        assert_eq!((session.turns[0].model.as_deref(), session.events.len()), (Some("claude-4"), 1));
    }
}
