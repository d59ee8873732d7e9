//! Claude Code's recorded stdout: `--output-format stream-json`, the array of the same records that `json --verbose`
//! prints, and the single `result` of `--output-format json`.
//!
//! One response is one `message.id`, written as a line for each content block that repeats the whole usage; the first lines
//! contain only a part of the output tokens (`docs/accounting.md#identity-of-a-response`). `result.modelUsage` contains everything
//! that a process was billed for, including what no line contains: it is the total, never added to the lines
//! (`docs/accounting.md#totals-against-turns`).
//!
//! # `claude-stream-json`
//!
//! Recorded `claude -p --output-format stream-json`, or the array of `json --verbose`. Recognised by `session_id` (not `sessionId`)
//! with `uuid`, `parent_tool_use_id` or `tools`, which Cursor's stream does not have. Cowork of Claude Desktop writes the same records
//! to `audit.jsonl`, with the prompts under the id of the task. Seen: 28 files, 2.0.76 to 2.1.143,
//! and trimmed ones of 2.1.28x, whose `result` has its `type` near its end.
//!
//! | what | from |
//! | --- | --- |
//! | session, model, cwd, version | `session_id`; of a prompt in an audit log whose id has no other records, that of the record after it; `init`: `model`, `cwd`, `claude_code_version` |
//! | time | `timestamp`, else `_audit_timestamp` |
//! | runtime | `qwen` if `init` has `qwen_code_version`: its input includes what was read from the cache, and its `result.usage` all agents (from its source). `amp` if the id begins with `T-`. Else `claude` |
//! | turn | one per `message.id`, counts as in `claude-transcript` |
//! | total | `result.modelUsage` by model, with `costUSD`, `webSearchRequests`, `contextWindow`, `provider`; `canonicalModel` is the model's name where the key does not contain it, as that of an inference profile; without it `result.usage`, which excludes subagents. The part beyond the turns is a row of grain `session` |
//! | killed process | its responses are not included in any `result`. If the prompts since the previous `result` do not fit into a `result`, the responses before an `init` are those of a killed process, and are added to the total |
//! | cost | `result.total_cost_usd`; the part that is not assigned to a model is that of the models without a cost, or else of the largest model. A `costUSD` whose `costBasis` is `unknown` is the program's guess, and no cost |
//! | duration, API duration, stated turns | `duration_ms`, `duration_api_ms`, `num_turns`, once per `uuid` (without one: per cost and duration) |
//! | subagent | `parent_tool_use_id`, of events as well; `subagent_type` of that call |
//! | call, file change | as in `claude-transcript`, structured result in `tool_use_result`; refusals also from `tool_result_meta[].non_execution_kind`, with the same words as `toolDenialKind`, and from `permission_denials` |
//! | events | `status: compacting` and its `compact_boundary` are one compaction; `api_retry`, `api_error` (retry); lines with `error`, whose class is the code, and failed results that no such line precedes (error); results whose `terminal_reason` begins with `aborted_` (abort); subagents; denials |
//! | limits | `rate_limit_event`: `rate_limit_info.rateLimitType` is the window, with `resetsAt` and 100 times `utilization`; newer versions contain all windows in `unifiedWindows`. `reached` is the `status` `rejected`. Minutes follow from the names `five_hour` and `seven_day…` (public examples; not in the files seen) |
//! | user turns | user lines of the main agent, except results and `isSynthetic`, if the recording contains them |
//! | status | the last `result`: `aborted` if its `terminal_reason` begins with `aborted_`, the user's interruption, whose `subtype` is `error_during_execution`; `success` only if `subtype` is `success` and `is_error` is not true (both traps occur: 3 files with `error_max_turns` and `is_error` false). A main response after it, or no `result` (4 of 28): `incomplete` |
//!
//! *Exact*: tokens and cost of a session that ends with a `result` (`total_cost_usd` is the sum of `modelUsage`). Times are
//! unknown before 2.1.28x, except in audit logs. *Lower bound*: without a `result`, as the lines contain the output count from the start of the stream
//! (296 on the lines, 8,555 in the `result` of one run); after a killed process; with subagents, if a `result` has no
//! `modelUsage`. *Conflict*: a `result` below the sum of its lines.
//!
//! # `claude-json`
//!
//! The object of `claude -p --output-format json`. Recognised by `type: result` with `session_id` and one of `total_cost_usd`,
//! `modelUsage`, `num_turns`. Seen: 9 files. Read as the `result` above; a log with only `result` records has this format. All
//! tokens are in rows of grain `session`, one for each model; `turns` is `num_turns`. The session's model is the one in
//! `modelUsage` whose counts are closest to `usage`, not the first key. *Exact*, except that reasoning and the calls are unknown.
//! `cache_write_1h_tokens` is known for the model whose cache writes are those of `usage`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use foldhash::HashSet;

