//! Sessions of Codex's CLI before it was rewritten in Rust: one document with the items of the conversation.
//!
//! # `codex-session`
//!
//! Codex in TypeScript and its forks, until August 2025: `~/.codex/sessions/rollout-DATE-UUID.json`, one document. Recognised by
//! `items` and a `session` with `id` and `timestamp`. Seen: 10 files of a fork, with the items of Chat Completions; those of the
//! Responses API from Codex's documentation.
//!
//! | what | from |
//! | --- | --- |
//! | session, start | `session.id`, `session.timestamp`. The items have no times |
//! | call | `tool_calls` of an answer, or items of the type `function_call` and `local_shell_call` |
//! | result | items with the role `tool`, or of the type `function_call_output`: `output` of the JSON in the text, with `metadata.exit_code`, which is an `error` unless it is 0, and `metadata.duration_seconds`. A text that is no JSON is an `error` if it begins with `aborted` |
//! | user turns | items with the role `user`, except those that begin with `<environment_context>` or `<user_instructions>` |
//! | status | the last item: an answer without calls is `success`, anything else `incomplete` |
//!
//! *Unknown*: tokens, models, times. A session that went on in another file has the items of both in it, under an id of its own: prompts
//! and calls of the first part count in both, as nothing states which part is a copy.

use serde::Deserialize;

use crate::adapters::engine::document::LineNumbers;
use crate::adapters::engine::{
    Adapter, Context, FinishedSessions, Probe, RecordErrors, RecordKind, SessionRecords, session_records,
};
use crate::adapters::shared::at::At;
use crate::adapters::shared::blocks::TextBlock;
use crate::adapters::shared::builder::{Builder, Last};
use crate::adapters::shared::chat_completions::ToolCall;
use crate::adapters::shared::ids::hashed_id;
use crate::json::fields::{Number, Text, TextOrBlocks, When};
use crate::json::lines::Line;
use crate::json::{self, Raw};
use crate::model::session::{CallStatus, Capabilities, Identity, SessionResult};

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "codex-session",
    runtime: "codex",
    about: "Codex in TypeScript until August 2025, sessions/rollout-*.json under ~/.codex",
    tested: None,
    capabilities: Capabilities::TOOL_CALLS.and(Capabilities::USER_TURNS).and(Capabilities::KEPT_BY_RUNTIME),
    places: &[],
    claims,
    parse: session_records::<Documents>,
};

/// How texts of the user begin that the program wrote.
const OF_PROGRAM: &[&str] = &["<environment_context>", "<user_instructions>"];

/// How the result of a call begins that the user stopped.
const ABORTED: &str = "aborted";

fn claims(probe: &Probe<'_>) -> u32 {
    let is_own = probe.is_list("items") && probe.object("session").has_all(&["id", "timestamp"]);
    5 * u32::from(is_own)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Document<'a> {
    session: Header<'a>,
    items: Vec<Raw<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Header<'a> {
    id: Text<'a>,
    timestamp: When,
}

/// A message, a call or a result.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Item<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    role: Text<'a>,
    content: TextOrBlocks<'a, TextBlock<'a>>,
    tool_calls: Vec<ToolCall<'a>>,
    tool_call_id: Text<'a>,
    // Items of the Responses API.
    id: Text<'a>,
    call_id: Text<'a>,
    name: Text<'a>,
    arguments: Raw<'a>,
    action: Raw<'a>,
    output: Raw<'a>,
}

/// What a shell call returned.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Output {
    metadata: Metadata,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata {
    exit_code: Number,
    duration_seconds: Number,
}

enum Documents {}

impl SessionRecords for Documents {
    type Record<'a> = Document<'a>;

