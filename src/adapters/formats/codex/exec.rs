//! Codex's recorded stdout, `codex exec --json` (once `--experimental-json`): threads, turns, items.
//!
//! `turn.completed.usage` is the thread's running total, and its input includes cached tokens
//! (`docs/accounting.md#totals-against-turns`). The stream contains no model, directory, time or cost. Item ids begin at `item_0` in
//! every recording.
//!
//! # `codex-exec`
//!
//! Recorded `codex exec --json`. Recognised by `thread.started` with a `thread_id`, `turn.completed` with `usage`, `turn.failed` with
//! an `error`, or `item.*` with an `item`. Seen: 17 files.
//!
//! | what | from |
//! | --- | --- |
//! | session | `thread_id`; without it a hash of the first item or error |
//! | tokens | `turn.completed.usage`, fields as in a rollout: a running total of the thread. Rows of grain `session`, one per step between two totals |
//! | turns | the number of `turn.completed` |
//! | call | `command_execution`, `file_change`, `web_search`, `mcp_tool_call`, `collab_tool_call`; by `id` within a recording, as ids begin at `item_0` in each recording |
//! | call status | `declined`: `denied`; `failed`, or an `error`: `error`; a search is `ok` when it is completed |
//! | file change | `changes[].path` and `kind`; lines unknown |
//! | events | `error` that begins with "Reconnecting" (retry), other `error`, `turn.failed`, items of type `error` (with the code `warning`), threads in `receiver_thread_ids` (subagent), refusals |
//! | status | `turn.completed`: `success`; `turn.failed`, or an `error` as the last line: `error`; else `incomplete` |
//!
//! *Exact*: totals of runs that ended. Codex's source and openai/codex#17539 show that the usage is the thread's total. Over
//! several recordings of one thread, a total with no count below another total includes it; other totals add up. *Unknown*: model,
//! times, directory, cost; a sidecar or `--model` may state them. An item of type `error` is a warning, not a failed run.

use std::hash::Hasher as _;

use foldhash::HashSet;
use serde::Deserialize;
use twox_hash::XxHash3_64;

use super::counts::Usage;
use crate::adapters::engine::{Adapter, Context, Fold, RecordErrors, RecordKind, fold};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, brief};
use crate::adapters::shared::ids::{hash_of_document, hashed_id};
use crate::adapters::shared::{subagents, usage};
use crate::json::Raw;
use crate::json::fields::{Count, Maybe, Number, Text};
use crate::json::lines::Line;
use crate::model::session::{
    CallStatus, Capabilities, EventKind, ModelTotal, Operation, SessionResult, Status, Total, TotalKind,
};

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "codex-exec",
    runtime: "codex",
    about: "Codex, codex exec --json",
    tested: None,
    capabilities: Capabilities::TOOL_CALLS
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::RETRIES)
        .and(Capabilities::PERMISSION_DENIALS)
        .and(Capabilities::SUBAGENTS),
    places: &[],
    claims: |probe| match probe.kind() {
        "thread.started" if probe.has("thread_id") => 2,
        "turn.completed" if probe.has("usage") => 2,
        "turn.failed" if probe.has("error") => 2,
        "item.started" | "item.updated" | "item.completed" if probe.has("item") => 2,
        _ => 0,
    },
    parse: fold::<Exec>,
};

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Record<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    thread_id: Text<'a>,
    item: Item<'a>,
    usage: Maybe<Usage>,
    error: Message<'a>,
    message: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Message<'a> {
    message: Text<'a>,
}

/// Any item: each type uses some of the fields.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Item<'a> {
    id: Text<'a>,
    #[serde(rename = "type")]
    kind: Text<'a>,
    status: Text<'a>,
    text: Text<'a>,
    message: Text<'a>,
    // command_execution
    command: Raw<'a>,
    aggregated_output: Raw<'a>,
    exit_code: Number,
    // file_change
    changes: Vec<Change<'a>>,
    // mcp_tool_call, collab_tool_call
    server: Text<'a>,
    tool: Text<'a>,
    arguments: Raw<'a>,
    result: Raw<'a>,
    error: Raw<'a>,
    prompt: Raw<'a>,
    receiver_thread_ids: Vec<Text<'a>>,
    // web_search
    query: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Change<'a> {
    path: Text<'a>,
    kind: Text<'a>,
}

