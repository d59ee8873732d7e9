//! Charts as SVG documents.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::periods::{Panel, Period};
use super::{Chart, Shape};

/// The blue of Okabe and Ito's palette, which is safe for colour-blind readers.
const OKABE_ITO_BLUE: RGBColor = RGBColor(0, 114, 178);
/// The width of an SVG, in pixels.
const WIDTH: u32 = 960;
/// The maximum number of columns over time: each has two pixels at least.
const MAX_COLUMNS: u64 = 400;
/// The height of the title and of each note, in pixels.
const LINE_HEIGHT: i32 = 22;

type Failure = Box<dyn std::error::Error>;

impl Chart {
    /// The chart as an SVG document.
    ///
    /// # Errors
    /// When plotters fails, which is a bug.
    pub fn svg(&self) -> Result<String, String> {
        let mut out = String::new();
        let drawn = match &self.shape {
            Shape::Bars(bars) => self.svg_bars(bars, &mut out),
            Shape::Periods { period, first, count, panels } => {
                self.svg_periods(*period, *first, *count, panels, &mut out)
            }
        };
        drawn.map_err(|error| error.to_string())?;
        Ok(out)
    }

    fn svg_bars(&self, bars: &[(String, f64)], out: &mut String) -> Result<(), Failure> {
        let notes = self.notes(1);
        let start = 44 + LINE_HEIGHT * i32::try_from(notes.len())?;
        let height = start + 16 + 22 * i32::try_from(bars.len())?;
        let root = SVGBackend::with_string(out, (WIDTH, height.try_into()?)).into_drawing_area();
        root.fill(&WHITE)?;
        let most = self.maximum();
        draw_head(&root, &self.title, &notes)?;
        let (left, right) = (300, i32::try_from(WIDTH)? - 110);
        for (index, (name, value)) in bars.iter().enumerate() {
            let top = start + 22 * i32::try_from(index)?;
            let part = if most > 0.0 { value.max(0.0) / most } else { 0.0 };
            #[expect(clippy::cast_possible_truncation, reason = "a part of the width")]
            let end = left + (part * f64::from(right - left)) as i32;
            root.draw(&Rectangle::new([(left, top), (end, top + 16)], OKABE_ITO_BLUE.filled()))?;
            let before = text(13).pos(Pos::new(HPos::Right, VPos::Center));
            root.draw(&Text::new(name.clone(), (left - 8, top + 8), before))?;
            let after = text(13).pos(Pos::new(HPos::Left, VPos::Center));
            root.draw(&Text::new(self.value(*value), (end + 6, top + 8), after))?;
        }
        root.present()?;
        Ok(())
    }

    fn svg_periods(
        &self,
        period: Period,
        first: i64,
        count: u64,
        panels: &[Panel],
        out: &mut String,
    ) -> Result<(), Failure> {
        let periods_per_column = count.div_ceil(MAX_COLUMNS).max(1);
        let columns = usize::try_from(count.div_ceil(periods_per_column))?.max(1);
        let notes = self.notes(periods_per_column);
        let head = 40 + LINE_HEIGHT * i32::try_from(notes.len())?;
        let height = u32::try_from(head)? + 190 * u32::try_from(panels.len().max(1))?;
        let root = SVGBackend::with_string(out, (WIDTH, height)).into_drawing_area();
        root.fill(&WHITE)?;
        draw_head(&root, &self.title, &notes)?;
        let most = self.maximum();
        let most = if most > 0.0 { most * 1.05 } else { 1.0 };
        let time = |at: &f64| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the number of a column")]
            let column = at.max(0.0) as u64;
            period.text(first.saturating_add_unsigned(column.saturating_mul(periods_per_column)))
        };
        let (_, plots) = root.split_vertically(head);
        for (panel, area) in panels.iter().zip(plots.split_evenly((panels.len().max(1), 1))) {
            let mut chart = ChartBuilder::on(&area)
                .caption(&panel.name, ("sans-serif", 15))
                .margin(8)
                .margin_right(40)
                .x_label_area_size(24)
                .y_label_area_size(90)
                .build_cartesian_2d(0.0..columns as f64, 0.0..most)?;
            let value = |at: &f64| self.value(*at);
            let mut mesh = chart.configure_mesh();
            mesh.disable_x_mesh().x_labels(columns.min(7)).y_labels(5).light_line_style(TRANSPARENT);
            mesh.x_label_formatter(&time).y_label_formatter(&value);
            mesh.draw()?;
            let columns = panel.columns(first, columns, periods_per_column);
            let column = |(index, value): (usize, &f64)| {
                let (left, right) = (index as f64 + 0.1, index as f64 + 0.9);
                Rectangle::new([(left, 0.0), (right, value.max(0.0))], OKABE_ITO_BLUE.filled())
            };
            chart.draw_series(columns.iter().enumerate().map(column))?;
        }
        root.present()?;
        Ok(())
    }
}

/// Draws the title and the notes below it.
fn draw_head(
    root: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    title: &str,
    notes: &[String],
) -> Result<(), Failure> {
    root.draw(&Text::new(title.to_owned(), (12, 14), text(16)))?;
    for (index, note) in notes.iter().enumerate() {
        root.draw(&Text::new(note.clone(), (12, 14 + LINE_HEIGHT * (i32::try_from(index)? + 1)), text(13)))?;
    }
    Ok(())
}

fn text(size: i32) -> TextStyle<'static> {
    TextStyle::from(("sans-serif", size)).color(&BLACK)
}
