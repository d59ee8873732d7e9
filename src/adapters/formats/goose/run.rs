//! goose's stdout: the events of `goose run --output-format stream-json`, and the object of `--output-format json`
//! (docs/formats/goose.md#goose-run).
//!
//! The rules are those of goose's source: `StreamEvent`, `JsonOutput` and `process_agent_response` in
//! `crates/goose-cli/src/session/mod.rs`. Neither form has a session id, a model or a directory. The counts are sums over all requests
//! of the session, also of earlier runs, and in newer versions of the sessions that it started. So an output is a summary of runs of
//! the session: where its log is present, the messages identify it, and it has the rows and the tokens.
//!
//! # `goose-run`
//!
//! `goose run --output-format stream-json`: `message` with a message of goose, `notification` with `extension_id`, `error`, and at the
//! end `complete` with the counts. `--output-format json`: an object with `messages` and `metadata`, whose `status` is `completed` or
//! `error`. Recognised by these keys and the blocks of the messages: an `error`, or a `complete` with `total_tokens` only, is not
//! recognised alone. From goose's source.
//!
//! - The id is a hash of the first message with its time. An answer is in several messages of one id. Messages are read as those of
//!   `goose-db`; the stream has no prompts. Messages after a `complete` are those of another run.
//! - Tokens and the cost are those of the session, in a row of grain `session`. Where the session's database, file or export is
//!   present, they do not count. Of several outputs of one session, the largest sums count: outputs that begin with the same message, or
//!   of which one has all messages of the other. A resumed run in the stream alone has nothing in common with the runs before, so that
//!   its sums count again.
//! - Status: `error` if there is an `error`, if the status is `error`, or if goose ended the run (`max_turns`); `success` after
//!   `complete` or `completed`; else `incomplete`.

use serde::Deserialize;

use super::part::Part;
use super::records::{Message, Record, Usage, is_content, is_hidden};
use crate::adapters::engine::document::LineNumbers;
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Last, brief, money};
use crate::adapters::shared::ids::{counts_name, hashed_id};
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Count, Number, Text};
use crate::json::lines::Line;
use crate::model::session::{Capabilities, EventKind, ModelTotal, SessionResult, Tokens, Total};

pub(crate) const RUN: Adapter = Adapter {
    id: "goose-run",
    runtime: "goose",
    about: "goose, goose run --output-format stream-json and json",
    tested: None,
    capabilities: Capabilities::TOOL_CALLS
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::PERMISSION_DENIALS)
        .and(Capabilities::RUNS_ONLY),
    places: &[],
    claims: |probe| match probe.kind() {
        "message" => 6 * u32::from(is_message(&probe.object("message")) && has_only(probe, &["type", "message"])),
        "notification" => 3 * u32::from(probe.has("extension_id") && (probe.has("log") || probe.has("progress"))),
        // An `error` claims nothing, and neither does a `complete` of older versions: other programs write the same.
        "complete" => 2 * u32::from(is_complete(probe)),
        _ => 6 * u32::from(is_output(probe)),
    },
    parse: fold::<Run>,
};

/// The members of a `complete` event.
const COMPLETE: [&str; 7] = [
    "type",
    "total_tokens",
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_write_input_tokens",
    "cost_usd",
];

fn is_complete(probe: &Probe<'_>) -> bool {
    let has_counts = probe.has_all(&["total_tokens", "input_tokens", "output_tokens"]);
    has_counts && probe.keys().all(|key| COMPLETE.contains(&key))
}

fn has_only(probe: &Probe<'_>, keys: &[&str]) -> bool {
    probe.has_all(keys) && probe.keys().count() == keys.len()
}

fn is_message(message: &Probe<'_>) -> bool {
    message.has_all(&["role", "created", "content"]) && is_content(message)
}

/// Whether a document is the output of `--output-format json`.
fn is_output(probe: &Probe<'_>) -> bool {
    let metadata = probe.object("metadata");
    let messages: Vec<Raw<'_>> = probe.raw("messages").read();
    let has_metadata = metadata.has_all(&["status", "total_tokens"]);
    let is_own = |message: &Raw<'_>| Probe::new(message.0, probe.path()).is_some_and(|message| is_message(&message));
    has_metadata && has_only(probe, &["messages", "metadata"]) && messages.last().is_none_or(is_own)
}

/// An event, or the whole output.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Event<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    message: Raw<'a>,
    error: Text<'a>,
    // --output-format json
    messages: Raw<'a>,
    metadata: Raw<'a>,
}