impl Record<'_> {
    /// A hash of its values, equal in copies that another program wrote again. Outputs of commands are left out, as they are long, and
    /// the ids of items, as searches have two, of which other programs keep one.
    fn hash(&self) -> u64 {
        let item = &self.item;
        let texts = [&self.kind, &self.thread_id, &self.message, &self.error.message];
        let of_item = [&item.kind, &item.status, &item.text, &item.message, &item.server, &item.tool];
        let of_changes = item.changes.iter().flat_map(|change| [&change.path, &change.kind]);
        let mut hash = XxHash3_64::new();
        for text in texts.into_iter().chain(of_item).chain(of_changes).chain(&item.receiver_thread_ids) {
            hash.write(text.as_str().as_bytes());
            hash.write_u8(u8::MAX);
        }
        for raw in [item.command, item.arguments, item.prompt, item.query] {
            hash.write_u64(hash_of_document(raw.0));
        }
        let usage =
            self.usage.get().map(|it| [it.input_tokens, it.cached_input_tokens, it.output_tokens].map(Count::get));
        for number in usage.into_iter().flatten().chain([item.exit_code.whole()]) {
            hash.write_i64(number.unwrap_or(i64::MIN));
        }
        hash.finish()
    }
}

struct Exec {
    context: Context,
    /// One for each recording, that is for each `thread.started`.
    recordings: Vec<Recording>,
}

struct Recording {
    builder: Builder,
    has_id: bool,
    completed: i64,
    /// The last `error` line, until something else follows.
    last_error: Option<String>,
}

impl Fold for Exec {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), recordings: Vec::new() }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        match record.kind.as_str() {
            "thread.started" | "turn.started" | "turn.completed" | "turn.failed" | "item.started" | "item.updated"
            | "item.completed" | "error" => {}
            _ => return RecordKind::Unknown,
        }
        if record.kind.as_str() == "thread.started" || self.recordings.is_empty() {
            let has_id = record.thread_id.some().is_some();
            let id = record.thread_id.owned().unwrap_or_else(|| hashed_id(line.bytes));
            let builder = Builder::new(&self.context, id, line.number);
            self.recordings.push(Recording { builder, has_id, completed: 0, last_error: None });
        }
        let Some(recording) = self.recordings.last_mut() else { return RecordKind::Known };
        // Starts and ends of turns are equal in all logs: the id is made from the other records.
        if !recording.has_id && !matches!(record.kind.as_str(), "thread.started" | "turn.started" | "turn.completed") {
            recording.has_id = true;
            recording.builder.session.session_id = hashed_id(line.bytes);
        }
        recording.builder.recorded(record.hash());
        recording.record(&record, line, damage);
        RecordKind::Known
    }

    fn close_idle(&mut self, _: i64, _: &HashSet<String>) -> Vec<SessionResult> {
        // Records belong to the last recording, whatever its id.
        let over = self.recordings.len().saturating_sub(1);
        self.recordings.drain(..over).filter(Recording::is_session).map(Recording::finish).collect()
    }

    fn finish(self) -> Vec<SessionResult> {
        self.recordings.into_iter().filter(Recording::is_session).map(Recording::finish).collect()
    }
}

impl Recording {
    /// Whether it has an id, or tokens: one that was cut before has neither.
    fn is_session(&self) -> bool {
        self.has_id || !self.builder.session.totals.is_empty()
    }

