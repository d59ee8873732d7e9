//! `src/prices/corrections.toml`: what neither table has, or has wrong.

use std::collections::BTreeMap;

use agentlogs::prices::{Entry, Period, Share};
use serde::Deserialize;

use super::book::Book;

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Corrections {
    #[serde(default)]
    models: Vec<Correction>,
}

/// An entry of a user's own table, without what is right.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Correction {
    provider: String,
    model: String,
    #[expect(dead_code, reason = "for readers of the file")]
    source: String,
    #[serde(default)]
    aliases: Vec<String>,
    /// All prices of the model.
    prices: Option<Vec<Period>>,
    #[serde(default)]
    tiers: BTreeMap<String, Share>,
    #[serde(default)]
    regions: BTreeMap<String, f64>,
}

impl Corrections {
    /// The text of the file.
    pub const TEXT: &str = include_str!("../../src/prices/corrections.toml");

    /// Reads corrections.
    pub fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// Corrects the entries.
    pub fn apply(self, book: &mut Book) {
        for Correction { provider, model, aliases, prices, tiers, regions, .. } in self.models {
            let known = book.get(&provider, &model);
            let index = known.unwrap_or(book.entries.len());
            if known.is_none() {
                book.add(Entry { provider, model, ..Entry::default() });
            }
            for alias in &aliases {
                book.add_name(index, alias);
            }
            let entry = &mut book.entries[index];
            if let Some(prices) = prices {
                entry.prices = prices;
            }
            entry.tiers.extend(tiers);
            entry.regions.extend(regions);
        }
    }
}
