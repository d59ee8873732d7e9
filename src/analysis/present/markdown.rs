//! Tables of Markdown.

use std::io::{self, Write};

use polars::prelude::DataFrame;

use super::escape::{escaped_markdown, visible};
use super::plain::rows_of_texts;
use super::style::TableStyle;
use super::value::{is_number, names_in};
use crate::base::text::one_line;

/// Writes a table of Markdown.
///
/// # Errors
/// When `out` cannot be written.
pub(super) fn markdown(frame: &DataFrame, style: TableStyle<'_>, out: &mut impl Write) -> io::Result<()> {
    let header: Vec<_> = names_in(style.report, frame).iter().map(|it| escaped_markdown(&visible(it))).collect();
    writeln!(out, "| {} |", header.join(" | "))?;
    let rule: Vec<_> = frame.columns().iter().map(|it| if is_number(it.dtype()) { "---:" } else { "---" }).collect();
    writeln!(out, "| {} |", rule.join(" | "))?;
    for row in rows_of_texts(frame, style, false) {
        let row: Vec<_> = row.iter().map(|text| escaped_markdown(text)).collect();
        writeln!(out, "| {} |", row.join(" | "))?;
    }
    Ok(())
}

/// Text from a log as text of Markdown in one line: without markup of HTML, and harmless on a terminal.
pub fn markdown_text(text: &str) -> String {
    escaped_markdown(&visible(&one_line(text)))
}
