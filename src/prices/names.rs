//! Which model of the catalog a log means. Each step takes one thing off the name that is known to be no part of it, and
//! the name has to be in the catalog as it then stands: a beginning that fits is no match.

use std::borrow::Cow;
use std::fmt;

use crate::base::time::Day;

use super::catalog::{Catalog, Entry};
use super::spelling::{fold, is_host, provider};

/// What was done to a logged name before the catalog knew it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// Another case, or dots and spaces for dashes.
    Spelling,
    /// The catalog lists it as another name of the model.
    Alias,
    /// This stood before the name: a path, a vendor, a region.
    Without(String),
    /// This stood after it: a date, an effort, a mark.
    WithoutEnd(String),
    /// The provider's table does not list the model: the price is its maker's.
    MakersPrice,
}

impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spelling => formatter.write_str("another spelling"),
            Self::Alias => formatter.write_str("another name"),
            Self::Without(it) => write!(formatter, "without `{it}` before it"),
            Self::WithoutEnd(it) => write!(formatter, "without `{it}` after it"),
            Self::MakersPrice => formatter.write_str("the maker's price"),
        }
    }
}

/// What the catalog knows of a logged name.
#[derive(Debug, Clone)]
pub struct Found<'c> {
    /// The entries of that name in the order in which they are asked for a price: a user's own first.
    pub entries: Vec<&'c Entry>,
    /// How the name led there.
    pub rules: Vec<Rule>,
    /// Whether the name says that it ran at the higher speed.
    pub is_fast: bool,
    /// The region that the name gives.
    pub region: Option<String>,
    pub(super) today: Day,
}

/// How the names of a maker's models begin. Another maker's price never holds for them.
#[rustfmt::skip]
static FAMILIES: &[(&str, &str)] = &[
    ("chatgpt", "openai"), ("claude", "anthropic"), ("codestral", "mistral"), ("codex", "openai"), ("command", "cohere"),
    ("composer", "cursor"), ("deepseek", "deepseek"), ("devstral", "mistral"), ("gemini", "google"), ("gemma", "google"),
    ("glm", "zai"), ("gpt", "openai"), ("grok", "xai"), ("jamba", "ai21"), ("kimi", "moonshotai"), ("llama", "meta"),
    ("magistral", "mistral"), ("mimo", "xiaomi"), ("minimax", "minimax"), ("ministral", "mistral"), ("mistral", "mistral"),
    ("mixtral", "mistral"), ("moonshot", "moonshotai"), ("nova", "amazon"), ("o1", "openai"), ("o3", "openai"),
    ("o4", "openai"), ("pixtral", "mistral"), ("qvq", "alibaba"), ("qwen", "alibaba"), ("qwq", "alibaba"),
    ("sonar", "perplexity"),
];

/// Whose models Bedrock names `vendor.model`.
#[rustfmt::skip]
static BEDROCK_VENDORS: &[&str] = &[
    "ai21", "amazon", "anthropic", "cohere", "deepseek", "google", "meta", "minimax", "mistral", "moonshot", "moonshotai",
    "openai", "qwen", "xai", "zai",
];

fn family(name: &str) -> Option<&'static str> {
    let begins = |prefix: &str| {
        name.strip_prefix(prefix).is_some_and(|rest| !rest.starts_with(|it: char| it.is_ascii_alphabetic()))
    };
    FAMILIES.iter().find(|(prefix, _)| begins(prefix)).map(|(_, maker)| *maker)
}

/// A name on its way to the catalog.
struct Name {
    /// What is left of it, in lower case.
    text: String,
    /// The provider that the log or the name gives.
    provider: Option<Cow<'static, str>>,
    /// The maker that the name gives.
    vendor: Option<&'static str>,
    rules: Vec<Rule>,
    is_fast: bool,
    region: Option<String>,
}

