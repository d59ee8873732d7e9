//! Kimi CLI's wire files: `~/.kimi/sessions/*/SESSION/wire.jsonl`, and the files of subagents in directories below
//! (docs/formats/kimi.md#kimi-wire).
//!
//! The rules are those of its source (1.52: `wire/types.py`, kosong's `TokenUsage`). A `StatusUpdate` with a `token_usage` is
//! one response. Its counts are disjoint, and its output includes reasoning. No record contains the model. The parent's file
//! and the subagent's own file both contain the subagent's events, with the same message ids; a fork repeats its parent's
//! events in the same way. The tokens of a compaction and of a side question (`/btw`) are not logged. Kimi Code, the successor,
//! writes other records to files of the same name: see `code`.
//!
//! # `kimi-wire`
//!
//! Kimi CLI's `~/.kimi/sessions/*/SESSION/wire.jsonl`, and `SESSION/subagents/AGENT/wire.jsonl`. Recognised by `timestamp` with
//! `message.type` and `message.payload`, without a `type` of its own. From Kimi CLI's source, 1.52.
//!
//! | what | from |
//! | --- | --- |
//! | session | the UUID in the directory's name, else a hash of the first record |
//! | turn | a `StatusUpdate` with `token_usage` or a `message_id`, by `message_id` and counts: `max_context_tokens` |
//! | tokens | `input_other`, `output`, `input_cache_read`, `input_cache_creation`, disjoint; output includes reasoning. Without `token_usage` unknown |
//! | call | `ToolCall`, with the `ToolCallPart`s of its arguments before the agent's next `ToolCall`; `ToolResult`; ids are unique within their agent. A call belongs to the next `StatusUpdate` |
//! | call status | `denied`: an approval answered with `reject`, or "The tool call is rejected by the user" |
//! | file change | of `display` blocks `diff`: a write without `old_text` is a new file with its lines; the lines of an edit are unknown, as its blocks are excerpts |
//! | subagent | `SubagentEvent`, and the directory of the file. Both contain the same events, which count once |
//! | events | `CompactionBegin`, `StepRetry` (retry), `StepInterrupted` (error), refusals |
//! | user turns | `TurnBegin`, `SteerInput` of the main agent. A `TurnBegin` without a step is a prompt, but not a turn |
//! | status | the main agent's last step: without calls `success`, interrupted `error`; else `incomplete` |
//!
//! *Unknown*: model and cost, which are not logged. *Lower bound*: with a compaction or a side question (`/btw`), whose tokens are
//! not logged.
//!
//! **Kimi Code**, the successor, writes `~/.kimi-code/sessions/WORKDIR/SESSION/agents/AGENT/wire.jsonl`, protocol 1.4 and later:
//! records
//! with a `type` such as `usage.record` and a `time`, without an envelope. From its source (August 2026) and the samples in it: no
//! recorded log was at hand.
//!
//! | what | from |
//! | --- | --- |
//! | session | the directory `SESSION`; files of other agents than `main` are subagents within it |
//! | turn | a `usage.record` of the scope `turn`, by its time and counts: `model`, `usage`. The end of its step (`step.end`) repeats the counts; a step without such a record is a turn by its `uuid`. A record of the scope `session` is a request outside of the turns, such as the summary of a compaction: a turn, unless it equals a known sum or turn |
//! | tokens | `inputOther`, `output`, `inputCacheRead`, `inputCacheCreation`, disjoint |
//! | call | `tool.call`, `tool.result` with `isError` |
//! | call status | `denied`: `permission.record_approval_result` with the decision `rejected`, "Tool … was not run because the user rejected the approval request", "Tool … was denied"; `cancelled`: "… because the approval request was cancelled" |
//! | model | `usage.record`, `config.update` and `profile.bind` have the user's alias: of an alias in an earlier `llm.request` the model in that record |
//! | effort, provider, cwd | `config.update`, `profile.bind`, `llm.request` |
//! | events | compactions, `llm.request` with an `attempt`, `turn.step.retrying` (retry), `turn.cancel` unless its `target` is `queued` (abort), a failed `turn.ended` (error, with the `code` of its `error`), refusals |
//! | user turns | `turn.prompt` and `turn.steer` of the main agent whose `origin` is the user |
//! | status | the main agent's last step, as above; `turn.cancel` is `aborted` |
//!
//! *Unknown*: the number of retries, unless `llm.request` is written without an `agentId`. Newer versions (the engine
//! `agent-core-v2`) make a request again as another step, and keep no record of it.

