//! zag's stdout: the one object of `zag exec -o json` and the bare events of `-o stream-json`.
//!
//! zag turns each line of Claude's own stdout into an event and drops the message's id. Claude writes a line per content
//! block that repeats the whole usage of its response, so events of one agent whose prompts are equally large are one
//! response: the prompt of the next one holds this answer as well. The output on those lines is a stub; only the usage of
//! the whole object tells what was billed, and that leaves out subagents (accounting B3, B5).

use std::borrow::Cow;

use foldhash::{HashMap, HashMapExt as _, HashSet, HashSetExt as _};
use serde::Deserialize;
use twox_hash::XxHash3_64;

use super::claude::CallResult;
use super::{Adapter, Context, Damage, Fold, Probe, Seen, fold, hashed_id};
use crate::adapters::common::builder::{Builder, brief, money};
use crate::base::text::Word;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::lines::Line;
use crate::json::wire::{Content, Count, Flag, Maybe, Number, Text};
use crate::model::health::Reason;
use crate::model::session::{
    CallStatus, EventKind, Identity, ModelTotal, SessionResult, Shows, Status, Tokens, Total, TotalKind, add,
};

/// Only Claude's steps are told; of other providers zag knows the last text.
const SHOWS: Shows = Shows::TOOL_CALLS
    .and(Shows::FILE_CHANGES)
    .and(Shows::SUBAGENTS)
    .and(Shows::PERMISSION_DENIALS)
    .and(Shows::WEB_SEARCHES);

pub(super) const JSON: Adapter = Adapter {
    id: "zag-json",
    runtime: "zag",
    about: "zag, zag exec -o json or json-pretty",
    shows: SHOWS,
    claims: |probe| if probe.has_all(&["agent", "events", "is_error"]) { 6 } else { 0 },
    parse: fold::<Outputs>,
};

pub(super) const STREAM: Adapter = Adapter {
    id: "zag-stream-json",
    runtime: "zag",
    about: "zag, zag exec -o stream-json",
    shows: SHOWS,
    claims,
    parse: fold::<Stream>,
};

fn claims(probe: &Probe<'_>) -> u32 {
    // zag's session log has events of the same names, others' events have ids and times; these have neither.
    if ["wrapper_session_id", "session_id", "sessionId", "sessionID", "timestamp", "id"].iter().any(|it| probe.has(it))
    {
        return 0;
    }
    let keys: &[&str] = match probe.kind() {
        "init" => &["model", "tools", "metadata"],
        "user_message" | "assistant_message" => &["content"],
        "tool_execution" => &["tool_name", "tool_id", "result"],
        "turn_complete" => &["turn_index"],
        "permission_request" => &["tool_name", "granted"],
        "usage_limit_detected" => &["provider", "scope"],
        "result" => &["success", "message", "num_turns"],
        "error" => &["message", "details"],
        _ => return 0,
    };
    if probe.has_all(keys) { 4 } else { 0 }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Output<'a> {
    #[serde(borrow)]
    session_id: Text<'a>,
    #[serde(borrow)]
    events: Vec<Event<'a>>,
    #[serde(borrow)]
    result: Text<'a>,
    is_error: Flag,
    exit_code: Number,
    #[serde(borrow)]
    error_message: Text<'a>,
    total_cost_usd: Number,
    usage: Maybe<Usage>,
    #[serde(borrow)]
    model: Text<'a>,
    #[serde(borrow)]
    provider: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    // init
    #[serde(borrow)]
    model: Text<'a>,
    #[serde(borrow)]
    working_directory: Text<'a>,
    #[serde(borrow)]
    metadata: Metadata<'a>,
    // user_message, assistant_message
    #[serde(borrow)]
    content: Content<'a, Block<'a>>,
    usage: Maybe<Usage>,
    #[serde(borrow)]
    parent_tool_use_id: Text<'a>,
    // tool_execution, permission_request
    #[serde(borrow)]
    tool_name: Text<'a>,
    #[serde(borrow)]
    tool_id: Text<'a>,
    #[serde(borrow)]
    input: Raw<'a>,
    #[serde(borrow)]
    result: ToolResult<'a>,
    granted: Flag,
    // turn_complete
    #[serde(borrow)]
    stop_reason: Text<'a>,
    // result, error
    success: Flag,
    #[serde(borrow)]
    message: Text<'a>,
    duration_ms: Number,
    num_turns: Count,
    // usage_limit_detected
    #[serde(borrow)]
    provider: Text<'a>,
    #[serde(borrow)]
    scope: Text<'a>,
    #[serde(borrow)]
    raw: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata<'a> {
    #[serde(borrow)]
    session_id: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    text: Text<'a>,
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    input: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Usage {
    input_tokens: Count,
    output_tokens: Count,
    cache_read_tokens: Count,
    cache_creation_tokens: Count,
    web_search_requests: Count,
}

impl Usage {
    fn tokens(&self, damage: &mut Damage) -> Tokens {
        let counts = [self.input_tokens, self.output_tokens, self.cache_read_tokens, self.cache_creation_tokens];
        damage.refuses(&counts);
        Tokens {
            input: self.input_tokens.get(),
            output: self.output_tokens.get(),
            cache_read: self.cache_read_tokens.get(),
            cache_write: self.cache_creation_tokens.get(),
            ..Tokens::UNKNOWN
        }
    }
}

/// What a tool gave back, in the session log as well.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct ToolResult<'a> {
    pub(super) success: Flag,
    #[serde(borrow)]
    pub(super) output: Raw<'a>,
    #[serde(borrow)]
    pub(super) error: Raw<'a>,
    /// Claude's `tool_use_result`.
    #[serde(borrow)]
    pub(super) data: Raw<'a>,
}

