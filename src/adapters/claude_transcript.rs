//! Claude Code's transcripts, `~/.claude/projects/**/*.jsonl`, with those of subagents in their three places: files of
//! their own, inline sidechains, and `agent_progress` records of the parent.
//!
//! A response is one `message.id` over all its lines and files (`docs/accounting.md#identity-of-a-response`). A resumed session
//! begins as a copy of the old one: the ledger counts each response once. `toolUseResult.usage` of a call that runs a subagent is the
//! usage of the subagent's last response, which no progress record contains (`docs/accounting.md#subagents`).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::claude::{Conversation, Message, Origin, ToolUseResult, is_human, limits};
use super::sessions::{Sessions, hand_on_sessions};
use super::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::common::builder::{Last, brief, money};
use crate::base::text::{SharedStr, Symbol};
use crate::json::fields::{Count, Flag, Maybe, Number, Text, When};
use crate::json::lines::Line;
use crate::json::record::{Skip, record};
use crate::json::{self, Raw};
use crate::model::health::Reason;
use crate::model::places::Place;
use crate::model::session::{CallStatus, Capabilities, Cost, EventKind, Identity, SessionResult};

pub(super) const ADAPTER: Adapter = Adapter {
    id: "claude-transcript",
    runtime: "claude",
    about: "Claude Code, transcripts under ~/.claude/projects",
    tested: Some("2.1.296"),
    capabilities: Capabilities::TURNS
        .and(Capabilities::TOOL_CALLS)
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::SUBAGENTS)
        .and(Capabilities::COMPACTIONS)
        .and(Capabilities::RETRIES)
        .and(Capabilities::PERMISSION_DENIALS)
        .and(Capabilities::WEB_SEARCHES)
        .and(Capabilities::USER_TURNS)
        .and(Capabilities::KEPT_BY_RUNTIME),
    places: &[
        Place::variable("CLAUDE_CONFIG_DIR", ".claude", "projects"),
        Place::variable("CLAUDE_CONFIG_DIR", ".config/claude", "projects"),
    ],
    claims,
    parse: fold::<Transcript>,
};

fn claims(probe: &Probe<'_>) -> u32 {
    match probe.kind() {
        "assistant" | "user" | "system" | "progress" | "attachment" if probe.has("sessionId") => 2,
        // They are at the beginning of a file, without a session id.
        "summary" if probe.has("leafUuid") => 2,
        "file-history-snapshot" if probe.has("messageId") => 2,
        "queue-operation" | "last-prompt" | "custom-title" | "agent-name" | "permission-mode" | "ai-title" | "mode"
            if probe.has("sessionId") =>
        {
            1
        }
        _ => 0,
    }
}

record! {
    /// The members are in the order of responses. Other records contain their `type` before the message.
    struct Record<'a> {
        "parentUuid" => _parent_uuid: Skip,
        "isSidechain" => is_sidechain: Flag,
        "agentId" => agent_id: Text<'a>,
        "userType" => _user_type: Skip,
        "entrypoint" => entrypoint: Text<'a>,
        "cwd" => cwd: Text<'a>,
        "sessionId" => session_id: Text<'a>,
        "version" => version: Text<'a>,
        "gitBranch" => git_branch: Text<'a>,
        "slug" => _slug: Skip,
        "message" => message: Message<'a>,
        "requestId" => request_id: Text<'a>,
        "type" => kind: Text<'a>,
        // progress
        "data" => data: Option<Box<Progress<'a>>>,
        "isMeta" => is_meta: Flag,
        "parentToolUseID" => parent_tool_use_id: Text<'a>,
        "toolUseID" => _tool_use_id: Skip,
        "uuid" => uuid: Text<'a>,
        "timestamp" => timestamp: When,
        "toolUseResult" => tool_use_result: Option<Box<ToolUseResult<'a>>>,
        "sourceToolAssistantUUID" => _source_tool_assistant_uuid: Skip,
        "isCompactSummary" => is_compact_summary: Flag,
        "isApiErrorMessage" => is_api_error_message: Flag,
        "costUSD" => cost_usd: Number,
        // of a limit that was reached
        "quotaLimits" => quota_limits: Raw<'a>,
        // system
        "subtype" => subtype: Text<'a>,
        "error" => error: Raw<'a>,
        "content" => content: Text<'a>,
        "compactMetadata" => compact_metadata: CompactMetadata<'a>,
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct CompactMetadata<'a> {
    #[serde(borrow)]
    trigger: Text<'a>,
    pre_tokens: Count,
    post_tokens: Count,
}

