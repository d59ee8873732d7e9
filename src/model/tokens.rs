//! Token counts, disjoint by kind.

use std::iter::Sum;

use serde::{Deserialize, Serialize};

use crate::base::compact_option::CompactOption;

/// Token counts, disjoint by kind (`docs/accounting.md#tokens`). `None` is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Tokens {
    /// Prompt tokens that were neither read from a cache nor written to one.
    pub input: Option<i64>,
    /// Generated tokens, including reasoning.
    pub output: Option<i64>,
    /// Prompt tokens read from a cache.
    pub cache_read: Option<i64>,
    /// Prompt tokens written to a cache.
    pub cache_write: Option<i64>,
    /// The part of `cache_write` that is kept for an hour.
    pub cache_write_1h: Option<i64>,
    /// The part of `output` that was reasoning.
    pub reasoning: Option<i64>,
}

impl Tokens {
    /// No known count.
    pub const UNKNOWN: Self =
        Self { input: None, output: None, cache_read: None, cache_write: None, cache_write_1h: None, reasoning: None };

    /// The four disjoint kinds.
    pub const fn kinds(self) -> [Option<i64>; 4] {
        [self.input, self.output, self.cache_read, self.cache_write]
    }

    /// Sum of the known kinds; `None` only if none is known.
    pub const fn total(self) -> Option<i64> {
        add(add(add(self.input, self.output), self.cache_read), self.cache_write)
    }

    /// Input, cache read and cache write: the size of the request.
    pub const fn context(self) -> Option<i64> {
        add(add(self.input, self.cache_read), self.cache_write)
    }

    /// Whether every known count is 0 and at least one is known.
    pub fn is_all_zero(self) -> bool {
        self.total() == Some(0)
    }

    /// The counts; unknown if [`Self::is_all_zero`], for logs that write 0 for a count that they do not know.
    #[must_use]
    pub fn unless_all_zero(self) -> Self {
        if self.is_all_zero() { Self::UNKNOWN } else { self }
    }

    /// Whether no count is larger than that of the whole. Unknown counts are taken as 0.
    pub fn fits(self, whole: Self) -> bool {
        self.kinds().into_iter().zip(whole.kinds()).all(|(part, whole)| part.unwrap_or(0) <= whole.unwrap_or(0))
    }

    /// Combines each count of both by `join`.
    #[must_use]
    pub fn zip(self, other: Self, join: impl Fn(Option<i64>, Option<i64>) -> Option<i64>) -> Self {
        Self {
            input: join(self.input, other.input),
            output: join(self.output, other.output),
            cache_read: join(self.cache_read, other.cache_read),
            cache_write: join(self.cache_write, other.cache_write),
            cache_write_1h: join(self.cache_write_1h, other.cache_write_1h),
            reasoning: join(self.reasoning, other.reasoning),
        }
    }

    /// The larger of each count: the counts of a response grow from copy to copy
    /// (`docs/accounting.md#identity-of-a-response`).
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        self.zip(other, Ord::max)
    }

    /// The sum of each count, unknown only if both are.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.zip(other, add)
    }

    /// The difference of each known count, negative if `other` is larger.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        self.zip(other, |a, b| a.map(|a| a - b.unwrap_or(0)))
    }

    /// Subtracts `other`, each kind at most to 0. What a kind lacks is subtracted from the other kinds: two counts of the same
    /// requests may divide their prompts differently.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        let mut left = self;
        let mut rest = 0;
        let kinds = [
            (&mut left.input, other.input),
            (&mut left.cache_read, other.cache_read),
            (&mut left.cache_write, other.cache_write),
            (&mut left.output, other.output),
        ];
        for (own, other) in kinds {
            rest += take(own, other.unwrap_or(0));
        }
        for own in [&mut left.input, &mut left.cache_read, &mut left.cache_write, &mut left.output] {
            rest = take(own, rest);
        }
        left.cache_write_1h = left.cache_write_1h.min(left.cache_write);
        left.reasoning = left.reasoning.min(left.output);
        left
    }
}

/// Each count is unknown only if it is unknown in all of them.
impl Sum for Tokens {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::UNKNOWN, Self::plus)
    }
}

/// Subtracts tokens from a count, at most to 0. Returns how many it lacked.
fn take(count: &mut Option<i64>, tokens: i64) -> i64 {
    let Some(own) = count else { return tokens };
    let taken = tokens.clamp(0, (*own).max(0));
    *own -= taken;
    tokens - taken
}

/// [`Tokens`] of a row, in half the memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Tokens", into = "Tokens")]
pub struct PackedTokens([CompactOption; 6]);

impl PackedTokens {
    /// The counts.
    pub fn get(self) -> Tokens {
        let [input, output, cache_read, cache_write, cache_write_1h, reasoning] = self.0.map(CompactOption::get);
        Tokens { input, output, cache_read, cache_write, cache_write_1h, reasoning }
    }
}

impl From<PackedTokens> for Tokens {
    fn from(tokens: PackedTokens) -> Self {
        tokens.get()
    }
}

impl From<Tokens> for PackedTokens {
    fn from(tokens: Tokens) -> Self {
        let Tokens { input, output, cache_read, cache_write, cache_write_1h, reasoning } = tokens;
        Self([input, output, cache_read, cache_write, cache_write_1h, reasoning].map(CompactOption::from))
    }
}

/// The sum of two counts, unknown only if both are.
pub const fn add(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (one, None) | (None, one) => one,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_that_another_kind_counts_are_taken_off() {
        let tokens = |input, output, cache_read| Tokens { input, output, cache_read, ..Tokens::UNKNOWN };
        let all = tokens(Some(100), Some(20), Some(30));
        for (other, expected) in [
            (tokens(Some(40), Some(5), None), (Some(60), Some(15), Some(30))),
            // All of the prompt is input there.
            (tokens(Some(120), Some(5), None), (Some(0), Some(15), Some(10))),
            (tokens(Some(10), Some(5), Some(50)), (Some(70), Some(15), Some(0))),
            (tokens(Some(900), Some(90), None), (Some(0), Some(0), Some(0))),
            (Tokens::UNKNOWN, (Some(100), Some(20), Some(30))),
        ] {
            let left = all.without(other);
            assert_eq!((left.input, left.output, left.cache_read), expected, "{other:?}");
        }
        assert_eq!(Tokens::UNKNOWN.without(all), Tokens::UNKNOWN);
        let reasoning = Tokens { output: Some(9), reasoning: Some(8), ..Tokens::UNKNOWN };
        assert_eq!(reasoning.without(tokens(None, Some(4), None)).reasoning, Some(5));
    }
}
