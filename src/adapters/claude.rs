//! Messages and tool results of Claude Code, in its streams, its transcripts, and the logs of programs that run it.

pub(super) mod limits;

use foldhash::{HashMap, HashMapExt as _};
use serde::Deserialize;

use super::{Context, RecordErrors};
use crate::adapters::common::builder::Builder;
use crate::adapters::common::tools::{self, Arguments, ToolArguments};
use crate::base::text::{SharedStr, Symbol};
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, LazyText, Maybe, Number, Text, TextOrBlocks};
use crate::json::record::{Skip, record};
use crate::model::health::Reason;
use crate::model::session::{CallStatus, EventKind, Identity, Operation, Tokens};

record! {
    /// A response of the API, or what the user or a tool wrote.
    pub(super) struct Message<'a> {
        "model" => pub(super) model: Text<'a>,
        "id" => pub(super) id: Text<'a>,
        "type" => _type: Skip,
        "role" => _role: Skip,
        "content" => pub(super) content: TextOrBlocks<'a, Block<'a>>,
        "stop_reason" => pub(super) stop_reason: Text<'a>,
        "stop_sequence" => _stop_sequence: Skip,
        "usage" => pub(super) usage: Maybe<Box<Usage<'a>>>,
    }
}

record! {
    pub(super) struct Block<'a> {
        "tool_use_id" => pub(super) tool_use_id: Text<'a>,
        "type" => pub(super) kind: Text<'a>,
        "text" => pub(super) text: LazyText<'a>,
        "thinking" => _thinking: Skip,
        "signature" => _signature: Skip,
        "id" => pub(super) id: Text<'a>,
        "name" => pub(super) name: Text<'a>,
        "input" => input: ToolArguments<'a>,
        "caller" => _caller: Skip,
        "content" => pub(super) content: Raw<'a>,
        "is_error" => pub(super) is_error: Flag,
    }
}

record! {
    pub(super) struct Usage<'a> {
        "input_tokens" => input_tokens: Count,
        "cache_creation_input_tokens" => cache_creation_input_tokens: Count,
        "cache_read_input_tokens" => cache_read_input_tokens: Count,
        "cache_creation" => cache_creation: CacheCreation,
        "output_tokens" => output_tokens: Count,
        "server_tool_use" => pub(super) server_tool_use: ServerToolUse,
        "service_tier" => service_tier: Text<'a>,
        "inference_geo" => inference_geo: Text<'a>,
        "iterations" => iterations: Vec<Iteration<'a>>,
        "speed" => speed: Text<'a>,
        "output_tokens_details" => output_tokens_details: OutputDetails,
    }
}

record! {
    struct CacheCreation {
        "ephemeral_5m_input_tokens" => _ephemeral_5m_input_tokens: Skip,
        "ephemeral_1h_input_tokens" => ephemeral_1h_input_tokens: Count,
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OutputDetails {
    thinking_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ServerToolUse {
    pub(super) web_search_requests: Count,
}

/// A part of a response. Parts of the type `advisor_message` come from another model and are billed separately.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Iteration<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    model: Text<'a>,
    input_tokens: Count,
    output_tokens: Count,
    cache_read_input_tokens: Count,
    cache_creation_input_tokens: Count,
}

impl Usage<'_> {
    pub(super) fn tokens(&self, damage: &mut RecordErrors) -> Tokens {
        let tokens = Tokens {
            input: self.input_tokens.get(),
            output: self.output_tokens.get(),
            cache_read: self.cache_read_input_tokens.get(),
            cache_write: self.cache_creation_input_tokens.get(),
            cache_write_1h: self.cache_creation.ephemeral_1h_input_tokens.get(),
            reasoning: self.output_tokens_details.thinking_tokens.get(),
        };
        let counts =
            [self.input_tokens, self.output_tokens, self.cache_read_input_tokens, self.cache_creation_input_tokens];
        if !damage.refuses(&counts) && tokens.total().is_none() {
            damage.note(Reason::NoUsage);
        }
        tokens
    }
}

/// The structured result of a call (`tool_use_result`). Its members depend on the tool.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ToolUseResult<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    duration_ms: Number,
    total_duration_ms: Number,
    /// Of a web search, in seconds.
    duration_seconds: Number,
    interrupted: Flag,
    #[serde(borrow)]
    return_code_interpretation: Text<'a>,
    #[serde(borrow)]
    file_path: Text<'a>,
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(borrow)]
    original_file: Raw<'a>,
    #[serde(borrow)]
    structured_patch: Option<Vec<Hunk<'a>>>,
    // of a call that runs a subagent
    #[serde(borrow)]
    pub(super) agent_id: Text<'a>,
    #[serde(borrow)]
    pub(super) usage: Maybe<Usage<'a>>,
    pub(super) total_tool_use_count: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Hunk<'a> {
    #[serde(borrow)]
    lines: Vec<Text<'a>>,
}