use self::records::{Denial, Record, StatedError};
use super::common::prompts::{Author, text_of_prompt};
use super::common::{Conversation, NotRun, Origin, limits};
use crate::adapters::engine::sessions::Sessions;
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::brief;
use crate::adapters::shared::ids::hashed_id;
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Maybe, Text};
use crate::json::lines::Line;
use crate::model::errors;
use crate::model::health::Reason;
use crate::model::session::{Capabilities, EventKind, SessionResult, Status};

mod records;
mod totals;

/// The facts that a `result` alone contains.
const RESULT_SHOWS: Capabilities = Capabilities::PERMISSION_DENIALS.and(Capabilities::WEB_SEARCHES);

pub(crate) const JSON: Adapter = Adapter {
    id: "claude-json",
    runtime: "claude",
    about: "Claude Code, claude -p --output-format json",
    tested: Some("2.1.296"),
    capabilities: RESULT_SHOWS.and(Capabilities::RESULT_ONLY),
    places: &[],
    claims: |probe| u32::from(probe.kind() == "result" && is_result(probe)),
    parse: fold::<Stream>,
};

pub(crate) const STREAM: Adapter = Adapter {
    id: "claude-stream-json",
    runtime: "claude",
    about: "Claude Code, claude -p --output-format stream-json, or json --verbose",
    tested: Some("2.1.296"),
    capabilities: RESULT_SHOWS
        .and(Capabilities::TOOL_CALLS)
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::SUBAGENTS)
        .and(Capabilities::COMPACTIONS)
        .and(Capabilities::RETRIES),
    places: &[],
    claims,
    parse: fold::<Stream>,
};

/// Programs that write the same records, in sessions of their own: Qwen Code, whose `init` states its version, and Amp, whose ids
/// begin in its own way.
const QWEN: &str = "qwen";
const AMP: &str = "amp";
const AMP_ID: &str = "T-";

/// How the reason begins for which a run ended that the user interrupted.
const ABORTED: &str = "aborted_";

fn is_result(probe: &Probe<'_>) -> bool {
    probe.has("session_id") && (probe.has("total_cost_usd") || probe.has("modelUsage") || probe.has("num_turns"))
}

fn claims(probe: &Probe<'_>) -> u32 {
    // Transcripts have `sessionId`. Cursor's stream is similar, but without ids of records and parents, and without tools.
    let is_own = ["uuid", "parent_tool_use_id", "tools"].iter().any(|it| probe.has(it));
    if !is_own || !probe.has("session_id") || probe.has("sessionId") {
        return 0;
    }
    match probe.kind() {
        "assistant" | "user" if probe.has("message") => 2,
        "system" if probe.has("subtype") => 2,
        "stream_event" | "rate_limit_event" | "tool_progress" | "auth_status" | "control_request" => 2,
        _ => 0,
    }
}

struct Stream {
    context: Context,
    sessions: Sessions<Session>,
    /// Prompts of an audit log that wait for the session that answers them, each with the number of its line.
    prompts: Vec<(i64, Vec<u8>)>,
}

struct Session {
    conversation: Conversation,
    /// Whether a record besides `result` was seen.
    is_stream: bool,
    /// The responses since the last result, in separate lists if an `init` is between them.
    runs: Vec<Vec<usize>>,
    /// The class and the text of the main agent's last error, if no response and no result is after it.
    error: Option<(Symbol, String)>,
    /// Models whose names do not show the model, with the names that results state for them.
    names: BTreeMap<Symbol, Symbol>,
}

