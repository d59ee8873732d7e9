//! Droid's recorded stdout, `droid exec --output-format stream-json`, and the single `result` of `json`
//! (docs/formats/droid.md#droid-stream-json).
//!
//! The first and the last record resemble those of Claude Code. Between them messages, calls and results are records of their own,
//! with flat fields. No response has counts: the last record contains those of the session.
//!
//! # `droid-stream-json`
//!
//! `droid exec --output-format stream-json`, or the single `result` of `--output-format json`. Recognised by `message` with `role` and
//! `text`, `tool_call` with `toolName` and `parameters`, `tool_result` with `isError`, and `completion` with `finalText`; the `result` by its
//! keys: those of Claude Code without `uuid`, `duration_api_ms` and a cost. From public parsers and their tests (CLI 0.57 to 0.213) and Factory's
//! documentation; no recorded file was at hand.
//!
//! | what | from |
//! | --- | --- |
//! | session, model, cwd, effort | `session_id`; `init`: `model`, `cwd`, `reasoning_effort` |
//! | turn | assistant messages by `id`, and calls by `messageId`. Tokens of a turn are unknown |
//! | total | `usage` of `completion` or `result`: `input_tokens`, `output_tokens`, `cache_read_input_tokens`, `cache_creation_input_tokens`, `thinking_tokens`, or the names of the settings; disjoint as in [`droid-session`](#droid-session), in a row of grain `session` |
//! | stated turns, duration | `numTurns`, `durationMs` (`num_turns`, `duration_ms`) |
//! | call | `tool_call`: `toolName`, `parameters`; `tool_result` of the same `id` with `isError`, as in [`droid-session`](#droid-session) |
//! | user turns | user messages with text after a `<system-reminder>` |
//! | events | `error` records |
//! | status | `completion` and a `result` without `is_error` are `success`; `error` records, `isError` and a `result` of another `subtype` are an `error`; else `incomplete` |
//!
//! Beside the session that Droid keeps, a recording has only its total. That is taken for a running total of the session, as
//! `tokenUsage` of the settings is: of both, and of several recordings, the largest counts. *Unknown*: tokens of a response; what
//! `usage` contains after `--session-id`: if it began at 0 there, only the largest run counts where the settings are absent, and if a total
//! is smaller than one before in its file, the session is a lower bound; cost.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::common::{add_total, call, result, tokens_of};
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, brief};
use crate::adapters::shared::elements::without_elements;
use crate::adapters::shared::ids::{hash_of_document, hashed_id};
use crate::adapters::shared::usage;
use crate::base::text::Symbol;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Maybe, Number, Text, When};
use crate::json::lines::Line;
use crate::model::session::{Capabilities, EventKind, Identity, SessionResult, Tokens};

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "droid-stream-json",
    runtime: "droid",
    about: "Factory's Droid, droid exec --output-format stream-json, or json",
    tested: None,
    capabilities: Capabilities::TOOL_CALLS.and(Capabilities::FILE_CHANGES).and(Capabilities::USER_TURNS),
    places: &[],
    claims,
    parse: fold::<Stream>,
};

/// Keys of the first and the last record of other programs.
const FOREIGN: [&str; 12] = [
    "uuid",
    "mcp_servers",
    "permissionMode",
    "apiKeySource",
    "claude_code_version",
    "duration_api_ms",
    "total_cost_usd",
    "cost_usd",
    "modelUsage",
    "permission_denials",
    "request_id",
    "stats",
];

/// How the ids of Amp's sessions begin, whose `result` has the same keys.
const AMP_ID: &str = "T-";

