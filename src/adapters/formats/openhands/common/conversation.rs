//! One conversation while its events are read, of either generation.

use serde::Deserialize;

use super::records::{Agent, Event, FullState, Metrics, Observation, Stats};
use super::running::Running;
use crate::adapters::engine::{Context, RecordErrors, RecordKind};
use crate::adapters::shared::at::At;
use crate::adapters::shared::blocks::text_of;
use crate::adapters::shared::builder::{Builder, Last, brief};
use crate::adapters::shared::tools::category_among;
use crate::adapters::shared::{changes, subagents, usage};
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Maybe, Text};
use crate::model::session::{CallStatus, EventKind, Identity, Operation, SessionResult, Tokens};

/// A conversation while its events are read.
pub(in crate::adapters::formats::openhands) struct Conversation {
    pub(in crate::adapters::formats::openhands) builder: Builder,
    pub(super) running: Vec<Running>,
    /// The line of the last event.
    pub(super) last_line: i64,
    /// What the agent's running total grew by, until it is the usage of a response.
    pub(super) grown: Option<(Option<Symbol>, Tokens)>,
    /// The name of the use of a model that the agent's own responses have, if it is known.
    pub(super) agent_usage: Option<String>,
    /// The last call, for results that name none.
    call: Option<usize>,
    last: Last,
    /// Whether the log begins with the conversation: then the first running total is that of its first response.
    pub(super) has_beginning: bool,
    /// Whether the file contains one event: then the call of a result is in another file.
    pub(in crate::adapters::formats::openhands) is_part: bool,
}

impl Conversation {
    pub(in crate::adapters::formats::openhands) fn new(context: &Context, id: impl Into<String>, line: i64) -> Self {
        Self {
            builder: Builder::new(context, id, line),
            running: Vec::new(),
            last_line: line,
            grown: None,
            agent_usage: None,
            call: None,
            last: Last::Work,
            has_beginning: false,
            is_part: false,
        }
    }

    /// Adds the state that a conversation is saved with.
    pub(in crate::adapters::formats::openhands) fn state(&mut self, event: &Event<'_>, damage: &mut RecordErrors) {
        let session = &mut self.builder.session;
        session.model = event.agent.get().and_then(Agent::model);
        self.agent_usage = event.agent.get().and_then(Agent::usage).or_else(|| self.agent_usage.take());
        session.cwd = event.workspace.get().and_then(|workspace| workspace.working_dir.owned());
        if let Some(stats) = usage::present(&event.stats, damage) {
            self.stats(stats, damage);
        }
        self.status(event.execution_status.as_str());
    }

    /// Adds an event.
    pub(in crate::adapters::formats::openhands) fn event(
        &mut self,
        event: &Event<'_>,
        raw: &[u8],
        line: i64,
        damage: &mut RecordErrors,
    ) -> RecordKind {
        let time = event.timestamp.0;
        self.builder.extend_to(time);
        self.last_line = line;
        let kind = if event.kind.as_str() == "ACPToolCallEvent" {
            self.acp_call(raw, At { line, time });
            RecordKind::Known
        } else if event.kind.some().is_some() {
            self.event_of_sdk(event, line, damage)
        } else {
            self.earlier_event(event, raw, line, damage)
        };
        self.builder.name_events(None, raw);
        kind
    }

