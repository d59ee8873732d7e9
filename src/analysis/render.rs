//! Frames to text: a table for people, JSON, CSV and Markdown for programs.
//!
//! Text that comes from logs reaches no terminal with its control characters in a table, and no spreadsheet as a formula.
//! JSON and CSV are for programs: JSON escapes control characters, CSV holds the text as it is, but not on a terminal.

use std::borrow::Cow;
use std::io::{self, Write};

use comfy_table::{Attribute, CellAlignment, ContentArrangement, Table};
use polars::prelude::*;

use crate::base::time::Time;

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
    /// Whether somebody looks at it on a terminal.
    pub is_terminal: bool,
    /// Whether it may be emphasised.
    pub color: bool,
    /// Whether the rows are a report: thousands are set apart, money has cents, the last row may be a sum.
    pub report: Option<Report>,
}

/// What a table of a report needs to know.
#[derive(Debug, Clone, Copy)]
pub struct Report {
    /// How many columns, the first, are dimensions; their texts are not shortened to make the table fit.
    pub dimensions: usize,
    /// Whether the last row is a sum of the others.
    pub has_total: bool,
    /// Whether large numbers are written in short.
    pub human: bool,
    /// Whether no text is shortened to make the table fit.
    pub is_whole: bool,
}

/// Columns of a page: reports fit it where there is no terminal.
pub const PAGE: u16 = 100;

/// Characters of a table's cell, at most.
const LONGEST_CELL: usize = 200;

/// Characters that a text keeps at least where it is shortened to make the table fit.
const SHORTEST_TEXT: usize = 20;

