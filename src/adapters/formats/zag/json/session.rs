//! One session of zag's stdout while its events are read.

use foldhash::{HashMap, HashMapExt as _, HashSet, HashSetExt as _};

use super::records::{Event, Output, Refusals, limit_text};
use crate::adapters::engine::{Context, RecordErrors, RecordKind};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, brief, money};
use crate::adapters::shared::ids::hashed_id;
use crate::adapters::shared::{changes, subagents, usage};
use crate::base::text::Symbol;
use crate::json::Raw;
use crate::json::lines::Line;
use crate::model::session::{
    Capabilities, EventKind, Identity, ModelTotal, SessionResult, Status, Tokens, Total, TotalKind, add,
};

/// A session while its events are read.
pub(super) struct Session {
    pub(super) builder: Builder,
    pub(super) provider: Option<Symbol>,
    /// The main agent's model.
    pub(super) model: Option<Symbol>,
    /// A hash of each record.
    pub(super) recording: Vec<u64>,
    /// The last response of each agent.
    last: HashMap<Option<String>, Response>,
    /// The type of agent that each call starts.
    agents: HashMap<String, Symbol>,
    /// The calls whose agents have not ended.
    delegated: HashSet<String>,
    refusals: Refusals,
    duration_ms: Option<i64>,
    turns: Option<i64>,
    /// Whether there is any event between the start and the end.
    has_steps: bool,
}

/// A response that the next event may continue.
struct Response {
    turn: usize,
    /// Input, cache read and cache write.
    prompt: [Option<i64>; 3],
}

impl Session {
    pub(super) fn new(context: &Context, session_id: String, line: i64) -> Self {
        Self {
            builder: Builder::new(context, session_id, line),
            provider: None,
            model: None,
            recording: Vec::new(),
            last: HashMap::new(),
            agents: HashMap::new(),
            delegated: HashSet::new(),
            refusals: Refusals::default(),
            duration_ms: None,
            turns: None,
            has_steps: false,
        }
    }

    pub(super) fn event(&mut self, event: &Event<'_>, line: i64, damage: &mut RecordErrors) -> RecordKind {
        let kind = event.kind.as_str();
        self.has_steps |= !matches!(kind, "result" | "error");
        let at = At { line, time: None };
        match kind {
            "init" => {
                let session = &mut self.builder.session;
                self.model = event.model.owned().or_else(|| self.model.take());
                session.model = session.model.take().or_else(|| event.model.owned());
                session.cwd = session.cwd.take().or_else(|| event.working_directory.owned());
                session.provider_session_id =
                    session.provider_session_id.take().or_else(|| event.metadata.session_id.owned());
            }
            "user_message" => self.user(event),
            "assistant_message" => self.assistant(event, line, damage),
            "tool_execution" => self.execution(event, line),
            "turn_complete" => {
                // Its usage repeats that of the last message.
                if let Some(Response { turn, .. }) = self.last.get(&None) {
                    self.builder.session.turns[*turn].stop_reason = event.stop_reason.owned();
                }
                let session = &mut self.builder.session;
                session.stop_reason = event.stop_reason.owned().or_else(|| session.stop_reason.take());
            }
            "permission_request" => {
                if event.granted.0 == Some(false) {
                    self.refusals.assign(&mut self.builder, event.tool_name.as_str(), at);
                }
            }
            "error" => {
                self.builder.event(EventKind::Error, at).message = event.message.some().map(brief);
            }
            "usage_limit_detected" => {
                let row = self.builder.event(EventKind::Error, at);
                row.code = Some("usage_limit".into());
                row.message = Some(brief(&limit_text(&event.raw, &event.provider, &event.scope)));
            }
            "result" => self.result(event, line),
            _ => return RecordKind::Unknown,
        }
        RecordKind::Known
    }

