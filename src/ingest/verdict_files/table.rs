//! Verdicts as rows: CSV, JSON Lines and lists of JSON objects.

use serde_json::Value;

use super::content::Content;
use super::fields::Fields;

/// Parses CSV with a header.
pub fn parse_csv(bytes: &[u8]) -> Result<Content, String> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(bytes);
    let header = reader.headers().map_err(|error| error.to_string())?.clone();
    let is_known = |name: &str| Fields::default().set(name, "x");
    if !header.iter().any(|name| matches!(name, "passed" | "score")) {
        return Err(format!(
            "it is not a format of verdicts: as CSV its header needs passed or score; the columns are {}",
            Fields::NAMES
        ));
    }
    let ignored = header.iter().filter(|name| !is_known(name)).map(str::to_owned).collect();
    let mut content = Content { ignored, ..Content::default() };
    for record in reader.records() {
        match record {
            Ok(record) => {
                let line = record.position().map_or(0, csv::Position::line);
                let mut fields = Fields::default();
                for (name, value) in header.iter().zip(&record).filter(|(_, value)| !value.is_empty()) {
                    fields.set(name, value);
                }
                if !fields.is_empty() {
                    content.add(i64::try_from(line).unwrap_or_default(), fields);
                }
            }
            Err(error) => {
                let line = error.position().map_or(0, csv::Position::line);
                content.problems.push((i64::try_from(line).unwrap_or_default(), error.to_string()));
            }
        }
    }
    Ok(content)
}

/// Parses JSON Lines.
pub fn parse_lines(bytes: &[u8]) -> Content {
    let lines = (1..).zip(bytes.split(|byte| *byte == b'\n')).filter(|(_, line)| !line.trim_ascii().is_empty());
    of_objects(lines.map(|(number, line)| (number, serde_json::from_slice(line).map_err(|error| error.to_string()))))
}

/// The verdicts of objects with their lines.
pub fn of_objects(objects: impl Iterator<Item = (i64, Result<Value, String>)>) -> Content {
    let mut content = Content::default();
    for (line, object) in objects {
        match object {
            Ok(Value::Object(object)) => {
                let mut fields = Fields::default();
                for (name, value) in object {
                    set(&mut fields, &name, &value, &mut content.ignored);
                }
                content.add(line, fields);
            }
            Ok(_) => content.problems.push((line, "it is not an object".to_owned())),
            Err(error) => content.problems.push((line, error)),
        }
    }
    content
}

/// Sets a value of an object. Labels may be a list or an object.
fn set(fields: &mut Fields, name: &str, value: &Value, ignored: &mut Vec<String>) {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    let is_known = match value {
        Value::Null => true,
        Value::Array(labels) if matches!(name, "label" | "labels") => {
            labels.iter().filter_map(text).all(|label| fields.set("label", &label))
        }
        Value::Object(labels) if matches!(name, "label" | "labels") => {
            let labels = labels.iter().filter_map(|(key, value)| Some(format!("{key}={}", text(value)?)));
            labels.into_iter().all(|label| fields.set("label", &label))
        }
        _ => text(value).is_some_and(|text| fields.set(name, &text)),
    };
    if !is_known && !ignored.iter().any(|known| known == name) {
        ignored.push(name.to_owned());
    }
}
