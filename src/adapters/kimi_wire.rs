//! Kimi CLI's wire files, `~/.kimi/sessions/*/SESSION/wire.jsonl` and those of subagents below them.
//!
//! The rules are those of its source (1.52: `wire/types.py`, kosong's `TokenUsage`). A `StatusUpdate` that has a
//! `token_usage` is one response; its counts are disjoint, and its output has the reasoning. The record names no model. A
//! subagent's events stand in the parent's file and in its own, under the same message id; so do those of a fork. What a
//! compaction and a side question (`/btw`) cost stands nowhere.

use foldhash::{HashMap, HashMapExt as _};
use serde::Deserialize;

use super::{Adapter, Context, Damage, Fold, Probe, Seen, counts_name, fold, hashed_id};
use crate::adapters::common::builder::{Builder, brief};
use crate::adapters::common::tools;
use crate::base::text::{Shared, Word};
use crate::base::time::Time;
use crate::json::lines::Line;
use crate::json::wire::{Content, Count, Flag, Maybe, Number, Text, When};
use crate::json::{self, Raw};
use crate::model::errors::ErrorKind;
use crate::model::health::Reason;
use crate::model::session::{CallStatus, EventKind, Identity, Operation, SessionResult, Shows, Tokens};

pub(super) const ADAPTER: Adapter = Adapter {
    id: "kimi-wire",
    runtime: "kimi",
    about: "Kimi CLI, wire.jsonl under ~/.kimi/sessions",
    shows: Shows::TURNS
        .and(Shows::TOOL_CALLS)
        .and(Shows::FILE_CHANGES)
        .and(Shows::SUBAGENTS)
        .and(Shows::COMPACTIONS)
        .and(Shows::RETRIES)
        .and(Shows::PERMISSION_DENIALS)
        .and(Shows::USER_TURNS)
        .and(Shows::KEPT_BY_RUNTIME),
    claims,
    parse: fold::<Wire>,
};

fn claims(probe: &Probe<'_>) -> u32 {
    if probe.kind() == "metadata" && probe.has("protocol_version") {
        return 3;
    }
    // Other formats' messages are large, and are not gone over for this.
    if !probe.has("timestamp") || probe.has("type") {
        return 0;
    }
    let message = probe.object("message");
    let is_own = message.has("payload") && message.kind().starts_with(|it: char| it.is_ascii_uppercase());
    4 * u32::from(is_own)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Record<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    timestamp: When,
    #[serde(borrow)]
    message: Message<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    payload: Payload<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Payload<'a> {
    // TurnBegin, SteerInput
    #[serde(borrow)]
    user_input: Content<'a, Part<'a>>,
    // StatusUpdate
    token_usage: Maybe<Usage>,
    #[serde(borrow)]
    message_id: Text<'a>,
    max_context_tokens: Count,
    // ContentPart
    #[serde(borrow)]
    text: Text<'a>,
    // ToolCall, ApprovalRequest
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    function: Function<'a>,
    // ToolCallPart
    #[serde(borrow)]
    arguments_part: Text<'a>,
    #[serde(borrow)]
    tool_call_id: Text<'a>,
    // ToolResult
    #[serde(borrow)]
    return_value: Value<'a>,
    // ApprovalResponse
    #[serde(borrow)]
    request_id: Text<'a>,
    #[serde(borrow)]
    response: Text<'a>,
    #[serde(borrow)]
    feedback: Text<'a>,
    // StepRetry
    #[serde(borrow)]
    error_type: Text<'a>,
    status_code: Number,
    // SubagentEvent
    #[serde(borrow)]
    agent_id: Text<'a>,
    #[serde(borrow)]
    parent_tool_call_id: Text<'a>,
    #[serde(borrow)]
    task_tool_call_id: Text<'a>,
    #[serde(borrow)]
    subagent_type: Text<'a>,
    /// A message of its own.
    #[serde(borrow)]
    event: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Part<'a> {
    #[serde(borrow)]
    text: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Usage {
    input_other: Count,
    output: Count,
    input_cache_read: Count,
    input_cache_creation: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Function<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    /// JSON as a string.
    #[serde(borrow)]
    arguments: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Value<'a> {
    is_error: Flag,
    #[serde(borrow)]
    output: Raw<'a>,
    #[serde(borrow)]
    message: Text<'a>,
    #[serde(borrow)]
    display: Vec<Display<'a>>,
}

/// What people are shown of a result: a part of an edit, before and after.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Display<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    path: Text<'a>,
    #[serde(borrow)]
    old_text: Text<'a>,
    #[serde(borrow)]
    new_text: Text<'a>,
    is_summary: Flag,
}

