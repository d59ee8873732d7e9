//! A session while its events are read.

use foldhash::{HashSet, HashSetExt as _};

use super::containers::Item;
use super::progress::Progress;
use super::records::{Agent, Model, Record, Resource};
use super::requests::Requests;
use super::threads::Threads;
use super::totals::Totals;
use crate::adapters::engine::{Context, RecordErrors};
use crate::adapters::shared::at::At;
use crate::adapters::shared::blocks::text_of;
use crate::adapters::shared::builder::Builder;
use crate::adapters::shared::{changes, repository, subagents, usage};
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::json::Raw;
use crate::model::health::Reason;
use crate::model::id_hash::IdHash;
use crate::model::session::{CallStatus, EventKind, Identity, Operation, SessionResult, Tokens};

/// The ids of events that Anthropic made are at least so long, and unique everywhere. Those of tests and of other servers may be `sevt_1`.
const UNIQUE_ID: usize = 24;

/// How the id of a session begins that its log does not name.
const UNNAMED: char = '~';

/// The tool of the built-in toolset that searches the web, on the provider's side.
const WEB_SEARCH: &str = "web_search";

pub(super) struct Session {
    builder: Builder,
    /// The ids of the events that were read: a log can contain an event twice, as it comes from the stream and from the list.
    seen: HashSet<IdHash>,
    model: Model,
    requests: Requests,
    threads: Threads,
    progress: Progress,
    /// Searches of the response that is under way.
    searches: i64,

    totals: Totals,
    /// Whether a part of the session sent requests that the log does not contain.
    has_hidden_requests: bool,
}

impl Session {
    pub(super) fn new(context: &Context, id: &str, line: i64) -> Self {
        Self {
            builder: Builder::new(context, id, line),
            seen: HashSet::new(),
            model: Model::default(),
            requests: Requests::default(),
            threads: Threads::default(),
            progress: Progress::default(),
            searches: 0,
            totals: Totals::default(),
            has_hidden_requests: false,
        }
    }

    /// The id of the session. Its log may begin without it.
    pub(super) fn name(&mut self, id: String) {
        let session = &mut self.builder.session;
        if session.session_id.starts_with(UNNAMED) {
            session.id_if_cut = Some(std::mem::replace(&mut session.session_id, id));
        }
    }

    pub(super) fn add(&mut self, item: &Item<'_>, damage: &mut RecordErrors) {
        let event = &item.event;
        let time = event.processed_at.0.or(event.created_at.0);
        match event.kind.as_str() {
            "session" => self.add_object(event, At { line: item.line.number, time }, damage),
            "session_thread" => self.add_thread_object(event),
            _ if self.is_copy(event, time) => {}
            _ => {
                self.builder.extend_to(time);
                self.add_event(event, At { line: item.line.number, time }, damage);
                self.builder.name_events(event.id.some(), item.line.bytes);
            }
        }
    }

    /// Whether the event was read before. One of the user is sent twice if it has to wait, first without a time.
    fn is_copy(&mut self, event: &Record<'_>, time: Option<Time>) -> bool {
        let is_queued =
            time.is_none() && event.kind.as_str().starts_with("user.") && event.kind.as_str() != "user.interrupt";
        let Some(id) = event.id.some().map(IdHash::new) else { return false };
        if is_queued { self.seen.contains(&id) } else { !self.seen.insert(id) }
    }

