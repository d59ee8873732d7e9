//! Sourcegraph's Amp: thread files `~/.local/share/amp/threads/T-*.json`, of versions that kept threads on disk
//! (docs/formats/amp.md#amp-thread).
//!
//! Amp's source is not public. The rules are those on which several public readers and their fixtures agree:
//!
//! - The `usage` of a message is one response. `inputTokens` excludes cached tokens; `totalInputTokens` is the sum of all
//!   input. GPT models have no price for cache writes, so theirs count as input.
//! - An event of the usage ledger belongs to a message if its `toMessageId`, or its model and counts, are those of the
//!   message. It then only contains the time. Any other event is a response without a message.
//! - Credits are not dollars: the cost is unknown.
//!
//! # `amp-thread`
//!
//! Sourcegraph's Amp, `~/.local/share/amp/threads/T-*.json`, one document. Recognised by an `id` that begins with `T-`, `created`,
//! and `messages` or `usageLedger`. Amp's source is not public: the rules are those on which several public readers and their
//! fixtures agree.
//!
//! | what | from |
//! | --- | --- |
//! | session, cwd | `id`; the first `env.initial.trees[].uri` |
//! | turn | an assistant's message with `usage`, by `messageId`: `model`, `timestamp` |
//! | tokens | `inputTokens`, `outputTokens`, `cacheReadInputTokens`, `cacheCreationInputTokens`, disjoint; GPT models have no price for cache writes, so theirs count as input |
//! | ledger | each event of `usageLedger` belongs to the message of its `toMessageId`, or to the one with its model and counts, and contains the response's time; any other event is a turn of its own |
//! | call | `tool_use` blocks; `tool_result` with `run.status` `done`, `error`, `rejected-by-user` (`denied`), `cancelled`, else `incomplete`; `exitCode` of a shell, an `error` unless it is 0 |
//! | file change | the call's path; of an edit the lines of `old_str` and `new_str`, unknown with `replace_all`. Whether a file is new is unknown |
//! | user turns | user messages with text |
//! | status | the last message is an answer without calls: `success`; else `incomplete` |
//!
//! *Unknown*: cost, as credits are not dollars; reasoning; cached tokens of a response that is only in the ledger, if its event
//! does not contain them.

use serde::Deserialize;

use crate::adapters::engine::document::LineNumbers;
use crate::adapters::engine::{
    Adapter, FinishedSessions, Probe, RecordErrors, RecordKind, SessionRecords, session_records,
};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, Last};
use crate::adapters::shared::repository::of_remote;
use crate::adapters::shared::{changes, usage};
use crate::json::Raw;
use crate::json::fields::{Count, Maybe, Number, Text, TextOrBlocks, When};
use crate::json::lines::Line;
use crate::model::places::Place;
use crate::model::session::{CallStatus, Capabilities, Identity, Tokens, add};

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "amp-thread",
    runtime: "amp",
    about: "Sourcegraph's Amp, threads under ~/.local/share/amp/threads",
    tested: None,
    capabilities: Capabilities::TURNS
        .and(Capabilities::TOOL_CALLS)
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::SUBAGENTS)
        .and(Capabilities::PERMISSION_DENIALS)
        .and(Capabilities::USER_TURNS)
        .and(Capabilities::KEPT_BY_RUNTIME),
    places: &[Place::data("amp/threads")],
    claims,
    parse: session_records::<Threads>,
};

