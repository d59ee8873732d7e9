//! A session as a trace: a span for each agent, each response and each call.

use std::collections::{BTreeMap, HashSet};

use super::span::{Attribute, Attributes, CLIENT, INTERNAL, Span, Status, nanoseconds, span_id, trace_id};
use super::tables::{Tables, Turns};
use crate::analysis::export::by_session::key_of;
use crate::analysis::rows::Key;
use crate::base::time::Time;

/// The spans of a session.
pub(super) struct Trace<'a> {
    tables: &'a Tables,
    row: usize,
    key: Key,
    trace_id: String,
}

/// The runs of subagents, by their id or name, with their first and last time.
type Runs = BTreeMap<String, (Option<Time>, Option<Time>)>;

impl<'a> Trace<'a> {
    /// The session of a row.
    pub(super) fn new(tables: &'a Tables, row: usize) -> Self {
        let key = key_of(tables.sessions.runtime(row), tables.sessions.id(row));
        let trace_id = trace_id(&format!("{}\0{}", key.0, key.1));
        Self { tables, row, key, trace_id }
    }

    /// What is the same for all spans: the program, and what the session was about.
    pub(super) fn resource(&self) -> Vec<Attribute> {
        let (sessions, row) = (&self.tables.sessions, self.row);
        let mut attributes = Attributes::default();
        attributes
            .text("service.name", sessions.runtime(row))
            .text("service.version", sessions.runtime_version(row))
            .text("host.name", sessions.host(row))
            .text("user.name", sessions.user(row))
            .text("agentlogs.format", sessions.format(row))
            .text("agentlogs.project", sessions.project(row))
            .text("agentlogs.source_path", sessions.source_path(row));
        for label in sessions.labels(row) {
            if let Some((key, value)) = label.split_once('=') {
                attributes.text(&format!("agentlogs.label.{key}"), Some(value));
            }
        }
        attributes.0
    }

    /// All spans: those of agents first, then each response with its calls.
    pub(super) fn spans(&self) -> Vec<Span> {
        let runs = self.runs();
        let mut spans = vec![self.root()];
        spans.extend(runs.iter().map(|(name, times)| self.run(name, *times)));
        let mut calls: BTreeMap<Option<i64>, Vec<(usize, usize)>> = BTreeMap::new();
        for (index, row) in self.tables.calls_of.of(&self.key).enumerate() {
            calls.entry(self.tables.calls.turn(row)).or_default().push((index, row));
        }
        let (mut ids, mut call_ids) = (HashSet::new(), HashSet::new());
        for (index, row) in self.tables.turns_of.of(&self.key).enumerate() {
            let span = self.chat(index, row, &mut ids);
            let number = self.tables.turns.number(row);
            let of_turn = number.and_then(|number| calls.remove(&Some(number))).unwrap_or_default();
            let parent = span.span_id.clone();
            spans.push(span);
            spans.extend(of_turn.into_iter().map(|(index, row)| self.call(index, row, &parent, &mut call_ids)));
        }
        let root = self.span_id("");
        spans.extend(calls.into_values().flatten().map(|(index, row)| self.call(index, row, &root, &mut call_ids)));
        spans
    }

    /// The subagents within the session.
    fn runs(&self) -> Runs {
        let turns = &self.tables.turns;
        let mut runs = Runs::new();
        for row in self.tables.turns_of.of(&self.key) {
            if let Some(name) = self.subagent(row) {
                let times = runs.entry(name).or_default();
                let (start, end) = chat_times(turns, row);
                times.0 = times.0.into_iter().chain(start).min();
                times.1 = times.1.max(end);
            }
        }
        runs
    }

    /// The id or name of the subagent that made a response.
    fn subagent(&self, row: usize) -> Option<String> {
        let turns = &self.tables.turns;
        let name = turns.agent_id(row).or(turns.agent(row)).unwrap_or("subagent");
        turns.is_subagent(row).then(|| name.to_owned())
    }

    fn span_id(&self, what: &str) -> String {
        span_id(&format!("{}\0{what}", self.trace_id))
    }

    fn span(&self, id: &str, parent: Option<&str>, operation: &str, name: Option<&str>) -> (Span, Attributes) {
        let mut attributes = Attributes::default();
        attributes.text("gen_ai.operation.name", Some(operation)).text("gen_ai.conversation.id", Some(&self.key.1));
        let span = Span {
            trace_id: self.trace_id.clone(),
            span_id: self.span_id(id),
            parent_span_id: parent.map(str::to_owned).unwrap_or_default(),
            name: name.map_or_else(|| operation.to_owned(), |name| format!("{operation} {name}")),
            kind: INTERNAL,
            start_time_unix_nano: String::new(),
            end_time_unix_nano: String::new(),
            attributes: Vec::new(),
            status: Status::default(),
        };
        (span, attributes)
    }

    fn root(&self) -> Span {
        let (sessions, row) = (&self.tables.sessions, self.row);
        let (span, mut attributes) = self.span("", None, "invoke_agent", sessions.agent(row).or(sessions.runtime(row)));
        attributes
            .text("gen_ai.agent.name", sessions.agent(row))
            .text("gen_ai.request.model", sessions.model(row))
            .text("agentlogs.status", sessions.status(row))
            .text("agentlogs.usage", sessions.usage(row))
            .text("agentlogs.parent_session_id", sessions.parent(row))
            .text("agentlogs.task", sessions.task(row))
            .text("agentlogs.trial", sessions.trial(row));
        if let Some(passed) = sessions.passed(row) {
            attributes.flag("agentlogs.passed", passed);
        }
        let is_error = sessions.status(row) == Some("error");
        let kind = sessions.error_kind(row).or(is_error.then_some("_OTHER"));
        attributes.text("error.type", kind.filter(|_| is_error));
        timed(span, attributes, (sessions.started_at(row), sessions.ended_at(row)), is_error)
    }

