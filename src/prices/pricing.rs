//! The price of a row: the rates of its model at its time, times its tokens.

use foldhash::{HashMap, HashMapExt as _};

use crate::base::time::Time;
use crate::model::session::{Cost, CostParts, Tokens};

use super::catalog::{Catalog, Entry, LongContext, Period, Rates, Share};
use super::names::Found;

/// What is to be priced: one row of the ledger.
#[derive(Debug, Clone, Copy, Default)]
pub struct Request<'a> {
    /// As logged.
    pub provider: Option<&'a str>,
    /// As logged.
    pub model: Option<&'a str>,
    /// When; the newest price if not known.
    pub at: Option<Time>,
    /// How much.
    pub tokens: Tokens,
    /// Searches that the provider ran.
    pub web_searches: Option<i64>,
    /// As logged.
    pub service_tier: Option<&'a str>,
    /// As logged.
    pub speed: Option<&'a str>,
    /// Where it was computed, as logged.
    pub inference_geo: Option<&'a str>,
    /// Whether it is the sum of several requests: those have no size of a prompt, so the lowest prices hold.
    pub is_sum: bool,
}

/// A price, and how it came about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Priced<'c> {
    /// US dollars by kind.
    pub parts: CostParts,
    /// What was multiplied.
    pub terms: Terms<'c>,
}

/// The terms of a price.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms<'c> {
    /// The model.
    pub entry: &'c Entry,
    /// Its prices at the time.
    pub period: &'c Period,
    /// The step for long requests, where the request was one.
    pub long_context: Option<&'c LongContext>,
    /// The service tier or speed other than standard, and its share of the standard price.
    pub tier: Option<(&'c str, Share)>,
    /// Whether the log names a tier for which the table has no price, so that the standard one was taken.
    pub is_tier_unknown: bool,
    /// The region with a price of its own, and its share.
    pub region: Option<(&'c str, f64)>,
    /// All of that together, in US dollars per million tokens.
    pub rates: Rates,
    /// US dollars per thousand searches.
    pub web_search: Option<f64>,
}

impl Priced<'_> {
    /// The sum of the parts.
    pub fn total(&self) -> f64 {
        self.parts.total()
    }

    /// As the ledger keeps it.
    pub fn cost(&self) -> Cost {
        Cost { total: self.total(), parts: Some(self.parts) }
    }
}

/// Why something has no price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unpriced {
    /// The log names no model.
    NoModel,
    /// No model of the catalog has this name.
    UnknownModel,
    /// Input or output is not known.
    UnknownTokens,
    /// The model is known, but no price at that time.
    NotAtThatTime,
    /// It ran at a speed for which no price is known.
    UnknownSpeed,
}

impl Unpriced {
    /// In words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoModel => "the log names no model",
            Self::UnknownModel => "no model of the catalog has this name",
            Self::UnknownTokens => "input or output tokens are not known",
            Self::NotAtThatTime => "no price at that time",
            Self::UnknownSpeed => "no price for this speed",
        }
    }
}

