//! The records of a wire file: `{timestamp, message: {type, payload}}`.

use serde::Deserialize;

use crate::json::Raw;
use crate::json::fields::{Count, Flag, Maybe, Number, Text, TextOrBlocks, When};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Record<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) timestamp: When,
    #[serde(borrow)]
    pub(super) message: Message<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) payload: Payload<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Payload<'a> {
    // TurnBegin, SteerInput
    #[serde(borrow)]
    pub(super) user_input: TextOrBlocks<'a, Part<'a>>,
    // StatusUpdate
    pub(super) token_usage: Maybe<Usage>,
    #[serde(borrow)]
    pub(super) message_id: Text<'a>,
    pub(super) max_context_tokens: Count,
    // ContentPart
    #[serde(borrow)]
    pub(super) text: Text<'a>,
    // ToolCall, ApprovalRequest
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) function: Function<'a>,
    // ToolCallPart
    #[serde(borrow)]
    pub(super) arguments_part: Text<'a>,
    #[serde(borrow)]
    pub(super) tool_call_id: Text<'a>,
    // ToolResult
    #[serde(borrow)]
    pub(super) return_value: Value<'a>,
    // ApprovalResponse
    #[serde(borrow)]
    pub(super) request_id: Text<'a>,
    #[serde(borrow)]
    pub(super) response: Text<'a>,
    #[serde(borrow)]
    pub(super) feedback: Text<'a>,
    // StepRetry
    #[serde(borrow)]
    pub(super) error_type: Text<'a>,
    pub(super) status_code: Number,
    // SubagentEvent
    #[serde(borrow)]
    pub(super) agent_id: Text<'a>,
    #[serde(borrow)]
    pub(super) parent_tool_call_id: Text<'a>,
    #[serde(borrow)]
    pub(super) task_tool_call_id: Text<'a>,
    #[serde(borrow)]
    pub(super) subagent_type: Text<'a>,
    /// A message of its own.
    #[serde(borrow)]
    pub(super) event: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Part<'a> {
    #[serde(borrow)]
    pub(super) text: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Usage {
    pub(super) input_other: Count,
    pub(super) output: Count,
    pub(super) input_cache_read: Count,
    pub(super) input_cache_creation: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Function<'a> {
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    /// JSON as a string.
    #[serde(borrow)]
    pub(super) arguments: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Value<'a> {
    pub(super) is_error: Flag,
    #[serde(borrow)]
    pub(super) output: Raw<'a>,
    #[serde(borrow)]
    pub(super) message: Text<'a>,
    #[serde(borrow)]
    pub(super) display: Vec<Display<'a>>,
}

/// The part of a result that the user sees: of an edit, a part of the file before and after.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Display<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) path: Text<'a>,
    #[serde(borrow)]
    pub(super) old_text: Text<'a>,
    #[serde(borrow)]
    pub(super) new_text: Text<'a>,
    pub(super) is_summary: Flag,
}
