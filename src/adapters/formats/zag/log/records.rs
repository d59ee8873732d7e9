//! The records of zag.

use serde::Deserialize;

use crate::json::Raw;
use crate::json::fields::{Count, Flag, Number, Text, When};

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Record<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) seq: Count,
    pub(super) ts: When,
    pub(super) provider: Text<'a>,
    pub(super) wrapper_session_id: Text<'a>,
    pub(super) provider_session_id: Text<'a>,
    pub(super) source_kind: Text<'a>,
    // session_started
    pub(super) command: Text<'a>,
    pub(super) model: Text<'a>,
    pub(super) cwd: Text<'a>,
    pub(super) backfilled: Flag,
    // user_message, assistant_message
    pub(super) content: Text<'a>,
    pub(super) message_id: Text<'a>,
    // tool_call, tool_result, permission
    pub(super) tool_name: Text<'a>,
    pub(super) tool_kind: Text<'a>,
    pub(super) tool_id: Text<'a>,
    pub(super) input: Raw<'a>,
    pub(super) output: Raw<'a>,
    pub(super) data: Raw<'a>,
    pub(super) granted: Flag,
    // session_ended and session_result, tool_result
    pub(super) success: Flag,
    pub(super) error: Raw<'a>,
    pub(super) result: Text<'a>,
    // provider_status
    pub(super) message: Text<'a>,
    // usage
    pub(super) input_tokens: Count,
    pub(super) output_tokens: Count,
    pub(super) cache_read_tokens: Count,
    pub(super) cache_creation_tokens: Count,
    pub(super) total_cost_usd: Number,
    // usage_limit_hit
    pub(super) scope: Text<'a>,
    pub(super) raw: Text<'a>,
}

/// The data of a `provider_status`, for provider events without a type of their own in this log.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct StatusData<'a> {
    pub(super) duration_ms: Number,
    pub(super) num_turns: Count,
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
