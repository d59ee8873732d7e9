//! GitHub Copilot CLI's `events.jsonl`, in `~/.copilot/session-state/ID/`.
//!
//! A message states its output tokens only; everything else stands in `session.shutdown`, whose input holds what was
//! read from and written to caches and whose output holds the reasoning (accounting B26). A process that resumes a
//! session counts from 0 again: several shutdowns add ("What other tools get wrong", 21). They are folded into running
//! totals, which is what the ledger takes the totals of one recording for.

use foldhash::{HashMap, HashMapExt as _, HashSet, HashSetExt as _};
use serde::Deserialize;
use twox_hash::XxHash3_64;

use super::{Adapter, Context, Damage, Fold, Probe, Seen, fold, hashed_id};
use crate::adapters::common::builder::{Builder, brief};
use crate::adapters::common::tools;
use crate::base::rows::Rows;
use crate::base::text::Word;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::lines::Line;
use crate::json::wire::{Count, Flag, Maybe, Number, Pairs, Text, When};
use crate::model::errors::{self, ErrorKind};
use crate::model::health::Reason;
use crate::model::name::Name;
use crate::model::session::{
    CallStatus, EventKind, Identity, ModelTotal, Operation, SessionResult, Shows, Status, Tokens, Total, TotalKind,
};

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

/// Whether an event's type is of a family that the runtime writes; members come and go with every version.
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
    /// Of an agent besides the main one.
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
    /// In older versions: the call that started the agent which speaks.
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
    /// An object, or words.
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
    /// What people are shown, of an edit its diff.
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

/// What the common arguments do not name.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct EditArguments<'a> {
    /// Of the tool that edits by commands.
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

/// The usage of the response that sums up a conversation, under the names of newer and of older versions.
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
    /// The call that starts.
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
    /// The input holds what was read from and written to caches. Zeros everywhere are a provider that told nothing.
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
    /// The session whose records follow.
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
        let named = record.data.session_id.some().filter(|_| record.kind.as_str() == "session.start");
        if named.is_some() || self.sessions.is_empty() {
            let fallback = || self.context.file_id.map_or_else(|| hashed_id(line.bytes), |it| it.to_string());
            let id = named.map_or_else(fallback, str::to_owned);
            let known = self.sessions.iter().position(|it| it.builder.session.session_id == id);
            self.current = known.unwrap_or_else(|| {
                self.sessions.push(Session::new(Builder::new(&self.context, id, line.number)));
                self.sessions.len() - 1
            });
        }
        let session = &mut self.sessions[self.current];
        // Every record has an id and a time: the same line again is a copy.
        if session.seen.insert(XxHash3_64::oneshot(line.bytes)) {
            session.record(&record, line, damage);
        }
        Seen::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.sessions.into_iter().map(Session::finish).collect()
    }
}

/// An agent that speaks.
#[derive(Debug, Clone, Default)]
struct Agent {
    id: Option<Word>,
    name: Option<Word>,
}

struct Session {
    builder: Builder,
    seen: HashSet<u64>,
    /// What the main agent was last set to.
    model: Option<Word>,
    effort: Option<Word>,
    /// Started agents, by each id that their records may carry.
    agents: HashMap<String, Agent>,
    /// Calls that wait for permission, by the id of the request.
    asked: HashMap<String, String>,
    /// Commands that the user typed.
    typed: HashSet<String>,
    /// The first turn of the process that is running.
    process: usize,
    /// What the processes so far have spent, by model.
    spent: Vec<ModelTotal>,
    requests: Option<i64>,
    has_shutdown: bool,
}

impl Session {
    fn new(builder: Builder) -> Self {
        Self {
            builder,
            seen: HashSet::new(),
            model: None,
            effort: None,
            agents: HashMap::new(),
            asked: HashMap::new(),
            typed: HashSet::new(),
            process: 0,
            spent: Vec::new(),
            requests: None,
            has_shutdown: false,
        }
    }