    fn add_event(&mut self, event: &Record<'_>, at: At, damage: &mut RecordErrors) {
        let kind = event.kind.as_str();
        match kind {
            "agent.message" => self.answer_text(event),
            "agent.tool_use" | "agent.mcp_tool_use" | "agent.custom_tool_use" => self.call(event, at),
            "agent.tool_result" | "agent.mcp_tool_result" | "user.tool_result" | "user.custom_tool_result" => {
                self.result(event, at);
            }
            "agent.thread_context_compacted" => self.thread_event(EventKind::Compaction, event, at),
            "agent.thread_message_received" => {
                self.add_correspondent(event.from_session_thread_id.as_str(), event.from_agent_name.some(), at);
                self.builder.asked(None, at.time);
            }
            "agent.thread_message_sent" => {
                self.add_correspondent(event.to_session_thread_id.as_str(), event.to_agent_name.some(), at);
            }
            "span.model_request_start" => self.begin_request(event, at),
            "span.model_request_end" => self.end_request(event, at, damage),
            // Their usage lacks the last request of the grader; only a total of the session has all.
            "span.outcome_evaluation_end" | "workflow_run.created" => self.has_hidden_requests = true,
            "user.message" | "user.define_outcome" => self.prompt(event, at),
            "user.tool_confirmation" => self.confirm(event, at),
            "user.interrupt" => self.interrupt(event, at),
            "session.error" | "workflow_run.error" => {
                if let Some(failure) = event.error.get() {
                    self.progress.error(failure, &mut self.builder, at);
                }
            }
            "session.updated" => self.set_agent(event.agent),
            "session.usage" => self.totals.add(event.usage.get(), event.id.as_str(), at, damage),
            "system.message" => {
                self.builder.instructions(&text_of(event.content));
            }
            _ => self.add_status(event, at),
        }
    }

    fn add_status(&mut self, event: &Record<'_>, at: At) {
        match event.kind.as_str() {
            "session.status_running" => self.progress.run(&mut self.builder),
            "session.status_idle" => self.progress.idle(event, &mut self.builder),
            "session.status_rescheduled" => self.progress.reschedule(&mut self.builder, at),
            "session.status_terminated" => self.progress.terminate(&mut self.builder),
            "session.thread_created" | "session.thread_status_created" => {
                self.add_thread(event.session_thread_id.as_str(), event.agent_name.some(), at);
            }
            "session.thread_status_running" | "session.thread_status_idle" | "session.thread_status_terminated" => {
                self.own_thread(event);
            }
            "session.thread_status_rescheduled" if !self.own_thread(event) => {
                self.thread_event(EventKind::Retry, event, at);
            }
            _ => {}
        }
    }

    /// Whether a thread that changed its status is that of the log.
    fn own_thread(&mut self, event: &Record<'_>) -> bool {
        self.threads.change(event.session_thread_id.as_str(), event.agent_name.some())
    }

    fn add_thread(&mut self, id: &str, name: Option<&str>, at: At) {
        if !self.threads.add(id, name) {
            return;
        }
        self.has_hidden_requests = true;
        if let Some(event) = subagents::add(&mut self.builder, id, None, at) {
            event.agent = name.map(Into::into);
        }
    }

    /// An agent that a message came from or went to. One without a name is the first agent: then the log is that of a subagent.
    fn add_correspondent(&mut self, thread: &str, name: Option<&str>, at: At) {
        match name {
            Some(_) => self.add_thread(thread, name, at),
            None if !thread.is_empty() => self.threads.set_parent(thread),
            None => {}
        }
    }

    fn thread_event(&mut self, kind: EventKind, event: &Record<'_>, at: At) {
        let thread = self.threads.of_event(event.session_thread_id.some());
        let added = self.builder.event(kind, at);
        added.is_subagent = thread.is_some();
        added.agent = self.threads.name(thread.as_ref());
    }

    fn prompt(&mut self, event: &Record<'_>, at: At) {
        let text = text_of(event.content);
        let text = event.description.some().unwrap_or(&text);
        self.builder.prompt_as(identity(event.id.as_str()), Some(text));
        self.builder.asked(None, at.time);
        self.progress.ask(&mut self.builder);
    }

    fn answer_text(&mut self, event: &Record<'_>) {
        if self.builder.keeps_text() && self.threads.of_event(event.session_thread_id.some()).is_none() {
            self.builder.set_answer(&text_of(event.content));
        }
    }

    fn interrupt(&mut self, event: &Record<'_>, at: At) {
        match self.threads.of_event(event.session_thread_id.some()) {
            None => self.progress.interrupt(&mut self.builder, at),
            Some(_) => self.thread_event(EventKind::Abort, event, at),
        }
    }

    fn begin_request(&mut self, event: &Record<'_>, at: At) {
        let thread = self.threads.of_event(event.session_thread_id.some());
        self.has_hidden_requests |= self.requests.begin(thread, event.id.as_str(), at.time);
        self.progress.request(&mut self.builder);
    }

