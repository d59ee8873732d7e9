//! Sums of tokens and dollars of one side.

use crate::model::session::{Tokens, add, add_money};

/// The usage and the cost of one side of a group.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Amounts {
    /// US dollars; `None` if none are known.
    pub cost_usd: Option<f64>,
    /// Tokens by kind; a kind that no line states is `None`.
    pub tokens: Kinds,
    /// All tokens, also those of unknown kind.
    pub total_tokens: Option<i64>,
    /// Responses without a known cost.
    pub unpriced: i64,
}

/// Input, output, cache read and cache write.
pub(super) type Kinds = [Option<i64>; 4];

impl Amounts {
    pub fn of_tokens(tokens: Tokens, total_tokens: Option<i64>, cost_usd: Option<f64>) -> Self {
        Self { cost_usd, tokens: tokens.kinds(), total_tokens, unpriced: 0 }
    }

    pub fn add(&mut self, other: &Self) {
        self.cost_usd = add_money(self.cost_usd, other.cost_usd);
        for (sum, count) in self.tokens.iter_mut().zip(other.tokens) {
            *sum = add(*sum, count);
        }
        self.total_tokens = add(self.total_tokens, other.total_tokens);
        self.unpriced = self.unpriced.saturating_add(other.unpriced);
    }

    /// Whether the kinds of all tokens are known.
    fn has_kinds(&self) -> bool {
        self.total_tokens.is_some() && self.tokens.iter().fold(None, |sum, count| add(sum, *count)) == self.total_tokens
    }

    /// Whether both have the same tokens: of each kind where the kinds are known, else in total.
    pub fn has_same_tokens(&self, other: &Self, tolerance: f64) -> bool {
        if self.has_kinds() && other.has_kinds() {
            let mut kinds = self.tokens.iter().zip(other.tokens);
            return kinds.all(|(a, b)| is_near(count(a.unwrap_or(0)), count(b.unwrap_or(0)), tolerance, 0.0));
        }
        let totals = self.total_tokens.zip(other.total_tokens);
        totals.is_some_and(|(a, b)| is_near(count(a), count(b), tolerance, 0.0))
    }
}

/// A count of tokens as a number.
pub(super) fn count(tokens: i64) -> f64 {
    tokens as f64
}

/// Whether two numbers differ by at most a share of the larger one, or by at most `least`.
pub(super) fn is_near(a: f64, b: f64, tolerance: f64, least: f64) -> bool {
    (a - b).abs() <= (tolerance * a.abs().max(b.abs())).max(least)
}