    /// An event since 1.0.
    fn event_of_sdk(&mut self, event: &Event<'_>, line: i64, damage: &mut RecordErrors) -> RecordKind {
        let time = event.timestamp.0;
        let at = At { line, time };
        match event.kind.as_str() {
            "MessageEvent" => {
                let content = event.llm_message.get().map_or(Raw::default(), |message| message.content);
                self.message(event, &text_of(content), line);
            }
            "ActionEvent" => {
                let turn = self.response(event, line);
                let arguments = event.tool_call.get().map_or(Raw::default(), |call| call.arguments);
                let text = arguments.text();
                let raw = if text.is_empty() { event.action } else { Raw(text.as_bytes()) };
                self.call(Some(turn), event.tool_call_id.as_str(), event.tool_name.as_str(), raw, at);
                self.last = if event.tool_name.as_str() == "finish" { Last::Answer } else { Last::Work };
            }
            "ObservationEvent" => {
                let observation: Observation<'_> = event.observation.read();
                let metadata = observation.metadata.get().map(|metadata| metadata.exit_code);
                let exit_code = observation.exit_code.whole().or_else(|| metadata?.whole());
                let is_error = observation.is_error.is_true();
                self.result(event, observation.content, exit_code, is_error, line);
            }
            "AgentErrorEvent" => {
                let is_cancelled = INTERRUPTED.iter().any(|start| event.error.text().starts_with(*start));
                self.result(event, event.error, None, !is_cancelled, line);
                let call = self.builder.call_index(event.tool_call_id.as_str()).filter(|_| is_cancelled);
                if let Some(call) = call {
                    self.builder.session.tool_calls[call].status = CallStatus::Cancelled;
                }
            }
            "UserRejectObservation" => {
                self.result(event, Raw::default(), None, true, line);
                if let Some(call) = self.builder.call_index(event.tool_call_id.as_str()) {
                    self.builder.deny(call, at, event.rejection_reason.some());
                }
            }
            "ConversationStateUpdateEvent" => self.update(event, damage),
            "ConversationErrorEvent" => {
                let message = format!("{}: {}", event.code.as_str(), event.detail.as_str());
                self.builder.fail(None, &message);
                let row = self.builder.event(EventKind::Error, at);
                row.code = event.code.owned();
                row.message = event.detail.some().map(brief);
                self.last = Last::Error;
            }
            "Condensation" => drop(self.builder.event(EventKind::Compaction, at)),
            "InterruptEvent" => {
                self.builder.event(EventKind::Abort, at);
                self.last = Last::Abort;
            }
            "SystemPromptEvent" => {
                self.has_beginning = true;
                let prompt = event.system_prompt.get().map_or("", |it| it.text.as_str());
                self.builder.instructions(prompt);
                self.builder.offer_tools(event.tools);
            }
            "CondensationRequest"
            | "CondensationSummaryEvent"
            | "PauseEvent"
            | "TokenEvent"
            | "StreamingDeltaEvent"
            | "HookExecutionEvent"
            | "LLMCompletionLogEvent" => {}
            _ => return RecordKind::Unknown,
        }
        RecordKind::Known
    }

    fn message(&mut self, event: &Event<'_>, text: &str, line: i64) {
        let source = match event.source.as_str() {
            // In old evaluations, the first message is the task.
            "" if self.builder.session.prompts.is_empty() => "user",
            "" => "agent",
            source => source,
        };
        if source == "user" {
            // Another agent wrote the prompts of a subagent.
            let is_of_agent = self.builder.session.parent_session_id.is_some() || event.sender.some().is_some();
            match typed_by_human(text).filter(|_| !is_of_agent) {
                Some(text) => {
                    let identity = match event.uuid() {
                        // A fork copies events with their ids.
                        Some(id) => Identity::Global(format!("openhands prompt {id}").into()),
                        None => Identity::Session(format!("prompt {}", event.id.text()).into()),
                    };
                    self.builder.prompt_as(identity, Some(text));
                }
                None => self.builder.prompted_by_program(),
            }
            self.last = Last::Work;
        } else if source == "agent" {
            self.response(event, line);
            self.builder.set_answer(text);
            self.last = Last::Answer;
        }
    }

    /// The identity of a response since 1.0. Some servers give one id to many responses, so that it is unique within the conversation
    /// only. In a fork, which copies events with their ids, the id of the event is a second name of the response.
    pub(super) fn identity_of(&self, name: &str) -> Identity {
        Identity::Global(format!("openhands {} {name}", self.builder.session.session_id).into())
    }