/// How the result of a refused call begins.
const DENIALS: [&str; 6] = [
    "Claude requested permissions",
    "The user doesn't want to proceed",
    "The user doesn't want to take this action right now",
    "This command requires approval",
    "Permission to use",
    "Permission for this action",
];

/// How the result of a call begins that never ran: a parallel call failed, or the user interrupted the response.
const CANCELLATIONS: [&str; 4] = [
    "Sibling tool call errored",
    "Cancelled: parallel tool call",
    "[Request interrupted by user",
    "Interrupted by user",
];

/// How a call ended is in the first bytes of its result.
const HEAD: usize = 256;

/// The result of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallResult<'a, 'r> {
    /// The result for the model: a string or blocks.
    pub(super) content: Raw<'a>,
    /// Whether the log marks it as a failure.
    pub(super) is_error: bool,
    /// The structured result.
    pub(super) rich: Option<&'r ToolUseResult<'a>>,
    /// The line of its record.
    pub(super) line: i64,
    /// Its time.
    pub(super) time: Option<Time>,
}

impl CallResult<'_, '_> {
    /// Adds the result to its call: status, duration, changed files. A refused call stays refused.
    pub(super) fn apply(&self, builder: &mut Builder, call: usize) {
        let none = ToolUseResult::default();
        let rich = self.rich.unwrap_or(&none);
        let text = first_text(self.content);
        let head = text.head(HEAD);
        // With `returnCodeInterpretation` the exit status is not a failure: grep found nothing.
        let is_error =
            (self.is_error && rich.return_code_interpretation.some().is_none()) || rich.interrupted.is_true();
        let was_denied = builder.session.tool_calls[call].status == CallStatus::Denied;
        let begins_with = |texts: &[&str]| {
            let head = head.strip_prefix("<tool_use_error>").unwrap_or(&head);
            texts.iter().any(|start| head.starts_with(start))
        };
        let status = if was_denied {
            CallStatus::Denied
        } else if is_error && begins_with(&CANCELLATIONS) {
            // A subagent may have worked until the interruption.
            let is_agent = builder.session.tool_calls[call].category == "subagent";
            if is_agent { CallStatus::Incomplete } else { CallStatus::Cancelled }
        } else {
            CallStatus::from_error(is_error)
        };
        builder.result(call, self.content, self.time, status);
        let row = &mut builder.session.tool_calls[call];
        let from_seconds = || Number(rich.duration_seconds.0.map(|seconds| seconds * 1000.0)).rounded();
        let logged = rich.duration_ms.rounded().or(rich.total_duration_ms.rounded()).or_else(from_seconds);
        row.duration_ms = logged.or(row.duration_ms.get()).into();
        if row.category == "shell" && is_error {
            row.exit_code =
                head.strip_prefix("Exit code ").and_then(|it| it.split_whitespace().next()?.parse().ok()).into();
        }
        if begins_with(&DENIALS) {
            builder.deny(call, self.line, self.time, Some(text.as_str()));
        } else if row.status == CallStatus::Ok && matches!(row.category.as_ref(), "edit" | "write") {
            self.file_change(builder, call, rich, &text);
        }
    }

