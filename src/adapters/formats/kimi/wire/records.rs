//! The records of a wire file: `{timestamp, message: {type, payload}}`.

use serde::Deserialize;

use crate::adapters::engine::RecordErrors;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Maybe, Number, Text, TextOrBlocks, When};
use crate::model::session::Tokens;

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Record<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) timestamp: When,
    pub(super) message: Message<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Message<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) payload: Payload<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Payload<'a> {
    // TurnBegin, SteerInput
    pub(super) user_input: TextOrBlocks<'a, Part<'a>>,
    // StatusUpdate
    pub(super) token_usage: Maybe<Usage>,
    pub(super) message_id: Text<'a>,
    pub(super) max_context_tokens: Count,
    // ContentPart
    pub(super) text: Text<'a>,
    // ToolCall, ApprovalRequest
    pub(super) id: Text<'a>,
    pub(super) function: Function<'a>,
    // ToolCallPart
    pub(super) arguments_part: Text<'a>,
    pub(super) tool_call_id: Text<'a>,
    // ToolResult
    pub(super) return_value: Value<'a>,
    // ApprovalResponse
    pub(super) request_id: Text<'a>,
    pub(super) response: Text<'a>,
    pub(super) feedback: Text<'a>,
    // StepRetry
    pub(super) error_type: Text<'a>,
    pub(super) status_code: Number,
    // SubagentEvent
    pub(super) agent_id: Text<'a>,
    pub(super) parent_tool_call_id: Text<'a>,
    pub(super) task_tool_call_id: Text<'a>,
    pub(super) subagent_type: Text<'a>,
    /// A message of its own.
    pub(super) event: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Part<'a> {
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

impl Usage {
    pub(super) fn tokens(&self, damage: &mut RecordErrors) -> Tokens {
        damage.note_impossible(&[self.input_other, self.output, self.input_cache_read, self.input_cache_creation]);
        Tokens {
            input: self.input_other.get(),
            output: self.output.get(),
            cache_read: self.input_cache_read.get(),
            cache_write: self.input_cache_creation.get(),
            ..Tokens::UNKNOWN
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Function<'a> {
    pub(super) name: Text<'a>,
    /// JSON as a string.
    pub(super) arguments: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Value<'a> {
    pub(super) is_error: Flag,
    pub(super) output: Raw<'a>,
    pub(super) message: Text<'a>,
    pub(super) display: Vec<Display<'a>>,
}

/// The part of a result that the user sees: of an edit, a part of the file before and after.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Display<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) path: Text<'a>,
    pub(super) old_text: Text<'a>,
    pub(super) new_text: Text<'a>,
    pub(super) is_summary: Flag,
}
