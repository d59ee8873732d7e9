//! The shape of a file without its content: keys, types and counts of JSON, tables and columns of a database. It shows what a new
//! adapter has to read, and contains no text of the file.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use foldhash::HashSet;
use serde::Serialize;
use twox_hash::XxHash3_64;

use super::privacy;
use crate::adapters::shared::ids::is_uuid;
use crate::base::time::Time;
use crate::input::database::{self, TableSample};
use crate::json::fields::Pairs;
use crate::json::lines::Lines;
use crate::json::{self, Raw};

/// At most so many records are examined.
const MAX_RECORDS: usize = 10_000;
/// Values that are nested more deeply are not examined.
const MAX_DEPTH: usize = 16;
/// An object with more keys is a map whose keys are data.
const MAX_KEYS: usize = 64;
/// Texts that differ are counted up to this number.
const MAX_DIFFERENT: usize = 20;
/// The replacement of keys that may be data: ids, paths, names of models or people.
const ANY_KEY: &str = "*";

/// The shape of a file.
#[derive(Debug, Default, Serialize)]
pub struct Shape {
    /// `json_lines`, `json_document`, `sqlite`, or `other`.
    pub kind: &'static str,
    /// JSON objects and other JSON values, of which at most `MAX_RECORDS` were examined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<usize>,
    /// Lines that are not JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_lines: Option<usize>,
    /// The types of each key, by its path from the record.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub keys: BTreeMap<String, String>,
    /// The tables of a database.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: BTreeMap<String, TableShape>,
    /// Why a database could not be examined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The shape of a table.
#[derive(Debug, Default, Serialize)]
pub struct TableShape {
    /// The number of its rows.
    pub rows: i64,
    /// The number of rows that were examined, if that is not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub examined: Option<usize>,
    /// The types in each column, and those inside of columns that contain JSON.
    pub columns: BTreeMap<String, String>,
}

impl Shape {
    /// The shape of a content. `path`: the file on disk, so that the journals of a database beside it are read.
    pub(super) fn of(content: &[u8], path: Option<&std::path::Path>) -> Self {
        if database::is_database(content) {
            return match database::sample(path, content) {
                Ok(tables) => Self::of_tables(&tables),
                Err(message) => Self { kind: "sqlite", message: Some(message), ..Self::default() },
            };
        }
        let mut node = Node::default();
        let (mut records, mut other_lines, mut spans_lines) = (0, 0, false);
        for line in Lines::new(content) {
            if json::value_end(line.bytes, 0) == Ok(line.bytes.len()) {
                records += 1;
                spans_lines |= line.bytes.contains(&b'\n');
                if records <= MAX_RECORDS {
                    node.add(Raw(line.bytes), 0);
                }
            } else {
                other_lines += 1;
            }
        }
        let kind = match records {
            0 => "other",
            _ if spans_lines => "json_document",
            _ => "json_lines",
        };
        let keys = if records == 0 { BTreeMap::new() } else { node.described() };
        Self { kind, records: Some(records), other_lines: Some(other_lines), keys, ..Self::default() }
    }

    fn of_tables(tables: &[TableSample]) -> Self {
        let shape = |table: &TableSample| {
            let (mut node, mut examined) = (Node::default(), 0);
            for line in Lines::new(&table.text) {
                examined += 1;
                node.add(Raw(line.bytes), 0);
            }
            let mut columns = node.described();
            columns.remove("");
            let is_all = i64::try_from(examined) == Ok(table.rows);
            let name = if is_name(&table.name) { &table.name } else { ANY_KEY };
            (name.to_owned(), TableShape { rows: table.rows, examined: (!is_all).then_some(examined), columns })
        };
        Self { kind: "sqlite", tables: tables.iter().map(shape).collect(), ..Self::default() }
    }
}

/// What a text can be recognised as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Form {
    Empty,
    Time,
    Uuid,
    Digits,
    Path,
    Url,
    Json,
    Other,
}

impl Form {
    fn of(text: &str) -> Self {
        let is_digit = |byte: u8| byte.is_ascii_digit();
        match text.trim() {
            "" => Self::Empty,
            text if text.bytes().all(is_digit) => Self::Digits,
            text if text.len() >= 10 && text.contains('-') && Time::parse(text).is_some() => Self::Time,
            text if is_uuid(text) => Self::Uuid,
            text if text.starts_with(['{', '[']) && json::value_end(text.as_bytes(), 0) == Ok(text.len()) => Self::Json,
            text if text.contains("://") && !text.contains(' ') => Self::Url,
            text if text.starts_with(['/', '~']) && !text.contains('\n') => Self::Path,
            _ => Self::Other,
        }
    }

    const fn as_str(self) -> Option<&'static str> {
        match self {
            Self::Empty => Some("empty"),
            Self::Time => Some("time"),
            Self::Uuid => Some("UUID"),
            Self::Digits => Some("digits"),
            Self::Path => Some("path"),
            Self::Url => Some("URL"),
            Self::Json => Some("JSON"),
            Self::Other => None,
        }
    }
}

