//! Rows of a database as JSON.

use std::io::Read as _;

use rusqlite::types::ValueRef;

use crate::input::open::Budget;
use crate::json;
use crate::model::sqlite_schema::Table;

/// Writes one row without its closing brace.
pub(super) fn begin_row(text: &mut Vec<u8>, table: &Table, columns: &[&str], row: &rusqlite::Row<'_>, budget: &Budget) {
    text.extend_from_slice(b"{\"table\":\"");
    text.extend_from_slice(table.name.as_bytes());
    text.push(b'"');
    for (index, column) in columns.iter().enumerate() {
        text.extend_from_slice(b",\"");
        text.extend_from_slice(column.as_bytes());
        text.extend_from_slice(b"\":");
        write_value(text, row.get_ref(index).unwrap_or(ValueRef::Null), table.json.contains(column), budget);
    }
}

/// Writes a value as JSON. `may_be_json`: a text that is JSON is written as it is.
pub(super) fn write_value(text: &mut Vec<u8>, value: ValueRef<'_>, may_be_json: bool, budget: &Budget) {
    match value {
        ValueRef::Integer(number) => text.extend_from_slice(number.to_string().as_bytes()),
        ValueRef::Real(number) if number.is_finite() => text.extend_from_slice(number.to_string().as_bytes()),
        ValueRef::Text(value) if may_be_json && is_json(value) => write_json(text, value),
        ValueRef::Text(value) => {
            let value = String::from_utf8_lossy(value);
            text.extend_from_slice(serde_json::Value::from(value).to_string().as_bytes());
        }
        ValueRef::Blob(value) if may_be_json && value.starts_with(ZSTD) => match decompressed(value, budget) {
            Some(json) => write_documents(text, &json),
            None => text.extend_from_slice(b"null"),
        },
        ValueRef::Blob(value) if may_be_json => write_documents(text, value),
        ValueRef::Null | ValueRef::Real(_) | ValueRef::Blob(_) => text.extend_from_slice(b"null"),
    }
}

/// Writes a document, or an array with the documents of several lines, in which a damaged line is null.
fn write_documents(text: &mut Vec<u8>, value: &[u8]) {
    if is_json(value) {
        return write_json(text, value);
    }
    let lines = || value.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    if !lines().any(is_json) {
        return text.extend_from_slice(b"null");
    }
    for (index, line) in lines().enumerate() {
        text.push(if index == 0 { b'[' } else { b',' });
        if is_json(line) { write_json(text, line) } else { text.extend_from_slice(b"null") }
    }
    text.push(b']');
}

/// Writes JSON on one line.
fn write_json(text: &mut Vec<u8>, value: &[u8]) {
    // White space between values may be a newline; in a string it is an escape.
    let is_space = |byte: &u8| byte.is_ascii_whitespace();
    text.extend(value.trim_ascii().iter().map(|byte| if is_space(byte) { b' ' } else { *byte }));
}

/// The first bytes of a value that is compressed with zstd.
const ZSTD: &[u8] = &[0x28, 0xB5, 0x2F, 0xFD];

/// A compressed value. One that is larger than what is left of the budget uses all of it.
fn decompressed(value: &[u8], budget: &Budget) -> Option<Vec<u8>> {
    let mut json = Vec::new();
    let left = budget.left();
    zstd::stream::read::Decoder::new(value).ok()?.take(left.saturating_add(1)).read_to_end(&mut json).ok()?;
    if json.len() as u64 > left {
        budget.exhaust();
        return None;
    }
    Some(json)
}

fn is_json(value: &[u8]) -> bool {
    let value = value.trim_ascii();
    matches!(value.first(), Some(b'{' | b'[')) && json::value_end(value, 0) == Ok(value.len())
}