    fn user(&mut self, event: &Event<'_>) {
        self.last.clear();
        let text = event.content.blocks.iter().find_map(|it| it.text.some()).or(event.content.text.as_deref());
        // The prompt of a subagent has the same form as a prompt that a human typed.
        if text.is_some() && self.delegated.is_empty() {
            self.builder.prompt(text);
        }
    }

    fn assistant(&mut self, event: &Event<'_>, line: i64, damage: &mut RecordErrors) {
        let parent = event.parent_tool_use_id.some();
        let agent = parent.and_then(|it| self.subagent(it, line));
        let has_calls = event.content.blocks.iter().any(|it| it.kind.as_str() == "tool_use");
        let mut tokens = Tokens::UNKNOWN;
        let mut web_searches = None;
        if let Some(usage) = usage::present(&event.usage, damage) {
            tokens = usage.tokens(damage);
            web_searches = usage.web_search_requests.get();
        }
        if tokens.is_all_zero() {
            // Claude Code writes its own messages (an API error, a limit) as responses with 0 tokens.
            if !has_calls {
                return;
            }
            tokens = Tokens::UNKNOWN;
        }
        let turn = self.turn(parent, tokens, line);
        let row = &mut self.builder.session.turns[turn];
        row.tokens = row.tokens.get().max(tokens).into();
        row.web_searches = row.web_searches.get().max(web_searches).into();
        row.is_subagent = parent.is_some();
        row.agent_id = parent.map(Symbol::new);
        row.agent.clone_from(&agent);
        row.provider.clone_from(&self.provider);
        if parent.is_none() {
            // The model of a subagent is not logged.
            row.model.clone_from(&self.model);
        }
        for block in event.content.blocks.iter().filter(|it| it.kind.as_str() == "tool_use") {
            let at = At { line, time: None };
            let call = self.builder.call_of(Some(turn), block.id.as_str(), block.name.as_str(), block.input, at);
            let row = &mut self.builder.session.tool_calls[call];
            (row.is_subagent, row.agent) = (parent.is_some(), agent.clone());
            if row.category == "subagent" {
                self.delegated.insert(row.call_id.to_string());
            }
            self.arguments(call, block.input, line);
        }
        if parent.is_none() {
            event.content.blocks.iter().filter_map(|it| it.text.some()).for_each(|it| self.builder.set_answer(it));
        }
    }

    /// The turn of a message: that of the agent's last message if the sizes of their prompts are equal.
    fn turn(&mut self, parent: Option<&str>, tokens: Tokens, line: i64) -> usize {
        let prompt = [tokens.input, tokens.cache_read, tokens.cache_write];
        let parent = parent.map(str::to_owned);
        if let Some(last) = self.last.get(&parent)
            && last.prompt == prompt
        {
            return last.turn;
        }
        let turn = self.builder.turn(Identity::Unique, line);
        self.last.insert(parent, Response { turn, prompt });
        turn
    }

    /// Adds the agent that a call started. Returns its type.
    fn subagent(&mut self, call_id: &str, line: i64) -> Option<Symbol> {
        let agent = self.agents.get(call_id).cloned();
        if let Some(event) = subagents::add(&mut self.builder, call_id, Some(call_id), At { line, time: None }) {
            event.agent.clone_from(&agent);
        }
        agent
    }

    fn arguments(&mut self, call: usize, input: Raw<'_>, line: i64) {
        let arguments = self.builder.arguments(call, input);
        if let Some(agent) = arguments.agent() {
            self.agents.insert(self.builder.session.tool_calls[call].call_id.to_string(), agent);
        }
        changes::add_named_file(&mut self.builder, call, &arguments, input, None, At { line, time: None });
    }