/// The values at one place of all records.
#[derive(Debug, Default)]
pub(super) struct Node {
    nulls: usize,
    booleans: usize,
    integers: usize,
    /// Of the integers, those that are milliseconds since 1970 in a year from 2000 to 2099.
    milliseconds: usize,
    fractions: usize,
    texts: usize,
    forms: BTreeMap<Form, usize>,
    /// Hashes of different texts, and one more than are counted.
    different: HashSet<u64>,
    arrays: usize,
    objects: usize,
    keys: BTreeMap<String, Node>,
    /// The elements of all arrays here.
    elements: Option<Box<Node>>,
}

impl Node {
    /// Adds a value, which is nested `depth` levels deep.
    pub(super) fn add(&mut self, value: Raw<'_>, depth: usize) {
        match value.0.first() {
            Some(b'{') => self.add_object(value, depth),
            Some(b'[') => {
                self.arrays += 1;
                if depth < MAX_DEPTH {
                    let elements = self.elements.get_or_insert_default();
                    value.read::<Vec<Raw<'_>>>().into_iter().for_each(|element| elements.add(element, depth + 1));
                }
            }
            Some(b'"') => {
                let text = value.text();
                self.texts += 1;
                *self.forms.entry(Form::of(&text)).or_default() += 1;
                if self.different.len() <= MAX_DIFFERENT {
                    self.different.insert(XxHash3_64::oneshot(text.as_bytes()));
                }
            }
            Some(b't' | b'f') => self.booleans += 1,
            Some(b'n') => self.nulls += 1,
            _ => self.add_number(&value.text()),
        }
    }

    fn add_number(&mut self, digits: &str) {
        match digits.parse::<i64>() {
            Ok(number) => {
                self.integers += 1;
                let is_time = number > 100_000_000_000 && Time::from_number(number as f64).is_some();
                self.milliseconds += usize::from(is_time);
            }
            Err(_) => self.fractions += 1,
        }
    }

    fn add_object(&mut self, value: Raw<'_>, depth: usize) {
        self.objects += 1;
        if depth >= MAX_DEPTH {
            return;
        }
        let pairs: Pairs<'_, Raw<'_>> = value.read();
        for (key, value) in pairs.0 {
            let is_new = !self.keys.contains_key(key.as_ref());
            let key = if is_name(&key) && !(is_new && self.keys.len() > MAX_KEYS) { key.as_ref() } else { ANY_KEY };
            self.keys.entry(key.to_owned()).or_default().add(value, depth + 1);
        }
    }

    /// Adds the values of another place.
    pub(super) fn merge(&mut self, other: Self) {
        self.nulls += other.nulls;
        self.booleans += other.booleans;
        self.integers += other.integers;
        self.milliseconds += other.milliseconds;
        self.fractions += other.fractions;
        self.texts += other.texts;
        self.arrays += other.arrays;
        self.objects += other.objects;
        other.forms.into_iter().for_each(|(form, count)| *self.forms.entry(form).or_default() += count);
        let space = (MAX_DIFFERENT + 1).saturating_sub(self.different.len());
        self.different.extend(other.different.into_iter().take(space));
        for (key, node) in other.keys {
            self.keys.entry(key).or_default().merge(node);
        }
        if let Some(elements) = other.elements {
            self.elements.get_or_insert_default().merge(*elements);
        }
    }

    /// Whether the keys are data: there are many, or several objects that have the same keys themselves.
    fn is_map(&self) -> bool {
        let mut values = self.keys.values();
        let Some(first) = values.next() else { return false };
        let is_same = |node: &Node| node.objects > 0 && node.keys.keys().eq(first.keys.keys());
        self.keys.len() > MAX_KEYS
            || self.keys.len() > 1 && first.objects > 0 && !first.keys.is_empty() && values.all(is_same)
    }

    /// The descriptions of this place, under the empty path, and of all places below it.
    pub(super) fn described(self) -> BTreeMap<String, String> {
        let mut out = BTreeMap::new();
        self.describe("", &mut out);
        out
    }

    fn describe(mut self, path: &str, out: &mut BTreeMap<String, String>) {
        out.insert(path.to_owned(), self.description());
        if self.is_map() {
            let mut merged = Self::default();
            for node in std::mem::take(&mut self.keys).into_values() {
                merged.merge(node);
            }
            self.keys.insert(ANY_KEY.to_owned(), merged);
        }
        for (key, node) in self.keys {
            let path = if path.is_empty() { key } else { format!("{path}.{key}") };
            node.describe(&path, out);
        }
        if let Some(elements) = self.elements {
            elements.describe(&format!("{path}[]"), out);
        }
    }

