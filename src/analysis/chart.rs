//! Charts of reports: bars for what is side by side, lines over time; as text for a terminal, or as SVG.
//!
//! A report over time with another dimension is a chart for each of its values, all of one scale: that needs no colours, and
//! so it reads in a log of CI as well.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use polars::prelude::{DataFrame, DataType, PolarsResult};
use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::{Direction, Rect};
use ratatui_core::symbols::Marker;
use ratatui_core::text::Line;
use ratatui_core::widgets::Widget;
use ratatui_widgets::barchart::{Bar, BarChart, BarGroup};
use ratatui_widgets::chart::{Axis, Chart as Lines, Dataset, GraphType};

use crate::analysis::render::{grouped, measured, visible};

/// Bars, or values of a time, in one chart.
const MOST: usize = 40;
/// Charts of a report over time: those of the largest values.
const PANELS: usize = 6;
/// Characters of a label.
const LABEL: usize = 40;
/// Lines of a chart in the terminal.
const HEIGHT: u16 = 9;

/// What is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// The column that is drawn.
    pub measure: String,
    /// Whether it counts, in whole numbers.
    is_count: bool,
    /// Rows whose value is unknown, or for which there is no room.
    pub left_out: usize,
    shape: Shape,
}

#[derive(Debug, Clone, PartialEq)]
enum Shape {
    /// The largest first, as the report has them.
    Bars(Vec<(String, f64)>),
    /// Times in order, and for each value of the other dimensions what it has at those times.
    Lines { times: Vec<String>, panels: Vec<(String, Vec<Option<f64>>)> },
}

/// What a dimension of a row is called.
fn label(text: Option<&str>) -> String {
    let Some(text) = text else { return "(unknown)".to_owned() };
    let text = visible(text);
    let length = text.chars().count();
    if length <= LABEL {
        return text.into_owned();
    }
    // The end of a path tells more than its beginning.
    std::iter::once('…').chain(text.chars().skip(length + 1 - LABEL)).collect()
}

impl Chart {
    /// The chart of a report whose first columns are its dimensions.
    ///
    /// # Errors
    /// When a column is not there.
    pub fn of(rows: &DataFrame, dimensions: &[&str], measure: &str) -> PolarsResult<Self> {
        let is_count = rows.column(measure)?.dtype().is_integer();
        let values = rows.column(measure)?.cast(&DataType::Float64)?;
        let values: Vec<Option<f64>> = values.f64()?.iter().map(|it| it.filter(|it| it.is_finite())).collect();
        let mut texts: Vec<Vec<Option<String>>> = Vec::new();
        for name in dimensions {
            let column = rows.column(name)?.cast(&DataType::String)?;
            texts.push(column.str()?.iter().map(|it| it.map(str::to_owned)).collect());
        }
        let time = dimensions.iter().position(|it| matches!(*it, "hour" | "day" | "week" | "month"));
        let name_of = |row: usize| {
            let others = texts.iter().enumerate().filter(|(at, _)| Some(*at) != time);
            others.map(|(_, it)| label(it.get(row).and_then(Option::as_deref))).collect::<Vec<_>>().join(", ")
        };
        let mut left_out = values.iter().filter(|it| it.is_none()).count();
        let shape = if let Some(time) = time.and_then(|it| texts.get(it)) {
            let mut times: Vec<&str> = time.iter().flatten().map(String::as_str).collect();
            times.sort_unstable();
            times.dedup();
            left_out += time.iter().zip(&values).filter(|(time, value)| time.is_none() && value.is_some()).count();
            let mut panels: Vec<(String, Vec<Option<f64>>)> = Vec::new();
            for (row, value) in values.iter().enumerate() {
                let at = time.get(row).and_then(Option::as_deref).and_then(|it| times.binary_search(&it).ok());
                let Some(at) = at else { continue };
                let name = name_of(row);
                let place = panels.iter().position(|it| it.0 == name).unwrap_or_else(|| {
                    panels.push((name, vec![None; times.len()]));
                    panels.len() - 1
                });
                if let Some(cell) = panels.get_mut(place).and_then(|it| it.1.get_mut(at)) {
                    *cell = *value;
                }
            }
            let sum = |it: &(String, Vec<Option<f64>>)| it.1.iter().flatten().sum::<f64>();
            panels.sort_by(|a, b| sum(b).total_cmp(&sum(a)));
            left_out += panels.iter().skip(PANELS).map(|it| it.1.iter().flatten().count()).sum::<usize>();
            panels.truncate(PANELS);
            Shape::Lines { times: times.into_iter().map(str::to_owned).collect(), panels }
        } else {
            let bars = values.iter().enumerate().filter_map(|(row, value)| Some((name_of(row), (*value)?)));
            let mut bars: Vec<_> = bars.collect();
            left_out += bars.len().saturating_sub(MOST);
            bars.truncate(MOST);
            Shape::Bars(bars)
        };
        Ok(Self { measure: measure.to_owned(), is_count, left_out, shape })
    }

