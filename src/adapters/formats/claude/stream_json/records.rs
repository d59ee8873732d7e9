//! The records, of which each type has some of the members.

use serde::Deserialize;

use crate::adapters::formats::claude::common::model_usage::ModelUsage;
use crate::adapters::formats::claude::common::prompts::PromptOrigin;
use crate::adapters::formats::claude::common::{Message, ResultMeta, ToolUseResult, Usage};
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Maybe, Number, Pairs, Text, When};

/// A record of any type.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Record<'a> {
    #[serde(rename = "type")]
    pub kind: Text<'a>,
    pub subtype: Text<'a>,
    pub status: Text<'a>,
    pub session_id: Text<'a>,
    pub uuid: Text<'a>,
    pub parent_tool_use_id: Text<'a>,
    pub timestamp: When,
    /// Of the audit log of Cowork, whose records have no other time.
    #[serde(rename = "_audit_timestamp")]
    pub audit_timestamp: When,
    pub message: Message<'a>,
    pub request_id: Text<'a>,
    #[serde(rename = "isSynthetic")]
    pub is_synthetic: Flag,
    pub tool_use_result: ToolUseResult<'a>,
    pub tool_result_meta: Vec<ResultMeta<'a>>,
    pub origin: PromptOrigin<'a>,
    /// Of an assistant line that the program wrote, of an `api_retry`, or of a result.
    pub error: Raw<'a>,
    // system
    pub model: Text<'a>,
    pub cwd: Text<'a>,
    pub claude_code_version: Text<'a>,
    pub qwen_code_version: Text<'a>,
    pub tools: Raw<'a>,
    pub skills: Raw<'a>,
    pub mcp_servers: Raw<'a>,
    pub compact_metadata: CompactMetadata<'a>,
    pub error_status: Number,
    // result
    pub is_error: Flag,
    pub duration_ms: Number,
    pub duration_api_ms: Number,
    pub num_turns: Count,
    pub result: Text<'a>,
    pub errors: Vec<Text<'a>>,
    pub terminal_reason: Text<'a>,
    pub stop_reason: Text<'a>,
    pub total_cost_usd: Number,
    pub usage: Maybe<Usage<'a>>,
    #[serde(rename = "modelUsage")]
    pub model_usage: Maybe<Pairs<'a, ModelUsage<'a>>>,
    pub permission_denials: Vec<Denial<'a>>,
    pub api_error_status: Number,
    // rate_limit_event
    pub rate_limit_info: Raw<'a>,
}

impl Record<'_> {
    /// Its time, also that of the audit log.
    pub fn time(&self) -> Option<Time> {
        self.timestamp.0.or(self.audit_timestamp.0)
    }
}

/// A refused call.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Denial<'a> {
    pub tool_name: Text<'a>,
    pub tool_use_id: Text<'a>,
}

/// What a compaction states.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct CompactMetadata<'a> {
    pub trigger: Text<'a>,
    pub pre_tokens: Count,
    pub post_tokens: Count,
}

/// The error of a result of Qwen Code.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct StatedError<'a> {
    pub message: Text<'a>,
}