use foldhash::{HashMap, HashMapExt as _, HashSet, HashSetExt as _};

use self::call_ids::{id_of_call, is_of_agent};
use self::code::Code;
use self::records::{Message, Payload, Record};
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, Last, brief};
use crate::adapters::shared::changed_lines::ChangedLines;
use crate::adapters::shared::ids::{counts_name, hashed_id};
use crate::adapters::shared::{subagents, tools, usage};
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::json::fields::Text;
use crate::json::lines::Line;
use crate::json::{self, Raw};
use crate::model::errors::ErrorKind;
use crate::model::places::Place;
use crate::model::session::{
    CallStatus, Capabilities, EventKind, Identity, Operation, SessionResult, Tokens, ToolCall,
};

mod call_ids;
mod code;
mod records;

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "kimi-wire",
    runtime: "kimi",
    about: "Kimi CLI and Kimi Code, wire.jsonl under ~/.kimi/sessions and ~/.kimi-code/sessions",
    tested: None,
    capabilities: Capabilities::TURNS
        .and(Capabilities::TOOL_CALLS)
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::SUBAGENTS)
        .and(Capabilities::COMPACTIONS)
        .and(Capabilities::RETRIES)
        .and(Capabilities::PERMISSION_DENIALS)
        .and(Capabilities::USER_TURNS)
        .and(Capabilities::KEPT_BY_RUNTIME),
    places: &[
        Place::variable("KIMI_SHARE_DIR", ".kimi", "sessions"),
        Place::variable("KIMI_CODE_HOME", ".kimi-code", "sessions"),
    ],
    claims,
    parse: fold::<Wire>,
};

fn claims(probe: &Probe<'_>) -> u32 {
    if probe.kind() == "metadata" && probe.has("protocol_version") {
        return 3;
    }
    if code::is_record(probe) {
        return 4;
    }
    // Messages of other formats may be large: they are not parsed for this.
    if !probe.has("timestamp") || probe.has("type") {
        return 0;
    }
    let message = probe.object("message");
    let is_own = message.has("payload") && message.kind().starts_with(|first: char| first.is_ascii_uppercase());
    4 * u32::from(is_own)
}

/// The subagent that an event belongs to.
#[derive(Debug, Clone, Default)]
struct Agent {
    id: Option<Symbol>,
    kind: Option<Symbol>,
}

impl Agent {
    /// Whether it made the call with an id of [`id_of_call`].
    fn has_called(&self, id: &str) -> bool {
        self.id.as_ref().is_none_or(|agent| is_of_agent(agent, id))
    }
}

struct Wire {
    context: Context,
    session: Option<Session>,
    /// The session, if it is one of Kimi Code.
    code: Option<Code>,
}

/// A session while its records are read.
struct Session {
    builder: Builder,
    /// The calls of the approvals that were asked for, by the ids of the requests.
    approvals: HashMap<String, String>,
    /// The responses that made calls.
    with_calls: HashSet<usize>,
    /// What the main agent's part ends with.
    last: Last,
    /// The last call of each agent: later records may continue its arguments.
    growing: HashMap<Option<Symbol>, GrowingCall>,
}

/// A call and its arguments so far.
struct GrowingCall {
    call: usize,
    arguments: String,
}

