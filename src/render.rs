//! Frames to text: a table for people, JSON, CSV and Markdown for programs.
//!
//! Text that comes from logs reaches no terminal with its control characters in a table, and no spreadsheet as a formula.
//! JSON and CSV are for programs: JSON escapes control characters, CSV holds the text as it is.

use std::borrow::Cow;
use std::io::{self, Write};

use comfy_table::{Attribute, CellAlignment, ContentArrangement, Table};
use polars::prelude::*;

use crate::time::Time;

/// A way to print rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// Aligned columns.
    #[default]
    Table,
    /// One array of objects.
    Json,
    /// RFC 4180, with a header.
    Csv,
    /// A Markdown table.
    Markdown,
}

/// How a table looks on a terminal.
#[derive(Debug, Clone, Copy, Default)]
pub struct Look {
    /// Columns of the terminal; no limit without one.
    pub width: Option<u16>,
    /// Whether it may be emphasised.
    pub color: bool,
    /// Whether the rows are a report: thousands are set apart, money has cents, the last row may be a sum.
    pub report: Option<Report>,
}

/// What a table of a report needs to know.
#[derive(Debug, Clone, Copy)]
pub struct Report {
    /// Whether the last row is a sum of the others.
    pub has_total: bool,
}

/// One value, free of polars.
#[derive(Debug, Clone, PartialEq)]
enum Value {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    List(Vec<Value>),
}

impl Value {
    fn of(value: &AnyValue<'_>) -> Self {
        match value {
            AnyValue::Null => Self::Null,
            AnyValue::Boolean(it) => Self::Bool(*it),
            AnyValue::String(it) => Self::Text((*it).to_owned()),
            AnyValue::StringOwned(it) => Self::Text(it.to_string()),
            AnyValue::Float32(it) => Self::Float(f64::from(*it)),
            AnyValue::Float64(it) => Self::Float(*it),
            AnyValue::Date(days) => Self::Text(date(*days)),
            AnyValue::Datetime(it, unit, _) => Self::Text(instant(*it, *unit)),
            AnyValue::DatetimeOwned(it, unit, _) => Self::Text(instant(*it, *unit)),
            AnyValue::List(series) => Self::List(series.iter().map(|it| Self::of(&it)).collect()),
            other => other.extract::<i128>().map_or_else(|| Self::Text(other.to_string()), Self::Int),
        }
    }

    fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Null => out.write_all(b"null"),
            Self::Bool(it) => write!(out, "{it}"),
            Self::Int(it) => write!(out, "{it}"),
            Self::Float(it) => Ok(serde_json::to_writer(out, it)?),
            Self::Text(it) => Ok(serde_json::to_writer(out, it)?),
            Self::List(values) => {
                out.write_all(b"[")?;
                for (index, value) in values.iter().enumerate() {
                    out.write_all(if index > 0 { b"," } else { b"" })?;
                    value.write_json(out)?;
                }
                out.write_all(b"]")
            }
        }
    }

    /// For people. Floats with up to six digits behind the point.
    fn display(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Bool(it) => it.to_string(),
            Self::Int(it) => it.to_string(),
            Self::Float(it) if it.abs() < 1e15 => {
                let text = format!("{it:.6}");
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            }
            Self::Float(it) => it.to_string(),
            Self::Text(it) => visible(it).into_owned(),
            Self::List(values) => values.iter().map(Self::display).collect::<Vec<_>>().join(", "),
        }
    }

    /// [`Self::display`] in a report: thousands set apart, money with four digits behind the point.
    fn display_in_report(&self, column: &str) -> String {
        match self {
            Self::Int(it) => grouped(it),
            Self::Float(it) if column.ends_with("_usd") && it.is_finite() => {
                let text = format!("{it:.4}");
                let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
                format!("{}.{fraction}", grouped(whole))
            }
            other => other.display(),
        }
    }

    /// For spreadsheets. Numbers whole; text never a formula.
    fn csv(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Float(it) => it.to_string(),
            Self::Text(it) => harmless(it).into_owned(),
            Self::List(values) => values.iter().map(Self::csv).collect::<Vec<_>>().join(";"),
            other => other.display(),
        }
    }
}

