//! Claude Code's transcripts, `~/.claude/projects/**/*.jsonl`, with those of subagents in their three places: files of
//! their own, inline sidechains, and `agent_progress` records of the parent.
//!
//! A response is one `message.id` over all its lines and files (`docs/accounting.md#identity-of-a-response`). A resumed session
//! begins as a copy of the old one: the ledger counts each response once. `toolUseResult.usage` of a call that runs a subagent is the
//! usage of the subagent's last response, which no progress record contains (`docs/accounting.md#subagents`).

use std::collections::BTreeMap;

use serde::Deserialize;

use self::side_records::{CostState, ForkContext};
use super::common::prompts::{Author, PromptOrigin};
use super::common::{Conversation, Message, NotRun, Origin, ToolUseResult, limits};
use crate::adapters::engine::sessions::{Sessions, hand_on_sessions};
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::shared::builder::{Last, brief, money};
use crate::base::text::{SharedStr, Symbol};
use crate::json::fields::{Count, Flag, Maybe, Number, Text, TextOrBlocks, When};
use crate::json::lines::Line;
use crate::json::record::{Skip, record};
use crate::json::{self, Raw};
use crate::model::health::Reason;
use crate::model::places::Place;
use crate::model::session::{CallStatus, Capabilities, Cost, EventKind, Identity, SessionResult};

mod side_records;

pub(crate) use self::side_records::is_auxiliary;

pub(crate) const ADAPTER: Adapter = Adapter {
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
        // Other runtimes have results as well.
        "result" | "started" => 0,
        kind if (side_records::is_known(kind) || kind == "cost-state") && probe.has("sessionId") => 1,
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
        // of prompts, in newer versions
        "origin" => origin: PromptOrigin<'a>,
        "promptSource" => prompt_source: Text<'a>,
        "turnOrigin" => turn_origin: Text<'a>,
        "toolUseResult" => tool_use_result: Option<Box<ToolUseResult<'a>>>,
        "toolDenialKind" => tool_denial_kind: Text<'a>,
        "sourceToolAssistantUUID" => _source_tool_assistant_uuid: Skip,
        "session_id" => origin_session_id: Text<'a>,
        "sessionKind" => session_kind: Text<'a>,
        "forkedFrom" => forked_from: ForkedFrom<'a>,
        "attachment" => attachment: Option<Box<Attachment<'a>>>,
        "isAbortedMidStream" => is_aborted_mid_stream: Flag,
        "apiErrorStatus" => api_error_status: Number,
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

/// The session whose history a fork copies.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ForkedFrom<'a> {
    #[serde(borrow)]
    session_id: Text<'a>,
}

/// Context that was added to a request. A prompt that the user typed while a tool ran is one of the type `queued_command`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Attachment<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    command_mode: Text<'a>,
    #[serde(borrow)]
    prompt: TextOrBlocks<'a, PromptBlock<'a>>,
    #[serde(borrow)]
    origin: PromptOrigin<'a>,
    /// The id that the prompt has elsewhere.
    #[serde(borrow, rename = "source_uuid")]
    source_uuid: Text<'a>,
    is_meta: Flag,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PromptBlock<'a> {
    #[serde(borrow)]
    text: Text<'a>,
}

impl Attachment<'_> {
    /// Whether it is a prompt of the queue.
    fn is_prompt(&self) -> bool {
        self.kind.as_str() == "queued_command" && self.command_mode.as_str() == "prompt" && !self.is_meta.is_true()
    }
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
    /// The session whose history the file repeats, from a record that names no session of its own.
    parent: Option<String>,
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
    /// The responses, each by its turn, and whether only progress records contain it so far.
    responses: Vec<(usize, bool)>,
    /// Whether a response was aborted while it was streamed.
    has_aborted_response: bool,
    last: Ending,
}

/// A response of a subagent without a stop reason has at most so many output tokens if only the count from the start of its stream
/// was logged.
const STUB: i64 = 32;

/// How the ids of agents begin that Claude Code runs for itself: for compactions and side questions.
const OWN_AGENTS: [&str; 2] = ["acompact-", "aside_question-"];

