//! Names of models in LiteLLM's table, and other orders of words.

use agentlogs::prices::{Entry, fold, without_host};
use regex::Regex;

use super::book::{Book, undated};

/// LiteLLM's name of a host's model without what the host adds to it, and the region in it. `None` if the name is that of a route.
pub fn of_host(entry: &Entry, key: &str) -> Option<(String, Option<String>)> {
    match entry.provider.as_str() {
        "azure" => without_host("azure", key),
        "bedrock" => {
            let (name, region) = without_host("bedrock", key)?;
            Some((if name.starts_with("claude") { undated(&name) } else { name }, region))
        }
        "vercel" | "fireworks" | "together" | "deepinfra" | "groq" => Some((entry.model.clone(), None)),
        _ => Some((last_segment(&entry.model).to_owned(), None)),
    }
}

/// The part of a name after its last slash.
pub fn last_segment(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Adds the other order of words to Claude's names, since logs contain both: `claude-4-5-sonnet`, `claude-sonnet-4-5`. 4 is also 4-0.
pub fn add_other_orders(book: &mut Book) {
    let claude = Regex::new(r"^claude-(opus|sonnet|haiku|fable|mythos)-(\d+(?:-\d{1,2})?)$").expect("a pattern");
    for index in 0..book.entries.len() {
        if book.entries[index].provider != "anthropic" {
            continue;
        }
        let names: Vec<String> = book.entries[index].names().map(undated).collect();
        for parts in names.iter().filter_map(|name| claude.captures(name)) {
            let version = parts[2].strip_suffix("-0").unwrap_or(&parts[2]).to_owned();
            book.add_name(index, &format!("claude-{version}-{}", &parts[1]));
            book.add_name(index, &format!("claude-{}-{version}", &parts[1]));
        }
    }
}

/// The aliases as they are written: in lower case, and without those that a rule of docs/prices.md finds anyway.
pub fn needed_aliases(model: &str, aliases: &[String]) -> Vec<String> {
    let mut folded = vec![fold(model).into_owned()];
    let mut names: Vec<String> = Vec::new();
    for alias in aliases {
        let name = fold(alias).into_owned();
        if !folded.contains(&name) {
            folded.push(name);
            names.push(alias.to_lowercase());
        }
    }
    names.retain(|name| {
        let undated = undated(name);
        undated == fold(name) || !folded.contains(&undated)
    });
    names.sort();
    names
}
