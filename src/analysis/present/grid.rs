//! Cells in aligned columns.

use std::io::{self, Write};

use crate::base::width::width;

/// A column of a grid.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// Its width.
    pub width: usize,
    /// Whether its texts end at the same place, as numbers do.
    pub is_right: bool,
}

/// Where columns are in a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid<'a> {
    pub places: &'a [Place],
    /// The spaces before the first column.
    pub margin: usize,
    /// The spaces between two columns.
    pub gap: usize,
}

impl Grid<'_> {
    /// Writes a row. The texts of a cell are in lines below each other; those of the header end at the same line.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn row(&self, cells: &[Vec<String>], is_bold: bool, out: &mut impl Write) -> io::Result<()> {
        let height = cells.iter().map(Vec::len).max().unwrap_or_default();
        for line in 0..height {
            let texts = cells.iter().map(|cell| cell.get(line).map_or("", String::as_str));
            self.line(texts, is_bold, out)?;
        }
        Ok(())
    }

    /// As [`Self::row`], with the last lines of the cells in the same line.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn header(&self, cells: &[Vec<String>], is_bold: bool, out: &mut impl Write) -> io::Result<()> {
        let height = cells.iter().map(Vec::len).max().unwrap_or_default();
        let aligned = cells.iter().map(|cell| {
            let above = vec![String::new(); height - cell.len()];
            [above, cell.clone()].concat()
        });
        self.row(&aligned.collect::<Vec<_>>(), is_bold, out)
    }

    /// Writes a line of this character below a header.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn rule(&self, char: &str, out: &mut impl Write) -> io::Result<()> {
        let columns: usize = self.places.iter().map(|place| place.width + self.gap).sum();
        writeln!(out, "{}", char.repeat((columns + 2 * self.margin).saturating_sub(self.gap)))
    }

    fn line<'t>(&self, texts: impl Iterator<Item = &'t str>, is_bold: bool, out: &mut impl Write) -> io::Result<()> {
        let mut line = " ".repeat(self.margin);
        for (index, (text, place)) in texts.zip(self.places).enumerate() {
            if index > 0 {
                line.push_str(&" ".repeat(self.gap));
            }
            let spaces = " ".repeat(place.width.saturating_sub(width(text)));
            let (before, after) = if place.is_right { (spaces.as_str(), "") } else { ("", spaces.as_str()) };
            line.extend([before, text, after]);
        }
        let line = line.trim_end();
        if is_bold && !line.is_empty() { writeln!(out, "\u{1b}[1m{line}\u{1b}[0m") } else { writeln!(out, "{line}") }
    }
}
