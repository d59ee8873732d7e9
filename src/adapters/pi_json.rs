//! pi's recorded event stream, `pi -p --mode json`, which openclaw's embedded agent emits as well.
//!
//! A message stands in `message_start`, `message_update`, `message_end`, `turn_end` and `agent_end`; only `message_end`
//! of the role `assistant` is billed (accounting B23). Costs are per message and add up. There may be several
//! `agent_start` … `agent_end` in one stream: retries and follow-ups.

use std::borrow::Cow;

use serde::Deserialize;

use super::{Adapter, Context, Damage, Fold, Probe, Seen, fold, hashed_id};
use crate::builder::{Builder, brief};
use crate::health::Reason;
use crate::json::Raw;
use crate::lines::Line;
use crate::session::{
    CallStatus, Cost, CostParts, EventKind, Identity, Operation, SessionResult, Shows, Status, Tokens,
};
use crate::tools;
use crate::wire::{Content, Count, Flag, Maybe, Number, Text, When};

/// What the event stream can show, whoever emits it.
pub(super) const SHOWS: Shows =
    Shows::TOOL_CALLS.and(Shows::FILE_CHANGES).and(Shows::COMPACTIONS).and(Shows::RETRIES).and(Shows::USER_TURNS);

pub(super) const ADAPTER: Adapter = Adapter {
    id: "pi-json",
    runtime: "pi",
    about: "pi, pi -p --mode json",
    shows: SHOWS,
    claims: |probe| 2 * u32::from(is_event(probe)),
    parse: fold::<Events>,
};

/// Whether a record is one of the stream's.
pub(super) fn is_event(probe: &Probe<'_>) -> bool {
    match probe.text("type").as_ref() {
        "agent_start" | "agent_end" | "agent_settled" | "turn_start" => !probe.has("sessionId"),
        "turn_end" | "message_start" | "message_end" => probe.has("message"),
        "message_update" => probe.has("message") || probe.has("assistantMessageEvent"),
        "tool_execution_start" | "tool_execution_update" | "tool_execution_end" => probe.has("toolCallId"),
        "auto_compaction_start" | "auto_compaction_end" | "auto_retry_start" | "auto_retry_end" => true,
        // The header `session` also begins the session files of pi and openclaw: what follows it decides.
        _ => false,
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Record<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    // session
    #[serde(borrow)]
    id: Text<'a>,
    timestamp: When,
    #[serde(borrow)]
    cwd: Text<'a>,
    #[serde(borrow)]
    parent_session: Text<'a>,
    // message_*
    #[serde(borrow)]
    message: Message<'a>,
    // tool_execution_*
    #[serde(borrow)]
    tool_call_id: Text<'a>,
    #[serde(borrow)]
    tool_name: Text<'a>,
    #[serde(borrow)]
    args: Raw<'a>,
    /// Of a call, or of a compaction.
    #[serde(borrow)]
    result: Outcome<'a>,
    is_error: Flag,
    // compaction, retry
    #[serde(borrow)]
    reason: Text<'a>,
    #[serde(borrow)]
    error_message: Text<'a>,
    // thinking level
    #[serde(borrow)]
    level: Text<'a>,
    #[serde(borrow)]
    thinking_level: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Message<'a> {
    #[serde(borrow)]
    role: Text<'a>,
    #[serde(borrow)]
    content: Content<'a, Block<'a>>,
    #[serde(borrow)]
    provider: Text<'a>,
    #[serde(borrow)]
    model: Text<'a>,
    #[serde(borrow)]
    response_id: Text<'a>,
    usage: Maybe<Usage>,
    #[serde(borrow)]
    stop_reason: Text<'a>,
    #[serde(borrow)]
    error_message: Text<'a>,
    timestamp: When,
    // role toolResult
    #[serde(borrow)]
    tool_call_id: Text<'a>,
    #[serde(borrow)]
    tool_name: Text<'a>,
    #[serde(borrow)]
    details: Details<'a>,
    is_error: Flag,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    text: Text<'a>,
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    arguments: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Outcome<'a> {
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(borrow)]
    details: Details<'a>,
    tokens_before: Count,
    tokens_after: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Details<'a> {
    #[serde(borrow)]
    diff: Text<'a>,
    exit_code: Number,
    duration_ms: Number,
}

