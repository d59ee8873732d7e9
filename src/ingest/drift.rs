//! What an adapter does not know of the logs that it reads: types of records, members, and values such as statuses. By format and
//! version, with counts. Of the text of the logs it contains only words of programs, so that it can be published.

use std::collections::BTreeMap;

use serde::Serialize;

use super::privacy::type_name;
use super::shape::Node;
use crate::adapters::unknown::{DATA, contents_of, type_of};
use crate::adapters::vocabulary::Vocabulary;
use crate::adapters::{newest_version, tested_version};
use crate::json::fields::Pairs;
use crate::json::lines::Lines;
use crate::json::parts::read_records;
use crate::json::{self, Raw};
use crate::model::source::Source;
use crate::model::unknown::Contents;

/// At most so many records of a type are examined.
const MAX_RECORDS: usize = 10_000;
/// Values that are nested more deeply are not examined.
const MAX_DEPTH: usize = 16;
/// A member with more different values contains data.
const MAX_VALUES: usize = 20;

/// Words at the end of members whose values are words of the program.
const ENUMERATED: &[&str] = &[
    "type",
    "kind",
    "status",
    "state",
    "reason",
    "role",
    "mode",
    "origin",
    "level",
    "phase",
    "outcome",
    "trigger",
    "tier",
    "category",
    "event",
    "operation",
    "decision",
];

/// What the adapter of a format does not know of the logs of one version.
#[derive(Debug, Serialize)]
pub struct Drift {
    /// The format.
    pub format: String,
    /// The version of the runtime, if it is known; of a file with several versions, the newest.
    pub version: Option<String>,
    /// The newest version that the adapter was tested with, if its logs state one.
    pub tested: Option<&'static str>,
    /// Files.
    pub files: usize,
    /// Records.
    pub records: usize,
    /// The types of records of which something is not known.
    pub types: BTreeMap<String, TypeDrift>,
}

/// What is not known of one type of records.
#[derive(Debug, Serialize)]
pub struct TypeDrift {
    /// Number of records.
    pub records: usize,
    /// Whether the adapter knows the type.
    pub is_known: bool,
    /// Whether records of an unknown type contain token counts or costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_counts: Option<bool>,
    /// The types of the members that it does not know, by the path from the record.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub members: BTreeMap<String, String>,
    /// The values that it does not know, with their number, by the path of the member.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, BTreeMap<String, usize>>,
}

/// The records of several files, by format, version and type.
#[derive(Debug, Default)]
pub struct Drifts(BTreeMap<(String, Option<String>), Collected>);

#[derive(Debug, Default)]
struct Collected {
    files: usize,
    records: usize,
    types: BTreeMap<String, Type>,
}

/// The records of one type.
#[derive(Debug, Default)]
struct Type {
    records: usize,
    is_unknown: bool,
    contents: Contents,
    members: Node,
    values: BTreeMap<String, BTreeMap<String, usize>>,
}

impl Drifts {
    /// The records of a file that was read. `content`: its records as text.
    pub(super) fn of(content: &[u8], source: &Source) -> Self {
        let Some(format) = &source.format else { return Self::default() };
        let mut found = Collected { files: 1, ..Collected::default() };
        let is_record = |text: &&[u8]| text.first() == Some(&b'{') && json::value_end(text, 0) == Ok(text.len());
        for line in Lines::new(content) {
            for record in read_records(line.bytes, |text| Some(text).filter(is_record)) {
                found.records += 1;
                let name = type_name(&type_of(record));
                found.types.entry(name).or_default().add(record);
            }
        }
        for unknown in &source.health.unknown_types {
            let known = found.types.entry(unknown.name.clone()).or_default();
            (known.is_unknown, known.contents) = (true, unknown.contents);
            // A part of a known record is not one of the records above.
            known.records = known.records.max(usize::try_from(unknown.records).unwrap_or_default());
        }
        let versions = source.sessions.iter().filter_map(|session| session.runtime_version.clone());
        let version = newest_version(versions.filter(|version| is_version(version)));
        Self(BTreeMap::from([((format.clone(), version), found)]))
    }

    /// Adds the records of another file.
    pub fn add(&mut self, other: Self) {
        for (key, more) in other.0 {
            let known = self.0.entry(key).or_default();
            known.files += more.files;
            known.records += more.records;
            for (name, more) in more.types {
                known.types.entry(name).or_default().merge(more);
            }
        }
    }

    /// What the adapters do not know.
    pub fn unknown(self) -> Vec<Drift> {
        let drift = |((format, version), found): ((String, Option<String>), Collected)| {
            let words = Vocabulary::of(&format);
            let types = found.types.into_iter().map(|(name, it)| (name, it.unknown(words.as_ref())));
            let is_new = |it: &TypeDrift| !it.is_known || !it.members.is_empty() || !it.values.is_empty();
            Drift {
                tested: tested_version(&format),
                files: found.files,
                records: found.records,
                types: types.filter(|(_, it)| is_new(it)).collect(),
                format,
                version,
            }
        };
        self.0.into_iter().map(drift).collect()
    }
}

impl Type {
    fn add(&mut self, record: &[u8]) {
        self.records += 1;
        if self.records <= MAX_RECORDS {
            self.contents = self.contents.and(contents_of(record));
            self.members.add(Raw(record), 0);
            self.add_values("", Raw(record), 0);
        }
    }

