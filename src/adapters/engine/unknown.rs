//! What can be known of a record that the adapter of its format does not know: the words that name its type, and whether it
//! contains what should have been counted. Nothing here depends on a format.

use std::borrow::Cow;

use crate::json::fields::Pairs;
use crate::json::lines::Line;
use crate::json::{Raw, from_slice};
use crate::model::unknown::{Contents, UnknownType};

/// Members whose text names the type of a record.
const TYPES: &[&str] =
    &["type", "kind", "event", "record_type", "eventType", "event_type", "method", "sessionUpdate", "role"];

/// Objects inside of a record that have a type of their own, which is a part of its name.
pub(crate) const ENVELOPES: &[&str] = &["payload", "item", "event", "params", "update"];

/// Objects that have the type of a record which has none itself.
pub(crate) const WRAPPERS: &[&str] = &["data", "message", "msg"];

/// Objects whose members are data of the conversation: the arguments of a call, a schema.
pub const DATA: &[&str] =
    &["input", "arguments", "args", "parameters", "properties", "schema", "inputSchema", "input_schema"];

/// Members that programs write into each entry of their own logs: how important it is.
const LEVELS: &[&str] = &["level", "lvl", "levelname", "severity"];

/// The longest name of a type, in bytes.
const LONGEST: usize = 120;

/// Values that are nested more deeply are not examined.
const MAX_DEPTH: usize = 16;

/// The words that name the type of a record, from the outside in, separated by `/`; empty if it has none. They are as logged.
pub fn type_of(record: &[u8]) -> String {
    let mut name = String::new();
    let mut object = members(Raw(record));
    for _ in 0..4 {
        let of_members = |names: &[&str], first: u8| {
            let found = names.iter().find_map(|name| {
                object
                    .0
                    .iter()
                    .find(|(key, value)| key == name && value.0.first() == Some(&first))
                    .map(|(_, value)| *value)
            });
            found.filter(|value| value.0.len() > 2)
        };
        let (word, subtype) = (of_members(TYPES, b'"'), of_members(&["subtype"], b'"'));
        for word in word.into_iter().chain(subtype) {
            if !name.is_empty() {
                name.push('/');
            }
            // A path is not a type, and must not become several words.
            let word = word.head(LONGEST);
            name.push_str(if word.contains('/') { "*" } else { &word });
        }
        let inner = of_members(ENVELOPES, b'{').or_else(|| of_members(WRAPPERS, b'{').filter(|_| name.is_empty()));
        let Some(inner) = inner else { break };
        object = members(inner);
    }
    name.truncate(name.floor_char_boundary(LONGEST));
    name
}

/// A name of these words, as far as they are not empty.
pub(super) fn named_type(words: &[&str]) -> String {
    let words: Vec<&str> = words.iter().copied().filter(|word| !word.is_empty()).collect();
    let mut name = words.join("/");
    name.truncate(name.floor_char_boundary(LONGEST));
    name
}

/// What a record contains.
pub fn contents_of(record: &[u8]) -> Contents {
    let mut contents = Contents::default();
    examine(Raw(record), Around::Other, 0, &mut contents);
    contents
}

/// Whether an object in the output of a program may be a record of an agent's log. Formats have few names in common, so that any object
/// may be one that has members. An entry of a program's own log has a level, and neither a type nor counts.
pub(crate) fn may_be_record(object: &[u8]) -> bool {
    let members = members(Raw(object)).0;
    let has = |names: &[&str]| members.iter().any(|(key, _)| names.contains(&key.as_ref()));
    !members.is_empty() && (!has(LEVELS) || has(&["type"]) || contents_of(object).has_counts)
}

/// The unknown records of one type of which `line` is the only one.
pub(crate) fn unknown_type(line: Line<'_>) -> UnknownType {
    let contents = contents_of(line.bytes);
    UnknownType { name: type_of(line.bytes), records: 1, first_line: line.number, contents }
}

