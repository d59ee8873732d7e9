//! The events of Codex.

use std::borrow::Cow;

use crate::adapters::engine::RecordErrors;
use crate::adapters::formats::otlp::export::event_record::{Record, failure, lost, prompt};
use crate::adapters::formats::otlp::export::session::{Call, Request, Session};
use crate::adapters::shared::at::At;
use crate::adapters::shared::usage::{Included, uncached};
use crate::base::text::Symbol;
use crate::json::fields::Count;
use crate::model::session::{Capabilities, EventKind, Tokens};

/// Codex: input includes both caches, output includes reasoning.
pub(super) fn add(session: &mut Session, name: &str, record: &Record<'_, '_>, damage: &mut RecordErrors) {
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
            let counts = [
                "input_token_count",
                "output_token_count",
                "cached_token_count",
                "cache_write_token_count",
                "reasoning_token_count",
            ];
            let counts = counts.map(|key| attributes.count(key));
            if lost(&counts, damage) {
                return;
            }
            let [input, output, cached, written, reasoning] = counts.map(Count::get);
            let request = Request {
                time,
                model: attributes.text("model"),
                effort: attributes.text("model_reasoning_effort"),
                service_tier: attributes.text("service_tier"),
                tokens: Tokens {
                    input: uncached(Included::Always, input, cached, written),
                    output,
                    cache_read: cached,
                    cache_write: written,
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