/// Usage under the names of pi, and under those of Anthropic that openclaw's Claude runtime passes on.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Usage {
    input: Count,
    output: Count,
    cache_read: Count,
    cache_write: Count,
    #[serde(rename = "cacheWrite1h")]
    cache_write_1h: Count,
    reasoning: Count,
    reasoning_tokens: Count,
    #[serde(rename = "input_tokens")]
    input_tokens: Count,
    #[serde(rename = "output_tokens")]
    output_tokens: Count,
    #[serde(rename = "cache_read_input_tokens")]
    cache_read_input_tokens: Count,
    #[serde(rename = "cache_creation_input_tokens")]
    cache_creation_input_tokens: Count,
    cost: Maybe<Price>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Price {
    input: Number,
    output: Number,
    cache_read: Number,
    cache_write: Number,
    total: Number,
}

impl Usage {
    fn tokens(&self, damage: &mut Damage) -> Tokens {
        let counts = [
            [self.input, self.input_tokens],
            [self.output, self.output_tokens],
            [self.cache_read, self.cache_read_input_tokens],
            [self.cache_write, self.cache_creation_input_tokens],
        ];
        if counts.as_flattened().contains(&Count::Impossible) {
            damage.note(Reason::BadNumber);
        }
        let [input, output, cache_read, cache_write] = counts.map(|[a, b]| a.get().or(b.get()));
        Tokens {
            input,
            output,
            cache_read,
            cache_write,
            cache_write_1h: self.cache_write_1h.get(),
            reasoning: self.reasoning.get().or(self.reasoning_tokens.get()),
        }
    }

    fn cost(&self) -> Option<Cost> {
        let price = self.cost.get()?;
        let part = |it: Number| it.money();
        let parts = match (part(price.input), part(price.output), part(price.cache_read), part(price.cache_write)) {
            (Some(input), Some(output), cache_read, cache_write) => Some(CostParts {
                input,
                output,
                cache_read: cache_read.unwrap_or(0.0),
                cache_write: cache_write.unwrap_or(0.0),
                web_search: 0.0,
            }),
            _ => None,
        };
        Some(Cost { total: price.total.money()?, parts })
    }
}

/// The fold over the event stream.
pub(super) struct Events {
    context: Context,
    sessions: Vec<Session>,
}

struct Session {
    builder: Builder,
    effort: Option<String>,
    /// Whether the last run of the agent came to its end.
    has_ended: bool,
    /// The event of a compaction that has not ended.
    compacting: Option<usize>,
}

impl Fold for Events {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: *context, sessions: Vec::new() }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut Damage) -> Seen {
        match record.kind.as_str() {
            "session" => {
                self.header(&record, line);
                return Seen::Known;
            }
            "agent_start" => {
                if let Some(session) = self.sessions.last_mut() {
                    session.has_ended = false;
                }
                return Seen::Known;
            }
            "turn_start"
            | "turn_end"
            | "message_start"
            | "message_update"
            | "tool_execution_update"
            | "agent_settled"
            | "auto_retry_end"
            | "queue_update"
            | "session_info_changed"
            | "extension_error"
            | "extension_ui_request"
            | "response" => return Seen::Known,
            "agent_end"
            | "message_end"
            | "tool_execution_start"
            | "tool_execution_end"
            | "auto_compaction_start"
            | "auto_compaction_end"
            | "compaction_start"
            | "compaction_end"
            | "auto_retry_start"
            | "thinking_level_change"
            | "thinking_level_changed" => {}
            _ => return Seen::Unknown,
        }
        if self.sessions.is_empty() {
            // Before pi 0.45.1 the stream had no header.
            self.begin(hashed_id(line.bytes), line);
        }
        let Some(session) = self.sessions.last_mut() else { return Seen::Known };
        match record.kind.as_str() {
            "message_end" => match record.message.role.as_str() {
                "assistant" => session.assistant(&record.message, line, damage),
                "toolResult" => session.tool_result(&record.message, line),
                "user" => session.user(&record.message),
                _ => {}
            },
            "tool_execution_start" => {
                let call =
                    session.builder.call(record.tool_call_id.as_str(), record.tool_name.as_str(), line.number, None);
                session.builder.arguments(call, record.args);
            }
            "tool_execution_end" => {
                let call =
                    session.builder.call(record.tool_call_id.as_str(), record.tool_name.as_str(), line.number, None);
                session.outcome(call, record.result.content, &record.result.details, record.is_error, None, line);
            }
            "agent_end" => session.has_ended = true,
            "auto_retry_start" => {
                let event = session.builder.event(EventKind::Retry, line.number, None);
                event.message = record.error_message.some().map(brief);
                event.code = record.error_message.some().and_then(status_in);
            }
            "thinking_level_change" | "thinking_level_changed" => {
                session.effort = record.thinking_level.owned().or_else(|| record.level.owned());
            }
            kind => session.compaction(&record, kind.ends_with("_end"), line),
        }
        Seen::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.sessions.into_iter().map(Session::finish).collect()
    }
}