/// Who speaks.
#[derive(Debug, Clone, Default)]
struct Agent {
    id: Option<Word>,
    kind: Option<Word>,
}

struct Wire {
    context: Context,
    builder: Option<Builder>,
    /// Approvals that were asked for, and their calls.
    approvals: Vec<(String, String)>,
    /// Whether the main agent's last step was answered, and how many calls it made.
    step: Option<usize>,
    turn: Option<usize>,
    is_failed: bool,
    /// The last call of each agent, whose arguments may go on in other records.
    growing: HashMap<Option<Word>, Growing>,
}

/// A call and the beginning of its arguments.
struct Growing {
    call: usize,
    arguments: String,
}

impl Fold for Wire {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self {
            context: *context,
            builder: None,
            approvals: Vec::new(),
            step: None,
            turn: None,
            is_failed: false,
            growing: HashMap::new(),
        }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut Damage) -> Seen {
        if record.kind.as_str() == "metadata" {
            return Seen::Known;
        }
        if record.message.kind.some().is_none() {
            return Seen::Unknown;
        }
        let context = self.context;
        let name = || context.folder_id.map_or_else(|| hashed_id(line.bytes), |it| it.to_string());
        let mut builder = self.builder.take().unwrap_or_else(|| Builder::new(&context, name(), line.number));
        builder.saw(record.timestamp.0);
        let agent = context.agent_id.map(|it| Agent { id: Some(it.to_string().into()), kind: None });
        let seen = self.message(&mut builder, &record.message, agent.as_ref(), line.number, record.timestamp.0, damage);
        builder.name_events(None, line.bytes);
        self.builder = Some(builder);
        seen
    }

    fn finish(self) -> Vec<SessionResult> {
        let Some(mut builder) = self.builder else { return Vec::new() };
        for growing in self.growing.into_values() {
            growing.end(&mut builder);
        }
        if self.is_failed {
            builder.fail_as(ErrorKind::Other, "");
        } else if self.step == Some(0) {
            // It wanted nothing more.
            builder.succeed();
        }
        vec![builder.finish()]
    }
}

impl Wire {
    fn message(
        &mut self,
        builder: &mut Builder,
        message: &Message<'_>,
        agent: Option<&Agent>,
        line: i64,
        time: Option<Time>,
        damage: &mut Damage,
    ) -> Seen {
        let it = &message.payload;
        let is_main = agent.is_none();
        match message.kind.as_str() {
            "TurnBegin" | "SteerInput" if is_main => {
                (self.step, self.is_failed) = (None, false);
                let parts = it.user_input.blocks.iter().map(|it| it.text.as_str());
                let text: String = it.user_input.text.as_deref().into_iter().chain(parts).collect();
                let identity =
                    time.map_or(Identity::Unique, |it| Identity::Global(format!("kimi {}", it.micros()).into()));
                builder.prompt_as(identity, Some(&text));
            }
            "StepBegin" if is_main => (self.step, self.is_failed) = (None, false),
            "StatusUpdate" => self.usage(builder, it, agent, line, time, damage),
            "TextPart" | "ContentPart" if is_main => builder.say(it.text.as_str()),
            "ToolCall" => {
                let id = agent.and_then(|agent| agent.id.clone());
                let growing = call(builder, it, agent, line, time);
                if let Some(before) = self.growing.insert(id, growing) {
                    before.end(builder);
                }
            }
            "ToolCallPart" => {
                let id = agent.and_then(|agent| agent.id.clone());
                if let Some(growing) = self.growing.get_mut(&id) {
                    growing.arguments.push_str(it.arguments_part.as_str());
                }
            }
            "ToolResult" => {
                let id = agent.and_then(|agent| agent.id.clone());
                let call = builder.call_index(&call_id(agent, &it.tool_call_id));
                if self.growing.get(&id).is_some_and(|growing| Some(growing.call) == call)
                    && let Some(growing) = self.growing.remove(&id)
                {
                    growing.end(builder);
                }
                result(builder, it, agent, line, time);
            }
            "ApprovalRequest" => {
                let asking = Agent { id: it.agent_id.owned(), kind: None };
                let call = call_id(asking.id.is_some().then_some(&asking), &it.tool_call_id);
                self.approvals.push((it.id.as_str().to_owned(), call));
            }
            "ApprovalResponse" | "ApprovalRequestResolved" if it.response.as_str() == "reject" => {
                let request = self.approvals.iter().find(|(request, _)| request == it.request_id.as_str());
                if let Some(call) = request.and_then(|(_, call)| builder.call_index(call)) {
                    builder.deny(call, line, time, it.feedback.some());
                }
            }
            "SubagentEvent" => {
                let agent = Agent { id: it.agent_id.owned(), kind: it.subagent_type.owned() };
                let parent = it.parent_tool_call_id.some().or_else(|| it.task_tool_call_id.some());
                if let Some(id) = it.agent_id.some().or(parent)
                    && builder.session.subagents.insert(id.into())
                {
                    let event = builder.event(EventKind::Subagent, line, time);
                    event.code = Some(id.into());
                    event.call_id = parent.map(Shared::from);
                }
                let inner: Message<'_> = it.event.read();
                self.message(builder, &inner, Some(&agent), line, time, damage);
            }
            "StepRetry" => {
                let event = builder.event(EventKind::Retry, line, time);
                event.code = it.status_code.whole().map(|it| it.to_string().into());
                event.message = it.error_type.some().map(brief);
                event.is_subagent = !is_main;
            }
            "StepInterrupted" if is_main => {
                self.is_failed = true;
                builder.event(EventKind::Error, line, time);
            }
            "CompactionBegin" => {
                builder.event(EventKind::Compaction, line, time).is_subagent = !is_main;
                builder.session.under_reports = true;
            }
            "BtwBegin" => builder.session.under_reports = true,
            kind if KNOWN.contains(&kind) => {}
            _ => return Seen::Unknown,
        }
        Seen::Known
    }