impl ToolResult<'_> {
    /// Takes in the result of a call. zag's log may tell it twice: a refusal stands.
    pub(super) fn apply(&self, builder: &mut Builder, call: usize, line: i64, time: Option<Time>) {
        let content = if self.output.is_empty() { self.error } else { self.output };
        let is_error = self.success.0.map_or(!self.error.is_empty(), |it| !it);
        CallResult { content, is_error, rich: Some(&self.data.read()), line, time }.apply(builder, call);
    }
}

/// The refusals that zag names by tool only, after the calls' results.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    /// The calls that have been named so far.
    named: HashSet<usize>,
}

impl Refusals {
    /// A call of `tool` was refused: one whose result already said so, else the latest that did not end well. The
    /// description is left out, for it holds the arguments.
    pub(super) fn name(&mut self, builder: &mut Builder, tool: &str, line: i64, time: Option<Time>) {
        let calls = &builder.session.tool_calls;
        let is_free = |index: usize| calls[index].tool == tool && !self.named.contains(&index);
        let call = (0..calls.len()).find(|it| is_free(*it) && calls[*it].status == CallStatus::Denied).or_else(|| {
            (0..calls.len())
                .rfind(|it| is_free(*it) && matches!(calls[*it].status, CallStatus::Incomplete | CallStatus::Error))
        });
        if let Some(call) = call {
            self.named.insert(call);
            builder.deny(call, line, time, None);
        } else {
            builder.event(EventKind::PermissionDenial, line, time).code = Some(tool.into());
        }
    }
}

/// The words for a limit of the provider.
pub(super) fn limit_words<'a>(raw: &'a Text<'_>, provider: &Text<'_>, scope: &Text<'_>) -> Cow<'a, str> {
    raw.some().map_or_else(|| format!("{} usage limit ({})", provider.as_str(), scope.as_str()).into(), Cow::Borrowed)
}

/// The objects of `-o json`: each the record of a process.
struct Outputs {
    context: Context,
    sessions: Vec<SessionResult>,
}

impl Fold for Outputs {
    type Record<'a> = Output<'a>;

    fn new(context: &Context) -> Self {
        Self { context: *context, sessions: Vec::new() }
    }

    fn record(&mut self, line: Line<'_>, output: Output<'_>, damage: &mut Damage) -> Seen {
        // `unknown` is zag's own word for none.
        let provider_session = output.session_id.some().filter(|it| *it != "unknown");
        let id = provider_session.map_or_else(|| hashed_id(line.bytes), str::to_owned);
        let mut session = Session::new(&self.context, id, line.number);
        session.recording.push(XxHash3_64::oneshot(line.bytes));
        session.builder.session.provider_session_id = provider_session.map(str::to_owned);
        session.builder.session.model = output.model.owned();
        session.model = output.model.owned();
        session.provider = output.provider.owned();
        let mut seen = Seen::Known;
        for event in &output.events {
            if session.event(event, line.number, damage) == Seen::Unknown {
                seen = Seen::Unknown;
            }
        }
        session.output(&output, line, damage);
        self.sessions.push(session.finish());
        seen
    }

    fn finish(self) -> Vec<SessionResult> {
        self.sessions
    }
}

/// The events of `-o stream-json`. They name no session: what stands in one log is one.
struct Stream {
    context: Context,
    session: Option<Session>,
    has_id: bool,
    /// What repeats the recording's first events, one by one, while it may stand twice in the log.
    repeated: Vec<(i64, Vec<u8>)>,
}

