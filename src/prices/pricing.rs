//! The price of a request: the rates of its model at its time, multiplied by its tokens. See
//! docs/prices.md#how-a-row-is-priced.

use foldhash::{HashMap, HashMapExt as _};

use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::model::session::{Cost, CostParts, Tokens};

use super::catalog::Catalog;
use super::entry::Entry;
use super::lookup::Found;
use super::rates::{LongContext, Period, Rates};
use super::share::Share;

/// A request to price: one row of the ledger.
#[derive(Debug, Clone, Copy, Default)]
pub struct Request<'a> {
    /// As logged.
    pub provider: Option<&'a str>,
    /// As logged.
    pub model: Option<&'a str>,
    /// The time of the request. If it is unknown, the prices of the catalog's day apply.
    pub at: Option<Time>,
    /// The tokens that were billed.
    pub tokens: Tokens,
    /// The number of searches that the provider ran.
    pub web_searches: Option<i64>,
    /// As logged.
    pub service_tier: Option<&'a str>,
    /// As logged.
    pub speed: Option<&'a str>,
    /// The region of the inference, as logged.
    pub inference_geo: Option<&'a str>,
    /// Whether it is the sum of several requests. A sum has no prompt size, so the prices of ordinary requests apply.
    pub is_sum: bool,
}

/// A price with its terms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Priced<'c> {
    /// US dollars by kind of token.
    pub parts: CostParts,
    /// The rates and shares that were multiplied.
    pub terms: Terms<'c>,
}

/// The terms of a price.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms<'c> {
    /// The model.
    pub entry: &'c Entry,
    /// Its prices at the time.
    pub period: &'c Period,
    /// The step for long requests, if the request was one.
    pub long_context: Option<&'c LongContext>,
    /// The service tier or speed other than standard, and its share of the standard price.
    pub tier: Option<(&'c str, Share)>,
    /// Whether the log contains a tier without a price, so that the standard price was used.
    pub is_tier_unknown: bool,
    /// The region, if it has its own price, and its share.
    pub region: Option<(&'c str, f64)>,
    /// The resulting rates, in US dollars per million tokens.
    pub rates: Rates,
    /// US dollars per thousand searches.
    pub web_search: Option<f64>,
}

impl Priced<'_> {
    /// The sum of the parts.
    pub fn total(&self) -> f64 {
        self.parts.total()
    }

    /// The price as a cost of the ledger.
    pub fn cost(&self) -> Cost {
        Cost { total: self.total(), parts: Some(self.parts) }
    }
}

/// The reason why a request has no price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unpriced {
    /// The log contains no model.
    NoModel,
    /// No model of the catalog has this name.
    UnknownModel,
    /// The number of input or output tokens is unknown.
    UnknownTokens,
    /// The model is known, but no price at that time.
    NotAtThatTime,
    /// It ran at a speed without a known price.
    UnknownSpeed,
}

impl Unpriced {
    /// The reason as a message.
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

/// The service tier or speed of a request.
enum Tier<'c> {
    Standard,
    /// A tier with a price, and its share of the standard price.
    Listed((&'c str, Share)),
    /// A tier without a price: the standard price applies.
    NotListed,
}

impl<'c> Found<'c> {
    /// The price of a request to this model.
    ///
    /// # Errors
    ///
    /// The reason why the request has no price.
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
        let (tier, is_tier_unknown) = match self.tier(entry, request)? {
            Tier::Standard => (None, false),
            Tier::Listed(tier) => (Some(tier), false),
            Tier::NotListed => (None, true),
        };
        if let Some((_, share)) = tier {
            rates = rates.times(if long_context.is_some() { share.of_long_context() } else { share });
        }
        let region = self.region(entry, request);
        if let Some((_, share)) = region {
            rates = rates.times(Share::all(share));
        }
        let web_search = period.web_search;
        let terms = Terms { entry, period, long_context, tier, is_tier_unknown, region, rates, web_search };
        Ok(Priced { parts: terms.parts(input, output, request), terms })
    }

    fn tier(&self, entry: &'c Entry, request: &Request<'_>) -> Result<Tier<'c>, Unpriced> {
        // OpenAI sells speed as its priority tier.
        const FAST: [&str; 2] = ["fast", "priority"];
        if self.is_fast || request.speed.is_some_and(|speed| speed.eq_ignore_ascii_case("fast")) {
            return share(entry, &FAST).map(Tier::Listed).ok_or(Unpriced::UnknownSpeed);
        }
        let Some(word) = request.service_tier.filter(|tier| !is_standard(tier)) else { return Ok(Tier::Standard) };
        let word = word.to_ascii_lowercase();
        let listed = if word == "fast" { share(entry, &FAST) } else { share(entry, &[word]) };
        Ok(listed.map_or(Tier::NotListed, Tier::Listed))
    }

    /// The region of a request with its share, if the region has its own price.
    fn region(&self, entry: &'c Entry, request: &Request<'_>) -> Option<(&'c str, f64)> {
        [self.region.as_deref(), request.inference_geo].into_iter().flatten().find_map(|region| {
            let (name, share) = entry.regions.get_key_value(region.to_ascii_lowercase().as_str())?;
            Some((name.as_str(), *share))
        })
    }
}

