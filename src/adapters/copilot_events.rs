//! GitHub Copilot CLI's `events.jsonl`, in `~/.copilot/session-state/ID/` (docs/formats.md#copilot-events).
//!
//! A message contains only its output tokens. All other counts are in `session.shutdown`: its input includes cache reads and
//! cache writes, its output includes reasoning. The counts of a process that resumes a session begin at 0, so several
//! shutdowns add up. The totals of the session are running totals over its processes, as the ledger expects.

use serde::Deserialize;
use twox_hash::XxHash3_64;

use self::session::Session;
use super::{Adapter, Context, Damage, Fold, Probe, Seen, fold, hashed_id};
use crate::adapters::common::builder::Builder;
use crate::base::rows::Rows;
use crate::json::Raw;
use crate::json::lines::Line;
use crate::json::wire::{Count, Flag, Maybe, Number, Pairs, Text, When};
use crate::model::session::{SessionResult, Shows, Tokens};

mod session;

pub(super) const ADAPTER: Adapter = Adapter {
    id: "copilot-events",
    runtime: "copilot",
    about: "GitHub Copilot CLI, events.jsonl under ~/.copilot/session-state",
    shows: Shows::TURNS
        .and(Shows::TOOL_CALLS)
        .and(Shows::FILE_CHANGES)
        .and(Shows::SUBAGENTS)
        .and(Shows::COMPACTIONS)
        .and(Shows::PERMISSION_DENIALS)
        .and(Shows::USER_TURNS)
        .and(Shows::KEPT_BY_RUNTIME),
    claims,
    parse: fold::<Events>,
};

fn claims(probe: &Probe<'_>) -> u32 {
    let is_event = probe.has_all(&["data", "id", "timestamp", "parentId"]) && is_known(probe.kind());
    3 * u32::from(is_event)
}

/// Whether the runtime writes events of this family. The members of a family change with every version.
fn is_known(kind: &str) -> bool {
    const FAMILIES: [&str; 14] = [
        "session",
        "assistant",
        "user",
        "tool",
        "hook",
        "system",
        "permission",
        "subagent",
        "skill",
        "model",
        "user_input",
        "elicitation",
        "command",
        "tool_search",
    ];
    kind == "abort" || kind.split_once('.').is_some_and(|(family, _)| FAMILIES.contains(&family))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Record<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    id: Text<'a>,
    timestamp: When,
    /// The id of a subagent.
    #[serde(borrow)]
    agent_id: Text<'a>,
    #[serde(borrow)]
    data: Data<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Data<'a> {
    // session.start, session.resume, session.model_change
    #[serde(borrow)]
    session_id: Text<'a>,
    #[serde(borrow)]
    copilot_version: Text<'a>,
    #[serde(borrow)]
    context: Place<'a>,
    #[serde(borrow)]
    selected_model: Text<'a>,
    #[serde(borrow)]
    new_model: Text<'a>,
    #[serde(borrow)]
    reasoning_effort: Text<'a>,
    #[serde(borrow)]
    detached_from_spawning_parent_session_id: Text<'a>,
    // user.message
    #[serde(borrow)]
    source: Text<'a>,
    is_autopilot_continuation: Flag,
    // user.message, assistant.message
    #[serde(borrow)]
    content: Text<'a>,
    #[serde(borrow)]
    model: Text<'a>,
    #[serde(borrow)]
    message_id: Text<'a>,
    #[serde(borrow)]
    api_call_id: Text<'a>,
    #[serde(borrow)]
    request_id: Text<'a>,
    output_tokens: Count,
    #[serde(borrow)]
    tool_requests: Vec<Request<'a>>,
    /// In older versions: the call that started the agent of the message.
    #[serde(borrow)]
    parent_tool_call_id: Text<'a>,
    // tool.execution_start, tool.execution_complete, permission.completed, subagent.started
    #[serde(borrow)]
    tool_call_id: Text<'a>,
    #[serde(borrow)]
    tool_name: Text<'a>,
    #[serde(borrow)]
    mcp_server_name: Text<'a>,
    #[serde(borrow)]
    arguments: Raw<'a>,
    success: Flag,
    #[serde(borrow)]
    result: Outcome<'a>,
    /// An object, or a string.
    #[serde(borrow)]
    error: Raw<'a>,
    // permission.requested
    #[serde(borrow)]
    permission_request: PermissionRequest<'a>,
    // subagent.started, subagent.selected
    #[serde(borrow)]
    agent_name: Text<'a>,
    // session.compaction_complete
    #[serde(borrow)]
    trigger: Text<'a>,
    pre_compaction_tokens: Count,
    post_compaction_tokens: Count,
    #[serde(borrow)]
    compaction_tokens_used: Maybe<CompactionUsage<'a>>,
    // session.error
    #[serde(borrow)]
    error_type: Text<'a>,
    #[serde(borrow)]
    error_code: Text<'a>,
    #[serde(borrow)]
    message: Text<'a>,
    status_code: Number,
    // abort
    #[serde(borrow)]
    reason: Text<'a>,
    // session.shutdown
    #[serde(borrow)]
    shutdown_type: Text<'a>,
    #[serde(borrow)]
    error_reason: Text<'a>,
    #[serde(borrow)]
    current_model: Text<'a>,
    total_api_duration_ms: Number,
    code_changes: CodeChanges,
    #[serde(borrow)]
    model_metrics: Maybe<Pairs<'a, Metric>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Place<'a> {
    #[serde(borrow)]
    cwd: Text<'a>,
    #[serde(borrow)]
    branch: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Request<'a> {
    #[serde(borrow)]
    tool_call_id: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    arguments: Raw<'a>,
    #[serde(borrow)]
    mcp_server_name: Text<'a>,
}

/// The result of a call; that of a permission request has a kind.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Outcome<'a> {
    #[serde(borrow)]
    content: Raw<'a>,
    /// What the user sees; of an edit its diff.
    #[serde(borrow)]
    detailed_content: Text<'a>,
    contents: Vec<Block>,
    #[serde(borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    feedback: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Block {
    exit_code: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Failure<'a> {
    #[serde(borrow)]
    message: Raw<'a>,
    #[serde(borrow)]
    code: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PermissionRequest<'a> {
    #[serde(borrow)]
    tool_call_id: Text<'a>,
}

