//! Tables that fit a terminal.
//!
//! A table that is too wide becomes narrower in this order, until it fits:
//!
//! 1. names of columns are broken after underscores, and bars are left out;
//! 2. texts are shortened;
//! 3. columns are hidden: those without values first, then those that matter least, then from the last one on. Names, sentences, the
//!    main measure and columns that are as important stay, and the ends of an interval are hidden together;
//! 4. each row becomes a block of lines, which contains every column.
//!
//! Rows that fit the height as blocks are blocks before a column is hidden.

use std::io::{self, Write};

use polars::prelude::{DataFrame, DataType};

use super::currency::is_money;
use super::escape::visible;
use super::grid::{Grid, Place};
use super::human::UNKNOWN;
use super::plain::{has_bar, is_total, units, with_bar};
use super::shorten::{Kept, name_in_lines, shortened, wrapped};
use super::style::{Screen, TableStyle};
use super::value::{Value, is_number, names, names_in, rows};
use crate::base::width::width;

/// The spaces between two columns.
const GAP: usize = 2;

/// The longest beginning to which ids are shortened: longer ones leave little space for other columns, so both ends of ids stay.
const LONGEST_BEGINNING: usize = 24;

/// The lines of a terminal that its prompt and the line after a table take.
const LINES_OF_PROMPT: usize = 3;

/// The columns of the ends of an interval: both are shown, or none.
const ENDS: [&str; 2] = ["low", "high"];

/// Writes the table. Returns the names of the hidden columns.
///
/// # Errors
/// When `out` cannot be written.
pub(super) fn table(
    frame: &DataFrame,
    style: TableStyle<'_>,
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<Vec<String>> {
    if frame.height() == 0 {
        return Ok(Vec::new());
    }
    let table = Table { columns: columns(frame, style, screen), height: frame.height(), style, screen };
    let total = (0..frame.height()).find(|row| is_total(frame, style, *row));
    match table.fitted() {
        Some((shown, widths)) => {
            table.write(&shown, &widths, total, out)?;
            let hidden = table.columns.iter().enumerate().filter(|(index, _)| !shown.contains(index));
            Ok(hidden.map(|(_, column)| column.header.clone()).collect())
        }
        None => table.write_blocks(out).map(|()| Vec::new()),
    }
}

/// What a column is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Name,
    Main,
    Other,
}

/// A column with its cells as texts.
struct Column {
    header: String,
    cells: Vec<String>,
    /// The same without bars, if it has bars.
    without_bars: Option<Vec<String>>,
    /// The width of the widest cell, with and without bars.
    widest: [usize; 2],
    /// The smallest width to which its texts are shortened.
    floor: usize,
    role: Role,
    is_right: bool,
    is_sentence: bool,
    /// How its texts are shortened; `None` for numbers, which are not.
    kept: Option<Kept>,
}

/// The columns with their values as texts.
fn columns(frame: &DataFrame, style: TableStyle<'_>, screen: Screen) -> Vec<Column> {
    let names = names(frame);
    let rows: Vec<Vec<Value>> = rows(frame).collect();
    let units = units(&names, &rows, style);
    let is = |index: usize, is: fn(&DataType) -> bool| frame.columns().get(index).is_some_and(|it| is(it.dtype()));
    let is_number_at = |index: usize| is(index, is_number);
    let count = style.roles.names.filter(|count| *count > 0).unwrap_or(1);
    let named = style.roles.main.and_then(|main| names.iter().position(|name| name == main));
    let is_least = |index: usize| names.get(index).is_some_and(|name| style.roles.least.contains(&name.as_str()));
    let mut measures = (count..names.len()).filter(|index| is_number_at(*index) && !is_least(*index));
    let has_money = |index: &usize| names.get(*index).is_some_and(|name| is_money(name));
    let main = named.or_else(|| measures.clone().find(has_money)).or_else(|| measures.next());
    let headers = names_in(style.report, frame);
    let texts = |index: usize, bars: bool| -> Vec<String> {
        let text = |(row, values): (usize, &Vec<Value>)| {
            let (value, name) = (values.get(index)?, names.get(index)?);
            if *value == Value::Null && index < count && is_total(frame, style, row) {
                return None;
            }
            let text = match style.report {
                _ if style.is_human && is(index, DataType::is_datetime) => {
                    without_fraction(&units.get(index)?.text(value))
                }
                _ if style.is_human => units.get(index)?.text(value),
                _ if *value == Value::Null => UNKNOWN.to_owned(),
                Some(report) => value.shown_in(report, name),
                None => value.display(),
            };
            Some(if bars { with_bar(value, &text, is_total(frame, style, row), screen.is_ascii) } else { text })
        };
        rows.iter().enumerate().map(|row| text(row).unwrap_or_default()).collect()
    };
    let column = |(index, header): (usize, String)| {
        let name = names.get(index).map_or("", String::as_str);
        let has_bar = has_bar(style, name);
        let cells = texts(index, has_bar);
        let without_bars = has_bar.then(|| texts(index, false));
        let is_empty = cells.iter().all(|cell| is_unknown(cell));
        let is_sentence = style.roles.sentences.contains(&name) && !is_empty;
        let kept = is(index, is_text).then(|| Kept::of(name, &cells));
        let is_id = kept == Some(Kept::Beginning);
        let distinct = if is_id { distinct_beginning(&cells) } else { 0 };
        let kept = if distinct > LONGEST_BEGINNING { Some(Kept::Ends) } else { kept };
        let widest = |texts: &[String]| texts.iter().map(|text| width(text)).max().unwrap_or_default();
        let widest = [widest(&cells), without_bars.as_deref().map_or_else(|| widest(&cells), widest)];
        Column {
            header: visible(&header).into_owned(),
            floor: match kept {
                Some(_) if is_sentence => 24,
                Some(_) if is_id => distinct.min(LONGEST_BEGINNING) + 1,
                Some(_) if index < count => 24,
                Some(Kept::EndOfPath | Kept::Words) => 20,
                Some(_) => 14,
                None => usize::MAX,
            },
            kept,
            widest,
            without_bars,
            cells,
            role: match () {
                () if index < count || is_sentence => Role::Name,
                () if main == Some(index) || style.roles.also.contains(&name) && !is_empty => Role::Main,
                () => Role::Other,
            },
            is_right: is_number_at(index),
            is_sentence,
        }
    };
    headers.into_iter().enumerate().map(column).collect()
}