impl Fold for Wire {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), session: None, code: None }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        if record.kind.as_str() == "metadata" {
            return RecordKind::Known;
        }
        if record.message.kind.some().is_none() {
            return self.code(line, damage);
        }
        let context = &self.context;
        let id = || context.directory_id.clone().unwrap_or_else(|| hashed_id(line.bytes));
        let session = self.session.get_or_insert_with(|| Session {
            builder: Builder::new(context, id(), line.number),
            approvals: HashMap::new(),
            with_calls: HashSet::new(),
            last: Last::Work,
            growing: HashMap::new(),
        });
        session.builder.extend_to(record.timestamp.0);
        let agent = context.agent_id.as_ref().map(|id| Agent { id: Some(id.into()), kind: None });
        let at = At { line: line.number, time: record.timestamp.0 };
        let seen = session.message(&record.message, agent.as_ref(), at, damage);
        session.builder.name_events(None, line.bytes);
        seen
    }

    fn finish(self) -> Vec<SessionResult> {
        let sessions = [self.session.map(Session::finish), self.code.map(Code::finish)];
        sessions.into_iter().flatten().collect()
    }
}

impl Wire {
    /// Folds a record of Kimi Code.
    fn code(&mut self, line: Line<'_>, damage: &mut RecordErrors) -> RecordKind {
        match json::from_slice::<code::Record<'_>>(line.bytes) {
            Ok(record) if code::is_known(record.kind.as_str()) => {
                self.code.get_or_insert_with(|| Code::new(&self.context, line)).record(&record, line, damage)
            }
            _ => RecordKind::Unknown,
        }
    }
}

impl Session {
    fn finish(mut self) -> SessionResult {
        for growing in self.growing.into_values() {
            growing.end(&mut self.builder);
        }
        self.builder.end(self.last);
        self.builder.finish()
    }

    fn message(
        &mut self,
        message: &Message<'_>,
        agent: Option<&Agent>,
        at: At,
        damage: &mut RecordErrors,
    ) -> RecordKind {
        let payload = &message.payload;
        let is_main = agent.is_none();
        match message.kind.as_str() {
            "TurnBegin" | "SteerInput" if is_main => {
                self.last = Last::Work;
                let text = payload.user_input.joined(|part| part.text.as_str());
                let named = |time: Time| Identity::Global(format!("kimi {}", time.micros()).into());
                self.builder.prompt_as(at.time.map_or(Identity::Unique, named), Some(&text));
            }
            "StepBegin" if is_main => self.last = Last::Work,
            "StatusUpdate" => self.usage(payload, agent, at, damage),
            "TextPart" | "ContentPart" if is_main => self.builder.set_answer(payload.text.as_str()),
            "ToolCall" => {
                let id = agent.and_then(|agent| agent.id.clone());
                let call = call(&mut self.builder, payload, agent, at);
                if let Some(previous) = self.growing.insert(id, call) {
                    previous.end(&mut self.builder);
                }
            }
            "ToolCallPart" => {
                let id = agent.and_then(|agent| agent.id.clone());
                if let Some(growing) = self.growing.get_mut(&id) {
                    growing.arguments.push_str(payload.arguments_part.as_str());
                }
            }
            "ToolResult" => {
                let id = agent.and_then(|agent| agent.id.clone());
                let call = self.builder.call_index(&call_id(agent, &payload.tool_call_id));
                if self.growing.get(&id).is_some_and(|growing| Some(growing.call) == call)
                    && let Some(growing) = self.growing.remove(&id)
                {
                    growing.end(&mut self.builder);
                }
                result(&mut self.builder, payload, agent, at);
            }
            "ApprovalRequest" => {
                let asking = Agent { id: payload.agent_id.owned(), kind: None };
                let call = call_id(asking.id.is_some().then_some(&asking), &payload.tool_call_id);
                self.approvals.entry(payload.id.as_str().to_owned()).or_insert(call);
            }
            "ApprovalResponse" | "ApprovalRequestResolved" if payload.response.as_str() == "reject" => {
                let call = self.approvals.get(payload.request_id.as_str());
                if let Some(call) = call.and_then(|call| self.builder.call_index(call)) {
                    self.builder.deny(call, at, payload.feedback.some());
                }
            }
            "SubagentEvent" => {
                let agent = Agent { id: payload.agent_id.owned(), kind: payload.subagent_type.owned() };
                let parent = payload.parent_tool_call_id.some().or_else(|| payload.task_tool_call_id.some());
                if let Some(id) = payload.agent_id.some().or(parent) {
                    subagents::add(&mut self.builder, id, parent, at);
                }
                let inner: Message<'_> = payload.event.read();
                self.message(&inner, Some(&agent), at, damage);
            }
            "StepRetry" => {
                let event = self.builder.event(EventKind::Retry, at);
                event.code = payload.status_code.whole().map(|code| code.to_string().into());
                event.message = payload.error_type.some().map(brief);
                (event.agent, event.is_subagent) = (agent.and_then(|it| it.kind.clone()), !is_main);
            }
            "StepInterrupted" if is_main => {
                self.last = Last::Error;
                self.builder.fail_as(ErrorKind::Other, "");
                self.builder.event(EventKind::Error, at);
            }
            "CompactionBegin" => {
                let event = self.builder.event(EventKind::Compaction, at);
                (event.agent, event.is_subagent) = (agent.and_then(|it| it.kind.clone()), !is_main);
                self.builder.session.under_reports = true;
            }
            "BtwBegin" => self.builder.session.under_reports = true,
            kind if KNOWN.contains(&kind) => {}
            _ => return RecordKind::Unknown,
        }
        RecordKind::Known
    }

