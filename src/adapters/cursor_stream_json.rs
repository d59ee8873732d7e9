//! Cursor CLI's recorded stdout, `cursor-agent -p --output-format stream-json`, and the single `result` of `json`
//! (docs/formats.md#cursor-stream-json).
//!
//! The records resemble those of Claude Code (system, user, assistant, result), but they have no ids, parents or tool lists,
//! and a call is a record of its own. Older versions log no usage; newer versions log it in the `result`, where input excludes
//! cached tokens. With `--stream-partial-output`, the assistant's text is logged as deltas, and then again as a whole.

use std::borrow::Cow;

use serde::Deserialize;
use twox_hash::XxHash3_64;

use super::{Adapter, Context, Damage, Fold, Probe, Seen, fold, hashed_id};
use crate::adapters::common::builder::{Builder, brief};
use crate::adapters::common::tools::{self, Arguments};
use crate::adapters::common::{subagents, usage};
use crate::base::text::Word;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::lines::Line;
use crate::json::wire::{Content, Count, Flag, Maybe, Number, Pairs, Text, When};
use crate::model::session::{
    CallStatus, EventKind, Identity, ModelTotal, Operation, SessionResult, Shows, Tokens, Total, TotalKind,
};

pub(super) const ADAPTER: Adapter = Adapter {
    id: "cursor-stream-json",
    runtime: "cursor",
    about: "Cursor CLI, cursor-agent -p --output-format stream-json",
    shows: Shows::TOOL_CALLS
        .and(Shows::FILE_CHANGES)
        .and(Shows::SUBAGENTS)
        .and(Shows::PERMISSION_DENIALS)
        .and(Shows::USER_TURNS),
    claims,
    parse: fold::<Stream>,
};

fn claims(probe: &Probe<'_>) -> u32 {
    const FOREIGN: [&str; 8] = [
        "uuid",
        "parent_tool_use_id",
        "tools",
        "claude_code_version",
        "total_cost_usd",
        "modelUsage",
        "num_turns",
        "sessionId",
    ];
    if FOREIGN.iter().any(|it| probe.has(it)) {
        return 0;
    }
    match probe.kind() {
        "tool_call" if probe.has_all(&["subtype", "tool_call"]) => 5,
        "thinking" if probe.has_all(&["subtype", "session_id"]) => 4,
        "system" if probe.has_all(&["subtype", "session_id", "model", "permissionMode"]) => 3,
        // Claude Code's messages have an id and a usage. User messages are the same in both.
        "assistant" if probe.has_all(&["message", "session_id"]) => {
            let message = probe.object("message");
            2 * u32::from(message.has("content") && !message.has("id") && !message.has("usage"))
        }
        "result" if probe.has_all(&["subtype", "session_id", "is_error", "duration_ms"]) => 2,
        _ => 0,
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Record<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    subtype: Text<'a>,
    #[serde(borrow)]
    session_id: Text<'a>,
    timestamp_ms: When,
    // system
    #[serde(borrow)]
    model: Text<'a>,
    #[serde(borrow)]
    cwd: Text<'a>,
    // user, assistant
    #[serde(borrow)]
    message: Message<'a>,
    /// The response to which a text or a call belongs.
    #[serde(borrow)]
    model_call_id: Text<'a>,
    // tool_call
    #[serde(borrow)]
    call_id: Text<'a>,
    #[serde(borrow)]
    tool_call: Pairs<'a, Raw<'a>>,
    // result
    is_error: Flag,
    duration_ms: Number,
    duration_api_ms: Number,
    #[serde(borrow)]
    result: Text<'a>,
    #[serde(borrow)]
    request_id: Text<'a>,
    usage: Maybe<Usage>,
    /// An object, or a string.
    #[serde(borrow)]
    error: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    content: Content<'a, Block<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Block<'a> {
    #[serde(borrow)]
    text: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Usage {
    input_tokens: Count,
    output_tokens: Count,
    cache_read_tokens: Count,
    cache_write_tokens: Count,
}

/// The value under the name of a tool.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ToolCall<'a> {
    #[serde(borrow)]
    args: Raw<'a>,
    #[serde(borrow)]
    result: Pairs<'a, Raw<'a>>,
    // Of a tool that the runtime does not know: the name, and the arguments as a JSON string.
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    arguments: Raw<'a>,
}

/// The arguments of a call to an MCP server, and of one that starts an agent.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct OwnArguments<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    tool_name: Text<'a>,
    #[serde(borrow)]
    provider_identifier: Text<'a>,
    #[serde(borrow)]
    server_identifier: Text<'a>,
    #[serde(borrow)]
    subagent_type: Raw<'a>,
}

impl OwnArguments<'_> {
    /// The type of a subagent: a string, or the only key of an object.
    fn agent(&self) -> Option<Word> {
        let members: Pairs<'_, Raw<'_>> = self.subagent_type.read();
        let key = members.0.first().map(|(key, _)| Word::new(key));
        key.or_else(|| self.subagent_type.read::<Text<'_>>().owned())
    }
}

/// The value under the name of an outcome.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Outcome<'a> {
    exit_code: Number,
    /// In milliseconds.
    execution_time: Number,
    is_error: Flag,
    #[serde(borrow)]
    reason: Text<'a>,
    #[serde(borrow)]
    path: Text<'a>,
    lines_added: Count,
    lines_removed: Count,
    lines_created: Count,
    #[serde(borrow)]
    diff_string: Text<'a>,
    #[serde(borrow)]
    before_full_file_content: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Failure<'a> {
    #[serde(borrow)]
    message: Text<'a>,
}

