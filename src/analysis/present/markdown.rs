//! Tables of Markdown.

use std::io::{self, Write};

use polars::prelude::DataFrame;

use super::escape::{escaped_markdown, visible};
use super::style::TableStyle;
use super::value::{Value, is_number, names, names_in, rows};

/// Writes a table of Markdown.
///
/// # Errors
/// When `out` cannot be written.
pub(super) fn markdown(frame: &DataFrame, style: TableStyle, out: &mut impl Write) -> io::Result<()> {
    let names = names(frame);
    let header: Vec<_> = names_in(style.report, frame).iter().map(|it| escaped_markdown(&visible(it))).collect();
    writeln!(out, "| {} |", header.join(" | "))?;
    let rule: Vec<_> = frame.columns().iter().map(|it| if is_number(it.dtype()) { "---:" } else { "---" }).collect();
    writeln!(out, "| {} |", rule.join(" | "))?;
    for row in rows(frame) {
        let text = |(value, name): (&Value, &String)| match style.report {
            Some(report) => value.shown_in(report, name),
            None => value.display(),
        };
        let row: Vec<_> = row.iter().zip(&names).map(|it| escaped_markdown(&text(it))).collect();
        writeln!(out, "| {} |", row.join(" | "))?;
    }
    Ok(())
}

/// Text from a log as text of Markdown in one line: without markup of HTML, and harmless on a terminal.
pub fn markdown_text(text: &str) -> String {
    escaped_markdown(&visible(&text.split_whitespace().collect::<Vec<_>>().join(" ")))
}