    /// The turn of an event of the agent. Parallel calls are one response.
    fn response(&mut self, event: &Event<'_>, line: i64) -> usize {
        let id = event.response_id();
        let known = self.builder.session.turns.len();
        let own = || if event.id.is_empty() { format!("#{known}") } else { event.id.text().into_owned() };
        let name = id.clone().unwrap_or_else(own);
        let uuid = event.uuid();
        let identity = if event.kind.is_some() { self.identity_of(&name) } else { Identity::Session(name.into()) };
        let index = self.builder.turn(identity, line);
        let turn = &mut self.builder.session.turns[index];
        if let Some(uuid) = uuid {
            turn.details_mut().record.get_or_insert_with(|| format!("openhands event {uuid}").into());
        }
        // The state may have listed the request before.
        turn.message_id = turn.message_id.take().or_else(|| id.map(Into::into));
        turn.occurred_at = turn.occurred_at.or(event.timestamp.0);
        if index == known
            && let Some((model, tokens)) = self.grown.take()
        {
            turn.model = model;
            turn.tokens = tokens.into();
        }
        index
    }

    fn call(&mut self, turn: Option<usize>, id: &str, tool: &str, arguments: Raw<'_>, at: At) -> usize {
        let call = self.builder.call_of(turn, id, tool, arguments, at);
        let row = &mut self.builder.session.tool_calls[call];
        if let Some(category) = category_among(CATEGORIES, tool, Some(arguments)) {
            row.category = category.into();
        }
        let operation = if row.category == "edit" { Some(Operation::Update) } else { None };
        if row.category == "subagent" {
            subagents::add(&mut self.builder, id, Some(id), at);
        }
        let read = self.builder.arguments(call, arguments);
        changes::add_named_file(&mut self.builder, call, &read, arguments, operation, at);
        self.call = Some(call);
        call
    }

    fn result(&mut self, event: &Event<'_>, content: Raw<'_>, exit_code: Option<i64>, is_error: bool, line: i64) {
        let (id, time) = (event.tool_call_id.as_str(), event.timestamp.0);
        let call = match self.builder.call_index(id) {
            Some(call) => call,
            None if self.is_part && !id.is_empty() => {
                self.call(None, id, event.tool_name.as_str(), Raw::default(), At { line, time: None })
            }
            None => return,
        };
        self.end_call(call, content, exit_code, is_error, time);
    }

    pub(super) fn end_call(
        &mut self,
        call: usize,
        content: Raw<'_>,
        exit_code: Option<i64>,
        is_error: bool,
        time: Option<Time>,
    ) {
        // -1 is not an exit status: the command did not run, or runs on.
        let exit_code = exit_code.filter(|code| *code >= 0);
        let has_failed = is_error || exit_code.is_some_and(|code| code != 0);
        self.builder.result(call, content, time, CallStatus::from_error(has_failed));
        self.builder.session.tool_calls[call].exit_code = exit_code.into();
    }

    fn update(&mut self, event: &Event<'_>, damage: &mut RecordErrors) {
        match event.key.as_str() {
            "stats" => {
                let stats: Maybe<Stats<'_>> = event.value.read();
                if let Some(stats) = usage::present(&stats, damage) {
                    self.stats(stats, damage);
                }
            }
            "execution_status" => self.status(&event.value.text()),
            "full_state" => {
                let state: FullState<'_> = event.value.read();
                self.agent_usage = state.agent.get().and_then(Agent::usage).or_else(|| self.agent_usage.take());
                if let Some(stats) = state.stats.get() {
                    self.stats(stats, damage);
                }
                let session = &mut self.builder.session;
                session.model = state.agent.get().and_then(Agent::model).or_else(|| session.model.take());
                let cwd = state.workspace.get().and_then(|it| it.working_dir.owned());
                session.cwd = cwd.or_else(|| session.cwd.take());
                self.status(state.execution_status.as_str());
            }
            _ => {}
        }
    }