    fn execution(&mut self, event: &Event<'_>, line: i64) {
        let parent = event.parent_tool_use_id.some();
        self.delegated.remove(event.tool_id.as_str());
        // Without counts, only a result separates two responses.
        self.last.retain(|agent, it| agent.as_deref() != parent || it.prompt.iter().flatten().any(|it| *it > 0));
        let agent = parent.and_then(|it| self.subagent(it, line));
        let call = self.builder.call_index(event.tool_id.as_str()).filter(|_| event.tool_id.some().is_some());
        let at = At { line, time: None };
        let call = call.unwrap_or_else(|| {
            let number = self.builder.session.tool_calls.len() + 1;
            let id = event.tool_id.owned().unwrap_or_else(|| format!("#{number}"));
            let call = self.builder.call(&id, event.tool_name.as_str(), at);
            let row = &mut self.builder.session.tool_calls[call];
            (row.is_subagent, row.agent) = (parent.is_some(), agent);
            call
        });
        if !event.input.is_empty() {
            self.arguments(call, event.input, line);
        }
        event.result.apply(&mut self.builder, call, at);
    }

    fn result(&mut self, event: &Event<'_>, line: i64) {
        self.last.clear();
        let duration_ms = event.duration_ms.rounded();
        let is_success = event.success.is_true();
        // zag ends every stream with a success without any content, also after a failure.
        if is_success && !event.message.is_some() && duration_ms.is_none() && event.num_turns.get().is_none() {
            return;
        }
        self.duration_ms = add(self.duration_ms, duration_ms);
        self.turns = add(self.turns, event.num_turns.get());
        let message = event.message.as_str();
        if is_success {
            self.builder.succeed();
            self.builder.set_answer(message);
        } else {
            self.builder.fail(None, message);
            self.builder.event(EventKind::Error, At { line, time: None }).message = event.message.some().map(brief);
        }
    }

    /// Adds the totals and the outcome of the object around the events.
    pub(super) fn output(&mut self, output: &Output<'_>, line: Line<'_>, damage: &mut RecordErrors) {
        let usage = usage::present(&output.usage, damage);
        let cost = money(output.total_cost_usd, damage);
        let session = &mut self.builder.session;
        let tokens = usage.map(|it| it.tokens(damage)).filter(|it| !it.is_all_zero());
        let models = tokens.map(|tokens| ModelTotal {
            model: session.model.clone(),
            tokens,
            web_searches: usage.and_then(|it| it.web_search_requests.get()),
            cost,
            ..ModelTotal::default()
        });
        let total = Total {
            line: line.number,
            key: hashed_id(line.bytes),
            kind: TotalKind::Process,
            duration_ms: self.duration_ms,
            turns: self.turns,
            cost,
            models: models.into_iter().collect(),
            covers_subagents: false,
            ..Total::default()
        };
        if total.cost.is_some() || !total.models.is_empty() || total.duration_ms.is_some() || total.turns.is_some() {
            session.totals.push(total);
        }
        session.exit_code = output.exit_code.whole();
        match output.is_error.0 {
            Some(true) => {
                let is_logged = self.builder.session.events.iter().any(|it| it.kind == EventKind::Error);
                let message = output.error_message.some().or(output.result.some());
                self.builder.fail(None, message.unwrap_or_default());
                if !is_logged {
                    self.builder.event(EventKind::Error, At { line: line.number, time: None }).message =
                        message.map(brief);
                }
            }
            Some(false) => {
                self.builder.succeed();
                self.builder.set_answer(output.result.as_str());
            }
            None => {}
        }
    }

    pub(super) fn finish_stream(mut self) -> SessionResult {
        let session = &mut self.builder.session;
        (session.duration_ms, session.stated_turns) = (self.duration_ms, self.turns);
        self.finish()
    }

    pub(super) fn finish(self) -> SessionResult {
        let mut session = self.builder.finish();
        session.recording = Some(self.recording);
        if !self.has_steps {
            session.capabilities = Capabilities::NOTHING;
        }
        // The output on the lines is a stub. A total completes it, except for subagents.
        let has_total = session.totals.iter().any(|it| !it.models.is_empty());
        session.under_reports = session.turns.iter().any(|it| it.is_subagent || !has_total)
            || (session.status == Status::Incomplete && !has_total);
        session
    }
}
