//! The files that Codex keeps, `~/.codex/sessions/YYYY/MM/DD/rollout-….jsonl`: records `{timestamp, type, payload}`.
//!
//! A file begins with the session's own `session_meta`; a resume appends it again. A fork, and an agent that another one
//! started, may repeat the other session's records at the head of their own (accounting B14): what names them is the
//! thread they come from, the totals that they reached and the calls that they made, so that the ledger knows them again.

use std::borrow::Cow;
use std::hash::Hasher as _;
use std::sync::LazyLock;

use foldhash::{HashMap, HashSet};
use memchr::memmem::Finder;
use serde::Deserialize;
use twox_hash::XxHash3_64;

use super::codex::{Counted, Duration, Edit, Info, Invocation, Next, Outcome, Usage};
use super::{Adapter, Context, Damage, Fold, Probe, Seen, fold, hashed_id, push_counts_name, push_hexadecimal};
use crate::adapters::common::builder::{Builder, brief};
use crate::adapters::common::tools;
use crate::base::text::{Shared, Word};
use crate::base::time::Time;
use crate::json::lines::Line;
use crate::json::record::{Skip, record};
use crate::json::wire::{Content, Count, Flag, LateText, Maybe, Number, Pairs, Text, When, by_type};
use crate::json::{self, Raw};
use crate::model::errors::{self, ErrorKind};
use crate::model::health::Reason;
use crate::model::session::{CallStatus, EventKind, Identity, Operation, SessionResult, Shows, Status, Tokens};

pub(super) const ADAPTER: Adapter = Adapter {
    id: "codex-rollout",
    runtime: "codex",
    about: "Codex, rollouts under ~/.codex/sessions",
    shows: Shows::TOOL_CALLS
        .and(Shows::FILE_CHANGES)
        .and(Shows::COMPACTIONS)
        .and(Shows::PERMISSION_DENIALS)
        .and(Shows::USER_TURNS)
        .and(Shows::KEPT_BY_RUNTIME),
    claims,
    parse: fold::<Rollout>,
};

fn claims(probe: &Probe<'_>) -> u32 {
    match probe.kind() {
        "session_meta" | "turn_context" | "response_item" | "event_msg" | "compacted" | "token_usage_record"
            if probe.has("payload") =>
        {
            2
        }
        // Before the envelope.
        "" if probe.has_all(&["id", "timestamp", "instructions"]) || probe.has("record_type") => 2,
        "function_call" | "function_call_output" if probe.has("call_id") => 2,
        _ => 0,
    }
}

record! {
    struct Record<'a> {
        "timestamp" => timestamp: When,
        "type" => kind: Text<'a>,
        "payload" => payload: Payload<'a>,
        "record_type" => record_type: Text<'a>,
        "id" => id: Text<'a>,
        "git" => git: Git<'a>,
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Git<'a> {
    #[serde(borrow)]
    branch: Text<'a>,
}

