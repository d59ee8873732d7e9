//! mini-swe-agent's trajectories: one document that the agent writes again after every step.
//!
//! What was billed stands in the responses that the messages carry along; the prompt holds the cached tokens and the
//! completion the reasoning. `instance_id` names the task, which many runs share, so the first message with a time
//! names the run ("Found by checking", 8). Version 1 finds its commands in the text of the answers and reports no cost
//! with them, only that of the whole.

use std::borrow::Cow;

use serde::Deserialize;

use super::document::Places;
use super::{Adapter, Context, Damage, Fold, Probe, Seen, fold, hashed_id};
use crate::adapters::common::builder::{Builder, brief};
use crate::adapters::common::tools;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::lines::Line;
use crate::json::wire::{Count, Maybe, Number, Text, When};
use crate::model::errors::{self, ErrorKind};
use crate::model::health::Reason;
use crate::model::session::{
    CallStatus, Cost, EventKind, Identity, ModelTotal, SessionResult, Shows, Tokens, Total, TotalKind,
};

pub(super) const ADAPTER: Adapter = Adapter {
    id: "mini-swe-agent",
    runtime: "mini-swe-agent",
    about: "mini-swe-agent, trajectories (.traj.json)",
    // Files are changed by commands, which nothing counts.
    shows: Shows::TURNS
        .and(Shows::TOOL_CALLS)
        .and(Shows::PERMISSION_DENIALS)
        .and(Shows::USER_TURNS)
        .and(Shows::KEPT_BY_RUNTIME),
    claims,
    parse: fold::<Trajectories>,
};

