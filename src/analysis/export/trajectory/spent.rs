//! Tokens and costs, as metrics of ATIF.

use serde_json::{Value, json};

use super::atif::{Extra, FinalMetrics, Metrics, extra};
use crate::model::session::{add, add_money};
use crate::store::frames::turns;

/// The tokens and the cost of a row or of a sum.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spent {
    pub input: Option<i64>,
    pub output: Option<i64>,
    pub cache_read: Option<i64>,
    pub cache_write: Option<i64>,
    pub cache_write_1h: Option<i64>,
    pub reasoning: Option<i64>,
    pub cost: Option<f64>,
    pub is_estimate: bool,
}

impl Spent {
    pub fn plus(self, other: Self) -> Self {
        Self {
            input: add(self.input, other.input),
            output: add(self.output, other.output),
            cache_read: add(self.cache_read, other.cache_read),
            cache_write: add(self.cache_write, other.cache_write),
            cache_write_1h: add(self.cache_write_1h, other.cache_write_1h),
            reasoning: add(self.reasoning, other.reasoning),
            cost: add_money(self.cost, other.cost),
            is_estimate: self.is_estimate || other.is_estimate,
        }
    }

    /// The whole prompt, if its uncached tokens are known.
    pub fn prompt(self) -> Option<i64> {
        Some(self.input?.saturating_add(self.cache_read.unwrap_or(0)).saturating_add(self.cache_write.unwrap_or(0)))
    }

    /// The source of a cost that no log reports. Readers of the format recognise estimates by the suffix.
    pub fn cost_source(self) -> Value {
        self.cost.filter(|_| self.is_estimate).map_or(Value::Null, |_| "agentlogs_estimate".into())
    }

    pub fn metrics(self, more: Extra) -> Option<Metrics> {
        let known = [self.input, self.output, self.cache_read, self.cache_write];
        if known.iter().all(Option::is_none) && self.cost.is_none() {
            return None;
        }
        let mut extra = extra([
            ("cache_creation_input_tokens", json!(self.cache_write)),
            (
                "cache_creation",
                self.cache_write_1h.map_or(Value::Null, |tokens| json!({"ephemeral_1h_input_tokens": tokens})),
            ),
            (turns::REASONING_TOKENS, json!(self.reasoning)),
            (turns::COST_SOURCE, self.cost_source()),
        ]);
        extra.extend(more);
        Some(Metrics {
            prompt_tokens: self.prompt(),
            completion_tokens: self.output,
            cached_tokens: self.cache_read,
            cost_usd: self.cost,
            extra,
        })
    }

    pub fn total(self, total_steps: usize) -> Option<FinalMetrics> {
        let metrics = self.metrics(Extra::new())?;
        Some(FinalMetrics {
            total_prompt_tokens: metrics.prompt_tokens,
            total_completion_tokens: metrics.completion_tokens,
            total_cached_tokens: metrics.cached_tokens,
            total_cost_usd: metrics.cost_usd,
            total_steps,
            extra: extra([
                ("total_cache_creation_input_tokens", json!(self.cache_write)),
                ("total_reasoning_tokens", json!(self.reasoning)),
                (turns::COST_SOURCE, self.cost_source()),
            ]),
        })
    }
}
