//! What differs between two catalogs.

use std::collections::{BTreeMap, BTreeSet};

use agentlogs::prices::Entry;

use super::kind::{Kind, TOKENS, words};
use super::written::{Spaced, json};

/// A line for each model that is new, gone or changed.
pub fn changes(old: &[Entry], new: &[Entry]) -> serde_json::Result<Vec<String>> {
    let by_name = |entries: &'_ [Entry]| -> BTreeMap<(String, String), Entry> {
        entries.iter().map(|it| ((it.provider.clone(), it.model.clone()), it.clone())).collect()
    };
    let (old, new) = (by_name(old), by_name(new));
    let names: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    let mut lines = Vec::new();
    for key @ (provider, model) in names {
        match (old.get(key), new.get(key)) {
            (None, Some(new)) => lines.push(format!("+ {provider}/{model}: {}", prices(new))),
            (Some(old), None) => lines.push(format!("- {provider}/{model}: {}", prices(old))),
            (Some(old), Some(new)) if old != new => {
                lines.push(format!("~ {provider}/{model}: {} -> {}", json(old, Spaced)?, json(new, Spaced)?));
            }
            _ => {}
        }
    }
    Ok(lines)
}

/// The newest prices of an entry.
fn prices(entry: &Entry) -> String {
    let kinds: Vec<Kind> = TOKENS.into_iter().chain([Kind::LongContext]).collect();
    entry.prices.last().map(|period| words(period, &kinds)).unwrap_or_default()
}