    fn value(&self, value: f64) -> String {
        #[expect(clippy::cast_possible_truncation, reason = "it was a whole number")]
        if self.is_count { grouped(value.round() as i64) } else { measured(&self.measure, value).trim().to_owned() }
    }

    /// The chart in characters, so many a line.
    pub fn text(&self, width: u16) -> String {
        match &self.shape {
            Shape::Bars(bars) => {
                let height = u16::try_from(bars.len()).unwrap_or(u16::MAX);
                let most = bars.iter().fold(0.0, |most: f64, it| most.max(it.1));
                let values: Vec<String> = bars.iter().map(|it| self.value(it.1)).collect();
                let widest = |lengths: &mut dyn Iterator<Item = usize>| lengths.max().unwrap_or_default();
                let names = widest(&mut bars.iter().map(|it| it.0.chars().count()));
                let digits = widest(&mut values.iter().map(String::len));
                let bar = |((name, value), text): (&(String, f64), &String)| {
                    let label = Line::from(format!("{name:names$}  {text:>digits$}"));
                    // A value in its bar would hide those that are short.
                    Bar::default().label(label).value(scaled(*value, most)).text_value("")
                };
                let group = BarGroup::default().bars(&bars.iter().zip(&values).map(bar).collect::<Vec<_>>());
                let chart = BarChart::default().direction(Direction::Horizontal).bar_gap(0).data(group).max(SCALE);
                format!("{}\n{}", self.measure, drawn(chart, width, height))
            }
            Shape::Lines { times, panels } => {
                let most = panels.iter().flat_map(|it| it.1.iter().flatten()).fold(0.0, |most: f64, it| most.max(*it));
                let most = if most > 0.0 { most } else { 1.0 };
                let last = (times.len().saturating_sub(1)) as f64;
                let mut out = String::new();
                for (name, values) in panels {
                    let points: Vec<(f64, f64)> =
                        values.iter().enumerate().filter_map(|(at, it)| Some((at as f64, (*it)?))).collect();
                    let data = Dataset::default().marker(Marker::Braille).graph_type(GraphType::Line).data(&points);
                    let ends: Vec<String> = times.first().into_iter().chain(times.last()).cloned().collect();
                    let x = Axis::default().bounds([0.0, last.max(1.0)]).labels(ends);
                    let labels = ["0".to_owned(), self.value(most)];
                    let y = Axis::default().bounds([0.0, most]).labels(labels);
                    let title =
                        if name.is_empty() { self.measure.clone() } else { format!("{}, {name}", self.measure) };
                    out.extend([
                        title,
                        "\n".to_owned(),
                        drawn(Lines::new(vec![data]).x_axis(x).y_axis(y), width, HEIGHT),
                    ]);
                }
                out
            }
        }
    }
}

impl Chart {
    /// The chart as an SVG document.
    ///
    /// # Errors
    /// When something cannot be drawn, which is a bug.
    pub fn svg(&self) -> Result<String, String> {
        let mut out = String::new();
        let drawn = match &self.shape {
            Shape::Bars(bars) => self.svg_bars(bars, &mut out),
            Shape::Lines { times, panels } => self.svg_lines(times, panels, &mut out),
        };
        drawn.map_err(|it| it.to_string())?;
        Ok(out)
    }

    fn svg_bars(&self, bars: &[(String, f64)], out: &mut String) -> Result<(), Box<dyn std::error::Error>> {
        let height = 60 + 22 * i32::try_from(bars.len())?;
        let root = SVGBackend::with_string(out, (SVG_WIDTH, height.try_into()?)).into_drawing_area();
        root.fill(&WHITE)?;
        let most = bars.iter().fold(0.0, |most: f64, it| most.max(it.1));
        let text = |size: i32| TextStyle::from(("sans-serif", size)).color(&BLACK);
        root.draw(&Text::new(self.measure.clone(), (12, 14), text(16)))?;
        let (left, right) = (300, i32::try_from(SVG_WIDTH)? - 110);
        for (at, (name, value)) in bars.iter().enumerate() {
            let top = 44 + 22 * i32::try_from(at)?;
            let part = if most > 0.0 { value.max(0.0) / most } else { 0.0 };
            #[expect(clippy::cast_possible_truncation, reason = "a part of the width")]
            let end = left + (part * f64::from(right - left)) as i32;
            root.draw(&Rectangle::new([(left, top), (end, top + 16)], OKABE_ITO_BLUE.filled()))?;
            let before = text(13).pos(Pos::new(HPos::Right, VPos::Center));
            root.draw(&Text::new(name.clone(), (left - 8, top + 8), before))?;
            let behind = text(13).pos(Pos::new(HPos::Left, VPos::Center));
            root.draw(&Text::new(self.value(*value), (end + 6, top + 8), behind))?;
        }
        root.present()?;
        Ok(())
    }