    fn status(&mut self, status: &str) {
        match status {
            "finished" => self.last = Last::Answer,
            "error" | "stuck" => {
                if self.last != Last::Error {
                    self.builder.fail(None, status);
                }
                self.last = Last::Error;
            }
            // An interrupt pauses the conversation.
            "paused" if self.last == Last::Abort => {}
            "running" | "idle" | "paused" | "waiting_for_confirmation" => self.last = Last::Work,
            _ => {}
        }
    }

    /// An event before 1.0.
    fn earlier_event(&mut self, event: &Event<'_>, raw: &[u8], line: i64, damage: &mut RecordErrors) -> RecordKind {
        self.has_beginning |= event.id.0 == b"0";
        if let Some(metrics) = usage::present(&event.llm_metrics, damage) {
            self.metrics("agent", metrics, damage);
            if metrics.accumulated_token_usage.get().is_none() {
                self.requests_of_event(metrics, damage);
            }
        }
        match (event.action.0.first(), event.observation.0.first()) {
            (Some(b'"'), _) => {
                self.earlier_action(event, raw, line);
                self.response_of_action(event, damage);
            }
            (_, Some(b'"')) => self.earlier_observation(event, line),
            _ => return RecordKind::Unknown,
        }
        RecordKind::Known
    }

    fn earlier_action(&mut self, event: &Event<'_>, raw: &[u8], line: i64) {
        #[derive(Debug, Default, Deserialize)]
        #[serde(default, bound(deserialize = "'de: 'a"))]
        struct Said<'a> {
            content: Text<'a>,
        }
        let (action, time) = (event.action.text(), event.timestamp.0);
        let at = At { line, time };
        match action.as_ref() {
            "message" => {
                let said: Said<'_> = event.args.read();
                let text = said.content.some().map_or_else(|| text_of(event.content), str::to_owned);
                self.message(event, &text, line);
            }
            "finish" | "reject" => {
                self.response(event, line);
                self.last = if action == "finish" { Last::Answer } else { Last::Error };
            }
            "condensation" => drop(self.builder.event(EventKind::Compaction, at)),
            "system"
            | "recall"
            | "change_agent_state"
            | "null"
            | "initialize"
            | "start"
            | "pause"
            | "resume"
            | "stop"
            | "condensation_request"
            | "loop_recovery" => {}
            _ => {
                let turn = self.response(event, line);
                let metadata = event.tool_call_metadata.get();
                let name = metadata.and_then(|it| it.function_name.some()).unwrap_or(&action).to_owned();
                // Without a provider's id, that of the action.
                let own = || {
                    let number = self.builder.session.tool_calls.len();
                    if event.id.is_empty() { format!("#{number}") } else { format!("#{}", event.id.text()) }
                };
                let id = metadata.and_then(|it| it.tool_call_id.owned()).unwrap_or_else(own);
                // In old evaluations, the arguments are members of the event.
                let arguments = if event.args.is_empty() { Raw(raw) } else { event.args };
                self.call(Some(turn), &id, &name, arguments, at);
                self.last = Last::Work;
            }
        }
    }

    fn earlier_observation(&mut self, event: &Event<'_>, line: i64) {
        let (observation, time) = (event.observation.text(), event.timestamp.0);
        let extras = event.extras.get();
        let at = At { line, time };
        if observation == "agent_state_changed" {
            let reason = extras.and_then(|extras| extras.reason.some()).unwrap_or_default();
            match extras.map_or("", |extras| extras.agent_state.as_str()) {
                "finished" | "awaiting_user_input" => self.last = Last::Answer,
                "error" | "rate_limited" => {
                    self.builder.fail(None, reason);
                    let row = self.builder.event(EventKind::Error, at);
                    row.message = Some(reason).filter(|reason| !reason.is_empty()).map(brief);
                    self.last = Last::Error;
                }
                "stopped" | "rejected" => self.last = Last::Abort,
                _ => self.last = Last::Work,
            }
            return;
        }
        let id = event.tool_call_metadata.get().and_then(|it| it.tool_call_id.some());
        let cause = format!("#{}", event.cause.text());
        let id = id.unwrap_or(&cause);
        let call = match self.builder.call_index(id) {
            Some(call) => Some(call),
            None if self.is_part && id != "#" => {
                let name = event.tool_call_metadata.get().and_then(|it| it.function_name.some());
                Some(self.call(None, id, name.unwrap_or(&observation), Raw::default(), At { line, time: None }))
            }
            // Old evaluations have no ids: a result follows its action.
            None if event.id.is_empty() => self.call.take(),
            None => None,
        };
        let Some(call) = call else { return };
        let metadata = extras.and_then(|extras| extras.metadata.get()).and_then(|metadata| metadata.exit_code.whole());
        let exit_code = event.exit_code.whole().or(metadata);
        let exit_code = exit_code.or_else(|| extras.and_then(|extras| extras.exit_code.whole()));
        self.end_call(call, event.content, exit_code, observation == "error", time);
        if observation == "user_rejected" {
            self.builder.deny(call, at, None);
        }
    }

    /// Sets how the run ended, as an evaluation reports it.
    pub(in crate::adapters::formats::openhands) fn fail(&mut self, message: &str, line: i64) {
        self.builder.fail(None, message);
        self.builder.event(EventKind::Error, At { line, time: None }).message = Some(brief(message));
        self.last = Last::Error;
    }

    /// Sets the running totals of an evaluation.
    pub(in crate::adapters::formats::openhands) fn end_metrics(
        &mut self,
        metrics: &Metrics<'_>,
        damage: &mut RecordErrors,
    ) {
        // It is the sum of all uses, of which events may have stated each one.
        if metrics.accumulated_token_usage.get().is_some() {
            self.running.clear();
        }
        self.metrics("agent", metrics, damage);
        self.grown = None;
    }

    pub(in crate::adapters::formats::openhands) fn finish(mut self) -> SessionResult {
        self.add_totals();
        self.builder.end(self.last);
        if self.is_part { self.builder.finish_part() } else { self.builder.finish() }
    }
}