    fn usage(&mut self, payload: &Payload<'_>, agent: Option<&Agent>, at: At, damage: &mut RecordErrors) {
        let usage = usage::present(&payload.token_usage, damage);
        if usage.is_none() && payload.message_id.some().is_none() {
            // It states something else, such as the mode.
            return;
        }
        // Some providers state no usage with a response.
        let tokens = usage.map_or(Tokens::UNKNOWN, |usage| usage.tokens(damage));
        // Gateways reuse message ids: the counts are a part of a response's identity.
        let identity_of = |id: &str| Identity::Global(format!("{id} {}", counts_name(tokens)).into());
        let identity = match (payload.message_id.some(), at.time) {
            (Some(id), _) => identity_of(id),
            (None, Some(time)) => identity_of(&time.micros().to_string()),
            (None, None) => Identity::Unique,
        };
        let index = self.builder.turn(identity, at.line);
        let turn = &mut self.builder.session.turns[index];
        turn.message_id = payload.message_id.owned();
        turn.occurred_at = turn.occurred_at.or(at.time);
        turn.context_window = payload.max_context_tokens.get().filter(|tokens| *tokens > 0).into();
        if !tokens.is_all_zero() {
            turn.tokens = tokens.into();
        }
        if let Some(agent) = agent {
            turn.is_subagent = true;
            (turn.agent, turn.agent_id) = (agent.kind.clone(), agent.id.clone());
        }
        // The usage of a step is logged after its calls. Those of other agents may be between them.
        let is_of_agent = |call: &&mut Box<ToolCall>| match agent {
            Some(agent) => call.is_subagent && agent.has_called(&call.call_id),
            None => !call.is_subagent,
        };
        let calls = self.builder.session.tool_calls.iter_mut().rev().filter(is_of_agent);
        for call in calls.take_while(|call| call.turn.is_none()) {
            call.turn = Some(index);
            self.with_calls.insert(index);
        }
        if agent.is_none() && self.last != Last::Error {
            self.last = if self.with_calls.contains(&index) { Last::Work } else { Last::Answer };
        }
    }
}

impl GrowingCall {
    /// Reads the arguments, which are complete. They are written by the model and may be invalid JSON.
    fn end(self, builder: &mut Builder) {
        if json::value_end(self.arguments.as_bytes(), 0).is_ok() {
            builder.arguments(self.call, Raw(self.arguments.as_bytes()));
        }
    }
}

fn call(builder: &mut Builder, payload: &Payload<'_>, agent: Option<&Agent>, at: At) -> GrowingCall {
    // Further records may continue the arguments.
    let arguments = Raw::default();
    let call = builder.call_of(None, &call_id(agent, &payload.id), payload.function.name.as_str(), arguments, at);
    let row = &mut builder.session.tool_calls[call];
    row.is_subagent = agent.is_some();
    row.agent = agent.and_then(|agent| agent.kind.clone());
    GrowingCall { call, arguments: payload.function.arguments.as_str().to_owned() }
}

/// The id of a call: see [`id_of_call`].
fn call_id(agent: Option<&Agent>, id: &Text<'_>) -> String {
    id_of_call(agent.and_then(|agent| agent.id.as_deref()), id)
}

