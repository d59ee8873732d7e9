//! The shares of a service tier or speed, from its prices and the standard ones.

use super::rates::Period;
use super::share::Share;

impl Share {
    /// The prices of a tier as shares of the standard prices. `None` if input or output has no price in one of the two, or if the two
    /// prices of cache writes have different shares.
    pub(super) fn between(tier: &Period, standard: &Period) -> Option<Self> {
        let exact = |tier: f64, standard: f64| (standard > 0.0).then(|| round(tier / standard));
        let input = exact(tier.input, standard.input).filter(|share| *share > 0.0)?;
        let share = |tier: Option<f64>, standard: Option<f64>| {
            let (tier, standard) = (tier?, standard?);
            let share = exact(tier, standard)?;
            // Tables round to cents or to tenths of them: 0.13 for half of 0.25.
            let is_rounded = (input * standard - tier).abs() <= 0.0051 && (share / input - 1.0).abs() < 0.05;
            Some(if is_rounded { input } else { share })
        };
        // A tier without its own price of cached tokens has the standard one.
        let cached = |tier: Option<f64>, standard: Option<f64>| {
            share(tier, standard).unwrap_or(if standard.is_some_and(|price| price > 0.0) { 1.0 } else { input })
        };
        let cache_write = cached(tier.cache_write, standard.cache_write);
        let hour = share(tier.cache_write_1h, standard.cache_write_1h);
        #[expect(clippy::float_cmp, reason = "both are rounded")]
        if hour.is_some_and(|hour| hour != cache_write) {
            return None;
        }
        // A higher price that is not listed for long requests does not apply to them.
        let is_for_short = input > 1.0 && !standard.long_context.is_empty() && tier.long_context.is_empty();
        Some(Self {
            input,
            output: share(Some(tier.output), Some(standard.output)).filter(|share| *share > 0.0)?,
            cache_read: cached(tier.cache_read, standard.cache_read),
            cache_write,
            long_context: is_for_short.then_some(1.0),
        })
    }
}

/// A number rounded to six digits after the point.
pub(super) fn round(number: f64) -> f64 {
    format!("{number:.6}").parse().unwrap_or(number)
}