impl Usage {
    fn tokens(&self, damage: &mut Damage) -> Tokens {
        let counts = [self.input_tokens, self.output_tokens, self.cache_read_tokens, self.cache_write_tokens];
        damage.refuses(&counts);
        let [input, output, cache_read, cache_write] = counts.map(Count::get);
        let tokens = Tokens { input, output, cache_read, cache_write, ..Tokens::UNKNOWN };
        if tokens.is_all_zero() { Tokens::UNKNOWN } else { tokens }
    }
}

struct Stream {
    context: Context,
    /// One for each process, which begins with an `init`: a resumed session may be appended to the file.
    processes: Vec<Process>,
}

impl Fold for Stream {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: *context, processes: Vec::new() }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut Damage) -> Seen {
        let kind = record.kind.as_str();
        if !matches!(
            kind,
            "system"
                | "user"
                | "assistant"
                | "thinking"
                | "tool_call"
                | "result"
                | "error"
                | "interaction_query"
                | "connection"
                | "retry"
        ) {
            return Seen::Unknown;
        }
        let begins = kind == "system" && record.subtype.as_str() == "init";
        if begins || self.processes.is_empty() {
            let id = record.session_id.owned().unwrap_or_else(|| hashed_id(line.bytes));
            let builder = Builder::new(&self.context, id, line.number);
            self.processes.push(Process { builder, hashes: Vec::new() });
        }
        if let Some(process) = self.processes.last_mut() {
            process.hashes.push(XxHash3_64::oneshot(line.bytes));
            process.record(&record, line, damage);
        }
        Seen::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        let finish = |it: Process| {
            let mut session = it.builder.finish();
            session.recording = Some(it.hashes);
            session
        };
        self.processes.into_iter().map(finish).collect()
    }
}

struct Process {
    builder: Builder,
    hashes: Vec<u64>,
}