/// A text of at most `length` characters: paths keep their end, other texts their beginning.
fn shortened(text: String, column: &str, length: usize) -> String {
    let count = text.chars().count();
    if count <= length {
        return text;
    }
    let kept = length.saturating_sub(1);
    if column == "path" || column.ends_with("_path") {
        std::iter::once('…').chain(text.chars().skip(count - kept)).collect()
    } else {
        text.chars().take(kept).chain(['…']).collect()
    }
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
            Self::Text(it) => out.write_all(harmless_json(&serde_json::to_string(it)?).as_bytes()),
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

    /// [`Self::display`] in a report, by what the column's name says: money with four digits behind the point, parts of a
    /// whole in percent, thousands set apart; in short where asked.
    fn display_in_report(&self, column: &str, human: bool) -> String {
        let is_part = column == "share" || column.ends_with("_rate");
        match self {
            Self::Int(it) if human && column.ends_with("_ms") => short_time(*it),
            Self::Int(it) if human && column.ends_with("_bytes") => short_bytes(*it),
            Self::Int(it) if human => short(*it),
            Self::Int(it) => grouped(it),
            Self::Float(it) if !it.is_finite() => String::new(),
            Self::Float(it) if is_part => format!("{:.1} %", it * 100.0),
            Self::Float(it) if column.ends_with("_usd") => {
                let text = if human { format!("{it:.2}") } else { format!("{it:.4}") };
                let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
                format!("{}.{fraction}", grouped(whole))
            }
            Self::Float(it) => format!("{it:.1}"),
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

/// A number as reports show it, by the name of what it measures.
pub fn measured(name: &str, value: f64) -> String {
    let is_whole = name.ends_with("_ms") || name == "sessions" || name.starts_with("tokens");
    #[expect(clippy::cast_possible_truncation, reason = "for people")]
    let value = if is_whole { Value::Int(value.round() as i128) } else { Value::Float(value) };
    value.display_in_report(name, false)
}

/// A number in short: `3.1M`.
fn short(number: i128) -> String {
    scaled(number, &["", "k", "M", "G", "T"])
}

fn short_bytes(number: i128) -> String {
    scaled(number, &[" B", " kB", " MB", " GB", " TB"])
}

fn scaled(number: i128, units: &[&str]) -> String {
    let mut value = number as f64;
    let mut units = units.iter();
    let mut unit = units.next().copied().unwrap_or_default();
    if value.abs() < 1000.0 {
        return format!("{number}{unit}");
    }
    for next in units {
        // What would be shown as 1000 is one of the next.
        if value.abs() < 999.95 {
            break;
        }
        value /= 1000.0;
        unit = next;
    }
    format!("{value:.1}{unit}")
}

/// Milliseconds in short: `4m 10s`.
fn short_time(ms: i128) -> String {
    let seconds = ms / 1000;
    match seconds {
        _ if ms.abs() < 1000 => format!("{ms}ms"),
        ..60 => format!("{}.{}s", seconds, ms % 1000 / 100),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{}d {:02}h", seconds / 86_400, seconds / 3600 % 24),
    }
}

/// A part of a whole as a bar of eight cells at most.
fn bar(part: f64) -> String {
    let eighths = (1..=64_u8).take_while(|it| f64::from(*it) - 0.5 <= part * 64.0).count();
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"].get(eighths % 8).copied().unwrap_or_default();
    "█".repeat(eighths / 8) + rest
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

/// A number of things, of which more than one take an s.
pub fn counted(number: impl std::fmt::Display, thing: &str) -> String {
    let number = grouped(number);
    let plural = if number == "1" { "" } else { "s" };
    format!("{number} {thing}{plural}")
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
    Time::from_micros(micros).to_string()
}

/// What acts on a terminal: control characters, and the marks that turn the direction of text around.
fn is_harmful(it: char) -> bool {
    it.is_control() || matches!(it, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// JSON that means the same and acts on no terminal. JSON itself escapes the control characters of ASCII only.
pub fn harmless_json(json: &str) -> Cow<'_, str> {
    let is_left = |it: char| is_harmful(it) && !it.is_ascii_whitespace();
    if !json.contains(is_left) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 8);
    for it in json.chars() {
        if is_left(it) {
            let _ = std::fmt::Write::write_fmt(&mut out, format_args!("\\u{:04x}", u32::from(it)));
        } else {
            out.push(it);
        }
    }
    Cow::Owned(out)
}

/// Text with its control characters shown as escapes.
pub fn visible(text: &str) -> Cow<'_, str> {
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

/// Prints the rows of a frame. Tells which columns of a report were left out because the terminal is too narrow.
///
/// # Errors
/// When `out` cannot be written.
pub fn render(frame: &DataFrame, format: Format, look: Look, out: &mut impl Write) -> io::Result<Vec<String>> {
    match format {
        Format::Json => json(frame, out)?,
        // Programs get the text as it is, whoever looks at a terminal does not.
        Format::Csv if look.is_terminal => {
            let mut text = Vec::new();
            csv(frame, &mut text)?;
            for line in String::from_utf8_lossy(&text).split_inclusive('\n') {
                let end = if line.ends_with('\n') { "\n" } else { "" };
                write!(out, "{}{end}", visible(line.trim_end_matches(['\r', '\n'])))?;
            }
        }
        Format::Csv => csv(frame, out)?,
        Format::Table => return table(frame, look, out),
        Format::Markdown => markdown(frame, look, out)?,
    }
    Ok(Vec::new())
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
    writer.write_record(names(frame)).map_err(cause)?;
    for row in rows(frame) {
        writer.write_record(row.iter().map(Value::csv)).map_err(cause)?;
    }
    writer.flush()
}

/// Why a record could not be written: the kind of an error of the file stays what it is.
fn cause(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

fn is_number(dtype: &DataType) -> bool {
    dtype.is_primitive_numeric()
}

/// A rule below the header, none between rows.
const RULES: &str = "     ──            ";

/// Columns between two cells.
const BETWEEN: usize = 3;

/// Characters of the widest text of a column, its name included.
fn widest(names: &[String], cells: &[Vec<String>], index: usize) -> usize {
    let texts = cells.iter().filter_map(|row| row.get(index)).chain(names.get(index));
    texts.map(|text| comfy_table::Cell::new(text).content().chars().count()).max().unwrap_or_default()
}

fn table(frame: &DataFrame, look: Look, out: &mut impl Write) -> io::Result<Vec<String>> {
    let names = names(frame);
    let has_bar = |name: &str| name == "share" && look.report.is_some();
    let last = frame.height().saturating_sub(1);
    let is_total = |row: usize| look.report.is_some_and(|it| it.has_total) && row == last;
    let text = |value: &Value, name: &str, row: usize| match (look.report, value) {
        (Some(_), Value::Float(part)) if has_bar(name) && !is_total(row) => {
            format!("{:>7} {:8}", value.display_in_report(name, false), bar(*part))
        }
        (Some(_), Value::Float(_)) if has_bar(name) => format!("{:>7} {:8}", value.display_in_report(name, false), ""),
        (Some(report), value) => shortened(value.display_in_report(name, report.human), name, LONGEST_CELL),
        (None, value) => shortened(value.display(), name, LONGEST_CELL),
    };
    let mut cells: Vec<Vec<String>> = Vec::with_capacity(frame.height());
    for (index, row) in rows(frame).enumerate() {
        cells.push(row.iter().zip(&names).map(|(value, name)| text(value, name, index)).collect());
    }
    let mut shown: Vec<bool> = vec![true; names.len()];
    let mut hidden = Vec::new();
    let mut widths: Vec<usize> = (0..names.len()).map(|index| widest(&names, &cells, index)).collect();
    // Texts become shorter before columns are left out.
    if let Some(report) = look.report.filter(|report| !report.is_whole) {
        let width = usize::from(look.width.unwrap_or(PAGE));
        let all: usize = widths.iter().map(|it| it + BETWEEN).sum();
        let mut excess = all.saturating_sub(width + 1);
        for (index, column) in frame.columns().iter().enumerate().skip(report.dimensions).rev() {
            let (Some(widest), Some(name)) = (widths.get_mut(index), names.get(index)) else { continue };
            let length = widest.saturating_sub(excess).max(SHORTEST_TEXT).max(name.len());
            if !column.dtype().is_string() || length >= *widest {
                continue;
            }
            excess -= *widest - length;
            *widest = length;
            for cell in cells.iter_mut().filter_map(|row| row.get_mut(index)) {
                *cell = shortened(std::mem::take(cell), name, length);
            }
        }
    }
    // A report leaves out its last columns rather than break numbers; what it is grouped by stays.
    if let (Some(width), Some(report)) = (look.width, look.report) {
        let mut all: usize = widths.iter().map(|it| it + BETWEEN).sum();
        for index in (0..names.len()).rev() {
            let is_measure = index >= report.dimensions;
            if all <= usize::from(width) + 1 || shown.iter().filter(|it| **it).count() <= 2 {
                break;
            }
            if let (true, Some(shown), Some(width)) = (is_measure, shown.get_mut(index), widths.get(index)) {
                *shown = false;
                all -= width + BETWEEN;
                hidden.extend(names.get(index).cloned());
            }
        }
        hidden.reverse();
    }
    let mut table = Table::new();
    table.load_preset(RULES);
    table.force_no_tty();
    if look.color {
        table.enforce_styling();
    }
    if let Some(width) = look.width {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    let cell = |text: &str, is_bold: bool| {
        let cell = comfy_table::Cell::new(text);
        if is_bold && look.color { cell.add_attribute(Attribute::Bold) } else { cell }
    };
    let is_shown = |(it, shown): (_, &bool)| shown.then_some(it);
    table.set_header(names.iter().zip(&shown).filter_map(is_shown).map(|it| cell(&visible(it), true)));
    for (index, row) in cells.iter().enumerate() {
        table.add_row(row.iter().zip(&shown).filter_map(is_shown).map(|it| cell(it, is_total(index))));
    }
    let columns = frame.columns().iter().zip(&shown).filter(|(_, shown)| **shown);
    for (index, (column, _)) in columns.enumerate() {
        if is_number(column.dtype())
            && !has_bar(column.name())
            && let Some(column) = table.column_mut(index)
        {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for line in table.lines() {
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(hidden)
}

/// Text as a cell of a Markdown table: neither markup of HTML nor the end of the cell.
fn escaped_markdown(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('|', "\\|")
}

fn markdown(frame: &DataFrame, look: Look, out: &mut impl Write) -> io::Result<()> {
    let cell = |text: &str| escaped_markdown(text);
    let names = names(frame);
    let header: Vec<_> = names.iter().map(|it| cell(&visible(it))).collect();
    writeln!(out, "| {} |", header.join(" | "))?;
    let rule: Vec<_> = frame.columns().iter().map(|it| if is_number(it.dtype()) { "---:" } else { "---" }).collect();
    writeln!(out, "| {} |", rule.join(" | "))?;
    for row in rows(frame) {
        let text = |(value, name): (&Value, &String)| match look.report {
            Some(report) => value.display_in_report(name, report.human),
            None => value.display(),
        };
        let row: Vec<_> = row.iter().zip(&names).map(|it| cell(&text(it))).collect();
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
    fn long_texts_are_shortened_in_tables_only() {
        let (path, message) = (format!("/{}/end", "x".repeat(300)), "word ".repeat(60));
        let frame = df!("path" => [path.as_str()], "n" => [1_i64], "example" => [message.as_str()]).unwrap();
        let printed = |format, report| {
            let mut out = Vec::new();
            render(&frame, format, Look { report, ..Look::default() }, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let report = |dimensions, is_whole| Some(Report { dimensions, has_total: false, human: false, is_whole });
        for format in [Format::Csv, Format::Json, Format::Markdown] {
            assert!(printed(format, report(1, false)).contains(&path), "{format:?}");
            assert!(printed(format, report(1, false)).contains(message.trim_end()), "{format:?}");
        }
        let cells = |report| -> Vec<usize> {
            let table = printed(Format::Table, report);
            table.lines().nth(2).unwrap().split("   ").map(|cell| cell.trim().chars().count()).collect()
        };
        assert_eq!(cells(None), [200, 1, 200]);
        assert_eq!(cells(report(1, true)), [200, 1, 200]);
        // What it is grouped by stays as long as it is; other texts make room.
        assert_eq!(cells(report(1, false)), [200, 1, 20]);
        assert_eq!(cells(report(0, false)), [71, 1, 20]);
        assert!(printed(Format::Table, report(0, false)).contains("xx/end "));
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
        assert_eq!(escaped_markdown("<img src=x onerror=\"a&b\">"), "&lt;img src=x onerror=\"a&amp;b\"&gt;");
        for harmful in ['\u{7f}', '\u{80}', '\u{9f}', '\u{202a}', '\u{202e}', '\u{2066}', '\u{2069}'] {
            assert!(!visible(&format!("a{harmful}b")).contains(harmful), "{harmful:?}");
            let json = serde_json::to_string_pretty(&[format!("a{harmful}b")]).unwrap();
            let safe = harmless_json(&json);
            assert!(!safe.contains(harmful) && safe.contains('\n'), "{safe}");
            assert_eq!(serde_json::from_str::<Vec<String>>(&safe).unwrap(), [format!("a{harmful}b")]);
        }
        let frame = df!("name" => ["a\u{1b}[31m\nb\u{9b}c"]).unwrap();
        let mut out = Vec::new();
        let look = Look { is_terminal: true, ..Look::default() };
        render(&frame, Format::Csv, look, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "name\n\"a\\u{1b}[31m\nb\\u{9b}c\"\n");
    }
}
