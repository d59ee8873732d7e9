//! The events that runtimes export as log records, each under its own names.

use std::borrow::Cow;

use super::attributes::{Attributes, time_of};
use super::product::{CLAUDE, CODEX, Product};
use super::records::LogRecord;
use super::session::{Call, Request, Session};
use crate::adapters::engine::RecordErrors;
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::money;
use crate::adapters::shared::usage::{Included, uncached};
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::json::fields::Count;
use crate::json::lines::Line;
use crate::model::health::Reason;
use crate::model::session::{Capabilities, EventKind, Identity, Tokens};

/// An event and what is around it.
pub(super) struct Record<'r, 'a> {
    pub(super) record: &'r LogRecord<'a>,
    pub(super) attributes: Attributes<'r, 'a>,
    pub(super) line: Line<'r>,
}

impl Record<'_, '_> {
    fn time(&self) -> Option<Time> {
        let own = time_of(self.record.time_unix_nano);
        let stated = || self.attributes.text("event.timestamp").and_then(|text| Time::parse(&text));
        own.or_else(stated).or_else(|| time_of(self.record.observed_time_unix_nano))
    }
}

/// The product that wrote an event, and the event's name without the product's. The full name is the event's own name or its
/// body.
pub(super) fn name_of<'a>(
    record: &LogRecord<'a>,
    attributes: Attributes<'_, 'a>,
) -> Option<(&'static Product, Cow<'a, str>)> {
    let names =
        [attributes.text("event.name"), record.event_name.owned::<String>().map(Cow::Owned), record.body.text()];
    names.into_iter().flatten().find_map(|name| {
        let (product, rest) = Product::of(&name)?;
        Some((product, Cow::Owned(rest.to_owned())))
    })
}

/// Adds one event to its session.
pub(super) fn add(
    session: &mut Session,
    product: &Product,
    name: &str,
    record: &Record<'_, '_>,
    damage: &mut RecordErrors,
) {
    session.builder.extend_to(record.time());
    session.facts(record.attributes);
    match product.runtime {
        runtime if runtime == CLAUDE.runtime => claude(session, name, record, damage),
        runtime if runtime == CODEX.runtime => codex(session, name, record, damage),
        _ => gemini(session, name, record, damage),
    }
    session.builder.name_events(None, record.line.bytes);
}

/// Claude Code: all counts are disjoint.
fn claude(session: &mut Session, name: &str, record: &Record<'_, '_>, damage: &mut RecordErrors) {
    let (attributes, line, time) = (record.attributes, record.line.number, record.time());
    if session.builder.session.entrypoint.is_none() {
        session.builder.session.entrypoint = attributes.text("app.entrypoint").map(Cow::into_owned);
    }
    match name {
        "api_request" => {
            let counts = ["input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens"];
            let [input, output, cache_read, cache_write] = counts.map(|key| attributes.count(key));
            if lost(&[input, output, cache_read, cache_write], damage) {
                return;
            }
            let [input, output, cache_read, cache_write] = [input, output, cache_read, cache_write].map(Count::get);
            let (agent, is_subagent, is_main) = claude_agent(attributes);
            let request = Request {
                id: attributes.text("request_id"),
                sequence: attributes.count("event.sequence").get(),
                time,
                model: attributes.text("model"),
                effort: attributes.text("effort"),
                speed: attributes.text("speed"),
                tokens: Tokens { input, output, cache_read, cache_write, ..Tokens::UNKNOWN },
                cost: money(attributes.number("cost_usd"), damage),
                duration_ms: attributes.number("duration_ms").rounded(),
                agent,
                is_subagent,
                is_main,
                ..Request::default()
            };
            session.request(&request, line);
        }
        "api_error" => failure(session, record, &["error"], &["status_code"]),
        "tool_decision" => {
            let tool = attributes.text("tool_name").unwrap_or_default();
            let id = attributes.text("tool_use_id");
            let is_refused = attributes.text("decision").as_deref() == Some("reject");
            if is_refused || id.is_some() {
                let at = At { line, time };
                let call = session.call_index(id.as_deref(), &tool, at);
                if is_refused {
                    session.builder.deny(call, at, attributes.text("source").as_deref());
                }
            }
        }
        "tool_result" => {
            let arguments = attributes.text("tool_input").or_else(|| attributes.text("tool_parameters"));
            session.call(
                &Call {
                    id: attributes.text("tool_use_id"),
                    tool: attributes.text("tool_name").unwrap_or_default(),
                    mcp_server: None,
                    time,
                    arguments,
                    args_bytes: attributes.count("tool_input_size_bytes").get(),
                    result: None,
                    result_bytes: attributes.count("tool_result_size_bytes").get(),
                    duration_ms: attributes.number("duration_ms").rounded(),
                    is_error: attributes.flag("success") == Some(false),
                },
                line,
            );
        }
        // A command is a prompt of the program.
        "user_prompt" if attributes.text("command_name").is_none() => prompt(session, record, "prompt.id"),
        "assistant_response" => {
            let text = attributes.text("response").filter(|it| it != "<REDACTED>");
            if claude_agent(attributes).2
                && let Some(text) = text
            {
                session.builder.set_answer(&text);
            }
        }
        "compaction" => compaction(session, record, ["pre_tokens", "post_tokens"]),
        _ => {}
    }
}

