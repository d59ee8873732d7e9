//! The records of Cline, Roo Code and Kilo Code.

use serde::Deserialize;

use crate::adapters::engine::RecordErrors;
use crate::adapters::shared::blocks::Block;
use crate::adapters::shared::usage::{Included, uncached};
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Number, Text, TextOrBlocks, When};
use crate::model::session::{Capabilities, Tokens};

/// What `ui_messages.json` can show. It mentions tools only in texts for the user.
pub(super) const VIEW: Capabilities =
    Capabilities::TURNS.and(Capabilities::COMPACTIONS).and(Capabilities::RETRIES).and(Capabilities::USER_TURNS);

/// What `api_conversation_history.json` can show.
pub(super) const HISTORY: Capabilities = Capabilities::TOOL_CALLS
    .and(Capabilities::FILE_CHANGES)
    .and(Capabilities::SUBAGENTS)
    .and(Capabilities::PERMISSION_DENIALS);

/// A message that the user sees, a message of the model's conversation, or the metadata of the task.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Record<'a> {
    pub(super) ts: When,
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) say: Text<'a>,
    pub(super) ask: Text<'a>,
    pub(super) text: Text<'a>,
    pub(super) partial: Flag,
    #[serde(rename = "modelInfo")]
    pub(super) model_info: ModelInfo<'a>,
    #[serde(rename = "conversationHistoryDeletedRange")]
    pub(super) deleted_range: Raw<'a>,
    #[serde(rename = "contextCondense")]
    pub(super) condense: Condense,
    #[serde(rename = "contextTruncation")]
    pub(super) truncation: Condense,
    pub(super) role: Text<'a>,
    pub(super) content: TextOrBlocks<'a, Block<'a>>,
    pub(super) files_in_context: Raw<'a>,
    pub(super) model_usage: Vec<ModelUsage<'a>>,
    pub(super) environment_history: Vec<Environment<'a>>,
    // history_item.json
    pub(super) id: Text<'a>,
    #[serde(rename = "parentTaskId")]
    pub(super) parent_task_id: Text<'a>,
    #[serde(rename = "tokensIn")]
    pub(super) tokens_in: Raw<'a>,
    pub(super) workspace: Text<'a>,
    pub(super) mode: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct ModelInfo<'a> {
    pub(super) model_id: Text<'a>,
    pub(super) provider_id: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Condense {
    pub(super) cost: Number,
    pub(super) prev_context_tokens: Count,
    pub(super) new_context_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct ModelUsage<'a> {
    pub(super) model_id: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Environment<'a> {
    pub(super) cline_version: Text<'a>,
    pub(super) host_name: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct ServerName<'a> {
    pub(super) server_name: Text<'a>,
}

/// A request: the JSON string in `text`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Request<'a> {
    pub(super) tokens_in: Count,
    pub(super) tokens_out: Count,
    pub(super) cache_writes: Count,
    pub(super) cache_reads: Count,
    pub(super) cost: Number,
    pub(super) cancel_reason: Text<'a>,
    pub(super) streaming_failed_message: Text<'a>,
    pub(super) api_protocol: Text<'a>,
}

/// Cline's providers whose prompt count includes cached tokens.
pub(super) const WITH_CACHED: [&str; 9] =
    ["openai", "litellm", "doubao", "fireworks", "hicap", "lmstudio", "qwen", "xai", "zai"];

/// Whether `tokensIn` includes the tokens written to a cache while `cacheWrites` is 0. With Cline's own provider, a request of
/// 50,868 tokens to a model of Anthropic had the cost of 50,858 cache writes and 10 other tokens, and the next request read
/// 50,858. The number of written tokens can only be computed from the cost.
pub(super) fn hides_cache_writes(model: &ModelInfo<'_>) -> bool {
    model.provider_id.as_str() == "cline" && model.model_id.as_str().starts_with("anthropic/")
}

impl Request<'_> {
    /// Whether `tokensIn` includes cached tokens.
    pub(super) fn includes_cached(&self, runtime: &str, provider: &str, time: Option<Time>) -> bool {
        let before = |day: &str| time < Time::parse(day);
        match runtime {
            "cline" => WITH_CACHED.contains(&provider),
            "roo" if before("2025-11-01T00:00:00Z") => self.api_protocol.as_str() != "anthropic",
            "kilo" if before("2025-11-12T00:00:00Z") => self.api_protocol.as_str() != "anthropic",
            _ => true,
        }
    }

    /// The disjoint tokens. `includes_cached`: whether `tokensIn` includes cached tokens.
    pub(super) fn tokens(&self, includes_cached: bool, damage: &mut RecordErrors) -> Tokens {
        damage.note_impossible(&[self.tokens_in, self.tokens_out, self.cache_reads, self.cache_writes]);
        let (cache_read, cache_write) = (self.cache_reads.get(), self.cache_writes.get());
        let input = self.tokens_in.get();
        let tokens = Tokens {
            input: if includes_cached { uncached(Included::IfTheyFit, input, cache_read, cache_write) } else { input },
            output: self.tokens_out.get(),
            cache_read,
            cache_write,
            ..Tokens::UNKNOWN
        };
        tokens.unless_all_zero()
    }
}
