//! Charts as text for a terminal.

use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::{Direction, Rect};
use ratatui_core::text::Line;
use ratatui_core::widgets::Widget;
use ratatui_widgets::barchart::{Bar, BarChart, BarGroup};

use super::periods::{Panel, Period};
use super::{Chart, Shape};
use crate::base::width::{padded, width as width_of};

/// The height of the columns of a chart over time, in lines.
const HEIGHT: u16 = 8;
/// The same if there are several panels.
const HEIGHT_OF_PANEL: u16 = 4;
/// The maximum width of a column, with the space after it.
const WIDEST_COLUMN: u16 = 12;
/// ratatui draws bars of whole numbers: the largest value is scaled to this.
const SCALE: u64 = 1 << 20;

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

    fn head(&self, periods_per_column: u64) -> String {
        let lines = std::iter::once(self.title.clone()).chain(self.notes(periods_per_column));
        lines.map(|line| line + "\n").collect()
    }

    fn bars_as_text(&self, bars: &[(String, f64)], width: u16) -> String {
        let height = u16::try_from(bars.len()).unwrap_or(u16::MAX);
        let most = self.maximum();
        let values: Vec<String> = bars.iter().map(|(_, value)| self.value(*value)).collect();
        let names = bars.iter().map(|(name, _)| width_of(name)).max().unwrap_or_default();
        let digits = values.iter().map(String::len).max().unwrap_or_default();
        let bar = |((name, value), text): (&(String, f64), &String)| {
            let label = Line::from(format!("{}  {text:>digits$}", padded(name, names)));
            // Without text in the bar, which would hide short bars.
            Bar::default().label(label).value(scaled(*value, most)).text_value("")
        };
        let group = BarGroup::default().bars(&bars.iter().zip(&values).map(bar).collect::<Vec<_>>());
        let chart = BarChart::default().direction(Direction::Horizontal).bar_gap(0).data(group).max(SCALE);
        self.head(1) + &drawn(chart, width, height)
    }

    fn periods_as_text(&self, period: Period, first: i64, count: u64, panels: &[Panel], width: u16) -> String {
        let most = self.maximum();
        let top = if most > 0.0 { self.value(most) } else { String::new() };
        let margin = u16::try_from(top.chars().count().max(1)).unwrap_or(u16::MAX);
        // The axis takes a character.
        let room = width.saturating_sub(margin).saturating_sub(1).max(1);
        let periods_per_column = count.div_ceil(room.into()).max(1);
        let columns = u16::try_from(count.div_ceil(periods_per_column)).unwrap_or(room).max(1);
        let column_width = (room / columns).clamp(1, WIDEST_COLUMN);
        let gap = u16::from(column_width > 1);
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
            let bars = values.iter().map(|value| Bar::default().value(scaled(*value, most)).text_value(""));
            let group = BarGroup::default().bars(&bars.collect::<Vec<_>>());
            let chart = BarChart::default().bar_width(column_width - gap).bar_gap(gap).data(group).max(SCALE);
            for (index, line) in drawn(chart, width, height).lines().enumerate() {
                let label = if index == 0 { top.as_str() } else { "" };
                lines.push(format!("{label:>margin$}│{line}\n"));
            }
            let line = "─".repeat(width.into());
            let labels = axis.labels(room.into());
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
    /// The texts of some columns, each from the left edge of its column, with two spaces between them, at most `room`
    /// characters.
    fn labels(&self, room: usize) -> String {
        let mut line = String::new();
        for column in 0..self.columns {
            let start = usize::from(column * self.column_width);
            let is_free = line.is_empty() || start >= line.len() + 2;
            let periods = u64::from(column).saturating_mul(self.periods_per_column);
            let number = self.first.saturating_add_unsigned(periods);
            let text = self.period.text(number);
            if is_free && (column == 0 || start + text.len() <= room) {
                line.push_str(&" ".repeat(start - line.len().min(start)));
                line.push_str(&text);
            }
        }
        line
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of the scale")]
fn scaled(value: f64, most: f64) -> u64 {
    if most > 0.0 { (value.max(0.0) / most * SCALE as f64) as u64 } else { 0 }
}

/// A widget as lines of text.
fn drawn(widget: impl Widget, width: u16, height: u16) -> String {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    widget.render(area, &mut buffer);
    let mut out = String::new();
    for line in buffer.content.chunks(usize::from(width.max(1))) {
        let mut text = String::new();
        let mut covered = 0;
        for symbol in line.iter().map(Cell::symbol) {
            // A wide character covers the cell after it, too.
            if covered == 0 {
                text.push_str(symbol);
                covered = width_of(symbol).saturating_sub(1);
            } else {
                covered -= 1;
            }
        }
        out.extend([text.trim_end(), "\n"]);
    }
    out
}
