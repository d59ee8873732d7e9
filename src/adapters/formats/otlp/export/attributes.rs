//! Attributes of OTLP's JSON: lists of keys with typed values.

use std::borrow::Cow;

use serde::Deserialize;

use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Number, Text, TextOrBlocks};

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Attribute<'a> {
    key: Text<'a>,
    value: Value<'a>,
}

/// A value, under the name of its type. A 64-bit integer is a string.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Value<'a> {
    string_value: Raw<'a>,
    int_value: Raw<'a>,
    double_value: Raw<'a>,
    bool_value: Flag,
    array_value: Raw<'a>,
}

/// The elements of an array.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Elements<'a> {
    values: TextOrBlocks<'a, Value<'a>>,
}

impl<'a> Attribute<'a> {
    /// An attribute whose value is written without its type.
    pub(super) fn plain(key: Cow<'a, str>, value: Raw<'a>) -> Self {
        let value = match value.0.first() {
            Some(b'"') => Value { string_value: value, ..Value::default() },
            Some(b't' | b'f') => Value { bool_value: value.read(), ..Value::default() },
            Some(b'-' | b'0'..=b'9') => Value { int_value: value, ..Value::default() },
            _ => Value::default(),
        };
        Self { key: Text(Some(key)), value }
    }
}

impl<'a> Value<'a> {
    /// The text of a string.
    pub(super) fn text(&self) -> Option<Cow<'a, str>> {
        (!self.string_value.is_empty()).then(|| self.string_value.text()).filter(|text| !text.is_empty())
    }

    /// The text of a number, which some exporters write as a string.
    fn digits(&self) -> Option<Cow<'a, str>> {
        let values = [self.int_value, self.double_value, self.string_value];
        values.into_iter().find(|raw| !raw.is_empty()).map(Raw::text)
    }
}

/// The attributes of one record, and those of the resource that wrote it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attributes<'r, 'a> {
    pub(super) own: &'r [Attribute<'a>],
    pub(super) resource: &'r [Attribute<'a>],
}

impl<'r, 'a> Attributes<'r, 'a> {
    fn own(self, key: &str) -> Option<&'r Value<'a>> {
        self.own.iter().find(|it| it.key.as_str() == key).map(|it| &it.value)
    }

    /// The record's string of that key, unless it is empty.
    pub(super) fn text(self, key: &str) -> Option<Cow<'a, str>> {
        self.own(key)?.text()
    }

    /// The first of the keys that the record has a string for.
    pub(super) fn first_text(self, keys: &[&str]) -> Option<Cow<'a, str>> {
        keys.iter().find_map(|key| self.text(key))
    }

    /// The string of that key, of the record or of its resource.
    pub(super) fn shared_text(self, key: &str) -> Option<Cow<'a, str>> {
        self.text(key).or_else(|| self.of_resource().text(key))
    }

    /// The count of that key: a number, or a string of digits.
    pub(super) fn count(self, key: &str) -> Count {
        let Some(digits) = self.own(key).and_then(Value::digits) else { return Count::Unknown };
        count_of(&digits)
    }

    /// The first of the counts that the record has.
    pub(super) fn first_count(self, keys: &[&str]) -> Count {
        keys.iter().map(|key| self.count(key)).find(|it| *it != Count::Unknown).unwrap_or_default()
    }

    /// The number of that key.
    pub(super) fn number(self, key: &str) -> Number {
        Number(self.own(key).and_then(Value::digits).and_then(|digits| digits.parse().ok()))
    }

    /// The truth value of that key, which some runtimes write as a string.
    pub(super) fn flag(self, key: &str) -> Option<bool> {
        let value = self.own(key)?;
        value.bool_value.0.or_else(|| match value.string_value.text().as_ref() {
            "true" | "True" => Some(true),
            "false" | "False" => Some(false),
            _ => None,
        })
    }

    /// The first string of the array of that key.
    pub(super) fn first_of_array(self, key: &str) -> Option<Cow<'a, str>> {
        let elements: Elements<'a> = self.own(key)?.array_value.read();
        elements.values.blocks.first()?.text()
    }

    /// The first string of the array of that key, of the record or of its resource.
    pub(super) fn first_of_shared_array(self, key: &str) -> Option<Cow<'a, str>> {
        self.first_of_array(key).or_else(|| self.of_resource().first_of_array(key))
    }

    fn of_resource(self) -> Self {
        Self { own: self.resource, resource: &[] }
    }

    /// The attributes as text, so that equal ones have equal texts.
    pub(super) fn name(self) -> String {
        let mut all: Vec<String> =
            self.own.iter().map(|it| format!("{}={:?}", it.key.as_str(), it.value.digits())).collect();
        all.sort_unstable();
        all.join(" ")
    }
}

/// A count in digits.
pub(super) fn count_of(digits: &str) -> Count {
    match digits.parse::<i64>() {
        Ok(count) => count.into(),
        Err(_) => match digits.parse::<f64>() {
            Ok(number) => Number(Some(number)).whole().map_or(Count::Impossible, Count::from),
            Err(_) => Count::Unknown,
        },
    }
}

/// A time in nanoseconds since 1970, which is a string. 0 is not a time.
pub(super) fn time_of(nanoseconds: Raw<'_>) -> Option<Time> {
    if nanoseconds.is_empty() {
        return None;
    }
    let micros = nanoseconds.text().parse::<i64>().ok()? / 1000;
    // Numbers of other units are not times here.
    (micros > 100_000_000_000_000).then(|| Time::from_number(micros as f64)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn values_have_the_types_of_otlp() {
        let json = br#"[{"key":"a","value":{"intValue":"12"}},{"key":"b","value":{"intValue":12}},
            {"key":"c","value":{"stringValue":"12"}},{"key":"d","value":{"doubleValue":12.0}},
            {"key":"e","value":{"intValue":"-1"}},{"key":"f","value":{"stringValue":"x"}},
            {"key":"g","value":{"boolValue":true}},{"key":"h","value":{"stringValue":"false"}},
            {"key":"i","value":{"arrayValue":{"values":[{"stringValue":"stop"}]}}},{"key":"j","value":{}},7]"#;
        let list: TextOrBlocks<'_, Attribute<'_>> = json::from_slice(json).unwrap();
        let attributes = Attributes { own: &list.blocks, resource: &[] };
        for key in ["a", "b", "c", "d"] {
            assert_eq!(attributes.count(key), Count::Known(12), "{key}");
        }
        assert_eq!((attributes.count("e"), attributes.count("f")), (Count::Impossible, Count::Unknown));
        assert_eq!((attributes.flag("g"), attributes.flag("h"), attributes.flag("a")), (Some(true), Some(false), None));
        assert_eq!(attributes.first_of_array("i").as_deref(), Some("stop"));
        assert_eq!((attributes.count("j"), attributes.text("j")), (Count::Unknown, None));
    }

    #[test]
    fn times_are_nanoseconds() {
        let micros = |text: &str| time_of(Raw(text.as_bytes())).map(Time::micros);
        assert_eq!(micros(r#""1790594430123456789""#), Some(1_790_594_430_123_456));
        assert_eq!(micros("1790594430123456789"), Some(1_790_594_430_123_456));
        assert_eq!((micros(r#""0""#), micros(r#""1790594430""#), micros("")), (None, None, None));
    }
}
