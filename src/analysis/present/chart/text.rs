//! Charts as text for a terminal.

use super::periods::{Panel, Period};
use super::{Chart, Shape, part};
use crate::base::width::{padded, start, width as width_of};

/// The height of the columns of a chart over time, in lines.
const HEIGHT: usize = 8;
/// The same if there are several panels.
const HEIGHT_OF_PANEL: usize = 4;
/// The maximum width of a column, with the space after it.
const WIDEST_COLUMN: u16 = 12;
/// The blocks of a column's top, by their height in eighths of a line.
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

impl Chart {
    /// The chart as text, `width` characters wide.
    pub fn text(&self, width: u16) -> String {
        match &self.shape {
            Shape::Bars(bars) => self.bars_as_text(bars, width),
            Shape::Periods { period, first, count, panels } => {
                self.periods_as_text(*period, *first, *count, panels, width)
            }
        }
    }

    /// The same with ASCII in place of blocks and lines.
    pub fn text_in_ascii(&self, width: u16) -> String {
        let in_ascii = |char| match char {
            '█' => '#',
            '▄' | '▅' | '▆' | '▇' => ':',
            '▁' | '▂' | '▃' => '.',
            '│' => '|',
            '└' => '+',
            '─' => '-',
            other => other,
        };
        self.text(width).chars().map(in_ascii).collect()
    }

    fn head(&self, periods_per_column: u64) -> String {
        let lines = std::iter::once(self.title.clone()).chain(self.notes(periods_per_column));
        lines.map(|line| line + "\n").collect()
    }

    fn bars_as_text(&self, bars: &[(String, f64)], width: u16) -> String {
        let width = usize::from(width);
        let maximum = self.maximum();
        let values: Vec<String> = bars.iter().map(|(_, value)| self.value(*value)).collect();
        let names = bars.iter().map(|(name, _)| width_of(name)).max().unwrap_or_default();
        let digits = values.iter().map(String::len).max().unwrap_or_default();
        // Two spaces before the value, one after it.
        let longest = width.saturating_sub(names + digits + 3);
        let bar = |((name, value), text): (&(String, f64), &String)| {
            let length = eighths(part(*value, maximum), longest) / 8;
            let line = format!("{}  {text:>digits$} {}", padded(name, names), "█".repeat(length));
            format!("{}\n", start(&line, width).trim_end())
        };
        self.head(1) + &bars.iter().zip(&values).map(bar).collect::<String>()
    }

    fn periods_as_text(&self, period: Period, first: i64, count: u64, panels: &[Panel], width: u16) -> String {
        let most = self.maximum();
        let top = if most > 0.0 { self.value(most) } else { String::new() };
        let margin = u16::try_from(top.chars().count().max(1)).unwrap_or(u16::MAX);
        // The axis takes a character.
        let space = width.saturating_sub(margin).saturating_sub(1).max(1);
        let periods_per_column = count.div_ceil(space.into()).max(1);
        let columns = u16::try_from(count.div_ceil(periods_per_column)).unwrap_or(space).max(1);
        let column_width = (space / columns).clamp(1, WIDEST_COLUMN);
        let gap = usize::from(column_width > 1);
        let width = columns * column_width;
        let height = if panels.len() > 1 { HEIGHT_OF_PANEL } else { HEIGHT };
        let margin = usize::from(margin);
        let axis = Axis { period, first, columns, column_width, periods_per_column };
        let mut lines = vec![self.head(periods_per_column)];
        for panel in panels {
            if !panel.name.is_empty() {
                lines.push(format!("\n{}\n", panel.name));
            }
            let values = panel.columns(first, columns.into(), periods_per_column);
            let parts: Vec<f64> = values.iter().map(|value| part(*value, most)).collect();
            for (index, line) in
                columns_as_lines(&parts, height, usize::from(column_width) - gap, gap).iter().enumerate()
            {
                let label = if index == 0 { top.as_str() } else { "" };
                lines.push(format!("{label:>margin$}│{line}\n"));
            }
            let line = "─".repeat(width.into());
            let labels = axis.labels(space.into());
            lines.push(format!("{:>margin$}└{line}\n{:margin$} {labels}\n", "0", ""));
        }
        lines.concat()
    }
}

/// The axis of time below the columns.
struct Axis {
    period: Period,
    first: i64,
    columns: u16,
    column_width: u16,
    periods_per_column: u64,
}

impl Axis {
    /// The texts of some columns, each from the left edge of its column, with two spaces between them, at most `space`
    /// characters.
    fn labels(&self, space: usize) -> String {
        let mut line = String::new();
        for column in 0..self.columns {
            let start = usize::from(column * self.column_width);
            let is_free = line.is_empty() || start >= line.len() + 2;
            let periods = u64::from(column).saturating_mul(self.periods_per_column);
            let number = self.first.saturating_add_unsigned(periods);
            let text = self.period.text(number);
            if is_free && (column == 0 || start + text.len() <= space) {
                line.push_str(&" ".repeat(start - line.len().min(start)));
                line.push_str(&text);
            }
        }
        line
    }
}

/// A part of a length of so many characters, in eighths of a character.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a small length")]
fn eighths(part: f64, length: usize) -> usize {
    (part * (length * 8) as f64) as usize
}

/// The lines of columns of these heights, which are parts of the whole height.
fn columns_as_lines(parts: &[f64], height: usize, width: usize, gap: usize) -> Vec<String> {
    let heights: Vec<usize> = parts.iter().map(|part| eighths(*part, height)).collect();
    let space = " ".repeat(gap);
    let line = |line: usize| {
        let below = 8 * (height - 1 - line);
        let block = |column: &usize| BLOCKS.get(column.saturating_sub(below).min(8)).copied().unwrap_or(' ');
        let columns = heights.iter().map(|column| block(column).to_string().repeat(width) + &space);
        columns.collect::<String>().trim_end().to_owned()
    };
    (0..height).map(line).collect()
}
