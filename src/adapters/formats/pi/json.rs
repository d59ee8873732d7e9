//! pi's recorded event stream, `pi -p --mode json`, which openclaw's embedded agent emits as well.
//!
//! A message is in `message_start`, `message_update`, `message_end`, `turn_end` and `agent_end`; only `message_end` of the role
//! `assistant` is a response (`docs/accounting.md#identity-of-a-response`). Costs are per message and add up. There may be several
//! `agent_start` … `agent_end` in one stream: retries and follow-ups.
//!
//! # `pi-json`
//!
//! Recorded `pi -p --mode json`. Recognised by `agent_start` without other members, `message_end` with a `message` …, not by the
//! header `session` and not by `turn_start`, a type of which other programs write records.
//! Read as `pi-session`, from `message_end` only: `turn_end`, `agent_end` and `message_update` repeat it (identical sums). The
//! session is the header's `id`; before pi 0.45.1 a hash of the first event. Calls also come from `tool_execution_start` and
//! `_end`, retries from `auto_retry_start` and `summarization_retry_scheduled`, compactions from a `*_start` and its `*_end`. The
//! status is that of `pi-session`, but `incomplete` unless `agent_end` is the last event. The events have no times of their own:
//! `occurred_at` of turns and calls is the time of the request, and the duration of a call is unknown unless `details` contain
//! it.

use serde::Deserialize;

use super::common::{Agent, Details, SHOWS, session_of_path, status_in};
use super::session;
use crate::adapters::engine::sessions::{Sessions, streaming_sessions};
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::brief;
use crate::adapters::shared::ids::hashed_id;
use crate::json::fields::{Count, Flag, Number, Text, When};
use crate::json::lines::Line;
use crate::json::{self, Raw};
use crate::model::health::Reason;
use crate::model::session::{Capabilities, EventKind, SessionResult, Status};

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "pi-json",
    runtime: "pi",
    about: "pi, pi -p --mode json",
    tested: None,
    capabilities: SHOWS.and(Capabilities::RETRIES),
    places: &[],
    claims: |probe| if is_start(probe) { 3 } else { 2 * u32::from(is_event(probe)) },
    parse: fold::<Events>,
};

/// Whether a record is the start of the agent, which has no other member. It counts for the `turn_start` after it, too, a type of
/// which other programs write records.
fn is_start(probe: &Probe<'_>) -> bool {
    probe.kind() == "agent_start" && probe.keys().count() == 1
}

/// Whether a record belongs to the stream, by its type and a member that other programs do not write with it.
pub(crate) fn is_event(probe: &Probe<'_>) -> bool {
    match probe.kind() {
        "agent_start" => is_start(probe),
        "agent_end" => probe.has("messages") && !probe.has("sessionId"),
        "turn_end" | "message_start" | "message_end" => probe.has("message"),
        "message_update" => probe.has("message") || probe.has("assistantMessageEvent"),
        "tool_execution_start" | "tool_execution_update" | "tool_execution_end" => probe.has("toolCallId"),
        "auto_compaction_start" => probe.has("reason"),
        "auto_compaction_end" => probe.has("result") || probe.has("aborted"),
        "auto_retry_start" | "summarization_retry_scheduled" => probe.has("attempt"),
        "auto_retry_end" => probe.has("success"),
        // The header `session` also begins the session files of pi and openclaw: the records after it decide.
        _ => false,
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct Record<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    // session
    id: Text<'a>,
    timestamp: When,
    cwd: Text<'a>,
    parent_session: Text<'a>,
    // message_*
    /// Parsed for `message_end` only: other records repeat the message.
    message: Raw<'a>,
    // tool_execution_*
    tool_call_id: Text<'a>,
    tool_name: Text<'a>,
    args: Raw<'a>,
    /// Of a call, or of a compaction.
    result: Outcome<'a>,
    is_error: Flag,
    duration_ms: Number,
    // compaction, retry
    reason: Text<'a>,
    error_message: Text<'a>,
    /// Of `entry_appended`: an entry of the session's file.
    entry: Raw<'a>,
    // thinking level
    level: Text<'a>,
    thinking_level: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Outcome<'a> {
    content: Raw<'a>,
    details: Details<'a>,
    tokens_before: Count,
    tokens_after: Count,
    first_kept_entry_id: Text<'a>,
    usage: Raw<'a>,
}

/// The fold over the event stream.
pub(crate) struct Events {
    context: Context,
    sessions: Sessions<Session>,
}

struct Session {
    agent: Agent,
    /// Whether the last run of the agent ended.
    has_ended: bool,
    /// The event of a compaction that has not ended.
    compacting: Option<usize>,
}

impl Fold for Events {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), sessions: Sessions::new() }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        match record.kind.as_str() {
            "session" => {
                self.header(&record, line);
                return RecordKind::Known;
            }
            "agent_start" => {
                if let Some(session) = self.sessions.current(line.number) {
                    session.has_ended = false;
                }
                return RecordKind::Known;
            }
            "turn_start"
            | "turn_end"
            | "message_start"
            | "message_update"
            | "tool_execution_update"
            | "agent_settled"
            | "auto_retry_end"
            | "summarization_retry_attempt_start"
            | "summarization_retry_finished"
            | "bash_execution_update"
            | "queue_update"
            | "session_info_changed"
            | "extension_error"
            | "extension_ui_request"
            | "response" => return RecordKind::Known,
            "agent_end"
            | "message_end"
            | "tool_execution_start"
            | "tool_execution_end"
            | "auto_compaction_start"
            | "auto_compaction_end"
            | "compaction_start"
            | "compaction_end"
            | "auto_retry_start"
            | "summarization_retry_scheduled"
            | "entry_appended"
            | "thinking_level_change"
            | "thinking_level_changed" => {}
            _ => return RecordKind::Unknown,
        }
        if self.sessions.is_empty() {
            // Before pi 0.45.1 the stream had no header.
            self.session(&hashed_id(line.bytes), line);
        }
        let Some(session) = self.sessions.current(line.number) else { return RecordKind::Known };
        session.record(&record, line.number, damage);
        session.agent.builder.name_events(None, line.bytes);
        RecordKind::Known
    }

    streaming_sessions!(Session::finish);
}