    fn record(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut Damage) {
        let (data, time) = (&record.data, record.timestamp.0);
        self.builder.saw(time);
        match record.kind.as_str() {
            "session.start" | "session.resume" => self.begin(data),
            "session.model_change" => self.set_model(&data.new_model, &data.reasoning_effort),
            "user.message" => self.user(record, line),
            "assistant.message" => self.assistant(record, line, damage),
            // What a user runs by hand is no call of the agent.
            "tool.user_requested" => self.typed.extend(data.tool_call_id.owned()),
            "tool.execution_start" if !self.typed.contains(data.tool_call_id.as_str()) => {
                let agent = self.agent(record);
                self.call(&data.request(), line, time, agent);
            }
            "tool.execution_complete" => self.call_result(data, line, time),
            "permission.requested" => {
                if let (Some(request), Some(call)) =
                    (data.request_id.owned(), data.permission_request.tool_call_id.owned())
                {
                    self.asked.insert(request, call);
                }
            }
            "permission.completed" => self.permission(data, line, time),
            "subagent.started" => self.subagent(record, line),
            "subagent.failed" => {
                let agent = self.agent(record);
                let event = self.builder.event(EventKind::Error, line.number, time);
                event.key = record.id.owned();
                event.code = Some("subagent.failed".into());
                event.message = Some(brief(&data.error.text()));
                event.call_id = data.tool_call_id.owned();
                (event.agent, event.is_subagent) = (data.agent_name.owned().or(agent.and_then(|it| it.name)), true);
            }
            "subagent.selected" => self.builder.session.agent = data.agent_name.owned(),
            "session.compaction_complete" => self.compaction(record, line, damage),
            "session.error" => self.error(record, line),
            "abort" => {
                self.builder.abort(data.reason.as_str());
                let event = self.builder.event(EventKind::Abort, line.number, time);
                event.key = record.id.owned();
                event.message = data.reason.owned();
            }
            "session.shutdown" => self.shutdown(record, line, damage),
            _ => {}
        }
    }

    fn begin(&mut self, data: &Data<'_>) {
        self.leave_process();
        self.goes_on();
        self.set_model(&data.selected_model, &data.reasoning_effort);
        let session = &mut self.builder.session;
        let fill = |known: &mut Option<String>, text: &Text<'_>| *known = known.take().or_else(|| text.owned());
        fill(&mut session.cwd, &data.context.cwd);
        fill(&mut session.git_branch, &data.context.branch);
        fill(&mut session.parent_session_id, &data.detached_from_spawning_parent_session_id);
        session.runtime_version = data.copilot_version.owned().or(session.runtime_version.take());
    }

    fn set_model(&mut self, model: &Text<'_>, effort: &Text<'_>) {
        self.model = model.owned().or(self.model.take());
        self.effort = effort.owned().or(self.effort.take());
    }

    /// What ended before was no end of the session.
    fn goes_on(&mut self) {
        let session = &mut self.builder.session;
        session.status = Status::Incomplete;
        session.error_kind = None;
        session.error_message = None;
    }

    /// The agent of a record; `None` for the main one.
    fn agent(&self, record: &Record<'_>) -> Option<Agent> {
        let id = record.agent_id.some().or(record.data.parent_tool_call_id.some())?;
        Some(self.agents.get(id).cloned().unwrap_or_else(|| Agent { id: Some(id.into()), name: None }))
    }

    fn user(&mut self, record: &Record<'_>, line: Line<'_>) {
        let data = &record.data;
        self.goes_on();
        // Skills, other agents and the autopilot speak as the user.
        let is_human = matches!(data.source.as_str(), "" | "user")
            && !data.is_autopilot_continuation.is_true()
            && !record.agent_id.is_some();
        if is_human {
            let identity = Identity::Session(record.id.some().map_or_else(|| hashed_id(line.bytes).into(), Name::from));
            self.builder.prompt_as(identity, data.content.some());
        }
    }

    fn assistant(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut Damage) {
        let (data, time) = (&record.data, record.timestamp.0);
        damage.refuses(&[data.output_tokens]);
        let agent = self.agent(record);
        if agent.is_none() {
            self.goes_on();
            self.builder.say(data.content.as_str());
        }
        // A long response is written in several messages, which share the provider's id.
        let id = [&data.api_call_id, &data.message_id, &record.id].into_iter().find_map(|it| it.some());
        let identity = id.map_or(Identity::Unique, |it| Identity::Session(it.into()));
        let index = self.builder.turn(identity, line.number);
        let model = data.model.owned().or_else(|| self.model.clone().filter(|_| agent.is_none()));
        let effort = self.effort.clone().filter(|_| agent.is_none());
        let turn = &mut self.builder.session.turns[index];
        turn.message_id = data.api_call_id.owned().or_else(|| data.message_id.owned());
        turn.request_id = data.request_id.owned().or(turn.request_id.take());
        turn.occurred_at = turn.occurred_at.or(time);
        turn.model = model.or(turn.model.take());
        turn.effort = effort;
        // 0 beside an answer is a provider that told nothing.
        let mut tokens = turn.tokens.get();
        tokens.output = tokens.output.max(data.output_tokens.get().filter(|it| *it > 0));
        turn.tokens = tokens.into();
        if let Some(agent) = &agent {
            turn.is_subagent = true;
            turn.agent_id.clone_from(&agent.id);
            turn.agent.clone_from(&agent.name);
            self.builder.session.subagents.extend(agent.id.clone());
        }
        for it in &data.tool_requests {
            // The time of the call is that of its execution, which may wait for permission.
            let call = self.call(it, line, None, agent.clone());
            self.builder.session.tool_calls[call].turn = index.into();
        }
    }

