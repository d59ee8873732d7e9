//! The records of zag.

use std::borrow::Cow;

use foldhash::HashSet;
use serde::Deserialize;

use crate::adapters::engine::RecordErrors;
use crate::adapters::formats::claude::common::CallResult;
use crate::adapters::shared::at::At;
use crate::adapters::shared::blocks::Block;
use crate::adapters::shared::builder::Builder;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Maybe, Number, Text, TextOrBlocks};
use crate::model::session::{CallStatus, EventKind, Tokens};

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Output<'a> {
    pub(super) session_id: Text<'a>,
    pub(super) events: Vec<Event<'a>>,
    pub(super) result: Text<'a>,
    pub(super) is_error: Flag,
    pub(super) exit_code: Number,
    pub(super) error_message: Text<'a>,
    pub(super) total_cost_usd: Number,
    pub(super) usage: Maybe<Usage>,
    pub(super) model: Text<'a>,
    pub(super) provider: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Event<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    // init
    pub(super) model: Text<'a>,
    pub(super) working_directory: Text<'a>,
    pub(super) metadata: Metadata<'a>,
    // user_message, assistant_message
    pub(super) content: TextOrBlocks<'a, Block<'a>>,
    pub(super) usage: Maybe<Usage>,
    pub(super) parent_tool_use_id: Text<'a>,
    // tool_execution, permission_request
    pub(super) tool_name: Text<'a>,
    pub(super) tool_id: Text<'a>,
    pub(super) input: Raw<'a>,
    pub(super) result: ToolResult<'a>,
    pub(super) granted: Flag,
    // turn_complete
    pub(super) stop_reason: Text<'a>,
    // result, error
    pub(super) success: Flag,
    pub(super) message: Text<'a>,
    pub(super) duration_ms: Number,
    pub(super) num_turns: Count,
    // usage_limit_detected
    pub(super) provider: Text<'a>,
    pub(super) scope: Text<'a>,
    pub(super) raw: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Metadata<'a> {
    pub(super) session_id: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Usage {
    pub(super) input_tokens: Count,
    pub(super) output_tokens: Count,
    pub(super) cache_read_tokens: Count,
    pub(super) cache_creation_tokens: Count,
    pub(super) web_search_requests: Count,
}

impl Usage {
    pub(super) fn tokens(&self, damage: &mut RecordErrors) -> Tokens {
        let counts = [self.input_tokens, self.output_tokens, self.cache_read_tokens, self.cache_creation_tokens];
        damage.note_impossible(&counts);
        Tokens {
            input: self.input_tokens.get(),
            output: self.output_tokens.get(),
            cache_read: self.cache_read_tokens.get(),
            cache_write: self.cache_creation_tokens.get(),
            ..Tokens::UNKNOWN
        }
    }
}

/// The result of a tool, here and in the session log.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct ToolResult<'a> {
    pub(crate) success: Flag,
    pub(crate) output: Raw<'a>,
    pub(crate) error: Raw<'a>,
    /// Claude's `tool_use_result`.
    pub(crate) data: Raw<'a>,
}

impl ToolResult<'_> {
    /// Sets the result of a call. zag's log may contain it twice: a refusal is kept.
    pub(crate) fn apply(&self, builder: &mut Builder, call: usize, at: At) {
        let content = if self.output.is_empty() { self.error } else { self.output };
        let is_error = self.success.0.map_or(!self.error.is_empty(), |it| !it);
        CallResult { content, is_error, rich: Some(&self.data.read()), not_run: "", at }.apply(builder, call);
    }
}

/// The refusals for which zag only logs the tool, after the results of the calls.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    /// The calls that were assigned so far.
    pub(super) assigned: HashSet<usize>,
}

impl Refusals {
    /// Assigns the refusal of a call of `tool`: to a call that was denied by its result, else to the last call that did not
    /// succeed. The description is not kept, as it contains the arguments.
    pub(crate) fn assign(&mut self, builder: &mut Builder, tool: &str, at: At) {
        let calls = &builder.session.tool_calls;
        let is_free = |index: usize| calls[index].tool == tool && !self.assigned.contains(&index);
        let call = (0..calls.len()).find(|it| is_free(*it) && calls[*it].status == CallStatus::Denied).or_else(|| {
            (0..calls.len())
                .rfind(|it| is_free(*it) && matches!(calls[*it].status, CallStatus::Incomplete | CallStatus::Error))
        });
        if let Some(call) = call {
            self.assigned.insert(call);
            builder.deny(call, at, None);
        } else {
            builder.event(EventKind::PermissionDenial, at).code = Some(tool.into());
        }
    }
}

/// The message for a usage limit of the provider.
pub(crate) fn limit_text<'a>(raw: &'a Text<'_>, provider: &Text<'_>, scope: &Text<'_>) -> Cow<'a, str> {
    raw.some().map_or_else(|| format!("{} usage limit ({})", provider.as_str(), scope.as_str()).into(), Cow::Borrowed)
}
