//! Tables with aligned columns where there is no terminal: every row and every column.

use std::io::{self, Write};

use polars::prelude::DataFrame;

use super::escape::visible;
use super::grid::{Grid, Place};
use super::human::{UNKNOWN, Unit};
use super::number::bar;
use super::style::TableStyle;
use super::value::{Value, is_number, names, names_in, rows};
use crate::base::width::{cut, cut_start, width};

/// The decimal places of amounts of which cents are not enough.
const FINE: usize = 6;

/// The width in columns to which the texts of reports are shortened.
const PAGE: usize = 100;

/// The maximum width of a cell, in columns.
const LONGEST_CELL: usize = 200;

/// The minimum width in columns to which a text is shortened.
const SHORTEST_TEXT: usize = 20;

/// The spaces before and after a cell, and the line between two cells, which is a space, too.
const MARGIN: usize = 1;
const BETWEEN: usize = 2 * MARGIN + 1;

/// Writes the table.
///
/// # Errors
/// When `out` cannot be written.
pub(super) fn table(frame: &DataFrame, style: TableStyle<'_>, out: &mut impl Write) -> io::Result<()> {
    let names = names(frame);
    let headers: Vec<String> = names_in(style.report, frame).iter().map(|name| visible(name).into_owned()).collect();
    let mut cells = rows_of_texts(frame, style, true);
    for row in &mut cells {
        for (cell, name) in row.iter_mut().zip(&names) {
            *cell = shortened(std::mem::take(cell), name, LONGEST_CELL);
        }
    }
    let widest = |index: usize| {
        let texts = cells.iter().filter_map(|row| row.get(index)).chain(headers.get(index));
        texts.map(|text| width(text)).max().unwrap_or_default()
    };
    let mut widths: Vec<usize> = (0..names.len()).map(widest).collect();
    if let (Some(report), false) = (style.report, style.is_whole) {
        shorten_texts(frame, report.dimensions, &mut widths, &mut cells);
    }
    let places: Vec<Place> = frame
        .columns()
        .iter()
        .zip(&widths)
        .map(|(column, width)| Place {
            width: *width,
            is_right: is_number(column.dtype()) && !has_bar(style, column.name()),
        })
        .collect();
    let grid = Grid { places: &places, margin: MARGIN, gap: BETWEEN };
    let single = |texts: &[String]| texts.iter().map(|text| vec![text.clone()]).collect::<Vec<_>>();
    grid.row(&single(&headers), style.color, out)?;
    grid.rule("─", out)?;
    for (index, row) in cells.iter().enumerate() {
        grid.row(&single(row), style.color && is_total(frame, style, index), out)?;
    }
    Ok(())
}

/// The values of the rows as texts, for tables that do not depend on a terminal.
pub(super) fn rows_of_texts(frame: &DataFrame, style: TableStyle<'_>, with_bars: bool) -> Vec<Vec<String>> {
    let names = names(frame);
    let rows: Vec<Vec<Value>> = rows(frame).collect();
    let units: Vec<Unit> = units(&names, &rows, style);
    let text = |row: usize, value: &Value, name: &str, unit: &Unit| match style.report {
        Some(report) if with_bars && has_bar(style, name) && matches!(value, Value::Float(_)) => {
            with_bar(value, &value.shown_in(report, name), is_total(frame, style, row), false)
        }
        _ if style.is_human => Some(unit.text(value)).filter(|text| text != UNKNOWN).unwrap_or_default(),
        Some(report) => value.shown_in(report, name),
        None => value.display(),
    };
    let cells = |(index, row): (usize, &Vec<Value>)| {
        row.iter().zip(names.iter().zip(&units)).map(|(value, (name, unit))| text(index, value, name, unit)).collect()
    };
    rows.iter().enumerate().map(cells).collect()
}

/// The unit of each column.
pub(super) fn units(names: &[String], rows: &[Vec<Value>], style: TableStyle<'_>) -> Vec<Unit> {
    let currency = style.report.unwrap_or_default().currency;
    let values = |index: usize| rows.iter().filter_map(move |row| row.get(index));
    let unit = |(index, name): (usize, &String)| match Unit::of(name, values(index), currency) {
        Unit::Money { currency, .. } if style.roles.fine.contains(&name.as_str()) => {
            Unit::Money { currency, decimals: FINE }
        }
        unit => unit,
    };
    names.iter().enumerate().map(unit).collect()
}

/// Whether the values of a column are followed by a bar.
pub(super) fn has_bar(style: TableStyle<'_>, name: &str) -> bool {
    name == "share" && style.report.is_some()
}

/// A share with its bar; the sum of all shares has none.
pub(super) fn with_bar(value: &Value, text: &str, is_total: bool, is_ascii: bool) -> String {
    let bar = match value {
        Value::Float(share) if !is_total => bar(*share, is_ascii),
        _ => String::new(),
    };
    format!("{text:>7} {bar:8}")
}

/// Whether a row is the sum of the others.
pub(super) fn is_total(frame: &DataFrame, style: TableStyle<'_>, row: usize) -> bool {
    style.report.is_some_and(|report| report.has_total) && row + 1 == frame.height()
}

/// Shortens texts, from the last column on, until the table fits a page. Dimensions keep their length.
fn shorten_texts(frame: &DataFrame, dimensions: usize, widths: &mut [usize], cells: &mut [Vec<String>]) {
    let all: usize = widths.iter().map(|width| width + BETWEEN).sum();
    let mut excess = all.saturating_sub(PAGE + 1);
    for (index, column) in frame.columns().iter().enumerate().skip(dimensions).rev() {
        let Some(widest) = widths.get_mut(index) else { continue };
        let length = widest.saturating_sub(excess).max(SHORTEST_TEXT).max(column.name().len());
        if !column.dtype().is_string() || length >= *widest {
            continue;
        }
        excess -= *widest - length;
        *widest = length;
        for cell in cells.iter_mut().filter_map(|row| row.get_mut(index)) {
            *cell = shortened(std::mem::take(cell), column.name(), length);
        }
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