pub(crate) fn members(value: Raw<'_>) -> Pairs<'_, Raw<'_>> {
    if value.is_object() { from_slice(value.0).unwrap_or_default() } else { Pairs::default() }
}

/// What the members of an object are, by the name of the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Around {
    Usage,
    Cost,
    /// Bounds and estimates.
    Bound,
    Other,
}

fn examine(value: Raw<'_>, around: Around, depth: usize, contents: &mut Contents) {
    if depth > MAX_DEPTH {
        return;
    }
    match value.0.first() {
        Some(b'[') => {
            value.read::<Vec<Raw<'_>>>().into_iter().for_each(|element| examine(element, around, depth + 1, contents));
        }
        Some(b'{') => {
            let members = members(value);
            // A member as OpenTelemetry writes it: a key, and a value under the name of its type.
            if let Some((key, value)) = key_and_value(&members) {
                examine_member(&key, value, around, depth, contents);
            }
            for (key, value) in members.0 {
                examine_member(&key, value, around, depth, contents);
            }
        }
        _ => {}
    }
}

/// The member that an object with a `key` and a `value` describes. Numbers of 64 bits are written as texts.
fn key_and_value<'a>(members: &Pairs<'a, Raw<'a>>) -> Option<(Cow<'a, str>, Raw<'a>)> {
    let member = |name: &str| members.0.iter().find(|(key, _)| key == name).map(|(_, value)| *value);
    let key = member("key").filter(|key| key.is_string())?;
    let (kind, value) = self::members(member("value")?).0.into_iter().next()?;
    let is_number = matches!(kind.as_ref(), "intValue" | "doubleValue");
    let digits = value.0.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\"")).filter(|_| is_number);
    Some((key.text(), digits.map_or(value, Raw)))
}

fn examine_member(key: &str, value: Raw<'_>, around: Around, depth: usize, contents: &mut Contents) {
    let word: String = key.chars().filter(char::is_ascii_alphanumeric).map(|it| it.to_ascii_lowercase()).collect();
    match value.0.first() {
        Some(b'{' | b'[') if !DATA.contains(&key) => {
            let inner = match () {
                () if around == Around::Bound || is_bound(&word) => Around::Bound,
                () if word.contains("usage") || word.ends_with("tokens") => Around::Usage,
                () if is_cost(&word) => Around::Cost,
                () => around,
            };
            contents.has_error |= word.contains("error") && value.0.len() > 2;
            examine(value, inner, depth + 1, contents);
        }
        Some(b'0'..=b'9') => {
            let is_count = match around {
                Around::Usage => is_tokens(&word) || is_kind_of_tokens(&word) || is_cost(&word),
                Around::Cost => true,
                Around::Bound => false,
                Around::Other => is_tokens(&word) || is_cost(&word),
            };
            let is_above_zero = || value.text().parse::<f64>().is_ok_and(|number| number > 0.0);
            contents.has_counts |= is_count && !is_bound(&word) && is_above_zero();
        }
        Some(b'"') if value.0.len() > 2 => {
            contents.has_model |= matches!(word.as_str(), "model" | "modelid" | "modelname" | "modelslug");
            contents.has_error |= word.contains("error");
        }
        _ => {}
    }
}

/// Whether a name is that of a bound or of the size of a context, not of what was billed.
fn is_bound(word: &str) -> bool {
    const WORDS: &[&str] =
        &["max", "limit", "budget", "window", "threshold", "remaining", "reserve", "before", "after", "estimate"];
    WORDS.iter().any(|it| word.contains(it)) || (word.starts_with("pre") || word.starts_with("post")) && is_tokens(word)
}

fn is_tokens(word: &str) -> bool {
    word.contains("token") && !word.contains("pertoken")
}