/// The length of the beginnings that differ in all of these texts, at least 8.
fn distinct_beginning(texts: &[String]) -> usize {
    let mut texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    texts.sort_unstable();
    texts.dedup();
    let common = |pair: &[&str]| match pair {
        [a, b] => a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count(),
        _ => 0,
    };
    texts.windows(2).map(common).max().map_or(8, |common| (common + 1).max(8))
}

fn is_unknown(cell: &str) -> bool {
    cell.is_empty() || cell == UNKNOWN
}

fn is_text(dtype: &DataType) -> bool {
    dtype.is_string() || dtype.is_nested()
}

/// A time without its fraction of a second: `2026-10-05 08:00:01Z`.
fn without_fraction(time: &str) -> String {
    let (seconds, _) = time.trim_end_matches('Z').split_once('.').unwrap_or((time.trim_end_matches('Z'), ""));
    format!("{}{}", seconds.replacen('T', " ", 1), if time.ends_with('Z') { "Z" } else { "" })
}

impl Column {
    /// The cells, with bars if there is space for them.
    fn texts(&self, has_bars: bool) -> &[String] {
        self.without_bars.as_deref().filter(|_| !has_bars).unwrap_or(&self.cells)
    }

    fn widest_cell(&self, has_bars: bool) -> usize {
        let [with, without] = self.widest;
        if has_bars { with } else { without }
    }

    /// The width of the longest part of its name.
    fn widest_part(&self) -> usize {
        self.header.split_inclusive('_').map(width).max().unwrap_or_default()
    }

    /// Whether no cell has a value.
    fn is_empty(&self) -> bool {
        self.cells.iter().all(|cell| is_unknown(cell))
    }
}

/// A table before it is printed.
struct Table<'a> {
    columns: Vec<Column>,
    /// The number of rows.
    height: usize,
    style: TableStyle<'a>,
    screen: Screen,
}

/// The widths of columns, and whether bars have space.
struct Widths {
    of: Vec<usize>,
    has_bars: bool,
}

