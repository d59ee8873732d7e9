//! Reads a bill: finds its format.

use std::path::Path;

use serde_json::{Map, Value};

use super::content::{Content, Format};
use super::csv_table::{self, CsvFormat};
use super::json_record::Record;
use super::line::BillLine;
use super::{anthropic, focus, litellm, log, openai, openrouter};
use crate::base::byte_order_mark::without_mark;
use crate::base::hash::Hash;
use crate::input::open::{self, Limit};
use crate::model::source::path_text;

/// The formats of CSV. Where a header has the columns of several, the first applies.
const CSV_FORMATS: [&CsvFormat; 6] = [
    &focus::CHARGES_CSV,
    &anthropic::USAGE_CSV,
    &anthropic::COST_CSV,
    &openai::COSTS_CSV,
    &openai::USAGE_CSV,
    &openrouter::GENERATIONS_CSV,
];

/// The error of a bill without lines.
const NOTHING: &str = "it states neither usage nor costs";

/// A bill.
#[derive(Debug)]
pub struct BillFile {
    /// Its real path; of a pipe, the path by which it was named.
    pub path: String,
    /// The hash of its content.
    pub hash: u128,
    /// What it is, for people.
    pub formats: Vec<&'static str>,
    /// Its lines.
    pub lines: Vec<BillLine>,
    /// Why a line is not read: its number, or 0, and the reason.
    pub problems: Vec<(i64, String)>,
    /// What else is to be stated about it.
    pub notes: Vec<String>,
}

/// Reads the bill at `path`, which may be a pipe; `-` is standard input.
///
/// # Errors
/// When it cannot be read, has none of the formats, or contains no line.
pub fn read(path: &Path) -> Result<BillFile, String> {
    let named = |error: String| format!("{}: {error}", path.display());
    let (file, real) = open::open_named(path, Limit::Usual).map_err(|error| named(error.to_string()))?;
    let content = match parse(&file) {
        // A log may begin like a bill.
        Err(error) => real.as_deref().and_then(log::parse).ok_or_else(|| named(error))?,
        Ok(content) => content,
    };
    let notes = content.notes();
    let Content { formats, lines, problems, .. } = content;
    if lines.is_empty() && problems.is_empty() {
        return Err(named(NOTHING.to_owned()));
    }
    Ok(BillFile {
        path: path_text(real.as_deref().unwrap_or(path)),
        hash: Hash::new().finish(&file),
        formats: formats.into_iter().collect(),
        lines,
        problems,
        notes,
    })
}

/// Parses a bill of any format but a log.
fn parse(bytes: &[u8]) -> Result<Content, String> {
    let bytes = without_mark(bytes).trim_ascii();
    match bytes.first() {
        None => Err("it is empty".to_owned()),
        Some(b'{' | b'[') => parse_json(bytes),
        Some(_) => csv_table::parse(bytes, &CSV_FORMATS),
    }
}

/// Parses one JSON document, or one per line.
fn parse_json(bytes: &[u8]) -> Result<Content, String> {
    let mut reader = Reader::default();
    if let Ok(document) = serde_json::from_slice(bytes) {
        reader.document(0, &document);
    } else {
        let lines = (1..).zip(bytes.split(|byte| *byte == b'\n'));
        for (number, line) in lines.filter(|(_, line)| !line.trim_ascii().is_empty()) {
            match serde_json::from_slice(line) {
                Ok(document) => reader.document(number, &document),
                Err(error) => reader.content.problems.push((number, error.to_string())),
            }
        }
    }
    let content = reader.content;
    if content.formats.is_empty() {
        let has_records = !content.problems.is_empty();
        let error = if has_records { "no format of bills has these records" } else { NOTHING };
        return Err(error.to_owned());
    }
    Ok(content)
}

#[derive(Default)]
struct Reader {
    content: Content,
}

impl Reader {
    /// Reads a page of an answer, a bucket of time, a record, or a list of these.
    fn document(&mut self, line: i64, document: &Value) {
        match document {
            Value::Array(documents) => {
                for document in documents {
                    self.document(line, document);
                }
            }
            Value::Object(values) => self.object(line, values),
            _ => self.content.problems.push((line, "it is not an object".to_owned())),
        }
    }

    fn object(&mut self, line: i64, values: &Map<String, Value>) {
        let list = |name: &str| values.get(name).and_then(Value::as_array);
        if let Some(pages) = list("data") {
            self.content.is_cut = values.get("has_more").and_then(Value::as_bool).unwrap_or(false);
            for document in pages {
                self.document(line, document);
            }
        } else if let Some(results) = list("results") {
            for result in results {
                match result.as_object() {
                    Some(result) => self.record(line, &Record { values: result, bucket: values }),
                    None => self.content.problems.push((line, "a result is not an object".to_owned())),
                }
            }
        } else {
            self.record(line, &Record { values, bucket: values });
        }
    }

    fn record(&mut self, line: i64, record: &Record<'_>) {
        let content = &mut self.content;
        let mut add = |format: Format, found| content.add(format, line, found);
        if let Some(format) = anthropic::format_of(record) {
            let is_usage = format.name == anthropic::USAGE.name;
            add(format, if is_usage { anthropic::usage(record) } else { anthropic::cost(record) });
        } else if let Some(format) = openai::format_of(record) {
            let is_usage = format.name == openai::USAGE.name;
            add(format, if is_usage { openai::usage(record) } else { openai::costs(record) });
        } else if let Some(format) = openrouter::format_of(record) {
            add(format, openrouter::activity(record));
        } else if litellm::format_of(record).is_some() {
            litellm::add(content, line, record);
        } else {
            self.content.problems.push((line, "no format of bills has this record".to_owned()));
        }
    }
}
