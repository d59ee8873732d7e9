//! The prices of makers: those of genai-prices, completed by those of LiteLLM.

use std::collections::HashSet;

use agentlogs::base::time::Day;
use agentlogs::prices::{Entry, fold};
use serde_json::Value;

use super::book::{Book, Disagreement, newest, newest_mut};
use super::clause::Clause;
use super::kind::{complete, differences};
use super::names::last_segment;
use super::sources::{Kept, Sources, Tables};

/// No list price per million tokens is higher. A table with a higher one uses another unit.
const HIGHEST: f64 = 700.0;

/// The entries of makers while they are collected.
struct Makers<'a> {
    book: Book,
    sources: &'a Sources,
    today: Day,
    /// The entries of genai-prices with the clauses of their names.
    clauses: Vec<(usize, Clause)>,
    from_genai_prices: HashSet<usize>,
}

/// An entry of LiteLLM's table, if its price is complete.
pub fn litellm_entry(name: &str, model: &Value) -> Option<Entry> {
    let entry = Entry::from_litellm(name, model)?;
    let period = entry.prices.first()?;
    let is_price = |price: f64| price > 0.0 && price <= HIGHEST;
    (is_price(period.input) && is_price(period.output)).then_some(entry)
}

/// The prices of all makers.
pub fn collect(tables: &Tables, sources: &Sources, today: Day) -> Result<Book, String> {
    let (clauses, from_genai_prices) = (Vec::new(), HashSet::new());
    let mut makers = Makers { book: Book::default(), sources, today, clauses, from_genai_prices };
    for provider in tables.genai_prices.iter().filter(|it| sources.genai_prices.makers.contains(&it.id)) {
        for model in &provider.models {
            makers.add_genai_prices(&provider.id, model)?;
        }
    }
    for (name, model) in &tables.litellm {
        let provider = model.get("litellm_provider").and_then(Value::as_str).unwrap_or_default();
        let is_wanted = sources.litellm.makers.iter().any(|it| it == provider);
        if is_wanted && !sources.other_models.contain(name) && !name.starts_with("ft:") {
            makers.add_litellm(name, model);
        }
    }
    Ok(makers.book)
}

impl Makers<'_> {
    fn add_genai_prices(&mut self, provider: &str, model: &Value) -> Result<(), String> {
        let Some(entry) = Entry::from_genai_prices(provider, model, self.today) else { return Ok(()) };
        let is_of_other_maker = entry.provider == "google" && entry.model.contains("claude");
        let is_free = entry.prices.last().is_none_or(|it| it.input <= 0.0);
        let is_wanted = !self.sources.other_models.contain(&entry.model) && !entry.model.starts_with("ft:");
        if is_of_other_maker || is_free || !is_wanted || newest(&entry, self.today).is_none() {
            return Ok(());
        }
        let index = self.book.entries.len();
        self.book.add(entry);
        self.from_genai_prices.insert(index);
        if let Some(clause) = model.get("match") {
            self.clauses.push((index, Clause::parse(clause)?));
        }
        Ok(())
    }

    fn add_litellm(&mut self, name: &str, model: &Value) {
        let Some(mut entry) = litellm_entry(name, model) else { return };
        last_segment(name).clone_into(&mut entry.model);
        let stated = self.book.find(&entry.provider, &entry.model);
        let Some(known) = stated.or_else(|| self.find_by_clause(&entry)) else { return self.book.add(entry) };
        let Some(ours) = newest(&self.book.entries[known], self.today) else { return };
        let differ = !differences(ours, &entry.prices[0]).is_empty();
        if !self.from_genai_prices.contains(&known) {
            // The first of several models of LiteLLM is kept.
            if differ && fold(&entry.model) != fold(&self.book.entries[known].model) {
                self.book.add(entry);
            }
            return;
        }
        // Mistral's `latest` moves on to other models, at other prices.
        let is_moving = entry.provider == "mistral" && self.book.get(&entry.provider, &entry.model).is_none();
        if stated.is_some() && !is_moving {
            self.merge(known, entry);
        } else if differ {
            self.book.add(entry);
        } else {
            self.book.add_name(known, &entry.model);
        }
    }

    /// The entry whose clause contains the name of another one.
    fn find_by_clause(&self, entry: &Entry) -> Option<usize> {
        let name = entry.model.to_lowercase();
        let is_of_maker = |index: usize| self.book.entries[index].provider == entry.provider;
        let found = self.clauses.iter().find(|(index, clause)| is_of_maker(*index) && clause.matches(&name));
        found.map(|(index, _)| *index)
    }

    /// Adds what LiteLLM lists for a model of genai-prices.
    fn merge(&mut self, known: usize, entry: Entry) {
        let Entry { model, prices, tiers, regions, .. } = entry;
        let ours = &mut self.book.entries[known];
        let name = format!("{}/{}", ours.provider, ours.model);
        let Some((theirs, period)) = prices.first().zip(newest_mut(ours, self.today)) else { return };
        let kinds = differences(period, theirs);
        let before = period.clone();
        if self.sources.disagreements.get(&name).is_some_and(|it| it.kept == Kept::Litellm) {
            for kind in &kinds {
                kind.copy(theirs, period);
            }
        }
        complete(period, theirs);
        for (tier, share) in tiers {
            ours.tiers.entry(tier).or_insert(share);
        }
        ours.regions.extend(regions);
        self.book.add_name(known, &model);
        if !kinds.is_empty() && self.book.disagreements.iter().all(|it| it.entry != known) {
            let (genai_prices, litellm) = (before, theirs.clone());
            self.book.disagreements.push(Disagreement { entry: known, genai_prices, litellm, kinds });
        }
    }
}