fn claims(probe: &Probe<'_>) -> u32 {
    let is_own = || !FOREIGN.iter().any(|it| probe.has(it)) && !probe.text("session_id").starts_with(AMP_ID);
    match probe.kind() {
        "message" if probe.has_all(&["role", "text", "session_id"]) && !probe.has("message") => 5,
        "tool_call" if probe.has_all(&["toolName", "parameters"]) => 8,
        "tool_result" if probe.has_all(&["session_id", "value"]) || probe.has_all(&["session_id", "isError"]) => 6,
        "completion" if probe.has_all(&["finalText", "session_id"]) => 8,
        "reasoning" if probe.has_all(&["text", "session_id"]) => 2,
        // Without the effort and Droid's shell, a recording of Claude Code may begin with the same record.
        "system" if probe.has_all(&["subtype", "session_id", "tools", "model"]) && is_own() => {
            let has_shell = memchr::memmem::find(probe.raw("tools").0, b"\"Execute\"").is_some();
            if has_shell || probe.has("reasoning_effort") { 3 } else { 1 }
        }
        "result" if probe.has_all(&["subtype", "is_error", "duration_ms", "num_turns", "session_id"]) && is_own() => 3,
        _ => 0,
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Record<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    subtype: Text<'a>,
    #[serde(rename = "session_id")]
    session_id: Text<'a>,
    /// In some recordings in place of [`Self::session_id`].
    #[serde(rename = "sessionId")]
    other_session_id: Text<'a>,
    id: Text<'a>,
    timestamp: When,
    // system
    model: Text<'a>,
    cwd: Text<'a>,
    #[serde(rename = "reasoning_effort")]
    reasoning_effort: Text<'a>,
    tools: Raw<'a>,
    // message
    role: Text<'a>,
    text: Text<'a>,
    // tool_call, tool_result
    message_id: Text<'a>,
    /// In some recordings beside an `id` of the record.
    tool_call_id: Text<'a>,
    tool_name: Text<'a>,
    parameters: Raw<'a>,
    is_error: Flag,
    value: Raw<'a>,
    /// Of a result, in place of the value.
    error: Raw<'a>,
    // completion
    final_text: Text<'a>,
    num_turns: Count,
    duration_ms: Number,
    usage: Maybe<Usage>,
    // result
    #[serde(rename = "is_error")]
    has_failed: Flag,
    #[serde(rename = "num_turns")]
    turns_of_result: Count,
    #[serde(rename = "duration_ms")]
    duration_of_result: Number,
    result: Text<'a>,
    // error
    message: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Usage {
    #[serde(alias = "inputTokens")]
    input_tokens: Count,
    #[serde(alias = "outputTokens")]
    output_tokens: Count,
    #[serde(alias = "cacheReadTokens")]
    cache_read_input_tokens: Count,
    #[serde(alias = "cacheCreationTokens")]
    cache_creation_input_tokens: Count,
    #[serde(alias = "thinkingTokens")]
    thinking_tokens: Count,
}

impl Usage {
    fn tokens(&self, damage: &mut RecordErrors) -> Tokens {
        let cached = [self.cache_read_input_tokens, self.cache_creation_input_tokens];
        let tokens = tokens_of([self.input_tokens, self.output_tokens], cached, self.thinking_tokens, damage);
        tokens.unless_all_zero()
    }
}

struct Stream {
    context: Context,
    /// One for each process, which begins with an `init`: a resumed session may be appended to the file.
    processes: Vec<Process>,
}

/// A process while its records are read.
struct Process {
    builder: Builder,
    effort: Option<Symbol>,
    /// Whether a record besides `result` was seen.
    is_stream: bool,
}

impl Fold for Stream {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), processes: Vec::new() }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        let kind = record.kind.as_str();
        if !matches!(
            kind,
            "system" | "message" | "reasoning" | "tool_call" | "tool_result" | "completion" | "result" | "error"
        ) {
            return RecordKind::Unknown;
        }
        let begins = kind == "system" && record.subtype.as_str() == "init";
        if begins || self.processes.is_empty() {
            let id = record.session_id.owned().or_else(|| record.other_session_id.owned());
            let id = id.unwrap_or_else(|| hashed_id(line.bytes));
            let builder = Builder::new(&self.context, id, line.number);
            self.processes.push(Process { builder, effort: None, is_stream: false });
        }
        if let Some(process) = self.processes.last_mut() {
            process.builder.recorded(hash_of_document(line.bytes));
            process.is_stream |= kind != "result";
            process.record(&record, line, damage);
        }
        RecordKind::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        let mut sessions: Vec<SessionResult> = self.processes.into_iter().map(Process::finish).collect();
        mark_totals_that_fall(&mut sessions);
        sessions
    }
}

impl Process {
    fn record(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut RecordErrors) {
        let at = At { line: line.number, time: record.timestamp.0 };
        self.builder.extend_to(at.time);
        match record.kind.as_str() {
            "system" => {
                let session = &mut self.builder.session;
                session.model = record.model.owned().or(session.model.take());
                session.cwd = record.cwd.owned().or(session.cwd.take());
                self.effort = record.reasoning_effort.owned().or(self.effort.take());
                self.builder.offer_tools(record.tools);
            }
            "message" => self.message(record, at),
            "tool_call" => {
                let turn = record.message_id.is_some().then(|| self.turn(&record.message_id, at));
                let id = record.tool_call_id.some().unwrap_or_else(|| record.id.as_str());
                call(&mut self.builder, turn, id, record.tool_name.as_str(), record.parameters, at);
            }
            "tool_result" => {
                let raw = if record.value.is_empty() { record.error } else { record.value };
                let text = if raw.is_string() { raw.text() } else { Cow::Borrowed("") };
                let id = record.tool_call_id.some().unwrap_or_else(|| record.id.as_str());
                result(&mut self.builder, id, &text, raw, record.is_error.is_true(), at.time);
            }
            "completion" => {
                self.total(record, record.num_turns, record.duration_ms, at, damage);
                self.end(record.final_text.as_str(), record.is_error.is_true(), at);
            }
            "result" => {
                self.total(record, record.turns_of_result, record.duration_of_result, at, damage);
                let has_failed = record.has_failed.is_true() || record.subtype.as_str() != "success";
                self.end(record.result.as_str(), has_failed, at);
            }
            "error" => self.end(record.message.as_str(), true, at),
            _ => {}
        }
    }

