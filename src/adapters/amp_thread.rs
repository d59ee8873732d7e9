//! Sourcegraph's Amp, thread files `~/.local/share/amp/threads/T-*.json`, while they were kept on disk.
//!
//! Amp's source is not public; what is read here is what several public readers and their fixtures agree on. A message's
//! `usage` is one response. What was cached stands beside `inputTokens`, and `totalInputTokens` is the sum; GPT models
//! have no price for writing to a cache: what is called so is input. A ledger's event is the same response where its
//! `toMessageId`, or its model and counts, are a message's, whose time it tells; the others are responses that no message
//! shows, whose cached tokens nobody knows. Credits are no dollars.

use serde::Deserialize;

use super::document::Places;
use super::{Adapter, Context, Damage, Fold, Probe, Seen, fold};
use crate::adapters::common::builder::Builder;
use crate::json::Raw;
use crate::json::lines::Line;
use crate::json::wire::{Content, Count, Maybe, Number, Text, When};
use crate::model::health::Reason;
use crate::model::session::{CallStatus, Identity, SessionResult, Shows, Tokens};

pub(super) const ADAPTER: Adapter = Adapter {
    id: "amp-thread",
    runtime: "amp",
    about: "Sourcegraph's Amp, threads under ~/.local/share/amp/threads",
    shows: Shows::TURNS
        .and(Shows::TOOL_CALLS)
        .and(Shows::FILE_CHANGES)
        .and(Shows::SUBAGENTS)
        .and(Shows::USER_TURNS)
        .and(Shows::KEPT_BY_RUNTIME),
    claims,
    parse: fold::<Threads>,
};

