//! Entries of LiteLLM's table `model_prices_and_context_window.json`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::entry::Entry;
use super::model_name::without_host;
use super::rates::{LongContext, Period};
use super::share::Share;
use super::spelling::provider_id;
use super::tier::round;

impl Entry {
    /// The entry of a model of LiteLLM's table; `None` if the model has no price per token. Its prices have no history.
    pub fn from_litellm(name: &str, model: &Value) -> Option<Self> {
        if !matches!(model.get("mode")?.as_str()?, "chat" | "responses" | "completion") {
            return None;
        }
        let provider = provider_id(model.get("litellm_provider")?.as_str()?).into_owned();
        // The step of xAI includes its size, others begin above it.
        let offset = i64::from(provider == "xai");
        let mut period = by_ranges(model).or_else(|| by_keys(model, "", offset))?;
        if period.input <= 0.0 && period.output <= 0.0 {
            // LiteLLM lists unknown prices as 0.
            return None;
        }
        let sizes = model.get("search_context_cost_per_query");
        let search = sizes.and_then(|sizes| sizes.get("search_context_size_medium")?.as_f64());
        period.web_search = search.filter(|price| *price > 0.0).map(|price| round(price * 1e3));
        let (tiers, regions) = (tiers(model, &period, offset), regions(model));
        let (model, aliases) = names(&provider, name);
        Some(Self { provider, model, aliases, prices: vec![period], tiers, regions, source: None })
    }
}

/// The name of a model and its other names.
fn names(provider: &str, name: &str) -> (String, Vec<String>) {
    // LiteLLM writes its name of the provider before the name of the model.
    let name = match name.split_once('/') {
        Some((first, rest)) if *provider_id(first) == *provider => rest,
        _ => name,
    };
    // At Bedrock, regions without a price of their own have that of the name without a region.
    match without_host(provider, name) {
        Some((model, None)) if provider == "bedrock" => (model, vec![name.to_owned()]),
        _ => (name.to_owned(), Vec::new()),
    }
}

/// The prices of a model that has them only by ranges of the size of the prompt.
fn by_ranges(model: &Value) -> Option<Period> {
    if price(model, "input_cost_per_token").is_some_and(|price| price != 0.0) {
        return None;
    }
    let start = |range: &Value| range.get("range")?.get(0)?.as_f64();
    let ranges = model.get("tiered_pricing")?.as_array()?;
    let mut ranges: Vec<_> = ranges.iter().filter_map(|range| Some((start(range)?, rates(range, "")))).collect();
    ranges.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let (_, first) = ranges.first()?;
    let mut period = period(*first)?;
    #[expect(clippy::cast_possible_truncation, reason = "a number of tokens")]
    let step = |(start, rates): &(f64, Listed)| step(*start as i64, *rates, &period);
    period.long_context = ranges.iter().skip(1).map(step).collect();
    Some(period)
}

/// The prices under keys with a suffix, with those of long requests.
fn by_keys(model: &Value, suffix: &str, offset: i64) -> Option<Period> {
    let mut period = period(rates(model, suffix))?;
    let size_of = |key: &String| -> Option<i64> {
        let key = key.strip_prefix("input_cost_per_token_above_")?.strip_suffix(suffix)?;
        key.strip_suffix("k_tokens")?.parse().ok().filter(|size| *size <= i64::MAX / 1000)
    };
    let sizes: BTreeSet<i64> = model.as_object()?.keys().filter_map(size_of).collect();
    let step = |size: i64| {
        let mut listed = rates(model, &format!("_above_{size}k_tokens{suffix}"));
        // A price of cached tokens that ordinary requests do not have is not used; one that is not listed does not change.
        let standard = [period.cache_read, period.cache_write, period.cache_write_1h];
        for (listed, standard) in listed.iter_mut().skip(2).zip(standard) {
            *listed = listed.filter(|_| standard.is_some()).or(standard);
        }
        step(size * 1000 - offset, listed, &period)
    };
    period.long_context = sizes.into_iter().map(step).collect();
    Some(period)
}

/// The service tiers and speeds that have prices, as shares of the standard prices.
fn tiers(model: &Value, standard: &Period, offset: i64) -> BTreeMap<String, Share> {
    let tiers = [("batch", "_batches"), ("flex", "_flex"), ("priority", "_priority")];
    let share = |suffix: &str| {
        let share = Share::between(&by_keys(model, suffix, offset)?, standard)?;
        (share != Share::WHOLE).then_some(share)
    };
    let mut shares: BTreeMap<_, _> =
        tiers.into_iter().filter_map(|(tier, suffix)| Some((tier.to_owned(), share(suffix)?))).collect();
    shares.extend(special(model, "fast").map(|share| ("fast".to_owned(), Share::all(share))));
    shares
}

/// The regions that have prices, as shares of the standard prices.
fn regions(model: &Value) -> BTreeMap<String, f64> {
    let mut regions: BTreeMap<_, _> = special(model, "us").map(|share| ("us".to_owned(), share)).into_iter().collect();
    for region in ["us", "eu"] {
        let uplift = model.get(format!("regional_processing_uplift_multiplier_{region}")).and_then(Value::as_f64);
        regions.extend(uplift.filter(|share| *share > 0.0).map(|share| (region.to_owned(), share)));
    }
    regions
}

/// A share of the standard price that only one provider has.
fn special(model: &Value, key: &str) -> Option<f64> {
    model.get("provider_specific_entry")?.get(key)?.as_f64().filter(|share| *share > 0.0)
}

/// Dollars per million tokens, as far as they are listed: input, output, cache read, cache write, cache write for an hour.
type Listed = [Option<f64>; 5];

/// The prices of ordinary requests; `None` without those of input and output.
fn period([input, output, cache_read, cache_write, cache_write_1h]: Listed) -> Option<Period> {
    Some(Period { input: input?, output: output?, cache_read, cache_write, cache_write_1h, ..Period::default() })
}

/// The prices of long requests. Input and output have the standard price if they are not listed.
fn step(above: i64, listed: Listed, standard: &Period) -> LongContext {
    let [input, output, cache_read, cache_write, cache_write_1h] = listed;
    let (input, output) = (input.unwrap_or(standard.input), output.unwrap_or(standard.output));
    LongContext { above, input, output, cache_read, cache_write, cache_write_1h }
}

/// The prices under keys with a suffix. A price of 0 for the cache means that it is billed as input.
fn rates(model: &Value, suffix: &str) -> Listed {
    let price = |key: &str| price(model, &format!("{key}{suffix}"));
    let cache_price = |key: &str| price(key).filter(|price| *price > 0.0);
    [
        price("input_cost_per_token"),
        price("output_cost_per_token"),
        cache_price("cache_read_input_token_cost"),
        cache_price("cache_creation_input_token_cost"),
        cache_price("cache_creation_input_token_cost_above_1hr"),
    ]
}

/// A price per token as a price per million tokens.
fn price(model: &Value, key: &str) -> Option<f64> {
    // Nine significant digits, so that 3e-07 times a million is 0.3.
    let price = model.get(key)?.as_f64()? * 1e6;
    format!("{price:.8e}").parse().ok()
}
