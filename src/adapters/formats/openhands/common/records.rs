//! The records of OpenHands, of all its generations.

use serde::Deserialize;

use crate::adapters::engine::RecordErrors;
use crate::adapters::shared::ids::is_uuid;
use crate::adapters::shared::usage::{Included, uncached};
use crate::base::text::Symbol;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, LazyText, Maybe, Number, Pairs, Text, When};
use crate::model::session::Tokens;

/// An event, or the state of a conversation (`base_state.json`).
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Event<'a> {
    /// Since 1.0.
    pub(in crate::adapters::formats::openhands) kind: Text<'a>,
    /// A string, before 1.0 a number.
    pub(in crate::adapters::formats::openhands) id: Raw<'a>,
    pub(in crate::adapters::formats::openhands) timestamp: When,
    pub(in crate::adapters::formats::openhands) source: Text<'a>,
    // ConversationStateUpdateEvent
    pub(in crate::adapters::formats::openhands) key: Text<'a>,
    pub(in crate::adapters::formats::openhands) value: Raw<'a>,
    // MessageEvent
    /// The agent that wrote the message, if no human did.
    pub(in crate::adapters::formats::openhands) sender: Text<'a>,
    pub(in crate::adapters::formats::openhands) llm_message: Maybe<LlmMessage<'a>>,
    pub(in crate::adapters::formats::openhands) llm_response_id: Text<'a>,
    // ActionEvent, ObservationEvent; before 1.0 the name of the action or the observation
    pub(in crate::adapters::formats::openhands) tool_name: Text<'a>,
    pub(in crate::adapters::formats::openhands) tool_call_id: Text<'a>,
    pub(in crate::adapters::formats::openhands) tool_call: Maybe<ToolCall<'a>>,
    pub(in crate::adapters::formats::openhands) action: Raw<'a>,
    pub(in crate::adapters::formats::openhands) observation: Raw<'a>,
    pub(in crate::adapters::formats::openhands) error: Raw<'a>,
    pub(in crate::adapters::formats::openhands) rejection_reason: Text<'a>,
    // SystemPromptEvent
    pub(in crate::adapters::formats::openhands) system_prompt: Maybe<PromptText<'a>>,
    pub(in crate::adapters::formats::openhands) tools: Raw<'a>,
    // ConversationErrorEvent
    pub(in crate::adapters::formats::openhands) code: Text<'a>,
    pub(in crate::adapters::formats::openhands) detail: Text<'a>,
    // before 1.0
    pub(in crate::adapters::formats::openhands) args: Raw<'a>,
    pub(in crate::adapters::formats::openhands) content: Raw<'a>,
    pub(in crate::adapters::formats::openhands) extras: Maybe<Extras<'a>>,
    /// The id of the action of an observation.
    pub(in crate::adapters::formats::openhands) cause: Raw<'a>,
    pub(in crate::adapters::formats::openhands) tool_call_metadata: Maybe<CallMetadata<'a>>,
    pub(in crate::adapters::formats::openhands) llm_metrics: Maybe<Metrics<'a>>,
    // in old evaluations, the exit status of a command
    pub(in crate::adapters::formats::openhands) exit_code: Number,
    // base_state.json
    pub(in crate::adapters::formats::openhands) agent: Maybe<Agent<'a>>,
    pub(in crate::adapters::formats::openhands) workspace: Maybe<Workspace<'a>>,
    pub(in crate::adapters::formats::openhands) stats: Maybe<Stats<'a>>,
    pub(in crate::adapters::formats::openhands) execution_status: Text<'a>,
    /// A page of events.
    pub(in crate::adapters::formats::openhands) items: Raw<'a>,
}

