//! mini-swe-agent's trajectories: one document that the agent rewrites after every step (docs/formats.md#mini-swe-agent).
//!
//! The billed tokens are in the provider's responses, which the messages contain. The prompt includes cached tokens, the
//! completion includes reasoning. `instance_id` is the id of the task, which many runs share, so a run's id is a hash of its
//! first message with a time. In version 1 the commands are in the text of the answers, and only the cost of the run is logged.

use std::borrow::Cow;

use serde::Deserialize;

use self::run::Run;
use crate::adapters::engine::document::Places;
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::shared::chat_completions::ToolCall;
use crate::adapters::shared::ids::hashed_id;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Count, Maybe, Number, Text, When};
use crate::json::lines::Line;
use crate::model::places::Place;
use crate::model::session::{Capabilities, SessionResult, Tokens};

mod run;

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "mini-swe-agent",
    runtime: "mini-swe-agent",
    about: "mini-swe-agent, trajectories (.traj.json)",
    // Files are changed by shell commands, so changes are not logged.
    tested: Some("2.3.1"),
    capabilities: Capabilities::TURNS
        .and(Capabilities::TOOL_CALLS)
        .and(Capabilities::PERMISSION_DENIALS)
        .and(Capabilities::USER_TURNS)
        .and(Capabilities::KEPT_BY_RUNTIME),
    places: &[
        Place::variable("MSWEA_GLOBAL_CONFIG_DIR", ".config/mini-swe-agent", "last_mini_run.traj.json"),
        Place::application("mini-swe-agent/last_mini_run.traj.json"),
    ],
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
    /// Not parsed, as each one's line is needed.
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
    /// In version 1.
    timestamp: When,
    #[serde(borrow)]
    tool_calls: Vec<ToolCall<'a>>,
    #[serde(borrow)]
    tool_call_id: Text<'a>,
    #[serde(borrow)]
    extra: Extra<'a>,
    // With the Responses API, the message is the response, and the result of a call is an item.
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
    // The result of a command.
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

/// Usage of chat completions, with Anthropic's cache counts beside it, or of the Responses API.
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
    fn tokens(&self, damage: &mut RecordErrors) -> Tokens {
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
            // A prompt smaller than the cached tokens excludes them.
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

    /// Whether it contains a response. Of an answer in a wrong format the agent keeps the response in its complaint to the
    /// model.
    fn is_answer(&self) -> bool {
        self.role.as_str() == "assistant" || self.object.as_str() == "response" || self.extra.response.get().is_some()
    }

    /// Whether it has a time, so that it differs between runs.
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
        Self { context: context.clone(), sessions: Vec::new() }
    }

    fn record(&mut self, line: Line<'_>, document: Document<'_>, damage: &mut RecordErrors) -> RecordKind {
        let is_own = document.trajectory_format.as_str().starts_with("mini-swe-agent")
            || matches!(document.info.model_stats, Maybe::Present(_));
        if !is_own {
            return RecordKind::Unknown;
        }
        let first = document.messages.iter().find(|it| it.read::<Message<'_>>().is_unique());
        let id = hashed_id(first.map_or(line.bytes, |it| it.0));
        let mut run = Run::new(&self.context, id, line.number);
        run.describe(&document);
        let (mut places, mut last) = (Places::new(line), line.number);
        for (index, raw) in document.messages.iter().enumerate() {
            last = places.line_of(*raw);
            run.message(index, &raw.read(), last, damage);
        }
        run.end(&document, last);
        self.sessions.push(run.finish());
        RecordKind::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.sessions
    }
}
