//! Groups of sessions with the same runtime, model, project, status and labels: the filters of the page act on groups.
#![cfg_attr(
    not(test),
    expect(
        clippy::indexing_slicing,
        reason = "columns have the length of their frame, and indexes are those of its rows"
    )
)]

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::sessions::{Selection, Sessions};
use super::table::{Dictionary, Table};
use super::vocabulary::Vocabulary;

/// The maximum number of values of a label. A key with more values identifies sessions rather than kinds of sessions.
const MAX_VALUES: usize = 500;

/// The groups, and the group of each session.
pub struct Groups {
    /// A row per group.
    pub table: Table,
    /// The group of each selected session.
    pub of_session: Vec<usize>,
    /// Distinct labels, as `KEY=VALUE`.
    pub labels: Vec<String>,
    /// Distinct sets of labels, as indexes into `labels`.
    pub label_sets: Vec<Vec<usize>>,
    /// Keys of labels with too many values.
    pub omitted_keys: Vec<String>,
}

impl Groups {
    /// Groups the selected sessions.
    pub fn new(all: &Sessions<'_>, selection: &Selection, words: &Vocabulary) -> Self {
        let (labels, omitted_keys) = distinct_labels(all, selection);
        let indexes = |words: &Dictionary, texts: &[Option<&str>]| {
            let index = |index: Option<i64>| usize::try_from(index.unwrap_or_default()).unwrap_or_default();
            words.indexes(selection.pick(texts)).into_iter().map(index).collect::<Vec<_>>()
        };
        let columns = [
            indexes(&words.runtime, &all.runtime),
            indexes(&words.model, &all.model),
            indexes(&words.project, &all.project),
            indexes(&words.status, &all.status),
        ];
        let mut sets = Numbered::default();
        let mut groups = Numbered::default();
        let mut of_session = Vec::with_capacity(selection.shown.len());
        for (position, session) in selection.shown.iter().enumerate() {
            let set: Vec<usize> = labels_of(all, *session).filter_map(|label| labels.get(&label).copied()).collect();
            let [runtime, model, project, status] = columns.each_ref().map(|column| column[position]);
            of_session.push(groups.number([runtime, model, project, status, sets.number(set)]));
        }
        let mut table = Table::default();
        for (column, name) in ["runtime", "model", "project", "status", "labels"].into_iter().enumerate() {
            table.indexes(name, groups.values.iter().map(|group| group[column]));
        }
        Self {
            table,
            of_session,
            labels: labels.keys().map(|(key, value)| format!("{key}={value}")).collect(),
            label_sets: sets.values,
            omitted_keys,
        }
    }
}

/// The labels of a session, as pairs of key and value. Of several labels with the same key the first is used, as in reports.
fn labels_of<'a>(all: &'a Sessions<'_>, session: usize) -> impl Iterator<Item = (&'a str, &'a str)> {
    let mut keys = BTreeSet::new();
    let pairs = all.labels[session].iter().filter_map(|label| label.split_once('='));
    pairs.filter(move |(key, _)| keys.insert(*key))
}

/// The distinct labels with their indexes, in order, and the keys that are omitted as they have too many values.
fn distinct_labels<'a>(
    all: &'a Sessions<'_>,
    selection: &Selection,
) -> (BTreeMap<(&'a str, &'a str), usize>, Vec<String>) {
    let mut values: BTreeMap<&str, HashSet<&str>> = BTreeMap::new();
    for session in &selection.shown {
        for (key, value) in labels_of(all, *session) {
            values.entry(key).or_default().insert(value);
        }
    }
    let mut omitted_keys = Vec::new();
    let mut labels: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (key, values) in &values {
        if values.len() > MAX_VALUES {
            omitted_keys.push((*key).to_owned());
        } else {
            labels.extend(values.iter().map(|value| ((*key, *value), 0)));
        }
    }
    for (index, label) in labels.values_mut().enumerate() {
        *label = index;
    }
    (labels, omitted_keys)
}

/// Distinct values, numbered in the order in which they first occur.
struct Numbered<V> {
    numbers: HashMap<V, usize>,
    values: Vec<V>,
}

impl<V> Default for Numbered<V> {
    fn default() -> Self {
        Self { numbers: HashMap::new(), values: Vec::new() }
    }
}

impl<V: Clone + Eq + std::hash::Hash> Numbered<V> {
    fn number(&mut self, value: V) -> usize {
        if let Some(number) = self.numbers.get(&value) {
            return *number;
        }
        let number = self.values.len();
        self.values.push(value.clone());
        self.numbers.insert(value, number);
        number
    }
}