impl Process {
    fn record(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut Damage) {
        let time = record.timestamp_ms.0;
        self.builder.saw(time);
        match record.kind.as_str() {
            "system" => {
                let session = &mut self.builder.session;
                session.model = record.model.owned().or(session.model.take());
                session.cwd = record.cwd.owned().or(session.cwd.take());
            }
            "user" => self.builder.prompt(Some(&text_of(&record.message.content))),
            // Deltas, which have a time and no response id, are skipped: their text is logged again as a whole.
            "assistant" if record.model_call_id.is_some() || time.is_none() => {
                self.turn(record, line);
                self.builder.say(&text_of(&record.message.content));
            }
            "tool_call" => self.tool_call(record, line),
            "result" => self.result(record, line, damage),
            "error" => {
                let message = message_of(record.error);
                self.builder.fail(None, &message);
                self.builder.event(EventKind::Error, line.number, time).message = Some(brief(&message));
            }
            _ => {}
        }
    }

    /// The response to which a record belongs; the last response of a process has no id.
    fn turn(&mut self, record: &Record<'_>, line: Line<'_>) -> usize {
        let identity = record.model_call_id.owned().map_or(Identity::Unique, Identity::Session);
        let index = self.builder.turn(identity, line.number);
        let model = self.builder.session.model.clone();
        let turn = &mut self.builder.session.turns[index];
        turn.occurred_at = turn.occurred_at.or(record.timestamp_ms.0);
        turn.model = turn.model.take().or(model);
        index
    }

    fn tool_call(&mut self, record: &Record<'_>, line: Line<'_>) {
        let time = record.timestamp_ms.0;
        let is_tool = |member: &&(Cow<'_, str>, Raw<'_>)| member.1.0.first() == Some(&b'{');
        let Some((key, raw)) = record.tool_call.0.iter().find(is_tool) else { return };
        let inner: ToolCall<'_> = raw.read();
        let text = inner.arguments.text();
        let args = if inner.args.is_empty() { Raw(text.as_bytes()) } else { inner.args };
        let own: OwnArguments<'_> = args.read();
        let category = category(key);
        let tool = match category {
            "mcp" => own.name.some().or(own.tool_name.some()).unwrap_or(key),
            _ => inner.name.some().unwrap_or(key),
        };
        let inner_id = || record.tool_call.0.iter().find(|(key, _)| key == "toolCallId");
        let id = record.call_id.owned().or_else(|| inner_id().map(|(_, id)| id.text().into_owned()));
        let id = id.unwrap_or_default();
        let call = self.builder.call(&id, tool, line.number, time);
        let row = &mut self.builder.session.tool_calls[call];
        row.category = category.into();
        row.mcp_server = own.provider_identifier.owned().or_else(|| own.server_identifier.owned());
        if record.model_call_id.is_some() {
            let turn = self.turn(record, line);
            self.builder.session.tool_calls[call].turn = turn.into();
        }
        let arguments = self.builder.arguments(call, args);
        if category == "subagent"
            && let Some(event) = subagents::add(&mut self.builder, &id, Some(&id), line.number, time)
        {
            event.agent = own.agent();
        }
        if record.subtype.as_str() == "completed" {
            self.call_result(call, key, &inner, &arguments, line, time);
        }
    }

    fn call_result(
        &mut self,
        call: usize,
        key: &str,
        inner: &ToolCall<'_>,
        arguments: &Arguments<'_>,
        line: Line<'_>,
        time: Option<Time>,
    ) {
        let is_outcome = |member: &&(Cow<'_, str>, Raw<'_>)| member.1.0.first() == Some(&b'{');
        let (name, raw) = inner
            .result
            .0
            .iter()
            .find(is_outcome)
            .map_or(("success", Raw::default()), |(name, raw)| (name.as_ref(), *raw));
        let outcome: Outcome<'_> = raw.read();
        let row = &mut self.builder.session.tool_calls[call];
        row.exit_code = outcome.exit_code.whole().into();
        row.duration_ms = outcome.execution_time.rounded().into();
        let has_failed = outcome.is_error.is_true() || row.exit_code.get().is_some_and(|it| it != 0);
        // A permission of the file system is an error; of a command or an MCP call it is a refusal.
        let is_refused =
            name == "rejected" || (name == "permissionDenied" && matches!(row.category.as_ref(), "shell" | "mcp"));
        let is_edit = matches!(row.category.as_ref(), "edit" | "write");
        self.builder.result(call, raw, time, CallStatus::from_error(name != "success" || has_failed));
        if is_refused {
            self.builder.deny(call, line.number, time, outcome.reason.some());
        } else if let Some(path) = outcome.path.some().or(arguments.file()).filter(|_| is_edit) {
            let diff = outcome.diff_string.as_str();
            let before = outcome.before_full_file_content.0.as_deref();
            let operation = if key == "deleteToolCall" {
                Some(Operation::Delete)
            } else if outcome.lines_created != Count::Unknown || before == Some("") || diff.contains("--- /dev/null") {
                Some(Operation::Create)
            } else {
                before.map(|_| Operation::Update)
            };
            let lines = outcome.lines_added.get().zip(outcome.lines_removed.get());
            let lines = lines.or_else(|| outcome.lines_created.get().map(|created| (created, 0)));
            let lines = lines.or_else(|| outcome.diff_string.some().map(|diff| tools::diff_lines(tools::lines(diff))));
            self.builder.change(call, path, operation, lines, line.number, time);
        }
    }

