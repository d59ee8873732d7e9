//! The events or the spans of one session.

use std::borrow::Cow;

use foldhash::{HashMap, HashMapExt as _};

use super::attributes::Attributes;
use super::nested::NestedRequests;
use super::product::Key;
use crate::adapters::engine::Context;
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, brief};
use crate::adapters::shared::ids::counts_name;
use crate::adapters::shared::repository::of_remote;
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::json::Raw;
use crate::model::session::{CallStatus, Capabilities, Cost, EventKind, Identity, SessionResult, Status, Tokens};

/// A session while its telemetry is read.
pub(super) struct Session {
    pub(super) builder: Builder,
    /// Reasoning effort of the requests that do not name one.
    pub(super) effort: Option<Symbol>,
    /// Provider of the requests that do not name one.
    pub(super) provider: Option<Symbol>,
    pub(super) context_window: Option<i64>,
    /// How the executions of calls ended, by the ids of calls whose own spans are not read yet.
    pub(super) executions: HashMap<String, CallStatus>,
    pub(super) nested: NestedRequests,
    /// The main agent's last request: its calls follow.
    last_request: Option<usize>,
    /// Code and message of the last failure, if no request succeeded after it.
    failure: Option<(Option<i64>, String)>,
}

/// A request that was answered.
#[derive(Default)]
pub(super) struct Request<'a> {
    /// The provider's id of it.
    pub(super) id: Option<Cow<'a, str>>,
    /// What else distinguishes it from requests at the same time.
    pub(super) sequence: Option<i64>,
    pub(super) time: Option<Time>,
    pub(super) model: Option<Cow<'a, str>>,
    pub(super) provider: Option<Cow<'a, str>>,
    pub(super) effort: Option<Cow<'a, str>>,
    pub(super) speed: Option<Cow<'a, str>>,
    pub(super) service_tier: Option<Cow<'a, str>>,
    pub(super) stop_reason: Option<Cow<'a, str>>,
    pub(super) tokens: Tokens,
    pub(super) cost: Option<f64>,
    pub(super) duration_ms: Option<i64>,
    /// The name or type of the agent, if it is a subagent.
    pub(super) agent: Option<Cow<'a, str>>,
    pub(super) agent_id: Option<Cow<'a, str>>,
    pub(super) is_subagent: bool,
    /// Whether it is of the main agent's conversation, and not of a summary or a title.
    pub(super) is_main: bool,
}

/// A call that has ended.
pub(super) struct Call<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) tool: Cow<'a, str>,
    pub(super) mcp_server: Option<Cow<'a, str>>,
    pub(super) time: Option<Time>,
    /// The arguments as JSON.
    pub(super) arguments: Option<Cow<'a, str>>,
    /// The length of the arguments, if it is logged: they may be cut.
    pub(super) args_bytes: Option<i64>,
    pub(super) result: Option<Cow<'a, str>>,
    pub(super) result_bytes: Option<i64>,
    pub(super) duration_ms: Option<i64>,
    pub(super) is_error: bool,
}

fn symbol(text: Option<&Cow<'_, str>>) -> Option<Symbol> {
    text.map(|text| Symbol::new(text))
}

impl Session {
    pub(super) fn new(context: &Context, key: &Key<'_>, signal: Capabilities, line: i64) -> Self {
        let mut builder = Builder::new(context, key.id, line);
        builder.session.runtime = Cow::Owned(key.runtime.to_owned());
        builder.session.capabilities = signal;
        Self {
            builder,
            effort: None,
            provider: None,
            context_window: None,
            executions: HashMap::new(),
            nested: NestedRequests::default(),
            last_request: None,
            failure: None,
        }
    }

    /// Sets the facts that each record repeats.
    pub(super) fn facts(&mut self, attributes: Attributes<'_, '_>) {
        let session = &mut self.builder.session;
        if session.runtime_version.is_none() {
            let version = attributes.text("app.version").or_else(|| attributes.shared_text("service.version"));
            session.runtime_version = version.map(Cow::into_owned);
        }
        if session.host.is_none() {
            session.host = attributes.shared_text("host.name").map(Cow::into_owned);
        }
        if session.cwd.is_none() {
            session.cwd = attributes.first_of_shared_array("workspace.host_paths").map(Cow::into_owned);
        }
        if session.repository.is_none() {
            session.repository = attributes.shared_text("vcs.repository.url.full").and_then(|url| of_remote(&url));
        }
        if session.git_branch.is_none() {
            session.git_branch = attributes.shared_text("vcs.ref.head.name").map(Cow::into_owned);
        }
    }