impl Fold for Transcript {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), sessions: Sessions::new(), parent: None }
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
            "assistant" | "user" | "system" | "progress" | "cost-state" => {}
            "attachment" if record.attachment.as_ref().is_some_and(|it| it.is_prompt()) => {}
            "fork-context-ref" => {
                self.fork(line);
                return RecordKind::Known;
            }
            kind if kind == "attachment" || side_records::is_known(kind) => return RecordKind::Known,
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
            responses: Vec::new(),
            has_aborted_response: false,
            last: Ending::Nothing,
        };
        let Some(session) = self.sessions.get(id, line.number, new) else { return RecordKind::Known };
        if record.kind.as_str() == "cost-state" {
            let state: CostState<'_> = Raw(line.bytes).read();
            session.conversation.builder.session.totals.extend(state.total(
                &session.conversation.builder,
                line,
                damage,
            ));
            return RecordKind::Known;
        }
        session.record(record, line, damage);
        if let Some(parent) = &self.parent {
            session.set_parent(parent);
        }
        RecordKind::Known
    }

    /// A record that names the session whose history is the context of this file.
    fn fork(&mut self, line: Line<'_>) {
        let fork: ForkContext<'_> = Raw(line.bytes).read();
        let Some(parent) = fork.parent() else { return };
        if !self.sessions.is_empty()
            && let Some(session) = self.sessions.current(line.number)
        {
            session.set_parent(parent);
        }
        self.parent = Some(parent.to_owned());
    }
}

impl Session {
    fn record(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut RecordErrors) {
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
        if let Some(parent) = record.forked_from.session_id.some() {
            self.set_parent(parent);
        }
        // A job in the background has the id of the session that started it besides its own.
        if let Some(parent) = record.origin_session_id.some()
            && record.session_kind.as_str() == "bg"
        {
            self.set_parent(parent);
        }
        self.conversation.builder.saw(record.timestamp.0);
        let origin = origin(record, line);
        match record.kind.as_str() {
            "assistant" => self.assistant(record, &origin, damage),
            "user" => self.user(record, &origin, damage),
            "system" => self.system(record, &origin),
            "attachment" => self.queued_prompt(record, &origin),
            _ => self.progress(record, &origin, damage),
        }
    }

