//! Messages of Anthropic's API, as Claude Code logs them.

use serde::Deserialize;

use super::iterations::{CacheCreation, Iteration};
use crate::adapters::engine::RecordErrors;
use crate::adapters::shared::tools::ToolArguments;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, LazyText, Maybe, Text, TextOrBlocks};
use crate::json::record::{Skip, record};
use crate::model::health::Reason;
use crate::model::session::Tokens;

record! {
    /// A response of the API, or what the user or a tool wrote.
    pub(crate) struct Message<'a> {
        "model" => pub(crate) model: Text<'a>,
        "id" => pub(crate) id: Text<'a>,
        "type" => _type: Skip,
        "role" => _role: Skip,
        "content" => pub(crate) content: TextOrBlocks<'a, Block<'a>>,
        "stop_reason" => pub(crate) stop_reason: Text<'a>,
        "stop_sequence" => _stop_sequence: Skip,
        "usage" => pub(crate) usage: Maybe<Box<Usage<'a>>>,
        "diagnostics" => pub(super) diagnostics: Diagnostics<'a>,
    }
}

impl Message<'_> {
    /// The texts of the content: a string, or those of its blocks.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        let blocks = self.content.blocks.iter().filter_map(|block| block.text.some());
        self.content.text.as_deref().into_iter().chain(blocks)
    }
}

/// What the provider states about a request.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Diagnostics<'a> {
    pub(super) cache_miss_reason: CacheMissReason<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct CacheMissReason<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
}

record! {
    pub(crate) struct Block<'a> {
        "tool_use_id" => pub(crate) tool_use_id: Text<'a>,
        "type" => pub(crate) kind: Text<'a>,
        "text" => pub(crate) text: LazyText<'a>,
        "thinking" => _thinking: Skip,
        "signature" => _signature: Skip,
        "id" => pub(crate) id: Text<'a>,
        "name" => pub(crate) name: Text<'a>,
        "input" => pub(super) input: ToolArguments<'a>,
        "caller" => _caller: Skip,
        "content" => pub(crate) content: Raw<'a>,
        "is_error" => pub(crate) is_error: Flag,
    }
}

record! {
    pub(crate) struct Usage<'a> {
        "input_tokens" => pub(super) input_tokens: Count,
        "cache_creation_input_tokens" => pub(super) cache_creation_input_tokens: Count,
        "cache_read_input_tokens" => pub(super) cache_read_input_tokens: Count,
        "cache_creation" => pub(super) cache_creation: CacheCreation,
        "output_tokens" => pub(super) output_tokens: Count,
        "server_tool_use" => pub(crate) server_tool_use: ServerToolUse,
        "service_tier" => pub(super) service_tier: Text<'a>,
        "inference_geo" => pub(super) inference_geo: Text<'a>,
        "iterations" => pub(super) iterations: Vec<Iteration<'a>>,
        "speed" => pub(super) speed: Text<'a>,
        "output_tokens_details" => pub(super) output_tokens_details: OutputDetails,
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OutputDetails {
    pub(super) thinking_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ServerToolUse {
    pub(crate) web_search_requests: Count,
}

impl Usage<'_> {
    /// The input and cached tokens, as stated.
    pub(super) fn prompt(&self) -> Option<i64> {
        let counts = [self.input_tokens, self.cache_creation_input_tokens, self.cache_read_input_tokens];
        counts.into_iter().filter_map(Count::get).reduce(i64::saturating_add)
    }

    pub(crate) fn tokens(&self, damage: &mut RecordErrors) -> Tokens {
        let tokens = Tokens {
            input: self.input_tokens.get(),
            output: self.output_tokens.get(),
            cache_read: self.cache_read_input_tokens.get(),
            cache_write: self.cache_creation_input_tokens.get(),
            cache_write_1h: self.cache_creation.ephemeral_1h_input_tokens.get(),
            reasoning: self.output_tokens_details.thinking_tokens.get(),
        };
        let counts = [
            self.input_tokens,
            self.output_tokens,
            self.cache_read_input_tokens,
            self.cache_creation_input_tokens,
            self.cache_creation.ephemeral_1h_input_tokens,
            self.output_tokens_details.thinking_tokens,
        ];
        if !damage.note_impossible(&counts) && tokens.total().is_none() {
            damage.note(Reason::NoUsage);
        }
        tokens
    }
}
