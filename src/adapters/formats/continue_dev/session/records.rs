//! The records of Continue.

use serde::Deserialize;

use crate::adapters::shared::chat_completions::ToolCall;
use crate::json::Raw;
use crate::json::fields::{Count, Maybe, Number, Text, When};

/// A session, or its entry in the index.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Document<'a> {
    pub(super) session_id: Text<'a>,
    pub(super) workspace_directory: Text<'a>,
    /// The name of a model in the settings, not its id.
    pub(super) chat_model_title: Text<'a>,
    /// The messages, parsed later, as the line of each is needed.
    pub(super) history: Raw<'a>,
    pub(super) usage: Maybe<SessionUsage>,
    // the index
    pub(super) date_created: When,
}

/// The sums of a session of `cn`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SessionUsage {
    pub(super) total_cost: Number,
    pub(super) prompt_tokens: Count,
    pub(super) completion_tokens: Count,
    pub(super) prompt_tokens_details: Details,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Details {
    pub(super) cached_tokens: Count,
    pub(super) cache_write_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Item<'a> {
    pub(super) message: Message<'a>,
    pub(super) tool_call_states: Option<Vec<CallState<'a>>>,
    /// The only one, in older versions.
    pub(super) tool_call_state: Maybe<CallState<'a>>,
    pub(super) prompt_logs: Option<Vec<PromptLog<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Message<'a> {
    pub(super) role: Text<'a>,
    pub(super) id: Text<'a>,
    /// A string, or blocks.
    pub(super) content: Raw<'a>,
    pub(super) tool_calls: Option<Vec<ToolCall<'a>>>,
    pub(super) tool_call_id: Text<'a>,
    pub(super) usage: Maybe<Usage<'a>>,
}

/// The usage of an answer of `cn`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Usage<'a> {
    pub(super) prompt_tokens: Count,
    pub(super) completion_tokens: Count,
    pub(super) total_tokens: Count,
    pub(super) prompt_tokens_details: PromptDetails,
    pub(super) completion_tokens_details: CompletionDetails,
    pub(super) model: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PromptDetails {
    pub(super) cached_tokens: Count,
    /// Only of Anthropic's API and of the AI SDK.
    pub(super) cache_read_tokens: Count,
    pub(super) cache_write_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CompletionDetails {
    pub(super) reasoning_tokens: Count,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct CallState<'a> {
    pub(super) tool_call_id: Text<'a>,
    pub(super) tool_call: ToolCall<'a>,
    pub(super) status: Text<'a>,
    pub(super) output: Raw<'a>,
}

/// A part of the output of a call.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Output<'a> {
    /// How a command ended, in words.
    pub(super) status: Text<'a>,
}

/// The arguments of Continue's own tools.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct FileArgument<'a> {
    pub(super) filepath: Text<'a>,
    /// Of a file that is written.
    pub(super) contents: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct PromptLog<'a> {
    pub(super) model_title: Text<'a>,
    pub(super) model_provider: Text<'a>,
    pub(super) completion_options: CompletionOptions<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct CompletionOptions<'a> {
    pub(super) model: Text<'a>,
}