impl Events {
    fn begin(&mut self, id: String, line: Line<'_>) {
        let builder = Builder::new(&self.context, id, line.number);
        self.sessions.push(Session { builder, effort: None, has_ended: false, compacting: None });
    }

    fn header(&mut self, record: &Record<'_>, line: Line<'_>) {
        let id = record.id.owned().unwrap_or_else(|| hashed_id(line.bytes));
        if let Some(index) = self.sessions.iter().position(|it| it.builder.session.session_id == id) {
            // The same session again: resumed, or the recording twice. Its messages are known by their times.
            let session = self.sessions.remove(index);
            self.sessions.push(session);
        } else {
            self.begin(id, line);
        }
        let Some(session) = self.sessions.last_mut() else { return };
        session.has_ended = false;
        session.builder.saw(record.timestamp.0);
        let session = &mut session.builder.session;
        session.cwd = record.cwd.owned().or_else(|| session.cwd.take());
        session.parent_session_id = record.parent_session.some().map(session_of_path);
    }
}

impl Session {
    fn assistant(&mut self, message: &Message<'_>, line: Line<'_>, damage: &mut Damage) {
        // Pseudo rows for delivery: copies, not responses (B24).
        if message.provider.as_str() == "openclaw" {
            return;
        }
        let time = message.timestamp.0;
        self.builder.saw(time);
        let tokens = match &message.usage {
            Maybe::Absent => Tokens::UNKNOWN,
            Maybe::Wrong => {
                damage.note(Reason::NoUsage);
                Tokens::UNKNOWN
            }
            Maybe::Present(usage) => usage.tokens(damage),
        };
        let is_empty = tokens.total().unwrap_or(0) == 0;
        let stop = message.stop_reason.as_str();
        self.builder.session.stop_reason =
            message.stop_reason.owned().or_else(|| self.builder.session.stop_reason.take());
        self.ending(stop, message, line);
        if is_empty && matches!(stop, "error" | "aborted") {
            return;
        }
        // The same message may be recorded twice; its time is what the session file knows it by, too.
        let identity = time.map_or(Identity::Unique, |it| Identity::Session(it.0.to_string()));
        let index = self.builder.turn(identity, line.number);
        let turn = &mut self.builder.session.turns[index];
        if !is_empty {
            turn.tokens = tokens;
        }
        turn.message_id = message.response_id.owned();
        turn.provider = message.provider.owned();
        turn.model = message.model.owned();
        turn.effort.clone_from(&self.effort);
        turn.occurred_at = time;
        turn.stop_reason = message.stop_reason.owned();
        turn.cost = message.usage.get().and_then(Usage::cost);
        for block in &message.content.blocks {
            if block.kind.as_str() == "toolCall" {
                let call = self.builder.call(block.id.as_str(), block.name.as_str(), line.number, time);
                self.builder.session.tool_calls[call].turn = Some(index);
                let arguments = self.builder.arguments(call, block.arguments);
                let category = tools::category(block.name.as_str());
                if let Some(file) = arguments.file()
                    && matches!(category, "edit" | "write")
                {
                    // A write does not say whether the file was there.
                    let operation = (category == "edit").then_some(Operation::Update);
                    self.builder.change(call, file, operation, None, line.number, time);
                }
            }
        }
        if let Some(text) = said(&message.content) {
            self.builder.say(&text);
        }
    }

