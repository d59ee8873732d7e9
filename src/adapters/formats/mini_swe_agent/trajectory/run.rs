//! One run of mini-swe-agent while its messages are read.

use super::records::{Document, Interrupt, Item, Message, text_of};
use crate::adapters::engine::{Context, RecordErrors};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, brief, money};
use crate::adapters::shared::usage;
use crate::base::text::SharedStr;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Number, Text};
use crate::model::errors::{self, ErrorKind};
use crate::model::session::{
    CallStatus, Cost, EventKind, Identity, ModelTotal, SessionResult, Tokens, Total, TotalKind,
};

/// A run while its messages are read.
pub(super) struct Run {
    builder: Builder,
    /// Calls of the last answer that have no result yet.
    open_calls: Vec<usize>,
    /// Calls of the last answer whose results state that they did not end.
    unended_calls: Vec<usize>,
    prompts: usize,
    /// The text of the exception that ended the run.
    exception: Option<SharedStr>,
}

impl Run {
    pub(super) fn new(context: &Context, id: String, line: i64) -> Self {
        Self {
            builder: Builder::new(context, id, line),
            open_calls: Vec::new(),
            unended_calls: Vec::new(),
            prompts: 0,
            exception: None,
        }
    }

    pub(super) fn finish(self) -> SessionResult {
        self.builder.finish()
    }

    /// Fills in the facts of the document.
    pub(super) fn describe(&mut self, document: &Document<'_>) {
        let info = &document.info;
        let session = &mut self.builder.session;
        session.runtime_version = info.mini_version.owned();
        session.cwd = info.config.environment.cwd.owned();
        session.model = info.config.model.model_name.owned();
        session.duration_ms = Number(info.elapsed_seconds.0.map(|it| it * 1000.0)).rounded();
        session.labels.extend(document.instance_id.some().map(|it| format!("instance_id={it}")));
    }

    pub(super) fn message(&mut self, index: usize, message: &Message<'_>, line: i64, damage: &mut RecordErrors) {
        let time = message.time();
        self.builder.extend_to(time);
        if message.is_answer() {
            self.answer(index, message, line, damage);
        }
        match message.role.as_str() {
            "tool" => self.call_result(&message.tool_call_id, message, line),
            "user" => self.user(index, message, line),
            "exit" => self.exit(message),
            "system" => self.builder.instructions(&message.text()),
            _ if message.kind.as_str() == "function_call_output" => self.call_result(&message.call_id, message, line),
            _ => {}
        }
    }

    fn answer(&mut self, index: usize, message: &Message<'_>, line: i64, damage: &mut RecordErrors) {
        let response = message.extra.response.get();
        let (id, usage) = response.map_or((&message.id, &message.usage), |it| (&it.id, &it.usage));
        // Some servers give every response the same id: the time distinguishes them, or else the position.
        let time = message.time();
        let mark = time.map_or_else(|| format!("#{index}"), |it| it.micros().to_string());
        let turn_index = self.builder.turn(Identity::Session(format!("{} {mark}", id.as_str()).into()), line);
        let turn = &mut self.builder.session.turns[turn_index];
        if let Some(usage) = usage::present(usage, damage) {
            turn.tokens = usage.tokens(damage).into();
        }
        turn.message_id = id.owned();
        turn.occurred_at = time.or(response.and_then(|it| it.created.0)).or(message.created_at.0);
        turn.model = response.map_or(&message.model, |it| &it.model).owned();
        turn.provider = response.and_then(|it| it.provider.owned());
        let finish = response.and_then(|it| it.choices.first()).map_or(&message.status, |it| &it.finish_reason);
        turn.stop_reason = finish.owned();
        turn.cost = money(message.extra.cost, damage).map(Cost::of);
        self.builder.session.stop_reason = finish.owned();
        if message.role.as_str() != "user" {
            self.calls(index, turn_index, message, line);
        }
    }

