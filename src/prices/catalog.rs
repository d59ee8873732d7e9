//! The price table: models, their names and what they cost since when.
//!
//! The built-in catalog is `catalog.jsonl`, which `scripts/prices.py` writes (see docs/prices.md); a user's own prices
//! have the same shape and come before it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

use foldhash::{HashMap, HashMapExt as _};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::base::time::{Day, Time};

use super::spelling::fold;

/// US dollars per million tokens, by kind of token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Uncached prompt tokens.
    pub input: f64,
    /// Generated tokens, reasoning included.
    pub output: f64,
    /// Prompt tokens read from a cache.
    pub cache_read: f64,
    /// Prompt tokens written to a cache for some minutes.
    pub cache_write: f64,
    /// Prompt tokens written to a cache for an hour.
    pub cache_write_1h: f64,
}

impl Rates {
    /// Where a table lists no price of its own for cached tokens, they are prompt tokens like others.
    fn listed(input: f64, output: f64, cache: [Option<f64>; 3]) -> Self {
        let [cache_read, cache_write, cache_write_1h] = cache;
        let (cache_read, cache_write) = (cache_read.unwrap_or(input), cache_write.unwrap_or(input));
        Self { input, output, cache_read, cache_write, cache_write_1h: cache_write_1h.unwrap_or(cache_write) }
    }

    /// Each rate times its share.
    #[must_use]
    pub fn times(self, share: Share) -> Self {
        Self {
            input: self.input * share.input,
            output: self.output * share.output,
            cache_read: self.cache_read * share.cache_read,
            cache_write: self.cache_write * share.cache_write,
            cache_write_1h: self.cache_write_1h * share.cache_write,
        }
    }
}

/// Prices from a day on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Period {
    /// The first day, in UTC; since ever if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Day>,
    /// The first day on which they do not hold any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Day>,
    /// The hours of each day, in UTC, to which they are limited: they come before those of the whole day.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hours: Vec<[Clock; 2]>,
    /// Dollars per million tokens.
    pub input: f64,
    /// Dollars per million tokens.
    pub output: f64,
    /// Dollars per million tokens; that of `input` if not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Dollars per million tokens; that of `input` if not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// Dollars per million tokens; that of `cache_write` if not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<f64>,
    /// Dollars per thousand searches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web_search: Option<f64>,
    /// Prices of long requests, by size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub long_context: Vec<LongContext>,
}

/// Prices of a request with a long prompt: they hold for all of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LongContext {
    /// They hold where input, cache read and cache write together are more than this.
    pub above: i64,
    /// Dollars per million tokens.
    pub input: f64,
    /// Dollars per million tokens.
    pub output: f64,
    /// Dollars per million tokens; that of `input` if not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Dollars per million tokens; that of `input` if not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// Dollars per million tokens; that of `cache_write` if not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<f64>,
}

impl Period {
    /// The standard prices of a request of ordinary size.
    pub fn rates(&self) -> Rates {
        Rates::listed(self.input, self.output, [self.cache_read, self.cache_write, self.cache_write_1h])
    }

    /// The step for a prompt of this size, if it is a long one.
    pub fn long_context(&self, prompt: i64) -> Option<&LongContext> {
        self.long_context.iter().rev().find(|it| prompt > it.above)
    }

    fn holds_on(&self, day: Day) -> bool {
        self.from.is_none_or(|it| it <= day) && self.until.is_none_or(|it| day < it)
    }
}

impl LongContext {
    /// The standard prices of such a request.
    pub fn rates(&self) -> Rates {
        Rates::listed(self.input, self.output, [self.cache_read, self.cache_write, self.cache_write_1h])
    }
}

/// What a service tier costs, as shares of the standard prices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// Of the price of input.
    pub input: f64,
    /// Of the price of output.
    pub output: f64,
    /// Of the price of cache reads.
    pub cache_read: f64,
    /// Of both prices of cache writes.
    pub cache_write: f64,
    /// Of all prices of a long request, where that differs.
    pub long_context: Option<f64>,
}