    fn call(&mut self, request: &Request<'_>, line: Line<'_>, time: Option<Time>, agent: Option<Agent>) -> usize {
        let (name, arguments) = (request.name.as_str(), request.arguments);
        let call = self.builder.call(request.tool_call_id.as_str(), name, line.number, time);
        let edit: EditArguments<'_> = arguments.read();
        self.builder.session.tool_calls[call].category = category(name, edit.command.as_str()).into();
        if let Some(server) = request.mcp_server_name.some() {
            self.builder.mcp(call, Some(server));
        }
        let row = &mut self.builder.session.tool_calls[call];
        if let Some(agent) = agent {
            (row.agent, row.is_subagent) = (agent.name, true);
        }
        // The start of a call repeats what the message asked for.
        if arguments.is_empty() || row.args_bytes.get().is_some() {
            return call;
        }
        let is_edit = row.category == "edit";
        let is_create = name == "create" || edit.command.as_str() == "create";
        let read = self.builder.arguments(call, arguments);
        let patch =
            if arguments.0.first() == Some(&b'"') { Some(arguments.text()) } else { read.patch().map(Into::into) };
        match (patch, read.file()) {
            (Some(patch), _) if is_edit => self.builder.patch(call, &patch, line.number, time),
            (None, Some(file)) if is_create => {
                let lines = edit.file_text.0.as_ref().map(|it| (tools::line_count(it), 0));
                self.builder.change(call, file, Some(Operation::Create), lines, line.number, time);
            }
            (None, Some(file)) if is_edit => {
                self.builder.change(call, file, Some(Operation::Update), None, line.number, time);
            }
            _ => {}
        }
        call
    }

    fn call_result(&mut self, data: &Data<'_>, line: Line<'_>, time: Option<Time>) {
        // A result without a call invents none.
        let Some(call) = self.builder.call_index(data.tool_call_id.as_str()) else { return };
        let failure: Failure<'_> = data.error.read();
        let was_denied = self.builder.session.tool_calls[call].status == CallStatus::Denied;
        let status = if was_denied { CallStatus::Denied } else { CallStatus::from_error(!data.success.is_true()) };
        let told = if data.result.content.is_empty() { failure.message } else { data.result.content };
        self.builder.result(call, told, time, status);
        if status == CallStatus::Error && matches!(failure.code.as_str(), "rejected" | "denied") {
            self.builder.deny(call, line.number, time, Some(&failure.message.text()));
        }
        let row = &mut self.builder.session.tool_calls[call];
        if row.category == "shell" {
            let stated = data.result.contents.iter().find_map(|it| it.exit_code.whole());
            row.exit_code = stated.or_else(|| exit_code(&data.result.content.text())).into();
        }
        let diff = data.result.detailed_content.as_str();
        // The diff of one file says more than the arguments; that of several is told apart by a patch only.
        if status == CallStatus::Ok && diff.contains("\n@@ ") {
            let changes = self.builder.session.file_changes.iter_mut().filter(|it| it.call == Some(call));
            if let [change] = changes.collect::<Vec<_>>().as_mut_slice() {
                let (added, removed) = tools::diff_lines(tools::lines(diff));
                (change.lines_added, change.lines_removed) = (Some(added), Some(removed));
            }
        }
    }

    fn permission(&mut self, data: &Data<'_>, line: Line<'_>, time: Option<Time>) {
        if !data.result.kind.as_str().starts_with("denied") {
            return;
        }
        let asked = self.asked.get(data.request_id.as_str()).map(String::as_str);
        let call = data.tool_call_id.some().or(asked).and_then(|it| self.builder.call_index(it));
        let words = data.result.feedback.some().unwrap_or(data.result.kind.as_str());
        if let Some(call) = call {
            self.builder.deny(call, line.number, time, Some(words));
        } else {
            self.builder.event(EventKind::PermissionDenial, line.number, time).message = Some(brief(words));
        }
    }