/// A report of a running tool; of a subagent, its messages.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Progress<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    agent_id: Text<'a>,
    #[serde(borrow)]
    message: Inner<'a>,
}

/// A record of a subagent inside a progress record.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Inner<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    uuid: Text<'a>,
    timestamp: When,
    #[serde(borrow)]
    request_id: Text<'a>,
    #[serde(borrow)]
    message: Message<'a>,
    #[serde(borrow)]
    tool_use_result: Option<Box<ToolUseResult<'a>>>,
}

/// The error of an `api_error` record, in one of its forms.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ApiError<'a> {
    status: Count,
    #[serde(borrow)]
    message: Text<'a>,
}

struct Transcript {
    context: Context,
    sessions: Sessions<Session>,
}

/// The last of the main agent's records so far.
#[derive(Debug, Clone, Copy)]
enum Ending {
    Nothing,
    /// A response, by the index of its turn.
    Response(usize),
    Error,
    Interruption,
    /// A prompt after an interruption.
    Prompt,
}

/// The beginning of the text that Claude Code adds when the user interrupts it.
const INTERRUPTION: &str = "[Request interrupted by user";

struct Session {
    conversation: Conversation,
    /// The type of each agent, from the call that started it.
    types: BTreeMap<String, Symbol>,
    /// Number of responses of the main agent, and of those with an end.
    responses: usize,
    stopped: usize,
    last: Ending,
}

impl Fold for Transcript {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), sessions: Sessions::new() }
    }

    fn line(&mut self, line: Line<'_>, damage: &mut RecordErrors) -> Result<RecordKind, json::Error> {
        let mut record = Record::default();
        json::read_into(line.bytes, &mut record)?;
        Ok(self.see(line, &record, damage))
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        self.see(line, &record, damage)
    }

    hand_on_sessions!(Session::finish);
}

impl Transcript {
    fn see(&mut self, line: Line<'_>, record: &Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        match record.kind.as_str() {
            "assistant" | "user" | "system" | "progress" => {}
            "summary"
            | "file-history-snapshot"
            | "file-history-delta"
            | "queue-operation"
            | "attachment"
            | "last-prompt"
            | "custom-title"
            | "agent-name"
            | "agent-setting"
            | "pr-link"
            | "permission-mode"
            | "ai-title"
            | "mode"
            | "worktree-state"
            | "started"
            | "result" => return RecordKind::Known,
            _ => return RecordKind::Unknown,
        }
        let Some(id) = record.session_id.some() else {
            if matches!(record.message.usage, Maybe::Present(_)) {
                damage.note(Reason::NoUsage);
            }
            return RecordKind::Known;
        };
        let new = || Session {
            conversation: Conversation::new(&self.context, id, line.number),
            types: BTreeMap::new(),
            responses: 0,
            stopped: 0,
            last: Ending::Nothing,
        };
        let Some(session) = self.sessions.get(id, line.number, new) else { return RecordKind::Known };
        session.record(record, line.number, damage);
        RecordKind::Known
    }
}

