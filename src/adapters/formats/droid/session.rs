//! Factory's Droid: `~/.factory/sessions/*/SESSION.jsonl`, and `SESSION.settings.json` beside it
//! (docs/formats/droid.md#droid-session).
//!
//! The conversation contains no tokens. The settings contain `tokenUsage`, a running total of the session whose input
//! excludes cached tokens; only their file's name contains the session's id. `inclusiveTokenUsage` adds the tokens of child
//! sessions, which have settings of their own. `outputTokens` contains `thinkingTokens`, which are an estimate from the length of the text
//! for some providers. Credits are not dollars: the cost is unknown.
//!
//! # `droid-session`
//!
//! Factory's Droid, `~/.factory/sessions/*/SESSION.jsonl`, and `SESSION.settings.json` next to it; only the settings contain
//! tokens. Recognised by `session_start`, `agent_turn_outcome`, `message`; the settings by `tokenUsage`. From the program (CLI 0.215.0);
//! not seen in real logs.
//!
//! | what | from |
//! | --- | --- |
//! | session | `id` of `session_start`; for the settings the UUID in the file's name |
//! | parent, cwd | `parent`, or `callingSessionId` in the settings' `tags`; `cwd` |
//! | tokens, model | `tokenUsage` of the settings, a running total of the session: `inputTokens`, `outputTokens`, `cacheReadTokens`, `cacheCreationTokens`, disjoint, in a row of grain `session`; `model`. The total of a session that `/compact` began continues that of its parent, which is subtracted |
//! | effort | `reasoningEffort` of the settings: that of the session's last setting |
//! | reasoning | `thinkingTokens`, a part of the output. For Anthropic and Google they are an estimate from the length of the text: more of them than output are no count |
//! | turn | an assistant's message, except `user_only` ones, without counts; by its id, which forks keep |
//! | call | `tool_use`, `tool_result` with `is_error`, or a text that begins with "Error: "; exit code from `(exit code: N)` in the first or the last line, an error unless it is 0 |
//! | call status | also `cancelled`: the result begins with "Tool execution cancelled by user" or "Tool execution was interrupted" |
//! | file change | the path and the lines of `old_str` and `new_str`, or the patch of an edit; a `Create` is a new file with its lines |
//! | subagent | a session of its own, with settings of its own: `inclusiveTokenUsage` is not read |
//! | events | `compaction_state`; an abort; an `agent_turn_outcome` that is an error; a message that begins with "Token limit reached" (error: `rate_limit`), which Droid writes as the user |
//! | user turns | user messages with text after a `<system-reminder>`, except `llm_only` ones and the texts of an interruption |
//! | status | `reason` of `agent_turn_outcome`: `completed` and `spec_handoff` are `success`, `cancelled` and `process_exit` are `aborted`, any other is `error` (`model_rate_limited` is `rate_limit`, `model_authentication_failed` `auth`, `model_usage_exhausted` `billing`, `model_provider_unavailable` `overloaded`). "Request interrupted by user" or "Request cancelled by user", which Droid writes in place of a message: `aborted`. Without both an answer without calls is `success`; else `incomplete` |
//!
//! A session that the manual `/compact` began has a parent, and its first record is `compaction_state`: its `tokenUsage` begins with the
//! parent's total. If the parent's settings are absent, or the parent went on, its part is unknown: the session is a `conflict`. A fork
//! begins at 0.
//!
//! *Unknown*: tokens of a single response, and of sessions without their settings; cost, as credits are not dollars.

use serde::Deserialize;

use super::common::{add_total, call, result, tokens_of};
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::shared::at::At;
use crate::adapters::shared::blocks::Block;
use crate::adapters::shared::builder::{Builder, Last, brief};
use crate::adapters::shared::elements::without_elements;
use crate::adapters::shared::ids::hashed_id;
use crate::adapters::shared::usage;
use crate::json::fields::{Count, Maybe, Text, TextOrBlocks, When};
use crate::json::lines::Line;
use crate::model::errors::ErrorKind;
use crate::model::places::Place;
use crate::model::session::{Capabilities, EventKind, Identity, SessionResult, Tokens};

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "droid-session",
    runtime: "droid",
    about: "Factory's Droid, sessions and their .settings.json under ~/.factory/sessions",
    tested: None,
    capabilities: Capabilities::TOOL_CALLS
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::SUBAGENTS)
        .and(Capabilities::COMPACTIONS)
        .and(Capabilities::USER_TURNS)
        .and(Capabilities::KEPT_BY_RUNTIME),
    places: &[Place::home(".factory/sessions")],
    claims,
    parse: fold::<Droid>,
};

