//! The cost of a response, from which causes take their part: no dollar is taken twice.

use super::rows::{Count, KINDS, Turn, TurnRates, WRITE};
use crate::prices::Rates;

/// What remains of the cost of a response.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    /// US dollars.
    remaining: f64,
    /// The parts by kind of token; `None` if they are unknown.
    parts: Option<[f64; KINDS]>,
    /// US dollars per token by kind, where they are known.
    units: [Option<f64>; KINDS],
    /// The share of each part that is due to a step of the price for long prompts; `None` if that is unknown.
    surcharge: Option<[f64; KINDS]>,
}

impl Budget {
    /// The budget of a response; `None` if its cost is unknown.
    pub(super) fn of(turn: &Turn, rates: &[TurnRates]) -> Option<Self> {
        let cost = turn.cost.filter(|cost| cost.is_finite())?.max(0.0);
        let rates = turn.rates.and_then(|index| rates.get(usize::try_from(index).ok()?));
        let tokens = turn.tokens.map(|count| count.or_zero() as f64);
        let prices = rates.map(|rates| per_token(&rates.rates, turn));
        let computed = prices.map(|prices| zip(prices, tokens, |price, tokens| price * tokens));
        let sum = |parts: [f64; KINDS]| parts.iter().sum::<f64>();
        // Parts of the log, or else in proportion to the prices; at most the cost.
        let known = turn.parts.map(|parts| parts.map(|part| f64::from(part).max(0.0)));
        let parts = known.or(computed.filter(|computed| sum(*computed) > 0.0 || cost <= 0.0).map(|computed| {
            let scale = if sum(computed) > 0.0 { cost / sum(computed) } else { 0.0 };
            computed.map(|part| part * scale)
        }));
        let parts = parts.map(|parts| {
            let scale = if sum(parts) > cost { cost / sum(parts) } else { 1.0 };
            parts.map(|part| part * scale)
        });
        let units = match (prices, computed, parts) {
            (Some(prices), Some(computed), Some(parts)) if sum(computed) > 0.0 => {
                prices.map(|price| Some(price * sum(parts) / sum(computed)))
            }
            (_, _, Some(parts)) => zip(parts, tokens, |part, tokens| (tokens > 0.0).then(|| part / tokens)),
            _ => [None; KINDS],
        };
        let surcharge = rates.map(|rates| match rates.ordinary {
            Some(ordinary) => zip(per_token(&rates.rates, turn), per_token(&ordinary, turn), |long, short| {
                if long > 0.0 { (1.0 - short / long).clamp(0.0, 1.0) } else { 0.0 }
            }),
            None => [0.0; KINDS],
        });
        Some(Self { remaining: cost, parts, units, surcharge })
    }

    /// US dollars per token of a kind, if known.
    pub(super) fn unit(&self, kind: usize) -> Option<f64> {
        self.units.get(kind).copied().flatten()
    }

    /// Whether the parts of the cost are known.
    pub(super) const fn has_parts(&self) -> bool {
        self.parts.is_some()
    }

    /// What remains of a part.
    pub(super) fn part(&self, kind: usize) -> f64 {
        self.parts.and_then(|parts| parts.get(kind).copied()).unwrap_or(0.0)
    }

    /// Takes at most this amount of a part, and returns what was taken.
    pub(super) fn take(&mut self, kind: usize, amount: f64) -> f64 {
        let Some(part) = self.parts.as_mut().and_then(|parts| parts.get_mut(kind)) else { return 0.0 };
        let taken = amount.min(*part).min(self.remaining).max(0.0);
        *part -= taken;
        self.remaining -= taken;
        taken
    }

    /// Takes everything that remains.
    pub(super) fn take_all(&mut self) -> f64 {
        self.parts = self.parts.map(|_| [0.0; KINDS]);
        std::mem::take(&mut self.remaining)
    }

    /// Takes the surcharge for a long prompt; `None` if the prices are unknown. What remains has the prices of a shorter one.
    pub(super) fn take_surcharge(&mut self) -> Option<f64> {
        let shares = self.surcharge?;
        for (unit, share) in self.units.iter_mut().zip(shares) {
            *unit = unit.map(|unit| unit * (1.0 - share));
        }
        let taken = shares.iter().enumerate().map(|(kind, share)| self.take(kind, self.part(kind) * share));
        Some(taken.sum())
    }
}

/// US dollars per token by kind.
fn per_token(rates: &Rates, turn: &Turn) -> [f64; KINDS] {
    let write = turn.tokens.get(WRITE).copied().map_or(0, Count::or_zero) as f64;
    let long = (turn.write_1h.or_zero() as f64).min(write);
    let mixed = if write > 0.0 {
        ((write - long) * rates.cache_write + long * rates.cache_write_1h) / write
    } else {
        rates.cache_write
    };
    [rates.input, rates.output, rates.cache_read, mixed].map(|rate| rate / 1e6)
}

fn zip<T>(a: [f64; KINDS], b: [f64; KINDS], of: impl Fn(f64, f64) -> T) -> [T; KINDS] {
    let mut pairs = a.into_iter().zip(b);
    std::array::from_fn(|_| pairs.next().map_or_else(|| of(0.0, 0.0), |(a, b)| of(a, b)))
}