    /// What a response's end means for the run: `stopReason` is the only sign that it failed.
    fn ending(&mut self, stop: &str, message: &Message<'_>, line: Line<'_>) {
        let words = message.error_message.as_str();
        match stop {
            "error" => {
                self.builder.fail(None, words);
                let event = self.builder.event(EventKind::Error, line.number, message.timestamp.0);
                event.message = message.error_message.some().map(brief);
                event.code = message.error_message.some().and_then(status_in);
            }
            "aborted" => {
                self.builder.fail_as(crate::errors::ErrorKind::Cancelled, words);
                self.builder.session.status = Status::Aborted;
                let event = self.builder.event(EventKind::Abort, line.number, message.timestamp.0);
                event.message = message.error_message.some().map(brief);
            }
            _ => self.builder.succeed(),
        }
    }

    fn tool_result(&mut self, message: &Message<'_>, line: Line<'_>) {
        self.builder.saw(message.timestamp.0);
        let Some(call) = self.builder.call_index(message.tool_call_id.as_str()) else { return };
        if self.builder.session.tool_calls[call].status == CallStatus::Incomplete {
            let content = message.content.blocks.iter().find_map(|it| it.text.some()).unwrap_or_default();
            self.outcome(call, Raw::default(), &message.details, message.is_error, Some(content), line);
        }
        let row = &mut self.builder.session.tool_calls[call];
        row.ended_at = row.ended_at.or(message.timestamp.0);
    }

    fn outcome(
        &mut self,
        call: usize,
        content: Raw<'_>,
        details: &Details<'_>,
        is_error: Flag,
        text: Option<&str>,
        line: Line<'_>,
    ) {
        self.builder.result(call, content, None, CallStatus::from_error(is_error.is_true()));
        let row = &mut self.builder.session.tool_calls[call];
        row.duration_ms = details.duration_ms.rounded().or(row.duration_ms);
        row.exit_code = details.exit_code.whole().or(row.exit_code);
        if row.category == "shell" && row.exit_code.is_none() && is_error.is_true() {
            let content = text.map_or_else(|| content.text(), Cow::Borrowed);
            row.exit_code = exit_code_in(&content);
        }
        if let (Some(diff), Some(path)) = (details.diff.some(), row.target.clone()) {
            let lines = tools::diff_lines(diff.lines());
            self.builder.change(call, &path, None, Some(lines), line.number, None);
        }
    }

    fn user(&mut self, message: &Message<'_>) {
        self.builder.saw(message.timestamp.0);
        let text = said(&message.content);
        self.builder.prompt(text.as_deref());
    }

    /// A start and its end are one.
    fn compaction(&mut self, record: &Record<'_>, is_end: bool, line: Line<'_>) {
        let open = self.compacting.take();
        let event = match open.filter(|_| is_end) {
            Some(index) => &mut self.builder.session.events[index],
            None => self.builder.event(EventKind::Compaction, line.number, None),
        };
        event.code = event.code.take().or_else(|| record.reason.owned());
        event.tokens_before = record.result.tokens_before.get();
        event.tokens_after = record.result.tokens_after.get();
        if !is_end {
            self.compacting = Some(self.builder.session.events.len() - 1);
        }
    }

    fn finish(self) -> SessionResult {
        let has_ended = self.has_ended;
        let mut session = self.builder.finish();
        if !has_ended {
            session.status = Status::Incomplete;
        }
        // Events of the stream carry no time: they happened by the end of the session.
        session
    }
}

/// The texts of a message.
fn said(content: &Content<'_, Block<'_>>) -> Option<String> {
    if let Some(text) = &content.text {
        return Some(text.clone().into_owned());
    }
    let texts: Vec<_> =
        content.blocks.iter().filter(|it| it.kind.as_str() == "text").filter_map(|it| it.text.some()).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// The HTTP status at the beginning of a provider's error.
fn status_in(message: &str) -> Option<String> {
    let head = message.get(..3)?;
    let is_status =
        head.bytes().all(|it| it.is_ascii_digit()) && !message[3..].starts_with(|it: char| it.is_ascii_digit());
    is_status.then(|| head.to_owned())
}

/// pi's shell tool ends a failed command's output with its exit status.
fn exit_code_in(text: &str) -> Option<i64> {
    let (_, rest) = text.rsplit_once("Command exited with code ")?;
    rest.split(|it: char| !it.is_ascii_digit()).next()?.parse().ok()
}

/// The session's id in the name of its file, `<time>_<id>.jsonl`.
fn session_of_path(path: &str) -> String {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let name = name.strip_suffix(".jsonl").unwrap_or(name);
    name.rsplit('_').next().unwrap_or(name).to_owned()
}
