//! Prices of service tiers and speeds, as shares of the standard prices.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The prices of a service tier, as shares of the standard prices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// Of the price of input.
    pub input: f64,
    /// Of the price of output.
    pub output: f64,
    /// Of the price of cache reads.
    pub cache_read: f64,
    /// Of both prices of cache writes.
    pub cache_write: f64,
    /// Of all prices of a long request, if that share differs.
    pub long_context: Option<f64>,
}

impl Share {
    /// The standard price.
    pub const WHOLE: Self = Self::all(1.0);

    /// The same share of all prices.
    pub const fn all(share: f64) -> Self {
        Self { input: share, output: share, cache_read: share, cache_write: share, long_context: None }
    }

    /// The share for a long request.
    #[must_use]
    pub fn of_long_context(self) -> Self {
        self.long_context.map_or(self, Self::all)
    }
}

/// One number, or a number for each kind of token.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Shares {
    All(f64),
    #[serde(rename_all = "snake_case")]
    Each {
        input: f64,
        output: f64,
        cache_read: f64,
        cache_write: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        long_context: Option<f64>,
    },
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Shares::deserialize(deserializer)? {
            Shares::All(share) => Self::all(share),
            Shares::Each { input, output, cache_read, cache_write, long_context } => {
                Self { input, output, cache_read, cache_write, long_context }
            }
        })
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { input, output, cache_read, cache_write, long_context } = *self;
        if *self == Self::all(input) {
            return serializer.serialize_f64(input);
        }
        Shares::Each { input, output, cache_read, cache_write, long_context }.serialize(serializer)
    }
}