    fn message(&mut self, record: &Record<'_>, at: At) {
        let text = record.text.as_str();
        match record.role.as_str() {
            "user" => {
                let typed = without_elements(text, &["system-reminder"]).trim();
                if !typed.is_empty() {
                    let identity = identity(&record.id);
                    self.builder.prompt_as(identity, Some(typed));
                }
            }
            "assistant" => {
                self.turn(&record.id, at);
                self.builder.set_answer(text);
            }
            _ => {}
        }
    }

    /// The response with the id of a message.
    fn turn(&mut self, id: &Text<'_>, at: At) -> usize {
        let index = self.builder.turn(identity(id), at.line);
        let (model, effort) = (self.builder.session.model.clone(), self.effort.clone());
        let turn = &mut self.builder.session.turns[index];
        turn.occurred_at = turn.occurred_at.or(at.time);
        turn.message_id = id.owned();
        turn.model = turn.model.take().or(model);
        turn.effort = turn.effort.take().or(effort);
        index
    }

    fn total(&mut self, record: &Record<'_>, turns: Count, duration: Number, at: At, damage: &mut RecordErrors) {
        let session = &mut self.builder.session;
        session.duration_ms = duration.rounded().or(session.duration_ms);
        session.stated_turns = turns.get().or(session.stated_turns);
        let tokens = usage::present(&record.usage, damage).map_or(Tokens::UNKNOWN, |usage| usage.tokens(damage));
        if tokens == Tokens::UNKNOWN {
            return;
        }
        add_total(session, tokens, self.effort.clone(), at);
    }

    /// How the process ended: with an answer, or with an error.
    fn end(&mut self, text: &str, has_failed: bool, at: At) {
        if !has_failed {
            self.builder.succeed();
            self.builder.set_answer(text);
            return;
        }
        self.builder.fail(None, text);
        self.builder.event(EventKind::Error, at).message = Some(brief(text));
    }

    fn finish(self) -> SessionResult {
        let mut session = self.builder.finish();
        if !self.is_stream {
            session.capabilities = Capabilities::RESULT_ONLY;
        }
        session
    }
}

/// The identity of a message, by its id.
fn identity(id: &Text<'_>) -> Identity {
    id.some().map_or(Identity::Unique, |id| Identity::Session(id.into()))
}