impl Fold for Stream {
    type Record<'a> = Event<'a>;

    fn new(context: &Context) -> Self {
        Self { context: *context, session: None, has_id: false, repeated: Vec::new() }
    }

    fn record(&mut self, line: Line<'_>, event: Event<'_>, damage: &mut Damage) -> Seen {
        if !is_known(event.kind.as_str()) {
            return Seen::Unknown;
        }
        // Two copies of a recording in one file, perhaps of different length, are one.
        let known = self.session.as_ref().and_then(|it| it.recording.get(self.repeated.len()));
        if known == Some(&XxHash3_64::oneshot(line.bytes)) {
            self.repeated.push((line.number, line.bytes.to_vec()));
            return Seen::Known;
        }
        self.end_of_copy(damage);
        self.event(line, &event, damage)
    }

    fn finish(mut self) -> Vec<SessionResult> {
        // Equal events have told of their damage.
        self.end_of_copy(&mut Damage::default());
        // What was cut after `init` has no record that names a session.
        self.session.filter(|_| self.has_id).into_iter().map(Session::finish_stream).collect()
    }
}

impl Stream {
    fn event(&mut self, line: Line<'_>, event: &Event<'_>, damage: &mut Damage) -> Seen {
        let session =
            self.session.get_or_insert_with(|| Session::new(&self.context, hashed_id(line.bytes), line.number));
        session.recording.push(XxHash3_64::oneshot(line.bytes));
        // An `init` is the same in all sessions of a project.
        if !self.has_id && event.kind.as_str() != "init" {
            self.has_id = true;
            session.builder.session.session_id = hashed_id(line.bytes);
        }
        session.event(event, line.number, damage)
    }

    /// What came before was a copy if it began anew, with `init`, or repeated all there was. Else it happened again.
    fn end_of_copy(&mut self, damage: &mut Damage) {
        let repeated = std::mem::take(&mut self.repeated);
        let is_whole = self.session.as_ref().is_none_or(|it| it.recording.len() == repeated.len());
        let events = repeated.iter().map(|(number, bytes)| (Line { number: *number, bytes }, Raw(bytes).read()));
        let events: Vec<(Line<'_>, Event<'_>)> = events.collect();
        if is_whole || events.first().is_some_and(|(_, it)| it.kind.as_str() == "init") {
            return;
        }
        for (line, event) in events {
            self.event(line, &event, damage);
        }
    }
}

fn is_known(kind: &str) -> bool {
    matches!(
        kind,
        "init"
            | "user_message"
            | "assistant_message"
            | "tool_execution"
            | "turn_complete"
            | "result"
            | "error"
            | "permission_request"
            | "usage_limit_detected"
    )
}

struct Session {
    builder: Builder,
    provider: Option<Word>,
    /// The main agent's model.
    model: Option<Word>,
    /// A hash of each record.
    recording: Vec<u64>,
    /// The last response of each agent.
    last: HashMap<Option<String>, Response>,
    /// The type of agent that each call starts.
    agents: HashMap<String, Word>,
    /// The calls whose agents have not come back.
    delegated: HashSet<String>,
    refusals: Refusals,
    duration_ms: Option<i64>,
    turns: Option<i64>,
    /// Whether anything between the start and the end is told.
    has_steps: bool,
}

/// A response that may go on in the next event.
struct Response {
    turn: usize,
    /// Input, cache read and cache write.
    prompt: [Option<i64>; 3],
}

