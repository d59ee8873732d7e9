//! The sums of a process by model, which a `result` and a `cost-state` state.

use serde::Deserialize;

use crate::adapters::engine::RecordErrors;
use crate::adapters::shared::builder::money;
use crate::json::fields::{Count, Number};
use crate::model::health::Reason;
use crate::model::session::{ModelTotal, Tokens};

/// The sum of one model in `modelUsage`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ModelUsage {
    input_tokens: Count,
    output_tokens: Count,
    cache_read_input_tokens: Count,
    cache_creation_input_tokens: Count,
    web_search_requests: Count,
    thinking_tokens: Count,
    #[serde(rename = "costUSD")]
    cost_usd: Number,
    context_window: Count,
}

impl ModelUsage {
    /// The sum as a part of a total.
    pub(crate) fn total(&self, model: &str, damage: &mut RecordErrors) -> ModelTotal {
        let counts =
            [self.input_tokens, self.output_tokens, self.cache_read_input_tokens, self.cache_creation_input_tokens];
        if !damage.note_impossible(&counts) && counts.iter().all(|it| it.get().is_none()) {
            damage.note(Reason::NoUsage);
        }
        damage.note_impossible(&[self.thinking_tokens]);
        ModelTotal {
            model: Some(model.into()),
            tokens: Tokens {
                input: self.input_tokens.get(),
                output: self.output_tokens.get(),
                cache_read: self.cache_read_input_tokens.get(),
                cache_write: self.cache_creation_input_tokens.get(),
                cache_write_1h: None,
                reasoning: self.thinking_tokens.get(),
            },
            web_searches: self.web_search_requests.get(),
            cost: money(self.cost_usd, damage),
            context_window: self.context_window.get(),
            ..ModelTotal::default()
        }
    }
}
