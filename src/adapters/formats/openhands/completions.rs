//! Logs of completions, described by data: one file for each request, with all messages before it.
//!
//! # `openhands-completions`
//!
//! Files of OpenHands' `log_completions`, one for each request. Recognised by `messages`, `response` (with `choices`), `cost` and
//! `timestamp`; of the Responses API by `input` and `response` (with `output`) in place of these (*source*: `llm/llm.py` and
//! `llm/utils/telemetry.py` of the SDK, 2026-08). Seen: 10 files of 2 conversations. The format is described by data, in
//! `src/adapters/formats/openhands/completions.rs`.
//!
//! Session: a hash of the directory's name and the first message of the user. Turn: the response, by its id and counts: `prompt_tokens`
//! or `input_tokens` minus cached tokens, `completion_tokens` or `output_tokens`, `cost`, `latency_sec`. Calls: those of the response,
//! with results from the next request of the session. *Exact*. Status: a response without calls, or with `finish`, is `success`, else
//! `incomplete`.

use super::common::conversation::CATEGORIES;
use crate::adapters::described::{self, Calls, Description, IdScope, Results, SessionFrom, TokenPaths};
use crate::adapters::engine::Adapter;

pub(crate) const COMPLETIONS: Adapter = Adapter {
    id: "openhands-completions",
    runtime: "openhands",
    about: "OpenHands with log_completions, a file for each request",
    tested: None,
    capabilities: REQUEST.capabilities(),
    places: &[],
    claims: |probe| {
        let is_request = probe.has_all(&["response", "cost", "timestamp"]);
        let is_answered = |request: &str, answer: &str| probe.is_list(request) && probe.object("response").has(answer);
        5 * u32::from(is_request && (is_answered("messages", "choices") || is_answered("input", "output")))
    },
    parse: |context, input| described::start(context, input, &[REQUEST, REQUEST_OF_RESPONSES]),
};

/// All requests of a directory with the same first message are one session. The results of a request's calls are in the next one.
pub(super) const REQUEST: Description = Description {
    has: &["response.choices.0"],
    session: "messages.role=user.content",
    session_from: SessionFrom::Hash,
    message_id: "response.id",
    message_id_scope: IdScope::Provider,
    model: "response.model",
    time: "timestamp",
    duration_s: "latency_sec",
    stop_reason: "response.choices.0.finish_reason",
    text: "response.choices.0.message.content",
    tokens: TokenPaths {
        input: "response.usage.prompt_tokens",
        output: "response.usage.completion_tokens",
        cache_read: "response.usage.prompt_tokens_details.cached_tokens|response.usage.cache_read_input_tokens\
            |response.usage.prompt_cache_hit_tokens",
        cache_write: "response.usage.cache_creation_input_tokens",
        reasoning: "response.usage.completion_tokens_details.reasoning_tokens",
    },
    input_includes_cache: true,
    cost: "cost",
    categories: CATEGORIES,
    calls: Some(Calls {
        list: "response.choices.0.message.tool_calls",
        id: "id",
        name: "function.name",
        arguments: "function.arguments",
        ends: &["finish"],
        ..Calls::NONE
    }),
    results: Some(Results {
        list: "messages",
        only: Some(("role", "tool")),
        at_end: true,
        call: "tool_call_id",
        name: "name",
        content: "content",
        ..Results::NONE
    }),
    ..Description::NOTHING
};

/// A request to the Responses API. Its items have no names of tools in results: the call before a result has it.
const REQUEST_OF_RESPONSES: Description = Description {
    has: &["response.output", "input"],
    session: "input.role=user.content",
    stop_reason: "response.incomplete_details.reason|response.status",
    text: "response.output.type=message.content",
    tokens: TokenPaths {
        input: "response.usage.input_tokens",
        output: "response.usage.output_tokens",
        cache_read: "response.usage.input_tokens_details.cached_tokens",
        reasoning: "response.usage.output_tokens_details.reasoning_tokens",
        ..TokenPaths::NONE
    },
    calls: Some(Calls {
        list: "response.output",
        only: Some(("type", "function_call")),
        id: "call_id",
        name: "name",
        arguments: "arguments",
        ends: &["finish"],
        ..Calls::NONE
    }),
    results: Some(Results {
        list: "input",
        only: Some(("type", "function_call_output")),
        at_end: true,
        call: "call_id",
        name: "name",
        content: "output",
        ..Results::NONE
    }),
    ..REQUEST
};
