//! Amounts of money, in US dollars.

use serde::{Deserialize, Serialize};

#[cfg(doc)]
use crate::model::tokens::Tokens;

/// Sums of the same amounts in another order may differ by this many US dollars, and by nothing that was billed.
pub const NEGLIGIBLE_USD: f64 = 1e-9;

/// The sum of two amounts of money, unknown only if both are.
pub const fn add_money(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (one, None) | (None, one) => one,
    }
}

/// A cost in US dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cost {
    /// The total.
    pub total: f64,
    /// Its parts, if the log contains them.
    pub parts: Option<CostParts>,
}

impl Cost {
    /// A cost without known parts.
    pub fn of(total: f64) -> Box<Self> {
        Box::new(Self { total, parts: None })
    }
}

/// The parts of a cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CostParts {
    /// For [`Tokens::input`].
    pub input: f64,
    /// For [`Tokens::output`].
    pub output: f64,
    /// For [`Tokens::cache_read`].
    pub cache_read: f64,
    /// For [`Tokens::cache_write`].
    pub cache_write: f64,
    /// For web searches.
    pub web_search: f64,
}

impl CostParts {
    /// The sum of the parts.
    pub fn total(self) -> f64 {
        self.input + self.output + self.cache_read + self.cache_write + self.web_search
    }

    /// Combines each part of both by `of`.
    #[must_use]
    pub fn zip(self, other: Self, of: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            input: of(self.input, other.input),
            output: of(self.output, other.output),
            cache_read: of(self.cache_read, other.cache_read),
            cache_write: of(self.cache_write, other.cache_write),
            web_search: of(self.web_search, other.web_search),
        }
    }

    /// The parts of another total in the same proportions. `None` if all parts are 0.
    pub fn scaled_to(self, total: f64) -> Option<Self> {
        let sum = self.total();
        // Parts that already have this total are kept to the last digit.
        if (sum - total).abs() <= 1e-12 {
            return Some(self);
        }
        (sum > 0.0).then(|| self.zip(self, |part, _| part * total / sum))
    }
}