    /// Adds the file change of an edit or a write.
    fn file_change(&self, builder: &mut Builder, call: usize, rich: &ToolUseResult<'_>, text: &LazyText<'_>) {
        let target = builder.session.tool_calls[call].target.clone();
        let Some(path) = rich.file_path.owned().or(target) else { return };
        let hunks = rich.structured_patch.as_deref();
        let operation = match rich.kind.as_str() {
            "create" => Some(Operation::Create),
            "update" => Some(Operation::Update),
            // An edit of a missing file creates it.
            _ if hunks.is_some() && rich.original_file.0 == b"\"\"" => Some(Operation::Create),
            _ if hunks.is_some() || text.as_str().contains("has been updated") => Some(Operation::Update),
            _ if text.as_str().starts_with("File created") => Some(Operation::Create),
            _ => None,
        };
        let lines = match hunks {
            _ if rich.kind.as_str() == "create" => Some((tools::line_count(&rich.content.text()), 0)),
            Some(hunks) => Some(tools::diff_lines(hunks.iter().flat_map(|it| &it.lines).map(Text::as_str))),
            None => None,
        };
        builder.change(call, &path, operation, lines, self.line, self.time);
    }
}

/// The record of a message, and the agent that wrote it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Origin<'a> {
    pub(super) line: i64,
    pub(super) time: Option<Time>,
    /// The id of the record.
    pub(super) uuid: Option<&'a str>,
    pub(super) request_id: Option<&'a str>,
    /// Whether a subagent wrote it.
    pub(super) is_subagent: bool,
    /// The id of the subagent.
    pub(super) agent_id: Option<&'a str>,
    /// The structured result of a call.
    pub(super) tool_use_result: Option<&'a ToolUseResult<'a>>,
    /// Whether it is a progress record, which contains no structured results of edits.
    pub(super) is_progress: bool,
}

impl<'a> Origin<'a> {
    /// The id of the subagent that wrote it; `None` for the main agent.
    fn subagent(&self) -> Option<&'a str> {
        self.is_subagent.then(|| self.agent_id.unwrap_or_default())
    }
}

/// A session while its messages are read.
#[derive(Debug)]
pub(super) struct Conversation {
    pub(super) builder: Builder,
    /// The type of the agent that each call starts.
    pub(super) agents: HashMap<String, Symbol>,
}

impl Conversation {
    pub(super) fn new(context: &Context, id: &str, line: i64) -> Self {
        Self { builder: Builder::new(context, id, line), agents: HashMap::new() }
    }

