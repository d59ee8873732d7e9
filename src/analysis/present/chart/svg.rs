//! Charts as SVG documents.

use std::fmt::Write;

use quick_xml::escape::escape;

use super::periods::{Panel, Period};
use super::{Chart, Shape, part};

/// The blue of Okabe and Ito's palette, which is safe for colour-blind readers.
const BLUE: &str = "#0072b2";
/// The width of a document, in pixels.
const WIDTH: f64 = 960.0;
/// The maximum number of columns over time: each has two pixels at least.
const MAX_COLUMNS: u64 = 400;
/// The height of the title and of each note.
const LINE_HEIGHT: f64 = 22.0;
/// The edges of the longest bar: names are to the left of it, values to the right.
const BARS: (f64, f64) = (300.0, WIDTH - 110.0);
/// The edges of the columns over time: values are to the left of them.
const COLUMNS: (f64, f64) = (98.0, WIDTH - 40.0);
/// The height of a panel, with its name above the columns and times below them.
const PANEL_HEIGHT: f64 = 190.0;
/// The maximum number of times below the columns of a panel.
const MAX_TIMES: usize = 7;

impl Chart {
    /// The chart as an SVG document.
    pub fn svg(&self) -> String {
        match &self.shape {
            Shape::Bars(bars) => self.svg_bars(bars),
            Shape::Periods { period, first, count, panels } => self.svg_periods(*period, *first, *count, panels),
        }
    }

    fn svg_bars(&self, bars: &[(String, f64)]) -> String {
        let (mut drawing, start) = Drawing::new(&self.title, &self.notes(1));
        let maximum = self.maximum();
        let (left, right) = BARS;
        for (index, (name, value)) in bars.iter().enumerate() {
            let top = start + LINE_HEIGHT * index as f64;
            let length = part(*value, maximum) * (right - left);
            drawing.rectangle(left, top, length, 16.0);
            drawing.text(Anchor::End, left - 8.0, top + 12.5, 13, name);
            drawing.text(Anchor::Start, left + length + 6.0, top + 12.5, 13, &self.value(*value));
        }
        drawing.finish(start + LINE_HEIGHT * bars.len() as f64 + 16.0)
    }

    fn svg_periods(&self, period: Period, first: i64, count: u64, panels: &[Panel]) -> String {
        let periods_per_column = count.div_ceil(MAX_COLUMNS).max(1);
        let columns = usize::try_from(count.div_ceil(periods_per_column)).unwrap_or_default().max(1);
        let (mut drawing, start) = Drawing::new(&self.title, &self.notes(periods_per_column));
        let every = columns.div_ceil(MAX_TIMES);
        let time = |column: usize| {
            let periods = (column as u64).saturating_mul(periods_per_column);
            period.text(first.saturating_add_unsigned(periods))
        };
        let times: Vec<_> = (0..columns).step_by(every).map(|column| (column, time(column))).collect();
        for (index, panel) in panels.iter().enumerate() {
            let values = panel.columns(first, columns, periods_per_column);
            let top = start + PANEL_HEIGHT * index as f64;
            self.draw_panel(&mut drawing, top, &panel.name, &values, &times);
        }
        drawing.finish(start + PANEL_HEIGHT * panels.len().max(1) as f64)
    }

    /// Draws a column per value, lines at round values, and these times below their columns.
    fn draw_panel(&self, drawing: &mut Drawing, top: f64, name: &str, values: &[f64], times: &[(usize, String)]) {
        let maximum = self.maximum() * 1.05;
        let (left, right) = COLUMNS;
        let (top, bottom) = (top + 26.0, top + PANEL_HEIGHT - 32.0);
        drawing.text(Anchor::Middle, f64::midpoint(left, right), top - 10.0, 15, name);
        for value in round_values(maximum) {
            let at = bottom - part(value, maximum) * (bottom - top);
            drawing.line(left, at, right);
            drawing.text(Anchor::End, left - 8.0, at + 4.0, 12, &self.value(value));
        }
        let width = (right - left) / values.len().max(1) as f64;
        for (index, value) in values.iter().enumerate() {
            let height = part(*value, maximum) * (bottom - top);
            drawing.rectangle(left + width * (index as f64 + 0.1), bottom - height, width * 0.8, height);
        }
        for (column, time) in times {
            drawing.text(Anchor::Middle, left + width * (*column as f64 + 0.5), bottom + 18.0, 12, time);
        }
    }
}

/// Up to six round values from 0 to a maximum: multiples of 1, 2 or 5 times a power of ten.
fn round_values(maximum: f64) -> Vec<f64> {
    if maximum <= 0.0 || !maximum.is_finite() {
        return vec![0.0];
    }
    let least = maximum / 5.0;
    let power = 10_f64.powf(least.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| *step >= least);
    let step = step.unwrap_or(maximum);
    (0..=5).map(|index| f64::from(index) * step).filter(|value| *value <= maximum).collect()
}

/// A document that is being written.
struct Drawing {
    elements: String,
}

/// The part of a text that is at its position.
#[derive(Clone, Copy)]
enum Anchor {
    Start,
    Middle,
    End,
}

impl Drawing {
    /// A drawing with a title and notes, and where they end.
    fn new(title: &str, notes: &[String]) -> (Self, f64) {
        let mut drawing = Self { elements: String::new() };
        drawing.text(Anchor::Start, 12.0, 26.0, 16, title);
        for (index, note) in notes.iter().enumerate() {
            drawing.text(Anchor::Start, 12.0, 24.0 + LINE_HEIGHT * (index as f64 + 1.0), 13, note);
        }
        (drawing, 44.0 + LINE_HEIGHT * notes.len() as f64)
    }

    fn text(&mut self, anchor: Anchor, x: f64, y: f64, size: u32, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escape(text);
        self.add(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" text-anchor=\"{anchor}\">{text}</text>"
        ));
    }

    fn rectangle(&mut self, x: f64, y: f64, width: f64, height: f64) {
        self.add(format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{BLUE}\"/>"
        ));
    }

    /// A line of the grid.
    fn line(&mut self, left: f64, y: f64, right: f64) {
        self.add(format_args!(
            "<line x1=\"{left:.1}\" y1=\"{y:.1}\" x2=\"{right:.1}\" y2=\"{y:.1}\" stroke=\"#cccccc\"/>"
        ));
    }

    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = writeln!(self.elements, "{element}");
    }

    fn finish(self, height: f64) -> String {
        let elements = self.elements;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
             font-family=\"sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{elements}</svg>\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_the_grid_are_round() {
        assert_eq!(round_values(12_600.0), [0.0, 5000.0, 10_000.0]);
        assert_eq!(round_values(10.0), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(round_values(1.05), [0.0, 0.5, 1.0]);
        assert_eq!(round_values(0.0), [0.0]);
        for maximum in [f64::INFINITY, f64::MAX, f64::MIN_POSITIVE, 1e300, 3.0] {
            assert!((1..=6).contains(&round_values(maximum).len()), "{maximum}");
        }
    }
}