impl Terms<'_> {
    /// The price of a request with these terms.
    fn parts(&self, input: i64, output: i64, request: &Request<'_>) -> CostParts {
        let rates = self.rates;
        let cache_read = request.tokens.cache_read.unwrap_or(0);
        let cache_write = request.tokens.cache_write.unwrap_or(0);
        let cache_write_1h = request.tokens.cache_write_1h.unwrap_or(0).clamp(0, cache_write.max(0));
        CostParts {
            input: dollars(input, rates.input),
            output: dollars(output, rates.output),
            cache_read: dollars(cache_read, rates.cache_read),
            cache_write: dollars(cache_write - cache_write_1h, rates.cache_write)
                + dollars(cache_write_1h, rates.cache_write_1h),
            web_search: request.web_searches.unwrap_or(0) as f64 * self.web_search.unwrap_or(0.0) / 1e3,
        }
    }
}

fn dollars(tokens: i64, rate: f64) -> f64 {
    tokens as f64 * rate / 1e6
}

/// The first of `words` that is a tier of the entry, with its share.
fn share<'c>(entry: &'c Entry, words: &[impl AsRef<str>]) -> Option<(&'c str, Share)> {
    let tiers = words.iter().filter_map(|word| entry.tiers.get_key_value(word.as_ref()));
    tiers.map(|(word, share)| (word.as_str(), *share)).next()
}

/// Whether a tier is the standard one, in the words of Anthropic, OpenAI and Groq.
fn is_standard(tier: &str) -> bool {
    ["standard", "default", "auto", "on_demand", ""].iter().any(|it| tier.eq_ignore_ascii_case(it))
}

/// Computes prices, and finds each name in the catalog once.
#[derive(Debug)]
pub struct Pricer<'c> {
    catalog: &'c Catalog,
    /// The models found so far.
    found: Vec<Option<Found<'c>>>,
    /// Their positions, by the logged provider, then by the logged model.
    positions: HashMap<String, HashMap<String, usize>>,
    /// The last provider and model with their position: most requests name those of the request before.
    last: Option<(String, String, usize)>,
    /// The canonical names found so far, by the logged model.
    canonical: HashMap<Symbol, Symbol>,
}

impl<'c> Pricer<'c> {
    /// A pricer with the prices of `catalog`.
    pub fn new(catalog: &'c Catalog) -> Self {
        Self { catalog, found: Vec::new(), positions: HashMap::new(), last: None, canonical: HashMap::new() }
    }

    /// The model that a logged name means.
    pub fn find(&mut self, provider: Option<&str>, model: &str) -> Option<&Found<'c>> {
        let key = provider.unwrap_or_default();
        let is_last = |(provider, name, _): &&(String, String, usize)| provider == key && name == model;
        let position = if let Some((.., position)) = self.last.as_ref().filter(is_last) {
            *position
        } else {
            let known = self.positions.get(key).and_then(|models| models.get(model)).copied();
            let position = known.unwrap_or_else(|| {
                self.found.push(self.catalog.find(provider, model));
                let position = self.found.len() - 1;
                self.positions.entry(key.to_owned()).or_default().insert(model.to_owned(), position);
                position
            });
            self.last = Some((key.to_owned(), model.to_owned(), position));
            position
        };
        self.found.get(position)?.as_ref()
    }

    /// The maker of a logged model; `None` if the catalog does not contain the model, or only at hosts and in the user's own prices.
    pub fn maker(&mut self, model: &str) -> Option<&'c str> {
        let found = self.find(None, model)?;
        found.entries.iter().map(|entry| entry.provider.as_str()).find(|provider| {
            let is_known = super::spelling::provider(provider).is_some();
            is_known && !super::spelling::is_host(provider)
        })
    }

    /// Who bills a request: the provider in the log, the host in the name of the model, else the maker of the model. `None` if none of
    /// them is known.
    pub fn seller(&mut self, provider: Option<&str>, model: Option<&str>) -> Option<&'c str> {
        if let Some(provider) = provider {
            return super::spelling::provider(provider).map(|known| known.id);
        }
        let first = self.find(None, model?)?.entries.first().map(|entry| entry.provider.as_str());
        first.filter(|provider| super::spelling::is_host(provider)).or_else(|| self.maker(model?))
    }

    /// The canonical name of a logged model: see [`Catalog::canonical`].
    pub fn canonical(&mut self, model: &Symbol) -> Symbol {
        if let Some(known) = self.canonical.get(model) {
            return known.clone();
        }
        let canonical = Symbol::from(self.catalog.canonical(model).as_str());
        self.canonical.insert(model.clone(), canonical.clone());
        canonical
    }

    /// The price of a request.
    ///
    /// # Errors
    ///
    /// The reason why the request has no price.
    pub fn price(&mut self, request: &Request<'_>) -> Result<Priced<'c>, Unpriced> {
        let model = request.model.filter(|it| !it.trim().is_empty()).ok_or(Unpriced::NoModel)?;
        self.find(request.provider, model).ok_or(Unpriced::UnknownModel)?.price(request)
    }
}