    /// The session that this one continues or belongs to. The first that is named counts.
    fn set_parent(&mut self, parent: &str) {
        let session = &mut self.conversation.builder.session;
        if session.parent_session_id.is_none() && session.session_id != parent {
            session.parent_session_id = Some(parent.to_owned());
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
                    self.conversation.builder.fail(record.api_error_status.whole(), text);
                    self.last = Ending::Error;
                }
            }
            return;
        }
        // Not a response: its id or usage was lost.
        if message.id.some().is_none() && message.usage.get().is_none() {
            return;
        }
        self.has_aborted_response |= record.is_aborted_mid_stream.is_true();
        let turn = self.response(message, origin, false, damage);
        self.early_results(damage);
        if let Some(total) = money(record.cost_usd, damage) {
            self.conversation.builder.session.turns[turn].cost = Some(Cost::of(total));
        }
        if is_main {
            self.last = Ending::Response(turn);
        }
    }

    /// Returns the index of the turn.
    fn response(
        &mut self,
        message: &Message<'_>,
        origin: &Origin<'_>,
        is_progress: bool,
        damage: &mut RecordErrors,
    ) -> usize {
        if let Some(agent) = origin.agent_id
            && origin.is_subagent
        {
            self.subagent(agent, None, origin);
        }
        let known = self.conversation.builder.session.turns.len();
        let index = self.conversation.response(message, origin, None, damage);
        if index >= known {
            self.responses.push((index, is_progress));
        } else if !is_progress
            && let Ok(at) = self.responses.binary_search_by_key(&index, |(turn, _)| *turn)
            && let Some(response) = self.responses.get_mut(at)
        {
            response.1 = false;
        }
        index
    }

    /// Adds results that were on earlier lines than their calls.
    fn early_results(&mut self, damage: &mut RecordErrors) {
        for early in self.conversation.early.take_known(&self.conversation.builder) {
            let record: Record<'_> = Raw(&early.record).read();
            let line = Line { number: early.line, bytes: &early.record };
            let inner = record.data.as_ref().map(|data| &data.message);
            let (message, origin) = match inner {
                Some(inner) => (&inner.message, inner_origin(&record, inner, line)),
                None => (&record.message, origin(&record, line)),
            };
            self.conversation.early_result(&early.call_id, message, &origin);
            if inner.is_none() {
                self.agent_result(&early.call_id, &origin, damage);
            }
        }
    }

    /// A prompt that the user typed while the agent was at work.
    fn queued_prompt(&mut self, record: &Record<'_>, origin: &Origin<'_>) {
        let Some(attachment) = record.attachment.as_deref().filter(|_| !origin.is_subagent) else { return };
        let blocks = attachment.prompt.blocks.iter().find_map(|it| it.text.some());
        let text = attachment.prompt.text.as_deref().or(blocks);
        let own = record.origin.kind.as_str();
        let author = Author {
            origin: if own.is_empty() { attachment.origin.kind.as_str() } else { own },
            source: record.prompt_source.as_str(),
            turn: record.turn_origin.as_str(),
        };
        if author.is_human(text) {
            let id = attachment.source_uuid.some().or(origin.uuid);
            self.conversation.builder.prompt_as(prompt_identity(id), text);
        }
    }

    /// Adds a subagent, unless Claude Code runs it for itself.
    fn subagent(&mut self, agent_id: &str, call_id: Option<&str>, origin: &Origin<'_>) {
        if OWN_AGENTS.iter().any(|own| agent_id.starts_with(own)) {
            return;
        }
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
        let author = Author {
            origin: record.origin.kind.as_str(),
            source: record.prompt_source.as_str(),
            turn: record.turn_origin.as_str(),
        };
        if !is_machine && (text.is_some() || has_image) && author.is_human(text) {
            self.conversation.builder.prompt_as(prompt_identity(record.uuid.some()), text);
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
        let origin = inner_origin(record, inner, Line { number: outer.line, bytes: outer.bytes });
        if let Some(agent_id) = origin.agent_id {
            self.subagent(agent_id, record.parent_tool_use_id.some(), &origin);
        }
        match inner.kind.as_str() {
            "assistant" if inner.message.model.as_str() != "<synthetic>" && inner.message.id.some().is_some() => {
                self.response(&inner.message, &origin, true, damage);
                self.early_results(damage);
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
        session.under_reports = self.has_aborted_response || under_reports(&session, &self.responses);
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

/// Whether responses lack their final counts: most of them in versions 2.0 to 2.1.42, later single ones of subagents
/// (`docs/accounting.md#completeness`).
fn under_reports(session: &SessionResult, responses: &[(usize, bool)]) -> bool {
    let has_stopped = |turn: usize| session.turns[turn].stop_reason.is_some();
    let stopped = responses.iter().filter(|(turn, _)| has_stopped(*turn)).count();
    let is_stub = |&(turn, is_progress): &(usize, bool)| {
        let response = &session.turns[turn];
        let is_small = response.tokens.get().output.is_some_and(|output| output <= STUB);
        response.is_subagent && !is_progress && !has_stopped(turn) && is_small
    };
    stopped * 2 < responses.len() || responses.iter().any(is_stub)
}

fn prompt_identity(id: Option<&str>) -> Identity {
    id.map_or(Identity::Unique, |id| Identity::Global(format!("prompt {id}").into()))
}

fn origin<'a>(record: &'a Record<'a>, line: Line<'a>) -> Origin<'a> {
    Origin {
        line: line.number,
        time: record.timestamp.0,
        uuid: record.uuid.some(),
        request_id: record.request_id.some(),
        is_subagent: record.is_sidechain.is_true(),
        agent_id: record.agent_id.some(),
        tool_use_result: record.tool_use_result.as_deref(),
        not_run: record.tool_denial_kind.some().map_or(NotRun::Unstated, NotRun::All),
        bytes: line.bytes,
    }
}

/// The origin of a record of a subagent inside a progress record.
fn inner_origin<'a>(record: &'a Record<'a>, inner: &'a Inner<'a>, line: Line<'a>) -> Origin<'a> {
    let agent_id = record.data.as_ref().and_then(|data| data.agent_id.some());
    Origin {
        line: line.number,
        time: inner.timestamp.0.or(record.timestamp.0),
        uuid: inner.uuid.some(),
        request_id: inner.request_id.some(),
        is_subagent: true,
        agent_id: agent_id.or(record.parent_tool_use_id.some()),
        tool_use_result: inner.tool_use_result.as_deref(),
        not_run: NotRun::Unstated,
        bytes: line.bytes,
    }
}