/// The subagent that sent a request of Claude Code, whether it is one, and whether the request is of the main agent's
/// conversation.
pub(super) fn claude_agent<'a>(attributes: Attributes<'_, 'a>) -> (Option<Cow<'a, str>>, bool, bool) {
    let agent = attributes.text("agent.name");
    let source = attributes.text("query_source");
    let source = source.as_deref().unwrap_or_default();
    let is_subagent = agent.is_some() || attributes.text("agent_id").is_some() || source.starts_with("agent:");
    let is_main = !is_subagent && (source.is_empty() || source == "sdk" || source.starts_with("repl_main_thread"));
    (agent, is_subagent, is_main)
}

/// Codex: input includes cached tokens, output includes reasoning.
fn codex(session: &mut Session, name: &str, record: &Record<'_, '_>, damage: &mut RecordErrors) {
    let (attributes, line, time) = (record.attributes, record.line.number, record.time());
    if session.builder.session.entrypoint.is_none() {
        session.builder.session.entrypoint = attributes.text("originator").map(Cow::into_owned);
    }
    session.builder.session.capabilities = session.builder.session.capabilities.and(Capabilities::RETRIES);
    let at = At { line, time };
    match name {
        "conversation_starts" => {
            session.provider = attributes.text("provider_name").map(|it| Symbol::new(&it));
            session.effort = attributes.text("reasoning_effort").map(|it| Symbol::new(&it));
            session.context_window = attributes.count("context_window").get();
        }
        "api_request" | "websocket_request" => {
            if attributes.count("attempt").get().is_some_and(|attempt| attempt > 0) {
                session.builder.event(EventKind::Retry, at);
            }
            failure(session, record, &["error.message"], &["http.response.status_code"]);
        }
        "sse_event" if attributes.first_count(&["input_token_count", "output_token_count"]) == Count::Unknown => {
            failure(session, record, &["error.message"], &[]);
        }
        "sse_event" => {
            let counts = ["input_token_count", "output_token_count", "cached_token_count", "reasoning_token_count"];
            let counts = counts.map(|key| attributes.count(key));
            if lost(&counts, damage) {
                return;
            }
            let [input, output, cached, reasoning] = counts.map(Count::get);
            let request = Request {
                time,
                model: attributes.text("model"),
                tokens: Tokens {
                    input: uncached(Included::Always, input, cached, None),
                    output,
                    cache_read: cached,
                    reasoning,
                    ..Tokens::UNKNOWN
                },
                is_main: true,
                ..Request::default()
            };
            session.request(&request, line);
        }
        "tool_decision" => {
            let tool = attributes.text("tool_name").unwrap_or_default();
            let decision = attributes.text("decision");
            if matches!(decision.as_deref(), Some("denied" | "abort" | "timed_out")) {
                let call = session.call_index(attributes.text("call_id").as_deref(), &tool, at);
                session.builder.deny(call, at, decision.as_deref());
            }
        }
        "tool_result" => {
            session.call(
                &Call {
                    id: attributes.text("call_id"),
                    tool: attributes.text("tool_name").unwrap_or_default(),
                    mcp_server: attributes.text("mcp_server"),
                    time,
                    arguments: attributes.text("arguments"),
                    args_bytes: None,
                    result: attributes.text("output"),
                    result_bytes: None,
                    duration_ms: attributes.number("duration_ms").rounded(),
                    is_error: attributes.flag("success") == Some(false),
                },
                line,
            );
        }
        "user_prompt" => prompt(session, record, "prompt.id"),
        _ => {}
    }
}