    fn end_request(&mut self, event: &Record<'_>, at: At, damage: &mut RecordErrors) {
        let thread = self.threads.of_event(event.session_thread_id.some());
        let start = event.model_request_start_id.as_str();
        let began_at = self.requests.end(thread.as_ref(), start);
        let stated = usage::present(&event.model_usage, damage).or_else(|| usage::present(&event.usage, damage));
        let tokens = stated.map_or(Tokens::UNKNOWN, |usage| usage.tokens(damage));
        if event.is_error.is_true() && tokens.total().is_none() {
            self.progress.fail(event.id.as_str(), at);
            return;
        }
        if stated.is_none() {
            damage.note(Reason::NoUsage);
        }
        let name = if start.is_empty() { event.id.as_str() } else { start };
        let turn = self.builder.turn(identity(name), at.line);
        let searches = thread.is_none().then(|| std::mem::take(&mut self.searches));
        self.fill_turn(turn, thread.as_ref(), event, tokens);
        let row = &mut self.builder.session.turns[turn];
        row.occurred_at = at.time;
        row.duration_ms = at.time.zip(began_at).map(|(end, start)| end.since(start)).filter(|it| *it >= 0).into();
        row.web_searches = searches.into();
        self.builder.answered(turn, thread.as_deref(), at.time);
        for call in self.requests.answer(thread.as_ref(), turn) {
            self.builder.session.tool_calls[call].turn = Some(turn);
        }
        self.progress.answer();
    }

    fn fill_turn(&mut self, turn: usize, thread: Option<&Symbol>, event: &Record<'_>, tokens: Tokens) {
        let stated = Model::of(event.model);
        let model = if thread.is_none() { Some(&self.model) } else { self.threads.model(thread) };
        let settings = model.cloned().unwrap_or_default();
        let row = &mut self.builder.session.turns[turn];
        let speed = event.model_usage.get().and_then(|usage| usage.speed.owned());
        row.tokens = tokens.into();
        row.model = stated.and_then(|model| model.id).or(settings.id);
        row.effort = settings.effort;
        row.speed = speed.or(settings.speed);
        row.inference_geo = settings.inference_geo;
        row.is_subagent = thread.is_some();
        row.agent_id = thread.cloned();
        row.agent = self.threads.name(thread);
    }

    fn call(&mut self, event: &Record<'_>, at: At) {
        let id = event.tool_use_id.some().unwrap_or(event.id.as_str());
        let thread = self.threads.of_event(event.session_thread_id.some());
        let call = self.builder.call(id, event.name.as_str(), at);
        let turn = self.requests.call(thread.as_ref(), call);
        let row = &mut self.builder.session.tool_calls[call];
        row.turn = turn.or(row.turn);
        row.is_subagent = thread.is_some();
        row.agent = self.threads.name(thread.as_ref());
        if event.kind.as_str() == "agent.mcp_tool_use" {
            self.builder.mcp(call, event.mcp_server_name.some());
        }
        let arguments = self.builder.arguments(call, event.input);
        changes::add_named_file(&mut self.builder, call, &arguments, event.input, Some(Operation::Update), at);
        if event.evaluated_permission.as_str() == "deny" {
            let permission = event.evaluation.get().and_then(|it| it.evaluated_permission.get());
            self.builder.deny(call, at, permission.and_then(|it| it.reason_code.some()));
        } else if event.kind.as_str() == "agent.tool_use" && event.name.as_str() == WEB_SEARCH && thread.is_none() {
            self.count_search(turn);
        }
    }

    /// Adds a search to its response, which may have ended before its calls.
    fn count_search(&mut self, turn: Option<usize>) {
        match turn {
            Some(turn) => {
                let row = &mut self.builder.session.turns[turn];
                row.web_searches = Some(row.web_searches.get().unwrap_or(0) + 1).into();
            }
            None => self.searches += 1,
        }
    }

    fn result(&mut self, event: &Record<'_>, at: At) {
        let id = event.tool_use_id.some().or(event.mcp_tool_use_id.some()).or(event.custom_tool_use_id.some());
        let call = id.and_then(|id| self.builder.call_index(id));
        let Some(call) = call else { return };
        let is_denied = self.builder.session.tool_calls[call].status == CallStatus::Denied;
        let status = if is_denied { CallStatus::Denied } else { CallStatus::from_error(event.is_error.is_true()) };
        self.builder.result(call, event.content, at.time, status);
        if self.threads.of_event(event.session_thread_id.some()).is_none() {
            self.builder.asked(None, at.time);
        }
    }