impl Share {
    /// The standard price.
    pub const WHOLE: Self = Self::all(1.0);

    /// The same share of all.
    pub const fn all(share: f64) -> Self {
        Self { input: share, output: share, cache_read: share, cache_write: share, long_context: None }
    }

    /// The share for a long request.
    #[must_use]
    pub fn of_long_context(self) -> Self {
        self.long_context.map_or(self, Self::all)
    }
}

/// One number, or a number for each kind of token.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Shares {
    All(f64),
    #[serde(rename_all = "snake_case")]
    Each {
        input: f64,
        output: f64,
        cache_read: f64,
        cache_write: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        long_context: Option<f64>,
    },
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Shares::deserialize(deserializer)? {
            Shares::All(share) => Self::all(share),
            Shares::Each { input, output, cache_read, cache_write, long_context } => {
                Self { input, output, cache_read, cache_write, long_context }
            }
        })
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { input, output, cache_read, cache_write, long_context } = *self;
        if *self == Self::all(input) {
            return serializer.serialize_f64(input);
        }
        Shares::Each { input, output, cache_read, cache_write, long_context }.serialize(serializer)
    }
}

/// A time of the day in UTC, written as `16:30`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Clock(pub u16);

impl Clock {
    fn parse(text: &str) -> Option<Self> {
        let (hours, minutes) = text.split_once(':')?;
        let (hours, minutes) = (hours.parse::<u16>().ok()?, minutes.parse::<u16>().ok()?);
        (hours < 24 && minutes < 60).then_some(Self(hours * 60 + minutes))
    }

    fn of(time: Time) -> Self {
        let minutes = time.micros().div_euclid(60_000_000).rem_euclid(24 * 60);
        Self(u16::try_from(minutes).unwrap_or_default())
    }

    /// Whether it lies in `from..to`, over midnight too.
    fn is_in(self, [from, to]: [Self; 2]) -> bool {
        if from <= to { (from..to).contains(&self) } else { self >= from || self < to }
    }
}

impl fmt::Display for Clock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:02}:{:02}", self.0 / 60, self.0 % 60)
    }
}

impl<'de> Deserialize<'de> for Clock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text)
            .ok_or_else(|| D::Error::custom(format!("`{text}` is no time of the day: write it as \"16:30\"")))
    }
}

impl Serialize for Clock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// One model at one provider.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Who asks this price: its maker, or a host. Empty (a user's own): whoever.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub provider: String,
    /// Its name.
    pub model: String,
    /// Its other names, as far as no rule finds them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Its prices, in order of time.
    pub prices: Vec<Period>,
    /// What other service tiers and speeds cost: `batch`, `flex`, `priority`, `fast`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tiers: BTreeMap<String, Share>,
    /// What inference in a region costs, as a share of the price.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub regions: BTreeMap<String, f64>,
    /// Where that stands, in a user's own table or a correction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl Entry {
    /// The prices at an instant, or on `today` where it is not known.
    pub fn period(&self, at: Option<Time>, today: Day) -> Option<&Period> {
        let day = at.map_or(today, |it| Day(it.day()));
        let clock = at.map(Clock::of);
        let in_hours = |period: &Period| clock.is_some_and(|it| period.hours.iter().any(|hours| it.is_in(*hours)));
        let whole_day = |period: &Period| period.hours.is_empty();
        let newest = self.prices.iter().rev().filter(|it| it.holds_on(day));
        let by_day = newest.clone().find(|it| whole_day(it));
        // Hours belong to the price of the day that they stand with: an older split does not outlive it.
        newest.clone().find(|it| in_hours(it) && it.from >= by_day.and_then(|it| it.from)).or(by_day)
    }

    /// All of its names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.model.as_str()).chain(self.aliases.iter().map(String::as_str))
    }
}

