//! Entries of genai-prices' table `data.json`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::clock::Clock;
use super::entry::Entry;
use super::rates::{LongContext, Period};
use super::spelling::provider_id;
use crate::base::time::Day;

/// A price, which is a number or depends on the size of the prompt: the base price, and the steps above it.
fn price(prices: &Value, key: &str) -> (Option<f64>, Vec<(i64, f64)>) {
    let number = |it: &Value| it.as_f64().or_else(|| it.as_str()?.parse().ok());
    let Some(price) = prices.get(key) else { return (None, Vec::new()) };
    let tiers = price.get("tiers").and_then(Value::as_array).into_iter().flatten();
    let step = |tier: &Value| Some((tier.get("start")?.as_i64()?, number(tier.get("price")?)?));
    let steps = tiers.filter_map(step).collect();
    (number(price).or_else(|| number(price.get("base")?)), steps)
}

fn period(prices: &Value) -> Option<Period> {
    let [input, output, cache_read, cache_write, cache_write_1h] =
        ["input", "output", "cache_read", "cache_write", "cache_write_1h"]
            .map(|kind| price(prices, &format!("{kind}_mtok")));
    let step = |(base, steps): &(Option<f64>, Vec<(i64, f64)>), above: i64| {
        steps.iter().find(|(size, _)| *size == above).map(|(_, price)| *price).or(*base)
    };
    let sizes: BTreeSet<i64> =
        [&input, &output, &cache_read].iter().flat_map(|(_, steps)| steps.iter().map(|(size, _)| *size)).collect();
    let long_context = sizes.into_iter().filter_map(|above| {
        Some(LongContext {
            above,
            input: step(&input, above)?,
            output: step(&output, above)?,
            cache_read: step(&cache_read, above),
            cache_write: step(&cache_write, above),
            cache_write_1h: step(&cache_write_1h, above),
        })
    });
    Some(Period {
        input: input.0?,
        output: output.0?,
        cache_read: cache_read.0,
        cache_write: cache_write.0,
        cache_write_1h: cache_write_1h.0,
        web_search: price(prices, "web_searches_kcount").0,
        long_context: long_context.collect(),
        ..Period::default()
    })
}

/// The entry of a model; `None` if the model has no price per token.
pub(super) fn entry(provider: &str, model: &Value) -> Option<Entry> {
    let mut prices: Vec<Period> = Vec::new();
    let listed = model.get("prices")?;
    for item in listed.as_array().map_or(std::slice::from_ref(listed), Vec::as_slice) {
        let mut period = period(item.get("prices").unwrap_or(item))?;
        let limit = |key: &str| item.get("constraint")?.get(key).cloned();
        period.from = limit("start_date").and_then(|it| serde_json::from_value::<Day>(it).ok());
        if let (Some(Value::String(start)), Some(Value::String(end))) = (limit("start_time"), limit("end_time")) {
            let clock = |text: String| serde_json::from_value::<Clock>(text.get(..5)?.into()).ok();
            period.hours = vec![[clock(start)?, clock(end)?]];
            period.from = prices.iter().filter_map(|it| it.from).max();
        }
        prices.push(period);
    }
    let id = model.get("id")?.as_str()?.to_owned();
    let mut aliases = BTreeSet::new();
    add_names(model.get("match").unwrap_or(&Value::Null), &mut aliases);
    aliases.remove(&id);
    let provider = provider_id(provider).into_owned();
    Some(Entry { provider, model: id, aliases: aliases.into_iter().collect(), prices, ..Entry::default() })
}

/// Adds the complete names in a clause. A clause about a part of a name contains no name.
fn add_names(clause: &Value, names: &mut BTreeSet<String>) {
    if let Some(name) = clause.get("equals").or_else(|| clause.get("starts_with")).and_then(Value::as_str) {
        names.insert(name.trim_end_matches(['-', '@']).to_owned());
    }
    for part in ["or", "and"].iter().filter_map(|it| clause.get(*it)?.as_array()).flatten() {
        add_names(part, names);
    }
}