    /// Counts the values of the members that have words of the program.
    fn add_values(&mut self, path: &str, value: Raw<'_>, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match value.0.first() {
            Some(b'[') => {
                let path = format!("{path}[]");
                value.read::<Vec<Raw<'_>>>().into_iter().for_each(|element| self.add_values(&path, element, depth + 1));
            }
            Some(b'{') => {
                for (key, value) in value.read::<Pairs<'_, Raw<'_>>>().0.into_iter().filter(|(key, _)| !is_data(key)) {
                    let path = if path.is_empty() { type_name(&key) } else { format!("{path}.{}", type_name(&key)) };
                    if value.is_string() {
                        self.add_value(&key, path, &value.text());
                    } else {
                        self.add_values(&path, value, depth + 1);
                    }
                }
            }
            _ => {}
        }
    }

    fn add_value(&mut self, key: &str, path: String, value: &str) {
        let key = key.to_ascii_lowercase();
        let is_word = !value.is_empty() && !value.contains('/') && type_name(value) == value;
        if is_word && ENUMERATED.iter().any(|word| key.ends_with(word)) {
            let values = self.values.entry(path).or_default();
            if values.len() <= MAX_VALUES {
                *values.entry(value.to_owned()).or_default() += 1;
            }
        }
    }

    fn merge(&mut self, other: Self) {
        self.records += other.records;
        self.is_unknown |= other.is_unknown;
        self.contents = self.contents.and(other.contents);
        self.members.merge(other.members);
        for (path, values) in other.values {
            let known = self.values.entry(path).or_default();
            for (value, count) in values {
                *known.entry(value).or_default() += count;
            }
        }
    }

    fn unknown(self, words: Option<&Vocabulary>) -> TypeDrift {
        // Of an unknown type nothing is known.
        let words = words.filter(|_| !self.is_unknown);
        let is_known = |path: &str| {
            words.is_some_and(|words| {
                let names = path.split('.').map(|name| name.trim_end_matches("[]"));
                names.into_iter().all(|name| name.is_empty() || name == "*" || words.has_member(name))
            })
        };
        let is_of_data = |path: &str| path.split('.').any(|name| is_data(name.trim_end_matches("[]")));
        let members = self.members.described().into_iter();
        let members = members.filter(|(path, _)| !path.is_empty() && !is_known(path) && !is_of_data(path)).collect();
        let values = self.values.into_iter().filter(|(_, values)| values.len() <= MAX_VALUES);
        let values = values.filter_map(|(path, mut values)| {
            values.retain(|value, _| words.is_none_or(|words| !words.has_value(value)));
            (!values.is_empty()).then_some((path, values))
        });
        TypeDrift {
            records: self.records,
            is_known: !self.is_unknown,
            has_counts: self.is_unknown.then_some(self.contents.has_counts),
            members,
            values: values.collect(),
        }
    }
}

fn is_data(key: &str) -> bool {
    DATA.contains(&key)
}

/// Whether a text is a version, and not any other text that a log has in its place.
fn is_version(text: &str) -> bool {
    let digits = text.strip_prefix('v').unwrap_or(text);
    text.len() <= 24
        && digits.starts_with(|first: char| first.is_ascii_digit())
        && text.chars().all(|it| it.is_ascii_alphanumeric() || matches!(it, '.' | '-' | '+'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::ADAPTERS;
    use crate::model::session::SessionResult;
    use crate::model::unknown::UnknownType;

    #[test]
    fn the_version_of_a_file_is_its_newest() {
        let drover = ADAPTERS.iter().find(|adapter| adapter.runtime == "drover").unwrap();
        let session =
            |version: &str| SessionResult { runtime_version: Some(version.to_owned()), ..SessionResult::default() };
        let sessions = ["2.1.99", "2.1.150", "built from source"].map(session).to_vec();
        let source = Source { format: Some(drover.id.to_owned()), sessions, ..Source::default() };
        let found = Drifts::of(b"", &source).unknown();
        assert_eq!(found[0].version.as_deref(), Some("2.1.150"));
    }

    #[test]
    fn drift_is_what_the_adapter_does_not_know() {
        let content = concat!(
            r#"{"runId":"r","kind":"run_start","agentId":"a","madeUp":{"ann@example.org":1,"status":"new_status"}}"#,
            "\n",
            r#"{"runId":"r","kind":"run_end","status":"success"}"#,
            "\n",
            r#"{"runId":"r","kind":"brand_new","usage":{"inputTokens":5},"note":"my secret","phase":"first_phase"}"#,
            "\n",
        );
        let drover = ADAPTERS.iter().find(|adapter| adapter.runtime == "drover").unwrap();
        let mut source = Source { format: Some(drover.id.to_owned()), ..Source::default() };
        source.health.unknown_types =
            vec![UnknownType { name: "brand_new".to_owned(), records: 1, ..UnknownType::default() }];
        let mut drifts = Drifts::of(content.as_bytes(), &source);
        drifts.add(Drifts::of(content.as_bytes(), &source));
        let found = drifts.unknown();
        assert_eq!((found.len(), found[0].files, found[0].records), (1, 2, 6));
        let types: Vec<_> = found[0].types.keys().map(String::as_str).collect();
        assert_eq!(types, ["brand_new", "run_start"]);
        let start = &found[0].types["run_start"];
        let members: Vec<_> = start.members.keys().map(String::as_str).collect();
        assert_eq!(members, ["madeUp", "madeUp.*", "madeUp.status"]);
        assert_eq!(start.values["madeUp.status"], BTreeMap::from([("new_status".to_owned(), 2)]));
        let new = &found[0].types["brand_new"];
        assert!(!new.is_known && new.members.contains_key("usage.inputTokens"));
        assert_eq!(new.values["phase"], BTreeMap::from([("first_phase".to_owned(), 2)]));
        let text = serde_json::to_string(&found).unwrap();
        assert!(!text.contains("secret") && !text.contains("ann"), "{text}");
    }
}