impl Events {
    fn session(&mut self, id: &str, line: Line<'_>) -> Option<&mut Session> {
        self.sessions.get(id, line.number, || {
            let agent = Agent::new(&self.context, id.to_owned(), line.number);
            Session { agent, has_ended: false, compacting: None }
        })
    }

    fn header(&mut self, record: &Record<'_>, line: Line<'_>) {
        let id = record.id.owned().unwrap_or_else(|| hashed_id(line.bytes));
        // The same session again: resumed, or the recording repeated. Copies of messages have equal times.
        let Some(session) = self.session(&id, line) else { return };
        session.has_ended = false;
        session.agent.builder.extend_to(record.timestamp.0);
        let session = &mut session.agent.builder.session;
        session.cwd = record.cwd.owned().or_else(|| session.cwd.take());
        session.parent_session_id = record.parent_session.some().map(session_of_path);
    }
}

impl Session {
    fn record(&mut self, record: &Record<'_>, line: i64, damage: &mut RecordErrors) {
        let builder = &mut self.agent.builder;
        let at = At { line, time: None };
        match record.kind.as_str() {
            "message_end" => match json::from_slice(record.message.0) {
                Ok(message) => self.agent.message(&message, record.message, at, damage),
                Err(_) => damage.note(Reason::NoUsage),
            },
            "tool_execution_start" => {
                let call = builder.call(record.tool_call_id.as_str(), record.tool_name.as_str(), at);
                builder.arguments(call, record.args);
            }
            "tool_execution_end" => {
                let call = builder.call(record.tool_call_id.as_str(), record.tool_name.as_str(), at);
                let result = &record.result;
                self.agent.outcome(call, result.content, &result.details, record.is_error, at);
                let row = &mut self.agent.builder.session.tool_calls[call];
                row.duration_ms = row.duration_ms.get().or(record.duration_ms.rounded()).into();
            }
            "agent_end" => self.has_ended = true,
            "auto_retry_start" | "summarization_retry_scheduled" => {
                let event = builder.event(EventKind::Retry, at);
                event.message = record.error_message.some().map(brief);
                event.code = record.error_message.some().and_then(status_in);
            }
            "thinking_level_change" | "thinking_level_changed" => {
                self.agent.effort = record.thinking_level.owned().or_else(|| record.level.owned());
            }
            "entry_appended" => {
                // Other entries are events, too.
                let entry: session::Record<'_> = record.entry.read();
                if entry.kind.as_str() == "usage" {
                    session::request(&mut self.agent, &entry, line, damage);
                }
            }
            kind => self.compaction(record, kind.ends_with("_end"), line, damage),
        }
    }

    /// A start and its end are one.
    fn compaction(&mut self, record: &Record<'_>, is_end: bool, line: i64, damage: &mut RecordErrors) {
        let open = self.compacting.take();
        let builder = &mut self.agent.builder;
        let event = match open.filter(|_| is_end) {
            Some(index) => &mut builder.session.events[index],
            None => builder.event(EventKind::Compaction, At { line, time: None }),
        };
        event.code = event.code.take().or_else(|| record.reason.owned());
        event.tokens_before = record.result.tokens_before.get();
        event.tokens_after = record.result.tokens_after.get();
        if !is_end {
            self.compacting = Some(builder.session.events.len() - 1);
        }
        let first_kept = record.result.first_kept_entry_id.as_str();
        self.agent.summary(record.result.usage, first_kept, At { line, time: None }, damage);
    }

    fn finish(mut self) -> SessionResult {
        self.agent.deny_waiting();
        let mut session = self.agent.builder.finish();
        if !self.has_ended {
            session.status = Status::Incomplete;
        }
        session
    }
}
