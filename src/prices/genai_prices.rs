//! Entries of genai-prices' table `data.json`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::clock::Clock;
use super::entry::Entry;
use super::model_name::is_number;
use super::rates::{LongContext, Period};
use super::share::Share;
use super::spelling::{fold, provider_id};
use crate::base::time::Day;

impl Entry {
    /// The entry of a model of genai-prices' table; `None` if the model has no price per token. Service tiers are shares of the prices
    /// that apply on `today`.
    pub fn from_genai_prices(provider: &str, model: &Value, today: Day) -> Option<Self> {
        let mut entry = Self {
            provider: provider_id(provider).into_owned(),
            model: model.get("id")?.as_str()?.to_owned(),
            prices: periods(model.get("prices")?)?,
            ..Self::default()
        };
        add_names(model.get("match").unwrap_or(&Value::Null), &mut entry);
        if let Some(standard) = entry.period(None, today) {
            entry.tiers = tiers(model, standard, today);
        }
        Some(entry)
    }
}

/// All prices of a model, in order of time.
fn periods(listed: &Value) -> Option<Vec<Period>> {
    let mut prices: Vec<Period> = Vec::new();
    for item in listed.as_array().map_or(std::slice::from_ref(listed), Vec::as_slice) {
        let mut period = period(item.get("prices").unwrap_or(item))?;
        period.from = start_day(item);
        let limits = ["start_time", "end_time"].map(|key| item.get("constraint")?.get(key).filter(|it| !it.is_null()));
        if limits.iter().any(Option::is_some) {
            let [start, end] = limits.map(|limit| clock(limit?));
            // Hours that an earlier price was divided by end with it: they are those of the newest price.
            period.from = prices.iter().filter_map(|it| it.from).max();
            period.hours = vec![[start?, end?]];
            if let Some(last) = prices.last_mut().filter(|last| has_same_rates(last, &period)) {
                last.hours.append(&mut period.hours);
                continue;
            }
        }
        prices.push(period);
    }
    Some(prices)
}

/// Whether two prices by hour differ in nothing but their hours.
fn has_same_rates(a: &Period, b: &Period) -> bool {
    let rates = |period: &Period| Period { from: None, hours: Vec::new(), ..period.clone() };
    !a.hours.is_empty() && rates(a) == rates(b)
}

/// The first day on which a price applies, if it has one.
fn start_day(item: &Value) -> Option<Day> {
    serde_json::from_value(item.get("constraint")?.get("start_date")?.clone()).ok()
}

/// A limit of the hours in which a price applies.
fn clock(limit: &Value) -> Option<Clock> {
    // Without seconds.
    serde_json::from_value(limit.as_str()?.get(..5)?.into()).ok()
}

fn period(prices: &Value) -> Option<Period> {
    let rates = ["input", "output", "cache_read", "cache_write", "cache_write_1h"]
        .map(|kind| price(prices, &format!("{kind}_mtok")));
    let sizes: BTreeSet<i64> = rates.iter().flat_map(|(_, steps)| steps.iter().map(|(size, _)| *size)).collect();
    let long_context = sizes.into_iter().filter_map(|above| {
        let [input, output, cache_read, cache_write, cache_write_1h] = rates
            .each_ref()
            .map(|(base, steps)| steps.iter().find(|(size, _)| *size == above).map(|(_, price)| *price).or(*base));
        Some(LongContext { above, input: input?, output: output?, cache_read, cache_write, cache_write_1h })
    });
    let long_context = long_context.collect();
    let web_search = price(prices, "web_searches_kcount").0;
    let [input, output, cache_read, cache_write, cache_write_1h] = rates.each_ref().map(|(base, _)| *base);
    let (input, output) = (input?, output?);
    Some(Period {
        input,
        output,
        cache_read,
        cache_write,
        cache_write_1h,
        web_search,
        long_context,
        ..Period::default()
    })
}

/// A price, which is a number or depends on the size of the prompt: the base price, and the steps above it.
fn price(prices: &Value, key: &str) -> (Option<f64>, Vec<(i64, f64)>) {
    let number = |it: &Value| it.as_f64().or_else(|| it.as_str()?.parse().ok());
    let Some(price) = prices.get(key) else { return (None, Vec::new()) };
    let tiers = price.get("tiers").and_then(Value::as_array).into_iter().flatten();
    let step = |tier: &Value| Some((tier.get("start")?.as_i64()?, number(tier.get("price")?)?));
    let steps = tiers.filter_map(step).collect();
    (number(price).or_else(|| number(price.get("base")?)), steps)
}

/// The service tiers and speeds that have prices on `today`, as shares of the standard prices.
fn tiers(model: &Value, standard: &Period, today: Day) -> BTreeMap<String, Share> {
    let mut tiers: BTreeMap<&str, Option<Share>> = BTreeMap::new();
    for variant in model.get("price_variants").and_then(Value::as_array).into_iter().flatten() {
        // The newest price of a tier is the first one.
        if let Some(tier) = tier(variant).filter(|_| start_day(variant).is_none_or(|start| start <= today)) {
            let prices = variant.get("prices").and_then(period);
            tiers.entry(tier).or_insert_with(|| Share::between(&prices?, standard));
        }
    }
    if tiers.get("fast") == tiers.get("priority") {
        // OpenAI's other word for it; a speed `fast` is looked up as priority too.
        tiers.remove("fast");
    }
    let listed = tiers.into_iter().filter_map(|(tier, share)| Some((tier.to_owned(), share?)));
    listed.filter(|(_, share)| *share != Share::WHOLE).collect()
}

/// The service tier or speed of a variant of the prices, if it depends on nothing else.
fn tier(variant: &Value) -> Option<&str> {
    let conditions = variant.get("when")?.as_object().filter(|it| it.len() == 1)?;
    let tier = ["service_tier", "speed", "processing"].iter().find_map(|key| conditions.get(*key)?.as_str())?;
    matches!(tier, "batch" | "flex" | "priority" | "fast").then_some(tier)
}

/// Adds the complete names in a clause. A clause about a part of a name contains no name.
fn add_names(clause: &Value, entry: &mut Entry) {
    let text = |key: &str| clause.get(key).and_then(Value::as_str);
    let start =
        text("starts_with").map(|start| start.trim_end_matches(['-', '@'])).filter(|start| !ends_in_year(start));
    if let Some(name) = text("equals").or(start)
        && !entry.names().any(|known| fold(known) == fold(name))
    {
        entry.aliases.push(name.to_owned());
    }
    for part in ["or", "and"].iter().filter_map(|it| clause.get(*it)?.as_array()).flatten() {
        add_names(part, entry);
    }
}

/// Whether a name ends in the year of a date: `gpt-4-turbo-2024`.
fn ends_in_year(name: &str) -> bool {
    name.rsplit_once('-').is_some_and(|(_, word)| word.len() == 4 && word.starts_with("20") && is_number(word))
}
