//! Each sample as its adapter reads it, without unknown values: docs/accounting.md.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::LazyLock;

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::adapters::{self, Hints};
use agentlogs::model::session::{Details, Event, SessionResult, ToolCall, Total, Turn};
use serde_json::Value;

use crate::{lines_of, root, samples};

/// Names of flags that are `false` unless a log states more. `false` is a statement of the log in all others, which can be unknown.
static FLAGS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let defaults = [
        serde_json::to_value(SessionResult::default()),
        serde_json::to_value(Turn::default()),
        serde_json::to_value(Details::default()),
        serde_json::to_value(ToolCall::default()),
        serde_json::to_value(Event::default()),
        serde_json::to_value(Total::default()),
    ];
    let fields = defaults.into_iter().flat_map(|it| it.unwrap().as_object().unwrap().clone());
    fields.filter(|(_, value)| *value == Value::Bool(false)).map(|(name, _)| name).collect()
});

/// Removes values that are unknown or empty, so that a snapshot shows what a log contains.
fn known(value: Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Array(items) if items.is_empty() => None,
        Value::Array(items) => Some(items.into_iter().map(|it| known(it).unwrap_or(Value::Null)).collect()),
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(name, it)| !(*it == Value::Bool(false) && FLAGS.contains(name)));
            let fields: serde_json::Map<_, _> = fields.filter_map(|(name, it)| Some((name, known(it)?))).collect();
            (!fields.is_empty()).then_some(Value::Object(fields))
        }
        Value::String(text) if text.is_empty() => None,
        other => Some(other),
    }
}

/// One object a line: rows stay readable and their differences small.
fn shown(parsed: adapters::Parsed) -> String {
    let mut health = serde_json::to_string(&parsed.health).unwrap();
    for reject in &parsed.health.rejects {
        health = health.replace(&format!(",\"last_line\":{}}}", reject.last_line), "}");
    }
    for usual in [",\"unknown_types\":[],\"runtime_version\":null", ",\"more_reasons\":0"] {
        health = health.replace(usual, "");
    }
    let mut out = format!("{health}\n");
    for session in parsed.sessions {
        let Some(Value::Object(mut session)) = known(serde_json::to_value(session).unwrap()) else { continue };
        // The hashes of the records are of no use to a reader.
        if let Some(Value::Array(hashes)) = session.get_mut("recording") {
            *hashes = vec![Value::String(format!("{} records", hashes.len()))];
        }
        out += "\nsession\n";
        let (rows, facts): (Vec<_>, Vec<_>) =
            session.into_iter().partition(|(_, it)| it.as_array().is_some_and(|it| it.iter().all(Value::is_object)));
        for (name, fact) in facts {
            let _ = writeln!(out, "  {name}: {fact}");
        }
        for (name, rows) in rows {
            let _ = writeln!(out, "{name}");
            for row in rows.as_array().into_iter().flatten() {
                let _ = writeln!(out, "  {row}");
            }
        }
    }
    out
}

#[test]
fn every_sample_reads_as_before() {
    for path in samples() {
        let bytes = lines_of(&path);
        let below = path.strip_prefix(root().join("sample-logs")).unwrap().with_extension("");
        let words: Vec<_> = below.iter().map(|it| it.to_string_lossy()).collect();
        let (format, name) = (&words[0], words[1..].join("-"));
        let parsed = adapters::parse(&bytes, Hints::default(), Retention::None);
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(format!("{format}@{name}"), shown(parsed));
        });
    }
}
