//! Logs of completions: one file for each request, with all messages before it.

use serde::Deserialize;

use super::conversation::{category_of, milliseconds};
use super::records::text_of;
use crate::adapters::common::builder::{Builder, Last, money};
use crate::adapters::common::chat_completions::ToolCall;
use crate::adapters::common::usage::{self, uncached};
use crate::adapters::{Context, Fold, RecordErrors, RecordKind, counts_name, hashed_id};
use crate::json::Raw;
use crate::json::fields::{Count, Maybe, Number, Text, When};
use crate::json::lines::Line;
use crate::model::session::{CallStatus, Cost, Identity, SessionResult, Tokens};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::adapters) struct Request<'a> {
    #[serde(borrow)]
    messages: Vec<Message<'a>>,
    #[serde(borrow)]
    response: Response<'a>,
    cost: Number,
    timestamp: When,
    /// In seconds.
    latency_sec: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    role: Text<'a>,
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(borrow)]
    tool_call_id: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Response<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    model: Text<'a>,
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
    usage: Maybe<Usage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Choice<'a> {
    #[serde(borrow)]
    finish_reason: Text<'a>,
    #[serde(borrow)]
    message: Answer<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer<'a> {
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(borrow)]
    tool_calls: Option<Vec<ToolCall<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Usage {
    prompt_tokens: Count,
    completion_tokens: Count,
    prompt_tokens_details: PromptDetails,
    completion_tokens_details: CompletionDetails,
    cache_creation_input_tokens: Count,
    cache_read_input_tokens: Count,
    prompt_cache_hit_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CompletionDetails {
    reasoning_tokens: Count,
}

impl Usage {
    fn tokens(&self, damage: &mut RecordErrors) -> Tokens {
        let reads =
            [self.prompt_tokens_details.cached_tokens, self.cache_read_input_tokens, self.prompt_cache_hit_tokens];
        let read = reads.into_iter().find(|count| *count != Count::Unknown).unwrap_or_default();
        let write = self.cache_creation_input_tokens;
        let reasoning = self.completion_tokens_details.reasoning_tokens;
        damage.refuses(&[self.prompt_tokens, self.completion_tokens, read, write, reasoning]);
        let tokens = Tokens {
            input: self.prompt_tokens.get().map(|count| uncached(count, read.get(), write.get())),
            output: self.completion_tokens.get(),
            cache_read: read.get(),
            cache_write: write.get(),
            cache_write_1h: None,
            reasoning: reasoning.get(),
        };
        if tokens.is_all_zero() { Tokens::UNKNOWN } else { tokens }
    }
}

/// The requests of a file.
pub(in crate::adapters) struct Requests {
    context: Context,
    sessions: Vec<SessionResult>,
}

impl Fold for Requests {
    type Record<'a> = Request<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), sessions: Vec::new() }
    }

    fn record(&mut self, line: Line<'_>, request: Request<'_>, damage: &mut RecordErrors) -> RecordKind {
        let Some(choice) = request.response.choices.first() else { return RecordKind::Unknown };
        // All requests of a directory with the same first message are one session.
        let folder = self.context.folders.first().map_or("", String::as_str);
        let first = request.messages.iter().find(|message| message.role.as_str() == "user");
        let first = first.map_or(Raw::default(), |message| message.content);
        let id = hashed_id(format!("{folder}\n{}", String::from_utf8_lossy(first.0)).as_bytes());
        let mut builder = Builder::new(&self.context, id, line.number);
        let time = request.timestamp.0;
        builder.saw(time);
        let tokens = usage::present(&request.response.usage, damage).map(|usage| usage.tokens(damage));
        let tokens = tokens.unwrap_or(Tokens::UNKNOWN);
        let response = request.response.id.as_str();
        let identity = Identity::Global(format!("{response} {}", counts_name(tokens)).into());
        let index = builder.turn(identity, line.number);
        let cost = money(request.cost, damage);
        let turn = &mut builder.session.turns[index];
        turn.message_id = request.response.id.owned();
        turn.model = request.response.model.owned();
        turn.occurred_at = time;
        turn.duration_ms = milliseconds(request.latency_sec).into();
        turn.stop_reason = choice.finish_reason.owned();
        turn.tokens = tokens.into();
        turn.cost = cost.map(Cost::of);
        builder.session.stop_reason = choice.finish_reason.owned();
        builder.say(&text_of(choice.message.content));
        // The results of the calls of the request before this one.
        let is_result = |message: &&Message<'_>| message.role.as_str() == "tool";
        let results = request.messages.iter().rev().take_while(is_result);
        for result in results.filter(|result| result.name.some().is_some()) {
            let call = builder.call(result.tool_call_id.as_str(), result.name.as_str(), line.number, None);
            builder.result(call, result.content, None, CallStatus::Ok);
        }
        let calls = choice.message.tool_calls.as_deref().unwrap_or_default();
        for made in calls {
            let call = builder.call(made.id.as_str(), made.function.name.as_str(), line.number, time);
            let text = made.function.arguments.text();
            if let Some(category) = category_of(made.function.name.as_str(), Raw(text.as_bytes())) {
                builder.session.tool_calls[call].category = category.into();
            }
            builder.arguments(call, Raw(text.as_bytes()));
            let row = &mut builder.session.tool_calls[call];
            row.turn = Some(index);
            row.args_bytes = made.function.arguments.len().into();
        }
        let is_end = calls.iter().all(|call| call.function.name.as_str() == "finish");
        builder.end(if is_end { Last::Answer } else { Last::Work });
        self.sessions.push(builder.finish());
        RecordKind::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.sessions
    }
}