    fn calls(&mut self, index: usize, turn: usize, message: &Message<'_>, line: i64) {
        let time = message.time();
        self.open_calls.clear();
        self.unended_calls.clear();
        self.builder.set_answer(&message.text());
        let items: Vec<Item<'_>> = message.output.read();
        let at = At { line, time };
        for item in items {
            self.builder.set_answer(&text_of(item.content));
            if item.kind.as_str() == "function_call" {
                let id = if item.call_id.some().is_some() { item.call_id } else { item.id };
                self.tool_call(id.as_str(), item.name.as_str(), item.arguments, at);
            }
        }
        for call in &message.tool_calls {
            self.tool_call(call.id.as_str(), call.function.name.as_str(), call.function.arguments, at);
        }
        if self.open_calls.is_empty() {
            self.commands(index, message, line);
        }
        for call in &self.open_calls {
            self.builder.session.tool_calls[*call].turn = Some(turn);
        }
    }

    /// Adds the commands of an answer without tool calls: the actions, or the command in its text.
    fn commands(&mut self, index: usize, message: &Message<'_>, line: i64) {
        let time = message.time();
        let at = At { line, time };
        if let Some(actions) = &message.extra.actions {
            for (number, action) in actions.iter().enumerate() {
                let call = self.builder.call(&format!("{index}.{number}"), "bash", at);
                self.builder.arguments(call, *action);
                self.open_calls.push(call);
            }
        } else if let Some(command) = only_command(&message.text()) {
            let call = self.builder.call(&format!("{index}.0"), "bash", at);
            self.builder.only_command(call, command);
            self.open_calls.push(call);
        }
    }

    /// Adds a call whose arguments are a JSON string.
    fn tool_call(&mut self, id: &str, name: &str, arguments: Raw<'_>, at: At) {
        let has_turn = |call: usize| self.builder.session.tool_calls[call].turn.is_some();
        if self.builder.call_index(id).is_some_and(has_turn) {
            // The id of a call of an earlier answer: some servers use the same ids in each answer.
            self.builder.forget_calls();
        }
        let call = self.builder.call(id, name, at);
        let text = arguments.text();
        self.builder.arguments(call, Raw(text.as_bytes()));
        self.builder.arguments_as_logged(call, arguments);
        self.open_calls.push(call);
    }

    fn user(&mut self, index: usize, message: &Message<'_>, line: i64) {
        let interrupt = message.interrupt().filter(|_| self.prompts > 0);
        if let Some(interrupt) = interrupt {
            self.interrupt(interrupt, message, line);
        }
        // The first message is the task; the others are results, and complaints of the agent itself.
        if self.prompts == 0 || interrupt.is_some() {
            self.prompts += 1;
            self.builder.prompt_as(Identity::Session(format!("#{index}").into()), Some(&message.text()));
        } else if !self.open_calls.is_empty() {
            let call = self.open_calls.remove(0);
            self.result(call, message);
        }
    }

    fn call_result(&mut self, id: &Text<'_>, message: &Message<'_>, line: i64) {
        // A result without its call makes no row.
        let Some(call) = self.builder.call_index(id.as_str()) else { return };
        self.open_calls.retain(|it| *it != call);
        match message.interrupt() {
            Some(interrupt) => {
                self.unended_calls.push(call);
                self.interrupt(interrupt, message, line);
            }
            None if message.is_without_result() => self.unended_calls.push(call),
            None => self.result(call, message),
        }
    }

    /// Ends the calls that the user interrupted.
    fn interrupt(&mut self, interrupt: Interrupt, message: &Message<'_>, line: i64) {
        match interrupt {
            Interrupt::Rejection => {
                for call in self.take_unended() {
                    self.builder.deny(call, At { line, time: message.time() }, Some(&message.text()));
                }
            }
            Interrupt::Stop => self.cancel_from(None, message.time()),
            Interrupt::AfterSubmission => self.cancel_from(Some(CallStatus::Ok), message.time()),
        }
    }

    /// The calls of the last answer that did not end, in their order.
    fn take_unended(&mut self) -> Vec<usize> {
        let mut calls = std::mem::take(&mut self.unended_calls);
        calls.append(&mut self.open_calls);
        calls
    }

    /// Cancels the calls that did not end. The first of them may have begun, and has this status then.
    fn cancel_from(&mut self, first: Option<CallStatus>, time: Option<Time>) {
        let mut first = first;
        for call in self.take_unended() {
            let status = first.take().unwrap_or(CallStatus::Cancelled);
            self.builder.result(call, Raw::default(), time, status);
        }
    }

