//! The prices of hosts, where they differ from those of the makers.

use std::collections::HashMap;

use agentlogs::base::time::Day;
use agentlogs::prices::{Entry, Period, fold};
use serde_json::Value;

use super::book::{Book, newest, undated};
use super::kind::differences;
use super::makers::litellm_entry;
use super::names::{last_segment, of_host};
use super::sources::{Sources, Tables};

/// The book of makers, and what hosts offer.
struct Hosts<'a> {
    book: Book,
    sources: &'a Sources,
    today: Day,
    /// The indices of makers' entries by folded name.
    makers: HashMap<String, usize>,
}

/// The entries of a host's model by region.
type ByRegion = Vec<(Option<String>, Entry)>;

/// Adds the prices of hosts to those of makers.
pub fn add(book: Book, tables: &Tables, sources: &Sources, today: Day) -> Book {
    let makers = book.first_by_name();
    let mut hosts = Hosts { book, sources, today, makers };
    for provider in tables.genai_prices.iter().filter(|it| sources.genai_prices.hosts.contains(&it.id)) {
        for model in &provider.models {
            hosts.add_genai_prices(&provider.id, model);
        }
    }
    for by_region in hosts.by_region(&tables.litellm) {
        hosts.offer(with_regions(&by_region));
    }
    hosts.book
}

impl Hosts<'_> {
    fn add_genai_prices(&mut self, provider: &str, model: &Value) {
        let Some(mut entry) = Entry::from_genai_prices(provider, model, self.today) else { return };
        let is_free = newest(&entry, self.today).is_none_or(|it| it.input <= 0.0);
        if is_free && !entry.model.ends_with(":free") {
            return;
        }
        let is_path = entry.model.contains('/');
        entry.aliases.retain(|alias| alias.contains('/') == is_path);
        self.offer(entry);
    }

    /// LiteLLM's models of hosts.
    fn by_region(&self, models: &[(String, Value)]) -> Vec<ByRegion> {
        let mut all: Vec<ByRegion> = Vec::new();
        let mut indices = HashMap::new();
        for (key, model) in models {
            let provider = model.get("litellm_provider").and_then(Value::as_str).unwrap_or_default();
            let is_wanted = self.sources.litellm.hosts.iter().any(|it| it == provider);
            let Some(mut entry) = litellm_entry(key, model).filter(|_| is_wanted) else { continue };
            let Some((name, region)) = of_host(&entry, key) else { continue };
            (entry.model, entry.aliases) = (name, Vec::new());
            let index = *indices.entry((entry.provider.clone(), entry.model.clone())).or_insert(all.len());
            if index == all.len() {
                all.push(Vec::new());
            }
            self.add_region(&mut all[index], region, entry);
        }
        all
    }

    /// Adds the entry of a region. Of several versions of one name, that with the maker's price is used.
    fn add_region(&self, by_region: &mut ByRegion, region: Option<String>, entry: Entry) {
        let maker = self.maker(&entry.model).and_then(|index| newest(&self.book.entries[index], self.today));
        match by_region.iter_mut().find(|(it, _)| *it == region) {
            None => by_region.push((region, entry)),
            Some((_, known)) => {
                if maker.is_some_and(|maker| !differences(maker, &known.prices[0]).is_empty()) {
                    *known = entry;
                }
            }
        }
    }

    /// The index of the maker's entry of a model.
    fn maker(&self, name: &str) -> Option<usize> {
        let name = last_segment(name);
        self.makers.get(&*fold(name)).or_else(|| self.makers.get(&undated(name))).copied()
    }

    /// Adds an entry of a host, unless it has the maker's price.
    fn offer(&mut self, mut entry: Entry) {
        if self.sources.other_models.contain(&entry.model) {
            return;
        }
        let Some(theirs) = newest(&entry, self.today) else { return };
        if let Some(maker) = self.maker(&entry.model).map(|index| &self.book.entries[index])
            && newest(maker, self.today).is_some_and(|ours| differences(ours, theirs).is_empty())
        {
            if entry.regions.is_empty() {
                return;
            }
            // Only the regions are its own: the history is the maker's.
            entry.prices.clone_from(&maker.prices);
            for (tier, share) in &maker.tiers {
                entry.tiers.entry(tier.clone()).or_insert(*share);
            }
        }
        if self.book.find(&entry.provider, &entry.model).is_none() {
            self.book.add(entry);
        }
    }
}

/// The entry of a model with the prices of its regions as shares.
fn with_regions(by_region: &ByRegion) -> Entry {
    let of = |region: Option<&str>| by_region.iter().find(|(it, _)| it.as_deref() == region);
    let (_, base) = of(Some("global")).or_else(|| of(None)).unwrap_or(&by_region[0]);
    let mut entry = base.clone();
    let share = |period: &Period, of: fn(&Period) -> f64| format!("{:.3}", of(period) / of(&base.prices[0]));
    for (region, regional) in by_region {
        let [input, output] =
            [|it: &Period| it.input, |it: &Period| it.output].map(|of| share(&regional.prices[0], of));
        if let Some(region) = region.as_ref().filter(|_| input == output && input != "1.000") {
            entry.regions.extend(input.parse().ok().map(|share: f64| (region.clone(), share)));
        }
    }
    entry
}