    fn record(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut RecordErrors) {
        let last_error = self.last_error.take();
        let at = At { line: line.number, time: None };
        match record.kind.as_str() {
            "turn.started" => {
                let session = &mut self.builder.session;
                (session.status, session.error_kind, session.error_message) = (Status::Incomplete, None, None);
            }
            "turn.completed" => {
                self.completed += 1;
                self.builder.succeed();
                if let Some(usage) = usage::present(&record.usage, damage) {
                    let tokens = usage.tokens(damage);
                    self.builder.session.totals.push(Total {
                        line: line.number,
                        key: format!("{tokens:?}"),
                        kind: TotalKind::Thread,
                        models: vec![ModelTotal { tokens, ..ModelTotal::default() }],
                        covers_subagents: true,
                        ..Total::default()
                    });
                }
            }
            "turn.failed" => {
                let message = record.error.message.some().or(last_error.as_deref()).unwrap_or_default();
                self.builder.fail(None, message);
                let event = self.builder.event(EventKind::Error, at);
                event.message = Some(brief(message)).filter(|it| !it.is_empty());
            }
            "error" => {
                let message = record.message.as_str();
                // The client repeats the request and reports it.
                let is_retry = message.starts_with("Reconnecting");
                let event = self.builder.event(if is_retry { EventKind::Retry } else { EventKind::Error }, at);
                event.message = record.message.some().map(brief);
                if !is_retry {
                    self.last_error = Some(message.to_owned());
                }
            }
            "item.started" | "item.updated" | "item.completed" => self.item(&record.item, record.kind.as_str(), line),
            _ => {}
        }
    }

    fn item(&mut self, item: &Item<'_>, record: &str, line: Line<'_>) {
        let is_completed = record == "item.completed";
        let at = At { line: line.number, time: None };
        let (tool, category) = match item.kind.as_str() {
            "command_execution" => ("command_execution", "shell"),
            "file_change" => ("file_change", "edit"),
            "web_search" => ("web_search", "web"),
            "mcp_tool_call" => (item.tool.some().unwrap_or("mcp_tool_call"), "mcp"),
            "collab_tool_call" => (item.tool.some().unwrap_or("collab_tool_call"), "subagent"),
            "agent_message" if is_completed => return self.builder.set_answer(item.text.as_str()),
            // A warning (deprecation, another model, an unknown one), not a failed run.
            "error" if is_completed => {
                let event = self.builder.event(EventKind::Error, at);
                event.code = Some("warning".into());
                event.message = item.message.some().map(brief);
                return;
            }
            _ => return,
        };
        let call = self.builder.call(item.id.as_str(), tool, at);
        let row = &mut self.builder.session.tool_calls[call];
        row.category = category.into();
        row.mcp_server = item.server.owned().or_else(|| row.mcp_server.take());
        match item.kind.as_str() {
            "command_execution" => {
                row.exit_code = item.exit_code.whole().into();
                self.builder.command(call, item.command, &item.command.text());
            }
            "mcp_tool_call" => drop(self.builder.arguments(call, item.arguments)),
            "collab_tool_call" => {
                self.builder.arguments(call, item.prompt);
                for child in item.receiver_thread_ids.iter().filter_map(Text::some) {
                    subagents::add(&mut self.builder, child, item.id.some(), at);
                }
            }
            "web_search" => drop(self.builder.arguments(call, item.query)),
            _ => {}
        }
        for change in &item.changes {
            self.builder.change(call, change.path.as_str(), Operation::from_word(change.kind.as_str()), None, at);
        }
        let status = match item.status.as_str() {
            "declined" => CallStatus::Denied,
            "failed" => CallStatus::Error,
            _ if !item.error.is_empty() => CallStatus::Error,
            "in_progress" => CallStatus::Incomplete,
            // A search has no status: it succeeded when it is completed.
            _ if is_completed => CallStatus::Ok,
            _ => CallStatus::Incomplete,
        };
        let output =
            [item.aggregated_output, item.result, item.error].into_iter().find(|it| !it.is_empty()).unwrap_or_default();
        self.builder.result(call, if is_completed { output } else { Raw::default() }, None, status);
        if status == CallStatus::Denied {
            self.builder.deny(call, at, None);
        }
    }

    fn finish(mut self) -> SessionResult {
        if let Some(error) = &self.last_error {
            // The process ended with an error before the end of the turn.
            self.builder.fail(None, error);
        }
        let session = &mut self.builder.session;
        session.stated_turns = (self.completed > 0).then_some(self.completed);
        session.under_reports = session.status == Status::Incomplete;
        self.builder.finish()
    }
}
