//! Names of models in logs: removes the parts that do not belong to the name of the model. See
//! docs/prices.md#how-a-name-finds-its-model.

use std::borrow::Cow;

use super::rule::Rule;
use super::spelling::{fold, provider, provider_id};

/// Prefixes of model names, each with the maker. The price of another maker never applies to these models.
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

/// The vendors whose models Bedrock names `vendor.model`.
#[rustfmt::skip]
static BEDROCK_VENDORS: &[&str] = &[
    "ai21", "amazon", "anthropic", "cohere", "deepseek", "google", "meta", "minimax", "mistral", "moonshot", "moonshotai",
    "nvidia", "openai", "qwen", "writer", "xai", "zai",
];

/// Vendors whose interfaces others offer as well: `openai/glm-5.1` is Z.ai's model at an interface like that of OpenAI.
static INTERFACES: &[&str] = &["anthropic", "openai"];

/// Marks that hosts put before the names of models of other makers: Hugging Face, Fireworks at Azure, Cerebras.
static MARKS: &[(&str, &str)] = &[("hf:", ""), ("fw-", ""), ("zai-", "glm")];

/// Hosts of Hugging Face's router that are not in the table of providers. It names the host after a colon.
static ROUTED_HOSTS: &[&str] = &["featherless-ai", "hyperbolic", "nebius", "novita", "nscale", "sambanova"];

/// Whether a model of `maker` can have the name of `vendor` before its own.
pub(super) fn is_vendor_of(vendor: &str, maker: &str) -> bool {
    vendor == maker || INTERFACES.contains(&vendor) && !INTERFACES.contains(&maker)
}

/// The name without a mark of a host.
pub(super) fn without_mark(name: &str) -> Option<&str> {
    MARKS.iter().find_map(|(mark, next)| name.strip_prefix(mark).filter(|rest| rest.starts_with(next)))
}

/// The host that a name has after a colon, as Hugging Face's router does, and the rest of the name.
pub(super) fn routed_host(name: &str) -> Option<(&str, &str)> {
    let (start, word) = name.rsplit_once(':')?;
    let is_host = ROUTED_HOSTS.contains(&word) || provider(word).is_some_and(|it| it.is_host);
    is_host.then_some((start, word))
}

/// The maker of a model by the prefix of its name, in lower case and without a host or a vendor before it. `None` if the prefix is
/// not known.
pub fn maker_of(name: &str) -> Option<&'static str> {
    let begins = |prefix: &str| {
        name.strip_prefix(prefix).is_some_and(|rest| !rest.starts_with(|it: char| it.is_ascii_alphabetic()))
    };
    FAMILIES.iter().find(|(prefix, _)| begins(prefix)).map(|(_, maker)| *maker)
}

/// A host's name of a model without the path, the vendor and the revision that the host adds, and the region in it: of Bedrock's
/// `us.anthropic.claude-x-1-v1:0`, `claude-x-1` and `us`. `None` if the name is that of a route to a model, or one that Bedrock does not
/// give to models.
pub fn without_host(host: &str, listed: &str) -> Option<(String, Option<String>)> {
    let mut name = ModelName::new(Some(host), listed);
    while name.simplify_path() || name.simplify_bedrock_start() {}
    let is_bedrock = name.provider.as_deref() == Some("bedrock");
    if name.text.contains('/') || (is_bedrock && name.vendor.is_none()) {
        return None;
    }
    while is_bedrock && name.simplify_bedrock_end() {}
    Some((name.text, name.region))
}

/// A logged name, less the parts that were removed.
pub(super) struct ModelName {
    /// The remaining name in lower case.
    pub text: String,
    /// The provider in the log or in the name.
    pub provider: Option<Cow<'static, str>>,
    /// The maker in the name.
    pub vendor: Option<&'static str>,
    pub rules: Vec<Rule>,
    pub is_fast: bool,
    pub region: Option<String>,
}

impl ModelName {
    pub fn new(logged: Option<&str>, model: &str) -> Self {
        let text = model.trim().to_ascii_lowercase();
        let provider = logged.map(str::trim).filter(|it| !it.is_empty()).map(|name| match provider(name) {
            Some(known) => Cow::Borrowed(known.id),
            None => Cow::Owned(fold(name).into_owned()),
        });
        let mut name = Self { text, provider, vendor: None, rules: Vec::new(), is_fast: false, region: None };
        if name.bedrock_prefix().is_some() || name.text.starts_with("arn:aws:bedrock:") {
            name.provider = Some(Cow::Borrowed("bedrock"));
        }
        name
    }

    /// Removes all but the last `length` bytes.
    fn keep_end(&mut self, length: usize) {
        let end = self.text.split_off(self.text.len() - length);
        self.rules.push(Rule::Without(std::mem::replace(&mut self.text, end)));
    }