impl Catalog {
    /// The model that `model`, logged under `provider`, means.
    pub fn find(&self, provider: Option<&str>, model: &str) -> Option<Found<'_>> {
        let mut name = Name::new(provider, model);
        let whole = name.text.clone();
        loop {
            if let Some(found) = self.look_up(&name, model) {
                return Some(found);
            }
            if !name.simplify() {
                break;
            }
        }
        // `vendor/model` is OpenRouter's spelling: where no maker lists the model, its price is the one that is known.
        let is_open = name.provider.as_deref().is_none_or(|it| it == "litellm");
        if is_open && whole.contains('/') {
            let name = Name { provider: Some(Cow::Borrowed("openrouter")), ..Name::new(None, model) };
            return self.look_up(&name, model);
        }
        None
    }

    fn look_up(&self, name: &Name, logged: &str) -> Option<Found<'_>> {
        let folded = fold(&name.text);
        let family = family(folded.rsplit('/').next().unwrap_or_default());
        let rank = |entry: &Entry| {
            if entry.provider.is_empty() || name.provider.as_deref() == Some(&entry.provider) {
                return Some(0);
            }
            if is_host(&entry.provider) {
                return None;
            }
            let is_its_own = match name.vendor {
                Some(vendor) => vendor == entry.provider,
                // A provider that the table does not know is a user's own.
                None => family.is_none_or(|it| it == entry.provider || provider(&entry.provider).is_none()),
            };
            is_its_own.then_some(1)
        };
        let named = self.named(&folded);
        let mut entries: Vec<_> = named.filter_map(|(is_own, it)| Some((rank(it)?, is_own, it))).collect();
        entries.sort_by_key(|(rank, _, _)| *rank);
        let (best, _, first) = *entries.first()?;
        // Two makers of one name: which of them is meant is not known.
        let mut makers = entries.iter().filter(|it| it.0 == 1 && !it.1).map(|it| &it.2.provider);
        if best == 1 && makers.next().is_some_and(|maker| makers.any(|it| it != maker)) {
            return None;
        }
        let mut rules = name.rules.clone();
        if fold(&first.model) != folded {
            rules.push(Rule::Alias);
        } else if rules.is_empty() && first.model != logged {
            rules.push(Rule::Spelling);
        }
        if best == 1 && name.provider.as_deref().is_some_and(|it| it != first.provider) {
            rules.push(Rule::MakersPrice);
        }
        let entries = entries.into_iter().map(|(_, _, it)| it).collect();
        Some(Found { entries, rules, is_fast: name.is_fast, region: name.region.clone(), today: self.date })
    }
}

impl Name {
    fn new(logged: Option<&str>, model: &str) -> Self {
        let text = model.trim().to_ascii_lowercase();
        let provider = logged.map(str::trim).filter(|it| !it.is_empty()).map(|it| match provider(it) {
            Some(known) => Cow::Borrowed(known.id),
            None => Cow::Owned(fold(it).into_owned()),
        });
        let mut name = Self { text, provider, vendor: None, rules: Vec::new(), is_fast: false, region: None };
        if name.bedrock_prefix().is_some() || name.text.starts_with("arn:aws:bedrock:") {
            name.provider = Some(Cow::Borrowed("bedrock"));
        }
        name
    }

    /// Takes off what stands before the last `length` bytes.
    fn keep_end(&mut self, length: usize) {
        let end = self.text.split_off(self.text.len() - length);
        self.rules.push(Rule::Without(std::mem::replace(&mut self.text, end)));
    }

    /// Takes off what stands after the first `length` bytes.
    fn keep_start(&mut self, length: usize) -> bool {
        let rest = self.text.split_off(length);
        self.rules.push(Rule::WithoutEnd(rest));
        true
    }

    /// One step: whether there was one.
    fn simplify(&mut self) -> bool {
        self.simplify_path() || self.simplify_bedrock() || self.simplify_end()
    }

    fn simplify_path(&mut self) -> bool {
        // arn:aws:bedrock:REGION:ACCOUNT:inference-profile/us.anthropic.…
        if self.text.starts_with("arn:aws:bedrock:")
            && let Some((_, last)) = self.text.rsplit_once('/')
        {
            self.keep_end(last.len());
            return true;
        }
        // projects/P/locations/L/publishers/anthropic/models/…
        if let Some((_, rest)) = self.text.split_once("publishers/")
            && let Some((vendor, model)) = rest.split_once("/models/")
        {
            self.vendor = provider(vendor).map(|it| it.id);
            self.provider = Some(Cow::Borrowed("vertex"));
            self.keep_end(model.len());
            return true;
        }
        let Some((first, rest)) = self.text.split_once('/') else { return false };
        let length = rest.len();
        if let Some(known) = provider(first) {
            if known.is_host {
                self.provider = Some(Cow::Borrowed(known.id));
            } else {
                self.vendor = Some(known.id);
            }
        } else if matches!(self.provider.as_deref(), Some("azure" | "bedrock")) && is_region(first) {
            self.region = first.split('-').next().filter(|_| first != "us-gov").or(Some(first)).map(str::to_owned);
        } else if rest.split_once('/').is_none_or(|(second, _)| provider(second).is_none()) {
            // Whose route this is, nothing tells; only before a provider's name it can be told apart.
            return false;
        }
        self.keep_end(length);
        true
    }

    /// The region and the length of `us.anthropic.`, and whose vendor word it is.
    fn bedrock_prefix(&self) -> Option<(Option<&str>, &'static str, usize)> {
        let (first, rest) = self.text.split_once('.')?;
        let vendor = |word| provider(word).filter(|it| !it.is_host).map(|it| it.id);
        if is_region(first) {
            let (word, model) = rest.split_once('.')?;
            return Some((Some(first), vendor(word)?, self.text.len() - model.len()));
        }
        // Dots stand in versions too: `claude.` is no vendor.
        let is_vendor = BEDROCK_VENDORS.contains(&first);
        Some((None, vendor(first).filter(|_| is_vendor)?, self.text.len() - rest.len()))
    }

