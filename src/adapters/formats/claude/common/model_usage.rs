//! The sums of a process by model, which a `result` and a `cost-state` state.

use serde::Deserialize;

use crate::adapters::engine::RecordErrors;
use crate::adapters::shared::builder::money;
use crate::base::text::Symbol;
use crate::json::fields::{Count, Number, Text};
use crate::model::health::Reason;
use crate::model::session::{ModelTotal, Tokens};

/// The sum of one model in `modelUsage`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct ModelUsage<'a> {
    input_tokens: Count,
    output_tokens: Count,
    cache_read_input_tokens: Count,
    cache_creation_input_tokens: Count,
    web_search_requests: Count,
    thinking_tokens: Count,
    #[serde(rename = "costUSD")]
    cost_usd: Number,
    context_window: Count,
    /// The name under which the program finds the price.
    canonical_model: Text<'a>,
    /// Who served the model: `firstParty`, `bedrock`, `vertex`.
    provider: Text<'a>,
}

impl ModelUsage<'_> {
    /// The key of a model and its name, if the key does not contain the name: the address of an inference profile, or the name of a
    /// deployment.
    pub(crate) fn other_name(&self, model: &str) -> Option<(Symbol, Symbol)> {
        let name = self.canonical_model.some()?;
        (!model.to_ascii_lowercase().contains(&name.to_ascii_lowercase())).then(|| (model.into(), name.into()))
    }

    /// Who served the model. `firstParty` is the maker of Claude as far as the program knows: a proxy may serve models of other makers.
    fn provider(&self, model: &str) -> Option<Symbol> {
        let is_claude = model.to_ascii_lowercase().contains("claude");
        self.provider.some().filter(|provider| is_claude || *provider != "firstParty").map(Symbol::new)
    }

    /// The sum as a part of a total.
    pub(crate) fn total(&self, model: &str, damage: &mut RecordErrors) -> ModelTotal {
        let counts =
            [self.input_tokens, self.output_tokens, self.cache_read_input_tokens, self.cache_creation_input_tokens];
        if !damage.note_impossible(&counts) && counts.iter().all(|it| it.get().is_none()) {
            damage.note(Reason::NoUsage);
        }
        damage.note_impossible(&[self.thinking_tokens]);
        ModelTotal {
            model: Some(self.other_name(model).map_or_else(|| model.into(), |(_, name)| name)),
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
            provider: self.provider(model),
            ..ModelTotal::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn a_name_that_the_key_does_not_contain_is_the_model_s() {
        const PROFILE: &str = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123";
        for (model, canonical, provider, expected) in [
            (PROFILE, "claude-opus-4-8", "bedrock", ("claude-opus-4-8", Some("bedrock"))),
            (
                "us.anthropic.claude-opus-4-8-v1:0",
                "claude-opus-4-8",
                "bedrock",
                ("us.anthropic.claude-opus-4-8-v1:0", Some("bedrock")),
            ),
            ("claude-opus-5[1m]", "claude-opus-5", "firstParty", ("claude-opus-5[1m]", Some("firstParty"))),
            ("glm-5", "glm-5", "firstParty", ("glm-5", None)),
            ("claude-opus-5", "", "", ("claude-opus-5", None)),
        ] {
            let usage = format!(r#"{{"inputTokens":1,"canonicalModel":"{canonical}","provider":"{provider}"}}"#);
            let usage: ModelUsage<'_> = json::from_slice(usage.as_bytes()).unwrap();
            let total = usage.total(model, &mut RecordErrors::default());
            assert_eq!((total.model.as_deref(), total.provider.as_deref()), (Some(expected.0), expected.1), "{model}");
        }
    }
}
