//! Spans as GitHub Copilot writes them to a file: one JSON object a line, without the wrapper of an export, with plain attributes and
//! times as seconds and nanoseconds. Copilot CLI (`~/.copilot/otel/*.jsonl`) and VS Code (its setting `outfile`) write the same.
//!
//! A `chat` span with usage is one request. The `invoke_agent` span around it repeats the sum of its requests, and has no conversation
//! of its own: a span without one is of the conversation of its trace. A `chat` span without usage was not answered.

use std::borrow::Cow;

use foldhash::{HashMap, HashMapExt as _};
use serde::Deserialize;

use super::product::CHAT;
use super::spans::{COUNT_NAMES, EFFORTS, tokens_of};
use crate::adapters::engine::sessions::SessionsById;
use crate::adapters::engine::{Context, Probe, RecordErrors, RecordKind};
use crate::adapters::formats::atif::trajectory::runtime_of;
use crate::adapters::shared::ai_credits::dollars;
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, brief};
use crate::adapters::shared::ids::counts_name;
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::json::fields::{Count, Pairs, Text};
use crate::json::lines::Line;
use crate::json::{self, Raw};
use crate::model::session::{CallStatus, Capabilities, Cost, EventKind, Identity, SessionResult, Status, Tokens};

const SHOWS: Capabilities = Capabilities::TURNS.and(Capabilities::TOOL_CALLS).and(Capabilities::METERED);

/// How surely a record is one of the file: by the names of its attributes.
pub(super) fn claims(probe: &Probe<'_>) -> u32 {
    let has = |key: &str, word: &[u8]| memchr::memmem::find(probe.raw(key).0, word).is_some();
    let is_span = probe.has_all(&["traceId", "spanId", "name", "attributes"]) && has("attributes", b"\"gen_ai.");
    let is_metric = probe.text("name").starts_with("gen_ai.") && probe.has("dataPoints");
    8 * u32::from(is_span) + u32::from(is_metric)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Record<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    trace_id: Text<'a>,
    span_id: Text<'a>,
    parent_span_id: Text<'a>,
    name: Text<'a>,
    start_time: Raw<'a>,
    end_time: Raw<'a>,
    attributes: Pairs<'a, Raw<'a>>,
    status: SpanStatus<'a>,
    resource: Resource<'a>,
    instrumentation_scope: Scope<'a>,
    // metrics
    scope_metrics: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct SpanStatus<'a> {
    code: Raw<'a>,
    message: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Resource<'a> {
    attributes: Pairs<'a, Raw<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Scope<'a> {
    name: Text<'a>,
}

/// A span, until the conversation of its trace is known.
#[derive(Debug)]
struct Span {
    line: i64,
    trace: String,
    runtime: String,
    version: Option<String>,
    conversation: Option<String>,
    /// The chat of VS Code.
    chat: Option<Chat>,
    started_at: Option<Time>,
    ended_at: Option<Time>,
    /// The span around it.
    parent: Option<String>,
    name: String,
    what: What,
}

/// The id of a chat of VS Code, as a span names it.
#[derive(Debug)]
struct Chat {
    id: String,
    /// Whether the span is of a subagent, whose own chat has another id.
    is_of_parent: bool,
}

#[derive(Debug)]
enum What {
    /// A request, and its error if it was not answered.
    Request {
        request: Box<Request>,
        error: Option<String>,
    },
    Call {
        id: String,
        tool: String,
        arguments: String,
        result: String,
        is_error: bool,
    },
    /// The run of an agent.
    Agent {
        name: Option<String>,
    },
    Other,
}

#[derive(Debug)]
struct Request {
    id: Option<String>,
    model: Option<Symbol>,
    provider: Option<Symbol>,
    effort: Option<Symbol>,
    stop_reason: Option<Symbol>,
    tokens: Tokens,
    /// In US dollars.
    cost: Option<f64>,
}

/// The spans of a file.
#[derive(Debug, Default)]
pub(super) struct Spans {
    all: Vec<Span>,
}

/// Attributes of a span.
struct Attributes<'r, 'a>(&'r Pairs<'a, Raw<'a>>);

impl<'a> Attributes<'_, 'a> {
    fn raw(&self, keys: &[&str]) -> Raw<'a> {
        let find = |key: &&str| self.0.0.iter().find(|(it, raw)| it == key && !raw.is_empty());
        keys.iter().find_map(find).map_or(Raw::default(), |(_, raw)| *raw)
    }

    fn text(&self, keys: &[&str]) -> Option<Cow<'a, str>> {
        let raw = self.raw(keys);
        Some(raw.text()).filter(|text| !raw.is_empty() && !text.is_empty())
    }

    fn owned(&self, keys: &[&str]) -> Option<String> {
        self.text(keys).map(Cow::into_owned)
    }

    fn symbol(&self, keys: &[&str]) -> Option<Symbol> {
        self.text(keys).map(Into::into)
    }

    fn count(&self, keys: &[&str]) -> Count {
        let raw = self.raw(keys);
        if raw.is_empty() { Count::Unknown } else { super::attributes::count_of(&raw.text()) }
    }
}