/// A running total does not fall: if one of a session is smaller than one before, it began at 0, and the largest one is not all.
fn mark_totals_that_fall(sessions: &mut [SessionResult]) {
    let mut largest: BTreeMap<String, i64> = BTreeMap::new();
    let mut fallen = BTreeSet::new();
    for session in &*sessions {
        let known = largest.entry(session.session_id.clone()).or_default();
        for tokens in session.totals.iter().filter_map(|total| total.tokens().total()) {
            if tokens < *known {
                fallen.insert(session.session_id.clone());
            }
            *known = tokens.max(*known);
        }
    }
    for session in sessions.iter_mut().filter(|session| fallen.contains(&session.session_id)) {
        session.totals.iter_mut().for_each(|total| total.is_minimum = true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::engine::Hints;
    use crate::adapters::shared::builder::Retention;
    use crate::adapters::{detect, parse};
    use crate::model::errors::ErrorKind;
    use crate::model::session::{CallStatus, Status};

    const INIT: &str = r#"{"type":"system","subtype":"init","cwd":"/work","session_id":"s","tools":["Read","Execute"],"model":"m","reasoning_effort":"high"}"#;
    const USAGE: &str = r#""usage":{"input_tokens":100,"output_tokens":20,"cache_read_input_tokens":50,"cache_creation_input_tokens":10,"thinking_tokens":5}"#;

    fn read(lines: &[&str]) -> SessionResult {
        parse(lines.join("\n").as_bytes(), Hints::default(), Retention::Text).sessions.swap_remove(0)
    }

    fn format(line: &str) -> Option<&'static str> {
        detect(line.as_bytes(), Hints::default()).first().map(|(it, _)| it.id)
    }

    #[test]
    fn a_completion_has_the_tokens_of_the_session() {
        let call = r#"{"type":"tool_call","id":"c","messageId":"m1","toolId":"Execute","toolName":"Execute","parameters":{"command":"npm test"},"timestamp":1790850001000,"session_id":"s"}"#;
        let result = r#"{"type":"tool_result","id":"c","messageId":"m2","toolId":"Execute","isError":true,"value":"Error: Command failed (exit code: 2)","timestamp":1790850002000,"session_id":"s"}"#;
        let answer = r#"{"type":"message","role":"assistant","id":"m3","text":"One fails.","timestamp":1790850003000,"session_id":"s"}"#;
        let end = format!(
            r#"{{"type":"completion","finalText":"One fails.","numTurns":1,"durationMs":3000,"session_id":"s",{USAGE}}}"#
        );
        let session = read(&[INIT, call, result, answer, &end]);
        assert_eq!((session.runtime.as_ref(), session.status), ("droid", Status::Success));
        assert_eq!((session.turns.len(), session.duration_ms), (2, Some(3000)));
        let call = &session.tool_calls[0];
        assert_eq!((call.turn, call.status, call.exit_code.get()), (Some(0), CallStatus::Error, Some(2)));
        let tokens = session.totals[0].tokens();
        assert_eq!(tokens.kinds(), [Some(100), Some(20), Some(50), Some(10)]);
        assert_eq!(tokens.reasoning, Some(5));
        assert_eq!(read(&[INIT, answer]).status, Status::Incomplete);
    }

    /// As in a public example of another version.
    #[test]
    fn names_of_keys_differ_by_version() {
        let other = |line: &str| line.replace("session_id", "sessionId");
        let call = r#"{"type":"tool_call","id":"t","toolCallId":"c","toolName":"Execute","parameters":{"command":"ls"},"session_id":"s"}"#;
        let result = r#"{"type":"tool_result","id":"r","toolCallId":"c","value":{"stdout":"a"},"session_id":"s"}"#;
        let end = r#"{"type":"completion","finalText":"Done.","usage":{"inputTokens":4,"outputTokens":3,"cacheReadTokens":2},"session_id":"s"}"#;
        let session = read(&[&other(INIT), call, result, end]);
        assert_eq!((session.session_id.as_str(), session.totals[0].tokens().total()), ("s", Some(9)));
        assert_eq!((session.tool_calls.len(), session.tool_calls[0].status), (1, CallStatus::Ok));
    }

    #[test]
    fn an_error_ends_a_session() {
        let error = r#"{"type":"error","source":"cli","message":"Authentication failed. Set FACTORY_API_KEY.","timestamp":1790850001000,"session_id":"s"}"#;
        let session = read(&[INIT, error]);
        assert_eq!((session.status, session.error_kind), (Status::Error, Some(ErrorKind::Auth)));
        let failed = r#"{"type":"completion","finalText":"Rate limit exceeded","isError":true,"session_id":"s"}"#;
        let session = read(&[INIT, failed]);
        assert_eq!((session.status, session.error_kind), (Status::Error, Some(ErrorKind::RateLimit)));
    }

    #[test]
    fn a_result_alone_shows_no_calls() {
        let result = format!(
            r#"{{"type":"result","subtype":"success","is_error":false,"duration_ms":5000,"num_turns":2,"result":"hello","session_id":"s",{USAGE}}}"#
        );
        let session = read(&[&result]);
        assert_eq!((session.format.as_ref(), session.runtime.as_ref()), (ADAPTER.id, "droid"));
        assert_eq!((session.status, session.stated_turns), (Status::Success, Some(2)));
        assert_eq!((session.totals[0].tokens().total(), session.text.as_deref()), (Some(180), Some("hello")));
        assert!(!session.capabilities.has(Capabilities::TOOL_CALLS));
        let failed = result.replace("\"success\"", "\"error\"");
        assert_eq!(read(&[&failed]).status, Status::Error);
    }

    #[test]
    fn it_is_not_claude_code_s_stream() {
        assert_eq!(format(INIT), Some(ADAPTER.id));
        let claude = INIT.replace("\"tools\"", "\"mcp_servers\":[],\"permissionMode\":\"default\",\"tools\"");
        assert_ne!(format(&claude), Some(ADAPTER.id));
        let result = r#"{"type":"result","subtype":"success","is_error":false,"duration_ms":5,"num_turns":1,"result":"x","session_id":"s"}"#;
        assert_eq!(format(result), Some(ADAPTER.id));
        for key in ["uuid", "total_cost_usd", "duration_api_ms", "modelUsage"] {
            let other = result.replace("\"subtype\"", &format!("\"{key}\":1,\"subtype\""));
            assert_ne!(format(&other), Some(ADAPTER.id), "{key}");
        }
        assert_ne!(format(&result.replace("\"s\"", "\"T-1\"")), Some(ADAPTER.id));
    }
}