fn claims(probe: &Probe<'_>) -> u32 {
    let is_thread = probe.text("id").starts_with("T-") && !probe.has("type");
    6 * u32::from(is_thread && (probe.has("messages") || probe.has("usageLedger")) && probe.has("created"))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Thread<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    created: When,
    #[serde(borrow)]
    messages: Vec<Raw<'a>>,
    #[serde(borrow)]
    usage_ledger: Ledger<'a>,
    #[serde(borrow)]
    env: Environment<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Environment<'a> {
    #[serde(borrow)]
    initial: Initial<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Initial<'a> {
    #[serde(borrow)]
    trees: Vec<Tree<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Tree<'a> {
    #[serde(borrow)]
    uri: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Ledger<'a> {
    #[serde(borrow)]
    events: Vec<LedgerEvent<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct LedgerEvent<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    timestamp: When,
    #[serde(borrow)]
    model: Text<'a>,
    tokens: LedgerTokens,
    to_message_id: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct LedgerTokens {
    input: Count,
    output: Count,
    cache_read_input_tokens: Count,
    cache_creation_input_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Message<'a> {
    #[serde(borrow)]
    role: Text<'a>,
    message_id: Number,
    #[serde(borrow)]
    content: Content<'a, Block<'a>>,
    #[serde(borrow)]
    usage: Maybe<Usage<'a>>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Usage<'a> {
    #[serde(borrow)]
    model: Text<'a>,
    input_tokens: Count,
    output_tokens: Count,
    cache_creation_input_tokens: Count,
    cache_read_input_tokens: Count,
    timestamp: When,
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
    #[serde(borrow, rename = "toolUseID")]
    tool_use_id: Text<'a>,
    #[serde(borrow)]
    run: Run<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Run<'a> {
    #[serde(borrow)]
    status: Text<'a>,
    #[serde(borrow)]
    result: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ShellResult {
    exit_code: Number,
}

fn tokens(model: &str, counts: [Count; 4], damage: &mut Damage) -> Tokens {
    damage.refuses(&counts);
    let [input, output, cache_read, cache_write] = counts.map(Count::get);
    let folds = model.starts_with("gpt-");
    let tokens = Tokens {
        input: if folds { crate::model::session::add(input, cache_write) } else { input },
        output,
        cache_read,
        cache_write: cache_write.filter(|_| !folds),
        ..Tokens::UNKNOWN
    };
    if tokens.is_all_zero() { Tokens::UNKNOWN } else { tokens }
}

/// A response that a message shows.
struct Shown {
    turn: usize,
    message_id: Option<i64>,
    /// As the ledger tells it: without what was cached.
    counts: (Option<i64>, Option<i64>),
}

struct Threads {
    context: Context,
    sessions: Vec<SessionResult>,
}

impl Fold for Threads {
    type Record<'a> = Thread<'a>;

    fn new(context: &Context) -> Self {
        Self { context: *context, sessions: Vec::new() }
    }

    fn record(&mut self, line: Line<'_>, thread: Thread<'_>, damage: &mut Damage) -> Seen {
        let Some(id) = thread.id.some() else { return Seen::Unknown };
        let mut builder = Builder::new(&self.context, id, line.number);
        builder.saw(thread.created.0);
        builder.session.cwd =
            thread.env.initial.trees.iter().find_map(|it| it.uri.as_str().strip_prefix("file://").map(str::to_owned));
        let mut shown: Vec<Shown> = Vec::new();
        let mut is_done = false;
        let mut places = Places::new(line);
        for raw in thread.messages {
            let place = places.line_of(raw);
            let message: Message<'_> = raw.read();
            match message.role.as_str() {
                "user" => {
                    is_done = false;
                    user(&mut builder, &message);
                }
                "assistant" => {
                    is_done = assistant(&mut builder, &message, place, &mut shown, damage);
                }
                _ => {}
            }
        }
        for event in thread.usage_ledger.events {
            ledger(&mut builder, &event, line.number, &mut shown, damage);
        }
        if is_done {
            builder.succeed();
        }
        self.sessions.push(builder.finish());
        Seen::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.sessions
    }
}

fn user(builder: &mut Builder, message: &Message<'_>) {
    for block in message.content.blocks.iter().filter(|it| it.kind.as_str() == "tool_result") {
        let Some(call) = builder.call_index(block.tool_use_id.as_str()) else { continue };
        let status = match block.run.status.as_str() {
            "done" => CallStatus::Ok,
            "error" => CallStatus::Error,
            _ => CallStatus::Incomplete,
        };
        builder.result(call, block.run.result, None, status);
        let row = &mut builder.session.tool_calls[call];
        if row.category == "shell" {
            row.exit_code = block.run.result.read::<ShellResult>().exit_code.whole().into();
        }
    }
    let texts = message.content.blocks.iter().filter(|it| it.kind.as_str() == "text").map(|it| it.text.as_str());
    let text: String = message.content.text.as_deref().into_iter().chain(texts).collect();
    if !text.is_empty() {
        let identity =
            message.message_id.whole().map_or(Identity::Unique, |it| Identity::Session(it.to_string().into()));
        builder.prompt_as(identity, Some(&text));
    }
}

/// Takes in an answer, and says whether it wants nothing more.
fn assistant(
    builder: &mut Builder,
    message: &Message<'_>,
    line: i64,
    shown: &mut Vec<Shown>,
    damage: &mut Damage,
) -> bool {
    let message_id = message.message_id.whole();
    let mut turn = None;
    match &message.usage {
        Maybe::Present(usage) => {
            let name = message_id.map_or_else(|| format!("message {}", shown.len()), |it| it.to_string());
            let index = builder.turn(Identity::Session(name.into()), line);
            let counts = [
                usage.input_tokens,
                usage.output_tokens,
                usage.cache_read_input_tokens,
                usage.cache_creation_input_tokens,
            ];
            let row = &mut builder.session.turns[index];
            row.model = usage.model.owned();
            row.occurred_at = usage.timestamp.0;
            row.tokens = tokens(usage.model.as_str(), counts, damage).into();
            builder.saw(usage.timestamp.0);
            shown.push(Shown {
                turn: index,
                message_id,
                counts: (usage.input_tokens.get(), usage.output_tokens.get()),
            });
            turn = Some(index);
        }
        Maybe::Absent => {}
        Maybe::Wrong => damage.note(Reason::NoUsage),
    }
    let mut is_done = true;
    for block in &message.content.blocks {
        match block.kind.as_str() {
            "text" => builder.say(block.text.as_str()),
            "tool_use" => {
                is_done = false;
                let call = builder.call(block.id.as_str(), block.name.as_str(), line, None);
                let arguments = builder.arguments(call, block.input);
                let row = &mut builder.session.tool_calls[call];
                row.turn = turn.into();
                if matches!(row.category.as_ref(), "edit" | "write")
                    && let Some(path) = arguments.file()
                {
                    builder.change(call, path, None, None, line, None);
                }
            }
            _ => {}
        }
    }
    is_done
}

fn ledger(builder: &mut Builder, event: &LedgerEvent<'_>, line: i64, shown: &mut Vec<Shown>, damage: &mut Damage) {
    builder.saw(event.timestamp.0);
    let to = event.to_message_id.whole();
    let counts = (event.tokens.input.get(), event.tokens.output.get());
    let turns = &builder.session.turns;
    let is_same = |it: &Shown| turns[it.turn].model.as_deref() == event.model.some() && it.counts == counts;
    let place =
        shown.iter().position(|it| to.is_some() && it.message_id == to).or_else(|| shown.iter().position(is_same));
    if let Some(place) = place {
        let turn = &mut builder.session.turns[shown.remove(place).turn];
        turn.occurred_at = turn.occurred_at.or(event.timestamp.0);
        return;
    }
    let it = &event.tokens;
    let counts = [it.input, it.output, it.cache_read_input_tokens, it.cache_creation_input_tokens];
    let tokens = tokens(event.model.as_str(), counts, damage);
    if tokens.total().is_none() {
        return;
    }
    let identity = event.id.some().map_or(Identity::Unique, |id| Identity::Session(format!("ledger {id}").into()));
    let index = builder.turn(identity, line);
    let turn = &mut builder.session.turns[index];
    turn.model = event.model.owned();
    turn.occurred_at = event.timestamp.0;
    turn.tokens = tokens.into();
}