impl Spans {
    /// Adds a line. Metrics and events repeat what the spans contain.
    pub(super) fn line(&mut self, line: Line<'_>, damage: &mut RecordErrors) -> RecordKind {
        let Ok(record) = json::from_slice::<Record<'_>>(line.bytes) else { return RecordKind::Unknown };
        if record.trace_id.is_some() && record.span_id.is_some() && record.name.is_some() {
            let span = span_of(&record, line, damage);
            self.all.push(span);
            return RecordKind::Known;
        }
        let is_other_signal =
            matches!(record.kind.as_str(), "metric" | "log" | "event") || !record.scope_metrics.is_empty();
        if is_other_signal { RecordKind::Known } else { RecordKind::Unknown }
    }

    /// The sessions of all spans.
    pub(super) fn finish(self, context: &Context) -> Vec<SessionResult> {
        let context = Context { capabilities: SHOWS, ..context.clone() };
        let mut conversations: HashMap<&str, &str> = HashMap::new();
        for span in &self.all {
            if let Some(conversation) = &span.conversation {
                conversations.entry(&span.trace).or_insert(conversation);
            }
        }
        let by_name: HashMap<&str, &Span> = self.all.iter().map(|span| (span.name.as_str(), span)).collect();
        let chats = chats_of_traces(&self.all, &by_name);
        let mut sessions: SessionsById<Session> = SessionsById::default();
        for span in self.all.iter().filter(|span| !matches!(span.what, What::Agent { .. } | What::Other)) {
            let trace = span.trace.as_str();
            let chat = chats.get(trace).copied();
            let conversation = || span.conversation.as_deref().or_else(|| conversations.get(trace).copied());
            let id = chat.or_else(conversation).unwrap_or(trace);
            let session = sessions.find_or_add(&format!("{} {id}", span.runtime), || Session::new(&context, span, id));
            session.add(span, subagent_of(span, &by_name));
        }
        sessions.into_iter().map(Session::finish).collect()
    }
}

/// The chat of VS Code that each trace belongs to. Spans of subagents name a chat of their own: that around them counts, else that of
/// a span without another one around it.
fn chats_of_traces<'s>(spans: &'s [Span], by_name: &HashMap<&str, &Span>) -> HashMap<&'s str, &'s str> {
    let mut chats: HashMap<&str, (u8, &str)> = HashMap::new();
    for span in spans {
        let Some(chat) = &span.chat else { continue };
        let is_outermost = span.parent.as_deref().is_none_or(|parent| !by_name.contains_key(parent));
        let rank = if chat.is_of_parent { 2 } else { u8::from(is_outermost) };
        let known = chats.entry(&span.trace).or_insert((rank, &chat.id));
        if known.0 < rank {
            *known = (rank, &chat.id);
        }
    }
    chats.into_iter().map(|(trace, (_, chat))| (trace, chat)).collect()
}