/// More than other formats can claim over all records that decide: messages resemble those of other runtimes.
const DECISIVE: u32 = 100;

fn claims(probe: &Probe<'_>) -> u32 {
    match probe.kind() {
        "session_start" if probe.has("id") && (probe.has("owner") || probe.has("cwd")) => DECISIVE,
        "agent_turn_outcome" if probe.has("turnId") => DECISIVE,
        "message" if probe.has("id") && probe.object("message").has("role") => 1,
        "todo_state" | "compaction_state" => 1,
        "" if probe.object("tokenUsage").has_all(&["inputTokens", "cacheReadTokens", "thinkingTokens"]) => 6,
        _ => 0,
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Record<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    id: Text<'a>,
    timestamp: When,
    // session_start
    cwd: Text<'a>,
    parent: Text<'a>,
    // message
    message: Message<'a>,
    // agent_turn_outcome
    reason: Text<'a>,
    // settings
    model: Text<'a>,
    reasoning_effort: Text<'a>,
    token_usage: Maybe<Usage>,
    provider_lock_timestamp: When,
    tags: Vec<Tag<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Message<'a> {
    role: Text<'a>,
    visibility: Text<'a>,
    content: TextOrBlocks<'a, Block<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Usage {
    input_tokens: Count,
    output_tokens: Count,
    cache_creation_tokens: Count,
    cache_read_tokens: Count,
    thinking_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Tag<'a> {
    metadata: Caller<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Caller<'a> {
    calling_session_id: Text<'a>,
}

impl Usage {
    fn tokens(&self, damage: &mut RecordErrors) -> Tokens {
        let cached = [self.cache_read_tokens, self.cache_creation_tokens];
        tokens_of([self.input_tokens, self.output_tokens], cached, self.thinking_tokens, damage)
    }
}

struct Droid {
    context: Context,
    session: Option<Session>,
}

/// A session while its records are read.
struct Session {
    builder: Builder,
    /// Whether the last record began the session.
    is_at_start: bool,
    /// What the conversation ends with.
    last: Last,
}

impl Fold for Droid {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), session: None }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        let is_settings = record.kind.some().is_none() && !matches!(record.token_usage, Maybe::Absent);
        if !is_settings && !KNOWN.contains(&record.kind.as_str()) {
            return RecordKind::Unknown;
        }
        let context = &self.context;
        let stated_id = record.id.owned().filter(|_| record.kind.as_str() == "session_start");
        let other_id = || context.file_id.clone().unwrap_or_else(|| hashed_id(line.bytes));
        let new = || Session {
            builder: Builder::new(context, stated_id.unwrap_or_else(other_id), line.number),
            is_at_start: false,
            last: Last::Work,
        };
        self.session.get_or_insert_with(new).record(&record, line, damage);
        RecordKind::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        let Some(Session { mut builder, last, .. }) = self.session else { return Vec::new() };
        builder.end(last);
        vec![builder.finish()]
    }
}

/// What Droid writes in place of a message when the user interrupts it.
const INTERRUPTIONS: [&str; 2] = ["Request interrupted by user", "Request cancelled by user"];

const KNOWN: [&str; 6] =
    ["session_start", "message", "todo_state", "compaction_state", "agent_turn_outcome", "session_end"];

/// Fills in the facts and the running total of a settings file.
fn settings(builder: &mut Builder, record: &Record<'_>, line: Line<'_>, damage: &mut RecordErrors) {
    builder.extend_to(record.provider_lock_timestamp.0);
    let session = &mut builder.session;
    session.model = record.model.owned();
    let caller = record.tags.iter().find_map(|it| it.metadata.calling_session_id.owned());
    session.parent_session_id = session.parent_session_id.take().or(caller);
    let Some(usage) = usage::present(&record.token_usage, damage) else { return };
    let tokens = usage.tokens(damage);
    if !tokens.is_all_zero() {
        let at = At { line: line.number, time: None };
        add_total(session, tokens, record.reasoning_effort.owned(), at);
    }
}

