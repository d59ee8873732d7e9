//! The events of Gemini CLI and its fork Qwen Code.

use crate::adapters::engine::RecordErrors;
use crate::adapters::formats::otlp::export::event_record::{Record, compaction, failure, lost, prompt};
use crate::adapters::formats::otlp::export::session::{Call, Request, Session};
use crate::adapters::shared::at::At;
use crate::adapters::shared::usage::{Included, thoughts_beside, uncached};
use crate::base::text::Symbol;
use crate::json::fields::Count;
use crate::model::session::{Capabilities, EventKind, Tokens};

/// Gemini CLI and its fork Qwen Code: input includes cached tokens; output excludes thoughts, unless the total shows that it
/// includes them; the tokens of tools are a part of the prompt.
pub(super) fn add(session: &mut Session, name: &str, record: &Record<'_, '_>, damage: &mut RecordErrors) {
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
            let beside = thoughts_beside(thoughts, total, input, output, tool);
            let role = attributes.text("role");
            let role = role.as_deref().unwrap_or_default();
            let request = Request {
                id: attributes.text("response_id"),
                time,
                model: attributes.text("model"),
                tokens: Tokens {
                    input: uncached(Included::Always, input, cached, None).map(|it| it + tool.unwrap_or(0)),
                    output: output.map(|it| it + beside.unwrap_or(0)),
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