/// Arguments of edits that the common arguments do not include.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct EditArguments<'a> {
    /// The command of the tool `str_replace_editor`.
    #[serde(borrow)]
    command: Text<'a>,
    #[serde(borrow)]
    file_text: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metric {
    requests: Requests,
    usage: Maybe<Usage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Requests {
    count: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Usage {
    input_tokens: Count,
    output_tokens: Count,
    cache_read_tokens: Count,
    cache_write_tokens: Count,
    reasoning_tokens: Count,
}

/// The usage of the response that summarises the conversation, under the names of newer and of older versions.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct CompactionUsage<'a> {
    #[serde(borrow)]
    model: Text<'a>,
    input_tokens: Count,
    output_tokens: Count,
    cache_read_tokens: Count,
    cache_write_tokens: Count,
    input: Count,
    output: Count,
    cached_input: Count,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct CodeChanges {
    lines_added: Count,
    lines_removed: Count,
}

impl<'a> Data<'a> {
    /// The call of a `tool.execution_start`.
    fn request(&self) -> Request<'a> {
        Request {
            tool_call_id: self.tool_call_id.clone(),
            name: self.tool_name.clone(),
            arguments: self.arguments,
            mcp_server_name: self.mcp_server_name.clone(),
        }
    }
}

impl Usage {
    /// The disjoint tokens: the input includes cache reads and cache writes. If all counts are 0, the provider stated none.
    fn tokens(&self, damage: &mut Damage) -> Tokens {
        let (read, write) = (self.cache_read_tokens, self.cache_write_tokens);
        damage.refuses(&[self.input_tokens, self.output_tokens, read, write, self.reasoning_tokens]);
        let cached = read.get().unwrap_or(0) + write.get().unwrap_or(0);
        let tokens = Tokens {
            input: self.input_tokens.get().map(|it| (it - cached).max(0)),
            output: self.output_tokens.get(),
            cache_read: read.get(),
            cache_write: write.get(),
            cache_write_1h: None,
            reasoning: self.reasoning_tokens.get(),
        };
        if tokens.is_all_zero() { Tokens::UNKNOWN } else { tokens }
    }
}

impl CompactionUsage<'_> {
    fn tokens(&self, damage: &mut Damage) -> Tokens {
        let first = |newer: Count, older: Count| if newer == Count::Unknown { older } else { newer };
        let usage = Usage {
            input_tokens: first(self.input_tokens, self.input),
            output_tokens: first(self.output_tokens, self.output),
            cache_read_tokens: first(self.cache_read_tokens, self.cached_input),
            cache_write_tokens: self.cache_write_tokens,
            reasoning_tokens: Count::Unknown,
        };
        usage.tokens(damage)
    }
}

struct Events {
    context: Context,
    sessions: Rows<Session>,
    /// Index of the session of the last record.
    current: usize,
}

impl Fold for Events {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: *context, sessions: Rows::default(), current: 0 }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut Damage) -> Seen {
        if !is_known(record.kind.as_str()) {
            return Seen::Unknown;
        }
        let stated_id = record.data.session_id.some().filter(|_| record.kind.as_str() == "session.start");
        if stated_id.is_some() || self.sessions.is_empty() {
            let fallback = || self.context.file_id.map_or_else(|| hashed_id(line.bytes), |id| id.to_string());
            let id = stated_id.map_or_else(fallback, str::to_owned);
            let known = self.sessions.iter().position(|session| session.builder.session.session_id == id);
            self.current = known.unwrap_or_else(|| {
                self.sessions.push(Session::new(Builder::new(&self.context, id, line.number)));
                self.sessions.len() - 1
            });
        }
        let session = &mut self.sessions[self.current];
        // Every record has an id and a time: an equal line is a copy.
        if session.seen.insert(XxHash3_64::oneshot(line.bytes)) {
            session.record(&record, line, damage);
        }
        Seen::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.sessions.into_iter().map(Session::finish).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::adapters::common::builder::Content;
    use crate::adapters::{Hints, parse};
    use crate::ledger::costs::settled as settle;
    use crate::model::session::Status;
    use crate::model::source::Source;
    use crate::model::tables::{Grain, Tables};

