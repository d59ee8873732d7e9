//! The records of Hermes.

use serde::Deserialize;

use crate::json::Raw;
use crate::json::fields::{Count, Number, Text, When};

/// A row, a session's document, or a line of a transcript.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Record<'a> {
    #[serde(borrow)]
    pub(super) table: Text<'a>,
    /// Of a session a string, of a message a number.
    #[serde(borrow)]
    pub(super) id: Raw<'a>,
    // sessions
    #[serde(borrow)]
    pub(super) source: Text<'a>,
    #[serde(borrow)]
    pub(super) model: Text<'a>,
    #[serde(borrow)]
    pub(super) parent_session_id: Text<'a>,
    pub(super) started_at: When,
    pub(super) ended_at: When,
    #[serde(borrow)]
    pub(super) end_reason: Text<'a>,
    pub(super) input_tokens: Count,
    pub(super) output_tokens: Count,
    pub(super) cache_read_tokens: Count,
    pub(super) cache_write_tokens: Count,
    pub(super) reasoning_tokens: Count,
    #[serde(borrow)]
    pub(super) billing_provider: Text<'a>,
    pub(super) estimated_cost_usd: Number,
    pub(super) actual_cost_usd: Number,
    #[serde(borrow)]
    pub(super) cost_status: Text<'a>,
    pub(super) api_call_count: Count,
    #[serde(borrow)]
    pub(super) cwd: Text<'a>,
    #[serde(borrow)]
    pub(super) git_branch: Text<'a>,
    // a document
    #[serde(borrow)]
    pub(super) platform: Text<'a>,
    pub(super) session_start: When,
    pub(super) last_updated: When,
    #[serde(borrow)]
    pub(super) messages: Raw<'a>,
    // messages
    #[serde(borrow)]
    pub(super) session_id: Text<'a>,
    #[serde(borrow)]
    pub(super) role: Text<'a>,
    #[serde(borrow)]
    pub(super) content: Raw<'a>,
    #[serde(borrow)]
    pub(super) tool_call_id: Text<'a>,
    #[serde(borrow)]
    pub(super) tool_calls: Raw<'a>,
    #[serde(borrow)]
    pub(super) tool_name: Text<'a>,
    pub(super) timestamp: When,
    #[serde(borrow)]
    pub(super) finish_reason: Text<'a>,
    /// 0: it was taken back.
    pub(super) active: Number,
}
