//! Charts of reports, as text for a terminal or as SVG: columns over time if time is a dimension, else bars.
//!
//! A report by time and another dimension has a panel for each value of that dimension, all with the same scale: such a
//! chart needs no colours, and is readable in the log of a CI run. Periods without data are 0.

mod periods;
mod svg;
mod text;

use polars::prelude::{DataFrame, DataType, PolarsResult};

use self::periods::{Panel, Period, Periods};
use super::escape::visible;
use super::human::named;
use super::number::grouped;
use super::value::measured;
use crate::base::width::cut_start;

/// The maximum number of bars.
const MAX_BARS: usize = 40;
/// The maximum width of a label, in columns.
const LONGEST_LABEL: usize = 40;

/// A chart of a report.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// The column that is drawn.
    pub measure: String,
    /// The measure with its unit and the dimensions: `cost_usd (US dollars) by day, model`.
    title: String,
    /// Whether its values are whole numbers.
    is_count: bool,
    /// The number of unknown values, which are not drawn.
    pub unknown: usize,
    /// The number of values without a time in a chart over time, which are not drawn.
    pub undated: usize,
    /// The number of values beyond the maximum number of bars or panels.
    pub beyond: usize,
    shape: Shape,
}

#[derive(Debug, Clone, PartialEq)]
enum Shape {
    /// Labels and values, in the order of the report.
    Bars(Vec<(String, f64)>),
    /// The number of the first period, the number of periods, and a panel for each value of the other dimensions.
    Periods { period: Period, first: i64, count: u64, panels: Vec<Panel> },
}

/// A bar per row, up to the maximum, and the number of omitted bars.
fn bars(values: &[Option<f64>], name_of: impl Fn(usize) -> String) -> (Shape, usize) {
    let bars = values.iter().enumerate().filter_map(|(row, value)| Some((name_of(row), (*value)?)));
    let mut bars: Vec<_> = bars.collect();
    let omitted = bars.len().saturating_sub(MAX_BARS);
    bars.truncate(MAX_BARS);
    (Shape::Bars(bars), omitted)
}

/// The label of a dimension's value.
fn label(text: Option<&str>) -> String {
    // The end of a path is more specific than its beginning.
    cut_start(&visible(named(text)), LONGEST_LABEL)
}

/// A value as a part of the maximum; negative values are 0.
fn part(value: f64, maximum: f64) -> f64 {
    if maximum > 0.0 { value.max(0.0) / maximum } else { 0.0 }
}

/// The unit of a measure, by its name; `None` for a number of things, which the name contains.
fn unit(measure: &str) -> Option<&'static str> {
    let units = [
        ("_per_second", "tokens per second"),
        ("_usd", "US dollars"),
        ("_tokens", "tokens"),
        ("_ms", "milliseconds"),
        ("_bytes", "bytes"),
        ("_rate", "percent"),
        ("share", "percent"),
    ];
    units.iter().find(|(end, _)| measure.ends_with(end)).map(|(_, unit)| *unit)
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
        let time = dimensions.iter().enumerate().find_map(|(index, name)| Some((index, Period::of(name)?)));
        let times = time.map(|(index, period)| (period, texts.remove(index)));
        let name_of = |row: usize| {
            let labels = texts.iter().map(|column| label(column.get(row).and_then(Option::as_deref)));
            labels.collect::<Vec<_>>().join(", ")
        };
        let is_undated = |(time, value): &(&Option<String>, &Option<f64>)| time.is_none() && value.is_some();
        let undated = times.as_ref().map_or(0, |(_, times)| times.iter().zip(&values).filter(is_undated).count());
        let unknown = values.iter().filter(|value| value.is_none()).count();
        let (shape, omitted) = match times {
            Some((period, times)) => {
                let (periods, omitted) = periods::panels(period, &times, &values, name_of);
                let Periods { period, first, count, panels } = periods;
                (Shape::Periods { period, first, count, panels }, omitted)
            }
            None => bars(&values, name_of),
        };
        let unit = unit(measure).map_or_else(String::new, |unit| format!(" ({unit})"));
        let by = if dimensions.is_empty() { String::new() } else { format!(" by {}", dimensions.join(", ")) };
        // A label is text of the user.
        let title = visible(&format!("{measure}{unit}{by}")).into_owned();
        Ok(Self { measure: measure.to_owned(), title, is_count, unknown, undated, beyond: omitted - undated, shape })
    }

    /// A value as text.
    fn value(&self, value: f64) -> String {
        #[expect(clippy::cast_possible_truncation, reason = "it was a whole number")]
        if self.is_count { grouped(value.round() as i64) } else { measured(&self.measure, value).trim().to_owned() }
    }

    /// The largest value, at least 0.
    fn maximum(&self) -> f64 {
        let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
        match &self.shape {
            Shape::Bars(bars) => largest(&mut bars.iter().map(|(_, value)| *value)),
            Shape::Periods { panels, .. } => largest(&mut panels.iter().flat_map(Panel::values)),
        }
    }

    /// Sentences about what the chart cannot show.
    fn notes(&self, periods_per_column: u64) -> Vec<String> {
        let (has_data, has_negative) = match &self.shape {
            Shape::Bars(bars) => (!bars.is_empty(), bars.iter().any(|(_, value)| *value < 0.0)),
            Shape::Periods { panels, .. } => {
                (!panels.is_empty(), panels.iter().flat_map(Panel::values).any(|value| value < 0.0))
            }
        };
        let mut notes = Vec::new();
        if !has_data {
            notes.push("no data".to_owned());
        }
        if has_negative {
            notes.push("negative values are drawn as 0".to_owned());
        }
        if let (Shape::Periods { period, .. }, true) = (&self.shape, periods_per_column > 1) {
            let length = grouped(periods_per_column);
            notes.push(format!("each column is the largest value of {length} {}", period.plural()));
        }
        notes
    }
}