/// The agent of a span, if another agent runs it: its name, and the id of its span.
fn subagent_of<'s>(span: &Span, by_name: &HashMap<&str, &'s Span>) -> Option<(Option<&'s str>, &'s str)> {
    /// Agents do not run in each other deeper than this.
    const DEEPEST: usize = 64;
    let mut agents = Vec::new();
    let mut next = span.parent.as_deref();
    for _ in 0..DEEPEST {
        let Some(around) = next.and_then(|parent| by_name.get(parent)) else { break };
        if let What::Agent { name } = &around.what {
            agents.push((name.as_deref(), around.name.as_str()));
        }
        next = around.parent.as_deref();
    }
    agents.first().copied().filter(|_| agents.len() > 1)
}

fn span_of(record: &Record<'_>, line: Line<'_>, damage: &mut RecordErrors) -> Span {
    let attributes = Attributes(&record.attributes);
    let resource = Attributes(&record.resource.attributes);
    let service = resource.text(&["service.name"]).or_else(|| record.instrumentation_scope.name.0.clone());
    let trace = record.trace_id.as_str();
    let span_name = |id: &str| format!("{trace} {id}");
    let message = || {
        let stated = record.status.message.some().map(str::to_owned);
        stated.or_else(|| attributes.owned(&["error.type"])).unwrap_or_default()
    };
    let is_error = record.status.code.0 == b"2" || !attributes.raw(&["error.type"]).is_empty();
    let what = match attributes.text(&["gen_ai.operation.name"]).as_deref() {
        Some("chat" | "generate_content" | "text_completion" | "embeddings") => {
            let request = request_of(&attributes, damage);
            let error = (request.tokens == Tokens::UNKNOWN && is_error).then(message);
            What::Request { request: Box::new(request), error }
        }
        Some("execute_tool") => What::Call {
            id: attributes.owned(&["gen_ai.tool.call.id"]).unwrap_or_else(|| span_name(record.span_id.as_str())),
            tool: attributes.owned(&["gen_ai.tool.name"]).unwrap_or_default(),
            arguments: attributes.owned(&["gen_ai.tool.call.arguments"]).unwrap_or_default(),
            result: attributes.owned(&["gen_ai.tool.call.result"]).unwrap_or_default(),
            is_error,
        },
        Some("invoke_agent") => What::Agent { name: attributes.owned(&["gen_ai.agent.name"]) },
        _ => What::Other,
    };
    Span {
        line: line.number,
        trace: trace.to_owned(),
        runtime: runtime_of_service(service.as_deref().unwrap_or_default()).into_owned(),
        version: resource.owned(&["service.version"]),
        conversation: attributes.owned(&["gen_ai.conversation.id", "copilot_chat.session_id", "session.id"]),
        chat: chat_of(&attributes),
        started_at: time_of(record.start_time),
        ended_at: time_of(record.end_time),
        parent: record.parent_span_id.some().map(span_name),
        name: span_name(record.span_id.as_str()),
        what,
    }
}

fn chat_of(attributes: &Attributes<'_, '_>) -> Option<Chat> {
    let [around, own] = CHAT.map(|key| attributes.owned(&[key]));
    let is_of_parent = around.is_some();
    Some(Chat { id: around.or(own)?, is_of_parent })
}

fn runtime_of_service(service: &str) -> Cow<'static, str> {
    match service {
        "" | "github-copilot" | "github.copilot" => "copilot".into(),
        _ => runtime_of(&Text(Some(service.into())), super::product::RUNTIME),
    }
}

fn request_of(attributes: &Attributes<'_, '_>, damage: &mut RecordErrors) -> Request {
    let counts = COUNT_NAMES.map(|keys| attributes.count(keys));
    damage.note_impossible(&counts);
    let reasons: Vec<Text<'_>> = attributes.raw(&["gen_ai.response.finish_reasons"]).read();
    let tokens = tokens_of(counts, Count::Unknown);
    Request {
        id: attributes.owned(&["gen_ai.response.id"]),
        model: attributes.symbol(&["gen_ai.response.model", "gen_ai.request.model"]),
        provider: attributes.symbol(&["gen_ai.provider.name", "gen_ai.system"]),
        effort: attributes.symbol(&EFFORTS),
        stop_reason: reasons.first().and_then(Text::owned),
        tokens: tokens.unless_all_zero(),
        cost: dollars(attributes.raw(&["github.copilot.nano_aiu"]).read(), damage),
    }
}