impl<'a> Event<'a> {
    /// The response that an event before 1.0 repeats.
    pub(in crate::adapters::formats::openhands) fn response(&self) -> Option<&ModelResponse<'a>> {
        self.tool_call_metadata.get()?.model_response.get()
    }

    /// The id of an event since 1.0, which is equal in forks only.
    pub(super) fn uuid(&self) -> Option<String> {
        let id = self.id.text();
        (self.kind.is_some() && is_uuid(&id)).then(|| id.into_owned())
    }

    /// The id of the response that the event is a part of. Before 1.0, a message has it only in the usage of its request.
    pub(in crate::adapters::formats::openhands) fn response_id(&self) -> Option<String> {
        let id = self.llm_response_id.some().or_else(|| self.response()?.id.some());
        let of_request = || {
            let usages: Vec<TokenUsage<'_>> = self.llm_metrics.get()?.token_usages.read();
            usages.last()?.response_id.owned()
        };
        id.map(str::to_owned).or_else(of_request)
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(in crate::adapters::formats::openhands) struct PromptText<'a> {
    pub(in crate::adapters::formats::openhands) text: LazyText<'a>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(in crate::adapters::formats::openhands) struct LlmMessage<'a> {
    pub(in crate::adapters::formats::openhands) content: Raw<'a>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(in crate::adapters::formats::openhands) struct ToolCall<'a> {
    /// JSON as a string.
    pub(in crate::adapters::formats::openhands) arguments: Raw<'a>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(in crate::adapters::formats::openhands) struct Observation<'a> {
    pub(in crate::adapters::formats::openhands) content: Raw<'a>,
    pub(in crate::adapters::formats::openhands) is_error: Flag,
    pub(in crate::adapters::formats::openhands) exit_code: Number,
    pub(in crate::adapters::formats::openhands) metadata: Maybe<ExitMetadata>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(in crate::adapters::formats::openhands) struct ExitMetadata {
    pub(in crate::adapters::formats::openhands) exit_code: Number,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(in crate::adapters::formats::openhands) struct Extras<'a> {
    pub(in crate::adapters::formats::openhands) metadata: Maybe<ExitMetadata>,
    pub(in crate::adapters::formats::openhands) exit_code: Number,
    pub(in crate::adapters::formats::openhands) agent_state: Text<'a>,
    pub(in crate::adapters::formats::openhands) reason: Text<'a>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(in crate::adapters::formats::openhands) struct CallMetadata<'a> {
    pub(in crate::adapters::formats::openhands) function_name: Text<'a>,
    pub(in crate::adapters::formats::openhands) tool_call_id: Text<'a>,
    pub(in crate::adapters::formats::openhands) model_response: Maybe<ModelResponse<'a>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(in crate::adapters::formats::openhands) struct ModelResponse<'a> {
    pub(in crate::adapters::formats::openhands) id: Text<'a>,
    pub(in crate::adapters::formats::openhands) model: Text<'a>,
    pub(in crate::adapters::formats::openhands) usage: Maybe<ResponseUsage>,
}

/// The usage of a response, as litellm or the provider counts it.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(in crate::adapters::formats::openhands) struct ResponseUsage {
    prompt_tokens: Count,
    completion_tokens: Count,
    prompt_tokens_details: PromptDetails,
    completion_tokens_details: CompletionDetails,
    cache_read_input_tokens: Count,
    cache_creation_input_tokens: Count,
    /// The cached tokens of DeepSeek.
    prompt_cache_hit_tokens: Count,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Count,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct CompletionDetails {
    reasoning_tokens: Count,
}

impl ResponseUsage {
    /// The counts, made disjoint.
    pub(in crate::adapters::formats::openhands) fn tokens(&self, damage: &mut RecordErrors) -> Tokens {
        let read =
            [self.prompt_tokens_details.cached_tokens, self.cache_read_input_tokens, self.prompt_cache_hit_tokens];
        let counts = TokenUsage {
            prompt_tokens: self.prompt_tokens,
            completion_tokens: self.completion_tokens,
            cache_read_tokens: read.into_iter().find(|count| count.get().is_some()).unwrap_or_default(),
            cache_write_tokens: self.cache_creation_input_tokens,
            reasoning_tokens: self.completion_tokens_details.reasoning_tokens,
            ..TokenUsage::default()
        };
        counts.tokens(damage)
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(in crate::adapters::formats::openhands) struct Agent<'a> {
    pub(in crate::adapters::formats::openhands) llm: Llm<'a>,
}

/// In the place of a model that is not known, where another program runs the agent (`acp_agent.py`).
pub(in crate::adapters::formats::openhands) const PLACEHOLDER: &str = "acp-managed";

impl Agent<'_> {
    /// The model that the agent uses.
    pub(in crate::adapters::formats::openhands) fn model(&self) -> Option<Symbol> {
        self.llm.model.owned().filter(|model: &Symbol| model != PLACEHOLDER)
    }

    /// The name of the use of a model that the agent's own responses have.
    pub(in crate::adapters::formats::openhands) fn usage(&self) -> Option<String> {
        self.llm.usage_id.owned().or_else(|| self.llm.service_id.owned())
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(in crate::adapters::formats::openhands) struct Llm<'a> {
    pub(in crate::adapters::formats::openhands) model: Text<'a>,
    usage_id: Text<'a>,
    /// The former name.
    service_id: Text<'a>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(in crate::adapters::formats::openhands) struct Workspace<'a> {
    pub(in crate::adapters::formats::openhands) working_dir: Text<'a>,
}

/// The running totals of a conversation, for each use of a model.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(in crate::adapters::formats::openhands) struct Stats<'a> {
    pub(in crate::adapters::formats::openhands) usage_to_metrics: Pairs<'a, Metrics<'a>>,
    /// The former name.
    pub(in crate::adapters::formats::openhands) service_to_metrics: Pairs<'a, Metrics<'a>>,
}

/// The value of a state update that contains the whole state.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(in crate::adapters::formats::openhands) struct FullState<'a> {
    pub(in crate::adapters::formats::openhands) stats: Maybe<Stats<'a>>,
    pub(in crate::adapters::formats::openhands) execution_status: Text<'a>,
    pub(in crate::adapters::formats::openhands) agent: Maybe<Agent<'a>>,
    pub(in crate::adapters::formats::openhands) workspace: Maybe<Workspace<'a>>,
}

/// A running total.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(in crate::adapters::formats::openhands) struct Metrics<'a> {
    pub(in crate::adapters::formats::openhands) model_name: Text<'a>,
    pub(in crate::adapters::formats::openhands) accumulated_cost: Number,
    pub(in crate::adapters::formats::openhands) accumulated_token_usage: Maybe<TokenUsage<'a>>,
    /// The costs of the requests: numbers, or objects with `cost`. Requests without a cost are left out. The lists are in evaluations and
    /// in the saved state, not in events.
    costs: Raw<'a>,
    /// The usage of each request.
    pub(in crate::adapters::formats::openhands) token_usages: Raw<'a>,
    /// The time that each request took.
    pub(in crate::adapters::formats::openhands) response_latencies: Raw<'a>,
}

impl<'a> Metrics<'a> {
    /// The costs of the requests.
    pub(in crate::adapters::formats::openhands) fn costs(&self) -> Vec<CostEntry<'a>> {
        let costs: Vec<Raw<'a>> = self.costs.read();
        let entry = |raw: Raw<'a>| {
            if raw.is_object() { raw.read() } else { CostEntry { cost: raw.read(), ..CostEntry::default() } }
        };
        costs.into_iter().map(entry).collect()
    }
}

/// A cost, in newer versions with its model.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(in crate::adapters::formats::openhands) struct CostEntry<'a> {
    pub(in crate::adapters::formats::openhands) model: Text<'a>,
    pub(in crate::adapters::formats::openhands) cost: Number,
}

/// The time that a request took.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(in crate::adapters::formats::openhands) struct Latency<'a> {
    /// In seconds.
    pub(in crate::adapters::formats::openhands) latency: Number,
    pub(in crate::adapters::formats::openhands) response_id: Text<'a>,
}

/// The cached tokens that the prompts of a use contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters::formats::openhands) enum CachedPart {
    /// Reads and writes, or only reads, unless they are more than the prompt.
    WhatFits,
    Reads,
    Nothing,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(in crate::adapters::formats::openhands) struct TokenUsage<'a> {
    pub(in crate::adapters::formats::openhands) model: Text<'a>,
    prompt_tokens: Count,
    completion_tokens: Count,
    cache_read_tokens: Count,
    cache_write_tokens: Count,
    reasoning_tokens: Count,
    pub(in crate::adapters::formats::openhands) context_window: Count,
    pub(in crate::adapters::formats::openhands) response_id: Text<'a>,
}