impl<'c> Found<'c> {
    /// What a request to this model cost.
    ///
    /// # Errors
    ///
    /// Why it has no price.
    pub fn price(&self, request: &Request<'_>) -> Result<Priced<'c>, Unpriced> {
        let Tokens { input: Some(input), output: Some(output), .. } = request.tokens else {
            return Err(Unpriced::UnknownTokens);
        };
        let (entry, period) = self
            .entries
            .iter()
            .find_map(|entry| Some((*entry, entry.period(request.at, self.today)?)))
            .ok_or(Unpriced::NotAtThatTime)?;

        let prompt = if request.is_sum { 0 } else { request.tokens.context().unwrap_or(0) };
        let long_context = period.long_context(prompt);
        let mut rates = long_context.map_or_else(|| period.rates(), LongContext::rates);

        let mut tier = None;
        let mut is_tier_unknown = false;
        let is_fast = self.is_fast || request.speed.is_some_and(|it| it.eq_ignore_ascii_case("fast"));
        if is_fast {
            // OpenAI sells speed as its priority tier.
            tier = Some(share(entry, &["fast", "priority"]).ok_or(Unpriced::UnknownSpeed)?);
        } else if let Some(word) = request.service_tier.filter(|it| !is_standard(it)) {
            let word = word.to_ascii_lowercase();
            tier = if word == "fast" { share(entry, &["fast", "priority"]) } else { share(entry, &[word]) };
            is_tier_unknown = tier.is_none();
        }
        if let Some((_, share)) = tier {
            rates = rates.times(if long_context.is_some() { share.of_long_context() } else { share });
        }

        let region = [self.region.as_deref(), request.inference_geo].into_iter().flatten().find_map(|it| {
            let (name, share) = entry.regions.get_key_value(it.to_ascii_lowercase().as_str())?;
            Some((name.as_str(), *share))
        });
        if let Some((_, share)) = region {
            rates = rates.times(Share::all(share));
        }

        let cache_read = request.tokens.cache_read.unwrap_or(0);
        let cache_write = request.tokens.cache_write.unwrap_or(0);
        let cache_write_1h = request.tokens.cache_write_1h.unwrap_or(0).clamp(0, cache_write.max(0));
        let parts = CostParts {
            input: dollars(input, rates.input),
            output: dollars(output, rates.output),
            cache_read: dollars(cache_read, rates.cache_read),
            cache_write: dollars(cache_write - cache_write_1h, rates.cache_write)
                + dollars(cache_write_1h, rates.cache_write_1h),
            web_search: request.web_searches.unwrap_or(0) as f64 * period.web_search.unwrap_or(0.0) / 1e3,
        };
        let web_search = period.web_search;
        let terms = Terms { entry, period, long_context, tier, is_tier_unknown, region, rates, web_search };
        Ok(Priced { parts, terms })
    }
}

fn dollars(tokens: i64, rate: f64) -> f64 {
    tokens as f64 * rate / 1e6
}

fn share<'c>(entry: &'c Entry, words: &[impl AsRef<str>]) -> Option<(&'c str, Share)> {
    words.iter().find_map(|it| entry.tiers.get_key_value(it.as_ref())).map(|(word, share)| (word.as_str(), *share))
}

/// Words for what one gets without asking: Anthropic's, OpenAI's, Groq's.
fn is_standard(tier: &str) -> bool {
    ["standard", "default", "auto", "on_demand", ""].iter().any(|it| tier.eq_ignore_ascii_case(it))
}

/// Prices rows, and looks up each name once.
#[derive(Debug)]
pub struct Pricer<'c> {
    catalog: &'c Catalog,
    /// By provider, then by model, as logged.
    known: HashMap<String, HashMap<String, Option<Found<'c>>>>,
}

impl<'c> Pricer<'c> {
    /// With the prices of `catalog`.
    pub fn new(catalog: &'c Catalog) -> Self {
        Self { catalog, known: HashMap::new() }
    }

    /// The model that is meant by a logged name.
    pub fn find(&mut self, provider: Option<&str>, model: &str) -> Option<&Found<'c>> {
        let key = provider.unwrap_or_default();
        if !self.known.get(key).is_some_and(|it| it.contains_key(model)) {
            let found = self.catalog.find(provider, model);
            self.known.entry(key.to_owned()).or_default().insert(model.to_owned(), found);
        }
        self.known.get(key)?.get(model)?.as_ref()
    }

    /// What `request` cost.
    ///
    /// # Errors
    ///
    /// Why it has no price.
    pub fn price(&mut self, request: &Request<'_>) -> Result<Priced<'c>, Unpriced> {
        let model = request.model.filter(|it| !it.trim().is_empty()).ok_or(Unpriced::NoModel)?;
        self.find(request.provider, model).ok_or(Unpriced::UnknownModel)?.price(request)
    }
}
