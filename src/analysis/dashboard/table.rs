//! Frames as the page reads them: columns of whole numbers, with words for texts.

use std::collections::{BTreeMap, HashMap};

use polars::prelude::*;
use serde::Serialize;

/// Rows, column by column. What is unknown is null.
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

    /// Adds a column of places or counts.
    pub fn places(&mut self, name: &'static str, values: impl IntoIterator<Item = usize>) {
        self.numbers(name, values.into_iter().map(|it| Some(number(it))));
    }

    /// Adds a column of numbers that grow, each as its distance from the one before: they pack better.
    pub fn growing(&mut self, name: &'static str, values: impl IntoIterator<Item = Option<i64>>) {
        let mut before = 0;
        self.numbers(name, values.into_iter().map(|it| it.map(|it| it - std::mem::replace(&mut before, it))));
    }

    /// Adds a column of texts, none too long.
    pub fn texts<'a>(&mut self, name: &'static str, values: impl IntoIterator<Item = Option<&'a str>>) {
        self.0.insert(name, Column::Texts(values.into_iter().map(|it| it.map(cut)).collect()));
    }
}

pub fn number(place: usize) -> i64 {
    i64::try_from(place).unwrap_or(i64::MAX)
}

/// Characters of a text: what is longer is cut.
const LONGEST: usize = 200;

/// A text of a length that a page can show.
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

/// A column of dollars, in billionths: the sums of whole numbers are exact.
pub fn money(frame: &DataFrame, name: &str) -> PolarsResult<Vec<Option<i64>>> {
    #[expect(clippy::cast_possible_truncation, reason = "what is beyond nine billion dollars is no cost")]
    let nano = |usd: f64| (usd * 1e9).round() as i64;
    Ok(frame.column(name)?.f64()?.iter().map(|it| it.map(nano)).collect())
}

/// Different texts of a column; numbers stand for them.
#[derive(Debug, Serialize)]
pub struct Words {
    list: Vec<Option<String>>,
    /// Texts that are not in the list, for all of which the number behind its last stands.
    left_out: usize,
    #[serde(skip)]
    places: HashMap<Option<String>, usize>,
}

impl Words {
    /// The most frequent of these texts, so many at most.
    pub fn of<'a>(values: impl IntoIterator<Item = Option<&'a str>>, most: usize) -> Self {
        let mut counts: HashMap<Option<&str>, usize> = HashMap::new();
        for value in values {
            *counts.entry(value).or_default() += 1;
        }
        let mut counts: Vec<(Option<&str>, usize)> = counts.into_iter().collect();
        counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        let left_out = counts.len().saturating_sub(most);
        counts.truncate(most);
        let places = counts.iter().enumerate().map(|(place, it)| (it.0.map(str::to_owned), place)).collect();
        Self { list: counts.into_iter().map(|it| it.0.map(cut)).collect(), left_out, places }
    }

    /// The number that stands for a text.
    pub fn place(&self, text: Option<&str>) -> usize {
        self.places.get(&text.map(str::to_owned)).copied().unwrap_or(self.list.len())
    }

    /// The numbers of a column of texts.
    pub fn column<'a>(&self, values: impl IntoIterator<Item = Option<&'a str>>) -> Vec<Option<i64>> {
        // Looked up once for each different text.
        let mut known: HashMap<Option<&str>, i64> = HashMap::new();
        let number = |it| Some(*known.entry(it).or_insert_with(|| number(self.place(it))));
        values.into_iter().map(number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_words_have_numbers() {
        let words = Words::of([Some("b"), None, Some("a"), Some("b"), None, Some("c"), None], 3);
        assert_eq!(words.list, [None, Some("b".to_owned()), Some("a".to_owned())]);
        assert_eq!((words.left_out, words.place(Some("c")), words.place(None)), (1, 3, 0));
        assert_eq!(words.column([Some("a"), None, Some("?")]), [Some(2), Some(0), Some(3)]);
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let text = "é".repeat(300);
        assert_eq!(cut(&text).chars().count(), LONGEST + 1);
        assert_eq!(cut("short"), "short");
    }
}
