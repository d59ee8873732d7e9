//! Prices of one model: rates by kind of token, periods, steps for long requests.

use serde::{Deserialize, Serialize};

use super::clock::Clock;
use super::share::Share;
use crate::base::time::Day;

/// US dollars per million tokens, by kind of token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Uncached prompt tokens.
    pub input: f64,
    /// Generated tokens, reasoning included.
    pub output: f64,
    /// Prompt tokens read from a cache.
    pub cache_read: f64,
    /// Prompt tokens written to a cache for some minutes.
    pub cache_write: f64,
    /// Prompt tokens written to a cache for an hour.
    pub cache_write_1h: f64,
}

impl Rates {
    /// The rates of a table. Cached tokens without a listed price have the price of other prompt tokens.
    pub(super) fn listed(input: f64, output: f64, cache: [Option<f64>; 3]) -> Self {
        let [cache_read, cache_write, cache_write_1h] = cache;
        let (cache_read, cache_write) = (cache_read.unwrap_or(input), cache_write.unwrap_or(input));
        Self { input, output, cache_read, cache_write, cache_write_1h: cache_write_1h.unwrap_or(cache_write) }
    }

    /// Each rate multiplied by its share.
    #[must_use]
    pub fn times(self, share: Share) -> Self {
        Self {
            input: self.input * share.input,
            output: self.output * share.output,
            cache_read: self.cache_read * share.cache_read,
            cache_write: self.cache_write * share.cache_write,
            cache_write_1h: self.cache_write_1h * share.cache_write,
        }
    }
}

/// Prices from one day to another.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Period {
    /// The first day, in UTC; unlimited if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Day>,
    /// The day after the last one; unlimited if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Day>,
    /// The hours of each day, in UTC, to which the prices are limited. Such prices take precedence over those of whole
    /// days.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hours: Vec<[Clock; 2]>,
    /// Dollars per million tokens.
    pub input: f64,
    /// Dollars per million tokens.
    pub output: f64,
    /// Dollars per million tokens; that of `input` if not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Dollars per million tokens; that of `input` if not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// Dollars per million tokens; that of `cache_write` if not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<f64>,
    /// Dollars per thousand searches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web_search: Option<f64>,
    /// Prices of long requests, by size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub long_context: Vec<LongContext>,
}

/// Prices of a request with a long prompt. They apply to all of its tokens.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LongContext {
    /// The prices apply if input, cache read and cache write together are more than this, in tokens.
    pub above: i64,
    /// Dollars per million tokens.
    pub input: f64,
    /// Dollars per million tokens.
    pub output: f64,
    /// Dollars per million tokens; that of `input` if not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Dollars per million tokens; that of `input` if not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// Dollars per million tokens; that of `cache_write` if not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<f64>,
}

impl Period {
    /// The standard prices of a request of ordinary size.
    pub fn rates(&self) -> Rates {
        Rates::listed(self.input, self.output, [self.cache_read, self.cache_write, self.cache_write_1h])
    }

    /// The step for a prompt of this size in tokens, if it is a long one.
    pub fn long_context(&self, prompt: i64) -> Option<&LongContext> {
        self.long_context.iter().rev().find(|step| prompt > step.above)
    }

    /// Whether the prices apply on this day.
    pub(super) fn applies_on(&self, day: Day) -> bool {
        self.from.is_none_or(|from| from <= day) && self.until.is_none_or(|until| day < until)
    }
}

impl LongContext {
    /// The standard prices of such a request.
    pub fn rates(&self) -> Rates {
        Rates::listed(self.input, self.output, [self.cache_read, self.cache_write, self.cache_write_1h])
    }
}
