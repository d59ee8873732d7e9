//! A user's own prices: LiteLLM's table, genai-prices' table, or a small TOML, as entries of the catalog.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use crate::base::time::Day;

use super::catalog::{Clock, Entry, LongContext, Period, Share};
use super::spelling::provider_id;

/// Which kind of table was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableKind {
    /// LiteLLM's `model_prices_and_context_window.json`.
    LiteLlm,
    /// genai-prices' `data.json`.
    GenaiPrices,
    /// The TOML of docs/prices.md.
    Toml,
    /// What [`Table::to_json_lines`] writes.
    JsonLines,
}

impl TableKind {
    /// Its name for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LiteLlm => "LiteLLM",
            Self::GenaiPrices => "genai-prices",
            Self::Toml => "TOML",
            Self::JsonLines => "agentlogs",
        }
    }
}

/// A table of a user's own prices.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// What it was written as.
    pub kind: TableKind,
    /// Its models.
    pub entries: Vec<Entry>,
    /// How many of its models have no price per token: images, speech, embeddings.
    pub skipped: usize,
}

/// Why a table cannot be used.
#[derive(Debug, Error)]
pub enum ImportError {
    /// It is no text.
    #[error("it is not UTF-8 text")]
    NotText,
    /// It is broken JSON.
    #[error("line {line} is not the JSON of a price table: {error}")]
    Json {
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// It is broken TOML, or TOML with other keys.
    #[error("it is not a TOML of prices (docs/prices.md has its keys): {0}")]
    Toml(#[from] toml::de::Error),
    /// It is JSON of another kind.
    #[error("it is neither LiteLLM's table of models (an object) nor genai-prices' (an array of providers)")]
    Unknown,
    /// It names no price.
    #[error("it has no model with a price per token")]
    Empty,
    /// A price that cannot be.
    #[error("{model}: {problem}")]
    Price {
        /// The model.
        model: String,
        /// What is wrong.
        problem: String,
    },
}

impl Table {
    /// Reads a table of whichever kind.
    ///
    /// # Errors
    ///
    /// If it is none of them, or a price in it cannot be.
    pub fn parse(bytes: &[u8]) -> Result<Self, ImportError> {
        let text = std::str::from_utf8(bytes).map_err(|_| ImportError::NotText)?.trim_start_matches('\u{feff}').trim();
        let next = text.chars().skip(1).find(|it| !it.is_whitespace());
        let table = match text.chars().next() {
            Some('{') => Self::from_object(text)?,
            // A TOML may begin with [[models]].
            Some('[') if matches!(next, Some('{' | ']')) => {
                let value =
                    serde_json::from_str(text).map_err(|error| ImportError::Json { line: error.line(), error })?;
                Self::from_genai_prices(value)?
            }
            _ => {
                #[derive(Deserialize)]
                #[serde(deny_unknown_fields)]
                struct Own {
                    #[serde(default)]
                    models: Vec<Entry>,
                }
                let mut entries = toml::from_str::<Own>(text)?.models;
                for entry in &mut entries {
                    entry.provider = provider_id(&entry.provider).into_owned();
                }
                Self { kind: TableKind::Toml, entries, skipped: 0 }
            }
        };
        if table.entries.is_empty() {
            return Err(ImportError::Empty);
        }
        for entry in &table.entries {
            if let Some(problem) = problem(entry) {
                let model = [entry.provider.as_str(), &entry.model].join("/").trim_start_matches('/').to_owned();
                return Err(ImportError::Price { model, problem });
            }
        }
        Ok(table)
    }

    /// One entry a line: how a table is kept, and what [`Table::parse`] reads again.
    pub fn to_json_lines(&self) -> String {
        let mut text = String::new();
        for line in self.entries.iter().filter_map(|it| serde_json::to_string(it).ok()) {
            let _ = writeln!(text, "{line}");
        }
        text
    }

    fn from_object(text: &str) -> Result<Self, ImportError> {
        let first = text.lines().next().unwrap_or_default();
        if serde_json::from_str::<Entry>(first).is_ok() {
            let entry = |(index, line)| {
                serde_json::from_str(line).map_err(|error| ImportError::Json { line: index + 1, error })
            };
            let entries = text.lines().enumerate().filter(|(_, it)| !it.trim().is_empty()).map(entry);
            return Ok(Self { kind: TableKind::JsonLines, entries: entries.collect::<Result<_, _>>()?, skipped: 0 });
        }
        let value: Value =
            serde_json::from_str(text).map_err(|error| ImportError::Json { line: error.line(), error })?;
        if value.get("providers").is_some_and(Value::is_array) {
            return Self::from_genai_prices(value.get("providers").cloned().unwrap_or_default());
        }
        let Value::Object(models) = value else { return Err(ImportError::Unknown) };
        if !models.values().any(|it| it.get("litellm_provider").is_some()) {
            return Err(ImportError::Unknown);
        }
        let mut table = Self { kind: TableKind::LiteLlm, entries: Vec::new(), skipped: 0 };
        for (name, model) in &models {
            match litellm_entry(name, model) {
                Some(entry) => table.entries.push(entry),
                None => table.skipped += usize::from(name != "sample_spec"),
            }
        }
        Ok(table)
    }

    fn from_genai_prices(value: Value) -> Result<Self, ImportError> {
        let Value::Array(providers) = value else { return Err(ImportError::Unknown) };
        if !providers.iter().all(|it| it.get("models").is_some_and(Value::is_array)) {
            return Err(ImportError::Unknown);
        }
        let mut table = Self { kind: TableKind::GenaiPrices, entries: Vec::new(), skipped: 0 };
        for provider in &providers {
            let id = provider.get("id").and_then(Value::as_str).unwrap_or_default();
            for model in provider.get("models").and_then(Value::as_array).into_iter().flatten() {
                match genai_entry(id, model) {
                    Some(entry) => table.entries.push(entry),
                    None => table.skipped += 1,
                }
            }
        }
        Ok(table)
    }
}

/// What is wrong with an entry's prices, if something is.
pub(super) fn problem(entry: &Entry) -> Option<String> {
    let price = |it: &f64| it.is_finite() && (0.0..1e6).contains(it);
    if entry.model.trim().is_empty() {
        return Some("a model without a name".to_owned());
    }
    if entry.prices.is_empty() {
        return Some("no prices".to_owned());
    }
    for period in &entry.prices {
        let mut amounts = vec![period.input, period.output];
        amounts.extend(
            [period.cache_read, period.cache_write, period.cache_write_1h, period.web_search].into_iter().flatten(),
        );
        for step in &period.long_context {
            amounts.extend([step.input, step.output]);
            amounts.extend([step.cache_read, step.cache_write, step.cache_write_1h].into_iter().flatten());
        }
        if let Some(wrong) = amounts.iter().find(|it| !price(it)) {
            return Some(format!("{wrong} is no price in dollars per million tokens"));
        }
        if let (Some(from), Some(until)) = (period.from, period.until)
            && from >= until
        {
            return Some(format!("prices from {from} until {until} hold on no day"));
        }
        if period.long_context.iter().any(|it| it.above <= 0) {
            return Some("`above` is a number of tokens greater than 0".to_owned());
        }
        if !period.long_context.is_sorted_by(|a, b| a.above < b.above) {
            return Some("long_context has to be in order of size".to_owned());
        }
    }
    if !entry.prices.is_sorted_by_key(|it| it.from) {
        return Some("prices have to be in order of time".to_owned());
    }
    let shares = entry.tiers.values().flat_map(|it| [it.input, it.output, it.cache_read, it.cache_write]);
    let wrong = shares.chain(entry.regions.values().copied()).find(|it| !(0.0..1e3).contains(it));
    wrong.map(|it| format!("{it} is no share of a price"))
}

fn per_million(model: &Value, key: &str) -> Option<f64> {
    // Twelve digits: 3e-07 times a million is to be 0.3.
    let price = model.get(key)?.as_f64()? * 1e6;
    format!("{price:.9}").parse().ok()
}

/// The prices of one suffix of LiteLLM's keys. A free cache write means that it is billed as input.
fn litellm_rates(model: &Value, suffix: &str) -> [Option<f64>; 5] {
    let price = |key: &str| per_million(model, &format!("{key}{suffix}"));
    [
        price("input_cost_per_token"),
        price("output_cost_per_token"),
        price("cache_read_input_token_cost").filter(|it| *it > 0.0),
        price("cache_creation_input_token_cost").filter(|it| *it > 0.0),
        price("cache_creation_input_token_cost_above_1hr").filter(|it| *it > 0.0),
    ]
}

fn litellm_entry(name: &str, model: &Value) -> Option<Entry> {
    if !matches!(model.get("mode")?.as_str()?, "chat" | "responses" | "completion") {
        return None;
    }
    let provider = provider_id(model.get("litellm_provider")?.as_str()?).into_owned();
    let [input, output, cache_read, cache_write, cache_write_1h] = litellm_rates(model, "");
    let (input, output) = (input?, output?);
    if input <= 0.0 && output <= 0.0 {
        // LiteLLM's word for a price that it does not know.
        return None;
    }
    let mut period = Period { input, output, cache_read, cache_write, cache_write_1h, ..Period::default() };
    let sizes: BTreeSet<i64> = model
        .as_object()?
        .keys()
        .filter_map(|it| it.strip_prefix("input_cost_per_token_above_")?.strip_suffix("k_tokens")?.parse().ok())
        .collect();
    for size in sizes {
        let long = litellm_rates(model, &format!("_above_{size}k_tokens"));
        let or_base = |long: Option<f64>, base: Option<f64>| long.filter(|_| base.is_some()).or(base);
        period.long_context.push(LongContext {
            // xAI's step begins at its size, not above it.
            above: size * 1000 - i64::from(provider == "xai"),
            input: long[0].unwrap_or(input),
            output: long[1].unwrap_or(output),
            cache_read: or_base(long[2], cache_read),
            cache_write: or_base(long[3], cache_write),
            cache_write_1h: or_base(long[4], cache_write_1h),
        });
    }
    let search = model.get("search_context_cost_per_query").and_then(|it| it.get("search_context_size_medium"));
    period.web_search = search.and_then(Value::as_f64).map(|it| it * 1e3);

    let mut tiers = BTreeMap::new();
    for (word, suffix) in [("batch", "_batches"), ("flex", "_flex"), ("priority", "_priority")] {
        let tier = litellm_rates(model, suffix);
        if let (Some(tier_input), Some(tier_output)) = (tier[0], tier[1])
            && input > 0.0
            && output > 0.0
        {
            let cache = |tier: Option<f64>, base: Option<f64>| match (tier, base) {
                (Some(tier), Some(base)) => tier / base,
                (None, Some(_)) => 1.0,
                (_, None) => tier_input / input,
            };
            let share = Share {
                input: tier_input / input,
                output: tier_output / output,
                cache_read: cache(tier[2], cache_read),
                cache_write: cache(tier[3], cache_write),
                long_context: None,
            };
            tiers.insert(word.to_owned(), share);
        }
    }
    let special = model.get("provider_specific_entry");
    if let Some(fast) = special.and_then(|it| it.get("fast")).and_then(Value::as_f64) {
        tiers.insert("fast".to_owned(), Share::all(fast));
    }
    let mut regions = BTreeMap::new();
    if let Some(us) = special.and_then(|it| it.get("us")).and_then(Value::as_f64) {
        regions.insert("us".to_owned(), us);
    }
    // LiteLLM writes its own provider before the name.
    let model = match name.split_once('/') {
        Some((first, rest)) if *provider_id(first) == provider => rest,
        _ => name,
    };
    Some(Entry { provider, model: model.to_owned(), prices: vec![period], tiers, regions, ..Entry::default() })
}

/// A price of genai-prices: a number, or one by size of the prompt.
fn genai_price(prices: &Value, key: &str) -> (Option<f64>, Vec<(i64, f64)>) {
    let number = |it: &Value| it.as_f64().or_else(|| it.as_str()?.parse().ok());
    let Some(price) = prices.get(key) else { return (None, Vec::new()) };
    let tiers = price.get("tiers").and_then(Value::as_array).into_iter().flatten();
    let steps = tiers.filter_map(|it| Some((it.get("start")?.as_i64()?, number(it.get("price")?)?))).collect();
    (number(price).or_else(|| number(price.get("base")?)), steps)
}

fn genai_period(prices: &Value) -> Option<Period> {
    let [input, output, cache_read, cache_write, cache_write_1h] =
        ["input", "output", "cache_read", "cache_write", "cache_write_1h"]
            .map(|it| genai_price(prices, &format!("{it}_mtok")));
    let step = |(base, steps): &(Option<f64>, Vec<(i64, f64)>), above: i64| {
        steps.iter().find(|it| it.0 == above).map(|it| it.1).or(*base)
    };
    let sizes: BTreeSet<i64> =
        [&input, &output, &cache_read].iter().flat_map(|it| it.1.iter().map(|it| it.0)).collect();
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
        web_search: genai_price(prices, "web_searches_kcount").0,
        long_context: long_context.collect(),
        ..Period::default()
    })
}

fn genai_entry(provider: &str, model: &Value) -> Option<Entry> {
    let mut prices: Vec<Period> = Vec::new();
    let listed = model.get("prices")?;
    for it in listed.as_array().map_or(std::slice::from_ref(listed), Vec::as_slice) {
        let mut period = genai_period(it.get("prices").unwrap_or(it))?;
        let limit = |key: &str| it.get("constraint").and_then(|it| it.get(key)).cloned();
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
    spelled_out(model.get("match").unwrap_or(&Value::Null), &mut aliases);
    aliases.remove(&id);
    let provider = provider_id(provider).into_owned();
    Some(Entry { provider, model: id, aliases: aliases.into_iter().collect(), prices, ..Entry::default() })
}

/// The names that a clause spells out; what only begins or contains something is no name.
fn spelled_out(clause: &Value, names: &mut BTreeSet<String>) {
    if let Some(name) = clause.get("equals").or_else(|| clause.get("starts_with")).and_then(Value::as_str) {
        names.insert(name.trim_end_matches(['-', '@']).to_owned());
    }
    for part in ["or", "and"].iter().filter_map(|it| clause.get(*it)?.as_array()).flatten() {
        spelled_out(part, names);
    }
}
