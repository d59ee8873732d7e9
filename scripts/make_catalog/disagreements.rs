//! The table of docs/prices.md: models for which the tables list different prices.

use super::book::Book;
use super::kind::words;
use super::sources::{Decision, Kept, Sources};

const BEGIN: &str = "<!-- disagreements: written by scripts/prices.py -->";
const END: &str = "<!-- end of disagreements -->";

/// The rows of the table, in Markdown.
pub fn table(book: &Book, sources: &Sources) -> Vec<String> {
    let mut disagreements: Vec<_> = book.disagreements.iter().map(|it| (&book.entries[it.entry], it)).collect();
    disagreements.sort_by_key(|(entry, _)| (&entry.provider, &entry.model));
    let mut rows = vec![
        "| provider | model | genai-prices | litellm | kept | why |".to_owned(),
        "| --- | --- | --- | --- | --- | --- |".to_owned(),
    ];
    for (entry, it) in disagreements {
        let words = |period| Some(words(period, &it.kinds)).filter(|words| !words.is_empty());
        let [ours, theirs] =
            [&it.genai_prices, &it.litellm].map(|period| words(period).unwrap_or_else(|| "no tier".to_owned()));
        let decision = sources.disagreements.get(&format!("{}/{}", entry.provider, entry.model));
        let by_default = Decision { kept: Kept::GenaiPrices, why: "it has the history".to_owned() };
        let Decision { kept, why } = decision.unwrap_or(&by_default);
        let (provider, model) = (&entry.provider, entry.model.to_lowercase());
        rows.push(format!("| {provider} | {model} | {ours} | {theirs} | {kept} | {why} |"));
    }
    rows
}

/// The page with these rows in place of its own; `None` if it has no place for them.
pub fn replace(page: &str, rows: &[String]) -> Option<String> {
    let (head, rest) = page.split_once(BEGIN)?;
    let (_, tail) = rest.split_once(END)?;
    Some(format!("{head}{BEGIN}\n\n{}\n\n{END}{tail}", rows.join("\n")))
}