/// Types that are known besides those that are used.
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

fn result(builder: &mut Builder, payload: &Payload<'_>, agent: Option<&Agent>, at: At) {
    let Some(call) = builder.call_index(&call_id(agent, &payload.tool_call_id)) else { return };
    let value = &payload.return_value;
    builder.result(call, value.output, at.time, CallStatus::from_error(value.is_error.is_true()));
    if value.message.as_str().starts_with("The tool call is rejected by the user") {
        builder.deny(call, at, value.message.some());
    }
    let row = &mut builder.session.tool_calls[call];
    if row.category == "shell" {
        row.exit_code = exit_code(value.message.as_str()).into();
    }
    let is_write = row.category == "write";
    if let (true, Some(path)) = (is_write || row.category == "edit", row.target.clone()) {
        let diff = value.display.iter().find(|block| block.kind.as_str() == "diff" && block.path.some().is_some());
        let is_new = is_write && diff.is_some_and(|diff| diff.old_text.some().is_none() && !diff.is_summary.is_true());
        let operation = diff.map(|_| if is_new { Operation::Create } else { Operation::Update });
        // The parts of an edit include unchanged lines around it: only the lines of a new file are all added.
        let lines = diff.filter(|_| is_new).map(|diff| ChangedLines::written(diff.new_text.as_str()));
        let change = builder.change(call, &path, operation, lines, at);
        if let (None, Some(diff)) = (lines, diff) {
            let changed = tools::changed_lines(diff.old_text.as_str(), diff.new_text.as_str());
            builder.sketch(change, changed.and_then(|lines| lines.sketch));
        }
    }
}

/// The exit code in the message of a command that failed (`tools/shell`).
fn exit_code(message: &str) -> Option<i64> {
    message.strip_prefix("Command failed with exit code: ")?.trim_end_matches('.').parse().ok()
}

#[cfg(test)]
mod tests {
    use crate::adapters::engine::Hints;
    use crate::adapters::parse;
    use crate::adapters::shared::builder::Retention;
    use crate::model::session::Status;

    /// Further records continue the arguments of a call, also after the result of an earlier call.
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
        let session = parse(log.join("\n").as_bytes(), Hints::default(), Retention::None).sessions.swap_remove(0);
        let targets: Vec<_> = session.tool_calls.iter().map(|call| call.target.as_deref()).collect();
        assert_eq!(targets, [Some("a.rs"), Some("bb.rs"), Some("c.rs"), None]);
    }
    /// Calls of a subagent among those of the main agent do not make the main agent's step an answer.
    #[test]
    fn a_step_with_calls_is_not_the_end() {
        let record = |second: u32, kind: &str, payload: &str| {
            format!(r#"{{"timestamp":{second},"message":{{"type":"{kind}","payload":{payload}}}}}"#)
        };
        let call =
            |id: &str| format!(r#"{{"type":"function","id":"{id}","function":{{"name":"Task","arguments":"{{}}"}}}}"#);
        let inner = format!(r#"{{"agent_id":"a1","event":{{"type":"ToolCall","payload":{}}}}}"#, call("b"));
        let usage = r#"{"token_usage":{"input_other":1,"output":1}}"#;
        let mut log = vec![
            r#"{"type":"metadata","protocol_version":"1.3"}"#.to_owned(),
            record(1, "TurnBegin", r#"{"user_input":"Go."}"#),
            record(2, "ToolCall", &call("a")),
            record(3, "SubagentEvent", &inner),
            record(4, "StatusUpdate", usage),
        ];
        let status = |log: &[String]| {
            parse(log.join("\n").as_bytes(), Hints::default(), Retention::None).sessions.swap_remove(0).status
        };
        assert_eq!(status(&log), Status::Incomplete);
        log.push(record(5, "StepBegin", "{}"));
        log.push(record(6, "StatusUpdate", usage));
        assert_eq!(status(&log), Status::Success);
        log.push(record(7, "StepInterrupted", "{}"));
        assert_eq!(status(&log), Status::Error);
        log.push(record(8, "TurnBegin", r#"{"user_input":"Again."}"#));
        assert_eq!(status(&log), Status::Incomplete);
    }
}