impl TokenUsage<'_> {
    /// The counts, made disjoint.
    pub(in crate::adapters::formats::openhands) fn tokens(&self, damage: &mut RecordErrors) -> Tokens {
        self.tokens_of(CachedPart::WhatFits, damage)
    }

    /// The counts, made disjoint.
    pub(in crate::adapters::formats::openhands) fn tokens_of(
        &self,
        cached: CachedPart,
        damage: &mut RecordErrors,
    ) -> Tokens {
        let (read, write) = (self.cache_read_tokens, self.cache_write_tokens);
        damage.note_impossible(&[self.prompt_tokens, self.completion_tokens, read, write, self.reasoning_tokens]);
        let prompt = self.prompt_tokens.get();
        Tokens {
            input: match cached {
                CachedPart::WhatFits => uncached(Included::EachIfItFits, prompt, read.get(), write.get()),
                CachedPart::Reads => uncached(Included::IfTheyFit, prompt, read.get(), None),
                CachedPart::Nothing => prompt,
            },
            output: self.completion_tokens.get(),
            cache_read: read.get(),
            cache_write: write.get(),
            cache_write_1h: None,
            reasoning: self.reasoning_tokens.get().filter(|count| *count > 0),
        }
    }

    /// Which cached tokens the prompt contains, as far as a sum of requests shows it.
    pub(in crate::adapters::formats::openhands) fn cached_part(&self) -> CachedPart {
        let count = |count: Count| count.get().unwrap_or(0);
        let (prompt, read) = (count(self.prompt_tokens), count(self.cache_read_tokens));
        match prompt - read - count(self.cache_write_tokens) {
            0.. => CachedPart::WhatFits,
            _ if read <= prompt => CachedPart::Reads,
            _ => CachedPart::Nothing,
        }
    }

    /// What is compared with a running total: the prompt as logged, and the output.
    pub(in crate::adapters::formats::openhands) fn sent_and_received(&self) -> (i64, i64) {
        (self.prompt_tokens.get().unwrap_or(0), self.completion_tokens.get().unwrap_or(0))
    }
}
