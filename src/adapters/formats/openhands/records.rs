//! The records of OpenHands, of all its generations.

use serde::Deserialize;

use crate::adapters::engine::RecordErrors;
use crate::adapters::shared::usage::uncached;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Maybe, Number, Pairs, Text, When};
use crate::model::session::Tokens;

/// An event, or the state of a conversation (`base_state.json`).
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Event<'a> {
    /// Since 1.0.
    #[serde(borrow)]
    pub(super) kind: Text<'a>,
    /// A string, before 1.0 a number.
    #[serde(borrow)]
    pub(super) id: Raw<'a>,
    pub(super) timestamp: When,
    #[serde(borrow)]
    pub(super) source: Text<'a>,
    // ConversationStateUpdateEvent
    #[serde(borrow)]
    pub(super) key: Text<'a>,
    #[serde(borrow)]
    pub(super) value: Raw<'a>,
    // MessageEvent
    #[serde(borrow)]
    pub(super) llm_message: Maybe<LlmMessage<'a>>,
    #[serde(borrow)]
    pub(super) llm_response_id: Text<'a>,
    // ActionEvent, ObservationEvent; before 1.0 the name of the action or the observation
    #[serde(borrow)]
    pub(super) tool_name: Text<'a>,
    #[serde(borrow)]
    pub(super) tool_call_id: Text<'a>,
    #[serde(borrow)]
    pub(super) tool_call: Maybe<ToolCall<'a>>,
    #[serde(borrow)]
    pub(super) action: Raw<'a>,
    #[serde(borrow)]
    pub(super) observation: Raw<'a>,
    #[serde(borrow)]
    pub(super) error: Raw<'a>,
    #[serde(borrow)]
    pub(super) rejection_reason: Text<'a>,
    // ConversationErrorEvent
    #[serde(borrow)]
    pub(super) code: Text<'a>,
    #[serde(borrow)]
    pub(super) detail: Text<'a>,
    // before 1.0
    #[serde(borrow)]
    pub(super) args: Raw<'a>,
    #[serde(borrow)]
    pub(super) content: Raw<'a>,
    #[serde(borrow)]
    pub(super) extras: Maybe<Extras<'a>>,
    /// The id of the action of an observation.
    #[serde(borrow)]
    pub(super) cause: Raw<'a>,
    #[serde(borrow)]
    pub(super) tool_call_metadata: Maybe<CallMetadata<'a>>,
    #[serde(borrow)]
    pub(super) llm_metrics: Maybe<Metrics<'a>>,
    // in old evaluations, the exit status of a command
    pub(super) exit_code: Number,
    // base_state.json
    #[serde(borrow)]
    pub(super) agent: Maybe<Agent<'a>>,
    #[serde(borrow)]
    pub(super) workspace: Maybe<Workspace<'a>>,
    #[serde(borrow)]
    pub(super) stats: Maybe<Stats<'a>>,
    #[serde(borrow)]
    pub(super) execution_status: Text<'a>,
    /// A page of events.
    #[serde(borrow)]
    pub(super) items: Raw<'a>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct LlmMessage<'a> {
    #[serde(borrow)]
    pub(super) content: Raw<'a>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ToolCall<'a> {
    /// JSON as a string.
    #[serde(borrow)]
    pub(super) arguments: Raw<'a>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Observation<'a> {
    #[serde(borrow)]
    pub(super) content: Raw<'a>,
    pub(super) is_error: Flag,
    pub(super) exit_code: Number,
    pub(super) metadata: Maybe<ExitMetadata>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct ExitMetadata {
    pub(super) exit_code: Number,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Extras<'a> {
    pub(super) metadata: Maybe<ExitMetadata>,
    pub(super) exit_code: Number,
    #[serde(borrow)]
    pub(super) agent_state: Text<'a>,
    #[serde(borrow)]
    pub(super) reason: Text<'a>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct CallMetadata<'a> {
    #[serde(borrow)]
    pub(super) function_name: Text<'a>,
    #[serde(borrow)]
    pub(super) tool_call_id: Text<'a>,
    #[serde(borrow)]
    pub(super) model_response: Maybe<ModelResponse<'a>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ModelResponse<'a> {
    #[serde(borrow)]
    pub(super) id: Text<'a>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Agent<'a> {
    #[serde(borrow)]
    pub(super) llm: Llm<'a>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Llm<'a> {
    #[serde(borrow)]
    pub(super) model: Text<'a>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Workspace<'a> {
    #[serde(borrow)]
    pub(super) working_dir: Text<'a>,
}

/// The running totals of a conversation, for each use of a model.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Stats<'a> {
    #[serde(borrow)]
    pub(super) usage_to_metrics: Pairs<'a, Metrics<'a>>,
    /// The former name.
    #[serde(borrow)]
    pub(super) service_to_metrics: Pairs<'a, Metrics<'a>>,
}

/// The value of a state update that contains the whole state.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct FullState<'a> {
    #[serde(borrow)]
    pub(super) stats: Maybe<Stats<'a>>,
    #[serde(borrow)]
    pub(super) execution_status: Text<'a>,
    #[serde(borrow)]
    pub(super) agent: Maybe<Agent<'a>>,
    #[serde(borrow)]
    pub(super) workspace: Maybe<Workspace<'a>>,
}

/// A running total.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Metrics<'a> {
    #[serde(borrow)]
    pub(super) model_name: Text<'a>,
    pub(super) accumulated_cost: Number,
    #[serde(borrow)]
    pub(super) accumulated_token_usage: Maybe<TokenUsage<'a>>,
    /// The costs of the requests: numbers, or objects with `cost`. Only in evaluations.
    #[serde(borrow)]
    pub(super) costs: Raw<'a>,
    /// The usage of each request. Only in evaluations.
    #[serde(borrow)]
    pub(super) token_usages: Raw<'a>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct TokenUsage<'a> {
    #[serde(borrow)]
    pub(super) model: Text<'a>,
    prompt_tokens: Count,
    completion_tokens: Count,
    cache_read_tokens: Count,
    cache_write_tokens: Count,
    reasoning_tokens: Count,
    #[serde(borrow)]
    pub(super) response_id: Text<'a>,
}

impl TokenUsage<'_> {
    /// The counts, made disjoint.
    pub(super) fn tokens(&self, damage: &mut RecordErrors) -> Tokens {
        let (read, write) = (self.cache_read_tokens, self.cache_write_tokens);
        damage.refuses(&[self.prompt_tokens, self.completion_tokens, read, write, self.reasoning_tokens]);
        let prompt = self.prompt_tokens.get();
        Tokens {
            input: prompt.map(|count| uncached(count, read.get(), write.get())),
            output: self.completion_tokens.get(),
            cache_read: read.get(),
            cache_write: write.get(),
            cache_write_1h: None,
            reasoning: self.reasoning_tokens.get().filter(|count| *count > 0),
        }
    }
}

/// A string, or the texts of blocks.
pub(super) fn text_of(content: Raw<'_>) -> String {
    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Block<'a> {
        #[serde(borrow)]
        text: Text<'a>,
    }
    match content.0.first() {
        Some(b'[') => {
            let blocks: Vec<Block<'_>> = content.read();
            blocks.iter().map(|block| block.text.as_str()).collect()
        }
        Some(b'"') => content.text().into_owned(),
        _ => String::new(),
    }
}