    fn result(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut Damage) {
        let mut models = Vec::new();
        if let Some(usage) = usage::present(&record.usage, damage) {
            let tokens = usage.tokens(damage);
            if tokens != Tokens::UNKNOWN {
                let model = self.builder.session.model.clone();
                models.push(ModelTotal { model, tokens, ..ModelTotal::default() });
            }
        }
        self.builder.session.totals.push(Total {
            line: line.number,
            key: record.request_id.owned().unwrap_or_else(|| hashed_id(line.bytes)),
            kind: TotalKind::Process,
            occurred_at: record.timestamp_ms.0,
            duration_ms: record.duration_ms.rounded(),
            api_duration_ms: record.duration_api_ms.rounded(),
            models,
            covers_subagents: true,
            ..Total::default()
        });
        self.builder.say(record.result.as_str());
        if record.subtype.as_str() == "success" && !record.is_error.is_true() {
            self.builder.succeed();
            return;
        }
        let stated = message_of(record.error);
        let message = if stated.is_empty() { record.result.as_str() } else { &stated };
        self.builder.fail(None, message);
        let event = self.builder.event(EventKind::Error, line.number, record.timestamp_ms.0);
        event.code = record.subtype.owned();
        event.message = Some(brief(message));
    }
}

/// The text of a content.
fn text_of(content: &Content<'_, Block<'_>>) -> String {
    let blocks = content.blocks.iter().map(|it| it.text.as_str());
    content.text.as_deref().into_iter().chain(blocks).collect()
}