    fn simplify_bedrock(&mut self) -> bool {
        if let Some((region, vendor, length)) = self.bedrock_prefix() {
            let region = region.map(str::to_owned);
            self.region = region.or(self.region.take());
            self.vendor = Some(vendor);
            self.provider = Some(Cow::Borrowed("bedrock"));
            self.keep_end(self.text.len() - length);
            return true;
        }
        let is_bedrock = self.provider.as_deref() == Some("bedrock");
        if is_bedrock
            && let Some((start, number)) = self.text.rsplit_once(':')
            && is_number(number)
            && !start.contains("-v")
        {
            return self.keep_start(start.len());
        }
        // -v1:0, -v1:0:200k, and at Bedrock -v1 alone.
        let Some((start, version)) = self.text.rsplit_once("-v") else { return false };
        let (number, rest) = version.split_once(':').unwrap_or((version, ""));
        if !is_number(number) || (rest.is_empty() && !is_bedrock) {
            return false;
        }
        if !rest.is_empty() && !rest.split(':').all(|it| is_number(it.trim_end_matches('k'))) {
            return false;
        }
        self.keep_start(start.len())
    }

    fn simplify_end(&mut self) -> bool {
        let text = self.text.as_str();
        // [1m], [200k]: the size of the context window that was asked for.
        if let Some(start) = text.strip_suffix(']').and_then(|it| it.rsplit_once('['))
            && is_number(start.1.trim_end_matches(['m', 'k']))
        {
            return self.keep_start(start.0.len());
        }
        if let Some(start) = text.strip_suffix(')').and_then(|it| it.rsplit_once('('))
            && (is_effort(start.1) || is_number(start.1))
        {
            return self.keep_start(start.0.trim_end().len());
        }
        // Vertex: @20250929, @default.
        if let Some((start, version)) = text.rsplit_once('@')
            && (is_number(version) || matches!(version, "default" | "latest"))
        {
            return self.keep_start(start.len());
        }
        let family = family(fold(text).rsplit('/').next().unwrap_or_default());
        if let Some((start, variant)) = text.rsplit_once(':')
            && matches!((variant, family), ("thinking" | "beta", Some("anthropic" | "google")))
        {
            return self.keep_start(start.len());
        }
        if let Some(start) = text.strip_suffix("-latest") {
            return self.keep_start(start.len());
        }
        if let Some(length) = date_at_end(text) {
            return self.keep_start(text.len() - length);
        }
        // Words that name a way of asking, not a model: with these makers only, others have models of such names.
        let Some((start, word)) = text.rsplit_once(['-', ' ']) else { return false };
        let length = start.len();
        match family {
            Some("anthropic" | "google") if word == "thinking" => self.keep_start(length),
            Some("anthropic" | "google" | "openai" | "xai") if is_effort(word) => self.keep_start(length),
            Some("anthropic" | "openai") if word == "fast" => {
                self.is_fast = true;
                self.keep_start(length)
            }
            _ => false,
        }
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit())
}

fn is_effort(word: &str) -> bool {
    matches!(word, "none" | "minimal" | "low" | "medium" | "high" | "xhigh")
}

fn is_region(word: &str) -> bool {
    matches!(
        word,
        "us" | "eu"
            | "apac"
            | "jp"
            | "au"
            | "ca"
            | "sa"
            | "us-gov"
            | "global"
            | "global-standard"
            | "eu-data-zone"
            | "us-data-zone"
    )
}

/// The length of `-20250929` or `-2025-09-29`, where that is how the name ends.
fn date_at_end(text: &str) -> Option<usize> {
    let is_day = |year: &str, month: &str, day: &str| {
        let in_range = |it: &str, range: std::ops::RangeInclusive<u16>| it.parse().is_ok_and(|it| range.contains(&it));
        in_range(year, 2020..=2099) && in_range(month, 1..=12) && in_range(day, 1..=31)
    };
    let tail = |length: usize| text.len().checked_sub(length).and_then(|it| text.get(it..));
    if let Some(date) = tail(9).and_then(|it| it.strip_prefix('-'))
        && is_number(date)
        && let (Some(year), Some(month), Some(day)) = (date.get(..4), date.get(4..6), date.get(6..))
        && is_day(year, month, day)
    {
        return Some(9);
    }
    let date = tail(11)?.strip_prefix('-')?;
    let mut parts = date.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let are_numbers = [year, month, day].iter().all(|it| is_number(it));
    (are_numbers && year.len() == 4 && is_day(year, month, day)).then_some(11)
}