    fn usage(
        &mut self,
        builder: &mut Builder,
        it: &Payload<'_>,
        agent: Option<&Agent>,
        line: i64,
        time: Option<Time>,
        damage: &mut Damage,
    ) {
        let usage = match &it.token_usage {
            Maybe::Present(usage) => usage,
            // It says something else.
            Maybe::Absent => return,
            Maybe::Wrong => return damage.note(Reason::NoUsage),
        };
        damage.refuses(&[usage.input_other, usage.output, usage.input_cache_read, usage.input_cache_creation]);
        let tokens = Tokens {
            input: usage.input_other.get(),
            output: usage.output.get(),
            cache_read: usage.input_cache_read.get(),
            cache_write: usage.input_cache_creation.get(),
            ..Tokens::UNKNOWN
        };
        // Gateways use ids again: what a response cost is a part of its name.
        let name = |id: &str| format!("{id} {}", counts_name(tokens));
        let identity = match (it.message_id.some(), time) {
            (Some(id), _) => Identity::Global(name(id).into()),
            (None, Some(time)) => Identity::Global(name(&time.micros().to_string()).into()),
            (None, None) => Identity::Unique,
        };
        let index = builder.turn(identity, line);
        let turn = &mut builder.session.turns[index];
        turn.message_id = it.message_id.owned();
        turn.occurred_at = turn.occurred_at.or(time);
        turn.context_window = it.max_context_tokens.get().filter(|it| *it > 0).into();
        if !tokens.is_all_zero() {
            turn.tokens = tokens.into();
        }
        if let Some(agent) = agent {
            turn.is_subagent = true;
            (turn.agent, turn.agent_id) = (agent.kind.clone(), agent.id.clone());
        }
        // A step's calls are told before its usage.
        let of_agent = builder.session.tool_calls.iter_mut().rev().filter(|it| it.is_subagent == agent.is_some());
        of_agent.take_while(|it| it.turn.is_none()).for_each(|it| it.turn = index.into());
        if agent.is_none() {
            self.turn = Some(index);
            self.step =
                Some(builder.session.tool_calls.iter().rev().take_while(|it| it.turn.get() == self.turn).count());
        }
    }
}

impl Growing {
    /// Reads the arguments, which are all there. What the model wrote may be no JSON.
    fn end(self, builder: &mut Builder) {
        if json::value_end(self.arguments.as_bytes(), 0).is_ok() {
            builder.arguments(self.call, Raw(self.arguments.as_bytes()));
        }
    }
}

fn call(builder: &mut Builder, it: &Payload<'_>, agent: Option<&Agent>, line: i64, time: Option<Time>) -> Growing {
    let call = builder.call(&call_id(agent, &it.id), it.function.name.as_str(), line, time);
    let row = &mut builder.session.tool_calls[call];
    row.is_subagent = agent.is_some();
    row.agent = agent.and_then(|it| it.kind.clone());
    Growing { call, arguments: it.function.arguments.as_str().to_owned() }
}