/// The counts of a `complete` event or of `metadata`, and the status of the latter.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct End<'a> {
    total_tokens: Count,
    input_tokens: Count,
    output_tokens: Count,
    cache_read_input_tokens: Count,
    cache_write_input_tokens: Count,
    cost_usd: Number,
    status: Text<'a>,
}

/// The state of an output.
pub(super) struct Run {
    context: Context,
    conversation: Option<Part>,
    /// Whether the conversation has an end.
    has_end: bool,
    finished: Vec<SessionResult>,
}

impl Fold for Run {
    type Record<'a> = Event<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), conversation: None, has_end: false, finished: Vec::new() }
    }

    fn record(&mut self, line: Line<'_>, event: Event<'_>, damage: &mut RecordErrors) -> RecordKind {
        match event.kind.as_str() {
            "message" => {
                if self.has_end {
                    self.finish_run();
                }
                self.message(event.message, line.number, damage);
            }
            "error" if event.error.is_some() => {
                let conversation = self.conversation(line.bytes, line.number);
                let at = At { line: line.number, time: conversation.builder.session.ended_at };
                conversation.builder.fail(None, event.error.as_str());
                conversation.builder.event(EventKind::Error, at).message = Some(brief(event.error.as_str()));
                conversation.last = Last::Error;
                self.has_end = true;
            }
            "complete" => {
                let conversation = self.conversation(line.bytes, line.number);
                end(conversation, &Raw(line.bytes).read(), line.number, damage);
                self.has_end = true;
            }
            "notification" => {}
            "" if !event.messages.is_empty() => {
                let mut line_numbers = LineNumbers::new(line);
                for message in event.messages.read::<Vec<Raw<'_>>>() {
                    self.message(message, line_numbers.line_of(message), damage);
                }
                let conversation = self.conversation(line.bytes, line.number);
                let session = &mut conversation.builder.session;
                session.capabilities = session.capabilities.and(Capabilities::USER_TURNS);
                end(conversation, &event.metadata.read(), line_numbers.line_of(event.metadata), damage);
                self.has_end = true;
                self.finish_run();
            }
            _ => return RecordKind::Unknown,
        }
        RecordKind::Known
    }

    fn finish(mut self) -> Vec<SessionResult> {
        self.finish_run();
        self.finished
    }
}

impl Run {
    /// The conversation, which begins with this record.
    fn conversation(&mut self, record: &[u8], line: i64) -> &mut Part {
        let context = &self.context;
        self.conversation.get_or_insert_with(|| Part::new(context, &hashed_id(record), line))
    }

    fn message(&mut self, raw: Raw<'_>, line: i64, damage: &mut RecordErrors) {
        let record: Record<'_> = raw.read();
        let has_stored_id = !record.id.is_empty();
        let id = if has_stored_id { record.id.text().into_owned() } else { hashed_id(raw.0) };
        let message = Message {
            id: &id,
            has_stored_id,
            role: record.role.as_str(),
            time: record.created.0,
            content: record.content,
            is_hidden: is_hidden(&record.metadata),
        };
        // The rest of a message changes when goose compacts the conversation.
        let name = format!("{id} {:?}", message.time.map(Time::micros));
        self.conversation(name.as_bytes(), line).message(&message, line, damage);
    }

    fn finish_run(&mut self) {
        let Some(mut conversation) = self.conversation.take() else { return };
        if !self.has_end && conversation.last == Last::Answer {
            conversation.last = Last::Work;
        }
        self.has_end = false;
        self.finished.push(conversation.finish());
    }
}

/// Adds the end of a run, with the sums of its session.
fn end(conversation: &mut Part, end: &End<'_>, line: i64, damage: &mut RecordErrors) {
    let has_failed = end.status.as_str() == "error";
    match conversation.last {
        Last::Error | Last::Abort => {}
        _ if has_failed => {
            conversation.builder.fail(None, "");
            conversation.last = Last::Error;
        }
        _ => conversation.last = Last::Answer,
    }
    let usage = Usage {
        total: end.total_tokens,
        input: end.input_tokens,
        output: end.output_tokens,
        cache_read: end.cache_read_input_tokens,
        cache_write: end.cache_write_input_tokens,
    };
    let (tokens, cost) = (usage.tokens(damage), money(end.cost_usd, damage));
    let session = &mut conversation.builder.session;
    if tokens.total().is_some() || cost.is_some() {
        session.totals.push(Total {
            line,
            key: format!("goose run {} {} {cost:?}", session.session_id, counts_name(tokens)),
            cost,
            models: vec![ModelTotal { tokens, cost, ..ModelTotal::default() }],
            covers_subagents: true,
            // Sums of a later run contain those of an earlier one.
            own: Tokens { input: Some(0), ..Tokens::UNKNOWN },
            ..Total::default()
        });
    }
}
