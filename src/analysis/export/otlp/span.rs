//! A span as OTLP writes it in JSON: ids are hexadecimal, 64-bit integers are texts.

use serde::Serialize;
use serde_json::{Value, json};
use twox_hash::XxHash3_128;

use crate::base::time::Time;

/// A span.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Span {
    pub trace_id: String,
    pub span_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub parent_span_id: String,
    pub name: String,
    pub kind: u8,
    pub start_time_unix_nano: String,
    pub end_time_unix_nano: String,
    pub attributes: Vec<Attribute>,
    pub status: Status,
}

/// The kinds of spans.
pub(super) const INTERNAL: u8 = 1;
pub(super) const CLIENT: u8 = 3;

/// Whether what the span is about failed.
#[derive(Debug, Default, Serialize)]
pub(super) struct Status {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<u8>,
}

impl Status {
    pub(super) const ERROR: Self = Self { code: Some(2) };
}

/// A key with its value.
#[derive(Debug, Serialize)]
pub(super) struct Attribute {
    key: String,
    value: Value,
}

/// Attributes, without those whose value is unknown.
#[derive(Debug, Default)]
pub(super) struct Attributes(pub Vec<Attribute>);

impl Attributes {
    fn value(&mut self, key: &str, value: Value) {
        self.0.push(Attribute { key: key.to_owned(), value });
    }

    pub(super) fn text(&mut self, key: &str, text: Option<&str>) -> &mut Self {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            self.value(key, json!({"stringValue": text}));
        }
        self
    }

    pub(super) fn whole(&mut self, key: &str, number: Option<i64>) -> &mut Self {
        if let Some(number) = number {
            self.value(key, json!({"intValue": number.to_string()}));
        }
        self
    }

    pub(super) fn double(&mut self, key: &str, number: Option<f64>) -> &mut Self {
        if let Some(number) = number.filter(|number| number.is_finite()) {
            self.value(key, json!({"doubleValue": number}));
        }
        self
    }

    pub(super) fn flag(&mut self, key: &str, flag: bool) -> &mut Self {
        self.value(key, json!({"boolValue": flag}));
        self
    }

    pub(super) fn texts(&mut self, key: &str, texts: &[&str]) -> &mut Self {
        if !texts.is_empty() {
            let values: Vec<Value> = texts.iter().map(|text| json!({"stringValue": text})).collect();
            self.value(key, json!({"arrayValue": {"values": values}}));
        }
        self
    }
}

/// The id of a trace: 32 hexadecimal digits, the same in every export.
pub(super) fn trace_id(name: &str) -> String {
    format!("{:032x}", XxHash3_128::oneshot(name.as_bytes()).max(1))
}

/// The id of a span: 16 hexadecimal digits.
pub(super) fn span_id(name: &str) -> String {
    format!("{:016x}", (XxHash3_128::oneshot(name.as_bytes()) >> 64).max(1))
}

/// A time in nanoseconds since 1970; 0 is unknown.
pub(super) fn nanoseconds(time: Option<Time>) -> String {
    let micros = time.map_or(0, Time::micros).max(0);
    format!("{}", i128::from(micros) * 1000)
}