    fn run(&self, name: &str, times: (Option<Time>, Option<Time>)) -> Span {
        let root = self.span_id("");
        let (span, mut attributes) = self.span(&format!("agent {name}"), Some(&root), "invoke_agent", Some(name));
        attributes.text("gen_ai.agent.id", Some(name));
        timed(span, attributes, times, false)
    }

    /// A response, or a total of a session. An id that occurs again is left out, as of calls: it would make one of two.
    fn chat(&self, index: usize, row: usize, ids: &mut HashSet<String>) -> Span {
        let turns = &self.tables.turns;
        let parent = match self.subagent(row) {
            Some(name) => self.span_id(&format!("agent {name}")),
            None => self.span_id(""),
        };
        let (mut span, mut attributes) = self.span(&format!("chat {index}"), Some(&parent), "chat", turns.model(row));
        span.kind = CLIENT;
        let id = turns.message_id(row).or(turns.request_id(row)).filter(|id| ids.insert((*id).to_owned()));
        let [input, cache_read, cache_write] = [turns.input(row), turns.cache_read(row), turns.cache_write(row)];
        // By the conventions, input includes both caches.
        let prompt =
            input.map(|input| input.saturating_add(cache_read.unwrap_or(0)).saturating_add(cache_write.unwrap_or(0)));
        attributes
            .text("gen_ai.provider.name", turns.provider(row))
            .text("gen_ai.request.model", turns.model(row))
            .text("gen_ai.response.model", turns.model(row))
            .text("gen_ai.response.id", id)
            .texts("gen_ai.response.finish_reasons", turns.stop_reason(row).as_slice())
            .text("agentlogs.effort", turns.effort(row))
            .whole("gen_ai.usage.input_tokens", prompt)
            .whole("gen_ai.usage.output_tokens", turns.output(row))
            .whole("gen_ai.usage.cache_read.input_tokens", cache_read)
            .whole("gen_ai.usage.cache_creation.input_tokens", cache_write)
            .whole("gen_ai.usage.reasoning.output_tokens", turns.reasoning(row))
            .whole("agentlogs.tokens.input", input)
            .whole("agentlogs.tokens.output", turns.output(row))
            .whole("agentlogs.tokens.cache_read", cache_read)
            .whole("agentlogs.tokens.cache_write", cache_write)
            .whole("agentlogs.tokens.cache_write_1h", turns.cache_write_1h(row))
            .double("agentlogs.cost_usd", turns.cost(row))
            .text("agentlogs.cost_source", turns.cost_source(row))
            .text("agentlogs.service_tier", turns.service_tier(row))
            .text("agentlogs.grain", turns.grain(row))
            .whole("agentlogs.turn", turns.number(row))
            .flag("agentlogs.is_subagent", turns.is_subagent(row))
            .text("agentlogs.source_path", turns.source_path(row))
            .whole("agentlogs.line", turns.line(row));
        timed(span, attributes, chat_times(turns, row), false)
    }

    fn call(&self, index: usize, row: usize, parent: &str, ids: &mut HashSet<String>) -> Span {
        let calls = &self.tables.calls;
        let (span, mut attributes) = self.span(&format!("call {index}"), Some(parent), "execute_tool", calls.tool(row));
        let id = calls.id(row).filter(|id| ids.insert((*id).to_owned()));
        let status = calls.status(row);
        let is_error = matches!(status, Some("error" | "denied"));
        attributes
            .text("gen_ai.tool.name", calls.tool(row))
            .text("gen_ai.tool.call.id", id)
            .text("gen_ai.tool.call.arguments", calls.args(row))
            .text("gen_ai.tool.call.result", calls.result(row))
            .text("error.type", status.filter(|_| is_error))
            .text("agentlogs.status", status)
            .text("agentlogs.category", calls.category(row))
            .text("agentlogs.target", calls.target(row))
            .text("agentlogs.mcp_server", calls.mcp_server(row))
            .whole("agentlogs.exit_code", calls.exit_code(row))
            .whole("agentlogs.turn", calls.turn(row))
            .text("agentlogs.source_path", calls.source_path(row))
            .whole("agentlogs.line", calls.line(row));
        let start = calls.time(row);
        timed(span, attributes, (start, start.and_then(|start| after(start, calls.duration_ms(row)))), is_error)
    }
}

/// The start and the end of a response.
fn chat_times(turns: &Turns, row: usize) -> (Option<Time>, Option<Time>) {
    let end = turns.ended_at(row).or(turns.time(row));
    (end.and_then(|end| after(end, turns.duration_ms(row).and_then(i64::checked_neg))), end)
}

/// A time and the milliseconds after it.
fn after(time: Time, duration_ms: Option<i64>) -> Option<Time> {
    let micros = duration_ms.unwrap_or(0).checked_mul(1000)?;
    Some(Time::from_micros(time.micros().checked_add(micros)?))
}

fn timed(mut span: Span, attributes: Attributes, times: (Option<Time>, Option<Time>), is_error: bool) -> Span {
    let (start, end) = times;
    span.start_time_unix_nano = nanoseconds(start.or(end));
    span.end_time_unix_nano = nanoseconds(end.or(start));
    span.attributes = attributes.0;
    if is_error {
        span.status = Status::ERROR;
    }
    span
}
