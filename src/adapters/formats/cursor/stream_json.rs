//! Cursor CLI's recorded stdout, `cursor-agent -p --output-format stream-json`, and the single `result` of `json`
//! (docs/formats/cursor.md#cursor-stream-json).
//!
//! The records resemble those of Claude Code (system, user, assistant, result), but they have no ids, parents or tool lists,
//! and a call is a record of its own. Older versions log no usage; newer versions log it in the `result`, where input excludes
//! cached tokens, except in the first of them (docs/formats/cursor.md#cursor-stream-json). With `--stream-partial-output`, the assistant's text is logged as deltas, and then again as a whole.
//!
//! # `cursor-stream-json`
//!
//! `cursor-agent -p --output-format stream-json`, or its single `result`. Recognised by `tool_call` records, and by messages
//! without `uuid`, `parent_tool_use_id`, `tools` and `total_cost_usd`. From public recordings and documentation.
//!
//! | what | from |
//! | --- | --- |
//! | session, model, cwd | `session_id`; `init`: `model`, `cwd` |
//! | turn | assistant records and calls by `model_call_id`, except deltas. Tokens of a turn are unknown |
//! | total | `result.usage`, in newer versions: `inputTokens`, `outputTokens`, `cacheReadTokens`, `cacheWriteTokens`, in a row of grain `session`; runs of one session add up |
//! | call | `tool_call` started and completed: the key is the tool, the key of `result` is the outcome: `rejected` (`denied`), `success`, and of some tools `complete`, `registered`, `approved`, `async`, `stillRunning`, `startSuccess`, `saveSuccess`, `discardSuccess`; all others are an `error` |
//! | events | `connection` `reconnecting` and the `retry` `starting` that follows it (one retry), refusals, `error` records |
//! | file change | `linesAdded`, `linesRemoved`, `linesCreated`, `diffString` of edits |
//! | status | `result`: `subtype` `success` without `is_error`; `error` records; else `incomplete` |
//!
//! *Input and cached tokens*: `inputTokens` excludes cached tokens since June 2026 at the latest: a run of 2026-07-07 states 31 beside
//! 18,222 cached ones, and runs of 2026-08-26 equal the rows of the account's export, whose columns are disjoint. In all 8 recordings
//! of March 2026 (Composer 1.5) it is larger than the cached tokens, which are 72 to 93 % of it: there it includes them. When
//! this changed is unknown, and no record states a version. So
//!
//! - input below the cached tokens excludes them
//! - else it excludes them if a record has a time from 2026-06-15 on
//! - else it is unknown whether it includes them: they are subtracted, and the session is a `lower_bound`. `result` alone has no time.
//!
//! *Unknown*: tokens in versions without `usage`; cost.

use self::process::Process;
use self::records::Record;
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::shared::builder::Builder;
use crate::adapters::shared::ids::{hash_of_document, hashed_id};
use crate::json::lines::Line;
use crate::model::session::{Capabilities, SessionResult};

