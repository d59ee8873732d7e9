//! The records of Hermes.

use serde::Deserialize;

use crate::json::Raw;
use crate::json::fields::{Count, Flag, LazyText, Maybe, Number, Text, When};

/// A row, a session's document, or a line of a transcript.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Record<'a> {
    pub(super) table: Text<'a>,
    /// Of a session a string, of a message a number.
    pub(super) id: Raw<'a>,
    // sessions
    pub(super) source: Text<'a>,
    pub(super) model: Text<'a>,
    pub(super) model_config: Maybe<ModelConfig<'a>>,
    pub(super) parent_session_id: Text<'a>,
    /// The chat that the session belongs to.
    pub(super) session_key: Text<'a>,
    pub(super) started_at: When,
    pub(super) ended_at: When,
    pub(super) end_reason: Text<'a>,
    pub(super) input_tokens: Count,
    pub(super) output_tokens: Count,
    pub(super) cache_read_tokens: Count,
    pub(super) cache_write_tokens: Count,
    pub(super) reasoning_tokens: Count,
    pub(super) billing_provider: Text<'a>,
    pub(super) estimated_cost_usd: Number,
    pub(super) actual_cost_usd: Number,
    pub(super) cost_status: Text<'a>,
    pub(super) api_call_count: Count,
    // session_model_usage
    pub(super) task: Text<'a>,
    pub(super) billing_base_url: Text<'a>,
    pub(super) billing_mode: Text<'a>,
    // sessions
    pub(super) cwd: Text<'a>,
    pub(super) git_branch: Text<'a>,
    /// Also of a document.
    pub(super) system_prompt: LazyText<'a>,
    /// Its row of `system_prompts`, since schema 25.
    pub(super) system_prompt_hash: Text<'a>,
    pub(super) tool_names: Raw<'a>,
    // system_prompts
    pub(super) hash: Text<'a>,
    pub(super) prompt: LazyText<'a>,
    // a document
    pub(super) tools: Raw<'a>,
    pub(super) platform: Text<'a>,
    pub(super) session_start: When,
    pub(super) last_updated: When,
    pub(super) messages: Raw<'a>,
    // messages
    /// Also of what was spent with a model.
    pub(super) session_id: Text<'a>,
    pub(super) role: Text<'a>,
    pub(super) content: Raw<'a>,
    pub(super) tool_call_id: Text<'a>,
    pub(super) tool_calls: Raw<'a>,
    pub(super) tool_name: Text<'a>,
    pub(super) timestamp: When,
    pub(super) finish_reason: Text<'a>,
    /// 0: it was taken back, or a compaction replaced it.
    pub(super) active: Number,
    /// 1: a compaction replaced it, in newer schemas.
    pub(super) compacted: Number,
    /// Whether it is the summary of a compaction, in newer schemas.
    #[serde(rename = "_compressed_summary")]
    pub(super) compressed_summary: Raw<'a>,
    /// What wrote it in place of the user, in newer schemas.
    pub(super) display_kind: Text<'a>,
}

impl Record<'_> {
    /// The key of a row of `session_model_usage`.
    pub(super) fn name_of_model_usage(&self) -> String {
        let columns = [
            &self.session_id,
            &self.model,
            &self.billing_provider,
            &self.billing_base_url,
            &self.billing_mode,
            &self.task,
        ];
        format!("session_model_usage {:?}", columns.map(Text::as_str))
    }
}

/// How the requests of a session are made.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct ModelConfig<'a> {
    reasoning_config: Maybe<Reasoning<'a>>,
    /// The session that started this one as a subagent, or that it was a branch or a new start of.
    #[serde(rename = "_delegate_from")]
    pub(super) delegate_from: Text<'a>,
    #[serde(rename = "_branched_from")]
    pub(super) branched_from: Text<'a>,
    #[serde(rename = "_reset_from")]
    pub(super) reset_from: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Reasoning<'a> {
    enabled: Flag,
    effort: Text<'a>,
}

impl ModelConfig<'_> {
    /// The effort of reasoning. Hermes writes the effort `none` as reasoning that is not enabled.
    pub(super) fn effort(&self) -> Option<&str> {
        let reasoning = self.reasoning_config.get()?;
        if reasoning.enabled.0 == Some(false) { Some("none") } else { reasoning.effort.some() }
    }
}
