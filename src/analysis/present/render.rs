//! Prints a frame in any format.

use std::io::{self, Write};

use polars::prelude::{DataFrame, PolarsError};

use super::csv::csv;
use super::escape::visible;
use super::json::json;
use super::markdown::markdown;
use super::plain;
use super::screen;
use super::style::{Format, TableStyle};
use crate::store::arrow_stream;

/// Prints the rows of a frame. Returns the columns that are hidden because the terminal is too narrow.
///
/// # Errors
/// When `out` cannot be written.
pub fn render(
    frame: &DataFrame,
    format: Format,
    style: TableStyle<'_>,
    out: &mut impl Write,
) -> io::Result<Vec<String>> {
    match format {
        Format::Json => json(frame, out)?,
        // On a terminal control characters are escaped, unlike in a file.
        Format::Csv if style.screen.is_some() => {
            let mut text = Vec::new();
            csv(frame, &mut text)?;
            for line in String::from_utf8_lossy(&text).split_inclusive('\n') {
                let end = if line.ends_with('\n') { "\n" } else { "" };
                write!(out, "{}{end}", visible(line.trim_end_matches(['\r', '\n'])))?;
            }
        }
        Format::Csv => csv(frame, out)?,
        Format::Table => match style.screen {
            Some(screen) => return screen::table(frame, style, screen, out),
            None => plain::table(frame, style, out)?,
        },
        Format::Markdown => markdown(frame, style, out)?,
        Format::Arrow => arrow_stream::write(frame, out).map_err(into_io)?,
    }
    Ok(Vec::new())
}

/// The error of `out` itself, by which a closed pipe is recognised.
fn into_io(error: PolarsError) -> io::Error {
    match error {
        PolarsError::IO { error, .. } => error.kind().into(),
        error => io::Error::other(error),
    }
}

#[cfg(test)]
mod tests {
    use polars::prelude::*;

    use super::*;
    use crate::analysis::present::escape::{escaped_markdown, harmless_json};
    use crate::analysis::present::{ReportStyle, Screen};

    fn printed(format: Format) -> String {
        let frame = df!(
            "name" => [Some("a\u{1b}[31mb|c"), Some("=1+1"), None],
            "n" => [Some(1_i64), None, Some(-3)],
            "x" => [0.1_f64, 2.0, f64::NAN],
        );
        let mut out = Vec::new();
        render(&frame.unwrap(), format, TableStyle::default(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn long_texts_are_shortened_in_tables_only() {
        let (path, message) = (format!("/{}/end", "x".repeat(300)), "word ".repeat(60));
        let frame = df!("path" => [path.as_str()], "n" => [1_i64], "example" => [message.as_str()]).unwrap();
        let printed = |format, style: TableStyle<'_>| {
            let mut out = Vec::new();
            render(&frame, format, style, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let report = |dimensions, is_whole| {
            let report = Some(ReportStyle { dimensions, ..ReportStyle::default() });
            TableStyle { is_whole, report, ..TableStyle::default() }
        };
        for format in [Format::Csv, Format::Json, Format::Markdown] {
            assert!(printed(format, report(1, false)).contains(&path), "{format:?}");
            assert!(printed(format, report(1, false)).contains(message.trim_end()), "{format:?}");
        }
        let cells = |style| -> Vec<usize> {
            let table = printed(Format::Table, style);
            table.lines().nth(2).unwrap().split("   ").map(|cell| cell.trim().chars().count()).collect()
        };
        assert_eq!(cells(TableStyle::default()), [200, 1, 200]);
        assert_eq!(cells(report(1, true)), [200, 1, 200]);
        // Dimensions keep their length; other texts are shortened.
        assert_eq!(cells(report(1, false)), [200, 1, 20]);
        assert_eq!(cells(report(0, false)), [71, 1, 20]);
        assert!(printed(Format::Table, report(0, false)).contains("xx/end "));
    }

    #[test]
    fn arrow_keeps_types_and_unknown_values() {
        let frame = df!("name" => [Some("a"), None], "n" => [None, Some(2_i64)], "is" => [true, false]).unwrap();
        let mut out = Vec::new();
        render(&frame, Format::Arrow, TableStyle::default(), &mut out).unwrap();
        let frames: Vec<DataFrame> = arrow_stream::read_frames(&*out).unwrap().map(Result::unwrap).collect();
        assert_eq!((frames.len(), frames[0].equals_missing(&frame)), (1, true));
        // An answer without rows has its columns.
        let mut empty = Vec::new();
        render(&frame.clear(), Format::Arrow, TableStyle::default(), &mut empty).unwrap();
        assert!(!empty.is_empty());
    }

    #[test]
    fn json_is_whole() {
        let expected = "[\n {\"name\": \"a\\u001b[31mb|c\", \"n\": 1, \"x\": 0.1},\n {\"name\": \"=1+1\", \"n\": null, \"x\": 2.0},\n {\"name\": null, \"n\": -3, \"x\": null}\n]\n";
        assert_eq!(printed(Format::Json), expected);
    }

    #[test]
    fn nothing_from_a_log_acts_on_a_terminal_or_a_spreadsheet() {
        assert_eq!(printed(Format::Csv), "name,n,x\na\u{1b}[31mb|c,1,0.1\n'=1+1,,2\n,-3,NaN\n");
        // In Markdown the escape is escaped, too: a renderer shows it.
        for (format, shown) in [(Format::Table, "a\\u{1b}[31mb"), (Format::Markdown, "a\\\\u\\{1b\\}\\[31mb")] {
            let text = printed(format);
            assert!(!text.contains('\u{1b}') && text.contains(shown), "{text}");
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
        let screen = Some(Screen { width: 80, height: 24, is_ascii: false });
        let style = TableStyle { screen, ..TableStyle::default() };
        render(&frame, Format::Csv, style, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "name\n\"a\\u{1b}[31m\nb\\u{9b}c\"\n");
    }
}
