//! One conversation while its events are read, of either generation.

use serde::Deserialize;

use super::records::{Agent, Event, FullState, Metrics, Observation, PLACEHOLDER, Stats, text_of};
use crate::adapters::engine::{Context, RecordErrors, RecordKind};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, Last, brief, money};
use crate::adapters::shared::tools::category_among;
use crate::adapters::shared::{changes, subagents, usage};
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Maybe, Text};
use crate::model::session::{
    CallStatus, EventKind, Identity, ModelTotal, Operation, SessionResult, Tokens, Total, add, add_money,
};

/// The running total of one use of a model.
#[derive(Debug, Clone)]
struct Running {
    usage: String,
    model: Option<Symbol>,
    tokens: Tokens,
    cost: Option<f64>,
}

/// A conversation while its events are read.
pub(in crate::adapters::formats::openhands) struct Conversation {
    pub(in crate::adapters::formats::openhands) builder: Builder,
    running: Vec<Running>,
    /// The line of the last event.
    last_line: i64,
    /// What the agent's running total grew by, until it is the usage of a response.
    grown: Option<(Option<Symbol>, Tokens)>,
    /// The last call, for results that name none.
    call: Option<usize>,
    last: Last,
    /// Whether the log begins with the conversation: then the first running total is that of its first response.
    has_beginning: bool,
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
            "AgentErrorEvent" => self.result(event, event.error, None, true, line),
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
            let identity = Identity::Session(format!("prompt {}", event.id.text()).into());
            self.builder.prompt_as(identity, Some(text));
            self.last = Last::Work;
        } else if source == "agent" {
            self.response(event, line);
            self.builder.set_answer(text);
            self.last = Last::Answer;
        }
    }

    /// The turn of an event of the agent. Parallel calls are one response.
    fn response(&mut self, event: &Event<'_>, line: i64) -> usize {
        let metadata = event.tool_call_metadata.get();
        let former = metadata.and_then(|it| it.model_response.get()).and_then(|response| response.id.some());
        let id = event.llm_response_id.some().or(former);
        let known = self.builder.session.turns.len();
        let own = || if event.id.is_empty() { format!("#{known}") } else { event.id.text().into_owned() };
        let name = id.map_or_else(own, str::to_owned);
        let index = self.builder.turn(Identity::Session(name.into()), line);
        let turn = &mut self.builder.session.turns[index];
        if index == known {
            turn.message_id = id.map(Into::into);
            turn.occurred_at = event.timestamp.0;
            if let Some((model, tokens)) = self.grown.take() {
                turn.model = model;
                turn.tokens = tokens.into();
            }
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
            "running" | "idle" | "paused" | "waiting_for_confirmation" => self.last = Last::Work,
            _ => {}
        }
    }

    /// Adds running totals.
    fn stats(&mut self, stats: &Stats<'_>, damage: &mut RecordErrors) {
        for (usage, metrics) in stats.usage_to_metrics.0.iter().chain(&stats.service_to_metrics.0) {
            self.metrics(usage, metrics, damage);
        }
    }

    fn metrics(&mut self, usage: &str, metrics: &Metrics<'_>, damage: &mut RecordErrors) {
        let counts = metrics.accumulated_token_usage.get();
        let tokens = counts.map_or(Tokens::UNKNOWN, |counts| counts.tokens(damage));
        let cost = money(metrics.accumulated_cost, damage);
        if tokens.total().unwrap_or(0) == 0 && cost.unwrap_or(0.0) == 0.0 {
            return;
        }
        let model = metrics.model_name.owned().or_else(|| counts.and_then(|counts| counts.model.owned()));
        let model = model.filter(|model: &Symbol| model != "default" && model != PLACEHOLDER);
        let known = self.running.iter_mut().find(|running| running.usage == usage);
        let before = known.as_ref().map_or(Tokens::UNKNOWN, |running| running.tokens);
        // The first total of a part contains responses before it.
        let is_unknown_start = known.is_none() && !self.has_beginning;
        let has_fallen = tokens.context() < before.context() || tokens.output < before.output;
        let running = Running { usage: usage.to_owned(), model: model.clone(), tokens, cost };
        match known {
            // An older total, or a copy.
            Some(_) if has_fallen => return,
            Some(known) => *known = running,
            None => self.running.push(running),
        }
        let is_agent = usage != "condenser";
        if is_agent && !is_unknown_start && tokens != before {
            let grown = tokens.minus(before);
            let grown = Tokens { reasoning: grown.reasoning.filter(|count| *count > 0), ..grown };
            let is_possible = grown.kinds().into_iter().flatten().all(|count| count >= 0);
            self.grown = Some((model, grown)).filter(|_| is_possible);
        }
    }

    /// An event before 1.0.
    fn earlier_event(&mut self, event: &Event<'_>, raw: &[u8], line: i64, damage: &mut RecordErrors) -> RecordKind {
        self.has_beginning |= event.id.0 == b"0";
        if let Some(metrics) = usage::present(&event.llm_metrics, damage) {
            self.metrics("agent", metrics, damage);
        }
        match (event.action.0.first(), event.observation.0.first()) {
            (Some(b'"'), _) => self.earlier_action(event, raw, line),
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
        self.metrics("agent", metrics, damage);
        self.grown = None;
    }

    pub(in crate::adapters::formats::openhands) fn finish(mut self) -> SessionResult {
        let mut models: Vec<ModelTotal> = Vec::new();
        for running in &self.running {
            let own = self.builder.session.model.clone();
            let model = running.model.clone().or(own);
            let index = models.iter().position(|total| total.model == model).unwrap_or(models.len());
            if index == models.len() {
                models.push(ModelTotal { model, ..ModelTotal::default() });
            }
            if let Some(total) = models.get_mut(index) {
                total.tokens = total.tokens.zip(running.tokens, add);
                total.cost = add_money(total.cost, running.cost.filter(|cost| *cost > 0.0));
            }
        }
        if !models.is_empty() {
            let cost = models.iter().fold(None, |sum, total| add_money(sum, total.cost));
            self.builder.session.totals.push(Total {
                // It contains the response that is logged after it.
                line: self.last_line,
                // The same in all files of a conversation: the largest counts.
                key: "stats".to_owned(),
                cost,
                models,
                covers_subagents: true,
                ..Total::default()
            });
        }
        self.builder.end(self.last);
        if self.is_part { self.builder.finish_part() } else { self.builder.finish() }
    }
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
    ("call_tool_mcp", "mcp"),
    ("browse", "web"),
    ("browse_interactive", "web"),
    ("browser", "web"),
    ("browser_*", "web"),
];