    /// Removes all but the first `length` bytes. Returns `true`, so that a step can end with it.
    fn keep_start(&mut self, length: usize) -> bool {
        let rest = self.text.split_off(length);
        self.rules.push(Rule::WithoutEnd(rest));
        true
    }

    /// Removes one part of the name. Returns whether there was one.
    pub fn simplify(&mut self) -> bool {
        self.simplify_routed_host() || self.simplify_start() || self.simplify_bedrock_end() || self.simplify_end()
    }

    /// Removes a host after a colon: it bills the request, and its prices may contain the whole path.
    fn simplify_routed_host(&mut self) -> bool {
        let Some((start, host)) = routed_host(&self.text) else { return false };
        let length = start.len();
        self.provider = Some(Cow::Owned(provider_id(host).into_owned()));
        self.keep_start(length)
    }

    /// Removes one part before the name of the model. Returns whether there was one.
    pub fn simplify_start(&mut self) -> bool {
        self.simplify_path() || self.simplify_bedrock_start() || self.simplify_mark()
    }

    fn simplify_mark(&mut self) -> bool {
        let Some(length) = without_mark(&self.text).map(str::len) else { return false };
        self.keep_end(length);
        true
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
            // An unknown word is a route only if the name of a provider follows it.
            return false;
        }
        self.keep_end(length);
        true
    }

    /// Whether the name begins as Bedrock's do, with a vendor and a dot.
    pub fn is_of_bedrock(&self) -> bool {
        self.bedrock_prefix().is_some()
    }

    /// Bedrock's vendor as the name spells it, and the rest of the name.
    pub fn bedrock_model(&self) -> Option<(&str, &str)> {
        let (_, _, length) = self.bedrock_prefix()?;
        let (prefix, model) = self.text.split_at_checked(length)?;
        Some((prefix.trim_end_matches('.').rsplit('.').next()?, model))
    }

    /// The region, the vendor and the length of a prefix such as `us.anthropic.`.
    fn bedrock_prefix(&self) -> Option<(Option<&str>, &'static str, usize)> {
        let (first, rest) = self.text.split_once('.')?;
        // Versions contain dots too: `claude.` is not a vendor.
        let listed = |word: &str| BEDROCK_VENDORS.iter().copied().find(|vendor| *vendor == word);
        let known = |word: &str| provider(word).filter(|it| !it.is_host).map(|it| it.id);
        if is_region(first) {
            let (word, model) = rest.split_once('.')?;
            return Some((Some(first), known(word).or_else(|| listed(word))?, self.text.len() - model.len()));
        }
        let vendor = listed(first)?;
        Some((None, known(first).unwrap_or(vendor), self.text.len() - rest.len()))
    }

    fn simplify_bedrock_start(&mut self) -> bool {
        let Some((region, vendor, length)) = self.bedrock_prefix() else { return false };
        let region = region.map(str::to_owned);
        self.region = region.or(self.region.take());
        self.vendor = Some(vendor);
        self.provider = Some(Cow::Borrowed("bedrock"));
        self.keep_end(self.text.len() - length);
        true
    }

    fn simplify_bedrock_end(&mut self) -> bool {
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
        // [1m], [200k]: the size of the requested context window.
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
        let maker = maker_of(fold(text).rsplit('/').next().unwrap_or_default());
        if let Some((start, variant)) = text.rsplit_once(':')
            && (is_effort(variant) || matches!((variant, maker), ("thinking" | "beta", Some("anthropic" | "google"))))
        {
            return self.keep_start(start.len());
        }
        // Vertex: models of other makers.
        if let Some(start) = text.strip_suffix("-maas") {
            return self.keep_start(start.len());
        }
        if let Some(start) = text.strip_suffix("-latest") {
            return self.keep_start(start.len());
        }
        if let Some(length) = date_at_end(text) {
            return self.keep_start(text.len() - length);
        }
        // An effort or a speed. Other makers have models with such names.
        let Some((start, word)) = text.rsplit_once(['-', ' ']) else { return false };
        let length = start.len();
        match maker {
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

pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit())
}

pub(super) fn is_effort(word: &str) -> bool {
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
            | "in"
            | "sa"
            | "us-gov"
            | "global"
            | "global-standard"
            | "eu-data-zone"
            | "us-data-zone"
    )
}

/// The length of a date at the end of the name, such as `-20250929`, `-2025-09-29` or Volcengine's `-251201`.
pub(super) fn date_at_end(text: &str) -> Option<usize> {
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
    if let Some(date) = tail(7).and_then(|it| it.strip_prefix('-'))
        && is_number(date)
        && let (Some(year), Some(month), Some(day)) = (date.get(..2), date.get(2..4), date.get(4..))
        && year >= "23"
        && is_day(&format!("20{year}"), month, day)
    {
        return Some(7);
    }
    let date = tail(11)?.strip_prefix('-')?;
    let mut parts = date.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let are_numbers = [year, month, day].iter().all(|it| is_number(it));
    (are_numbers && year.len() == 4 && is_day(year, month, day)).then_some(11)
}