/// Models and their prices, to be looked up by name.
#[derive(Debug, Clone)]
pub struct Catalog {
    /// The day of the built-in prices.
    pub date: Day,
    /// Where those are from: package and version.
    pub sources: BTreeMap<String, String>,
    /// A user's own first.
    slots: Vec<Slot>,
    /// How many of them are the user's.
    own: usize,
    /// Indices of `slots`, by folded name.
    by_name: HashMap<Cow<'static, str>, Vec<usize>>,
}

/// An entry, or a line of the built-in catalog that becomes one when somebody asks: few ever are.
#[derive(Debug, Clone)]
struct Slot {
    line: &'static str,
    entry: OnceLock<Entry>,
}

impl Slot {
    fn entry(&self) -> &Entry {
        // A test reads every line: none is empty for being broken.
        self.entry.get_or_init(|| serde_json::from_str(self.line).unwrap_or_default())
    }
}

#[derive(Deserialize)]
struct Header {
    date: Day,
    sources: BTreeMap<String, String>,
}

/// The names in a line `{"provider":"P","model":"M","aliases":["A"],"prices":…`, found without reading the rest of it:
/// that halves the time of loading.
fn names_in(line: &str) -> impl Iterator<Item = &str> {
    let mut quotes = memchr::memchr_iter(b'"', line.as_bytes());
    let quoted = std::iter::from_fn(move || line.get(quotes.next()? + 1..quotes.next()?));
    let head = quoted.take_while(|it| *it != "prices");
    head.enumerate().filter(|(index, _)| *index == 3 || *index > 4).map(|(_, name)| name)
}

static BUILT_IN: &str = include_str!("catalog.jsonl");

impl Catalog {
    /// The day of [`Self::built_in`]'s prices, without reading them.
    pub fn built_in_date() -> Day {
        let header = BUILT_IN.lines().next().and_then(|it| serde_json::from_str::<Header>(it).ok());
        header.map_or(Day(0), |it| it.date)
    }

    /// The catalog that came with this version.
    pub fn built_in() -> &'static Self {
        static CATALOG: OnceLock<Catalog> = OnceLock::new();
        CATALOG.get_or_init(|| Self::new(Vec::new()))
    }

    /// The built-in catalog under a user's own prices, which come first where they hold.
    #[must_use]
    pub fn under(&self, own: Vec<Entry>) -> Self {
        Self::new(own)
    }

    fn new(own: Vec<Entry>) -> Self {
        let (header, lines) = BUILT_IN.split_once('\n').unwrap_or_default();
        let Header { date, sources } =
            serde_json::from_str(header).unwrap_or(Header { date: Day(0), sources: BTreeMap::new() });
        let mut by_name: HashMap<Cow<'static, str>, Vec<usize>> = HashMap::with_capacity(4096);
        let mut slots = Vec::with_capacity(own.len() + 2048);
        for entry in own {
            for name in entry.names() {
                by_name.entry(fold(name).into_owned().into()).or_default().push(slots.len());
            }
            slots.push(Slot { line: "", entry: OnceLock::from(entry) });
        }
        let own = slots.len();
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', lines.as_bytes()).chain([lines.len()]) {
            let line = lines.get(std::mem::replace(&mut start, end + 1)..end).unwrap_or_default();
            if line.is_empty() {
                continue;
            }
            for name in names_in(line) {
                by_name.entry(fold(name)).or_default().push(slots.len());
            }
            slots.push(Slot { line, entry: OnceLock::new() });
        }
        Self { date, sources, slots, own, by_name }
    }

    /// Every model, a user's own first.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.slots.iter().map(Slot::entry)
    }

    /// A user's own.
    pub fn own_entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries().take(self.own)
    }

    /// Whether a price is the user's own.
    pub fn is_own(&self, entry: &Entry) -> bool {
        self.own_entries().any(|it| std::ptr::eq(it, entry))
    }

    /// The models that have this name, folded, and whether they are the user's own.
    pub(super) fn named(&self, name: &str) -> impl Iterator<Item = (bool, &Entry)> {
        let indices = self.by_name.get(name).into_iter().flatten();
        indices.filter_map(|it| Some((*it < self.own, self.slots.get(*it)?.entry())))
    }
}
