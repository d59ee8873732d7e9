//! Tables with aligned columns, for people.

use std::io::{self, Write};

use comfy_table::{Attribute, CellAlignment, ContentArrangement, Table};
use polars::prelude::DataFrame;

use super::escape::visible;
use super::number::bar;
use super::style::{ReportStyle, TableStyle};
use super::value::{Value, is_number, names, names_in, rows};
use crate::base::width::{cut, cut_start, width};

/// The width in columns that reports fit if stdout is not a terminal.
const PAGE: u16 = 100;

/// The maximum width of a cell, in columns.
const LONGEST_CELL: usize = 200;

/// The minimum width in columns to which a text is shortened to make the table fit.
const SHORTEST_TEXT: usize = 20;

/// Preset of comfy-table: a line below the header, and no other lines.
const RULES: &str = "     ──            ";

/// The space between two cells, in columns.
const BETWEEN: usize = 3;

/// Writes the table. Returns the columns of a report that were hidden because they do not fit.
///
/// # Errors
/// When `out` cannot be written.
pub(super) fn table(frame: &DataFrame, style: TableStyle, out: &mut impl Write) -> io::Result<Vec<String>> {
    let mut layout = Layout::new(frame, style);
    if let Some(report) = style.report {
        if !report.is_whole {
            layout.shorten_texts(report, usize::from(style.width.unwrap_or(PAGE)));
        }
        if let Some(width) = style.width {
            layout.hide_columns(report, usize::from(width));
        }
    }
    for line in layout.table().lines() {
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(layout.hidden())
}

/// The cells of a table, before they are printed.
struct Layout<'a> {
    frame: &'a DataFrame,
    style: TableStyle,
    names: Vec<String>,
    /// The names as they are shown.
    headers: Vec<String>,
    /// Rows of cells.
    cells: Vec<Vec<String>>,
    /// The width of each column.
    widths: Vec<usize>,
    is_shown: Vec<bool>,
}

impl<'a> Layout<'a> {
    fn new(frame: &'a DataFrame, style: TableStyle) -> Self {
        let names = names(frame);
        let headers = names_in(style.report, frame);
        let is_shown = vec![true; names.len()];
        let mut layout = Self {
            frame,
            style,
            names,
            headers,
            cells: Vec::with_capacity(frame.height()),
            widths: Vec::new(),
            is_shown,
        };
        for (index, row) in rows(frame).enumerate() {
            let cells = row.iter().zip(&layout.names).map(|(value, name)| layout.text(value, name, index)).collect();
            layout.cells.push(cells);
        }
        layout.widths = (0..layout.names.len()).map(|index| layout.widest(index)).collect();
        layout
    }

    fn text(&self, value: &Value, name: &str, row: usize) -> String {
        let text = match (self.style.report, value) {
            (Some(report), Value::Float(share)) if self.has_bar(name) => {
                let bar = if self.is_total(row) { String::new() } else { bar(*share) };
                return format!("{:>7} {bar:8}", value.shown_in(ReportStyle { human: false, ..report }, name));
            }
            (Some(report), value) => value.shown_in(report, name),
            (None, value) => value.display(),
        };
        shortened(text, name, LONGEST_CELL)
    }

    /// Whether the values of a column are followed by a bar.
    fn has_bar(&self, name: &str) -> bool {
        name == "share" && self.style.report.is_some()
    }

    /// Whether a row is the sum of the others.
    fn is_total(&self, row: usize) -> bool {
        self.style.report.is_some_and(|report| report.has_total) && row + 1 == self.frame.height()
    }

    /// The length of the longest text of a column, including its name.
    fn widest(&self, index: usize) -> usize {
        let texts = self.cells.iter().filter_map(|row| row.get(index)).chain(self.headers.get(index));
        texts.map(|text| width(comfy_table::Cell::new(text).content().as_str())).max().unwrap_or_default()
    }

    /// The width of all shown columns.
    fn width(&self) -> usize {
        let shown = self.widths.iter().zip(&self.is_shown).filter(|(_, is_shown)| **is_shown);
        shown.map(|(width, _)| width + BETWEEN).sum()
    }

    /// Shortens texts, from the last column on, until the table fits. Dimensions keep their length.
    fn shorten_texts(&mut self, report: ReportStyle, available: usize) {
        let mut excess = self.width().saturating_sub(available + 1);
        for (index, column) in self.frame.columns().iter().enumerate().skip(report.dimensions).rev() {
            let (Some(widest), Some(name)) = (self.widths.get_mut(index), self.names.get(index)) else { continue };
            let length = widest.saturating_sub(excess).max(SHORTEST_TEXT).max(name.len());
            if !column.dtype().is_string() || length >= *widest {
                continue;
            }
            excess -= *widest - length;
            *widest = length;
            for cell in self.cells.iter_mut().filter_map(|row| row.get_mut(index)) {
                *cell = shortened(std::mem::take(cell), name, length);
            }
        }
    }

    /// Hides measures, from the last one on, until the table fits: a number is never broken into lines. At least two columns
    /// stay.
    fn hide_columns(&mut self, report: ReportStyle, width: usize) {
        for index in (report.dimensions..self.names.len()).rev() {
            if self.width() <= width + 1 || self.is_shown.iter().filter(|is_shown| **is_shown).count() <= 2 {
                break;
            }
            if let Some(is_shown) = self.is_shown.get_mut(index) {
                *is_shown = false;
            }
        }
    }

    fn hidden(&self) -> Vec<String> {
        let hidden = self.headers.iter().zip(&self.is_shown).filter(|(_, is_shown)| !**is_shown);
        hidden.map(|(name, _)| name.clone()).collect()
    }

    fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_preset(RULES);
        table.force_no_tty();
        if self.style.color {
            table.enforce_styling();
        }
        if let Some(width) = self.style.width {
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
        }
        let cell = |text: &str, is_bold: bool| {
            let cell = comfy_table::Cell::new(text);
            if is_bold && self.style.color { cell.add_attribute(Attribute::Bold) } else { cell }
        };
        table.set_header(self.shown(&self.headers).map(|name| cell(&visible(name), true)));
        for (index, row) in self.cells.iter().enumerate() {
            table.add_row(self.shown(row).map(|text| cell(text, self.is_total(index))));
        }
        for (index, column) in self.shown(self.frame.columns()).enumerate() {
            if is_number(column.dtype())
                && !self.has_bar(column.name())
                && let Some(column) = table.column_mut(index)
            {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table
    }

    /// The values of the shown columns.
    fn shown<'b, T>(&'b self, values: &'b [T]) -> impl Iterator<Item = &'b T> {
        values.iter().zip(&self.is_shown).filter_map(|(value, is_shown)| is_shown.then_some(value))
    }
}

/// A text of at most `length` columns: paths keep their end, other texts their beginning.
fn shortened(text: String, column: &str, length: usize) -> String {
    if width(&text) <= length {
        text
    } else if column == "path" || column.ends_with("_path") {
        cut_start(&text, length)
    } else {
        cut(&text, length)
    }
}