    /// The user allows or refuses a call.
    fn confirm(&mut self, event: &Record<'_>, at: At) {
        let call = event.tool_use_id.some().and_then(|id| self.builder.call_index(id));
        if let Some(call) = call.filter(|_| event.result.as_str() == "deny") {
            self.builder.deny(call, at, event.deny_message.some());
        }
    }

    /// The session object. Its usage is a total, and its times are not those of events.
    fn add_object(&mut self, object: &Record<'_>, at: At, damage: &mut RecordErrors) {
        self.set_agent(object.agent);
        let resources: Vec<Resource<'_>> = object.resources.read();
        let found = resources.iter().find(|resource| resource.kind.as_str() == "github_repository");
        let session = &mut self.builder.session;
        if let Some(resource) = found {
            session.repository = resource.url.some().and_then(repository::of_remote);
            let branch = resource.checkout.get().filter(|checkout| checkout.kind.as_str() == "branch");
            session.git_branch = branch.and_then(|branch| branch.name.owned());
        }
        let at = At { time: object.updated_at.0, ..at };
        self.totals.set_object(object.usage.get(), object.id.as_str(), at, damage);
    }

    fn add_thread_object(&mut self, object: &Record<'_>) {
        let id = object.id.as_str();
        let agent: Agent<'_> = object.agent.read();
        if object.parent_thread_id.some().is_none() {
            self.threads.set_own(id, agent.name.some());
            self.set_agent(object.agent);
        } else if self.threads.add(id, agent.name.some()) {
            self.builder.session.subagents.insert(id.into());
            self.has_hidden_requests = true;
            if let Some(model) = Model::of(agent.model) {
                self.threads.set_model(id, model);
            }
        }
    }

    /// The definition of the main agent, and of those that it can start.
    fn set_agent(&mut self, agent: Raw<'_>) {
        let agent: Agent<'_> = agent.read();
        let session = &mut self.builder.session;
        session.agent = agent.name.owned().or_else(|| session.agent.take());
        if let Some(model) = Model::of(agent.model) {
            session.model = model.id.clone().or_else(|| session.model.take());
            self.model = model;
        }
        self.builder.instructions(agent.system.as_str());
        self.builder.offer_mcp_servers(agent.mcp_servers);
        let members: Vec<Agent<'_>> = agent.multiagent.get().map(|it| it.agents.read()).unwrap_or_default();
        for member in members {
            if let (Some(name), Some(model)) = (member.name.some(), Model::of(member.model)) {
                self.threads.add_to_roster(name, model);
            }
        }
    }

    /// The session's id if no object and no path names it: that of its first thread, which its log states a moment after its start.
    fn name_by_thread(&mut self) {
        let session = &mut self.builder.session;
        let Some((thread, name)) = self.threads.first() else { return };
        session.agent = session.agent.take().or(name);
        if session.session_id.starts_with(UNNAMED) {
            session.id_if_cut = Some(std::mem::replace(&mut session.session_id, thread.to_string()));
        } else {
            // Other logs of the session do not name it.
            session.id_if_cut = Some(thread.to_string());
        }
    }

    pub(super) fn finish(mut self) -> SessionResult {
        self.progress.finish(&mut self.builder);
        if !self.builder.session.prompts.is_empty() {
            self.threads.forget_parent();
        }
        self.name_by_thread();
        let session = &mut self.builder.session;
        session.under_reports = self.has_hidden_requests && !self.threads.is_of_subagent();
        self.totals.move_to(session);
        let agent = session.agent.clone();
        for turn in session.turns.iter_mut().filter(|turn| !turn.is_subagent) {
            turn.agent.clone_from(&agent);
        }
        self.threads.attribute(session);
        self.builder.finish()
    }
}

/// The identity of what an event shows.
fn identity(id: &str) -> Identity {
    match id {
        "" => Identity::Unique,
        id if id.len() >= UNIQUE_ID => Identity::Global(id.into()),
        id => Identity::Session(id.into()),
    }
}