/// A time as seconds and nanoseconds since 1970.
fn time_of(raw: Raw<'_>) -> Option<Time> {
    let parts: Vec<i64> = serde_json::from_slice(raw.0).ok()?;
    let [seconds, nanoseconds] = parts.try_into().ok()?;
    let micros = seconds.checked_mul(1_000_000)?.checked_add(nanoseconds / 1000)?;
    Time::from_number(micros as f64).filter(|_| micros > 100_000_000_000_000)
}

/// A session while its spans are read.
struct Session {
    builder: Builder,
    last_request: Option<usize>,
    failure: Option<String>,
}

impl Session {
    fn new(context: &Context, span: &Span, id: &str) -> Self {
        let mut builder = Builder::new(context, id, span.line);
        builder.session.runtime = Cow::Owned(span.runtime.clone());
        Self { builder, last_request: None, failure: None }
    }

    fn add(&mut self, span: &Span, agent: Option<(Option<&str>, &str)>) {
        self.builder.extend_to(span.started_at);
        self.builder.extend_to(span.ended_at);
        let session = &mut self.builder.session;
        session.runtime_version = session.runtime_version.take().or_else(|| span.version.clone());
        match &span.what {
            What::Request { error: Some(message), .. } => {
                let event = self.builder.event(EventKind::Error, At { line: span.line, time: span.ended_at });
                event.key = Some(span.name.as_str().into());
                event.message = Some(brief(message));
                self.failure = Some(message.clone());
            }
            What::Request { request, .. } if request.tokens != Tokens::UNKNOWN => self.request(span, request, agent),
            What::Call { .. } => self.call(span, agent),
            What::Request { .. } | What::Agent { .. } | What::Other => {}
        }
    }

    fn request(&mut self, span: &Span, request: &Request, agent: Option<(Option<&str>, &str)>) {
        let named = || format!("{} {}", span.name, counts_name(request.tokens));
        let name = request.id.clone().unwrap_or_else(named);
        let index = self.builder.turn(Identity::Session(name.as_str().into()), span.line);
        let turn = &mut self.builder.session.turns[index];
        turn.tokens = turn.tokens.get().max(request.tokens).into();
        turn.message_id = request.id.as_deref().map(Into::into);
        turn.occurred_at = span.ended_at.or(span.started_at);
        turn.duration_ms = span.started_at.zip(span.ended_at).and_then(|(start, end)| end.duration_since(start)).into();
        turn.model.clone_from(&request.model);
        turn.provider.clone_from(&request.provider);
        turn.effort.clone_from(&request.effort);
        turn.stop_reason.clone_from(&request.stop_reason);
        turn.cost = request.cost.map(Cost::of).or(turn.cost.take());
        if let Some((name, id)) = agent {
            turn.is_subagent = true;
            (turn.agent, turn.agent_id) = (name.map(Symbol::new), Some(Symbol::new(id)));
        }
        self.last_request = Some(index);
        self.failure = None;
    }

    fn call(&mut self, span: &Span, agent: Option<(Option<&str>, &str)>) {
        let What::Call { id, tool, arguments, result, is_error } = &span.what else { return };
        let at = At { line: span.line, time: span.started_at };
        let index = self.builder.call_of(None, id, tool, Raw(arguments.as_bytes()), at);
        if !arguments.is_empty() {
            self.builder.arguments(index, Raw(arguments.as_bytes()));
        }
        self.builder.result(index, Raw(result.as_bytes()), span.ended_at, CallStatus::from_error(*is_error));
        let call = &mut self.builder.session.tool_calls[index];
        call.turn = call.turn.or(self.last_request);
        if let Some((name, _)) = agent {
            (call.is_subagent, call.agent) = (true, name.map(Symbol::new));
        }
    }

    fn finish(mut self) -> SessionResult {
        // No span states the end of a session.
        match self.failure.take() {
            Some(message) => self.builder.fail(None, &message),
            None => self.builder.session.status = Status::Unknown,
        }
        self.builder.finish()
    }
}
