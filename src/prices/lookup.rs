//! Finds the model of the catalog that a log means: see docs/prices.md#how-a-name-finds-its-model.
//!
//! Each step removes one part that is known not to belong to the name of the model. The rest has to be in the catalog
//! as it is: a common prefix is not a match.

use std::borrow::Cow;

use super::catalog::{Catalog, LONGEST_NAME};
use super::entry::Entry;
use super::model_name::{ModelName, is_vendor_of, maker_of};
use super::rule::Rule;
use super::spelling::{fold, is_host, provider};
use crate::base::time::Day;

/// The models that a logged name can mean.
#[derive(Debug, Clone)]
pub struct Found<'c> {
    /// The entries of that name in the order of precedence: a user's own first.
    pub entries: Vec<&'c Entry>,
    /// The steps that led to the name.
    pub rules: Vec<Rule>,
    /// Whether the name contains the higher speed.
    pub is_fast: bool,
    /// The region in the name.
    pub region: Option<String>,
    /// The day whose prices apply to a request without a time.
    pub(super) today: Day,
}

impl Found<'_> {
    /// The same model at its standard prices, without those of the region in the name.
    #[must_use]
    pub fn without_region(self) -> Self {
        Self { region: None, ..self }
    }
}

impl Catalog {
    /// The model that `model` means, logged with `provider`. `None` if no rule leads to a model, or the maker is
    /// ambiguous.
    pub fn find(&self, provider: Option<&str>, model: &str) -> Option<Found<'_>> {
        if model.len() > LONGEST_NAME {
            return None;
        }
        let mut name = ModelName::new(provider, model);
        let is_path = name.text.contains('/');
        loop {
            // Bedrock's `zai.glm-5.3` is not another maker's `zai-glm-5.3`.
            let is_right =
                |found: &Found<'_>| found.entries.first().is_some_and(|it| it.provider == "bedrock" || self.is_own(it));
            if let Some(found) = self.find_exact(&name, model).filter(|it| !name.is_of_bedrock() || is_right(it)) {
                return Some(found);
            }
            if !name.simplify() {
                break;
            }
        }
        // `vendor/model` is OpenRouter's spelling: if no maker lists the model, the price of OpenRouter applies.
        let has_no_provider = name.provider.as_deref().is_none_or(|provider| provider == "litellm");
        if has_no_provider && is_path {
            let name = ModelName { provider: Some(Cow::Borrowed("openrouter")), ..ModelName::new(None, model) };
            return self.find_exact(&name, model);
        }
        None
    }

    /// The entries with exactly this name. `logged` is the name in the log.
    fn find_exact(&self, name: &ModelName, logged: &str) -> Option<Found<'_>> {
        let folded = fold(&name.text);
        let maker = maker_of(folded.rsplit('/').next().unwrap_or_default());
        // 0: the price of the logged provider. 1: the price of the maker.
        let rank = |entry: &Entry| {
            if entry.provider.is_empty() || name.provider.as_deref() == Some(&entry.provider) {
                return Some(0);
            }
            if is_host(&entry.provider) {
                return None;
            }
            let is_of_maker = match name.vendor {
                Some(vendor) => {
                    vendor == entry.provider
                        || is_vendor_of(vendor, &entry.provider) && maker == Some(entry.provider.as_str())
                }
                // A provider that is not in the table is a user's own.
                None => maker.is_none_or(|maker| maker == entry.provider || provider(&entry.provider).is_none()),
            };
            is_of_maker.then_some(1)
        };
        let named = self.named(&folded);
        let mut entries: Vec<_> = named.filter_map(|(is_own, entry)| Some((rank(entry)?, is_own, entry))).collect();
        // A table of all hosts has the model of a maker at other prices, too: these come last if it has the maker's.
        let is_of_other = |entry: &Entry| maker.is_some_and(|maker| maker != entry.provider);
        let has_maker = entries.iter().any(|(_, is_own, entry)| *is_own && !is_of_other(entry));
        entries.sort_by_key(|(rank, is_own, entry)| (*rank, *is_own && has_maker && is_of_other(entry), !is_own));
        let (best, _, first) = *entries.first()?;
        // Two makers use the name, and the log does not contain the maker.
        let mut makers =
            entries.iter().filter(|(rank, is_own, _)| *rank == 1 && !is_own).map(|(_, _, entry)| &entry.provider);
        if best == 1 && makers.next().is_some_and(|maker| makers.any(|other| other != maker)) {
            return None;
        }
        let mut rules = name.rules.clone();
        if fold(&first.model) != folded {
            rules.push(Rule::Alias);
        } else if rules.is_empty() && first.model != logged {
            rules.push(Rule::Spelling);
        }
        if best == 1 && name.provider.as_deref().is_some_and(|provider| provider != first.provider) {
            rules.push(Rule::MakersPrice);
        }
        let entries = entries.into_iter().map(|(_, _, entry)| entry).collect();
        Some(Found { entries, rules, is_fast: name.is_fast, region: name.region.clone(), today: self.date })
    }
}
