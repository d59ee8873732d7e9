//! The events of a sample.

use serde::Deserialize;

use super::usage::Usage;
use crate::adapters::shared::blocks;
use crate::base::text::Symbol;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Maybe, Number, Text, When};

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Event<'a> {
    pub(super) event: Text<'a>,
    pub(super) uuid: Text<'a>,
    pub(super) timestamp: When,
    pub(super) completed: When,
    /// In seconds.
    pub(super) working_time: Number,
    pub(super) span_id: Text<'a>,
    // span_begin; step: action is `begin` or `end`
    pub(super) id: Text<'a>,
    pub(super) parent_id: Text<'a>,
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) name: Text<'a>,
    pub(super) action: Text<'a>,
    // model
    pub(super) model: Text<'a>,
    pub(super) role: Text<'a>,
    pub(super) input: Raw<'a>,
    /// In place of the input: ranges of the messages in `events_data`.
    pub(super) input_refs: Raw<'a>,
    pub(super) tools: Raw<'a>,
    pub(super) config: Maybe<Config<'a>>,
    pub(super) output: Maybe<Output<'a>>,
    /// `read`: the response is from Inspect's own cache, and was not billed.
    pub(super) cache: Text<'a>,
    pub(super) retries: Count,
    /// Of a model a string, of a tool an object.
    pub(super) error: Raw<'a>,
    // tool
    pub(super) function: Text<'a>,
    pub(super) arguments: Raw<'a>,
    pub(super) result: Raw<'a>,
    pub(super) agent: Text<'a>,
    pub(super) pending: Flag,
    /// Events below a tool or a subtask, in older versions.
    pub(super) events: Raw<'a>,
    // interrupt
    pub(super) source: Text<'a>,
    // sample_limit
    pub(super) message: Text<'a>,
    // compaction
    pub(super) tokens_before: Count,
    pub(super) tokens_after: Count,
}

/// The settings of a request.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Config<'a> {
    pub(super) reasoning_effort: Text<'a>,
    /// Of Anthropic's models, unless the other one is set.
    pub(super) effort: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Output<'a> {
    pub(super) choices: Vec<Choice<'a>>,
    pub(super) usage: Maybe<Usage>,
    pub(super) fallback: Maybe<Fallback<'a>>,
    pub(super) error: Text<'a>,
}

/// Another model than the requested one answered.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Fallback<'a> {
    pub(super) fallback_model: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Choice<'a> {
    pub(super) message: Message<'a>,
    pub(super) stop_reason: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Message<'a> {
    pub(super) id: Text<'a>,
    pub(super) role: Text<'a>,
    pub(super) content: Raw<'a>,
    pub(super) tool_calls: Option<Vec<ToolCall<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct ToolCall<'a> {
    pub(super) id: Text<'a>,
    pub(super) function: Text<'a>,
    pub(super) arguments: Raw<'a>,
}

impl Event<'_> {
    /// The effort of reasoning that was asked for.
    pub(super) fn effort(&self) -> Option<Symbol> {
        let config = self.config.get()?;
        config.reasoning_effort.owned().or_else(|| config.effort.owned())
    }

    /// The model that answered.
    pub(super) fn served_by(&self) -> Option<Symbol> {
        let fallback = self.output.get().and_then(|output| output.fallback.get());
        fallback.and_then(|fallback| fallback.fallback_model.owned()).or_else(|| self.model.owned())
    }
}

/// Why a tool failed.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct ToolError<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) message: Text<'a>,
}

/// The text of a string or of blocks. A text that is stored as an attachment is left out.
pub(super) fn text_of(content: Raw<'_>) -> String {
    let text = blocks::text_of(content);
    let is_attachment = ["attachment://", "tc://"].iter().any(|scheme| text.starts_with(scheme));
    if is_attachment { String::new() } else { text }
}