impl Session {
    fn record(&mut self, record: &Record<'_>, line: i64, damage: &mut RecordErrors) {
        let session = &mut self.conversation.builder.session;
        let fill = |known: &mut Option<String>, text: &Text<'_>| {
            if known.is_none() {
                *known = text.owned();
            }
        };
        fill(&mut session.cwd, &record.cwd);
        fill(&mut session.git_branch, &record.git_branch);
        fill(&mut session.entrypoint, &record.entrypoint);
        if let Some(version) = record.version.some()
            && session.runtime_version.as_deref() != Some(version)
        {
            session.runtime_version = Some(version.to_owned());
        }
        self.conversation.builder.saw(record.timestamp.0);
        let origin = Origin {
            line,
            time: record.timestamp.0,
            uuid: record.uuid.some(),
            request_id: record.request_id.some(),
            is_subagent: record.is_sidechain.is_true(),
            agent_id: record.agent_id.some(),
            tool_use_result: record.tool_use_result.as_deref(),
            is_progress: false,
        };
        match record.kind.as_str() {
            "assistant" => self.assistant(record, &origin, damage),
            "user" => self.user(record, &origin, damage),
            "system" => self.system(record, &origin),
            _ => self.progress(record, &origin, damage),
        }
    }

    fn assistant(&mut self, record: &Record<'_>, origin: &Origin<'_>, damage: &mut RecordErrors) {
        let message = &record.message;
        if matches!(message.usage, Maybe::Wrong) {
            damage.note(Reason::NoUsage);
        }
        let is_main = !origin.is_subagent;
        if message.model.as_str() == "<synthetic>" || record.is_api_error_message.is_true() {
            // Written by the program, not by a model: an error of the API, or nothing.
            if record.is_api_error_message.is_true() {
                let text = message.content.blocks.iter().find_map(|it| it.text.some()).unwrap_or_default();
                let event = self.conversation.builder.event(EventKind::Error, origin.line, origin.time);
                event.key = record.uuid.owned();
                event.message = Some(brief(text));
                event.is_subagent = origin.is_subagent;
                if record.quota_limits.is_empty() {
                    limits::add_message(&mut self.conversation.builder, text, origin);
                } else {
                    limits::add(&mut self.conversation.builder, record.quota_limits, origin);
                }
                if is_main {
                    self.conversation.builder.fail(None, text);
                    self.last = Ending::Error;
                }
            }
            return;
        }
        // Not a response: its id or usage was lost.
        if message.id.some().is_none() && message.usage.get().is_none() {
            return;
        }
        let turn = self.response(message, origin, damage);
        if let Some(total) = money(record.cost_usd, damage) {
            self.conversation.builder.session.turns[turn].cost = Some(Cost::of(total));
        }
        if is_main {
            self.last = Ending::Response(turn);
        }
    }

    /// Returns the index of the turn.
    fn response(&mut self, message: &Message<'_>, origin: &Origin<'_>, damage: &mut RecordErrors) -> usize {
        if let Some(agent) = origin.agent_id
            && origin.is_subagent
        {
            self.subagent(agent, None, origin);
        }
        let known = self.conversation.builder.session.turns.len();
        let index = self.conversation.response(message, origin, None, damage);
        self.responses += usize::from(index == known);
        self.stopped += usize::from(index == known && message.stop_reason.some().is_some());
        index
    }

    /// Adds a subagent.
    fn subagent(&mut self, agent_id: &str, call_id: Option<&str>, origin: &Origin<'_>) {
        if self.conversation.builder.session.subagents.insert(agent_id.into()) {
            let event = self.conversation.builder.event(EventKind::Subagent, origin.line, origin.time);
            event.key = Some(format!("agent {agent_id}").into());
            event.code = Some(agent_id.into());
            event.call_id = call_id.map(SharedStr::from);
        }
    }

    fn user(&mut self, record: &Record<'_>, origin: &Origin<'_>, damage: &mut RecordErrors) {
        let message = &record.message;
        let blocks = message.content.blocks.iter().filter_map(|block| block.text.some());
        let mut texts = message.content.text.as_deref().into_iter().chain(blocks);
        if !origin.is_subagent && texts.any(|text| text.starts_with(INTERRUPTION)) {
            self.last = Ending::Interruption;
            self.conversation.builder.session.error_message = None;
        }
        if self.conversation.results(message, origin) {
            let call_id = message.content.blocks.iter().find_map(|it| it.tool_use_id.some());
            if let Some(call_id) = call_id {
                self.agent_result(call_id, origin, damage);
            }
            return;
        }
        let is_machine = record.is_meta.is_true() || record.is_compact_summary.is_true() || origin.is_subagent;
        let text = message.content.text.as_deref();
        let text = text.or_else(|| message.content.blocks.iter().find_map(|it| it.text.some()));
        let has_image = message.content.blocks.iter().any(|it| it.kind.as_str() == "image");
        if !is_machine && (text.is_some_and(is_human) || (text.is_none() && has_image)) {
            let identity =
                record.uuid.some().map_or(Identity::Unique, |it| Identity::Global(format!("prompt {it}").into()));
            self.conversation.builder.prompt_as(identity, text);
            if matches!(self.last, Ending::Interruption) {
                self.last = Ending::Prompt;
            }
        } else if !is_machine && text.is_some() {
            self.conversation.builder.prompted_by_program();
        }
    }

    /// The result of a call that runs a subagent contains the usage of the subagent's last response.
    fn agent_result(&mut self, call_id: &str, origin: &Origin<'_>, damage: &mut RecordErrors) {
        let Some(call) = self.conversation.builder.call_index(call_id) else { return };
        if self.conversation.builder.session.tool_calls[call].category != "subagent" {
            return;
        }
        let none = ToolUseResult::default();
        let result = origin.tool_use_result.unwrap_or(&none);
        let agent_id = result.agent_id.some().unwrap_or(call_id);
        if let Some(kind) = self.conversation.agents.get(call_id) {
            self.types.insert(agent_id.to_owned(), kind.clone());
        }
        if result.agent_id.some().is_some()
            && self.conversation.builder.session.tool_calls[call].status == CallStatus::Ok
        {
            self.subagent(agent_id, Some(call_id), origin);
        }
        let Some(usage) = result.usage.get() else { return };
        let tokens = usage.tokens(damage);
        if tokens.total().unwrap_or(0) == 0 {
            return;
        }
        let builder = &mut self.conversation.builder;
        let index = builder.turn(Identity::Global(format!("last of {call_id}").into()), origin.line);
        let model = builder.session.turns.iter().rev().find(|it| it.agent_id.as_deref() == Some(agent_id));
        let model = model.and_then(|it| it.model.clone());
        let turn = &mut builder.session.turns[index];
        turn.is_echo = true;
        // The last response made no call: calls were made by earlier responses.
        turn.has_predecessors = result.total_tool_use_count.get().unwrap_or(0) > 0;
        turn.tokens = tokens.into();
        turn.model = model;
        turn.is_subagent = true;
        turn.agent_id = Some(agent_id.into());
        turn.occurred_at = origin.time;
    }

    fn system(&mut self, record: &Record<'_>, origin: &Origin<'_>) {
        let builder = &mut self.conversation.builder;
        match record.subtype.as_str() {
            "compact_boundary" => {
                let event = builder.event(EventKind::Compaction, origin.line, origin.time);
                event.key = record.uuid.owned();
                event.code = record.compact_metadata.trigger.owned();
                event.tokens_before = record.compact_metadata.pre_tokens.get();
                event.tokens_after = record.compact_metadata.post_tokens.get();
            }
            "api_error" => {
                let error: ApiError<'_> = record.error.read();
                let event = builder.event(EventKind::Retry, origin.line, origin.time);
                event.key = record.uuid.owned();
                event.code = error.status.get().map(|it| it.to_string().into());
                event.message = error.message.some().or(record.content.some()).map(brief);
            }
            _ => {}
        }
    }

    /// Adds the messages of a subagent without an own file.
    fn progress(&mut self, record: &Record<'_>, outer: &Origin<'_>, damage: &mut RecordErrors) {
        let Some(data) = record.data.as_ref().filter(|it| it.kind.as_str() == "agent_progress") else { return };
        let inner = &data.message;
        let call_id = record.parent_tool_use_id.some();
        let agent_id = data.agent_id.some().or(call_id);
        let origin = Origin {
            line: outer.line,
            time: inner.timestamp.0.or(outer.time),
            uuid: inner.uuid.some(),
            request_id: inner.request_id.some(),
            is_subagent: true,
            agent_id,
            tool_use_result: inner.tool_use_result.as_deref(),
            is_progress: true,
        };
        if let Some(agent_id) = agent_id {
            self.subagent(agent_id, call_id, &origin);
        }
        match inner.kind.as_str() {
            "assistant" if inner.message.model.as_str() != "<synthetic>" && inner.message.id.some().is_some() => {
                self.response(&inner.message, &origin, damage);
            }
            "user" => {
                self.conversation.results(&inner.message, &origin);
            }
            _ => {}
        }
    }

    fn finish(mut self) -> SessionResult {
        let last = self.last();
        self.conversation.builder.end(last);
        let mut session = self.conversation.builder.finish();
        for turn in &mut session.turns {
            turn.agent = turn.agent_id.as_ref().and_then(|it| self.types.get(it.as_str()).cloned());
        }
        let types = &self.types;
        for event in session.events.iter_mut().filter(|it| it.kind == EventKind::Subagent) {
            event.agent = event.code.as_ref().and_then(|it| types.get(it.as_str()).cloned());
        }
        for index in 0..session.tool_calls.len() {
            let turn = session.tool_calls[index].turn.map(|it| &session.turns[it]);
            let (agent, is_subagent) = turn.map_or((None, false), |it| (it.agent.clone(), it.is_subagent));
            let call = &mut session.tool_calls[index];
            (call.agent, call.is_subagent) = (agent, is_subagent);
        }
        // Versions 2.0 to 2.1.42 never write the final output tokens of most responses
        // (`docs/accounting.md#completeness`).
        session.under_reports = self.stopped * 2 < self.responses;
        session
    }

    /// How the log ends: there is no end record.
    fn last(&self) -> Last {
        let builder = &self.conversation.builder;
        match self.last {
            Ending::Nothing | Ending::Prompt => Last::Work,
            Ending::Error => Last::Error,
            Ending::Interruption => Last::Abort,
            Ending::Response(turn) => {
                let has_calls = || builder.session.tool_calls.iter().any(|call| call.turn == Some(turn));
                let ended_by_itself = match builder.session.turns[turn].stop_reason.as_deref() {
                    Some(reason) => reason != "tool_use",
                    None => !has_calls(),
                };
                builder.last_response(turn, ended_by_itself)
            }
        }
    }
}