impl Session {
    fn record(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut RecordErrors) {
        self.builder.extend_to(record.timestamp.0);
        let at = At { line: line.number, time: record.timestamp.0 };
        let is_first = std::mem::take(&mut self.is_at_start);
        match record.kind.as_str() {
            "session_start" => {
                self.is_at_start = true;
                let session = &mut self.builder.session;
                session.cwd = record.cwd.owned().or(session.cwd.take());
                session.parent_session_id = record.parent.owned().or(session.parent_session_id.take());
            }
            "message" => self.message(record, line.number),
            "compaction_state" => {
                self.builder.event(EventKind::Compaction, at);
                let session = &mut self.builder.session;
                session.inherits_total |= is_first && session.parent_session_id.is_some();
            }
            "agent_turn_outcome" => self.outcome(record.reason.as_str(), at),
            "" => settings(&mut self.builder, record, line, damage),
            _ => {}
        }
        self.builder.name_events(record.id.some(), line.bytes);
    }

    fn message(&mut self, record: &Record<'_>, line: i64) {
        let builder = &mut self.builder;
        let (time, content) = (record.timestamp.0, &record.message.content);
        let texts = content.blocks.iter().filter(|it| it.kind.as_str() == "text").map(|it| it.text.as_str());
        let is_shown = record.message.visibility.as_str() != "llm_only";
        let is_typed = |it: &&str| !it.trim().is_empty() && !it.starts_with("<system-reminder>");
        let texts = content.text.as_deref().into_iter().chain(texts);
        let text: String = texts.map(|text| without_elements(text, &["system-reminder"])).filter(is_typed).collect();
        let at = At { line, time };
        match record.message.role.as_str() {
            "user" => {
                for block in content.blocks.iter().filter(|it| it.kind.as_str() == "tool_result") {
                    let is_error = block.is_error.is_true();
                    result(builder, block.tool_use_id.as_str(), &text_of(block), block.content, is_error, time);
                }
                if INTERRUPTIONS.contains(&text.trim()) {
                    self.abort(at);
                    return;
                }
                // The program writes this in place of an answer, as the user.
                if text.starts_with("Token limit reached") {
                    self.last = Last::Error;
                    builder.fail_as(ErrorKind::RateLimit, &text);
                    builder.event(EventKind::Error, at).message = Some(brief(&text));
                } else if is_shown && !text.is_empty() {
                    self.last = Last::Work;
                    let named = |id| Identity::Global(format!("droid {id}").into());
                    builder.prompt_as(record.id.some().map_or(Identity::Unique, named), Some(&text));
                }
            }
            "assistant" if record.message.visibility.as_str() != "user_only" => {
                let named = |id| Identity::Global(format!("droid response {id}").into());
                let turn = builder.turn(record.id.some().map_or(Identity::Unique, named), line);
                let row = &mut builder.session.turns[turn];
                (row.occurred_at, row.message_id) = (time, record.id.owned());
                builder.set_answer(&text);
                let calls = content.blocks.iter().filter(|it| it.kind.as_str() == "tool_use");
                self.last = Last::Answer;
                for block in calls {
                    self.last = Last::Work;
                    call(builder, Some(turn), block.id.as_str(), block.name.as_str(), block.input, at);
                }
            }
            "system" if INTERRUPTIONS.contains(&text.trim()) => self.abort(at),
            _ => {}
        }
    }

    /// Adds how the work on a prompt ended.
    fn outcome(&mut self, reason: &str, at: At) {
        let kind = match reason {
            "completed" | "spec_handoff" => {
                self.last = Last::Answer;
                return;
            }
            "cancelled" | "process_exit" => {
                self.abort(at);
                return;
            }
            "model_rate_limited" => ErrorKind::RateLimit,
            "model_authentication_failed" => ErrorKind::Auth,
            "model_usage_exhausted" => ErrorKind::Billing,
            "model_provider_unavailable" => ErrorKind::Overloaded,
            _ => ErrorKind::Other,
        };
        self.last = Last::Error;
        self.builder.fail_as(kind, "");
        self.builder.event(EventKind::Error, at).message = Some(reason).filter(|it| !it.is_empty()).map(brief);
    }