    /// Adds a request. Copies of it are one. Returns the index of its turn.
    pub(super) fn request(&mut self, request: &Request<'_>, line: i64) -> usize {
        let time = request.time.map(Time::micros);
        let unnamed = || format!("{time:?} {:?} {}", request.sequence, counts_name(request.tokens));
        let name = request.id.as_ref().map_or_else(unnamed, |id| format!("request {id}"));
        let index = self.builder.turn(Identity::Session(name.as_str().into()), line);
        let turn = &mut self.builder.session.turns[index];
        if !request.tokens.is_all_zero() {
            turn.tokens = turn.tokens.get().max(request.tokens).into();
        }
        turn.request_id = request.id.as_deref().map(Into::into);
        turn.occurred_at = request.time;
        turn.model = symbol(request.model.as_ref());
        turn.provider = symbol(request.provider.as_ref()).or_else(|| self.provider.clone());
        turn.effort = symbol(request.effort.as_ref()).or_else(|| self.effort.clone());
        turn.speed = symbol(request.speed.as_ref());
        turn.service_tier = symbol(request.service_tier.as_ref());
        turn.stop_reason = symbol(request.stop_reason.as_ref());
        turn.duration_ms = request.duration_ms.into();
        turn.context_window = self.context_window.into();
        turn.cost = request.cost.map(Cost::of);
        turn.agent = symbol(request.agent.as_ref());
        turn.agent_id = symbol(request.agent_id.as_ref());
        turn.is_subagent = request.is_subagent;
        if request.is_main {
            self.last_request = Some(index);
            if let Some(reason) = symbol(request.stop_reason.as_ref()) {
                self.builder.session.stop_reason = Some(reason);
            }
        }
        self.failure = None;
        index
    }

    /// Adds the error with which a request ended.
    pub(super) fn failure(&mut self, code: Option<i64>, message: &str, at: At) {
        let event = self.builder.event(EventKind::Error, at);
        event.code = code.map(|code| Symbol::new(&code.to_string()));
        event.message = Some(brief(message));
        self.failure = Some((code, message.to_owned()));
    }

    /// The index of a call. One without an id is named by its time, so that copies of it are one.
    pub(super) fn call_index(&mut self, id: Option<&str>, tool: &str, at: At) -> usize {
        let named = || format!("{tool}:{}", at.time.map_or(at.line, Time::micros));
        let id = id.map_or_else(|| Cow::Owned(named()), Cow::Borrowed);
        // A record that begins after the end of the call with its id is one of another call.
        let ended_at = self.builder.call_index(&id).and_then(|known| self.builder.session.tool_calls[known].ended_at);
        let is_later = at.time.zip(ended_at).is_some_and(|(time, end)| time > end);
        let index = if is_later { self.builder.another_call(&id, tool, at) } else { self.builder.call(&id, tool, at) };
        let call = &mut self.builder.session.tool_calls[index];
        call.turn = call.turn.or(self.last_request);
        index
    }

    /// Adds a call with its result. Returns its index.
    pub(super) fn call(&mut self, call: &Call<'_>, line: i64) -> usize {
        let started_at = call.time.zip(call.duration_ms).map(|(end, ms)| Time::from_micros(end.micros() - ms * 1000));
        let index = self.call_index(call.id.as_deref(), &call.tool, At { line, time: started_at.or(call.time) });
        let builder = &mut self.builder;
        if let Some(server) = &call.mcp_server {
            builder.mcp(index, Some(server));
        }
        if let Some(arguments) = &call.arguments {
            builder.arguments(index, Raw(arguments.as_bytes()));
        }
        let row = &mut builder.session.tool_calls[index];
        if let Some(length) = call.args_bytes {
            let is_cut = row.args_bytes.get().is_some_and(|shown| shown < length);
            row.args_bytes = Some(length).into();
            if is_cut {
                row.args_hash = None.into();
            }
        }
        row.duration_ms = call.duration_ms.into();
        if row.status != CallStatus::Denied {
            let result = call.result.as_deref().unwrap_or_default();
            builder.result(index, Raw(result.as_bytes()), call.time, CallStatus::from_error(call.is_error));
        }
        let row = &mut builder.session.tool_calls[index];
        row.result_bytes = call.result_bytes.or(row.result_bytes.get()).into();
        index
    }

    pub(super) fn finish(mut self) -> SessionResult {
        // No record states the end of a session.
        match self.failure.take() {
            Some((code, message)) => self.builder.fail(code, &message),
            None => self.builder.session.status = Status::Unknown,
        }
        let mut session = self.builder.finish();
        self.nested.remove_repeated(&mut session);
        session
    }
}
