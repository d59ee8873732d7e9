//! The tools of Kiro, and what their results state.

use serde::Deserialize;

use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::Builder;
use crate::adapters::shared::tools::category_among;
use crate::adapters::shared::{changes, subagents};
use crate::json::Raw;
use crate::json::fields::Text;
use crate::model::session::{CallStatus, Capabilities, Operation};

pub(super) const SHOWS: Capabilities = Capabilities::TURNS
    .and(Capabilities::TOOL_CALLS)
    .and(Capabilities::FILE_CHANGES)
    .and(Capabilities::SUBAGENTS)
    .and(Capabilities::COMPACTIONS)
    .and(Capabilities::PERMISSION_DENIALS)
    .and(Capabilities::USER_TURNS)
    .and(Capabilities::KEPT_BY_RUNTIME);

/// The categories of tools that other runtimes do not have, or have under other names, in alphabetical order.
const CATEGORIES: &[(&str, &str)] = &[
    ("aws", "shell"),
    ("delegate", "subagent"),
    ("fs_read", "read"),
    ("fs_write", "editor"),
    ("todo", "plan"),
    ("todo_list", "plan"),
    ("use_aws", "shell"),
    ("use_subagent", "subagent"),
    ("write", "editor"),
];

/// The arguments of tools that have names of their own.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct OwnArguments<'a> {
    operations: Vec<Operand<'a>>,
    agent_name: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Operand<'a> {
    path: Text<'a>,
}

/// Where a call is made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) turn: usize,
    pub(super) at: At,
}

/// Adds a call.
pub(super) fn add(builder: &mut Builder, id: &str, name: &str, args: Raw<'_>, place: Place) {
    let Place { turn, at } = place;
    // A tool of an MCP server is `@server/tool`, and `server___tool` for the model.
    let mcp = name.strip_prefix('@').and_then(|name| name.split_once('/')).or_else(|| name.split_once("___"));
    let call = builder.call_of(Some(turn), id, mcp.map_or(name, |(_, tool)| tool), args, at);
    let row = &mut builder.session.tool_calls[call];
    if let Some((server, _)) = mcp {
        builder.mcp(call, Some(server));
    } else if let Some(category) = category_among(CATEGORIES, name, Some(args)) {
        row.category = category.into();
    }
    let arguments = builder.arguments(call, args);
    let own: OwnArguments<'_> = args.read();
    let row = &mut builder.session.tool_calls[call];
    let first = own.operations.iter().find_map(|operand| operand.path.some());
    row.target = row.target.take().or_else(|| first.filter(|_| row.category == "read").map(Into::into));
    match row.category.as_ref() {
        "subagent" => {
            if let Some(event) = subagents::add(builder, id, Some(id), at) {
                event.agent = arguments.agent().or_else(|| own.agent_name.owned());
            }
        }
        _ => changes::add_named_file(builder, call, &arguments, args, Some(Operation::Update), at),
    }
}

/// What a result states.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) is_error: bool,
    pub(super) exit_code: Option<i64>,
    /// The text of an error.
    pub(super) text: String,
}

/// The JSON of a shell command's result.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct ShellResult<'a> {
    /// `0`, `"0"` or `"exit status: 0"`.
    exit_status: Raw<'a>,
}

impl ShellResult<'_> {
    pub(super) fn exit_code(&self) -> Option<i64> {
        if self.exit_status.is_empty() {
            return None;
        }
        self.exit_status.text().rsplit(' ').next()?.parse().ok()
    }
}

/// Adds the result of a call. A result without its call makes no row.
pub(super) fn add_result(builder: &mut Builder, id: &str, raw: Raw<'_>, outcome: &Outcome, at: At) {
    let Some(call) = builder.call_index(id) else { return };
    let has_failed = outcome.is_error || outcome.exit_code.is_some_and(|code| code != 0);
    builder.result(call, raw, at.time, CallStatus::from_error(has_failed));
    builder.session.tool_calls[call].exit_code = outcome.exit_code.into();
    if outcome.is_error && is_refusal(&outcome.text) {
        builder.deny(call, at, Some(&outcome.text));
    } else if outcome.is_error && outcome.text.contains("cancelled by the user") {
        builder.session.tool_calls[call].status = CallStatus::Cancelled;
    }
}

/// Whether the text of an error is a refusal by the user or by the permissions of the agent.
fn is_refusal(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    ["denied by the user", "rejected by the user", "user denied", "user rejected", "forbidden arguments"]
        .iter()
        .any(|words| lower.contains(words))
}
