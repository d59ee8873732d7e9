//! Entries of LiteLLM's table `model_prices_and_context_window.json`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::entry::Entry;
use super::rates::{LongContext, Period, Share};
use super::spelling::provider_id;

/// The entry of a model; `None` if the model has no price per token.
pub(super) fn entry(name: &str, model: &Value) -> Option<Entry> {
    if !matches!(model.get("mode")?.as_str()?, "chat" | "responses" | "completion") {
        return None;
    }
    let provider = provider_id(model.get("litellm_provider")?.as_str()?).into_owned();
    let mut period = standard_prices(model)?;
    // The step of xAI includes its size, others begin above it.
    let offset = i64::from(provider == "xai");
    period.long_context = steps(model, &period, offset)?;
    let mut tiers = tiers(model, &period);
    let special = |key: &str| model.get("provider_specific_entry")?.get(key)?.as_f64();
    tiers.extend(special("fast").map(|share| ("fast".to_owned(), Share::all(share))));
    let regions = special("us").map(|share| ("us".to_owned(), share)).into_iter().collect();
    // LiteLLM writes its name of the provider before the name of the model.
    let model = match name.split_once('/') {
        Some((first, rest)) if *provider_id(first) == provider => rest,
        _ => name,
    };
    Some(Entry { provider, model: model.to_owned(), prices: vec![period], tiers, regions, ..Entry::default() })
}

/// The prices of requests of ordinary size.
fn standard_prices(model: &Value) -> Option<Period> {
    let [input, output, cache_read, cache_write, cache_write_1h] = rates(model, "");
    let (input, output) = (input?, output?);
    if input <= 0.0 && output <= 0.0 {
        // LiteLLM lists unknown prices as 0.
        return None;
    }
    let search = model.get("search_context_cost_per_query").and_then(|sizes| sizes.get("search_context_size_medium"));
    let web_search = search.and_then(Value::as_f64).map(|price| price * 1e3);
    Some(Period { input, output, cache_read, cache_write, cache_write_1h, web_search, ..Period::default() })
}

/// The prices of long requests, by size. `offset` is subtracted from each size.
fn steps(model: &Value, standard: &Period, offset: i64) -> Option<Vec<LongContext>> {
    let size_of = |key: &String| -> Option<i64> {
        key.strip_prefix("input_cost_per_token_above_")?.strip_suffix("k_tokens")?.parse().ok()
    };
    let sizes: BTreeSet<i64> = model.as_object()?.keys().filter_map(size_of).collect();
    let or_standard = |long: Option<f64>, standard: Option<f64>| long.filter(|_| standard.is_some()).or(standard);
    let step = |size: i64| {
        let [input, output, cache_read, cache_write, cache_write_1h] = rates(model, &format!("_above_{size}k_tokens"));
        LongContext {
            above: size * 1000 - offset,
            input: input.unwrap_or(standard.input),
            output: output.unwrap_or(standard.output),
            cache_read: or_standard(cache_read, standard.cache_read),
            cache_write: or_standard(cache_write, standard.cache_write),
            cache_write_1h: or_standard(cache_write_1h, standard.cache_write_1h),
        }
    };
    Some(sizes.into_iter().map(step).collect())
}

/// The service tiers that have prices, as shares of the standard prices.
fn tiers(model: &Value, standard: &Period) -> BTreeMap<String, Share> {
    let tiers = [("batch", "_batches"), ("flex", "_flex"), ("priority", "_priority")];
    let share = |suffix: &str| {
        let [input, output, cache_read, cache_write, _] = rates(model, suffix);
        if standard.input <= 0.0 || standard.output <= 0.0 {
            return None;
        }
        let input = input? / standard.input;
        let cache = |tier: Option<f64>, standard: Option<f64>| match (tier, standard) {
            (Some(tier), Some(standard)) => tier / standard,
            (None, Some(_)) => 1.0,
            (_, None) => input,
        };
        Some(Share {
            input,
            output: output? / standard.output,
            cache_read: cache(cache_read, standard.cache_read),
            cache_write: cache(cache_write, standard.cache_write),
            long_context: None,
        })
    };
    tiers.into_iter().filter_map(|(tier, suffix)| Some((tier.to_owned(), share(suffix)?))).collect()
}

/// The prices under keys with a suffix: input, output, cache read, cache write, cache write for an hour. A price of 0 for
/// the cache means that it is billed as input.
fn rates(model: &Value, suffix: &str) -> [Option<f64>; 5] {
    let price = |key: &str| per_million(model, &format!("{key}{suffix}"));
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
fn per_million(model: &Value, key: &str) -> Option<f64> {
    // Rounded, so that 3e-07 times a million is 0.3.
    let price = model.get(key)?.as_f64()? * 1e6;
    format!("{price:.9}").parse().ok()
}