fn claims(probe: &Probe<'_>) -> u32 {
    let is_thread = probe.text("id").starts_with("T-") && !probe.has("type");
    6 * u32::from(is_thread && (probe.has("messages") || probe.has("usageLedger")) && probe.has("created"))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Thread<'a> {
    id: Text<'a>,
    created: When,
    messages: Vec<Raw<'a>>,
    usage_ledger: Ledger<'a>,
    env: Environment<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Environment<'a> {
    initial: Initial<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Initial<'a> {
    trees: Vec<Tree<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Tree<'a> {
    uri: Text<'a>,
    repository: Repository<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Repository<'a> {
    url: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Ledger<'a> {
    events: Vec<LedgerEvent<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct LedgerEvent<'a> {
    id: Text<'a>,
    timestamp: When,
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
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Message<'a> {
    role: Text<'a>,
    message_id: Number,
    content: TextOrBlocks<'a, Block<'a>>,
    usage: Maybe<Usage<'a>>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Usage<'a> {
    model: Text<'a>,
    input_tokens: Count,
    output_tokens: Count,
    cache_creation_input_tokens: Count,
    cache_read_input_tokens: Count,
    timestamp: When,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Block<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    text: Text<'a>,
    id: Text<'a>,
    name: Text<'a>,
    input: Raw<'a>,
    #[serde(rename = "toolUseID")]
    tool_use_id: Text<'a>,
    run: Run<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Run<'a> {
    status: Text<'a>,
    result: Raw<'a>,
    /// Why it was rejected or cancelled.
    reason: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ShellResult {
    exit_code: Number,
}

/// The disjoint tokens of input, output, cache read and cache write.
fn tokens(model: &str, counts: [Count; 4], damage: &mut RecordErrors) -> Tokens {
    damage.note_impossible(&counts);
    let [input, output, cache_read, cache_write] = counts.map(Count::get);
    let is_gpt = model.starts_with("gpt-");
    let tokens = Tokens {
        input: if is_gpt { add(input, cache_write) } else { input },
        output,
        cache_read,
        cache_write: cache_write.filter(|_| !is_gpt),
        ..Tokens::UNKNOWN
    };
    tokens.unless_all_zero()
}

/// A response that is logged with its message, until its event in the usage ledger is found.
struct MessageResponse {
    turn: usize,
    message_id: Option<i64>,
    /// Input and output, without cached tokens, as in the ledger.
    counts: (Option<i64>, Option<i64>),
}

enum Threads {}

impl SessionRecords for Threads {
    type Record<'a> = Thread<'a>;

    fn record(log: &mut FinishedSessions, line: Line<'_>, thread: Thread<'_>, damage: &mut RecordErrors) -> RecordKind {
        let Some(id) = thread.id.some() else { return RecordKind::Unknown };
        let mut builder = Builder::new(&log.context, id, line.number);
        builder.extend_to(thread.created.0);
        let directory = |tree: &Tree<'_>| tree.uri.as_str().strip_prefix("file://").map(str::to_owned);
        builder.session.cwd = thread.env.initial.trees.iter().find_map(directory);
        let remote = |tree: &Tree<'_>| of_remote(tree.repository.url.as_str());
        builder.session.repository = thread.env.initial.trees.iter().find_map(remote);
        let mut responses: Vec<MessageResponse> = Vec::new();
        let mut last = Last::Work;
        let mut line_numbers = LineNumbers::new(line);
        for raw in thread.messages {
            let message_line = line_numbers.line_of(raw);
            let message: Message<'_> = raw.read();
            match message.role.as_str() {
                "user" => {
                    last = Last::Work;
                    user(&mut builder, &message, message_line);
                }
                "assistant" => last = assistant(&mut builder, &message, message_line, &mut responses, damage),
                _ => damage.unknown_part("message", raw),
            }
        }
        for event in thread.usage_ledger.events {
            ledger(&mut builder, &event, line.number, &mut responses, damage);
        }
        builder.end(last);
        log.sessions.push(builder.finish());
        RecordKind::Known
    }
}

fn user(builder: &mut Builder, message: &Message<'_>, line: i64) {
    for block in message.content.blocks.iter().filter(|it| it.kind.as_str() == "tool_result") {
        let Some(call) = builder.call_index(block.tool_use_id.as_str()) else { continue };
        let status = match block.run.status.as_str() {
            "done" => CallStatus::Ok,
            "error" => CallStatus::Error,
            "rejected-by-user" => CallStatus::Denied,
            "cancelled" => CallStatus::Cancelled,
            _ => CallStatus::Incomplete,
        };
        builder.result(call, block.run.result, None, status);
        if status == CallStatus::Denied {
            builder.deny(call, At { line, time: None }, block.run.reason.some());
        }
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

/// Adds the response and the calls of an assistant's message. Returns what the thread ends with if it is the last message.
fn assistant(
    builder: &mut Builder,
    message: &Message<'_>,
    line: i64,
    responses: &mut Vec<MessageResponse>,
    damage: &mut RecordErrors,
) -> Last {
    let message_id = message.message_id.whole();
    let mut turn = None;
    if let Some(usage) = usage::present(&message.usage, damage) {
        let name = message_id.map_or_else(|| format!("message {}", responses.len()), |id| id.to_string());
        let index = builder.turn(Identity::Session(name.into()), line);
        let counts =
            [usage.input_tokens, usage.output_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens];
        let row = &mut builder.session.turns[index];
        row.model = usage.model.owned();
        row.occurred_at = usage.timestamp.0;
        row.tokens = tokens(usage.model.as_str(), counts, damage).into();
        builder.extend_to(usage.timestamp.0);
        let counts = (usage.input_tokens.get(), usage.output_tokens.get());
        responses.push(MessageResponse { turn: index, message_id, counts });
        turn = Some(index);
    }
    let mut last = Last::Answer;
    for block in &message.content.blocks {
        match block.kind.as_str() {
            "text" => builder.set_answer(block.text.as_str()),
            "tool_use" => {
                last = Last::Work;
                let at = At { line, time: None };
                let call = builder.call_of(turn, block.id.as_str(), block.name.as_str(), block.input, at);
                let arguments = builder.arguments(call, block.input);
                changes::add_named_file(builder, call, &arguments, block.input, None, at);
            }
            _ => {}
        }
    }
    last
}

/// Adds the time of an event of the usage ledger to its response; or a response, if no message has one for the event.
fn ledger(
    builder: &mut Builder,
    event: &LedgerEvent<'_>,
    line: i64,
    responses: &mut Vec<MessageResponse>,
    damage: &mut RecordErrors,
) {
    builder.extend_to(event.timestamp.0);
    let to = event.to_message_id.whole();
    let counts = (event.tokens.input.get(), event.tokens.output.get());
    let turns = &builder.session.turns;
    let has_id = |response: &MessageResponse| to.is_some() && response.message_id == to;
    let has_counts = |response: &MessageResponse| {
        turns[response.turn].model.as_deref() == event.model.some() && response.counts == counts
    };
    let index = responses.iter().position(has_id).or_else(|| responses.iter().position(has_counts));
    if let Some(index) = index {
        let turn = &mut builder.session.turns[responses.remove(index).turn];
        turn.occurred_at = turn.occurred_at.or(event.timestamp.0);
        return;
    }
    let counts = &event.tokens;
    let counts = [counts.input, counts.output, counts.cache_read_input_tokens, counts.cache_creation_input_tokens];
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

#[cfg(test)]
mod tests {
    use crate::adapters::engine::Hints;
    use crate::adapters::parse;
    use crate::model::retention::Retention;
    use crate::model::session::{CallStatus, EventKind};

    #[test]
    fn the_status_of_a_run_is_that_of_the_call() {
        for (run, status) in [
            (r#"{"status":"done","result":"x"}"#, CallStatus::Ok),
            (r#"{"status":"error","error":{"message":"x"}}"#, CallStatus::Error),
            (r#"{"status":"rejected-by-user","reason":"Not now"}"#, CallStatus::Denied),
            (r#"{"status":"cancelled","reason":"user"}"#, CallStatus::Cancelled),
            (r#"{"status":"in-progress"}"#, CallStatus::Incomplete),
        ] {
            let thread = format!(
                r#"{{"id":"T-1","created":1791194400000,"messages":[
                    {{"role":"assistant","messageId":1,"content":[{{"type":"tool_use","id":"c1","name":"Bash","input":{{"cmd":"ls"}}}}]}},
                    {{"role":"user","messageId":2,"content":[{{"type":"tool_result","toolUseID":"c1","run":{run}}}]}}]}}"#
            );
            let session = parse(thread.as_bytes(), Hints::default(), Retention::Text).sessions.swap_remove(0);
            let denials = session.events.iter().filter(|it| it.kind == EventKind::PermissionDenial).count();
            let expected = (status, usize::from(status == CallStatus::Denied));
            assert_eq!((session.tool_calls[0].status, denials), expected, "{run}");
        }
    }
}