    /// Adds a line of a response: one content block, with the usage of the whole response. Returns the index of the turn.
    pub(super) fn response(
        &mut self,
        message: &Message<'_>,
        origin: &Origin<'_>,
        agent: Option<Symbol>,
        damage: &mut RecordErrors,
    ) -> usize {
        let (line, time) = (origin.line, origin.time);
        let known = self.builder.session.turns.len();
        let id = message.id.some().or(origin.uuid);
        let index = self.builder.turn(identity(id), line);
        self.builder.answered(index, origin.subagent(), time);
        let turn = &mut self.builder.session.turns[index];
        turn.message_id = turn.message_id.take().or_else(|| message.id.owned());
        turn.request_id = turn.request_id.take().or_else(|| origin.request_id.map(SharedStr::from));
        turn.model = turn.model.take().or_else(|| message.model.owned());
        turn.stop_reason = message.stop_reason.owned().or_else(|| turn.stop_reason.take());
        turn.occurred_at = turn.occurred_at.or(time);
        if index == known {
            turn.is_subagent = origin.is_subagent;
            turn.agent_id = origin.agent_id.map(Symbol::new);
            turn.agent = agent;
        } else if !origin.is_subagent {
            // A side question repeats the main agent's response, which stays the main agent's.
            (turn.is_subagent, turn.agent_id, turn.agent) = (false, None, None);
        }
        let (is_subagent, agent) = (turn.is_subagent, turn.agent.clone());
        let mut advice = Vec::new();
        match &message.usage {
            Maybe::Absent => {}
            Maybe::Wrong => damage.note(Reason::NoUsage),
            Maybe::Present(usage) => {
                let tokens = usage.tokens(damage);
                // Proxies write zeros while they stream. A response with content cannot have cost nothing.
                let has_content = message.content.text.is_some() || !message.content.blocks.is_empty();
                if !(tokens.is_all_zero() && has_content) {
                    turn.tokens = turn.tokens.get().max(tokens).into();
                }
                turn.web_searches = turn.web_searches.get().max(usage.server_tool_use.web_search_requests.get()).into();
                turn.service_tier = usage.service_tier.owned().or_else(|| turn.service_tier.take());
                turn.speed = usage.speed.owned().or_else(|| turn.speed.take());
                let geo = usage.inference_geo.owned().filter(|it| it != "not_available");
                turn.inference_geo = geo.or_else(|| turn.inference_geo.take());
                advice = usage.iterations.iter().filter(|it| it.kind.as_str() == "advisor_message").collect();
            }
        }
        for (number, iteration) in advice.into_iter().enumerate() {
            let id = id.map(|id| format!("{id}#advisor{number}"));
            self.advice(index, identity(id.as_deref()), iteration, line);
        }
        for block in &message.content.blocks {
            match block.kind.as_str() {
                "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                    let call = self.builder.call(block.id.as_str(), block.name.as_str(), line, time);
                    let row = &mut self.builder.session.tool_calls[call];
                    (row.turn, row.is_subagent, row.agent) = (index.into(), is_subagent, agent.clone());
                    let arguments = self.builder.given(call, &block.input);
                    if let Some(agent) = arguments.and_then(Arguments::agent) {
                        self.agents.insert(block.id.as_str().to_owned(), agent);
                    }
                    if matches!(&*self.builder.session.tool_calls[call].category, "edit" | "write")
                        && let Some(file) = arguments.and_then(Arguments::file)
                    {
                        let operation = (block.name.as_str() != "Write").then_some(Operation::Update);
                        let lines = if origin.is_progress { tools::lines_in_arguments(block.input.raw) } else { None };
                        self.builder.change(call, file, operation, lines, line, time);
                    }
                }
                kind if kind.ends_with("_tool_result") => {
                    self.call_result(block, &Origin { tool_use_result: None, ..*origin });
                }
                _ => {}
            }
        }
        if !is_subagent {
            if self.builder.keeps_text() {
                let texts = message.content.blocks.iter().filter_map(|it| it.text.some());
                message.content.text.as_deref().into_iter().chain(texts).for_each(|it| self.builder.say(it));
            }
            self.builder.session.stop_reason =
                message.stop_reason.owned().or_else(|| self.builder.session.stop_reason.take());
        }
        index
    }

    /// Adds the response of an advisor within a turn as a row of its own, with its own model.
    fn advice(&mut self, of: usize, identity: Identity, iteration: &Iteration<'_>, line: i64) {
        let of = self.builder.session.turns[of].clone();
        let index = self.builder.turn(identity, line);
        let turn = &mut self.builder.session.turns[index];
        let tokens = Tokens {
            input: iteration.input_tokens.get(),
            output: iteration.output_tokens.get(),
            cache_read: iteration.cache_read_input_tokens.get(),
            cache_write: iteration.cache_creation_input_tokens.get(),
            ..Tokens::UNKNOWN
        };
        turn.tokens = turn.tokens.get().max(tokens).into();
        turn.model = iteration.model.owned();
        turn.message_id = of.message_id;
        turn.request_id = of.request_id;
        turn.occurred_at = of.occurred_at;
        (turn.agent, turn.agent_id, turn.is_subagent) = (of.agent, of.agent_id, of.is_subagent);
    }

    /// Adds the agent that a call started. Returns its type.
    pub(super) fn subagent(&mut self, call_id: &str, line: i64, time: Option<Time>) -> Option<Symbol> {
        let agent = self.agents.get(call_id).cloned();
        if self.builder.session.subagents.insert(call_id.into()) {
            let event = self.builder.event(EventKind::Subagent, line, time);
            event.code = Some(call_id.into());
            event.call_id = Some(call_id.into());
            event.agent.clone_from(&agent);
        }
        agent
    }

    /// Adds the results in a user line. Returns whether there are any.
    pub(super) fn results(&mut self, message: &Message<'_>, origin: &Origin<'_>) -> bool {
        // A prompt or results.
        self.builder.asked(origin.subagent(), origin.time);
        let mut is_result = false;
        for block in message.content.blocks.iter().filter(|it| it.tool_use_id.is_some()) {
            is_result = true;
            self.call_result(block, origin);
        }
        is_result
    }

    fn call_result(&mut self, block: &Block<'_>, origin: &Origin<'_>) {
        // A result without a call is ignored.
        let Some(call) = self.builder.call_index(block.tool_use_id.as_str()) else { return };
        // A call and its result in one record have the same time, which is not a duration.
        let row = &self.builder.session.tool_calls[call];
        let has_own_record = (row.line, row.occurred_at) != (origin.line, origin.time);
        let result = CallResult {
            content: block.content,
            is_error: block.is_error.is_true(),
            rich: origin.tool_use_result,
            line: origin.line,
            time: origin.time.filter(|_| has_own_record),
        };
        result.apply(&mut self.builder, call);
    }
}