    /// Adds an interruption. A message and the outcome report the same one.
    fn abort(&mut self, at: At) {
        if self.last != Last::Abort {
            self.builder.event(EventKind::Abort, at);
        }
        self.last = Last::Abort;
    }
}

/// The text of a result: a string, or blocks.
fn text_of(block: &Block<'_>) -> String {
    if !block.content.is_list() {
        return block.content.text().into_owned();
    }
    let blocks: Vec<Block<'_>> = block.content.read();
    blocks.iter().map(|it| it.text.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use crate::adapters::engine::Hints;
    use crate::adapters::parse;
    use crate::adapters::shared::builder::Retention;
    use crate::model::errors::ErrorKind;
    use crate::model::session::{CallStatus, SessionResult, Status};

    fn read(records: &[&str]) -> SessionResult {
        let start = r#"{"type":"session_start","id":"s","cwd":"/work"}"#;
        let log = [&[start], records].concat().join("\n");
        parse(log.as_bytes(), Hints::default(), Retention::None).sessions.swap_remove(0)
    }

    fn message(role: &str, blocks: &str) -> String {
        format!(r#"{{"type":"message","id":"{role}","message":{{"role":"{role}","content":[{blocks}]}}}}"#)
    }

    #[test]
    fn the_last_record_decides_on_the_status() {
        let (prompt, answer) = (message("user", r#"{"type":"text","text":"Go."}"#), message("assistant", ""));
        let failed = r#"{"type":"agent_turn_outcome","turnId":"t","reason":"error"}"#;
        let done = failed.replace("error", "completed");
        let status = |records: &[&str]| read(records).status;
        assert_eq!(status(&[&prompt]), Status::Incomplete);
        assert_eq!(status(&[&prompt, &answer]), Status::Success);
        assert_eq!((status(&[failed]), status(&[failed, &done])), (Status::Error, Status::Success));
        let retried = read(&[failed, &prompt]);
        assert_eq!((retried.status, retried.error_kind), (Status::Incomplete, None));
    }

    #[test]
    fn reasons_of_outcomes_decide_on_the_status() {
        use ErrorKind::{Auth, Billing, Cancelled, Other, Overloaded, RateLimit};
        for (reason, status, kind) in [
            ("completed", Status::Success, None),
            ("spec_handoff", Status::Success, None),
            ("cancelled", Status::Aborted, Some(Cancelled)),
            ("process_exit", Status::Aborted, Some(Cancelled)),
            ("permission_rejected", Status::Error, Some(Other)),
            ("model_rate_limited", Status::Error, Some(RateLimit)),
            ("model_authentication_failed", Status::Error, Some(Auth)),
            ("model_usage_exhausted", Status::Error, Some(Billing)),
            ("model_provider_unavailable", Status::Error, Some(Overloaded)),
        ] {
            let session = read(&[&format!(r#"{{"type":"agent_turn_outcome","turnId":"t","reason":"{reason}"}}"#)]);
            assert_eq!((session.status, session.error_kind), (status, kind), "{reason}");
            assert_eq!(session.events.len(), usize::from(status != Status::Success), "{reason}");
        }
    }

    #[test]
    fn an_interruption_is_no_prompt() {
        let prompt = message("user", r#"{"type":"text","text":"Go."}"#);
        let half = message("assistant", r#"{"type":"text","text":"Half of"}"#);
        let outcome = r#"{"type":"agent_turn_outcome","turnId":"t","reason":"cancelled"}"#;
        for (role, more, text) in [
            ("user", r#""visibility":"llm_only","#, "Request interrupted by user"),
            ("system", r#""visibility":"llm_only","#, "Request interrupted by user"),
            ("user", "", "Request cancelled by user"),
        ] {
            let stop = format!(
                r#"{{"type":"message","id":"i","message":{{"role":"{role}",{more}"content":[{{"type":"text","text":"{text}"}}]}}}}"#
            );
            for records in [vec![&*prompt, &half, &stop], vec![&prompt, &half, &stop, outcome]] {
                let session = read(&records);
                assert_eq!(session.status, Status::Aborted, "{stop}");
                assert_eq!((session.prompts.len(), session.events.len()), (1, 1), "{stop}");
            }
        }
    }

    #[test]
    fn cancelled_calls_are_no_errors() {
        let call = message("assistant", r#"{"type":"tool_use","id":"c","name":"Execute","input":{"command":"make"}}"#);
        for (text, status) in [
            ("Tool execution cancelled by user", CallStatus::Cancelled),
            ("Error: Tool execution cancelled by user", CallStatus::Cancelled),
            ("Error: Tool execution was interrupted", CallStatus::Cancelled),
            ("Tool cancelled: no result was received for this tool call", CallStatus::Error),
        ] {
            let result = format!(r#"{{"type":"tool_result","tool_use_id":"c","is_error":true,"content":"{text}"}}"#);
            assert_eq!(read(&[&call, &message("user", &result)]).tool_calls[0].status, status, "{text}");
        }
    }

    /// For some providers it is an estimate from the length of the text.
    #[test]
    fn output_contains_the_reasoning() {
        for (thinking, reasoning) in [(4, Some(4)), (20, None)] {
            let usage =
                format!(r#""inputTokens":100,"outputTokens":5,"cacheReadTokens":0,"thinkingTokens":{thinking}"#);
            let settings = format!(r#"{{"model":"m","tokenUsage":{{{usage}}}}}"#);
            let sessions = parse(settings.as_bytes(), Hints::default(), Retention::None).sessions;
            let tokens = sessions[0].totals[0].models[0].tokens;
            assert_eq!((tokens.output, tokens.reasoning), (Some(5), reasoning), "{thinking}");
        }
    }

    /// `/compact` begins a session with the total of its parent. A compaction within a session does not.
    #[test]
    fn a_session_that_begins_with_a_compaction_inherits_a_total() {
        let start = r#"{"type":"session_start","id":"s","cwd":"/work","parent":"p"}"#;
        let compaction = r#"{"type":"compaction_state","id":"k","summaryText":"s"}"#;
        let prompt = message("user", r#"{"type":"text","text":"Go."}"#);
        for (records, expected) in [
            (vec![start, compaction, &prompt], true),
            (vec![start, &prompt, compaction], false),
            (vec![compaction, &prompt], false),
        ] {
            let log = records.join("\n");
            let session = parse(log.as_bytes(), Hints::default(), Retention::None).sessions.swap_remove(0);
            assert_eq!(session.inherits_total, expected, "{log}");
        }
    }

    /// Droid writes it as the user, in place of an answer.
    #[test]
    fn a_token_limit_is_no_prompt() {
        let prompt = message("user", r#"{"type":"text","text":"Go."}"#);
        let limit = r#"{"type":"message","id":"l","message":{"role":"user","content":[{"type":"text","text":"Token limit reached. Use /limits to see your usage."}]}}"#;
        let session = read(&[&prompt, limit]);
        assert_eq!((session.status, session.error_kind), (Status::Error, Some(ErrorKind::RateLimit)));
        assert_eq!((session.prompts.len(), session.events.len()), (1, 1));
        let answered = read(&[&prompt, limit, &message("assistant", r#"{"type":"text","text":"Done."}"#)]);
        assert_eq!((answered.status, answered.error_kind), (Status::Success, None));
    }

    #[test]
    fn a_command_that_failed_is_an_error() {
        let call = message("assistant", r#"{"type":"tool_use","id":"c","name":"Execute","input":{"command":"make"}}"#);
        for (text, status) in [
            ("x (exit code: 2)", CallStatus::Error),
            ("x (exit code: 0)", CallStatus::Ok),
            (r"2 failed\n(exit code: 1)\n", CallStatus::Error),
            (r"jobs\njob 7 (exit code: 1)\nend", CallStatus::Ok),
        ] {
            let result = format!(r#"{{"type":"tool_result","tool_use_id":"c","content":"{text}"}}"#);
            assert_eq!(read(&[&call, &message("user", &result)]).tool_calls[0].status, status, "{text}");
        }
    }

    #[test]
    fn an_edit_has_the_lines_of_its_arguments() {
        let edit = r#"{"type":"tool_use","id":"c","name":"Edit","input":{"file_path":"/a","old_str":"x\ny","new_str":"x\nz\ny"}}"#;
        let result = r#"{"type":"tool_result","tool_use_id":"c","content":"ok"}"#;
        let session = read(&[&message("assistant", edit), &message("user", result)]);
        let change = &session.file_changes[0];
        assert_eq!((change.lines_added, change.lines_removed), (Some(1), Some(0)));
    }
}