impl Fold for Stream {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), sessions: Sessions::new(), prompts: Vec::new() }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        let known = match record.kind.as_str() {
            "system" | "assistant" | "user" | "rate_limit_event" => true,
            // Gemini's has a `status` instead. A file can contain recordings of both.
            "result" => record.subtype.is_some() || !record.status.is_some(),
            "stream_event"
            | "tool_progress"
            | "tool_use_summary"
            | "auth_status"
            | "keep_alive"
            | "control_request"
            | "control_response"
            | "control_cancel_request"
            // A new session follows.
            | "conversation_reset"
            | "prompt_suggestion"
            | "streamlined_text"
            | "streamlined_tool_use_summary" => return RecordKind::Known,
            _ => false,
        };
        if !known {
            return RecordKind::Unknown;
        }
        if self.is_prompt_under_another_id(&record) {
            self.prompts.push((line.number, line.bytes.to_vec()));
            return RecordKind::Known;
        }
        let id = record.session_id.some();
        self.add_prompts(id, damage);
        if let Some(session) = self.session(id, line) {
            session.record(&record, line, damage);
        }
        RecordKind::Known
    }

    fn close_idle(&mut self, line: i64, keep_open: &HashSet<String>) -> Vec<SessionResult> {
        self.sessions.close_idle(line, keep_open, Session::finish)
    }

    fn closed_too_early(&self) -> HashSet<String> {
        self.sessions.closed_too_early()
    }

    fn finish(mut self) -> Vec<SessionResult> {
        let last = self.sessions.current_id().map(str::to_owned);
        self.add_prompts(last.as_deref(), &mut RecordErrors::default());
        self.sessions.finish(Session::finish)
    }
}

impl Stream {
    /// Whether a record is a prompt in the audit log of Cowork under the id of the task, which is not that of the session that
    /// answers it.
    fn is_prompt_under_another_id(&self, record: &Record<'_>) -> bool {
        let is_prompt = record.kind.as_str() == "user" && record.audit_timestamp.0.is_some();
        is_prompt && record.session_id.some().is_some_and(|id| !self.sessions.has(id))
    }

    /// Adds the prompts that wait to the session of the record after them; at the end of the log to the last one, or to one of their
    /// own.
    fn add_prompts(&mut self, id: Option<&str>, damage: &mut RecordErrors) {
        for (number, bytes) in std::mem::take(&mut self.prompts) {
            let record: Record<'_> = Raw(&bytes).read();
            let line = Line { number, bytes: &bytes };
            if let Some(session) = self.session(id.or(record.session_id.some()), line) {
                session.record(&record, line, damage);
            }
        }
    }

    fn session(&mut self, id: Option<&str>, line: Line<'_>) -> Option<&mut Session> {
        let new = |id: &str| {
            let runtime = if id.starts_with(AMP_ID) { AMP } else { self.context.runtime };
            let (format, capabilities) = (STREAM.id, STREAM.capabilities);
            let context = Context { runtime, format, capabilities, ..self.context.clone() };
            let conversation = Conversation::new(&context, id, line.number);
            let runs = vec![Vec::new()];
            Session { conversation, is_stream: false, runs, error: None, names: BTreeMap::new() }
        };
        match id {
            Some(id) => self.sessions.get(id, line.number, || new(id)),
            // A record without a session id belongs to the session of the record before it.
            None if !self.sessions.is_empty() => self.sessions.current(line.number),
            None => {
                let id = hashed_id(line.bytes);
                self.sessions.get(&id, line.number, || new(&id))
            }
        }
    }
}

impl Session {
    fn record(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut RecordErrors) {
        self.conversation.builder.extend_to(record.time());
        self.is_stream |= record.kind.as_str() != "result";
        match record.kind.as_str() {
            "system" => self.system(record, line),
            "assistant" => self.assistant(record, line, damage),
            "user" => self.user(record, line),
            "rate_limit_event" => {
                limits::add(&mut self.conversation.builder, record.rate_limit_info, &origin(record, line));
            }
            _ => self.result(record, line, damage),
        }
        self.conversation.builder.name_events(record.uuid.some(), line.bytes);
    }

