//! Records of bills as JSON: named values, of which some may be in an object.

use serde_json::{Map, Value};

use super::csv_table::{count, money, time};
use crate::base::time::Time;

/// A record, and the period of the bucket that contains it.
#[derive(Clone, Copy)]
pub(super) struct Record<'v> {
    pub values: &'v Map<String, Value>,
    /// The object with the times of the record: a bucket, or the record itself.
    pub bucket: &'v Map<String, Value>,
}

impl<'v> Record<'v> {
    /// A value by its path, such as `cache_creation.ephemeral_1h_input_tokens`; `None` for null.
    pub(super) fn get(&self, path: &str) -> Option<&'v Value> {
        of_path(self.values, path)
    }

    pub(super) fn has_all(&self, names: &[&str]) -> bool {
        names.iter().all(|name| self.values.contains_key(*name))
    }

    /// A text that is not empty.
    pub(super) fn text(&self, path: &str) -> Option<&'v str> {
        self.get(path)?.as_str().map(str::trim).filter(|text| !text.is_empty())
    }

    /// The first of several texts.
    pub(super) fn first_of(&self, paths: &[&str]) -> Option<String> {
        paths.iter().find_map(|path| self.text(path)).map(str::to_owned)
    }

    pub(super) fn count(&self, path: &str) -> Result<Option<i64>, String> {
        self.get(path).map(|value| count_of(path, value)).transpose()
    }

    pub(super) fn money(&self, path: &str) -> Result<Option<f64>, String> {
        self.get(path).map(|value| money_of(path, value)).transpose()
    }

    /// The time of the record or of its bucket.
    pub(super) fn time(&self, name: &str) -> Result<Time, String> {
        self.optional_time(name)?.ok_or_else(|| format!("it has no {name}"))
    }

    pub(super) fn optional_time(&self, name: &str) -> Result<Option<Time>, String> {
        of_path(self.bucket, name).map(|value| time_of(name, value)).transpose()
    }
}

fn of_path<'v>(values: &'v Map<String, Value>, path: &str) -> Option<&'v Value> {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let value = values.get(first)?;
    match rest {
        Some(rest) => of_path(value.as_object()?, rest),
        None => Some(value).filter(|value| !value.is_null()),
    }
}

fn count_of(name: &str, value: &Value) -> Result<i64, String> {
    match value {
        Value::String(text) => count(name, text),
        other => count(name, &other.to_string()),
    }
}

fn money_of(name: &str, value: &Value) -> Result<f64, String> {
    match value {
        Value::String(text) => money(name, text),
        _ => value.as_f64().ok_or_else(|| format!("{name} is {value}, which is not an amount")),
    }
}

fn time_of(name: &str, value: &Value) -> Result<Time, String> {
    if let Value::String(text) = value {
        return time(name, text);
    }
    let found = value.as_f64().and_then(Time::from_number);
    found.ok_or_else(|| format!("{name} is {value}, which is not a time"))
}
