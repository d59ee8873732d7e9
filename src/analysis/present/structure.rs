//! Parsed logs without text: structure and numbers, which are safe to publish in a bug report.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use crate::adapters::ADAPTERS;
use crate::ingest::privacy::shape;
use crate::prices::{Catalog, Entry};

/// Members whose text is one of a fixed set that the program defines.
const OWN: &[&str] = &[
    "capabilities",
    "category",
    "command_kind",
    "compression",
    "error_kind",
    "kind",
    "operation",
    "reason",
    "status",
    "unread",
];

/// The type of an unknown record, which was reduced to words of programs when it was read ([`crate::ingest::privacy::type_name`]).
const RECORD_TYPE: &str = "record_type";

/// Members that contain times.
const TIMES: &[&str] =
    &["ended_at", "ingested_at", "judged_at", "modified_at", "occurred_at", "resets_at", "started_at"];

/// The shape of an unrecognised file, which contains no text of it (`crate::ingest::shape`).
const SHAPE: &str = "shape";

/// Objects whose keys come from logs.
const KEYED: &[&str] = &["asked"];

/// Replaces all text of logs by `text N`. The same text has the same number everywhere, so that ids can be compared. Numbers, times,
/// names of formats and kinds, listed names of models, and versions of runtimes are kept; so are the keys and punctuation of
/// rejected lines.
pub fn structure(value: &mut Value) {
    let models = Catalog::built_in().entries().flat_map(Entry::names).collect();
    Replacer { models, numbers: HashMap::new() }.value("", value);
}

struct Replacer {
    /// The names of models in the price list.
    models: BTreeSet<&'static str>,
    /// The number of each replaced text.
    numbers: HashMap<String, usize>,
}

impl Replacer {
    /// Replaces the text in a value, which is the member `name` of an object or an item of it.
    fn value(&mut self, name: &str, value: &mut Value) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => {
                if name == "example" {
                    *text = only_identifiers(&shape(text));
                } else if !self.is_kept(name, text) {
                    *text = self.number(text);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(name, item)),
            Value::Object(members) => {
                if KEYED.contains(&name) {
                    let keyed = std::mem::take(members);
                    *members =
                        keyed.into_iter().map(|(key, member)| (self.number(&key), member)).collect::<Map<_, _>>();
                }
                for (key, member) in members.iter_mut().filter(|(key, _)| *key != SHAPE) {
                    self.value(key, member);
                }
            }
        }
    }

    fn is_kept(&self, name: &str, text: &str) -> bool {
        static VERSION: LazyLock<Option<Regex>> =
            LazyLock::new(|| Regex::new(r"^v?\d+(\.\d+)*(-(alpha|beta|dev|pre|rc)[.\d]*)?$").ok());
        match name {
            "" => false,
            // A format that the user described has a name of theirs.
            "format" => text.is_empty() || ADAPTERS.iter().any(|adapter| adapter.id == text),
            "runtime" => ADAPTERS.iter().any(|adapter| adapter.runtime == text),
            "model" => self.models.contains(text),
            "runtime_version" => VERSION.as_ref().is_some_and(|pattern| pattern.is_match(text)),
            // A unit variant of a type, whose other variants contain a hash.
            "identity" => text == "Unique",
            _ if TIMES.contains(&name) => text.parse::<jiff::Timestamp>().is_ok(),
            RECORD_TYPE => true,
            _ => text.is_empty() || OWN.contains(&name),
        }
    }

    fn number(&mut self, text: &str) -> String {
        let next = self.numbers.len() + 1;
        let number = *self.numbers.entry(text.to_owned()).or_insert(next);
        format!("text {number}")
    }
}

/// A shape in which only those keys and types are kept that are identifiers: a record can have paths as keys.
fn only_identifiers(shape: &str) -> String {
    static QUOTED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#""([^"]*)""#).ok());
    let is_identifier = |text: &str| {
        text.len() <= 40
            && text.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.' | '…'))
    };
    let Some(pattern) = QUOTED.as_ref() else { return String::new() };
    let kept = |found: &regex::Captures<'_>| match found.get(1).map_or("", |text| text.as_str()) {
        text if is_identifier(text) => format!("\"{text}\""),
        _ => "\"…\"".to_owned(),
    };
    pattern.replace_all(shape, kept).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_structure_and_numbers_remain() {
        let mut value = json!({
            "format": ADAPTERS[0].id,
            "runtime": "codex",
            "session_id": "s-1",
            "model": "gpt-5.1-codex",
            "runtime_version": "0.142.3",
            "started_at": "2026-10-05T08:00:00Z",
            "cwd": "/home/ann/secret",
            "exit_code": 1,
            "status": "error",
            "asked": {"msg_of_ann": {"Global": "45b3"}},
            "turns": [{"identity": "Unique", "message_id": "s-1", "model": "acme-private-model", "tokens": {"input": 5}}],
            "rejects": [{"reason": "not_json", "example": "{\"type\":\"user\",\"/home/ann\":\"secret\",\"n\":12"}],
        });
        structure(&mut value);
        assert_eq!(value["format"], ADAPTERS[0].id);
        assert_eq!((&value["runtime"], &value["runtime_version"]), (&json!("codex"), &json!("0.142.3")));
        assert_eq!((&value["model"], &value["turns"][0]["identity"]), (&json!("gpt-5.1-codex"), &json!("Unique")));
        assert_eq!((&value["started_at"], &value["exit_code"]), (&json!("2026-10-05T08:00:00Z"), &json!(1)));
        // The same text has the same number.
        assert_eq!(value["session_id"], value["turns"][0]["message_id"]);
        assert_ne!(value["session_id"], value["cwd"]);
        assert_eq!(value["rejects"][0]["example"], r#"{"type":"user","…":"…","n":12"#);
        let text = value.to_string();
        for secret in ["ann", "secret", "acme", "msg_of", "45b3", "s-1"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }

    #[test]
    fn a_member_with_the_name_of_another_kind_is_replaced() {
        let mut value = json!({"format": "acme-log", "runtime": "of acme", "runtime_version": "1.2-acme", "occurred_at": "at lunch", "identity": "x"});
        structure(&mut value);
        let replaced =
            value.as_object().map(|it| it.values().all(|it| it.as_str().is_some_and(|it| it.starts_with("text "))));
        assert_eq!(replaced, Some(true), "{value}");
    }
}