/// Results of calls that the user's interrupt ended or prevented: `_emit_orphaned_action_errors` of `local_conversation.py` and
/// `_cancelled_error` of `parallel_executor.py` (SDK, 2026-08).
const INTERRUPTED: [&str; 2] = ["Tool call interrupted before completion.", "Tool call cancelled by interrupt."];

/// Messages that OpenHands writes in the name of the user: those of `/goal` (`goal/prompts.py`), and that of an answer which the provider
/// blocked (`agent.py`; SDK, 2026-08).
const OF_PROGRAM: [&str; 3] = [
    "The goal is NOT yet complete (audit iteration",
    "Resuming a goal that was paused or interrupted.",
    "Your previous response was blocked by the",
];

/// What a human typed of a message in the name of the user. A message that begins with the transcript of a lost session
/// (`resume_transcript.py`) contains what follows the transcript.
fn typed_by_human(text: &str) -> Option<&str> {
    if text.starts_with("<<RESUMED CONVERSATION>>") {
        let (_, rest) = text.rsplit_once("--- End of prior session ---")?;
        return Some(rest.trim()).filter(|rest| !rest.is_empty());
    }
    (!OF_PROGRAM.iter().any(|start| text.starts_with(start))).then_some(text)
}

/// The categories of OpenHands' own tools.
pub(in crate::adapters::formats::openhands) const CATEGORIES: &[(&str, &str)] = &[
    ("file_editor", "editor"),
    ("str_replace_editor", "editor"),
    ("str_replace_based_edit_tool", "editor"),
    ("terminal", "shell"),
    ("run", "shell"),
    ("run_ipython", "shell"),
    ("execute_ipython_cell", "shell"),
    ("task_tracker", "plan"),
    ("delegate", "subagent"),
    ("task", "subagent"),
    ("call_tool_mcp", "mcp"),
    ("browse", "web"),
    ("browse_interactive", "web"),
    ("browser", "web"),
    ("browser_*", "web"),
];
