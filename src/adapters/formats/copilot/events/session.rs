//! One session of Copilot CLI while its events are read.

use foldhash::{HashMap, HashMapExt as _, HashSet, HashSetExt as _};

use self::agents::{Agent, Agents};
use self::requests::Requests;
use self::stated::Stated;
use super::credits::Credits;
use super::records::{Checkout, Data, EditArguments, Failure, Record, Request};
use crate::adapters::engine::{Context, RecordErrors};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, Last, brief};
use crate::adapters::shared::changed_lines::ChangedLines;
use crate::adapters::shared::file_changes::set_lines;
use crate::adapters::shared::ids::hashed_id;
use crate::adapters::shared::repository::{of_remote, of_root};
use crate::adapters::shared::{changes, tools, usage};
use crate::base::split;
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::Text;
use crate::json::lines::Line;
use crate::model::errors::{self, ErrorKind};
use crate::model::id_hash::IdHash;
use crate::model::session::{CallStatus, Event, EventKind, Identity, ModelTotal, Operation, SessionResult, Turn};

mod agents;
mod process;
mod requests;
mod stated;

/// Why the autopilot stops at the limit of credits (`--max-ai-credits`). The other reasons are those of a user: `user_initiated`,
/// `remote_command`, `user_abort`.
const CREDIT_LIMIT: &str = "autopilot_credit_limit";

/// Types of errors that end no turn: a server of MCP did not start, or the list of models could not be loaded.
const SIDE_ERRORS: [&str; 2] = ["mcp", "model"];

/// A session while its events are read.
pub(super) struct Session {
    pub(super) builder: Builder,
    /// Hashes of the records so far.
    pub(super) seen: HashSet<u64>,
    /// The current settings of the main agent.
    model: Option<Symbol>,
    effort: Option<Symbol>,
    agents: Agents,
    /// Calls that wait for permission, by the id of the permission request.
    asked: HashMap<String, String>,
    /// Ids of commands that the user typed.
    typed: HashSet<String>,
    /// Index of the first turn of the current process.
    process: usize,
    /// The tokens of all processes that ended, by model.
    spent: Vec<ModelTotal>,
    /// The number of requests of these processes.
    requests: Option<i64>,
    has_shutdown: bool,
    /// What the last process that ended stated.
    stated: Stated,
    credits: Credits,
    /// Indexes of the turns of the current process that summarised the conversation.
    summaries: Vec<usize>,
    requests_of_recording: Requests,
    /// The phases of `HydraFusion` in the current process.
    phases: Vec<Turn>,
    /// Whether it is a recording that has ended.
    pub(super) has_result: bool,
    /// Whether no record has stated its id yet.
    is_unnamed: bool,
}

impl Session {
    pub(super) fn new(context: &Context, builder: Builder, is_unnamed: bool) -> Self {
        Self {
            builder,
            seen: HashSet::new(),
            model: None,
            effort: None,
            agents: Agents::default(),
            asked: HashMap::new(),
            typed: HashSet::new(),
            process: 0,
            spent: Vec::new(),
            requests: None,
            has_shutdown: false,
            stated: Stated::default(),
            credits: Credits::default(),
            summaries: Vec::new(),
            requests_of_recording: Requests::new(context),
            phases: Vec::new(),
            has_result: false,
            is_unnamed,
        }
    }

