//! The events of Claude Code.

use std::borrow::Cow;

use serde::Deserialize;

use crate::adapters::engine::RecordErrors;
use crate::adapters::formats::otlp::export::attributes::Attributes;
use crate::adapters::formats::otlp::export::event_record::{Record, compaction, failure, lost, prompt};
use crate::adapters::formats::otlp::export::session::{Call, Request, Session};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, money};
use crate::adapters::shared::names;
use crate::adapters::shared::tools::mcp_server;
use crate::base::text::Symbol;
use crate::json::Raw;
use crate::json::fields::{Count, Text};
use crate::model::session::{Details, Tokens};

/// Claude Code: all counts are disjoint.
pub(super) fn add(session: &mut Session, name: &str, record: &Record<'_, '_>, damage: &mut RecordErrors) {
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
            let Sender { agent, is_subagent, is_main } = Sender::of(attributes);
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
            let index = session.request(&request, line);
            let [skill, plugin] =
                ["skill.name", "plugin.name"].map(|key| attributes.text(key).and_then(|it| names::name(&it)));
            if skill.is_some() || plugin.is_some() {
                let details = session.builder.session.turns[index].details_mut();
                details.fill(Details { skill, plugin, ..Details::default() });
            }
        }
        "api_error" => failure(session, record, &["error"], &["status_code"]),
        "tool_decision" => {
            let tool = Tool::of(attributes);
            let id = attributes.text("tool_use_id");
            let is_refused = attributes.text("decision").as_deref() == Some("reject");
            if is_refused || id.is_some() {
                let at = At { line, time };
                let call = session.call_index(id.as_deref(), &tool.name, at);
                tool.describe(&mut session.builder, call);
                if is_refused {
                    session.builder.deny(call, at, attributes.text("source").as_deref());
                }
            }
        }
        "tool_result" => {
            let tool = Tool::of(attributes);
            let parameters = || attributes.text("tool_parameters").filter(|_| !tool.is_of_server);
            let arguments = attributes.text("tool_input").or_else(parameters);
            let call = session.call(
                &Call {
                    id: attributes.text("tool_use_id"),
                    tool: tool.name.clone(),
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
            tool.describe(&mut session.builder, call);
        }
        // A command is a prompt of the program.
        "user_prompt" if attributes.text("command_name").is_none() => prompt(session, record, "prompt.id"),
        "assistant_response" => {
            let text = attributes.text("response").filter(|it| it != "<REDACTED>");
            if Sender::of(attributes).is_main
                && let Some(text) = text
            {
                session.builder.set_answer(&text);
            }
        }
        "compaction" => compaction(session, record, ["pre_tokens", "post_tokens"]),
        _ => {}
    }
}

/// The tool of a call.
pub(in super::super) struct Tool<'a> {
    pub(in super::super) name: Cow<'a, str>,
    /// Whether it is a tool of an MCP server that the user configured. The attribute with the name of the tool is then the same for all.
    is_of_server: bool,
}

/// The parameters that name the tool of an MCP server.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Parameters<'a> {
    mcp_server_name: Text<'a>,
    mcp_tool_name: Text<'a>,
}

impl<'a> Tool<'a> {
    pub(in super::super) fn of(attributes: Attributes<'_, 'a>) -> Self {
        let name = attributes.text("tool_name").unwrap_or_default();
        let is_of_server = name == "mcp_tool";
        let parameters = attributes.text("tool_parameters").filter(|_| is_of_server).unwrap_or_default();
        let parameters: Parameters<'_> = Raw(parameters.as_bytes()).read();
        match (parameters.mcp_server_name.some(), parameters.mcp_tool_name.some()) {
            (Some(server), Some(tool)) => Self { name: Cow::Owned(tool_of_server(server, tool)), is_of_server },
            _ => Self { name, is_of_server },
        }
    }

    /// Sets the server of a call, and its tool: an earlier record may lack the parameters.
    pub(in super::super) fn describe(&self, builder: &mut Builder, call: usize) {
        if self.is_of_server {
            builder.session.tool_calls[call].tool = Symbol::new(&self.name);
            builder.mcp(call, mcp_server(&self.name));
        }
    }
}

/// The name of a tool of an MCP server, as transcripts contain it.
fn tool_of_server(server: &str, tool: &str) -> String {
    let normalized = |name: &str| name.replace(|it: char| !it.is_ascii_alphanumeric() && !matches!(it, '_' | '-'), "_");
    format!("mcp__{}__{}", normalized(server), normalized(tool))
}

/// Which agent of Claude Code sent a request.
pub(in super::super) struct Sender<'a> {
    /// The type of the subagent.
    pub(in super::super) agent: Option<Cow<'a, str>>,
    pub(in super::super) is_subagent: bool,
    /// Whether the request is of the main agent's conversation.
    pub(in super::super) is_main: bool,
}

impl<'a> Sender<'a> {
    pub(in super::super) fn of(attributes: Attributes<'_, 'a>) -> Self {
        let agent = attributes.text("agent.name");
        let source = attributes.text("query_source");
        let source = source.as_deref().unwrap_or_default();
        let is_subagent = agent.is_some() || attributes.text("agent_id").is_some() || source.starts_with("agent:");
        let is_main = !is_subagent && (source.is_empty() || source == "sdk" || source.starts_with("repl_main_thread"));
        Self { agent, is_subagent, is_main }
    }
}