/// A whole number with commas between thousands.
pub fn grouped(number: impl std::fmt::Display) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) && !out.ends_with('-') {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn date(days: i32) -> String {
    instant(i64::from(days) * 86_400_000_000, TimeUnit::Microseconds).chars().take(10).collect()
}

fn instant(value: i64, unit: TimeUnit) -> String {
    let micros = match unit {
        TimeUnit::Nanoseconds => value / 1000,
        TimeUnit::Microseconds => value,
        TimeUnit::Milliseconds => value.saturating_mul(1000),
    };
    Time(micros).to_string()
}

/// Text with its control characters shown as escapes.
pub fn visible(text: &str) -> Cow<'_, str> {
    // Also the marks that turn the direction of text around.
    let is_harmful = |it: char| {
        it.is_control() || matches!(it, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    text.chars()
        .flat_map(|it| {
            let (escaped, plain) = if is_harmful(it) { (Some(it.escape_default()), None) } else { (None, Some(it)) };
            escaped.into_iter().flatten().chain(plain)
        })
        .collect::<String>()
        .into()
}

/// Text that a spreadsheet will not run: behind a quote where it begins as a formula does.
fn harmless(text: &str) -> Cow<'_, str> {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Prints the rows of a frame.
///
/// # Errors
/// When `out` cannot be written.
pub fn render(frame: &DataFrame, format: Format, look: Look, out: &mut impl Write) -> io::Result<()> {
    match format {
        Format::Json => json(frame, out),
        Format::Csv => csv(frame, out),
        Format::Table => table(frame, look, out),
        Format::Markdown => markdown(frame, out),
    }
}

/// The rows of a frame, a chunk-free view of it.
fn rows(frame: &DataFrame) -> impl Iterator<Item = Vec<Value>> {
    let columns: Vec<Series> = frame.columns().iter().map(|it| it.as_materialized_series().rechunk()).collect();
    (0..frame.height())
        .map(move |row| columns.iter().map(|it| it.get(row).map_or(Value::Null, |it| Value::of(&it))).collect())
}

fn names(frame: &DataFrame) -> Vec<String> {
    frame.columns().iter().map(|it| it.name().to_string()).collect()
}

fn json(frame: &DataFrame, out: &mut impl Write) -> io::Result<()> {
    let names: Vec<String> = names(frame).iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
    out.write_all(b"[")?;
    for (index, row) in rows(frame).enumerate() {
        out.write_all(if index > 0 { b",\n {" } else { b"\n {" })?;
        for (index, (name, value)) in names.iter().zip(row).enumerate() {
            out.write_all(if index > 0 { b", " } else { b"" })?;
            write!(out, "{name}: ")?;
            value.write_json(out)?;
        }
        out.write_all(b"}")?;
    }
    out.write_all(if frame.height() > 0 { b"\n]\n" } else { b"]\n" })
}

/// One object a line.
///
/// # Errors
/// When `out` cannot be written.
pub fn jsonl(frame: &DataFrame, out: &mut impl Write) -> io::Result<()> {
    let names: Vec<String> = names(frame).iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
    for row in rows(frame) {
        for (index, (name, value)) in names.iter().zip(row).enumerate() {
            write!(out, "{}{name}:", if index > 0 { "," } else { "{" })?;
            value.write_json(out)?;
        }
        out.write_all(b"}\n")?;
    }
    Ok(())
}

/// RFC 4180, with a header.
///
/// # Errors
/// When `out` cannot be written.
pub fn csv(frame: &DataFrame, out: &mut impl Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(names(frame))?;
    for row in rows(frame) {
        writer.write_record(row.iter().map(Value::csv))?;
    }
    writer.flush()
}

fn is_number(dtype: &DataType) -> bool {
    dtype.is_primitive_numeric()
}

fn table(frame: &DataFrame, look: Look, out: &mut impl Write) -> io::Result<()> {
    let mut table = Table::new();
    // A rule below the header, none between rows.
    table.load_preset("     ──            ");
    table.force_no_tty();
    if look.color {
        table.enforce_styling();
    }
    if let Some(width) = look.width {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    let cell = |text: String, is_bold: bool| {
        let cell = comfy_table::Cell::new(text);
        if is_bold && look.color { cell.add_attribute(Attribute::Bold) } else { cell }
    };
    let names = names(frame);
    table.set_header(names.iter().map(|it| cell(visible(it).into_owned(), true)));
    let last = frame.height().saturating_sub(1);
    for (index, row) in rows(frame).enumerate() {
        let is_total = look.report.is_some_and(|it| it.has_total) && index == last;
        let text = |(value, name): (&Value, &String)| match look.report {
            Some(_) => value.display_in_report(name),
            None => value.display(),
        };
        table.add_row(row.iter().zip(&names).map(|it| cell(text(it), is_total)));
    }
    for (index, column) in frame.columns().iter().enumerate() {
        if is_number(column.dtype())
            && let Some(column) = table.column_mut(index)
        {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for line in table.lines() {
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

fn markdown(frame: &DataFrame, out: &mut impl Write) -> io::Result<()> {
    let cell = |text: &str| text.replace('|', "\\|");
    let names: Vec<_> = names(frame).iter().map(|it| cell(&visible(it))).collect();
    writeln!(out, "| {} |", names.join(" | "))?;
    let rule: Vec<_> = frame.columns().iter().map(|it| if is_number(it.dtype()) { "---:" } else { "---" }).collect();
    writeln!(out, "| {} |", rule.join(" | "))?;
    for row in rows(frame) {
        let row: Vec<_> = row.iter().map(|it| cell(&it.display())).collect();
        writeln!(out, "| {} |", row.join(" | "))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(format: Format) -> String {
        let frame = df!(
            "name" => [Some("a\u{1b}[31mb|c"), Some("=1+1"), None],
            "n" => [Some(1_i64), None, Some(-3)],
            "x" => [0.1_f64, 2.0, f64::NAN],
        );
        let mut out = Vec::new();
        render(&frame.unwrap(), format, Look::default(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn json_is_whole() {
        let expected = "[\n {\"name\": \"a\\u001b[31mb|c\", \"n\": 1, \"x\": 0.1},\n {\"name\": \"=1+1\", \"n\": null, \"x\": 2.0},\n {\"name\": null, \"n\": -3, \"x\": null}\n]\n";
        assert_eq!(printed(Format::Json), expected);
    }

    #[test]
    fn nothing_from_a_log_acts_on_a_terminal_or_a_spreadsheet() {
        assert_eq!(printed(Format::Csv), "name,n,x\na\u{1b}[31mb|c,1,0.1\n'=1+1,,2\n,-3,NaN\n");
        for format in [Format::Table, Format::Markdown] {
            let text = printed(format);
            assert!(!text.contains('\u{1b}') && text.contains("a\\u{1b}[31mb"), "{text}");
        }
        assert!(printed(Format::Markdown).contains("b\\|c"));
        for harmful in ['\u{7f}', '\u{80}', '\u{9f}', '\u{202a}', '\u{202e}', '\u{2066}', '\u{2069}'] {
            assert!(!visible(&format!("a{harmful}b")).contains(harmful), "{harmful:?}");
        }
    }
}