    pub(super) fn record(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut RecordErrors) {
        let (data, time) = (&record.data, record.timestamp.0);
        self.builder.extend_to(time);
        let at = At { line: line.number, time };
        match record.kind.as_str() {
            "session.start" | "session.resume" => self.begin(data),
            "session.model_change" => self.set_model(&data.new_model, &data.reasoning_effort),
            // The only record of a recording that states the model, if the messages do not.
            "session.tools_updated" => self.set_model(&data.model, &data.reasoning_effort),
            "session.skills_loaded" => self.builder.offer_skills(data.skills),
            "session.mcp_servers_loaded" => self.builder.offer_mcp_servers(data.servers),
            "system.message" => self.builder.instructions(data.content.as_str()),
            "user.message" => self.user(record, line),
            "assistant.message" => self.assistant(record, line, damage),
            // A command that the user types is not a call of the agent.
            "tool.user_requested" => self.typed.extend(data.tool_call_id.owned()),
            "tool.execution_start" if !self.typed.contains(data.tool_call_id.as_str()) => {
                let agent = self.agents.of(record);
                let at = At { line: line.number, time };
                self.call(&data.request(), None, at, agent);
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
            "subagent.configured" => self.agents.configure(record),
            "assistant.usage" => {
                let agent = self.agents.of(record);
                self.requests_of_recording.add(record, agent.as_ref(), line, damage);
            }
            "assistant.fusion_phase_completed" | "assistant.fusion_phase_failed" => {
                self.phases.extend(requests::phase(record, line, damage));
            }
            "subagent.failed" => {
                let agent = self.agents.of(record);
                let event = self.builder.event(EventKind::Error, at);
                event.key = record.id.owned();
                event.code = Some("subagent.failed".into());
                event.message = Some(brief(&data.error.text()));
                event.call_id = data.tool_call_id.owned();
                (event.agent, event.is_subagent) = (data.agent_name.owned().or(agent.and_then(|it| it.name)), true);
            }
            "subagent.selected" => self.builder.session.agent = data.agent_name.owned(),
            "session.compaction_complete" => self.compaction(record, line, damage),
            "session.error" => self.error(record, line),
            "abort" => self.abort(record, at),
            // A recording states no tokens, so that its cost is unknown, too.
            "session.usage_checkpoint" if self.is_unnamed => {}
            "session.usage_checkpoint" => self.checkpoint(record, line, damage),
            "session.shutdown" => self.shutdown(record, line, damage),
            // The context, and sums of what other records contain.
            "session.usage_info"
            | "session.truncation"
            | "session.compaction_start"
            | "session.fusion_completed"
            | "subagent.completed" => {}
            kind if !kind.ends_with("_delta") => damage.unread_counts("record", Raw(line.bytes)),
            _ => {}
        }
    }

    fn begin(&mut self, data: &Data<'_>) {
        self.leave_process();
        self.builder.end(Last::Work);
        self.set_model(&data.selected_model, &data.reasoning_effort);
        let session = &mut self.builder.session;
        let fill = |known: &mut Option<String>, text: &Text<'_>| *known = known.take().or_else(|| text.owned());
        fill(&mut session.cwd, &data.context.cwd);
        fill(&mut session.git_branch, &data.context.branch);
        session.repository = session.repository.take().or_else(|| repository_of(&data.context));
        fill(&mut session.parent_session_id, &data.detached_from_spawning_parent_session_id);
        session.runtime_version = data.copilot_version.owned().or(session.runtime_version.take());
    }

    fn set_model(&mut self, model: &Text<'_>, effort: &Text<'_>) {
        self.model = model.owned().or(self.model.take());
        self.effort = effort.owned().or(self.effort.take());
    }

    /// The model and the effort of a response that does not state them.
    fn settings(&self, agent: Option<&Agent>) -> (Option<Symbol>, Option<Symbol>) {
        let (model, effort) = agent.map_or((&self.model, &self.effort), |agent| (&agent.model, &agent.effort));
        (model.clone(), effort.clone())
    }

    /// Adds an event of the agent of a record.
    fn event(&mut self, kind: EventKind, record: &Record<'_>, at: At) -> &mut Event {
        let agent = self.agents.of(record);
        let event = self.builder.event(kind, at);
        event.key = record.id.owned();
        event.is_subagent = agent.is_some();
        event.agent = agent.and_then(|agent| agent.name);
        event
    }

    fn user(&mut self, record: &Record<'_>, line: Line<'_>) {
        let data = &record.data;
        self.builder.end(Last::Work);
        // Skills, other agents and the autopilot write user messages too.
        let is_human = matches!(data.source.as_str(), "" | "user")
            && !data.is_autopilot_continuation.is_true()
            && !record.agent_id.is_some();
        self.builder.session.is_prompted_by_program |= !is_human;
        if is_human {
            let identity =
                Identity::Session(record.id.some().map_or_else(|| hashed_id(line.bytes).into(), IdHash::from));
            self.builder.prompt_as(identity, data.content.some());
        }
    }

    fn assistant(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut RecordErrors) {
        let (data, time) = (&record.data, record.timestamp.0);
        damage.note_impossible(&[data.output_tokens]);
        let agent = self.agents.of(record);
        if agent.is_none() {
            self.builder.end(Last::Work);
            self.builder.set_answer(data.content.as_str());
        }
        // A long response is written in several messages, which share the provider's id.
        let id = [&data.api_call_id, &data.message_id, &record.id].into_iter().find_map(|it| it.some());
        let identity = id.map_or(Identity::Unique, |it| Identity::Session(it.into()));
        let index = self.builder.turn(identity, line.number);
        let (model, effort) = self.settings(agent.as_ref());
        let turn = &mut self.builder.session.turns[index];
        turn.message_id = data.api_call_id.owned().or_else(|| data.message_id.owned());
        turn.request_id = data.request_id.owned().or(turn.request_id.take());
        turn.occurred_at = turn.occurred_at.or(time);
        turn.end_at(time, None);
        turn.model = data.model.owned().or(model).or(turn.model.take());
        turn.effort = effort;
        // 0 tokens for an answer means that the provider stated none.
        let mut tokens = turn.tokens.get();
        tokens.output = tokens.output.max(data.output_tokens.get().filter(|it| *it > 0));
        turn.tokens = tokens.into();
        if let Some(agent) = &agent {
            agent.claim(turn);
            self.builder.session.subagents.extend(agent.id.clone());
        }
        for request in &data.tool_requests {
            // The time of a call is that of its execution, which may wait for permission.
            self.call(request, Some(index), At { line: line.number, time: None }, agent.clone());
        }
    }

    /// Adds a call: `turn` is the response that contains the request, whose start is a further record of it.
    fn call(&mut self, request: &Request<'_>, turn: Option<usize>, at: At, agent: Option<Agent>) {
        let (id, name, arguments) = (request.tool_call_id.as_str(), request.name.as_str(), request.arguments);
        let call = match turn {
            Some(_) => self.builder.call_of(turn, id, name, arguments, at),
            None => self.builder.call(id, name, at),
        };
        let edit: EditArguments<'_> = arguments.read();
        self.builder.session.tool_calls[call].category = category(name, edit.command.as_str()).into();
        if let Some(server) = request.mcp_server_name.some() {
            self.builder.mcp(call, Some(server));
        }
        let row = &mut self.builder.session.tool_calls[call];
        if let Some(agent) = agent {
            (row.agent, row.is_subagent) = (agent.name, true);
        }
        // The start of a call repeats the request in the message.
        if arguments.is_empty() || row.args_bytes.get().is_some() {
            return;
        }
        let is_edit = row.category == "edit";
        let is_create = name == "create" || edit.command.as_str() == "create";
        let read = self.builder.arguments(call, arguments);
        let patch = if arguments.is_string() { Some(arguments.text()) } else { read.patch().map(Into::into) };
        match (patch, read.file()) {
            (Some(patch), _) if is_edit => self.builder.patch(call, &patch, at),
            (None, Some(file)) if is_create => {
                let lines = edit.file_text.0.as_ref().map(|text| ChangedLines::written(text));
                self.builder.change(call, file, Some(Operation::Create), lines, at);
            }
            (None, Some(file)) if is_edit => {
                // The diff of the result replaces them, if there is one.
                let lines = changes::edited_lines(arguments);
                self.builder.change(call, file, Some(Operation::Update), lines, at);
            }
            _ => {}
        }
    }

    fn call_result(&mut self, data: &Data<'_>, line: Line<'_>, time: Option<Time>) {
        // A result without its call makes no row.
        let Some(call) = self.builder.call_index(data.tool_call_id.as_str()) else { return };
        let failure: Failure<'_> = data.error.read();
        let was_denied = self.builder.session.tool_calls[call].status == CallStatus::Denied;
        let status = if was_denied { CallStatus::Denied } else { CallStatus::from_error(!data.success.is_true()) };
        let output = if data.result.content.is_empty() { failure.message } else { data.result.content };
        self.builder.result(call, output, time, status);
        if status == CallStatus::Error && matches!(failure.code.as_str(), "rejected" | "denied") {
            self.builder.deny(call, At { line: line.number, time }, Some(&failure.message.text()));
        }
        let row = &mut self.builder.session.tool_calls[call];
        if row.category == "shell" {
            let stated = data.result.contents.iter().find_map(|it| it.exit_code.whole());
            row.exit_code = stated.or_else(|| exit_code(&data.result.content.text())).into();
        }
        let diff = data.result.detailed_content.as_str();
        // The diff of one file is more exact than the arguments. Of several files, only a patch separates the lines.
        if status == CallStatus::Ok && diff.contains("\n@@ ") {
            let changes = self.builder.session.file_changes.iter_mut().filter(|it| it.call == Some(call));
            if let [change] = changes.collect::<Vec<_>>().as_mut_slice() {
                set_lines(change, tools::diff_lines(split::lines(diff)));
            }
        }
    }

    fn permission(&mut self, data: &Data<'_>, line: Line<'_>, time: Option<Time>) {
        if !data.result.kind.as_str().starts_with("denied") {
            return;
        }
        let asked = self.asked.get(data.request_id.as_str()).map(String::as_str);
        let call = data.tool_call_id.some().or(asked).and_then(|id| self.builder.call_index(id));
        let message = data.result.feedback.some().unwrap_or(data.result.kind.as_str());
        let at = At { line: line.number, time };
        if let Some(call) = call {
            self.builder.deny(call, at, Some(message));
        } else {
            self.builder.event(EventKind::PermissionDenial, at).message = Some(brief(message));
        }
    }

    fn subagent(&mut self, record: &Record<'_>, line: Line<'_>) {
        let Some(agent) = self.agents.start(record) else { return };
        let event = self.builder.event(EventKind::Subagent, At { line: line.number, time: record.timestamp.0 });
        event.key = record.id.owned();
        event.code.clone_from(&agent.id);
        event.call_id = record.data.tool_call_id.owned();
        event.agent = agent.name;
        self.builder.session.subagents.extend(agent.id);
    }

    /// Adds a compaction, if it succeeded, and the response that summarised the conversation, which was billed in any case.
    fn compaction(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut RecordErrors) {
        let (data, time) = (&record.data, record.timestamp.0);
        let agent = self.agents.of(record);
        let turn = usage::present(&data.compaction_tokens_used, damage).map(|usage| {
            let id = data.request_id.some().or(record.id.some());
            let identity = id.map_or(Identity::Unique, |id| Identity::Session(id.into()));
            let index = self.builder.turn(identity, line.number);
            let (model, _) = self.settings(agent.as_ref());
            let turn = &mut self.builder.session.turns[index];
            turn.request_id = data.request_id.owned();
            turn.occurred_at = time;
            turn.model = usage.model.owned().or(model);
            turn.tokens = usage.tokens(damage).into();
            if let Some(agent) = &agent {
                agent.claim(turn);
            }
            self.summaries.push(index);
            index
        });
        if data.success.0 == Some(false) {
            return;
        }
        let event = self.event(EventKind::Compaction, record, At { line: line.number, time });
        event.turn = turn;
        event.code = data.trigger.owned();
        event.tokens_before = data.pre_compaction_tokens.get();
        event.tokens_after = data.post_compaction_tokens.get();
    }

    /// The turn was stopped: by the user, or because it reached the limit of credits that the user set.
    fn abort(&mut self, record: &Record<'_>, at: At) {
        let reason = &record.data.reason;
        let is_limit = reason.as_str() == CREDIT_LIMIT;
        if is_limit {
            self.builder.fail_as(ErrorKind::Budget, reason.as_str());
        } else {
            self.builder.abort(reason.as_str());
        }
        let event = self.event(if is_limit { EventKind::Error } else { EventKind::Abort }, record, at);
        event.code = reason.owned().filter(|_| is_limit);
        event.message = reason.owned();
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
        if self.agents.of(record).is_none() && !SIDE_ERRORS.contains(&kind) {
            self.builder.fail_as(error_kind, message);
        }
        let event = self.event(EventKind::Error, record, At { line: line.number, time: record.timestamp.0 });
        event.code = data.error_type.owned();
        event.message = data.message.some().map(brief);
    }

    /// The session, and its requests if they are recorded.
    pub(super) fn finish(mut self) -> impl Iterator<Item = SessionResult> {
        self.add_phases();
        let is_running = self.process < self.builder.session.turns.len();
        let mut session = self.builder.finish();
        let was_killed = session.turns.iter().any(|turn| turn.is_of_killed);
        session.under_reports = was_killed || is_running || !self.has_shutdown;
        session.model = session.model.or(self.model);
        for call in &mut session.tool_calls {
            call.occurred_at = call.occurred_at.or_else(|| session.turns[call.turn?].occurred_at);
        }
        for change in &mut session.file_changes {
            change.occurred_at = change.occurred_at.or_else(|| session.tool_calls[change.call?].occurred_at);
        }
        let requests = self.requests_of_recording.finish(&session);
        [session].into_iter().chain(requests)
    }
}

/// The category of a tool, including the tools whose names only this runtime uses.
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
            // Separate tools write to a running shell, read from it and stop it.
            let is_shell = tool
                .strip_suffix("_bash")
                .or_else(|| tool.strip_suffix("_powershell"))
                .is_some_and(|action| matches!(action, "read" | "write" | "stop" | "list"));
            if is_shell { "shell" } else { tools::category(tool) }
        }
    }
}

/// The exit code from the line after a command's output: `<shellId: 3 completed with exit code 1>`.
fn exit_code(output: &str) -> Option<i64> {
    let mark = output.trim_end().rsplit('\n').next()?.strip_prefix('<')?.strip_suffix('>')?;
    mark.rsplit_once("exit code ")?.1.parse().ok()
}

/// The repository of a checkout: its remote, else its root directory.
fn repository_of(checkout: &Checkout<'_>) -> Option<String> {
    let host = checkout.repository_host.some().unwrap_or("github.com");
    let remote = checkout.repository.some().and_then(|name| of_remote(&format!("https://{host}/{name}")));
    remote.or_else(|| of_root(checkout.git_root.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_follow_the_output() {
        assert_eq!(exit_code("boom\n<shellId: 12 completed with exit code 128>"), Some(128));
        assert_eq!(exit_code("<exited with exit code 0>\n"), Some(0));
        assert_eq!(exit_code("it says exit code 3"), None);
        assert_eq!((category("read_bash", ""), category("bash", ""), category("view", "")), ("shell", "shell", "read"));
    }
}
