//! The kinds of prices that two tables are compared by.

use agentlogs::prices::{LongContext, Period};

/// A kind of price of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Input,
    Output,
    CacheRead,
    CacheWrite,
    CacheWrite1h,
    WebSearch,
    LongContext,
}

/// The kinds of tokens.
pub const TOKENS: [Kind; 5] = [Kind::Input, Kind::Output, Kind::CacheRead, Kind::CacheWrite, Kind::CacheWrite1h];

impl Kind {
    /// Its name in the catalog.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
            Self::CacheRead => "cache_read",
            Self::CacheWrite => "cache_write",
            Self::CacheWrite1h => "cache_write_1h",
            Self::WebSearch => "web_search",
            Self::LongContext => "long_context",
        }
    }

    /// The price of this kind; always `None` for long requests, which have several.
    pub const fn of(self, period: &Period) -> Option<f64> {
        match self {
            Self::Input => Some(period.input),
            Self::Output => Some(period.output),
            Self::CacheRead => period.cache_read,
            Self::CacheWrite => period.cache_write,
            Self::CacheWrite1h => period.cache_write_1h,
            Self::WebSearch => period.web_search,
            Self::LongContext => None,
        }
    }

    /// Replaces the price of this kind.
    pub fn copy(self, from: &Period, to: &mut Period) {
        match self {
            Self::Input => to.input = from.input,
            Self::Output => to.output = from.output,
            Self::CacheRead => to.cache_read = from.cache_read,
            Self::CacheWrite => to.cache_write = from.cache_write,
            Self::CacheWrite1h => to.cache_write_1h = from.cache_write_1h,
            Self::WebSearch => to.web_search = from.web_search,
            Self::LongContext => to.long_context.clone_from(&from.long_context),
        }
    }

    /// The price of this kind for long requests, if ordinary requests can be without one.
    fn of_step(self, step: &mut LongContext) -> Option<&mut Option<f64>> {
        match self {
            Self::CacheRead => Some(&mut step.cache_read),
            Self::CacheWrite => Some(&mut step.cache_write),
            Self::CacheWrite1h => Some(&mut step.cache_write_1h),
            _ => None,
        }
    }
}

/// The kinds for which both prices are known and differ by more than rounding.
pub fn differences(a: &Period, b: &Period) -> Vec<Kind> {
    let differ = |kind: &Kind| {
        let prices = kind.of(a).zip(kind.of(b));
        prices.is_some_and(|(a, b)| (a - b).abs() > 0.005 * a.max(b))
    };
    let steps = |period: &Period| -> Vec<_> {
        period.long_context.iter().map(|step| (step.above, step.input.to_bits(), step.output.to_bits())).collect()
    };
    let mut kinds: Vec<Kind> = TOKENS.into_iter().filter(differ).collect();
    if steps(a) != steps(b) {
        kinds.push(Kind::LongContext);
    }
    kinds
}

/// Adds the prices that `ours` lacks.
pub fn complete(ours: &mut Period, theirs: &Period) {
    for kind in [Kind::CacheRead, Kind::CacheWrite, Kind::CacheWrite1h, Kind::WebSearch] {
        if kind.of(ours).is_some() || kind.of(theirs).is_none() {
            continue;
        }
        kind.copy(theirs, ours);
        for (ours, theirs) in ours.long_context.iter_mut().zip(&theirs.long_context) {
            let theirs = kind.of_step(&mut theirs.clone()).and_then(|it| *it);
            if let Some(price) = kind.of_step(ours) {
                *price = price.or(theirs);
            }
        }
    }
}

/// The prices in one line, as in `input 3, output 15, above 200k 6/22.5`.
pub fn words(period: &Period, kinds: &[Kind]) -> String {
    let price = |kind: &Kind| Some(format!("{} {}", kind.as_str(), short(kind.of(period)?)));
    let mut words: Vec<String> = TOKENS.iter().filter(|kind| kinds.contains(kind)).filter_map(price).collect();
    if kinds.contains(&Kind::LongContext) {
        words.extend(period.long_context.iter().map(|step| {
            let thousands = short(step.above as f64 / 1e3);
            format!("above {thousands}k {}/{}", short(step.input), short(step.output))
        }));
    }
    words.join(", ")
}

/// A number with at most six significant digits.
fn short(number: f64) -> String {
    format!("{number:.5e}").parse().unwrap_or(number).to_string()
}