    fn event(kind: &str, second: u32, data: &str) -> String {
        format!(
            r#"{{"type":"{kind}","data":{data},"id":"e{second}","timestamp":"2026-10-02T08:00:{second:02}Z","parentId":null}}"#
        )
    }

    fn message(second: u32, model: &str, output: u32) -> String {
        event(
            "assistant.message",
            second,
            &format!(r#"{{"messageId":"m{second}","model":"{model}","content":"Done.","outputTokens":{output}}}"#),
        )
    }

    fn shutdown(second: u32, model: &str, input: u32, output: u32) -> String {
        let usage = format!(
            r#"{{"inputTokens":{input},"outputTokens":{output},"cacheReadTokens":10,"cacheWriteTokens":5,"reasoningTokens":0}}"#
        );
        event(
            "session.shutdown",
            second,
            &format!(r#"{{"shutdownType":"routine","modelMetrics":{{"{model}":{{"usage":{usage}}}}}}}"#),
        )
    }

    fn settled(lines: &[String]) -> Tables {
        let log = [&[event("session.start", 0, r#"{"sessionId":"s"}"#)], lines].concat().join("\n");
        let sessions = parse(log.as_bytes(), Hints::default(), Content::Text).sessions;
        settle(vec![Source { path: "a".into(), sessions, ..Source::default() }])
    }

    fn counts(tables: &Tables) -> [Option<i64>; 4] {
        tables.sessions[0].tokens.kinds()
    }

    /// The counters begin anew, whether the next process spends more, less or the same.
    #[test]
    fn shutdowns_add() {
        for second in [40, 100, 700] {
            let lines = [message(1, "m", 7), shutdown(2, "m", 100, 7), message(3, "m", 9), shutdown(4, "m", second, 9)];
            let tables = settled(&lines);
            let input = i64::from(100 + second) - 30;
            assert_eq!(counts(&tables), [Some(input), Some(16), Some(20), Some(10)]);
            assert_eq!(tables.sessions[0].usage, crate::model::tables::Usage::Exact);
            let twice = settled(&[&lines[..], &lines[..]].concat());
            assert_eq!(counts(&twice), counts(&tables));
        }
    }

    #[test]
    fn a_process_without_shutdown_is_known_by_its_messages() {
        let lines = [
            message(1, "m", 7),
            event("session.resume", 2, "{}"),
            message(3, "m", 9),
            shutdown(4, "m", 100, 50),
            event("session.resume", 5, "{}"),
            message(6, "m", 20),
        ];
        let tables = settled(&lines);
        assert_eq!(counts(&tables), [Some(85), Some(77), Some(10), Some(5)]);
        assert_eq!(tables.sessions[0].usage, crate::model::tables::Usage::LowerBound);
        assert_eq!(tables.sessions[0].session.status, Status::Incomplete);
        let stopped = settled(&[&lines[..], &[event("abort", 7, "{}")]].concat());
        assert_eq!(
            (stopped.sessions[0].session.status, stopped.sessions[0].usage),
            (Status::Aborted, crate::model::tables::Usage::LowerBound)
        );
        let alone = settled(&lines[..1]);
        assert_eq!(counts(&alone), [None, Some(7), None, None]);
        // A later process that ends well does not tell what the first one spent.
        let lost = settled(&lines[..4]);
        assert_eq!(counts(&lost), [Some(85), Some(57), Some(10), Some(5)]);
        assert_eq!(lost.sessions[0].usage, crate::model::tables::Usage::LowerBound);
        assert_eq!(lost.sessions[0].session.status, Status::Success);
    }

    /// A shutdown under another name holds the turns; one without numbers does not.
    #[test]
    fn every_token_is_counted_once() {
        assert_eq!(counts(&settled(&[message(1, "auto", 7), shutdown(2, "m", 100, 30)]))[1], Some(30));
        let zeros = shutdown(2, "m", 0, 0).replace(":10,", ":0,").replace(":5,", ":0,");
        let tables = settled(&[message(1, "m", 7), zeros]);
        assert_eq!(counts(&tables), [None, Some(7), None, None]);
        assert!(tables.turns.iter().all(|it| it.grain == Grain::Turn));
    }

    #[test]
    fn an_abort_ends_a_session_only_if_nothing_follows() {
        let status = |lines: &[String]| settled(lines).sessions[0].session.status;
        let abort = event("abort", 2, r#"{"reason":"user_initiated"}"#);
        assert_eq!(status(&[message(1, "m", 7), abort.clone()]), Status::Aborted);
        assert_eq!(status(&[abort.clone(), shutdown(3, "m", 1, 1)]), Status::Aborted);
        assert_eq!(status(&[abort, message(3, "m", 7), shutdown(4, "m", 1, 1)]), Status::Success);
    }
}