    fn system(&mut self, record: &Record<'_>, line: Line<'_>) {
        let session = &mut self.conversation.builder.session;
        match record.subtype.as_str() {
            "init" => {
                self.runs.push(Vec::new());
                session.model = session.model.take().or_else(|| record.model.owned());
                session.cwd = session.cwd.take().or_else(|| record.cwd.owned());
                if record.qwen_code_version.some().is_some() {
                    session.runtime = Cow::Borrowed(QWEN);
                    self.conversation.input_includes_cache = true;
                }
                let version = record.claude_code_version.some().or(record.qwen_code_version.some());
                session.runtime_version = version.map(str::to_owned).or_else(|| session.runtime_version.take());
                let builder = &mut self.conversation.builder;
                builder.offer_tools(record.tools);
                builder.offer_skills(record.skills);
                builder.offer_mcp_servers(record.mcp_servers);
            }
            // The status `compacting` before it is the same compaction, with an id that the transcript does not contain.
            "compact_boundary" => {
                let event = self.conversation.event(EventKind::Compaction, &origin(record, line));
                // The transcript contains only the boundary, with the same id.
                event.key = record.uuid.owned().or_else(|| event.key.take());
                let metadata = &record.compact_metadata;
                event.code = metadata.trigger.owned();
                event.tokens_before = metadata.pre_tokens.get();
                event.tokens_after = metadata.post_tokens.get();
            }
            "api_retry" | "api_error" => {
                let event = self.conversation.event(EventKind::Retry, &origin(record, line));
                event.code = record.error_status.whole().map(|it| it.to_string().into());
                event.message = (!record.error.is_empty()).then(|| brief(&record.error.text()));
            }
            _ => {}
        }
    }

    fn assistant(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut RecordErrors) {
        let (message, time) = (&record.message, record.time());
        let at = At { line: line.number, time };
        if message.model.as_str() == "<synthetic>" || !record.error.is_empty() {
            // Written by the program, not by a model: an error of the API, or nothing.
            if !record.error.is_empty() {
                let text = message.content.blocks.iter().find_map(|it| it.text.some());
                let class = Symbol::from(record.error.text());
                let event = self.conversation.event(EventKind::Error, &origin(record, line));
                event.code = Some(class.clone());
                event.message = text.map(brief);
                limits::add_message(&mut self.conversation.builder, text.unwrap_or_default(), &origin(record, line));
                if record.parent_tool_use_id.some().is_none() {
                    self.error = Some((class, text.unwrap_or_default().to_owned()));
                }
            }
            return;
        }
        let parent = record.parent_tool_use_id.some();
        if parent.is_none() {
            // A record after a result belongs to another run, which has not ended.
            let session = &mut self.conversation.builder.session;
            (session.status, session.error_kind, session.error_message) = (Status::Incomplete, None, None);
            self.error = None;
        }
        let agent = parent.and_then(|parent| self.conversation.subagent(parent, at));
        let turn = self.conversation.response(message, &origin(record, line), agent, damage);
        if let Some(run) = self.runs.last_mut() {
            run.push(turn);
        }
        for early in self.conversation.early.take_known(&self.conversation.builder) {
            let record: Record<'_> = Raw(&early.record).read();
            let line = Line { number: early.line, bytes: &early.record };
            self.conversation.early_result(&early.call_id, &record.message, &origin(&record, line));
        }
    }

    fn user(&mut self, record: &Record<'_>, line: Line<'_>) {
        let is_result = self.conversation.results(&record.message, &origin(record, line));
        if is_result || record.parent_tool_use_id.is_some() || record.is_synthetic.is_true() {
            return;
        }
        let text = text_of_prompt(record.message.texts());
        let author = Author { origin: record.origin.kind.as_str(), ..Author::default() };
        if text.is_some() && author.is_human(text) {
            self.conversation.builder.prompt(text);
        } else if record.message.texts().any(|text| !text.is_empty()) {
            self.conversation.builder.prompted_by_program();
        }
    }

    fn result(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut RecordErrors) {
        if matches!(record.usage, Maybe::Wrong) || matches!(record.model_usage, Maybe::Wrong) {
            damage.note(Reason::NoUsage);
        }
        let stated = record.usage.get().map(|usage| self.conversation.tokens(usage, damage));
        let total = self.total(record, stated, line, damage);
        self.add_total(total, stated);
        let session = &mut self.conversation.builder.session;
        session.stop_reason = record.stop_reason.owned().or_else(|| session.stop_reason.take());
        for denial in &record.permission_denials {
            self.denial(denial, line, record.time());
        }
        self.end(record, line);
    }