/// Whether a name is that of a count among other counts, such as `input`.
fn is_kind_of_tokens(word: &str) -> bool {
    const WORDS: &[&str] = &["input", "output", "prompt", "completion", "cache", "reasoning", "thinking", "thought"];
    const OTHERS: &[&str] = &["ms", "duration", "time", "seconds", "bytes", "requests"];
    (word == "total" || WORDS.iter().any(|it| word.starts_with(it))) && !OTHERS.iter().any(|it| word.ends_with(it))
}

fn is_cost(word: &str) -> bool {
    word.contains("cost") || word.ends_with("usd")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_named_from_the_outside_in() {
        for (record, name) in [
            (r#"{"type":"cost-state","modelUsage":{}}"#, "cost-state"),
            (r#"{"type":"event_msg","payload":{"type":"new_event"}}"#, "event_msg/new_event"),
            (
                r#"{"type":"event_msg","payload":{"type":"item_completed","item":{"type":"New"}}}"#,
                "event_msg/item_completed/New",
            ),
            (r#"{"type":"assistant","message":{"type":"message"}}"#, "assistant"),
            (r#"{"timestamp":1,"message":{"type":"StatusUpdate","payload":{"n":1}}}"#, "StatusUpdate"),
            (r#"{"type":"system","subtype":"new"}"#, "system/new"),
            (r#"{"event":{"type":"delta"},"type":"stream_event"}"#, "stream_event/delta"),
            (r#"{"runId":"r","kind":"new_kind"}"#, "new_kind"),
            (r#"{"type":"/home/ann"}"#, "*"),
            (r#"{"type":7}"#, ""),
            ("{}", ""),
        ] {
            assert_eq!(type_of(record.as_bytes()), name, "{record}");
        }
        let long = format!(r#"{{"type":"{}"}}"#, "é".repeat(1000));
        assert!(type_of(long.as_bytes()).len() <= LONGEST);
    }

    #[test]
    fn counts_are_found_by_the_names_of_members() {
        let cases = [
            (r#"{"usage":{"input_tokens":5}}"#, true),
            (r#"{"modelUsage":{"m":{"inputTokens":5}}}"#, true),
            (r#"{"usage":{"input":5,"output":0}}"#, true),
            (r#"{"data":[{"totalCostUSD":0.25}]}"#, true),
            (r#"{"cost":{"total":0.25}}"#, true),
            (r#"{"tokens":{"input":3}}"#, true),
            (r#"{"tokenCount":3}"#, true),
            (r#"{"usage":{"input_tokens":0},"totalCostUSD":0}"#, false),
            (r#"{"usage":{"requests":3,"totalApiDurationMs":7,"promptBytes":7}}"#, false),
            (r#"{"max_tokens":4096,"contextWindowTokens":200000,"tokensBefore":7,"preTokens":7}"#, false),
            (r#"{"tokenLimit":{"input":9},"budget":{"usd":3},"estimate":{"usage":{"tokens":9}}}"#, false),
            (r#"{"input":{"tokens":5,"cost":1}}"#, false),
            (r#"{"text":"input_tokens: 5","n":5}"#, false),
            (r#"{"input":5}"#, false),
            (r#"[{"key":"llm.token_count.prompt","value":{"intValue":"5"}}]"#, true),
            (r#"[{"key":"llm.token_count.prompt","value":{"intValue":"0"}}]"#, false),
            (r#"[{"key":"gen_ai.request.max_tokens","value":{"intValue":"5"}}]"#, false),
            (r#"[{"key":"prompt.tokens","value":{"stringValue":"x"}}]"#, false),
        ];
        for (record, has_counts) in cases {
            assert_eq!(contents_of(record.as_bytes()).has_counts, has_counts, "{record}");
        }
        let contents = contents_of(br#"{"a":{"model":"m","apiError":{"code":5}}}"#);
        assert_eq!(contents, Contents { has_counts: false, has_model: true, has_error: true });
        assert_eq!(contents_of(br#"{"model":"","error":null}"#), Contents::default());
    }
}