fn claims(probe: &Probe<'_>) -> u32 {
    let is_own = probe.text("trajectory_format").starts_with("mini-swe-agent")
        || (probe.has("messages") && probe.object("info").has("model_stats"));
    5 * u32::from(is_own)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Document<'a> {
    #[serde(borrow)]
    info: Info<'a>,
    /// Kept as they stand, for their places.
    #[serde(borrow)]
    messages: Vec<Raw<'a>>,
    #[serde(borrow)]
    trajectory_format: Text<'a>,
    #[serde(borrow)]
    instance_id: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Info<'a> {
    model_stats: Maybe<ModelStats>,
    #[serde(borrow)]
    config: Config<'a>,
    #[serde(borrow)]
    mini_version: Text<'a>,
    #[serde(borrow)]
    task: Text<'a>,
    elapsed_seconds: Number,
    #[serde(borrow)]
    exit_status: Text<'a>,
    #[serde(borrow)]
    exception_str: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ModelStats {
    instance_cost: Number,
    api_calls: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Config<'a> {
    agent: Limits,
    #[serde(borrow)]
    model: Model<'a>,
    #[serde(borrow)]
    environment: Environment<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Limits {
    step_limit: Number,
    cost_limit: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Model<'a> {
    #[serde(borrow)]
    model_name: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Environment<'a> {
    #[serde(borrow)]
    cwd: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    role: Text<'a>,
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    /// A string or blocks.
    #[serde(borrow)]
    content: Raw<'a>,
    /// Version 1 has it here.
    timestamp: When,
    #[serde(borrow)]
    tool_calls: Vec<ToolCall<'a>>,
    #[serde(borrow)]
    tool_call_id: Text<'a>,
    #[serde(borrow)]
    extra: Extra<'a>,
    // With the Responses API the message is the response, and the result of a call an item.
    #[serde(borrow)]
    object: Text<'a>,
    #[serde(borrow)]
    id: Text<'a>,
    created_at: When,
    #[serde(borrow)]
    model: Text<'a>,
    #[serde(borrow)]
    status: Text<'a>,
    usage: Maybe<Usage>,
    #[serde(borrow)]
    output: Raw<'a>,
    #[serde(borrow)]
    call_id: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Block<'a> {
    #[serde(borrow)]
    text: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ToolCall<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    function: Function<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Function<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    arguments: Raw<'a>,
}

/// An item of a response of the Responses API.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Item<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    call_id: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    arguments: Raw<'a>,
    #[serde(borrow)]
    content: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Extra<'a> {
    #[serde(borrow)]
    response: Maybe<Response<'a>>,
    #[serde(borrow)]
    actions: Option<Vec<Raw<'a>>>,
    cost: Number,
    timestamp: When,
    // Of what a command gave.
    returncode: Number,
    #[serde(borrow)]
    exception_info: Text<'a>,
    /// Why the agent was interrupted: by its own rules or by the user.
    #[serde(borrow)]
    interrupt_type: Text<'a>,
    #[serde(borrow)]
    exit_status: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Response<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    created: When,
    #[serde(borrow)]
    model: Text<'a>,
    #[serde(borrow)]
    provider: Text<'a>,
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
    usage: Maybe<Usage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Choice<'a> {
    #[serde(borrow)]
    finish_reason: Text<'a>,
}

/// Usage as chat completions write it, with Anthropic's cache counts beside it, or as the Responses API does.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Usage {
    prompt_tokens: Count,
    completion_tokens: Count,
    prompt_tokens_details: InputDetails,
    completion_tokens_details: OutputDetails,
    cache_read_input_tokens: Count,
    cache_creation_input_tokens: Count,
    input_tokens: Count,
    output_tokens: Count,
    input_tokens_details: InputDetails,
    output_tokens_details: OutputDetails,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct InputDetails {
    cached_tokens: Count,
    cache_creation_tokens: Count,
    cache_write_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OutputDetails {
    reasoning_tokens: Count,
}

impl Usage {
    fn tokens(&self, damage: &mut Damage) -> Tokens {
        let first = |counts: &[Count]| counts.iter().copied().find(|it| *it != Count::Unknown).unwrap_or_default();
        let (chat, responses) = (&self.prompt_tokens_details, &self.input_tokens_details);
        let prompt = first(&[self.prompt_tokens, self.input_tokens]);
        let output = first(&[self.completion_tokens, self.output_tokens]);
        let read = first(&[chat.cached_tokens, responses.cached_tokens, self.cache_read_input_tokens]);
        let write = first(&[
            self.cache_creation_input_tokens,
            chat.cache_creation_tokens,
            chat.cache_write_tokens,
            responses.cache_write_tokens,
        ]);
        let reasoning =
            first(&[self.completion_tokens_details.reasoning_tokens, self.output_tokens_details.reasoning_tokens]);
        damage.refuses(&[prompt, output, read, write, reasoning]);
        let cached = read.get().unwrap_or(0) + write.get().unwrap_or(0);
        let tokens = Tokens {
            // A prompt that is smaller than what was cached of it was counted without it.
            input: prompt.get().map(|it| if it >= cached { it - cached } else { it }),
            output: output.get(),
            cache_read: read.get(),
            cache_write: write.get(),
            cache_write_1h: None,
            reasoning: reasoning.get(),
        };
        if tokens.is_all_zero() { Tokens::UNKNOWN } else { tokens }
    }
}

impl<'a> Message<'a> {
    fn time(&self) -> Option<Time> {
        self.extra.timestamp.0.or(self.timestamp.0)
    }

    /// Whether a model wrote it; of an answer in a wrong form only the response is kept, beside the complaint.
    fn is_answer(&self) -> bool {
        self.role.as_str() == "assistant" || self.object.as_str() == "response" || self.extra.response.get().is_some()
    }

    /// Whether it tells one run from another.
    fn is_unique(&self) -> bool {
        let created = self.extra.response.get().and_then(|it| it.created.0);
        self.time().or(created).or(self.created_at.0).is_some()
    }

    fn text(&self) -> Cow<'a, str> {
        text_of(self.content)
    }
}

/// A string's text, or the first of blocks.
fn text_of(content: Raw<'_>) -> Cow<'_, str> {
    if content.0.first() == Some(&b'"') {
        return content.text();
    }
    let blocks: Vec<Block<'_>> = content.read();
    blocks.into_iter().find_map(|it| it.text.into_inner()).unwrap_or_default()
}

struct Trajectories {
    context: Context,
    sessions: Vec<SessionResult>,
}

impl Fold for Trajectories {
    type Record<'a> = Document<'a>;

    fn new(context: &Context) -> Self {
        Self { context: *context, sessions: Vec::new() }
    }

    fn record(&mut self, line: Line<'_>, document: Document<'_>, damage: &mut Damage) -> Seen {
        let is_own = document.trajectory_format.as_str().starts_with("mini-swe-agent")
            || matches!(document.info.model_stats, Maybe::Present(_));
        if !is_own {
            return Seen::Unknown;
        }
        let first = document.messages.iter().find(|it| it.read::<Message<'_>>().is_unique());
        let id = hashed_id(first.map_or(line.bytes, |it| it.0));
        let mut run = Run { builder: Builder::new(&self.context, id, line.number), open_calls: Vec::new(), prompts: 0 };
        run.describe(&document);
        let (mut places, mut last) = (Places::new(line), line.number);
        for (index, raw) in document.messages.iter().enumerate() {
            last = places.line_of(*raw);
            run.message(index, &raw.read(), last, damage);
        }
        run.end(&document, last);
        self.sessions.push(run.builder.finish());
        Seen::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.sessions
    }
}

struct Run {
    builder: Builder,
    /// Calls of the last answer that have no result yet.
    open_calls: Vec<usize>,
    prompts: usize,
}

impl Run {
    fn describe(&mut self, document: &Document<'_>) {
        let info = &document.info;
        let session = &mut self.builder.session;
        session.runtime_version = info.mini_version.owned();
        session.cwd = info.config.environment.cwd.owned();
        session.model = info.config.model.model_name.owned();
        session.duration_ms = Number(info.elapsed_seconds.0.map(|it| it * 1000.0)).rounded();
        session.labels.extend(document.instance_id.some().map(|it| format!("instance_id={it}")));
    }

    fn message(&mut self, index: usize, message: &Message<'_>, line: i64, damage: &mut Damage) {
        let time = message.time();
        self.builder.saw(time);
        if message.is_answer() {
            self.answer(index, message, line, damage);
        }
        match message.role.as_str() {
            "tool" => self.call_result(&message.tool_call_id, message, line),
            "user" => self.user(index, message, line),
            "exit" => self.exit(message),
            _ if message.kind.as_str() == "function_call_output" => self.call_result(&message.call_id, message, line),
            _ => {}
        }
    }

    fn answer(&mut self, index: usize, message: &Message<'_>, line: i64, damage: &mut Damage) {
        let response = message.extra.response.get();
        let (id, usage) = response.map_or((&message.id, &message.usage), |it| (&it.id, &it.usage));
        // Servers exist that give every response the same id: the time tells them apart, or else the place.
        let time = message.time();
        let mark = time.map_or_else(|| format!("#{index}"), |it| it.micros().to_string());
        let turn_index = self.builder.turn(Identity::Session(format!("{} {mark}", id.as_str()).into()), line);
        let turn = &mut self.builder.session.turns[turn_index];
        match usage {
            Maybe::Absent => {}
            Maybe::Wrong => damage.note(Reason::NoUsage),
            Maybe::Present(usage) => turn.tokens = usage.tokens(damage).into(),
        }
        turn.message_id = id.owned();
        turn.occurred_at = time.or(response.and_then(|it| it.created.0)).or(message.created_at.0);
        turn.model = response.map_or(&message.model, |it| &it.model).owned();
        turn.provider = response.and_then(|it| it.provider.owned());
        let finish = response.and_then(|it| it.choices.first()).map_or(&message.status, |it| &it.finish_reason);
        turn.stop_reason = finish.owned();
        turn.cost = message.extra.cost.money().map(Cost::of);
        self.builder.session.stop_reason = finish.owned();
        if message.role.as_str() != "user" {
            self.calls(index, turn_index, message, line);
        }
    }

    fn calls(&mut self, index: usize, turn: usize, message: &Message<'_>, line: i64) {
        let time = message.time();
        self.open_calls.clear();
        self.builder.say(&message.text());
        let items: Vec<Item<'_>> = message.output.read();
        for item in items {
            self.builder.say(&text_of(item.content));
            if item.kind.as_str() == "function_call" {
                let id = if item.call_id.some().is_some() { item.call_id } else { item.id };
                self.tool_call(id.as_str(), item.name.as_str(), item.arguments, line, time);
            }
        }
        for it in &message.tool_calls {
            self.tool_call(it.id.as_str(), it.function.name.as_str(), it.function.arguments, line, time);
        }
        if self.open_calls.is_empty() {
            match &message.extra.actions {
                Some(actions) => {
                    for (number, action) in actions.iter().enumerate() {
                        let call = self.builder.call(&format!("{index}.{number}"), "bash", line, time);
                        self.builder.arguments(call, *action);
                        self.open_calls.push(call);
                    }
                }
                None => {
                    if let Some(command) = only_command(&message.text()) {
                        let call = self.builder.call(&format!("{index}.0"), "bash", line, time);
                        self.builder.session.tool_calls[call].target = tools::program(command);
                        self.open_calls.push(call);
                    }
                }
            }
        }
        for call in &self.open_calls {
            self.builder.session.tool_calls[*call].turn = turn.into();
        }
    }

    /// Arguments are JSON in a string.
    fn tool_call(&mut self, id: &str, name: &str, arguments: Raw<'_>, line: i64, time: Option<Time>) {
        let is_of_another = |it: usize| self.builder.session.tool_calls[it].turn.get().is_some();
        if self.builder.call_index(id).is_some_and(is_of_another) {
            // Some servers count the calls of each answer anew.
            self.builder.forget_calls();
        }
        let call = self.builder.call(id, name, line, time);
        let text = arguments.text();
        self.builder.arguments(call, Raw(text.as_bytes()));
        self.builder.session.tool_calls[call].args_bytes = arguments.len().into();
        self.open_calls.push(call);
    }

    fn user(&mut self, index: usize, message: &Message<'_>, line: i64) {
        let interrupt = message.extra.interrupt_type.as_str();
        if interrupt.starts_with("User") {
            for call in std::mem::take(&mut self.open_calls) {
                self.builder.deny(call, line, message.time(), Some(&message.text()));
            }
        }
        // The first is the task; what follows are results and complaints of the agent's own rules.
        if self.prompts == 0 || interrupt.starts_with("User") {
            self.prompts += 1;
            self.builder.prompt_as(Identity::Session(format!("#{index}").into()), Some(&message.text()));
        } else if !self.open_calls.is_empty() {
            let call = self.open_calls.remove(0);
            self.result(call, message);
        }
    }

    fn call_result(&mut self, id: &Text<'_>, message: &Message<'_>, line: i64) {
        // A result without a call invents none.
        let Some(call) = self.builder.call_index(id.as_str()) else { return };
        self.open_calls.retain(|it| *it != call);
        if message.extra.interrupt_type.as_str().starts_with("User") {
            self.builder.deny(call, line, message.time(), Some(&message.text()));
        } else {
            self.result(call, message);
        }
    }

    fn result(&mut self, call: usize, message: &Message<'_>) {
        let told = if message.output.is_empty() { message.content } else { message.output };
        let text = text_of(told);
        let returned = message.extra.returncode.whole().or_else(|| return_code(&text));
        // An exception of the environment returns -1, which no command did.
        let is_exception =
            message.extra.exception_info.some().is_some() || text.starts_with("The last command <command>");
        let is_error = is_exception || returned.is_some_and(|it| it != 0);
        self.builder.result(call, told, message.time(), CallStatus::from_error(is_error));
        self.builder.session.tool_calls[call].exit_code = returned.filter(|_| !is_exception).into();
    }

    /// A command that submits ends the run: its output is the submission.
    fn exit(&mut self, message: &Message<'_>) {
        if let ("Submitted", [call]) = (message.extra.exit_status.as_str(), self.open_calls.as_slice()) {
            let call = *call;
            self.result(call, message);
        }
    }

    fn end(&mut self, document: &Document<'_>, line: i64) {
        let info = &document.info;
        let stats = info.model_stats.get();
        let cost = stats.and_then(|it| it.instance_cost.money());
        let calls = stats.and_then(|it| it.api_calls.get()).unwrap_or(0);
        let session = &mut self.builder.session;
        let turns = i64::try_from(session.turns.len()).unwrap_or(i64::MAX);
        session.under_reports = calls > turns || session.turns.iter().any(|it| it.tokens.get() == Tokens::UNKNOWN);
        let paid: f64 = session.turns.iter().filter_map(|it| it.cost.as_deref()).map(|it| it.total).sum();
        // The cost of the whole says something where the responses do not add up to it.
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
            // The agent was killed between two steps.
            "" => session.under_reports = true,
            "Submitted" => self.builder.succeed(),
            status => {
                let words = info.exception_str.some().unwrap_or(status);
                let limits = &info.config.agent;
                let has_reached =
                    |limit: Number, count: f64| limit.0.is_some_and(|limit| limit > 0.0 && count >= limit);
                let kind = match status {
                    "LimitsExceeded" if has_reached(limits.step_limit, calls as f64) => ErrorKind::MaxTurns,
                    "LimitsExceeded" if has_reached(limits.cost_limit, cost.unwrap_or(paid)) => ErrorKind::Budget,
                    "TimeExceeded" => ErrorKind::Timeout,
                    "ContextWindowExceededError" => ErrorKind::ContextOverflow,
                    "KeyboardInterrupt" | "UserInterruption" => ErrorKind::Cancelled,
                    _ => errors::classify(None, &format!("{status} {words}")),
                };
                self.builder.fail_as(kind, words);
                let event = self.builder.event(EventKind::Error, line, None);
                event.key = Some("exit".into());
                event.code = Some(status.into());
                event.message = Some(brief(words));
            }
        }
        if let Some(task) = info.task.some().filter(|_| self.builder.session.prompt.is_some()) {
            self.builder.session.prompt = Some(task.to_owned());
        }
    }
}

/// The command of an answer: the text of its one block. An answer with none or several is refused by the agent.
fn only_command(text: &str) -> Option<&str> {
    let mut blocks = text.split("```bash").skip(1).filter_map(|it| it.split_once("\n```")).map(|(it, _)| it.trim());
    let command = blocks.next()?;
    blocks.next().is_none().then_some(command)
}

/// The return code as the model is told it.
fn return_code(text: &str) -> Option<i64> {
    let (_, rest) = text.split_once("<returncode>")?;
    rest.split_once("</returncode>")?.0.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::{Hints, parse};

    fn read(log: &str) -> SessionResult {
        parse(log.as_bytes(), Hints::default(), crate::adapters::common::builder::Content::Full).sessions.swap_remove(0)
    }

    fn trajectory(info: &str, messages: &str) -> String {
        format!(r#"{{"info":{{{info}}},"messages":[{messages}],"trajectory_format":"mini-swe-agent-1"}}"#)
    }

    fn answer(id: &str, command: &str) -> String {
        let usage = r#"{"prompt_tokens":100,"completion_tokens":10,"prompt_tokens_details":{"cached_tokens":60},"cache_creation_input_tokens":30}"#;
        format!(
            r#"{{"role":"assistant","content":"Now:\n```bash\n{command}\n```","extra":{{"response":{{"id":"{id}","created":1791000000,"usage":{usage}}}}}}}"#
        )
    }

    #[test]
    fn the_run_is_named_by_its_first_response() {
        let id = |id: &str, more: &str| {
            let messages = format!(r#"{{"role":"user","content":"Fix."}},{}{more}"#, answer(id, "ls"));
            read(&trajectory(r#""model_stats":{}"#, &messages)).session_id
        };
        assert_ne!(id("a", ""), id("b", ""));
        assert_eq!(id("a", ""), id("a", r#",{"role":"user","content":"x"}"#));
    }

    #[test]
    fn a_refused_command_is_denied() {
        let messages = format!(
            r#"{{"role":"user","content":"Fix."}},{},{{"role":"user","content":"No.","extra":{{"interrupt_type":"UserRejection"}}}}"#,
            answer("a", "rm -rf /")
        );
        let session = read(&trajectory(
            r#""exit_status":"LimitsExceeded","config":{"agent":{"step_limit":1}},"model_stats":{"api_calls":1}"#,
            &messages,
        ));
        assert_eq!(session.tool_calls[0].status, CallStatus::Denied);
        assert_eq!((session.prompts.len(), session.error_kind), (2, Some(ErrorKind::MaxTurns)));
    }

    #[test]
    fn the_responses_api_answers_with_items() {
        let messages = r#"{"role":"user","content":"Fix."},
            {"object":"response","id":"resp_1","created_at":1791000000,"model":"gpt-5","status":"completed",
             "usage":{"input_tokens":50,"output_tokens":9,"input_tokens_details":{"cached_tokens":20},"output_tokens_details":{"reasoning_tokens":4}},
             "output":[{"type":"reasoning"},{"type":"function_call","call_id":"c1","name":"bash","arguments":"{\"command\":\"make\"}"}],
             "extra":{"actions":[{"command":"make","tool_call_id":"c1"}],"cost":0.5,"timestamp":1791000001.5}},
            {"type":"function_call_output","call_id":"c1","output":"<returncode>2</returncode>","extra":{"returncode":2,"timestamp":1791000002.5}}"#;
        let session = read(&trajectory(r#""model_stats":{"instance_cost":0.5,"api_calls":1}"#, messages));
        assert_eq!(session.turns[0].tokens.get().kinds(), [Some(30), Some(9), Some(20), None]);
        assert_eq!((session.turns[0].line, session.turns[0].tokens.get().reasoning), (2, Some(4)));
        assert_eq!(session.tool_calls.len(), 1);
        let call = &session.tool_calls[0];
        assert_eq!(
            (call.target.as_deref(), call.exit_code.get(), call.status),
            (Some("make"), Some(2), CallStatus::Error)
        );
        assert!(session.totals.is_empty());
    }
}