mod process;
mod records;

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "cursor-stream-json",
    runtime: "cursor",
    about: "Cursor CLI, cursor-agent -p --output-format stream-json",
    tested: None,
    capabilities: Capabilities::TOOL_CALLS
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::SUBAGENTS)
        .and(Capabilities::PERMISSION_DENIALS)
        .and(Capabilities::RETRIES)
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
            self.processes.push(Process { builder, reconnection: None });
        }
        if let Some(process) = self.processes.last_mut() {
            process.builder.recorded(hash_of_document(line.bytes));
            process.record(&record, line, damage);
        }
        RecordKind::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.processes.into_iter().map(|process| process.builder.finish()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::engine::Hints;
    use crate::adapters::{detect, parse};
    use crate::model::session::{CallStatus, EventKind};

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
        for (tool, outcome) in [
            ("await", "complete"),
            ("await", "stillRunning"),
            ("recordScreen", "saveSuccess"),
            ("askQuestion", "async"),
        ] {
            let call = format!(r#"{{"{tool}ToolCall":{{"args":{{}},"result":{{"{outcome}":{{}}}}}}}}"#);
            assert_eq!(status(&call), CallStatus::Ok, "{call}");
        }
        assert_eq!(status(r#"{"awaitToolCall":{"args":{},"result":{"timeout":{}}}}"#), CallStatus::Error);
    }

    /// As in a public recording: an attempt reconnects, then starts the request again or goes on with it.
    #[test]
    fn an_attempt_is_one_retry() {
        let record = |kind: &str, subtype: &str, attempt: u32, second: u32| {
            format!(
                r#"{{"type":"{kind}","subtype":"{subtype}","attempt":{attempt},"session_id":"s","timestamp_ms":179119440{second}000}}"#
            )
        };
        let lines = [
            record("connection", "reconnecting", 1, 0),
            record("retry", "starting", 1, 1),
            record("retry", "resuming", 1, 1),
            record("connection", "reconnected", 1, 2),
            // Without a connection there is no request.
            record("connection", "reconnecting", 2, 3),
            record("connection", "reconnecting", 3, 4),
            record("retry", "starting", 3, 5),
            record("retry", "starting", 4, 6),
        ];
        let mut all = vec![INIT];
        all.extend(lines.iter().map(String::as_str));
        let session = read(&all).swap_remove(0);
        let found: Vec<_> = session.events.iter().map(|it| (it.kind, it.line)).collect();
        assert_eq!(found, [2, 6, 7, 9].map(|line| (EventKind::Retry, line)));
    }

    /// Until when the input included cached tokens is unknown. Counts and times show it for some sessions.
    #[test]
    fn input_excludes_cached_tokens_if_that_is_certain() {
        let state = |time: Option<&str>, counts: [i64; 3]| {
            let [input, read, write] = counts;
            let time = time
                .and_then(crate::base::time::Time::parse)
                .map_or(String::new(), |time| format!(r#","timestamp_ms":{}"#, time.micros() / 1000));
            let call = format!(
                r#"{{"type":"tool_call","subtype":"started","call_id":"c","tool_call":{{"lsToolCall":{{"args":{{}}}}}},"session_id":"s"{time}}}"#
            );
            let result = format!(
                r#"{{"type":"result","subtype":"success","is_error":false,"duration_ms":5,"session_id":"s","usage":{{"inputTokens":{input},"outputTokens":7,"cacheReadTokens":{read},"cacheWriteTokens":{write}}}}}"#
            );
            let session = read_lines(&[&call, &result]);
            let total = &session.totals[0];
            (total.tokens().input, total.is_minimum)
        };
        let (march, june) = (Some("2026-03-05T10:00:00Z"), Some("2026-06-15T00:00:00Z"));
        for (name, time, counts, expected) in [
            ("no cached tokens", None, [500, 0, 0], (Some(500), false)),
            ("less than is cached", march, [500, 600, 0], (Some(500), false)),
            ("less than is read and written", march, [500, 300, 300], (Some(500), false)),
            ("an early recording", march, [1000, 600, 100], (Some(300), true)),
            ("no time", None, [1000, 900, 100], (Some(0), true)),
            ("a later recording", june, [1000, 600, 100], (Some(1000), false)),
        ] {
            assert_eq!(state(time, counts), expected, "{name}");
        }
    }

    fn read_lines(lines: &[&str]) -> SessionResult {
        read(&[&[INIT], lines].concat()).swap_remove(0)
    }

    #[test]
    fn it_is_not_claude_code_s_stream() {
        let format = |line: &str| detect(line.as_bytes(), Hints::default()).first().map(|(it, _)| it.id);
        let own = r#"{"type":"result","subtype":"success","is_error":false,"duration_ms":5,"result":"","session_id":"s","request_id":"r"}"#;
        assert_eq!(format(own), Some(ADAPTER.id));
        assert_ne!(format(&own.replace("request_id", "uuid").replace('5', "5,\"num_turns\":1")), Some(ADAPTER.id));
    }
}