    fn record(log: &mut FinishedSessions, line: Line<'_>, document: Document<'_>, _: &mut RecordErrors) -> RecordKind {
        if document.session.timestamp.0.is_none() {
            return RecordKind::Unknown;
        }
        let id = document.session.id.owned().unwrap_or_else(|| hashed_id(line.bytes));
        let mut session = Session::new(&log.context, &id, line.number);
        session.builder.extend_to(document.session.timestamp.0);
        let mut line_numbers = LineNumbers::new(line);
        for raw in &document.items {
            session.item(&raw.read(), *raw, line_numbers.line_of(*raw));
        }
        log.sessions.push(session.finish());
        RecordKind::Known
    }
}

struct Session {
    builder: Builder,
    prompts: usize,
    last: Last,
}

impl Session {
    fn new(context: &Context, id: &str, line: i64) -> Self {
        Self { builder: Builder::new(context, id, line), prompts: 0, last: Last::Work }
    }

    fn item(&mut self, item: &Item<'_>, raw: Raw<'_>, line: i64) {
        let at = At { line, time: None };
        match (item.kind.as_str(), item.role.as_str()) {
            ("function_call", _) => self.call(id_of(item), item.name.as_str(), item.arguments, at),
            ("local_shell_call", _) => self.call(id_of(item), "local_shell", item.action, at),
            ("function_call_output" | "local_shell_call_output", _) => self.result(id_of(item), item.output),
            ("" | "message", "user") => self.prompt(&item.text()),
            ("" | "message", "assistant") => {
                self.builder.set_answer(&item.text());
                self.last = Last::Answer;
                for call in &item.tool_calls {
                    self.call(call.id.as_str(), call.function.name.as_str(), call.function.arguments, at);
                }
            }
            ("" | "message", "tool") => {
                let content: Content<'_> = raw.read();
                self.result(item.tool_call_id.as_str(), content.content);
            }
            _ => {}
        }
    }

    fn prompt(&mut self, text: &str) {
        self.last = Last::Work;
        if OF_PROGRAM.iter().any(|start| text.trim_start().starts_with(start)) {
            return;
        }
        self.prompts += 1;
        self.builder.prompt_as(Identity::Session(format!("prompt {}", self.prompts).as_str().into()), Some(text));
    }

    fn call(&mut self, id: &str, tool: &str, arguments: Raw<'_>, at: At) {
        self.last = Last::Work;
        let call = self.builder.call_of(None, id, tool, arguments, at);
        // The arguments are JSON, mostly in a string.
        let text = arguments.text();
        self.builder.arguments(call, Raw(text.as_bytes()));
        self.builder.arguments_as_logged(call, arguments);
    }

    fn result(&mut self, id: &str, content: Raw<'_>) {
        self.last = Last::Work;
        let Some(call) = self.builder.call_index(id) else { return };
        let text = content.text();
        let output = json::from_slice::<Output>(text.as_bytes()).ok();
        let is_error = || text.trim_start().starts_with(ABORTED);
        let metadata = output.map(|output| output.metadata);
        let exit_code = metadata.as_ref().and_then(|metadata| metadata.exit_code.whole());
        let is_failed = metadata.is_none() && is_error() || exit_code.is_some_and(|code| code != 0);
        self.builder.result(call, content, None, CallStatus::from_error(is_failed));
        let row = &mut self.builder.session.tool_calls[call];
        row.exit_code = exit_code.into();
        let seconds = metadata.and_then(|metadata| metadata.duration_seconds.0);
        row.duration_ms = seconds.and_then(|seconds| Number(Some(seconds * 1000.0)).rounded()).into();
    }

    fn finish(mut self) -> SessionResult {
        self.builder.end(self.last);
        self.builder.finish()
    }
}

/// The content of a result, as logged.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Content<'a> {
    content: Raw<'a>,
}

impl Item<'_> {
    fn text(&self) -> String {
        self.content.joined(|block| block.text.as_str())
    }
}

fn id_of<'t>(item: &'t Item<'_>) -> &'t str {
    item.call_id.some().unwrap_or(item.id.as_str())
}
