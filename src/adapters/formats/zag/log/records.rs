//! The records of zag.

use serde::Deserialize;

use crate::json::Raw;
use crate::json::fields::{Count, Flag, Number, Text, When};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Record<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) seq: Count,
    pub(super) ts: When,
    #[serde(borrow)]
    pub(super) provider: Text<'a>,
    #[serde(borrow)]
    pub(super) wrapper_session_id: Text<'a>,
    #[serde(borrow)]
    pub(super) provider_session_id: Text<'a>,
    #[serde(borrow)]
    pub(super) source_kind: Text<'a>,
    // session_started
    #[serde(borrow)]
    pub(super) command: Text<'a>,
    #[serde(borrow)]
    pub(super) model: Text<'a>,
    #[serde(borrow)]
    pub(super) cwd: Text<'a>,
    pub(super) backfilled: Flag,
    // user_message, assistant_message
    #[serde(borrow)]
    pub(super) content: Text<'a>,
    #[serde(borrow)]
    pub(super) message_id: Text<'a>,
    // tool_call, tool_result, permission
    #[serde(borrow)]
    pub(super) tool_name: Text<'a>,
    #[serde(borrow)]
    pub(super) tool_kind: Text<'a>,
    #[serde(borrow)]
    pub(super) tool_id: Text<'a>,
    #[serde(borrow)]
    pub(super) input: Raw<'a>,
    #[serde(borrow)]
    pub(super) output: Raw<'a>,
    #[serde(borrow)]
    pub(super) data: Raw<'a>,
    pub(super) granted: Flag,
    // session_ended and session_result, tool_result
    pub(super) success: Flag,
    #[serde(borrow)]
    pub(super) error: Raw<'a>,
    #[serde(borrow)]
    pub(super) result: Text<'a>,
    // provider_status
    #[serde(borrow)]
    pub(super) message: Text<'a>,
    // usage
    pub(super) input_tokens: Count,
    pub(super) output_tokens: Count,
    pub(super) cache_read_tokens: Count,
    pub(super) cache_creation_tokens: Count,
    pub(super) total_cost_usd: Number,
    // usage_limit_hit
    #[serde(borrow)]
    pub(super) scope: Text<'a>,
    #[serde(borrow)]
    pub(super) raw: Text<'a>,
}

/// The data of a `provider_status`, for provider events without a type of their own in this log.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct StatusData<'a> {
    pub(super) duration_ms: Number,
    pub(super) num_turns: Count,
    #[serde(borrow)]
    pub(super) stop_reason: Text<'a>,
}

/// Sources of the same event, the most reliable first: the provider's own files, then what was read on its stdout.
pub(super) const SOURCES: [&str; 5] = ["provider_file", "provider_log", "stdout", "backfill", "wrapper"];

pub(super) fn rank(source: &str) -> usize {
    SOURCES.iter().position(|it| *it == source).unwrap_or(SOURCES.len())
}

/// The rank of a source of prompts: the wrapper is the most reliable. The provider's file also contains texts that programs
/// wrote as the user, and after a resume the earlier prompts again.
pub(super) fn prompt_rank(source: &str) -> usize {
    if source == "wrapper" { 0 } else { 1 + rank(source) }
}