    /// How the run of a `result` ended.
    fn end(&mut self, record: &Record<'_>, line: Line<'_>) {
        let at = At { line: line.number, time: record.time() };
        let said = record.result.as_str();
        let error = self.error.take();
        // An interruption by the user is an error of execution, with the errors of what it stopped.
        if record.terminal_reason.as_str().starts_with(ABORTED) {
            self.conversation.builder.abort("");
            self.conversation.builder.event(EventKind::Abort, at).message = record.terminal_reason.owned();
            return;
        }
        // Both occur: subtype `success` with `is_error`, and `error_max_turns` without.
        if record.subtype.as_str() == "success" && !record.is_error.is_true() {
            self.conversation.builder.succeed();
            self.conversation.builder.set_answer(said);
            return;
        }
        let errors = record.errors.iter().filter_map(Text::some).collect::<Vec<_>>().join("; ");
        // That of Qwen Code.
        let stated = record.error.read::<StatedError<'_>>();
        let message = [&errors, stated.message.as_str(), said]
            .into_iter()
            .find(|it| !it.is_empty())
            .map_or(record.subtype.as_str(), |it| it);
        let subtype = record.subtype.some().filter(|it| *it != "success");
        let words = subtype.map_or(Cow::Borrowed(message), |subtype| Cow::Owned(format!("{message} {subtype}")));
        let class = error.as_ref().map_or("", |(class, _)| class);
        let kind = errors::classify_named(record.api_error_status.whole(), class, &words);
        self.conversation.builder.fail_as(kind, message);
        // A line before it contains the same error, with its class.
        if error.is_some_and(|(_, text)| text == message) {
            return;
        }
        limits::add_message(&mut self.conversation.builder, message, &origin(record, line));
        let event = self.conversation.builder.event(EventKind::Error, at);
        event.code = subtype.map(Symbol::new);
        event.message = Some(brief(message));
    }

    fn denial(&mut self, denial: &Denial<'_>, line: Line<'_>, time: Option<Time>) {
        let (call_id, at) = (&denial.tool_use_id, At { line: line.number, time });
        let builder = &mut self.conversation.builder;
        match builder.call_of_tool(call_id.as_str(), denial.tool_name.as_str()) {
            Some(call) => builder.deny(call, at, None),
            None => builder.deny_unknown_call(call_id.some(), denial.tool_name.owned(), at),
        }
    }

    fn finish(self) -> SessionResult {
        let mut session = self.conversation.builder.finish();
        name_models(&mut session, &self.names);
        if !self.is_stream {
            session.format = Cow::Borrowed(JSON.id);
            session.capabilities = JSON.capabilities;
        }
        // The lines contain only a part of the output; a result contains all of it.
        let is_stub = session.turns.iter().any(|it| it.is_subagent || it.is_of_killed);
        session.under_reports = session.status == Status::Incomplete || is_stub;
        session
    }
}

fn origin<'a>(record: &'a Record<'a>, line: Line<'a>) -> Origin<'a> {
    let parent = record.parent_tool_use_id.some();
    Origin {
        at: At { line: line.number, time: record.time() },
        uuid: record.uuid.some(),
        request_id: record.request_id.some(),
        forked_from: None,
        is_subagent: parent.is_some(),
        agent_id: parent,
        tool_use_result: Some(&record.tool_use_result),
        not_run: NotRun::ByCall(&record.tool_result_meta),
        bytes: line.bytes,
    }
}

/// Gives responses and the session the names that results state for their models, and responses the provider, if all totals state the
/// same one.
fn name_models(session: &mut SessionResult, names: &BTreeMap<Symbol, Symbol>) {
    let turns = session.turns.iter_mut().map(|turn| &mut turn.model);
    for model in turns.chain([&mut session.model]).flatten() {
        if let Some(name) = names.get(model) {
            *model = name.clone();
        }
    }
    let models = session.totals.iter().flat_map(|total| &total.models);
    let providers: BTreeSet<_> = models.map(|model| model.provider.clone()).collect();
    if let Some(Some(provider)) = providers.first().filter(|_| providers.len() == 1) {
        for turn in session.turns.iter_mut().filter(|turn| turn.provider.is_none()) {
            turn.provider = Some(provider.clone());
        }
    }
}
