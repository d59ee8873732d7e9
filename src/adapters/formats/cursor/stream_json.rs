//! Cursor CLI's recorded stdout, `cursor-agent -p --output-format stream-json`, and the single `result` of `json`
//! (docs/formats.md#cursor-stream-json).
//!
//! The records resemble those of Claude Code (system, user, assistant, result), but they have no ids, parents or tool lists,
//! and a call is a record of its own. Older versions log no usage; newer versions log it in the `result`, where input excludes
//! cached tokens. With `--stream-partial-output`, the assistant's text is logged as deltas, and then again as a whole.

use serde::Deserialize;
use twox_hash::XxHash3_64;

use self::process::Process;
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::shared::builder::Builder;
use crate::adapters::shared::ids::hashed_id;
use crate::base::text::Symbol;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Maybe, Number, Pairs, Text, TextOrBlocks, When};
use crate::json::lines::Line;
use crate::model::session::{Capabilities, SessionResult, Tokens};

mod process;

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "cursor-stream-json",
    runtime: "cursor",
    about: "Cursor CLI, cursor-agent -p --output-format stream-json",
    tested: None,
    capabilities: Capabilities::TOOL_CALLS
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::SUBAGENTS)
        .and(Capabilities::PERMISSION_DENIALS)
        .and(Capabilities::USER_TURNS),
    places: &[],
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
    content: TextOrBlocks<'a, Block<'a>>,
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
    fn agent(&self) -> Option<Symbol> {
        let members: Pairs<'_, Raw<'_>> = self.subagent_type.read();
        let key = members.0.first().map(|(key, _)| Symbol::new(key));
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
    fn tokens(&self, damage: &mut RecordErrors) -> Tokens {
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
        Self { context: context.clone(), processes: Vec::new() }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
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
            return RecordKind::Unknown;
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
        RecordKind::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        let finish = |process: Process| {
            let mut session = process.builder.finish();
            session.recording = Some(process.hashes);
            session
        };
        self.processes.into_iter().map(finish).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::engine::Hints;
    use crate::adapters::{detect, parse};
    use crate::model::session::CallStatus;

    const INIT: &str = r#"{"type":"system","subtype":"init","apiKeySource":"login","cwd":"/work/shop","session_id":"s","model":"Composer 2","permissionMode":"default"}"#;

    fn read(lines: &[&str]) -> Vec<SessionResult> {
        parse(lines.join("\n").as_bytes(), Hints::default(), crate::adapters::shared::builder::Retention::Text).sessions
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
        assert_eq!((session.tool_calls[0].turn, session.text.as_deref()), (Some(0), Some("Done.")));
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
