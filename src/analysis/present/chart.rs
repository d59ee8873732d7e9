//! Charts of reports, as text for a terminal or as SVG: lines if time is a dimension, else bars.
//!
//! A report by time and another dimension has a panel for each value of that dimension, all with the same scale: such a
//! chart needs no colours, and is readable in the log of a CI run.

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

use super::escape::visible;
use super::number::grouped;
use super::value::measured;

/// The maximum number of bars.
const MAX_BARS: usize = 40;
/// The maximum number of panels: those with the largest sums are drawn.
const MAX_PANELS: usize = 6;
/// The maximum length of a label, in characters.
const LONGEST_LABEL: usize = 40;
/// The height of a panel in a terminal, in lines.
const HEIGHT: u16 = 9;

/// A chart of a report.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// The column that is drawn.
    pub measure: String,
    /// Whether its values are whole numbers.
    is_count: bool,
    /// The number of values that are not drawn: unknown values, and those beyond the maximum number of bars or panels.
    pub left_out: usize,
    shape: Shape,
}

#[derive(Debug, Clone, PartialEq)]
enum Shape {
    /// Labels and values, in the order of the report.
    Bars(Vec<(String, f64)>),
    /// Times in order; and for each value of the other dimensions, a value per time.
    Lines { times: Vec<String>, panels: Vec<Panel> },
}

/// The values of one combination of dimensions over time.
#[derive(Debug, Clone, PartialEq)]
struct Panel {
    name: String,
    /// A value per time.
    values: Vec<Option<f64>>,
}

impl Panel {
    fn title(&self, measure: &str) -> String {
        if self.name.is_empty() { measure.to_owned() } else { format!("{measure}, {}", self.name) }
    }
}

/// A bar per row, up to the maximum, and the number of omitted bars.
fn bars(values: &[Option<f64>], name_of: impl Fn(usize) -> String) -> (Shape, usize) {
    let bars = values.iter().enumerate().filter_map(|(row, value)| Some((name_of(row), (*value)?)));
    let mut bars: Vec<_> = bars.collect();
    let omitted = bars.len().saturating_sub(MAX_BARS);
    bars.truncate(MAX_BARS);
    (Shape::Bars(bars), omitted)
}

/// A panel per name, up to the maximum, and the number of omitted values, including values without a time.
fn lines(row_times: &[Option<String>], values: &[Option<f64>], name_of: impl Fn(usize) -> String) -> (Shape, usize) {
    let mut times: Vec<&str> = row_times.iter().flatten().map(String::as_str).collect();
    times.sort_unstable();
    times.dedup();
    let mut omitted = row_times.iter().zip(values).filter(|(time, value)| time.is_none() && value.is_some()).count();
    let mut panels: Vec<Panel> = Vec::new();
    for (row, (time, value)) in row_times.iter().zip(values).enumerate() {
        let Some(index) = time.as_deref().and_then(|time| times.binary_search(&time).ok()) else { continue };
        let name = name_of(row);
        let position = panels.iter().position(|panel| panel.name == name).unwrap_or_else(|| {
            panels.push(Panel { name, values: vec![None; times.len()] });
            panels.len() - 1
        });
        if let Some(cell) = panels.get_mut(position).and_then(|panel| panel.values.get_mut(index)) {
            *cell = *value;
        }
    }
    let sum = |panel: &Panel| panel.values.iter().flatten().sum::<f64>();
    panels.sort_by(|a, b| sum(b).total_cmp(&sum(a)));
    omitted += panels.iter().skip(MAX_PANELS).map(|panel| panel.values.iter().flatten().count()).sum::<usize>();
    panels.truncate(MAX_PANELS);
    (Shape::Lines { times: times.into_iter().map(str::to_owned).collect(), panels }, omitted)
}

/// The largest value of all panels, at least 0.
fn maximum(panels: &[Panel]) -> f64 {
    panels.iter().flat_map(|panel| panel.values.iter().flatten()).fold(0.0, |maximum: f64, value| maximum.max(*value))
}

/// The label of a dimension's value.
fn label(text: Option<&str>) -> String {
    let Some(text) = text else { return "(unknown)".to_owned() };
    let text = visible(text);
    let length = text.chars().count();
    if length <= LONGEST_LABEL {
        return text.into_owned();
    }
    // The end of a path is more specific than its beginning.
    std::iter::once('…').chain(text.chars().skip(length + 1 - LONGEST_LABEL)).collect()
}

impl Chart {
    /// The chart of a report whose first columns are its dimensions.
    ///
    /// # Errors
    /// When a column does not exist.
    pub fn of(rows: &DataFrame, dimensions: &[&str], measure: &str) -> PolarsResult<Self> {
        let is_count = rows.column(measure)?.dtype().is_integer();
        let values = rows.column(measure)?.cast(&DataType::Float64)?;
        let values: Vec<Option<f64>> =
            values.f64()?.iter().map(|value| value.filter(|value| value.is_finite())).collect();
        let mut texts: Vec<Vec<Option<String>>> = Vec::new();
        for name in dimensions {
            let column = rows.column(name)?.cast(&DataType::String)?;
            texts.push(column.str()?.iter().map(|text| text.map(str::to_owned)).collect());
        }
        let time = dimensions.iter().position(|name| matches!(*name, "hour" | "day" | "week" | "month"));
        let times = time.map(|time| texts.remove(time));
        let name_of = |row: usize| {
            let labels = texts.iter().map(|column| label(column.get(row).and_then(Option::as_deref)));
            labels.collect::<Vec<_>>().join(", ")
        };
        let unknown = values.iter().filter(|value| value.is_none()).count();
        let (shape, omitted) = match times {
            Some(times) => lines(&times, &values, name_of),
            None => bars(&values, name_of),
        };
        Ok(Self { measure: measure.to_owned(), is_count, left_out: unknown + omitted, shape })
    }