    fn result(&mut self, call: usize, message: &Message<'_>) {
        let output = if message.output.is_empty() { message.content } else { message.output };
        let text = text_of(output);
        let returned = message.extra.returncode.whole().or_else(|| return_code(&text));
        // The -1 of an exception in the environment is not the exit code of a command.
        let is_exception =
            message.extra.exception_info.some().is_some() || text.starts_with("The last command <command>");
        let is_error = is_exception || returned.is_some_and(|it| it != 0);
        self.builder.result(call, output, message.time(), CallStatus::from_error(is_error));
        self.builder.session.tool_calls[call].exit_code = returned.filter(|_| !is_exception).into();
    }

    /// The submitting command ends the run: its output is the submission.
    fn exit(&mut self, message: &Message<'_>) {
        self.exception = message.extra.exception_str.owned();
        let is_submission = message.extra.exit_status.as_str() == "Submitted";
        if let Some(&call) = self.unended_calls.first() {
            // Another exit is an exception that the command raised.
            self.cancel_from(Some(CallStatus::from_error(!is_submission)), message.time());
            if is_submission {
                self.result(call, message);
            }
        } else if let (true, [call]) = (is_submission, self.open_calls.as_slice()) {
            let call = *call;
            self.result(call, message);
        }
    }

    /// Sets the cost and the outcome of the whole run. `line` is that of the last message.
    pub(super) fn end(&mut self, document: &Document<'_>, line: i64, damage: &mut RecordErrors) {
        let info = &document.info;
        let stats = info.model_stats.get();
        let cost = stats.and_then(|it| money(it.instance_cost, damage));
        let calls = stats.and_then(|it| it.api_calls.get()).unwrap_or(0);
        let session = &mut self.builder.session;
        let turns = i64::try_from(session.turns.len()).unwrap_or(i64::MAX);
        session.under_reports = calls > turns || session.turns.iter().any(|it| it.tokens.get() == Tokens::UNKNOWN);
        let paid: f64 = session.turns.iter().filter_map(|it| it.cost.as_deref()).map(|it| it.total).sum();
        // The cost of the run is used if the responses do not add up to it.
        if let Some(cost) = cost.filter(|it| turns == 0 || it - paid > 1e-9) {
            session.totals.push(Total {
                line,
                key: "instance_cost".to_owned(),
                kind: TotalKind::Process,
                models: vec![ModelTotal { cost: Some(cost), ..ModelTotal::default() }],
                covers_subagents: true,
                ..Total::default()
            });
        }
        match info.exit_status.as_str() {
            // The agent was killed between two steps, without an exit status.
            "" => session.under_reports = true,
            "Submitted" => self.builder.succeed(),
            status => {
                let exception = info.exception_str.some().or(self.exception.as_deref());
                let message = exception.unwrap_or(status).to_owned();
                let message = message.as_str();
                let limits = &info.config.agent;
                let has_reached =
                    |limit: Number, count: f64| limit.0.is_some_and(|limit| limit > 0.0 && count >= limit);
                let kind = match status {
                    "LimitsExceeded" if has_reached(limits.step_limit, calls as f64) => ErrorKind::MaxTurns,
                    "LimitsExceeded" if has_reached(limits.cost_limit, cost.unwrap_or(paid)) => ErrorKind::Budget,
                    "TimeExceeded" => ErrorKind::Timeout,
                    "ContextWindowExceededError" => ErrorKind::ContextOverflow,
                    "KeyboardInterrupt" | "UserInterruption" => ErrorKind::Cancelled,
                    _ => errors::classify(None, &format!("{status} {message}")),
                };
                self.builder.fail_as(kind, message);
                let event = self.builder.event(EventKind::Error, At { line, time: None });
                event.key = Some("exit".into());
                event.code = Some(status.into());
                event.message = Some(brief(message));
            }
        }
        if let Some(task) = info.task.some().filter(|_| self.builder.session.prompt.is_some()) {
            self.builder.session.prompt = Some(task.to_owned());
        }
    }
}

/// The command of an answer: the text of its only block. The agent refuses an answer with no block or several.
fn only_command(text: &str) -> Option<&str> {
    let mut blocks = text.split("```bash").skip(1).filter_map(|it| it.split_once("\n```")).map(|(it, _)| it.trim());
    let command = blocks.next()?;
    blocks.next().is_none().then_some(command)
}

/// The return code in the result that the model gets.
fn return_code(text: &str) -> Option<i64> {
    let (_, rest) = text.split_once("<returncode>")?;
    rest.split_once("</returncode>")?.0.trim().parse().ok()
}
