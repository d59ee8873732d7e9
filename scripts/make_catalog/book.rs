//! The entries that are collected, by provider and name.

use std::collections::HashMap;

use agentlogs::base::time::Day;
use agentlogs::prices::{Entry, Period, fold};
use regex::Regex;

use super::kind::Kind;

/// The name without a date or `latest` at its end, in the spelling in which names are compared.
pub fn undated(name: &str) -> String {
    thread_local! {
        static DATE: Regex = Regex::new(r"[-@](20\d{6}|20\d\d-\d\d-\d\d|latest|default)$").expect("a pattern");
    }
    let name = fold(name);
    DATE.with(|date| date.replace(&name, "").into_owned())
}

/// Two prices that differ.
#[derive(Debug)]
pub struct Disagreement {
    /// The index of the entry.
    pub entry: usize,
    pub genai_prices: Period,
    pub litellm: Period,
    pub kinds: Vec<Kind>,
}

/// All entries, with the indices of their names.
#[derive(Debug, Default)]
pub struct Book {
    pub entries: Vec<Entry>,
    pub disagreements: Vec<Disagreement>,
    /// By provider and folded name.
    names: HashMap<(String, String), usize>,
    /// By folded name: the first provider.
    by_name: HashMap<String, usize>,
}

impl Book {
    /// Adds an entry. A name that another entry of the provider has keeps its meaning.
    pub fn add(&mut self, entry: Entry) {
        let index = self.entries.len();
        for name in entry.names() {
            self.index(&entry.provider, name, index);
        }
        self.entries.push(entry);
    }

    /// Adds a name to an entry, unless another entry of the provider has it.
    pub fn add_name(&mut self, index: usize, name: &str) {
        let provider = self.entries[index].provider.clone();
        if self.get(&provider, name).is_none() {
            self.index(&provider, name, index);
            self.entries[index].aliases.push(name.to_owned());
        }
    }

    fn index(&mut self, provider: &str, name: &str, index: usize) {
        let name = fold(name).into_owned();
        self.by_name.entry(name.clone()).or_insert(index);
        self.names.entry((provider.to_owned(), name)).or_insert(index);
    }

    /// The entry of a provider with this name.
    pub fn get(&self, provider: &str, name: &str) -> Option<usize> {
        self.names.get(&(provider.to_owned(), fold(name).into_owned())).copied()
    }

    /// The entry of a provider with this name, with or without its date.
    pub fn find(&self, provider: &str, name: &str) -> Option<usize> {
        self.get(provider, name).or_else(|| self.get(provider, &undated(name)))
    }

    /// The indices of all names, each of the first entry with it.
    pub fn first_by_name(&self) -> HashMap<String, usize> {
        self.by_name.clone()
    }
}

/// The prices of whole days that apply today: what a source without a history is compared with.
pub fn newest(entry: &Entry, today: Day) -> Option<&Period> {
    entry.period(None, today)
}

/// As [`newest`].
pub fn newest_mut(entry: &mut Entry, today: Day) -> Option<&mut Period> {
    let newest = std::ptr::from_ref(newest(entry, today)?);
    entry.prices.iter_mut().find(|it| std::ptr::eq(newest, *it))
}