/// Ids of the provider are unique everywhere, ids of gateways only within their session.
fn identity(id: Option<&str>) -> Identity {
    match id {
        None => Identity::Unique,
        Some(id) if id.starts_with("msg_") => Identity::Global(id.into()),
        Some(id) => Identity::Session(id.into()),
    }
}

/// The text of a result: a string, or its first text block.
fn first_text(content: Raw<'_>) -> LazyText<'_> {
    if content.0.first() == Some(&b'[') {
        let blocks: Vec<Block<'_>> = content.read();
        return blocks.into_iter().map(|it| it.text).find(LazyText::is_some).unwrap_or_default();
    }
    LazyText::of(content)
}

/// Whether a human typed a text. Slash commands, their output, task notifications and interruptions also have the user's role
/// (`docs/accounting.md#what-is-never-counted`).
pub(super) fn is_human(text: &str) -> bool {
    const MACHINE: [&str; 7] = [
        "<command-name>",
        "<command-message>",
        "<local-command-",
        "<task-notification>",
        "<system-reminder>",
        "<bash-",
        "[Request interrupted",
    ];
    !MACHINE.iter().any(|start| text.trim_start().starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    /// Invalid arguments of a call do not affect its response.
    #[test]
    fn invalid_arguments_affect_only_their_call() {
        for input in [r#"{"x":NaN}"#, r#"{"x":1,}"#, r#"{"x" 1}"#, r#"{"file_path":"\q"}"#, r#"{"\q":1}"#] {
            let message = format!(
                r#"{{"model":"m","id":"i","content":[{{"type":"tool_use","id":"t","input":{input},"name":"X"}}],"usage":{{"input_tokens":3}}}}"#
            );
            let message: Message<'_> = json::from_slice(message.as_bytes()).unwrap();
            let usage = message.usage.get().unwrap();
            assert_eq!((usage.input_tokens, message.content.blocks.len()), (Count::Known(3), 1), "{input}");
            let block = &message.content.blocks[0];
            assert_eq!((block.name.as_str(), block.input.raw.0), ("X", input.as_bytes()));
        }
    }
}