    fn svg_lines(
        &self,
        times: &[String],
        panels: &[(String, Vec<Option<f64>>)],
        out: &mut String,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let height = 40 + 190 * u32::try_from(panels.len().max(1))?;
        let root = SVGBackend::with_string(out, (SVG_WIDTH, height)).into_drawing_area();
        root.fill(&WHITE)?;
        let most = panels.iter().flat_map(|it| it.1.iter().flatten()).fold(0.0, |most: f64, it| most.max(*it));
        let most = if most > 0.0 { most * 1.05 } else { 1.0 };
        let last = times.len().saturating_sub(1).max(1) as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in a list")]
        let time = |it: &f64| {
            let is_whole = (it - it.round()).abs() < 1e-6 && *it >= 0.0;
            times.get(it.round() as usize).filter(|_| is_whole).cloned().unwrap_or_default()
        };
        for ((name, values), area) in panels.iter().zip(root.margin(0, 40, 0, 0).split_evenly((panels.len().max(1), 1)))
        {
            let title = if name.is_empty() { self.measure.clone() } else { format!("{}, {name}", self.measure) };
            let mut chart = ChartBuilder::on(&area)
                .caption(title, ("sans-serif", 15))
                .margin(8)
                .margin_right(40)
                .x_label_area_size(24)
                .y_label_area_size(90)
                .build_cartesian_2d(0.0..last, 0.0..most)?;
            let value = |it: &f64| self.value(*it);
            let mut mesh = chart.configure_mesh();
            mesh.disable_x_mesh().x_labels(8).y_labels(5).light_line_style(TRANSPARENT);
            mesh.x_label_formatter(&time).y_label_formatter(&value);
            mesh.draw()?;
            // What is unknown is a gap.
            for run in values.iter().enumerate().collect::<Vec<_>>().split(|it| it.1.is_none()) {
                let points: Vec<(f64, f64)> = run.iter().filter_map(|(at, it)| Some((*at as f64, (**it)?))).collect();
                chart.draw_series(points.iter().map(|it| Circle::new(*it, 3, OKABE_ITO_BLUE.filled())))?;
                chart.draw_series(LineSeries::new(points, OKABE_ITO_BLUE.stroke_width(2)))?;
            }
        }
        root.present()?;
        Ok(())
    }
}

/// Okabe and Ito's blue.
const OKABE_ITO_BLUE: RGBColor = RGBColor(0, 114, 178);
/// Pixels.
const SVG_WIDTH: u32 = 960;

/// Bars are drawn of whole numbers.
const SCALE: u64 = 1 << 20;

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
        let line: String = line.iter().map(Cell::symbol).collect();
        out.extend([line.trim_end(), "\n"]);
    }
    out
}

#[cfg(test)]
mod tests {
    use polars::prelude::*;

    use super::*;

    #[test]
    fn bars_have_their_values_and_what_is_unknown_is_left_out() {
        let rows =
            df!("model" => [Some("a<b>&\u{1b}"), None, Some("c")], "cost_usd" => [Some(2.0), Some(1.0), None]).unwrap();
        let chart = Chart::of(&rows, &["model"], "cost_usd").unwrap();
        assert_eq!(chart.left_out, 1);
        let text = chart.text(50);
        assert!(text.contains("a<b>&\\u{1b}") && text.contains("unknown") && text.contains("2.0000"), "{text}");
        let length = |it: &str| it.chars().filter(|it| *it == '█').count();
        let bars: Vec<usize> = text.lines().skip(1).map(length).collect();
        assert!(bars.len() == 2 && bars[0] > bars[1] && bars[1] > 0, "{text}");
        let svg = chart.svg().unwrap();
        assert!(svg.contains("a&lt;b&gt;&amp;\\u{1b}") && !svg.contains("<b>") && !svg.contains('\u{1b}'), "{svg}");
    }

    #[test]
    fn a_report_over_time_is_a_chart_for_each_value() {
        let rows = df!(
            "week" => [Some("2026-10-05"), Some("2026-10-12"), Some("2026-10-12"), None],
            "runtime" => ["pi", "pi", "zag", "pi"],
            "turns" => [3_i64, 5, 2, 9]
        );
        let chart = Chart::of(&rows.unwrap(), &["week", "runtime"], "turns").unwrap();
        let Shape::Lines { times, panels } = &chart.shape else { panic!("{chart:?}") };
        assert_eq!(times, &["2026-10-05", "2026-10-12"]);
        let (pi, zag) = (vec![Some(3.0), Some(5.0)], vec![None, Some(2.0)]);
        assert_eq!(panels, &[("pi".to_owned(), pi), ("zag".to_owned(), zag)]);
        assert_eq!(chart.left_out, 1);
        let text = chart.text(60);
        assert!(
            text.contains("turns, pi\n") && text.contains("2026-10-12") && text.contains('⠤') || text.contains('⡠'),
            "{text}"
        );
        assert!(chart.svg().unwrap().contains("turns, zag"));
    }
}