    fn subagent(&mut self, record: &Record<'_>, line: Line<'_>) {
        let data = &record.data;
        let Some(id) = record.agent_id.owned::<Word>().or_else(|| data.tool_call_id.owned()) else { return };
        let agent = Agent { id: Some(id.clone()), name: data.agent_name.owned() };
        for key in [&record.agent_id, &data.tool_call_id].into_iter().filter_map(Text::owned) {
            self.agents.insert(key, agent.clone());
        }
        let event = self.builder.event(EventKind::Subagent, line.number, record.timestamp.0);
        event.key = record.id.owned();
        event.code = Some(id.clone());
        event.call_id = data.tool_call_id.owned();
        event.agent = agent.name;
        self.builder.session.subagents.insert(id);
    }

    /// A compaction that succeeded; the response that summed up the conversation was billed.
    fn compaction(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut Damage) {
        let (data, time) = (&record.data, record.timestamp.0);
        let turn = match &data.compaction_tokens_used {
            Maybe::Absent => None,
            Maybe::Wrong => {
                damage.note(Reason::NoUsage);
                None
            }
            Maybe::Present(usage) => {
                let id = data.request_id.some().or(record.id.some());
                let index =
                    self.builder.turn(id.map_or(Identity::Unique, |it| Identity::Session(it.into())), line.number);
                let turn = &mut self.builder.session.turns[index];
                turn.request_id = data.request_id.owned();
                turn.occurred_at = time;
                turn.model = usage.model.owned().or_else(|| self.model.clone());
                turn.tokens = usage.tokens(damage).into();
                Some(index)
            }
        };
        if data.success.0 == Some(false) {
            return;
        }
        let event = self.builder.event(EventKind::Compaction, line.number, time);
        event.key = record.id.owned();
        event.turn = turn;
        event.code = data.trigger.owned();
        event.tokens_before = data.pre_compaction_tokens.get();
        event.tokens_after = data.post_compaction_tokens.get();
    }

    fn error(&mut self, record: &Record<'_>, line: Line<'_>) {
        let data = &record.data;
        let (kind, message) = (data.error_type.as_str(), data.message.as_str());
        let error_kind = match kind {
            "authentication" | "authorization" => ErrorKind::Auth,
            "quota" => ErrorKind::Billing,
            "rate_limit" => ErrorKind::RateLimit,
            "context_limit" => ErrorKind::ContextOverflow,
            _ => errors::classify(data.status_code.whole(), &format!("{} {message}", data.error_code.as_str())),
        };
        if self.agent(record).is_none() {
            self.builder.fail_as(error_kind, message);
        }
        let event = self.builder.event(EventKind::Error, line.number, record.timestamp.0);
        event.key = record.id.owned();
        event.code = data.error_type.owned();
        event.message = data.message.some().map(brief);
        event.is_subagent = record.agent_id.some().is_some();
    }

    /// The end of a process, with what it spent.
    fn shutdown(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut Damage) {
        let data = &record.data;
        let session = &mut self.builder.session;
        if let Some((added, removed)) = data.code_changes.lines_added.get().zip(data.code_changes.lines_removed.get()) {
            let before = session.stated_lines.unwrap_or((0, 0));
            session.stated_lines = Some((before.0 + added, before.1 + removed));
        }
        session.model = data.current_model.owned().or(session.model.take());
        // A process may have been stopped, or have failed, before it was closed in an orderly way.
        if data.shutdown_type.as_str() == "error" {
            self.builder.fail(None, data.error_reason.as_str());
        } else if session.status == Status::Incomplete {
            self.builder.succeed();
        }
        let metrics = match &data.model_metrics {
            Maybe::Present(metrics) => metrics.0.as_slice(),
            Maybe::Absent => &[],
            Maybe::Wrong => {
                damage.note(Reason::NoUsage);
                &[]
            }
        };
        let mut totals = Vec::new();
        for (model, metric) in metrics {
            let tokens = match &metric.usage {
                Maybe::Present(usage) => usage.tokens(damage),
                Maybe::Absent => Tokens::UNKNOWN,
                Maybe::Wrong => {
                    damage.note(Reason::NoUsage);
                    Tokens::UNKNOWN
                }
            };
            self.requests = metric.requests.count.get().map(|it| it + self.requests.unwrap_or(0)).or(self.requests);
            totals.push((model.as_ref(), tokens));
        }
        self.close_process(&totals);
        self.has_shutdown = true;
        self.builder.session.totals.push(Total {
            line: line.number,
            key: record.id.owned().unwrap_or_else(|| hashed_id(line.bytes)),
            kind: TotalKind::Process,
            occurred_at: record.timestamp.0,
            api_duration_ms: data.total_api_duration_ms.rounded(),
            turns: self.requests,
            models: self.spent.clone(),
            covers_subagents: true,
            ..Total::default()
        });
    }