by_type! {
    /// The payload of an item, an event, or (of another type, and of none) of what else there is.
    enum Payload<'a> {
        // Items.
        "message" => Message(Message<'a>),
        "function_call" => FunctionCall(Call<'a>),
        "custom_tool_call" => CustomToolCall(Call<'a>),
        "local_shell_call" => LocalShellCall(Call<'a>),
        "tool_search_call" => ToolSearchCall(Call<'a>),
        "web_search_call" => WebSearchCall(Call<'a>),
        "function_call_output" | "custom_tool_call_output" | "tool_search_output" => CallOutput(CallOutput<'a>),
        "reasoning" | "ghost_snapshot" | "compaction" | "compaction_summary" | "image_generation_call" => UnreadItem,
        // Events.
        "token_count" => TokenCount(TokenCount),
        "user_message" => UserMessage(Said<'a>),
        "agent_message" => AgentMessage(Said<'a>),
        "task_started" | "turn_started" => TaskStarted(TaskStarted),
        "task_complete" | "turn_complete" => TaskComplete(TaskComplete<'a>),
        "turn_aborted" => TurnAborted(TurnAborted<'a>),
        "error" => Error(Said<'a>),
        "stream_error" => StreamError(Said<'a>),
        "thread_settings_applied" => ThreadSettings(ThreadSettings<'a>),
        "context_compacted" => ContextCompacted,
        "patch_apply_end" => PatchEnd(PatchEnd<'a>),
        "exec_command_end" => ExecEnd(ExecEnd<'a>),
        "mcp_tool_call_end" => McpEnd(McpEnd<'a>),
        "web_search_end" => WebSearchEnd(WebSearchEnd<'a>),
        // What items tell as well, and what nothing is asked of.
        "agent_reasoning"
        | "agent_reasoning_raw_content"
        | "agent_reasoning_section_break"
        | "item_completed"
        | "thread_name_updated"
        | "thread_rolled_back"
        | "entered_review_mode"
        | "exited_review_mode"
        | "view_image_tool_call"
        | "image_generation_end"
        | "plan_update"
        | "turn_diff"
        | "undo_completed"
        | "warning"
        | "model_reroute"
        | "deprecation_notice"
        | "background_event"
        | "dynamic_tool_call_request"
        | "dynamic_tool_call_response"
        | "sub_agent_activity"
        | "collab_agent_spawn_end"
        | "collab_agent_interaction_end"
        | "collab_waiting_end"
        | "collab_close_end"
        | "collab_resume_end"
        | "thread_goal_updated" => UnreadEvent,
    }
}

/// `session_meta`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Meta<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    forked_from_id: Text<'a>,
    #[serde(borrow)]
    cwd: Text<'a>,
    #[serde(borrow)]
    originator: Text<'a>,
    #[serde(borrow)]
    cli_version: Text<'a>,
    #[serde(borrow)]
    model_provider: Text<'a>,
    #[serde(borrow)]
    source: Source<'a>,
    #[serde(borrow)]
    git: Git<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TurnContext<'a> {
    #[serde(borrow)]
    cwd: Text<'a>,
    #[serde(borrow)]
    model: Text<'a>,
    #[serde(borrow)]
    effort: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Compacted<'a> {
    #[serde(borrow)]
    compaction_response_id: Text<'a>,
}

/// `token_usage_record`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UsageRecord<'a> {
    #[serde(borrow)]
    response_id: Text<'a>,
    usage: Maybe<Usage>,
}

record! {
    struct Message<'a> {
        "type" => _type: Skip,
        "id" => _id: Skip,
        "role" => role: Text<'a>,
        "content" => content: Raw<'a>,
        "phase" => _phase: Skip,
    }
}

record! {
    struct Call<'a> {
        "type" => _type: Skip,
        "id" => id: Text<'a>,
        "status" => _status: Skip,
        "name" => name: Text<'a>,
        "namespace" => namespace: Text<'a>,
        "arguments" => arguments: Raw<'a>,
        "call_id" => call_id: Text<'a>,
        "input" => input: Raw<'a>,
        "action" => action: Raw<'a>,
    }
}

record! {
    struct CallOutput<'a> {
        "type" => _type: Skip,
        "call_id" => call_id: Text<'a>,
        "output" => output: Raw<'a>,
    }
}

record! {
    struct TokenCount {
        "type" => _type: Skip,
        /// Absent in events that only contain rate limits.
        "info" => info: Info,
        "rate_limits" => _rate_limits: Skip,
    }
}

record! {
    struct Said<'a> {
        "type" => _type: Skip,
        "message" => message: LateText<'a>,
        "codex_error_info" => codex_error_info: Raw<'a>,
        "phase" => _phase: Skip,
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TaskStarted {
    model_context_window: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TaskComplete<'a> {
    #[serde(borrow)]
    last_agent_message: LateText<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TurnAborted<'a> {
    #[serde(borrow)]
    reason: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ThreadSettings<'a> {
    #[serde(borrow)]
    thread_settings: Settings<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PatchEnd<'a> {
    #[serde(borrow)]
    call_id: Text<'a>,
    success: Flag,
    #[serde(borrow)]
    changes: Pairs<'a, Edit<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ExecEnd<'a> {
    #[serde(borrow)]
    call_id: Text<'a>,
    exit_code: Number,
    duration: Duration,
    #[serde(borrow)]
    status: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct McpEnd<'a> {
    #[serde(borrow)]
    call_id: Text<'a>,
    duration: Duration,
    #[serde(borrow)]
    invocation: Invocation<'a>,
    #[serde(borrow)]
    result: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WebSearchEnd<'a> {
    #[serde(borrow)]
    call_id: Text<'a>,
    #[serde(borrow)]
    query: Raw<'a>,
}

/// What the user has set for the responses from here on.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Settings<'a> {
    #[serde(borrow)]
    service_tier: Text<'a>,
}

/// `{"subagent":{"thread_spawn":{"parent_thread_id":…}}}`, or the word of a client.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Source<'a> {
    #[serde(borrow)]
    subagent: Subagent<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Subagent<'a> {
    #[serde(borrow)]
    thread_spawn: Spawn<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Spawn<'a> {
    #[serde(borrow)]
    parent_thread_id: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Block<'a> {
    #[serde(borrow)]
    text: LateText<'a>,
}

/// The arguments that only Codex's own tools have.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Arguments<'a> {
    #[serde(borrow)]
    session_id: Raw<'a>,
    #[serde(borrow)]
    cmd: Text<'a>,
    #[serde(borrow)]
    command: Raw<'a>,
}

/// What older versions gave to the model: `{"output":…,"metadata":{"exit_code":…}}`, or `{"content":…,"success":…}`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Output {
    metadata: Metadata,
    success: Flag,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata {
    exit_code: Number,
    duration_seconds: Number,
}

/// How a patch begins.
const PATCH: &str = "*** Begin Patch";

/// The tool that writes to a command which goes on.
const WRITE_STDIN: &str = "write_stdin";

struct Rollout {
    context: Context,
    thread: Option<Thread>,
}

struct Thread {
    builder: Builder,
    /// Hash of the first record. Where it comes again, the whole recording does.
    first: u64,
    /// The thread that the first of the records come from: this one, or the one that it was forked from.
    root: Shared,
    so_far: SoFar,
    /// What was typed, for versions without events.
    typed: Vec<(Identity, String)>,
    has_events: bool,
    has_ends: bool,
}

/// What the records up to now mean for the next ones.
#[derive(Default)]
struct SoFar {
    next: Next,
    /// Calls whose changes the log states besides the patch.
    stated_changes: Vec<usize>,
    /// The call that began each shell, by the shell's number.
    shells: HashMap<String, usize>,
    /// The shell that a call writes to.
    inputs: HashMap<usize, String>,
    /// Searches are told twice, under two names: told by an event and not yet by an item, or negative.
    searches: i64,
    /// Whether the current task met an error.
    is_failed: bool,
    /// A compaction that the next record may repeat.
    compacted_at: Option<Time>,
    /// Responses that were recorded and that no total has told yet.
    recorded: Vec<Recorded>,
    /// Responses that made a compaction and were not recorded yet.
    compacting: HashSet<Shared>,
    prompts: usize,
}

/// A `token_usage_record`: what one response spent.
struct Recorded {
    id: Shared,
    tokens: Tokens,
    line: i64,
    time: Option<Time>,
}

impl Fold for Rollout {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: *context, thread: None }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut Damage) -> Seen {
        let is_header = record.kind.some().is_none() && record.id.is_some();
        let meta: Option<Meta<'_>> = match &record.payload {
            Payload::Other(payload) if record.kind.as_str() == "session_meta" => Some(payload.read()),
            _ => None,
        };
        let id = if is_header { record.id.owned() } else { meta.as_ref().and_then(|it| it.id.owned()) };
        let context = self.context;
        let thread = self.thread.get_or_insert_with(|| {
            let named = id.clone().or_else(|| context.file_id.map(|it| it.to_string()));
            Thread::new(&context, named.unwrap_or_else(|| hashed_id(line.bytes)), line)
        });
        // A resume tells its own time.
        if id.is_some() && thread.first == XxHash3_64::oneshot(line.bytes) {
            thread.so_far = SoFar::default();
        }
        let time = record.timestamp.0;
        thread.builder.saw(time);
        if is_header {
            thread.builder.session.git_branch = record.git.branch.owned();
            return Seen::Known;
        }
        if let Some(meta) = meta {
            thread.meta(&meta);
            return Seen::Known;
        }
        match (record.kind.as_str(), record.payload) {
            ("turn_context", Payload::Other(payload)) => thread.turn_context(&payload.read()),
            ("event_msg", Payload::Wrong) => return Seen::Unknown,
            ("event_msg", event) if !matches!(event, Payload::Absent) => {
                return thread.event(event, line, time, damage);
            }
            ("response_item", Payload::Wrong) => return Seen::Unknown,
            ("response_item", item) if !matches!(item, Payload::Absent) => return thread.item(item, line, time),
            ("token_usage_record", Payload::Other(payload)) => thread.recorded(&payload.read(), line, time, damage),
            ("compacted", payload) => {
                thread.compacted(line, time);
                if let Payload::Other(payload) = payload {
                    let compacted: Compacted<'_> = payload.read();
                    thread.compacted_by(compacted.compaction_response_id.some());
                }
            }
            ("inter_agent_communication" | "inter_agent_communication_metadata", _) => {}
            ("", _) if record.record_type.is_some() => {}
            // Before the envelope, the items stood by themselves.
            (_, Payload::Absent) => {
                let item: Payload<'_> = json::from_slice(line.bytes).unwrap_or_default();
                return thread.item(item, line, time);
            }
            _ => return Seen::Unknown,
        }
        Seen::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.thread.map(Thread::finish).into_iter().collect()
    }
}

impl Thread {
    fn new(context: &Context, id: String, line: Line<'_>) -> Self {
        Self {
            first: XxHash3_64::oneshot(line.bytes),
            root: id.as_str().into(),
            builder: Builder::new(context, id, line.number),
            so_far: SoFar::default(),
            typed: Vec::new(),
            has_events: false,
            has_ends: false,
        }
    }

    fn meta(&mut self, meta: &Meta<'_>) {
        let session = &mut self.builder.session;
        if meta.id.some().is_some_and(|it| it != session.session_id) {
            // The thread that the next records come from. The last one is the oldest.
            self.root = meta.id.as_str().into();
            session.parent_session_id = session.parent_session_id.take().or_else(|| meta.id.owned());
            return;
        }
        let parent = meta.forked_from_id.some().or(meta.source.subagent.thread_spawn.parent_thread_id.some());
        if let Some(parent) = parent.filter(|it| *it != session.session_id) {
            session.parent_session_id = Some(parent.to_owned());
            self.root = parent.into();
        }
        session.cwd = meta.cwd.owned().or_else(|| session.cwd.take());
        session.git_branch = meta.git.branch.owned().or_else(|| session.git_branch.take());
        session.runtime_version = meta.cli_version.owned().or_else(|| session.runtime_version.take());
        session.entrypoint = meta.originator.owned().or_else(|| session.entrypoint.take());
        self.so_far.next.provider = meta.model_provider.owned().or_else(|| self.so_far.next.provider.take());
    }

    fn turn_context(&mut self, context: &TurnContext<'_>) {
        self.so_far.next.model = context.model.owned().or_else(|| self.so_far.next.model.take());
        self.so_far.next.effort = context.effort.owned();
        let session = &mut self.builder.session;
        session.cwd = session.cwd.take().or_else(|| context.cwd.owned());
        session.model.clone_from(&self.so_far.next.model);
    }

    fn event(&mut self, event: Payload<'_>, line: Line<'_>, time: Option<Time>, damage: &mut Damage) -> Seen {
        self.has_events = true;
        match event {
            Payload::TokenCount(it) => self.token_count(&it.info, line, time, damage),
            Payload::UserMessage(it) => {
                let identity = self.prompt_identity(it.message.as_str());
                self.builder.prompt_as(identity, it.message.some());
            }
            Payload::AgentMessage(it) => {
                if self.builder.keeps_text() {
                    self.builder.say(it.message.as_str());
                }
            }
            Payload::TaskStarted(it) => {
                self.has_ends = true;
                self.so_far.is_failed = false;
                self.builder.session.status = Status::Incomplete;
                self.so_far.next.context_window = it.model_context_window.get().or(self.so_far.next.context_window);
            }
            Payload::TaskComplete(it) => {
                self.has_ends = true;
                // A task ends after an error as well, without an answer.
                if !self.so_far.is_failed || it.last_agent_message.is_some() {
                    self.builder.succeed();
                }
                if self.builder.keeps_text() {
                    self.builder.say(it.last_agent_message.as_str());
                }
            }
            Payload::TurnAborted(it) => {
                self.has_ends = true;
                self.so_far.next.interrupt();
                self.builder.abort(it.reason.as_str());
                self.builder.event(EventKind::Abort, line.number, time).message = it.reason.owned();
            }
            Payload::Error(it) => {
                (self.has_ends, self.so_far.is_failed) = (true, true);
                let code = it.codex_error_info.text();
                match code.as_ref() {
                    "usage_limit_exceeded" => self.builder.fail_as(ErrorKind::RateLimit, it.message.as_str()),
                    _ => self.builder.fail_as(errors::classify(None, it.message.as_str()), it.message.as_str()),
                }
                let row = self.builder.event(EventKind::Error, line.number, time);
                row.message = it.message.some().map(brief);
                row.code = it.codex_error_info.len().map(|_| Word::new(&brief(&code)));
            }
            Payload::StreamError(it) => {
                self.builder.event(EventKind::Retry, line.number, time).message = it.message.some().map(brief);
            }
            // The settings from here on, whole: a tier that is not in them is the standard one (accounting: Codex models).
            Payload::ThreadSettings(it) => self.so_far.next.service_tier = it.thread_settings.service_tier.owned(),
            Payload::ContextCompacted => self.compacted(line, time),
            Payload::PatchEnd(it) => self.patch_end(&it, line, time),
            Payload::ExecEnd(it) => self.exec_end(&it),
            Payload::McpEnd(it) => self.mcp_end(&it, line, time),
            Payload::WebSearchEnd(it) => {
                self.so_far.searches += 1;
                if self.so_far.searches > 0 {
                    self.search(it.call_id.as_str(), it.query, line, time);
                }
            }
            Payload::UnreadEvent => {}
            _ => return Seen::Unknown,
        }
        Seen::Known
    }

    fn token_count(&mut self, info: &Info, line: Line<'_>, time: Option<Time>, damage: &mut Damage) {
        let last = info.last_token_usage.get().copied();
        let total = info.total_token_usage.get().copied();
        if self.root != self.builder.session.session_id {
            // The count may go on from another thread's, which has it in its own rows.
            self.so_far.next.total.begin(total, last);
        }
        let Some(spent) = self.so_far.next.total.advance(total, last, damage) else { return };
        let counted = Counted { window: info.model_context_window.get(), line: line.number, time };
        let root = &self.root;
        let index = self.so_far.next.add(&mut self.builder, spent, counted, |builder, reached, calls| {
            // A replay has the same calls; another thread of the same size has not.
            let mut hash = XxHash3_64::new();
            for call in calls {
                hash.write(builder.session.tool_calls[*call].call_id.as_bytes());
            }
            let mut name = String::with_capacity(128);
            name.push_str("Some(");
            push_counts_name(&mut name, reached);
            name.push_str(") ");
            push_hexadecimal(&mut name, hash.finish());
            Identity::Thread(root.clone(), name.into())
        });
        let recorded = &mut self.so_far.recorded;
        if let Some(known) = recorded.iter().find(|it| it.tokens == spent.response) {
            self.builder.session.turns[index].message_id = Some(known.id.clone());
        }
        let holds =
            |whole: Tokens, it: &Recorded| it.tokens.kinds().into_iter().zip(whole.kinds()).all(|(a, b)| a <= b);
        recorded.retain(|it| !holds(spent.response, it) && !spent.unlogged.is_some_and(|whole| holds(whole, it)));
    }

    /// What a response spent, by itself. The totals tell it as well, but for that of a compaction that the provider made.
    fn recorded(&mut self, record: &UsageRecord<'_>, line: Line<'_>, time: Option<Time>, damage: &mut Damage) {
        let (Some(id), Maybe::Present(usage)) = (record.response_id.owned(), &record.usage) else {
            damage.note(Reason::NoUsage);
            return;
        };
        let recorded = Recorded { id, tokens: usage.tokens(damage), line: line.number, time };
        if self.so_far.compacting.remove(&recorded.id) {
            self.compaction(recorded);
        } else {
            self.so_far.recorded.push(recorded);
        }
    }

    /// A compaction is a response, which totals may leave out (item 12). What they hold is counted with them.
    fn compacted_by(&mut self, response_id: Option<&str>) {
        let Some(id) = response_id else { return };
        match self.so_far.recorded.iter().position(|it| it.id == id) {
            Some(index) => {
                let recorded = self.so_far.recorded.remove(index);
                self.compaction(recorded);
            }
            None => drop(self.so_far.compacting.insert(id.into())),
        }
    }

    fn compaction(&mut self, recorded: Recorded) {
        let Recorded { id, tokens, line, time } = recorded;
        let index = self.builder.turn(Identity::Global(format!("codex response {id}").into()), line);
        let turn = &mut self.builder.session.turns[index];
        turn.message_id = Some(id);
        turn.tokens = tokens.into();
        turn.model.clone_from(&self.so_far.next.model);
        turn.provider.clone_from(&self.so_far.next.provider);
        turn.occurred_at = time;
    }

    fn compacted(&mut self, line: Line<'_>, time: Option<Time>) {
        // The record and the event tell of one compaction.
        if self.so_far.compacted_at.take().is_some_and(|it| time.is_none_or(|time| time.since(it).abs() < 5_000)) {
            return;
        }
        self.so_far.compacted_at = time;
        self.builder.event(EventKind::Compaction, line.number, time);
    }

    fn item(&mut self, item: Payload<'_>, line: Line<'_>, time: Option<Time>) -> Seen {
        match item {
            Payload::Message(it) => self.message(&it),
            Payload::FunctionCall(it) => {
                let call = self.call(&it, it.name.as_str(), line, time);
                let tool = &self.builder.session.tool_calls[call];
                let is_command = tool.category == "shell" && tool.tool != WRITE_STDIN;
                match if is_command { command_of(it.arguments) } else { None } {
                    Some(command) => self.builder.command(call, it.arguments, &command),
                    None => self.arguments(call, it.arguments, &it.arguments.text(), line, time),
                }
            }
            Payload::CustomToolCall(it) => {
                let call = self.call(&it, it.name.as_str(), line, time);
                let input = it.input.text();
                self.builder.arguments(call, it.input);
                self.builder.patch(call, &input, line.number, time);
            }
            Payload::LocalShellCall(it) => {
                let call = self.call(&it, "local_shell", line, time);
                self.builder.arguments(call, it.action);
            }
            Payload::ToolSearchCall(it) => {
                let call = self.call(&it, "tool_search", line, time);
                self.builder.arguments(call, it.arguments);
            }
            Payload::WebSearchCall(it) => {
                self.so_far.searches -= 1;
                if self.so_far.searches < 0 {
                    // Not by its line: noise before it would make it another call.
                    let calls = self.builder.session.tool_calls.len();
                    let id = it.id.owned().unwrap_or_else(|| format!("web_search_{}", calls + 1));
                    self.search(&id, it.action, line, time);
                }
            }
            Payload::CallOutput(it) => self.output(&it, line, time),
            Payload::UnreadItem => {}
            _ => return Seen::Unknown,
        }
        Seen::Known
    }

    fn message(&mut self, item: &Message<'_>) {
        let is_read = match item.role.as_str() {
            "assistant" => self.builder.keeps_text(),
            "user" => !self.has_events,
            _ => false,
        };
        if !is_read {
            return;
        }
        let content: Content<'_, Block<'_>> = item.content.read();
        let text = || content.blocks.iter().find_map(|it| it.text.some()).unwrap_or_default();
        match item.role.as_str() {
            "assistant" => self.builder.say(text()),
            // Instructions and surroundings are told in the user's name.
            "user" if !text().trim_start().starts_with(['<', '#']) => {
                let identity = self.prompt_identity(text());
                self.typed.push((identity, text().to_owned()));
            }
            _ => {}
        }
    }

    /// The name that a prompt has in every copy of it.
    fn prompt_identity(&mut self, text: &str) -> Identity {
        self.so_far.prompts += 1;
        let name = format!("user {} {:x}", self.so_far.prompts, XxHash3_64::oneshot(text.as_bytes()));
        Identity::Thread(self.root.clone(), name.into())
    }

    fn call(&mut self, item: &Call<'_>, tool: &str, line: Line<'_>, time: Option<Time>) -> usize {
        let call = self.builder.call(item.call_id.as_str(), tool, line.number, time);
        if let Some(server) = item.namespace.some().and_then(|it| it.strip_prefix("mcp__")) {
            self.builder.mcp(call, server.split("__").next().filter(|it| !it.is_empty()));
        }
        self.so_far.next.made(call);
        call
    }

    /// Arguments are JSON in a string.
    fn arguments(&mut self, call: usize, raw: Raw<'_>, text: &str, line: Line<'_>, time: Option<Time>) {
        self.builder.arguments(call, Raw(text.as_bytes()));
        self.builder.session.tool_calls[call].args_bytes = raw.len().into();
        let is_input = self.builder.session.tool_calls[call].tool == WRITE_STDIN;
        let has_patch = text.contains(PATCH);
        if !is_input && !has_patch {
            return;
        }
        let own: Arguments<'_> = Raw(text.as_bytes()).read();
        if is_input && !own.session_id.is_empty() {
            let shell = own.session_id.text().into_owned();
            let began = self.so_far.shells.get(&shell).copied();
            let target = began.and_then(|it| self.builder.session.tool_calls[it].target.clone());
            self.builder.session.tool_calls[call].target = target;
            self.so_far.inputs.insert(call, shell);
        }
        // A patch may be the input of a shell command.
        let words: Vec<Text<'_>> = own.command.read();
        let command = own.command.text();
        let texts = [own.cmd.some(), Some(command.as_ref())].into_iter().flatten();
        if let Some(patch) = words.iter().filter_map(Text::some).chain(texts).find(|it| it.contains(PATCH)) {
            self.builder.patch(call, patch, line.number, time);
        }
    }

    fn output(&mut self, item: &CallOutput<'_>, line: Line<'_>, time: Option<Time>) {
        let Some(call) = self.builder.call_index(item.call_id.as_str()) else { return };
        let known = self.builder.session.tool_calls[call].status;
        // Images and other parts: what comes as a list has worked.
        let is_list = item.output.0.first() == Some(&b'[');
        // Of the output of a command, only what the client puts before it is asked for.
        let is_read = !is_list && known != CallStatus::Denied;
        let mut head = if is_read { head_of_shell(item.output) } else { ShellHead::default() };
        let text = if is_list || head.end.is_some() { Cow::Borrowed("") } else { head_of_output(item.output) };
        let own: Output = if text.starts_with('{') { Raw(text.as_bytes()).read() } else { Output::default() };
        if head.end.is_none() {
            head = ShellHead::of_lines(tools::lines(&text).map(str::as_bytes)).0;
        }
        let end = head.end.or_else(|| own.metadata.exit_code.whole().map(ShellEnd::Exited));
        let status = match &end {
            // An event has told already.
            _ if known != CallStatus::Incomplete => known,
            // The command goes on: another call sees its end. To write to it is done.
            Some(ShellEnd::Runs(_)) if self.so_far.inputs.contains_key(&call) => CallStatus::Ok,
            Some(ShellEnd::Runs(_)) => CallStatus::Incomplete,
            Some(ShellEnd::Exited(_)) if self.so_far.inputs.contains_key(&call) => CallStatus::Ok,
            Some(ShellEnd::Exited(code)) => CallStatus::from_error(*code != 0),
            None if is_refusal(&text) => CallStatus::Denied,
            None => CallStatus::from_error(own.success.0 == Some(false) || is_failure(&text)),
        };
        self.builder.result(call, item.output, time, status);
        if status == CallStatus::Denied {
            self.builder.deny(call, line.number, time, Some(&text));
        }
        let row = &mut self.builder.session.tool_calls[call];
        let logged = own.metadata.duration_seconds.0.or(head.wall_seconds).map(|seconds| seconds * 1000.0);
        // The wall time of a command that goes on ends with its first output.
        if !(status == CallStatus::Incomplete && matches!(end, Some(ShellEnd::Runs(_)))) {
            row.duration_ms = row.duration_ms.get().or(Number(logged).rounded()).into();
        }
        match end {
            Some(ShellEnd::Runs(shell)) => {
                if status == CallStatus::Incomplete {
                    row.ended_at = None;
                }
                self.so_far.shells.entry(shell).or_insert(call);
            }
            Some(ShellEnd::Exited(code)) => {
                // The end of the command that the shell ran, whichever call saw it.
                let began = self.so_far.inputs.get(&call).and_then(|it| self.so_far.shells.remove(it));
                if began.is_some() || !self.so_far.inputs.contains_key(&call) {
                    let row = &mut self.builder.session.tool_calls[began.unwrap_or(call)];
                    row.exit_code = code.into();
                    if began.is_some() {
                        row.status = CallStatus::from_error(code != 0);
                        row.ended_at = time;
                    }
                }
            }
            None => {}
        }
    }

    fn exec_end(&mut self, event: &ExecEnd<'_>) {
        let Some(call) = self.builder.call_index(event.call_id.as_str()) else { return };
        let row = &mut self.builder.session.tool_calls[call];
        row.exit_code = event.exit_code.whole().or(row.exit_code.get()).into();
        row.duration_ms = event.duration.milliseconds().or(row.duration_ms.get()).into();
        if event.status.as_str() == "declined" {
            row.status = CallStatus::Denied;
        } else if let Some(code) = row.exit_code.get() {
            row.status = CallStatus::from_error(code != 0);
        }
    }

    fn mcp_end(&mut self, event: &McpEnd<'_>, line: Line<'_>, time: Option<Time>) {
        let call = self.builder.call(event.call_id.as_str(), event.invocation.tool.as_str(), line.number, time);
        self.so_far.next.made(call);
        let outcome: Outcome<'_> = event.result.read();
        self.builder.mcp(call, event.invocation.server.some());
        let row = &mut self.builder.session.tool_calls[call];
        row.duration_ms = event.duration.milliseconds().into();
        row.status = CallStatus::from_error(outcome.is_error());
        if row.args_bytes.is_none() {
            self.builder.arguments(call, event.invocation.arguments);
        }
    }

    /// The event names the files as they are; a patch names them as it was written.
    fn patch_end(&mut self, event: &PatchEnd<'_>, line: Line<'_>, time: Option<Time>) {
        let call = self.builder.call(event.call_id.as_str(), "apply_patch", line.number, time);
        self.so_far.next.made(call);
        self.builder.session.tool_calls[call].status = CallStatus::from_error(event.success.0 == Some(false));
        if !event.changes.0.is_empty() && !self.so_far.stated_changes.contains(&call) {
            self.so_far.stated_changes.push(call);
            self.builder.forget_changes(call);
        }
        for (path, edit) in &event.changes.0 {
            let operation = Operation::from_word(edit.kind.as_str());
            edit.change(&mut self.builder, call, path, operation, line.number, time);
        }
    }

    /// The provider's own search: there is no result to wait for.
    fn search(&mut self, id: &str, query: Raw<'_>, line: Line<'_>, time: Option<Time>) {
        let call = self.builder.call(id, "web_search", line.number, time);
        self.builder.arguments(call, query);
        self.builder.session.tool_calls[call].status = CallStatus::Ok;
        self.so_far.next.made(call);
    }

    fn finish(mut self) -> SessionResult {
        for (identity, text) in self.typed {
            if !self.has_events {
                self.builder.prompt_as(identity, Some(&text));
            }
        }
        if !self.has_ends {
            self.builder.session.status = Status::Unknown;
        }
        let session = &mut self.builder.session;
        session.continues = (*self.root != *session.session_id).then(|| self.root.to_string());
        self.builder.finish()
    }
}

/// The command in arguments that begin with it, as most do, whatever follows it; none if these have to be read for it, or for a
/// patch. The arguments are an object in a string, and the command is a string in that: the quote that ends it is escaped once,
/// any other quote in it twice.
fn command_of(arguments: Raw<'_>) -> Option<Cow<'_, str>> {
    /// Longer ones may hold anything.
    const LONGEST: usize = 512;
    static BEGINS_PATCH: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(PATCH));
    static MAY_NAME_OTHER: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("command"));
    let text = arguments.0.strip_prefix(br#""{\"cmd\":\""#)?.strip_suffix(br#"}""#)?;
    let most = text.get(..LONGEST).unwrap_or(text);
    let mut end = 0;
    let mut has_escapes = false;
    loop {
        end += json::backslash(most.get(end..)?)?;
        match most.get(end + 1)? {
            b'"' => break,
            // What is escaped in the command may be so in the arguments.
            b'\\' => end += if most.get(end + 2) == Some(&b'\\') { 4 } else { 3 },
            _ => return None,
        }
        has_escapes = true;
    }
    let (command, rest) = text.split_at_checked(end)?;
    let is_all = matches!(rest.get(2), None | Some(b','));
    if !is_all || MAY_NAME_OTHER.find(rest).is_some() || BEGINS_PATCH.find(text).is_some() {
        return None;
    }
    if has_escapes {
        json::unescape(command).and_then(|it| json::unescape(it.as_bytes())).map(Cow::Owned)
    } else {
        std::str::from_utf8(command).ok().map(Cow::Borrowed)
    }
}

/// How a command ended, by the result of a shell call.
enum ShellEnd {
    Exited(i64),
    /// It goes on in the shell of that number.
    Runs(String),
}

/// Lines that a client puts before the output of a command, and more bytes than they have.
const HEAD: usize = 8;
const HEAD_BYTES: usize = 256;

/// What a client says before the output of a command, or all of a text that may say it anywhere.
fn head_of_output(output: Raw<'_>) -> Cow<'_, str> {
    let head = whole_head(output, LONGEST_REFUSAL).map(|it| it.0).filter(|it| it.len() >= LONGEST_REFUSAL);
    head.unwrap_or_else(|| output.text())
}

/// What a client puts before the output of a command.
#[derive(Default)]
struct ShellHead {
    end: Option<ShellEnd>,
    /// The time until the command ended, or until it was left to go on.
    wall_seconds: Option<f64>,
}

impl ShellHead {
    /// The head in these lines, and whether they contain all of it: the last line of a text that was cut may not be whole.
    fn of_lines<'a>(lines: impl Iterator<Item = &'a [u8]>) -> (Self, bool) {
        let mut head = Self::default();
        for (number, line) in lines.enumerate() {
            if number == HEAD || line.starts_with(b"Output:") {
                return (head, true);
            }
            head.end = head.end.or_else(|| end_in_line(line));
            head.wall_seconds = head.wall_seconds.or_else(|| wall_time_in_line(line));
        }
        (head, false)
    }
}

/// The head of a result, if it is found without reading the whole result.
fn head_of_shell(output: Raw<'_>) -> ShellHead {
    let (head, is_whole) = ShellHead::of_lines(plain_lines(output.0));
    if is_whole { head } else { whole_head(output, HEAD_BYTES).map(|it| it.1).unwrap_or_default() }
}

/// The first lines of a text as it stands in the log, no more than a client puts there, as far as they are ASCII and have no other
/// escape than that of their end.
fn plain_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = text.strip_prefix(b"\"").filter(|it| !it.starts_with(b"{")).unwrap_or_default();
    let mut rest = text.get(..HEAD_BYTES).unwrap_or(text);
    let next = move || {
        let (line, behind) = rest.split_at_checked(json::backslash(rest)?)?;
        rest = behind.strip_prefix(b"\\n")?;
        line.is_ascii().then_some(line)
    };
    std::iter::from_fn(next).take(HEAD)
}

/// The beginning of an output, `length` bytes or more of it, if all that a client says before it is there, and what that says
/// of how the command ended.
fn whole_head(output: Raw<'_>, length: usize) -> Option<(Cow<'_, str>, ShellHead)> {
    let text = output.head(length);
    let (head, is_whole) = ShellHead::of_lines(tools::lines(&text).map(str::as_bytes));
    (is_whole && !text.starts_with('{')).then_some((text, head))
}

fn end_in_line(line: &[u8]) -> Option<ShellEnd> {
    let text = |it| std::str::from_utf8(it).ok().map(str::trim);
    if let Some(code) = line.strip_prefix(b"Process exited with code ").or_else(|| line.strip_prefix(b"Exit code: ")) {
        return text(code)?.parse().ok().map(ShellEnd::Exited);
    }
    text(line.strip_prefix(b"Process running with session ID ")?).map(|it| ShellEnd::Runs(it.to_owned()))
}

fn wall_time_in_line(line: &[u8]) -> Option<f64> {
    let seconds = line.strip_prefix(b"Wall time: ")?.strip_suffix(b" seconds")?;
    std::str::from_utf8(seconds).ok()?.parse().ok()
}

/// Longer texts only quote one.
const LONGEST_REFUSAL: usize = 1000;

fn is_refusal(text: &str) -> bool {
    text.len() < LONGEST_REFUSAL
        && ["rejected by user", "denied by user", "blocked by policy"].iter().any(|it| text.contains(it))
}

/// What the client answers in place of a tool that could not run.
fn is_failure(text: &str) -> bool {
    const BEGINNINGS: [&str; 9] = [
        "apply_patch verification failed",
        "exec_command failed",
        "execution error",
        "failed to parse",
        "unsupported call",
        "unable to",
        "err: ",
        "aborted",
        "write_stdin failed",
    ];
    BEGINNINGS.iter().any(|it| text.starts_with(it))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::common::builder::Content;
    use crate::adapters::{Hints, parse};

    fn read(records: &[(u32, &str, &str)]) -> SessionResult {
        let line = |(second, kind, payload): &(u32, &str, &str)| {
            format!(r#"{{"timestamp":"2026-01-02T03:04:{second:02}Z","type":"{kind}","payload":{payload}}}"#)
        };
        let log: Vec<_> = records.iter().map(line).collect();
        parse(log.join("\n").as_bytes(), Hints::default(), Content::None).sessions.swap_remove(0)
    }

    /// A command ends in its first output, or in that of a later call, which has a wall time of its own.
    #[test]
    fn wall_times_are_durations() {
        let session = read(&[
            (0, "session_meta", r#"{"id":"t"}"#),
            (
                1,
                "response_item",
                r#"{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"make\"}","call_id":"a"}"#,
            ),
            (
                9,
                "response_item",
                r#"{"type":"function_call_output","call_id":"a","output":"Chunk ID: 1\nWall time: 1.5004 seconds\nProcess exited with code 0\nOutput:\n"}"#,
            ),
            (
                10,
                "response_item",
                r#"{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"sleep 20\"}","call_id":"b"}"#,
            ),
            (
                20,
                "response_item",
                r#"{"type":"function_call_output","call_id":"b","output":"Chunk ID: 2\nWall time: 10.0 seconds\nProcess running with session ID 7\nOutput:\n"}"#,
            ),
            (
                22,
                "response_item",
                r#"{"type":"function_call","name":"write_stdin","arguments":"{\"session_id\":7}","call_id":"c"}"#,
            ),
            (
                30,
                "response_item",
                r#"{"type":"function_call_output","call_id":"c","output":"Chunk ID: 3\nWall time: 8.0 seconds\nProcess exited with code 0\nOutput:\n"}"#,
            ),
            (
                31,
                "response_item",
                r#"{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"sleep 99\"}","call_id":"d"}"#,
            ),
            (
                41,
                "response_item",
                r#"{"type":"function_call_output","call_id":"d","output":"Chunk ID: 4\nWall time: 10.0 seconds\nProcess running with session ID 8\nOutput:\n"}"#,
            ),
        ]);
        let durations: Vec<_> = session
            .tool_calls
            .iter()
            .map(|call| {
                let between = || Some(call.ended_at?.since(call.occurred_at?));
                call.duration_ms.get().or_else(between)
            })
            .collect();
        assert_eq!(durations, [Some(1500), Some(20_000), Some(8000), None]);
    }

    #[test]
    fn lines_of_a_deleted_file_are_removed() {
        let session = read(&[
            (0, "session_meta", r#"{"id":"t"}"#),
            (
                1,
                "event_msg",
                r#"{"type":"patch_apply_end","call_id":"a","success":true,"changes":{"/a":{"type":"delete","content":"x\ny\n"}}}"#,
            ),
        ]);
        let change = &session.file_changes[0];
        assert_eq!((change.lines_added, change.lines_removed), (Some(0), Some(2)));
    }

    /// A command that is found without reading the arguments is the one that these name.
    #[test]
    fn commands_are_found_as_arguments_name_them() {
        let found = |arguments: &str| {
            let raw = serde_json::to_string(arguments).unwrap();
            let found = command_of(Raw(raw.as_bytes())).map(Cow::into_owned);
            let own: Arguments<'_> = Raw(arguments.as_bytes()).read();
            assert!(found.as_deref().is_none_or(|it| it == own.cmd.as_str()), "{arguments}");
            found
        };
        let commands = [
            "ls",
            "",
            "rg \"a\\\\b\" 'x\ty'\nls",
            "\\",
            "\\\\",
            "\\\"",
            "\"",
            "\"\"",
            "grün \u{1f600}",
            "echo \u{7}",
            "a/b",
        ];
        for command in commands {
            let quoted = serde_json::to_string(command).unwrap();
            for rest in ["", ",\"workdir\":\"/a\"", ",\"a\":[{\"b\":\"\\\"}\"}]"] {
                assert_eq!(found(&format!("{{\"cmd\":{quoted}{rest}}}")).as_deref(), Some(command), "{command}");
            }
            for other in [
                format!("{{\"cmd\": {quoted}}}"),
                format!("{{\"cmd\":{quoted},\"command\":\"ls\"}}"),
                format!("{{\"cmd\":{quoted},\"command\" :\"ls\"}}"),
                format!("{{\"cmd\":{quoted},\"n\":\"*** Begin Patch\"}}"),
                format!("{{\"cmd\":{quoted}"),
                format!("{{\"cmd\":{quoted}7}}"),
                format!("{{\"cmd\":[{quoted}]}}"),
                format!("{{\"command\":{quoted}}}"),
                format!("{{\"cmd\":{quoted}{}}}", "x".repeat(7)),
            ] {
                assert_eq!(found(&other), None, "{other}");
            }
        }
        assert_eq!(found(&format!("{{\"cmd\":\"{}\"}}", "x".repeat(600))), None);
        // What is damaged behind it does not matter.
        let glued = serde_json::to_string(r#"{"cmd":"ls","workdir":"/a"}{"cmd":"pwd"}"#).unwrap();
        assert_eq!(command_of(Raw(glued.as_bytes())).as_deref(), Some("ls"));
        for raw in [
            r#""{\"cmd\":\"\u006cs\"}""#,
            r#""{\"cmd\":\"a\nb\"}""#,
            r#""{\"cmd\":\"a"#,
            r#""{\"cmd\":\"}""#,
            r#""{\"cmd\":\"\\"}""#,
        ] {
            assert_eq!(command_of(Raw(raw.as_bytes())), None, "{raw}");
        }
    }

    /// What is read as it stands in the log is what the text says, and what is no text is not.
    #[test]
    fn heads_of_outputs_are_read_with_and_without_their_escapes() {
        let told = |it: Option<ShellEnd>| match it {
            Some(ShellEnd::Exited(code)) => format!("exited {code}"),
            Some(ShellEnd::Runs(shell)) => format!("runs {shell}"),
            None => String::new(),
        };
        let plain = |it: &[u8]| {
            let (head, is_whole) = ShellHead::of_lines(plain_lines(it));
            is_whole.then(|| told(head.end))
        };
        for (output, expected) in [
            (r#""Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nx\"y""#, Some("exited 2")),
            (r#""Exit code: 0\nWall time: 0.1 seconds\nOutput:\n""#, Some("exited 0")),
            (r#""Process running with session ID 7\nOutput:\n""#, Some("runs 7")),
            (r#""Output:\nProcess exited with code 1\n""#, Some("")),
            (r#""Exit code: 0\r\nOutput:\n""#, None),
            (r#""Exit \"code\"\nOutput:\n""#, None),
            (r#""{\"output\":\"\"}""#, None),
            (r#""Exit code: 0""#, None),
            (r#""1\n2\n3\n4\n5\n6\n7\n8\nOutput:\n""#, None),
            ("\"Exit \u{fffd}\\nOutput:\\n\"", None),
            (r"[]", None),
            ("\"", None),
        ] {
            assert_eq!(plain(output.as_bytes()).as_deref(), expected, "{output}");
            if let Some(expected) = expected {
                let whole = whole_head(Raw(output.as_bytes()), HEAD_BYTES).and_then(|it| it.1.end);
                assert_eq!(told(whole), expected, "{output}");
            }
        }
        assert_eq!(plain(b"\"Process running with session ID 7\xFF\\nOutput:\\n\""), None);
    }
}