impl Session {
    fn new(context: &Context, session_id: String, line: i64) -> Self {
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

    fn event(&mut self, event: &Event<'_>, line: i64, damage: &mut Damage) -> Seen {
        let kind = event.kind.as_str();
        self.has_steps |= !matches!(kind, "result" | "error");
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
                    self.refusals.name(&mut self.builder, event.tool_name.as_str(), line, None);
                }
            }
            "error" => {
                self.builder.event(EventKind::Error, line, None).message = event.message.some().map(brief);
            }
            "usage_limit_detected" => {
                let row = self.builder.event(EventKind::Error, line, None);
                row.code = Some("usage_limit".into());
                row.message = Some(brief(&limit_words(&event.raw, &event.provider, &event.scope)));
            }
            "result" => self.result(event, line),
            _ => return Seen::Unknown,
        }
        Seen::Known
    }

    fn user(&mut self, event: &Event<'_>) {
        self.last.clear();
        let text = event.content.blocks.iter().find_map(|it| it.text.some()).or(event.content.text.as_deref());
        // The prompt of a subagent is written like one that a human typed.
        if text.is_some() && self.delegated.is_empty() {
            self.builder.prompt(text);
        }
    }

    fn assistant(&mut self, event: &Event<'_>, line: i64, damage: &mut Damage) {
        let parent = event.parent_tool_use_id.some();
        let agent = parent.and_then(|it| self.subagent(it, line));
        let has_calls = event.content.blocks.iter().any(|it| it.kind.as_str() == "tool_use");
        let mut tokens = Tokens::UNKNOWN;
        let mut web_searches = None;
        match &event.usage {
            Maybe::Absent => {}
            Maybe::Wrong => damage.note(Reason::NoUsage),
            Maybe::Present(usage) => {
                tokens = usage.tokens(damage);
                web_searches = usage.web_search_requests.get();
            }
        }
        if tokens.is_all_zero() {
            // Claude writes its own messages (an error of the API, a limit) as those of a model that took no tokens.
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
        row.agent_id = parent.map(Word::new);
        row.agent.clone_from(&agent);
        row.provider.clone_from(&self.provider);
        if parent.is_none() {
            // A subagent's model is not told.
            row.model.clone_from(&self.model);
        }
        for block in event.content.blocks.iter().filter(|it| it.kind.as_str() == "tool_use") {
            let call = self.builder.call(block.id.as_str(), block.name.as_str(), line, None);
            let row = &mut self.builder.session.tool_calls[call];
            (row.turn, row.is_subagent, row.agent) = (turn.into(), parent.is_some(), agent.clone());
            if row.category == "subagent" {
                self.delegated.insert(row.call_id.to_string());
            }
            self.arguments(call, block.input, line);
        }
        if parent.is_none() {
            event.content.blocks.iter().filter_map(|it| it.text.some()).for_each(|it| self.builder.say(it));
        }
    }

    /// The turn of a message: that of the last one of the same agent if their prompts are equal.
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

    /// Notes the agent that a call started, and gives its type.
    fn subagent(&mut self, call_id: &str, line: i64) -> Option<Word> {
        let agent = self.agents.get(call_id).cloned();
        if self.builder.session.subagents.insert(call_id.into()) {
            let event = self.builder.event(EventKind::Subagent, line, None);
            event.code = Some(call_id.into());
            event.call_id = Some(call_id.into());
            event.agent.clone_from(&agent);
        }
        agent
    }

    fn arguments(&mut self, call: usize, input: Raw<'_>, line: i64) {
        let arguments = self.builder.arguments(call, input);
        let row = &self.builder.session.tool_calls[call];
        if let Some(agent) = arguments.agent() {
            self.agents.insert(row.call_id.to_string(), agent);
        }
        if matches!(row.category.as_ref(), "edit" | "write")
            && let Some(file) = arguments.file()
        {
            self.builder.change(call, file, None, None, line, None);
        }
    }

    fn execution(&mut self, event: &Event<'_>, line: i64) {
        let parent = event.parent_tool_use_id.some();
        self.delegated.remove(event.tool_id.as_str());
        // Without counts, only a result parts two responses.
        self.last.retain(|agent, it| agent.as_deref() != parent || it.prompt.iter().flatten().any(|it| *it > 0));
        let agent = parent.and_then(|it| self.subagent(it, line));
        let call = self.builder.call_index(event.tool_id.as_str()).filter(|_| event.tool_id.some().is_some());
        let call = call.unwrap_or_else(|| {
            let number = self.builder.session.tool_calls.len() + 1;
            let id = event.tool_id.owned().unwrap_or_else(|| format!("#{number}"));
            let call = self.builder.call(&id, event.tool_name.as_str(), line, None);
            let row = &mut self.builder.session.tool_calls[call];
            (row.is_subagent, row.agent) = (parent.is_some(), agent);
            call
        });
        if !event.input.is_empty() {
            self.arguments(call, event.input, line);
        }
        event.result.apply(&mut self.builder, call, line, None);
    }

    fn result(&mut self, event: &Event<'_>, line: i64) {
        self.last.clear();
        let duration_ms = event.duration_ms.rounded();
        let is_success = event.success.is_true();
        // zag closes every stream with a success that says nothing, also behind a failure.
        if is_success && !event.message.is_some() && duration_ms.is_none() && event.num_turns.get().is_none() {
            return;
        }
        self.duration_ms = add(self.duration_ms, duration_ms);
        self.turns = add(self.turns, event.num_turns.get());
        let message = event.message.as_str();
        if is_success {
            self.builder.succeed();
            self.builder.say(message);
        } else {
            self.builder.fail(None, message);
            self.builder.event(EventKind::Error, line, None).message = event.message.some().map(brief);
        }
    }

    /// What the whole object says besides its events.
    fn output(&mut self, output: &Output<'_>, line: Line<'_>, damage: &mut Damage) {
        if matches!(output.usage, Maybe::Wrong) {
            damage.note(Reason::NoUsage);
        }
        let usage = output.usage.get();
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
                let is_told = self.builder.session.events.iter().any(|it| it.kind == EventKind::Error);
                let message = output.error_message.some().or(output.result.some());
                self.builder.fail(None, message.unwrap_or_default());
                if !is_told {
                    self.builder.event(EventKind::Error, line.number, None).message = message.map(brief);
                }
            }
            Some(false) => {
                self.builder.succeed();
                self.builder.say(output.result.as_str());
            }
            None => {}
        }
    }

    fn finish_stream(mut self) -> SessionResult {
        let session = &mut self.builder.session;
        (session.duration_ms, session.stated_turns) = (self.duration_ms, self.turns);
        self.finish()
    }

    fn finish(self) -> SessionResult {
        let mut session = self.builder.finish();
        session.recording = Some(self.recording);
        if !self.has_steps {
            session.shows = Shows::NOTHING;
        }
        // The lines' output is a stub, which only a total makes whole, and not that of subagents.
        let has_total = session.totals.iter().any(|it| !it.models.is_empty());
        session.under_reports = session.turns.iter().any(|it| it.is_subagent || !has_total)
            || (session.status == Status::Incomplete && !has_total);
        session
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::common::builder::Content;
    use crate::adapters::{Parsed, parse};

    fn read(log: &str) -> Parsed {
        parse(log.as_bytes(), crate::adapters::Hints::default(), Content::Text)
    }

    /// Proxies write no counts: then a result is what parts two responses.
    #[test]
    fn responses_without_counts_are_parted_by_results() {
        let say = r#"{"type":"assistant_message","content":[{"type":"text","text":"a"}],"usage":null}"#;
        let call = r#"{"type":"assistant_message","content":[{"type":"tool_use","id":"1","name":"Bash","input":{}}],"usage":{"input_tokens":0,"output_tokens":0}}"#;
        let done =
            r#"{"type":"tool_execution","tool_name":"Bash","tool_id":"1","input":null,"result":{"success":true}}"#;
        let parsed = read(&[say, call, done, say].join("\n"));
        let turns = &parsed.sessions[0].turns;
        assert_eq!(turns.len(), 2);
        assert!(turns.iter().all(|it| it.tokens.get() == Tokens::UNKNOWN));
    }

    /// A stream that lost its `init` has no other sign of where a copy of it begins.
    #[test]
    fn a_stream_without_its_beginning_counts_once() {
        let answer = |text: &str, read: i64| {
            format!(
                r#"{{"type":"assistant_message","content":[{{"type":"text","text":"{text}"}}],"usage":{{"input_tokens":3,"output_tokens":1,"cache_read_tokens":{read}}}}}"#
            )
        };
        let (a, b, c) = (answer("a", 100), answer("b", 200), answer("c", 300));
        let turns = |lines: &[&String]| {
            let lines: Vec<&str> = lines.iter().map(|it| it.as_str()).collect();
            read(&lines.join("\n")).sessions[0].turns.len()
        };
        assert_eq!(turns(&[&a, &b, &a, &b]), 2);
        // The copy had grown.
        assert_eq!(turns(&[&a, &b, &a, &b, &c]), 3);
        // Events that come again are no copy.
        assert_eq!(turns(&[&a, &b, &a, &c]), 4);
        assert_eq!(turns(&[&a, &b, &c, &a, &b]), 5);
    }

    #[test]
    fn an_execution_may_be_the_call() {
        let parsed = read(
            r#"{"type":"tool_execution","tool_name":"Write","tool_id":"","input":{"file_path":"/work/shop/a"},"result":{"success":true,"output":"ok"}}"#,
        );
        let session = &parsed.sessions[0];
        assert_eq!((session.tool_calls[0].call_id.as_str(), session.tool_calls[0].status), ("#1", CallStatus::Ok));
        assert_eq!(session.file_changes[0].path, "/work/shop/a");
    }

    /// What zag writes behind every stream is no success.
    #[test]
    fn the_end_mark_is_no_result() {
        let failed =
            r#"{"type":"result","success":false,"message":"429 too many requests","duration_ms":5,"num_turns":1}"#;
        let mark = r#"{"type":"result","success":true,"message":null,"duration_ms":null,"num_turns":null}"#;
        assert_eq!(read(&[failed, mark].join("\n")).sessions[0].status, Status::Error);
        assert_eq!(read(mark).sessions[0].status, Status::Incomplete);
    }
}