    /// A value as text.
    fn value(&self, value: f64) -> String {
        #[expect(clippy::cast_possible_truncation, reason = "it was a whole number")]
        if self.is_count { grouped(value.round() as i64) } else { measured(&self.measure, value).trim().to_owned() }
    }

    /// The chart as text, `width` characters wide.
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
                    // Without text in the bar, which would hide short bars.
                    Bar::default().label(label).value(scaled(*value, most)).text_value("")
                };
                let group = BarGroup::default().bars(&bars.iter().zip(&values).map(bar).collect::<Vec<_>>());
                let chart = BarChart::default().direction(Direction::Horizontal).bar_gap(0).data(group).max(SCALE);
                format!("{}\n{}", self.measure, drawn(chart, width, height))
            }
            Shape::Lines { times, panels } => {
                let most = maximum(panels);
                let most = if most > 0.0 { most } else { 1.0 };
                let last = (times.len().saturating_sub(1)) as f64;
                let mut out = String::new();
                for panel in panels {
                    let points: Vec<(f64, f64)> = panel
                        .values
                        .iter()
                        .enumerate()
                        .filter_map(|(index, value)| Some((index as f64, (*value)?)))
                        .collect();
                    let data = Dataset::default().marker(Marker::Braille).graph_type(GraphType::Line).data(&points);
                    let ends: Vec<String> = times.first().into_iter().chain(times.last()).cloned().collect();
                    let x = Axis::default().bounds([0.0, last.max(1.0)]).labels(ends);
                    let labels = ["0".to_owned(), self.value(most)];
                    let y = Axis::default().bounds([0.0, most]).labels(labels);
                    out.extend([
                        panel.title(&self.measure),
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
    /// When plotters fails, which is a bug.
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
            let after = text(13).pos(Pos::new(HPos::Left, VPos::Center));
            root.draw(&Text::new(self.value(*value), (end + 6, top + 8), after))?;
        }
        root.present()?;
        Ok(())
    }

    fn svg_lines(
        &self,
        times: &[String],
        panels: &[Panel],
        out: &mut String,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let height = 40 + 190 * u32::try_from(panels.len().max(1))?;
        let root = SVGBackend::with_string(out, (SVG_WIDTH, height)).into_drawing_area();
        root.fill(&WHITE)?;
        let most = maximum(panels);
        let most = if most > 0.0 { most * 1.05 } else { 1.0 };
        let last = times.len().saturating_sub(1).max(1) as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
        let time = |it: &f64| {
            let is_whole = (it - it.round()).abs() < 1e-6 && *it >= 0.0;
            times.get(it.round() as usize).filter(|_| is_whole).cloned().unwrap_or_default()
        };
        for (panel, area) in panels.iter().zip(root.margin(0, 40, 0, 0).split_evenly((panels.len().max(1), 1))) {
            let mut chart = ChartBuilder::on(&area)
                .caption(panel.title(&self.measure), ("sans-serif", 15))
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
            // An unknown value is a gap in the line.
            for run in panel.values.iter().enumerate().collect::<Vec<_>>().split(|(_, value)| value.is_none()) {
                let points: Vec<(f64, f64)> =
                    run.iter().filter_map(|(index, value)| Some((*index as f64, (**value)?))).collect();
                chart.draw_series(points.iter().map(|point| Circle::new(*point, 3, OKABE_ITO_BLUE.filled())))?;
                chart.draw_series(LineSeries::new(points, OKABE_ITO_BLUE.stroke_width(2)))?;
            }
        }
        root.present()?;
        Ok(())
    }
}

/// The blue of Okabe and Ito's palette, which is safe for colour-blind readers.
const OKABE_ITO_BLUE: RGBColor = RGBColor(0, 114, 178);
/// The width of an SVG, in pixels.
const SVG_WIDTH: u32 = 960;

/// ratatui draws bars of whole numbers: the largest value is scaled to this.
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
    fn bars_have_their_values_and_unknown_values_are_left_out() {
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
    fn a_report_over_time_has_a_panel_per_value() {
        let rows = df!(
            "week" => [Some("2026-10-05"), Some("2026-10-12"), Some("2026-10-12"), None],
            "runtime" => ["pi", "pi", "zag", "pi"],
            "turns" => [3_i64, 5, 2, 9]
        );
        let chart = Chart::of(&rows.unwrap(), &["week", "runtime"], "turns").unwrap();
        let Shape::Lines { times, panels } = &chart.shape else { panic!("{chart:?}") };
        assert_eq!(times, &["2026-10-05", "2026-10-12"]);
        let (pi, zag) = (vec![Some(3.0), Some(5.0)], vec![None, Some(2.0)]);
        let panel = |name: &str, values| Panel { name: name.to_owned(), values };
        assert_eq!(panels, &[panel("pi", pi), panel("zag", zag)]);
        assert_eq!(chart.left_out, 1);
        let text = chart.text(60);
        assert!(
            text.contains("turns, pi\n") && text.contains("2026-10-12") && text.contains('⠤') || text.contains('⡠'),
            "{text}"
        );
        assert!(chart.svg().unwrap().contains("turns, zag"));
    }
}