/// The message of an error: a string, or the `message` of an object.
fn message_of(error: Raw<'_>) -> Cow<'_, str> {
    if error.0.first() == Some(&b'"') {
        return error.text();
    }
    error.read::<Failure<'_>>().message.into_inner().unwrap_or_default()
}

/// The category of a tool. The runtime's names end in `ToolCall`.
fn category(key: &str) -> &'static str {
    let name = key.strip_suffix("ToolCall").unwrap_or(key);
    match name {
        "mcp" => "mcp",
        "delete" | "editNotebook" => "edit",
        "semSearch" => "search",
        "todo" | "readTodos" | "createPlan" => "plan",
        "writeShellStdin" | "awaitShell" => "shell",
        _ => tools::category(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::{Hints, detect, parse};
    use crate::ledger::costs::settled as settle;
    use crate::model::source::Source;

    const INIT: &str = r#"{"type":"system","subtype":"init","apiKeySource":"login","cwd":"/work/shop","session_id":"s","model":"Composer 2","permissionMode":"default"}"#;

    fn result(second: u32, usage: &str) -> String {
        format!(
            r#"{{"type":"result","subtype":"success","duration_ms":{second}000,"is_error":false,"result":"Done.","session_id":"s","request_id":"r{second}","usage":{usage}}}"#
        )
    }

    fn read(lines: &[&str]) -> Vec<SessionResult> {
        parse(lines.join("\n").as_bytes(), Hints::default(), crate::adapters::common::builder::Content::Text).sessions
    }

    /// The totals of each run add up, also in a resumed session.
    #[test]
    fn runs_of_one_session_add() {
        let (first, second) = (
            result(1, r#"{"inputTokens":50,"outputTokens":9,"cacheReadTokens":70}"#),
            result(2, r#"{"inputTokens":60,"outputTokens":10,"cacheReadTokens":80}"#),
        );
        let sessions = read(&[INIT, &first, INIT, &second]);
        let tables = settle(vec![Source { path: "a".into(), sessions, ..Source::default() }]);
        assert_eq!(tables.sessions[0].tokens.kinds(), [Some(110), Some(19), Some(150), None]);
        assert_eq!(tables.sessions[0].duration_ms, Some(3000));
        assert_eq!(read(&[INIT, &result(1, "{}")])[0].totals[0].models, []);
    }

    #[test]
    fn deltas_are_not_responses() {
        let words = |text: &str, more: &str| {
            format!(
                r#"{{"type":"assistant","message":{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}]}},"session_id":"s"{more}}}"#
            )
        };
        let (delta, whole) = (
            words("I'll", r#","timestamp_ms":1791194400000"#),
            words("I'll look.", r#","model_call_id":"a-0","timestamp_ms":1791194400100"#),
        );
        let call = r#"{"type":"tool_call","subtype":"started","call_id":"c","tool_call":{"toolCallId":"c","lsToolCall":{"args":{"path":"/work"}}},"model_call_id":"a-0","session_id":"s","timestamp_ms":1791194400200}"#;
        let last = words("Done.", "");
        let session = read(&[INIT, &delta, &whole, call, &last]).swap_remove(0);
        assert_eq!(session.turns.len(), 2);
        assert_eq!((session.tool_calls[0].turn.get(), session.text.as_deref()), (Some(0), Some("Done.")));
        assert_eq!(
            (session.tool_calls[0].category.as_ref(), session.tool_calls[0].tool.as_str()),
            ("search", "lsToolCall")
        );
    }

    #[test]
    fn the_name_of_an_outcome_is_the_status() {
        let status = |call: &str| {
            let line = format!(
                r#"{{"type":"tool_call","subtype":"completed","call_id":"c","tool_call":{call},"session_id":"s"}}"#
            );
            read(&[INIT, &line]).swap_remove(0).tool_calls[0].status
        };
        assert_eq!(
            status(r#"{"shellToolCall":{"args":{},"result":{"success":{"exitCode":0},"isBackground":false}}}"#),
            CallStatus::Ok
        );
        assert_eq!(
            status(r#"{"shellToolCall":{"args":{},"result":{"isBackground":false,"failure":{"exitCode":1}}}}"#),
            CallStatus::Error
        );
        assert_eq!(
            status(r#"{"shellToolCall":{"args":{},"result":{"rejected":{"reason":"No."}}}}"#),
            CallStatus::Denied
        );
        assert_eq!(
            status(r#"{"readToolCall":{"args":{},"result":{"permissionDenied":{"path":"/x"}}}}"#),
            CallStatus::Error
        );
        assert_eq!(status(r#"{"mcpToolCall":{"args":{},"result":{"success":{"isError":true}}}}"#), CallStatus::Error);
    }

    #[test]
    fn it_is_not_claude_code_s_stream() {
        let format = |line: &str| detect(line.as_bytes(), Hints::default()).first().map(|(it, _)| it.id);
        let own = r#"{"type":"result","subtype":"success","is_error":false,"duration_ms":5,"result":"","session_id":"s","request_id":"r"}"#;
        assert_eq!(format(own), Some(ADAPTER.id));
        assert_ne!(format(&own.replace("request_id", "uuid").replace('5', "5,\"num_turns\":1")), Some(ADAPTER.id));
    }
}