/// Gemini CLI and its fork Qwen Code: input includes cached tokens; output excludes thoughts, unless the total shows that it
/// includes them; the tokens of tools are a part of the prompt.
fn gemini(session: &mut Session, name: &str, record: &Record<'_, '_>, damage: &mut RecordErrors) {
    let (attributes, line, time) = (record.attributes, record.line.number, record.time());
    session.builder.session.capabilities = session.builder.session.capabilities.and(Capabilities::RETRIES);
    let at = At { line, time };
    match name {
        "api_response" => {
            let counts = [
                "input_token_count",
                "output_token_count",
                "cached_content_token_count",
                "thoughts_token_count",
                "tool_token_count",
            ];
            let counts = counts.map(|key| attributes.count(key));
            if lost(&counts, damage) {
                return;
            }
            let [input, output, cached, thoughts, tool] = counts.map(Count::get);
            let total = attributes.count("total_token_count").get();
            let sum = input.zip(output).map(|(input, output)| input + output);
            let beside = thoughts.filter(|_| sum.is_none() || sum != total).unwrap_or(0);
            let role = attributes.text("role");
            let role = role.as_deref().unwrap_or_default();
            let request = Request {
                id: attributes.text("response_id"),
                time,
                model: attributes.text("model"),
                tokens: Tokens {
                    input: uncached(Included::Always, input, cached, None).map(|it| it + tool.unwrap_or(0)),
                    output: output.map(|it| it + beside),
                    cache_read: cached,
                    reasoning: thoughts,
                    ..Tokens::UNKNOWN
                },
                duration_ms: attributes.number("duration_ms").rounded(),
                is_subagent: role == "subagent",
                is_main: matches!(role, "" | "main"),
                ..Request::default()
            };
            session.request(&request, line);
        }
        "api_error" => failure(session, record, &["error.message", "error_message", "error"], &["status_code"]),
        "tool_call" => {
            let tool = attributes.text("function_name").unwrap_or_default();
            let duration_ms = attributes.number("duration_ms").rounded();
            let is_refused = attributes.text("decision").as_deref() == Some("reject");
            let call = Call {
                id: attributes.text("call_id"),
                tool,
                mcp_server: attributes.text("mcp_server_name"),
                time,
                arguments: attributes.text("function_args"),
                args_bytes: None,
                result: None,
                result_bytes: attributes.count("content_length").get(),
                duration_ms,
                is_error: attributes.flag("success") == Some(false),
            };
            let index = session.call(&call, line);
            if is_refused {
                session.builder.deny(index, at, None);
            }
        }
        "user_prompt" => prompt(session, record, "prompt_id"),
        "chat_compression" => compaction(session, record, ["tokens_before", "tokens_after"]),
        "chat.content_retry" | "network_retry_attempt" => {
            let code = attributes.text("error_type").map(|it| Symbol::new(&it));
            session.builder.event(EventKind::Retry, at).code = code;
        }
        _ => {}
    }
}

/// Whether a request has no usable counts, which is noted.
fn lost(counts: &[Count], damage: &mut RecordErrors) -> bool {
    damage.note_impossible(counts);
    let is_lost = counts.iter().all(|it| *it == Count::Unknown);
    if is_lost {
        damage.note(Reason::NoUsage);
    }
    is_lost
}

/// Adds the error of a request, if it has one under these keys.
fn failure(session: &mut Session, record: &Record<'_, '_>, messages: &[&str], codes: &[&str]) {
    let code = record.attributes.first_count(codes).get();
    let message = record.attributes.first_text(messages);
    if message.is_some() || code.is_some_and(|code| code >= 400) {
        let at = At { line: record.line.number, time: record.time() };
        session.failure(code, message.as_deref().unwrap_or_default(), at);
    }
}

/// Adds a prompt that a human typed, by the id under `key`, else by its time and length.
fn prompt(session: &mut Session, record: &Record<'_, '_>, key: &str) {
    let attributes = record.attributes;
    let name = attributes.text(key).map_or_else(
        || format!("{:?} {:?}", record.time().map(Time::micros), attributes.count("prompt_length").get()),
        Cow::into_owned,
    );
    let text = attributes.text("prompt").filter(|it| !matches!(it.as_ref(), "<REDACTED>" | "[REDACTED]"));
    session.builder.prompt_as(Identity::Session(name.as_str().into()), text.as_deref());
}

/// Adds a compaction, with the size of the context before and after it under these keys.
fn compaction(session: &mut Session, record: &Record<'_, '_>, keys: [&str; 2]) {
    let [before, after] = keys.map(|key| record.attributes.count(key).get());
    let trigger = record.attributes.text("trigger").map(|it| Symbol::new(&it));
    let event = session.builder.event(EventKind::Compaction, At { line: record.line.number, time: record.time() });
    (event.code, event.tokens_before, event.tokens_after) = (trigger, before, after);
}
