//! Tables as the page reads them: columns of whole numbers, and texts as indexes into a list of distinct texts.
#![cfg_attr(
    not(test),
    expect(
        clippy::indexing_slicing,
        reason = "columns have the length of their frame, and indexes are those of its rows"
    )
)]

use std::collections::{BTreeMap, HashMap};

use polars::prelude::*;
use serde::Serialize;

/// Rows, column by column. Unknown values are null.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub struct Table(BTreeMap<&'static str, Column>);

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Column {
    Numbers(Vec<Option<i64>>),
    Texts(Vec<Option<String>>),
}

impl Table {
    /// Adds a column of numbers.
    pub fn numbers(&mut self, name: &'static str, values: impl IntoIterator<Item = Option<i64>>) {
        self.0.insert(name, Column::Numbers(values.into_iter().collect()));
    }

    /// Adds a column of indexes or counts.
    pub fn indexes(&mut self, name: &'static str, values: impl IntoIterator<Item = usize>) {
        self.numbers(name, values.into_iter().map(|value| Some(number(value))));
    }

    /// Adds a column of increasing numbers, each as the difference to the previous one, which compresses better.
    pub fn deltas(&mut self, name: &'static str, values: impl IntoIterator<Item = Option<i64>>) {
        let mut before = 0;
        self.numbers(
            name,
            values.into_iter().map(|value| value.map(|value| value - std::mem::replace(&mut before, value))),
        );
    }

    /// Adds a column of texts, each cut to [`LONGEST`] characters.
    pub fn texts<'a>(&mut self, name: &'static str, values: impl IntoIterator<Item = Option<&'a str>>) {
        self.0.insert(name, Column::Texts(values.into_iter().map(|text| text.map(cut)).collect()));
    }
}

/// An index or count as a number of a column.
pub fn number(index: usize) -> i64 {
    i64::try_from(index).unwrap_or(i64::MAX)
}

/// The maximum length of a text, in characters.
const LONGEST: usize = 200;

/// A text of at most [`LONGEST`] characters.
fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A column of texts.
pub fn texts<'a>(frame: &'a DataFrame, name: &str) -> PolarsResult<Vec<Option<&'a str>>> {
    Ok(frame.column(name)?.str()?.iter().collect())
}

/// A column of counts, flags, dates or times: whole numbers.
pub fn whole(frame: &DataFrame, name: &str) -> PolarsResult<Vec<Option<i64>>> {
    Ok(frame.column(name)?.cast(&DataType::Int64)?.i64()?.iter().collect())
}

/// A column of dollars, in billionths: sums of whole numbers are exact.
pub fn money(frame: &DataFrame, name: &str) -> PolarsResult<Vec<Option<i64>>> {
    #[expect(clippy::cast_possible_truncation, reason = "no cost exceeds nine billion dollars")]
    let nano = |usd: f64| (usd * 1e9).round() as i64;
    Ok(frame.column(name)?.f64()?.iter().map(|usd| usd.map(nano)).collect())
}

/// The distinct texts of a column, which tables refer to by index.
#[derive(Debug, Serialize)]
pub struct Dictionary {
    list: Vec<Option<String>>,
    /// The number of texts that are not in the list. The index of all of them is the length of the list.
    left_out: usize,
    #[serde(skip)]
    indexes: HashMap<Option<String>, usize>,
}

impl Dictionary {
    /// The most frequent of these texts, at most `max`.
    pub fn new<'a>(values: impl IntoIterator<Item = Option<&'a str>>, max: usize) -> Self {
        let mut counts: HashMap<Option<&str>, usize> = HashMap::new();
        for value in values {
            *counts.entry(value).or_default() += 1;
        }
        let mut counts: Vec<(Option<&str>, usize)> = counts.into_iter().collect();
        counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        let left_out = counts.len().saturating_sub(max);
        counts.truncate(max);
        let indexes = counts.iter().enumerate().map(|(index, (text, _))| (text.map(str::to_owned), index)).collect();
        Self { list: counts.into_iter().map(|(text, _)| text.map(cut)).collect(), left_out, indexes }
    }

    /// The index of a text.
    pub fn index(&self, text: Option<&str>) -> usize {
        self.indexes.get(&text.map(str::to_owned)).copied().unwrap_or(self.list.len())
    }

    /// The indexes of a column of texts.
    pub fn indexes<'a>(&self, values: impl IntoIterator<Item = Option<&'a str>>) -> Vec<Option<i64>> {
        // Each distinct text is looked up once.
        let mut known: HashMap<Option<&str>, i64> = HashMap::new();
        let index = |text| Some(*known.entry(text).or_insert_with(|| number(self.index(text))));
        values.into_iter().map(index).collect()
    }
}

/// The values of some rows. The second element of each pair is the index of the row.
pub fn pick<'a, A, V: Copy>(rows: &'a [(A, usize)], values: &'a [V]) -> impl Iterator<Item = V> {
    rows.iter().map(|(_, row)| values[*row])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_words_have_numbers() {
        let words = Dictionary::new([Some("b"), None, Some("a"), Some("b"), None, Some("c"), None], 3);
        assert_eq!(words.list, [None, Some("b".to_owned()), Some("a".to_owned())]);
        assert_eq!((words.left_out, words.index(Some("c")), words.index(None)), (1, 3, 0));
        assert_eq!(words.indexes([Some("a"), None, Some("?")]), [Some(2), Some(0), Some(3)]);
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let text = "é".repeat(300);
        assert_eq!(cut(&text).chars().count(), LONGEST + 1);
        assert_eq!(cut("short"), "short");
    }
}