    /// The types here with their counts, such as `text 3 (time), null 1`.
    fn description(&self) -> String {
        let mut out = String::new();
        let counts = [
            (self.objects, "object"),
            (self.arrays, "array"),
            (self.texts, "text"),
            (self.integers, "integer"),
            (self.fractions, "number"),
            (self.booleans, "boolean"),
            (self.nulls, "null"),
        ];
        for (count, name) in counts.into_iter().filter(|(count, _)| *count > 0) {
            let separator = if out.is_empty() { "" } else { ", " };
            let _ = write!(out, "{separator}{name} {count}");
            let note = match name {
                "text" => self.note_of_texts(),
                "integer" if self.milliseconds == count => Some("milliseconds since 1970".to_owned()),
                _ => None,
            };
            if let Some(note) = note {
                let _ = write!(out, " ({note})");
            }
        }
        out
    }

    /// The form of all texts, or how many there are if they repeat.
    fn note_of_texts(&self) -> Option<String> {
        let mut forms = self.forms.keys().filter(|form| **form != Form::Empty);
        let only = forms.next().copied().unwrap_or(Form::Empty);
        if let Some(form) = only.as_str().filter(|_| forms.next().is_none()) {
            return Some(form.to_owned());
        }
        let different = self.different.len();
        (different <= MAX_DIFFERENT && different < self.texts).then(|| format!("{different} different"))
    }
}

/// Whether a key is a word of a program, and not data: an id, a path, a model, a mail address, a secret.
fn is_name(key: &str) -> bool {
    let is_id = key.contains('-') && key.bytes().any(|byte| byte.is_ascii_digit());
    privacy::is_word(key, b"-") && !is_id && privacy::is_harmless(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<(String, String)> {
        Shape::of(text.as_bytes(), None).keys.into_iter().collect()
    }

    #[test]
    fn a_shape_has_types_and_counts() {
        let text = concat!(
            r#"{"type":"a","at":"2026-10-19T09:00:00Z","usage":{"input":1,"cost":0.5},"parts":[{"ok":true},7]}"#,
            "\nnoise\n",
            r#"{"type":"b","at":null,"ms":1792400400000}"#,
        );
        let expected = [
            ("", "object 2"),
            ("at", "text 1 (time), null 1"),
            ("ms", "integer 1 (milliseconds since 1970)"),
            ("parts", "array 1"),
            ("parts[]", "object 1, integer 1"),
            ("parts[].ok", "boolean 1"),
            ("type", "text 2"),
            ("usage", "object 1"),
            ("usage.cost", "number 1"),
            ("usage.input", "integer 1"),
        ];
        assert_eq!(keys(text), expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
        let shape = Shape::of(text.as_bytes(), None);
        assert_eq!((shape.kind, shape.records, shape.other_lines), ("json_lines", Some(2), Some(1)));
        assert_eq!(Shape::of(b"\x00\x01text", None).kind, "other");
        assert_eq!(Shape::of(b"{\n\"a\": 1\n}\n", None).kind, "json_document");
    }

    #[test]
    fn keys_that_are_data_are_not_shown() {
        for key in [
            "/home/ada/shop",
            "ada@example.com",
            "7c1d2e3f-4a5b-4c6d-8e7f-901122334455",
            "claude-sonnet-4-5",
            "main.rs",
            "two words",
            "ghp_0123456789abcdefghijABCDEFGHIJ012345",
            "aB1cD2eF3gH4",
            "",
            "日本",
        ] {
            assert_eq!(keys(&format!(r#"{{"{key}":1}}"#))[1].0, ANY_KEY, "{key}");
        }
        for key in ["input_tokens", "cacheReadInputTokens", "sha256", "_meta", "$schema", "tool-calls", "URL"] {
            assert_eq!(keys(&format!(r#"{{"{key}":1}}"#))[1].0, key, "{key}");
        }
        // Two names with the same kind of value may be names of people.
        let people = keys(r#"{"users":{"ada":{"cost":1},"grace":{"cost":2}}}"#);
        assert_eq!(people[2..], [("users.*".into(), "object 2".into()), ("users.*.cost".into(), "integer 2".into())]);
    }

    #[test]
    fn no_text_is_shown() {
        let text = r#"{"prompt":"the secret plan","args":"{\"a\":1}","path":"/home/ada","tags":["alpha","alpha"]}"#;
        let shown = serde_json::to_string(&Shape::of(text.as_bytes(), None)).unwrap();
        for word in ["secret", "ada", "alpha"] {
            assert!(!shown.contains(word), "{shown}");
        }
        assert!(shown.contains(r#""args":"text 1 (JSON)""#) && shown.contains("(1 different)"), "{shown}");
    }

    #[test]
    fn hostile_content_is_examined_within_bounds() {
        let deep = "[".repeat(200_000);
        let many = (0..5000).map(|key| format!(r#""{}":1"#, "a".repeat(key % 30 + 1))).collect::<Vec<_>>().join(",");
        for text in [deep, format!("{{{many}}}"), "{\"a\":".repeat(100) + "1" + &"}".repeat(100)] {
            assert!(Shape::of(text.as_bytes(), None).keys.len() < 100);
        }
    }
}