    /// Adds what a process spent: as it says, by model, or else what its turns show.
    fn close_process(&mut self, totals: &[(&str, Tokens)]) {
        let turns = &mut self.builder.session.turns[self.process..];
        let is_told =
            |model: Option<&str>| totals.iter().any(|(it, tokens)| Some(*it) == model && *tokens != Tokens::UNKNOWN);
        let output = |sum: i64, tokens: Tokens| sum.saturating_add(tokens.output.unwrap_or(0));
        let told = totals.iter().fold(0, |sum, (_, it)| output(sum, *it));
        let shown = turns.iter().fold(0, |sum, it| output(sum, it.tokens.get()));
        for (model, tokens) in totals.iter().filter(|(_, it)| *it != Tokens::UNKNOWN) {
            spend(&mut self.spent, Some((*model).into()), *tokens);
        }
        for turn in turns.iter_mut().filter(|it| !is_told(it.model.as_deref())) {
            if told > 0 && told >= shown {
                // The process calls the model by another name: the turn is in there already.
                turn.tokens = Tokens::UNKNOWN.into();
            } else if turn.tokens.get() != Tokens::UNKNOWN {
                spend(&mut self.spent, turn.model.clone(), turn.tokens.get());
            }
        }
        self.process = self.builder.session.turns.len();
    }

    /// The process that is running is gone without telling what it spent: no shutdown holds its turns.
    fn leave_process(&mut self) {
        let turns = &mut self.builder.session.turns;
        turns[self.process..].iter_mut().for_each(|it| it.is_of_killed = true);
        self.process = turns.len();
    }

    fn finish(self) -> SessionResult {
        let is_running = self.process < self.builder.session.turns.len();
        let mut session = self.builder.finish();
        let has_lost_one = session.turns.iter().any(|it| it.is_of_killed);
        session.under_reports = has_lost_one || is_running || !self.has_shutdown;
        session.model = session.model.or(self.model);
        for call in &mut session.tool_calls {
            call.occurred_at = call.occurred_at.or_else(|| session.turns[call.turn.get()?].occurred_at);
        }
        for change in &mut session.file_changes {
            change.occurred_at = change.occurred_at.or_else(|| session.tool_calls[change.call?].occurred_at);
        }
        session
    }
}

/// Adds tokens to those of their model.
fn spend(spent: &mut Vec<ModelTotal>, model: Option<Word>, tokens: Tokens) {
    if let Some(known) = spent.iter_mut().find(|it| it.model == model) {
        known.tokens = known.tokens.plus(tokens);
    } else {
        spent.push(ModelTotal { model, tokens, ..ModelTotal::default() });
    }
}

/// The word for a tool's job, where the runtime's names are its own.
fn category(tool: &str, command: &str) -> &'static str {
    match tool {
        "create" => "write",
        "str_replace_editor" => match command {
            "view" => "read",
            "create" => "write",
            _ => "edit",
        },
        "rg" => "search",
        "update_todo" | "exit_plan_mode" => "plan",
        _ => {
            // A shell that runs on is written to, read from and stopped by tools of its own.
            let is_shell = tool
                .strip_suffix("_bash")
                .or_else(|| tool.strip_suffix("_powershell"))
                .is_some_and(|it| matches!(it, "read" | "write" | "stop" | "list"));
            if is_shell { "shell" } else { tools::category(tool) }
        }
    }
}

/// The exit status that stands behind a command's output: `<shellId: 3 completed with exit code 1>`.
fn exit_code(output: &str) -> Option<i64> {
    let mark = output.trim_end().rsplit('\n').next()?.strip_prefix('<')?.strip_suffix('>')?;
    mark.rsplit_once("exit code ")?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_stand_behind_the_output() {
        assert_eq!(exit_code("boom\n<shellId: 12 completed with exit code 128>"), Some(128));
        assert_eq!(exit_code("<exited with exit code 0>\n"), Some(0));
        assert_eq!(exit_code("it says exit code 3"), None);
        assert_eq!((category("read_bash", ""), category("bash", ""), category("view", "")), ("shell", "shell", "read"));
    }
}
