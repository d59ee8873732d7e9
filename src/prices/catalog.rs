//! The catalog: all models with their prices, by name.
//!
//! The built-in catalog is `catalog.jsonl`, which `scripts/make_catalog` writes: see
//! docs/prices.md#where-the-built-in-prices-are-from. A user's own prices have the same shape and take precedence.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use foldhash::{HashMap, HashMapExt as _};
use serde::Deserialize;

use super::canonical::{Listed, Names};
use super::entry::Entry;
use super::spelling::fold;
use crate::base::time::Day;

/// Models and their prices, by name.
#[derive(Debug, Clone)]
pub struct Catalog {
    /// The day of the built-in prices.
    pub date: Day,
    /// The sources of the built-in prices: package and version.
    pub sources: BTreeMap<String, String>,
    /// The user's own entries come first.
    slots: Vec<Slot>,
    /// The number of the user's own entries.
    own_count: usize,
    /// Indices of `slots`, by folded name.
    by_name: HashMap<Cow<'static, str>, Vec<usize>>,
    /// The canonical names, computed on first use.
    canonical: OnceLock<Names>,
}

/// An entry, or a line of the built-in catalog that is parsed on first use. Most lines are never used.
#[derive(Debug, Clone)]
struct Slot {
    line: &'static str,
    entry: OnceLock<Entry>,
}

impl Slot {
    fn entry(&self) -> &Entry {
        // A test parses every line, so the default is never used.
        self.entry.get_or_init(|| serde_json::from_str(self.line).unwrap_or_default())
    }
}

#[derive(Deserialize)]
struct Header {
    date: Day,
    sources: BTreeMap<String, String>,
}

/// The provider and the names in a line `{"provider":"P","model":"M","aliases":["A"],"prices":…`, found without parsing
/// the rest of it, which halves the time of loading.
fn head(line: &str) -> (&str, impl Iterator<Item = &str>) {
    let mut quotes = memchr::memchr_iter(b'"', line.as_bytes());
    let mut quoted = std::iter::from_fn(move || line.get(quotes.next()? + 1..quotes.next()?));
    // The first four texts are "provider", P, "model" and M; the fifth is "aliases".
    let provider = quoted.nth(1).unwrap_or_default();
    let names = quoted.take_while(|it| *it != "prices").enumerate();
    (provider, names.filter(|(index, _)| *index == 1 || *index > 2).map(|(_, name)| name))
}

static BUILT_IN: &str = include_str!("catalog.jsonl");

/// A longer name is not a model's. The removal of parts takes time with the square of the length.
pub(super) const LONGEST_NAME: usize = 512;

impl Catalog {
    /// The day of the prices in [`Self::built_in`]. Does not load them.
    pub fn built_in_date() -> Day {
        let header = BUILT_IN.lines().next().and_then(|line| serde_json::from_str::<Header>(line).ok());
        header.map_or(Day(0), |header| header.date)
    }

    /// The catalog of this version of the program.
    pub fn built_in() -> &'static Self {
        static CATALOG: OnceLock<Catalog> = OnceLock::new();
        CATALOG.get_or_init(|| Self::new(Vec::new()))
    }

    /// The built-in catalog with a user's own prices, which take precedence where they apply.
    #[must_use]
    pub fn under(&self, own: Vec<Entry>) -> Self {
        Self::new(own)
    }

    /// The built-in catalog under a user's own prices, if there are any.
    pub fn with_own(own: Vec<Entry>) -> Cow<'static, Self> {
        let catalog = Self::built_in();
        if own.is_empty() { Cow::Borrowed(catalog) } else { Cow::Owned(catalog.under(own)) }
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
        let own_count = slots.len();
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', lines.as_bytes()).chain([lines.len()]) {
            let line = lines.get(std::mem::replace(&mut start, end + 1)..end).unwrap_or_default();
            if line.is_empty() {
                continue;
            }
            for name in head(line).1 {
                by_name.entry(fold(name)).or_default().push(slots.len());
            }
            slots.push(Slot { line, entry: OnceLock::new() });
        }
        Self { date, sources, slots, own_count, by_name, canonical: OnceLock::new() }
    }

    /// Every model; a user's own models come first.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.slots.iter().map(Slot::entry)
    }

    /// The models of a user's own table.
    pub fn own_entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries().take(self.own_count)
    }

    /// Whether a price is the user's own.
    pub fn is_own(&self, entry: &Entry) -> bool {
        self.own_entries().any(|own| std::ptr::eq(own, entry))
    }

    /// The canonical name of a logged model: one name for all its spellings. A name that the catalog does not contain is
    /// its own canonical name. See docs/prices.md#canonical-names.
    pub fn canonical(&self, model: &str) -> String {
        if model.len() > LONGEST_NAME {
            return model.to_owned();
        }
        let names = self.canonical.get_or_init(|| Names::new(self.slots.iter().enumerate().map(|it| self.listed(it))));
        names.find(model).unwrap_or_else(|| model.to_owned())
    }

    fn listed<'a>(&self, (index, slot): (usize, &'a Slot)) -> Listed<'a> {
        if index < self.own_count {
            let Entry { provider, model, aliases, .. } = slot.entry();
            return Listed { provider, is_own: true, model, aliases: aliases.iter().map(String::as_str).collect() };
        }
        let (provider, mut names) = head(slot.line);
        Listed { provider, is_own: false, model: names.next().unwrap_or_default(), aliases: names.collect() }
    }

    /// The models with this folded name, each with whether it is the user's own.
    pub(super) fn named(&self, name: &str) -> impl Iterator<Item = (bool, &Entry)> {
        let indices = self.by_name.get(name).into_iter().flatten();
        indices.filter_map(|index| Some((*index < self.own_count, self.slots.get(*index)?.entry())))
    }
}
