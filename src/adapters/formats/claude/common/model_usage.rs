//! The sums of a process by model, which a `result` and a `cost-state` state.

use serde::Deserialize;

use crate::adapters::engine::RecordErrors;
use crate::adapters::shared::builder::money;
use crate::base::text::Symbol;
use crate::json::fields::{Count, Number, Text};
use crate::model::health::Reason;
use crate::model::session::{ModelTotal, NEGLIGIBLE_USD, Tokens};

/// The sum of one model in `modelUsage`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct ModelUsage<'a> {
    input_tokens: Count,
    output_tokens: Count,
    cache_read_input_tokens: Count,
    cache_creation_input_tokens: Count,
    #[serde(rename = "cacheCreationEphemeral1hInputTokens")]
    cache_creation_1h_input_tokens: Count,
    web_search_requests: Count,
    thinking_tokens: Count,
    #[serde(rename = "costUSD")]
    cost_usd: Number,
    context_window: Count,
    /// The name under which the program finds the price.
    canonical_model: Text<'a>,
    /// Who served the model: `firstParty`, `bedrock`, `vertex`.
    provider: Text<'a>,
    /// Where the program got the price: `list`, `managed`, or `unknown`, if it has none and takes that of another model.
    cost_basis: Text<'a>,
}

impl ModelUsage<'_> {
    /// The cost, if the program does not know the price of the model.
    pub(crate) fn guessed_cost(&self) -> Option<f64> {
        self.cost_usd.0.filter(|_| self.cost_basis.as_str() == "unknown")
    }

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
        damage.note_impossible(&[self.thinking_tokens, self.cache_creation_1h_input_tokens]);
        ModelTotal {
            model: Some(self.other_name(model).map_or_else(|| model.into(), |(_, name)| name)),
            tokens: Tokens {
                input: self.input_tokens.get(),
                output: self.output_tokens.get(),
                cache_read: self.cache_read_input_tokens.get(),
                cache_write: self.cache_creation_input_tokens.get(),
                cache_write_1h: self.cache_creation_1h_input_tokens.get(),
                reasoning: self.thinking_tokens.get(),
            },
            web_searches: self.web_search_requests.get(),
            cost: money(self.cost_usd, damage).filter(|_| self.guessed_cost().is_none()),
            context_window: self.context_window.get(),
            provider: self.provider(model),
            ..ModelTotal::default()
        }
    }
}

/// The cost of all models without what the program guessed: its rest is of models whose price it knows.
pub(crate) fn without_guesses<'u, 'a: 'u>(
    cost: Option<f64>,
    models: impl Iterator<Item = &'u ModelUsage<'a>>,
) -> Option<f64> {
    let guesses = models.filter_map(ModelUsage::guessed_cost).reduce(|sum, guess| sum + guess);
    match guesses {
        Some(guesses) => cost.map(|cost| cost - guesses).filter(|rest| *rest > NEGLIGIBLE_USD),
        None => cost,
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

    /// A deployment with a name of its own has no price, so that the program takes that of its default model.
    #[test]
    fn a_guess_is_no_cost() {
        let cost = |basis: &str, total: f64| {
            let usage = format!(
                r#"{{"inputTokens":1,"cacheCreationEphemeral1hInputTokens":9,"costUSD":5.0,"costBasis":"{basis}"}}"#
            );
            let usage: ModelUsage<'_> = json::from_slice(usage.as_bytes()).unwrap();
            let model = usage.total("my-deployment", &mut RecordErrors::default());
            assert_eq!(model.tokens.cache_write_1h, Some(9));
            (model.cost, without_guesses(Some(total), [&usage].into_iter()))
        };
        assert_eq!(cost("list", 5.0), (Some(5.0), Some(5.0)));
        assert_eq!(cost("managed", 5.0), (Some(5.0), Some(5.0)));
        assert_eq!(cost("unknown", 5.0), (None, None));
        assert_eq!(cost("unknown", 5.5), (None, Some(0.5)), "another model cost the rest");
    }
}