/// Ids are the tool and a number, which each agent counts for itself.
fn call_id(agent: Option<&Agent>, id: &Text<'_>) -> String {
    match agent.and_then(|it| it.id.as_deref()) {
        Some(agent) => format!("{agent} {}", id.as_str()),
        None => id.as_str().to_owned(),
    }
}

const KNOWN: [&str; 21] = [
    "TurnBegin",
    "SteerInput",
    "TurnEnd",
    "StepBegin",
    "StepInterrupted",
    "HookTriggered",
    "HookResolved",
    "CompactionEnd",
    "MCPLoadingBegin",
    "MCPLoadingEnd",
    "Notification",
    "ContentPart",
    "TextPart",
    "ToolCallPart",
    "ApprovalResponse",
    "PlanDisplay",
    "BtwEnd",
    "ToolCallRequest",
    "QuestionRequest",
    "HookRequest",
    "ApprovalRequestResolved",
];

fn result(builder: &mut Builder, it: &Payload<'_>, agent: Option<&Agent>, line: i64, time: Option<Time>) {
    let Some(call) = builder.call_index(&call_id(agent, &it.tool_call_id)) else { return };
    let value = &it.return_value;
    builder.result(call, value.output, time, CallStatus::from_error(value.is_error.is_true()));
    if value.message.as_str().starts_with("The tool call is rejected by the user") {
        builder.deny(call, line, time, value.message.some());
    }
    let row = &builder.session.tool_calls[call];
    let is_write = row.category == "write";
    if let (true, Some(path)) = (is_write || row.category == "edit", row.target.clone()) {
        let shown = value.display.iter().find(|it| it.kind.as_str() == "diff" && it.path.some().is_some());
        let is_new = is_write && shown.is_some_and(|it| it.old_text.some().is_none() && !it.is_summary.is_true());
        let operation = shown.map(|_| if is_new { Operation::Create } else { Operation::Update });
        // The parts of an edit stand with the lines around them: only a new file's are all its own.
        let lines = shown.filter(|_| is_new).map(|it| (tools::line_count(it.new_text.as_str()), 0));
        builder.change(call, &path, operation, lines, line, time);
    }
}

#[cfg(test)]
mod tests {
    use crate::adapters::common::builder::Content;
    use crate::adapters::{Hints, parse};

    /// Arguments go on in records of their own, also after the result of an earlier call.
    #[test]
    fn arguments_are_joined_from_their_parts() {
        let record = |second: u32, kind: &str, payload: &str| {
            format!(r#"{{"timestamp":{second},"message":{{"type":"{kind}","payload":{payload}}}}}"#)
        };
        let call = |id: &str, arguments: &str| {
            format!(r#"{{"type":"function","id":"{id}","function":{{"name":"ReadFile","arguments":{arguments:?}}}}}"#)
        };
        let part = |text: &str| format!(r#"{{"arguments_part":{text:?}}}"#);
        let result =
            |id: &str| format!(r#"{{"tool_call_id":"{id}","return_value":{{"is_error":false,"output":"x"}}}}"#);
        let log = [
            r#"{"type":"metadata","protocol_version":"1.3"}"#.to_owned(),
            record(1, "ToolCall", &call("a", r#"{"path": "a.rs"}"#)),
            record(2, "ToolCall", &call("b", r#"{"path": "b"#)),
            record(3, "ToolResult", &result("a")),
            record(4, "ToolCallPart", &part("b.r")),
            record(5, "StatusUpdate", "{}"),
            record(6, "ToolCallPart", &part(r#"s"}"#)),
            record(7, "ToolCall", &call("c", "")),
            record(8, "ToolCallPart", &part(r#"{"path": "c.rs"}"#)),
            record(9, "ToolResult", &result("c")),
            record(9, "ToolResult", &result("b")),
            record(10, "ToolCall", &call("d", r#"{"path": "#)),
        ];
        let session = parse(log.join("\n").as_bytes(), Hints::default(), Content::None).sessions.swap_remove(0);
        let targets: Vec<_> = session.tool_calls.iter().map(|call| call.target.as_deref()).collect();
        assert_eq!(targets, [Some("a.rs"), Some("bb.rs"), Some("c.rs"), None]);
    }
}
