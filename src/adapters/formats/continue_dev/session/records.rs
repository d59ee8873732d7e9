//! The records of Continue.

use serde::Deserialize;

use crate::adapters::shared::chat_completions::ToolCall;
use crate::json::Raw;
use crate::json::fields::{Count, Maybe, Number, Text, When};

/// A session, or its entry in the index.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Document<'a> {
    #[serde(borrow)]
    pub(super) session_id: Text<'a>,
    #[serde(borrow)]
    pub(super) workspace_directory: Text<'a>,
    /// The name of a model in the settings, not its id.
    #[serde(borrow)]
    pub(super) chat_model_title: Text<'a>,
    /// The messages, parsed later, as the line of each is needed.
    #[serde(borrow)]
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
#[serde(default, rename_all = "camelCase")]
pub(super) struct Item<'a> {
    #[serde(borrow)]
    pub(super) message: Message<'a>,
    #[serde(borrow)]
    pub(super) tool_call_states: Option<Vec<CallState<'a>>>,
    /// The only one, in older versions.
    #[serde(borrow)]
    pub(super) tool_call_state: Maybe<CallState<'a>>,
    #[serde(borrow)]
    pub(super) prompt_logs: Option<Vec<PromptLog<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub(super) role: Text<'a>,
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    /// A string, or blocks.
    #[serde(borrow)]
    pub(super) content: Raw<'a>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<ToolCall<'a>>>,
    #[serde(borrow)]
    pub(super) tool_call_id: Text<'a>,
    #[serde(borrow)]
    pub(super) usage: Maybe<Usage<'a>>,
}

/// The usage of an answer of `cn`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Usage<'a> {
    pub(super) prompt_tokens: Count,
    pub(super) completion_tokens: Count,
    pub(super) total_tokens: Count,
    #[serde(borrow)]
    pub(super) model: Text<'a>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct CallState<'a> {
    #[serde(borrow)]
    pub(super) tool_call_id: Text<'a>,
    #[serde(borrow)]
    pub(super) tool_call: ToolCall<'a>,
    #[serde(borrow)]
    pub(super) status: Text<'a>,
    #[serde(borrow)]
    pub(super) output: Raw<'a>,
}

/// The arguments of Continue's own tools.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FileArgument<'a> {
    #[serde(borrow)]
    pub(super) filepath: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PromptLog<'a> {
    #[serde(borrow)]
    pub(super) model_title: Text<'a>,
    #[serde(borrow)]
    pub(super) model_provider: Text<'a>,
    #[serde(borrow)]
    pub(super) completion_options: CompletionOptions<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CompletionOptions<'a> {
    #[serde(borrow)]
    pub(super) model: Text<'a>,
}