impl Table<'_> {
    fn ellipsis(&self) -> &'static str {
        if self.screen.is_ascii { "..." } else { "…" }
    }

    /// The columns that are shown, and their widths; `None` if the rows are printed as blocks.
    fn fitted(&self) -> Option<(Vec<usize>, Widths)> {
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        loop {
            if let Some(widths) = self.widths(&shown) {
                return Some((shown, widths));
            }
            let is_other = |at: &usize| self.at(&shown, *at).is_some_and(|column| column.role == Role::Other);
            let others = || (0..shown.len()).rev().filter(is_other);
            let empty = others().find(|at| self.at(&shown, *at).is_some_and(Column::is_empty));
            let least = || {
                let is_named = |name: &str, at: usize| self.at(&shown, at).is_some_and(|column| column.header == name);
                self.style.roles.least.iter().find_map(|name| others().find(|at| is_named(name, *at)))
            };
            let next = empty.or_else(least).or_else(|| others().next());
            let next = next.filter(|_| !self.style.is_whole && !self.fits_as_blocks())?;
            let header = &self.columns.get(shown.remove(next))?.header;
            if ENDS.contains(&header.as_str()) {
                let is_end = |it: &Column| it.role == Role::Other && ENDS.contains(&it.header.as_str());
                shown.retain(|index| !self.columns.get(*index).is_some_and(is_end));
            }
        }
    }

    fn at(&self, shown: &[usize], at: usize) -> Option<&Column> {
        shown.get(at).and_then(|index| self.columns.get(*index))
    }

    /// Whether all rows fit the height of the terminal as blocks.
    fn fits_as_blocks(&self) -> bool {
        self.height * (self.columns.len() + 1) + LINES_OF_PROMPT <= usize::from(self.screen.height)
    }

    /// Widths with which these columns fit; `None` if there are none.
    fn widths(&self, shown: &[usize]) -> Option<Widths> {
        let columns: Vec<&Column> = shown.iter().filter_map(|index| self.columns.get(*index)).collect();
        let available = usize::from(self.screen.width).checked_sub(GAP * columns.len().saturating_sub(1))?;
        let whole = |has_bars: bool| -> Vec<usize> {
            columns.iter().map(|column| column.widest_cell(has_bars).max(width(&column.header))).collect()
        };
        for has_bars in [true, false] {
            let of = whole(has_bars);
            if of.iter().sum::<usize>() <= available {
                return Some(Widths { of, has_bars });
            }
        }
        let mut of: Vec<usize> =
            columns.iter().map(|column| column.widest_cell(false).max(column.widest_part())).collect();
        if self.style.is_whole && of.iter().sum::<usize>() > available {
            return None;
        }
        let least: Vec<usize> =
            columns.iter().zip(&of).map(|(column, width)| column.floor.max(column.widest_part()).min(*width)).collect();
        shrink(&mut of, &least, available)?;
        grow(&mut of, &whole(false), available);
        Some(Widths { of, has_bars: false })
    }

    fn write(&self, shown: &[usize], widths: &Widths, total: Option<usize>, out: &mut impl Write) -> io::Result<()> {
        let columns: Vec<&Column> = shown.iter().filter_map(|index| self.columns.get(*index)).collect();
        let places: Vec<Place> = columns
            .iter()
            .zip(&widths.of)
            .map(|(column, width)| {
                // Bars begin at the same place.
                let has_bars = widths.has_bars && column.without_bars.is_some();
                Place { width: *width, is_right: column.is_right && !has_bars }
            })
            .collect();
        let grid = Grid { places: &places, margin: 0, gap: GAP };
        let header: Vec<Vec<String>> =
            columns.iter().zip(&widths.of).map(|(column, width)| name_in_lines(&column.header, *width)).collect();
        grid.header(&header, self.style.color, out)?;
        grid.rule(if self.screen.is_ascii { "-" } else { "─" }, out)?;
        for row in 0..self.height {
            let cells: Vec<Vec<String>> = columns
                .iter()
                .zip(&widths.of)
                .map(|(column, width)| {
                    let text = column.texts(widths.has_bars).get(row).map_or("", String::as_str);
                    self.cell(column, text, *width)
                })
                .collect();
            grid.row(&cells, self.style.color && total == Some(row), out)?;
        }
        Ok(())
    }

    /// A cell in lines.
    fn cell(&self, column: &Column, text: &str, width: usize) -> Vec<String> {
        match column.kept {
            Some(_) if column.is_sentence => wrapped(text, width, self.ellipsis()),
            Some(kept) => vec![shortened(text, width, kept, self.ellipsis())],
            None => vec![text.to_owned()],
        }
    }

    /// Writes each row as a block: a line for each column, with its name and its value.
    fn write_blocks(&self, out: &mut impl Write) -> io::Result<()> {
        let screen = usize::from(self.screen.width);
        let names = self.columns.iter().map(|column| width(&column.header)).max().unwrap_or_default();
        // A name that leaves no space for a value is shortened.
        let names = names.min(screen / 2);
        let places = [names, screen.saturating_sub(names + GAP)].map(|width| Place { width, is_right: false });
        let grid = Grid { places: &places, margin: 0, gap: GAP };
        for row in 0..self.height {
            if row > 0 {
                writeln!(out)?;
            }
            for column in &self.columns {
                let text = column.texts(false).get(row).map_or("", |text| text.trim());
                let name = shortened(&column.header, names, Kept::Ends, self.ellipsis());
                let is_bold = self.style.color && column.role == Role::Name && !column.is_sentence;
                let [_, place] = places;
                let value = match column.kept {
                    Some(Kept::Words) => wrapped(text, place.width, self.ellipsis()),
                    Some(_) if column.is_sentence => wrapped(text, place.width, self.ellipsis()),
                    Some(kept) => vec![shortened(text, place.width, kept, self.ellipsis())],
                    None => vec![text.to_owned()],
                };
                grid.row(&[vec![name], value], is_bold, out)?;
            }
        }
        Ok(())
    }
}

/// Makes the widest columns narrower until all fit; `None` if they do not fit.
fn shrink(widths: &mut [usize], least: &[usize], available: usize) -> Option<()> {
    while widths.iter().sum::<usize>() > available {
        let shrinkable = widths.iter_mut().zip(least).filter(|(width, least)| **width > **least);
        let (widest, _) = shrinkable.max_by_key(|(width, _)| **width)?;
        *widest -= 1;
    }
    Some(())
}

/// Makes columns wider, from the first one on, so that fewer names are broken and texts are longer.
fn grow(widths: &mut [usize], most: &[usize], available: usize) {
    for index in 0..widths.len() {
        let free = available.saturating_sub(widths.iter().sum());
        if let (Some(width), Some(most)) = (widths.get_mut(index), most.get(index)) {
            *width = (*width + free).min(*most).max(*width);
        }
    }
}

#[cfg(test)]
mod tests;
