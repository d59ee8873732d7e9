//! The values of a frame, converted to text for each format.

use std::io::{self, Write};

use polars::prelude::*;

use super::currency::{Currency, is_money};
use super::escape::{formula_safe, harmless_json, visible};
use super::number::{LEAST, fixed, grouped, is_tiny, significant_places};
use super::style::ReportStyle;
use crate::base::time::{DAY_MICROS, Time};
use crate::store::frames::sessions;

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    List(Vec<Value>),
}

impl Value {
    fn of(value: &AnyValue<'_>) -> Self {
        match value {
            AnyValue::Null => Self::Null,
            AnyValue::Boolean(it) => Self::Bool(*it),
            AnyValue::String(it) => Self::Text((*it).to_owned()),
            AnyValue::StringOwned(it) => Self::Text(it.to_string()),
            // -0.0, which is the rounded difference of equal sums in some orders of their rows, becomes 0.0.
            AnyValue::Float32(it) => Self::Float(f64::from(*it) + 0.0),
            AnyValue::Float64(it) => Self::Float(*it + 0.0),
            AnyValue::Date(days) => Self::Text(date(*days)),
            AnyValue::Datetime(it, unit, _) => Self::Text(instant(*it, *unit)),
            AnyValue::DatetimeOwned(it, unit, _) => Self::Text(instant(*it, *unit)),
            AnyValue::List(series) => Self::List(series.iter().map(|it| Self::of(&it)).collect()),
            other => other.extract::<i128>().map_or_else(|| Self::Text(other.to_string()), Self::Int),
        }
    }

    pub(super) fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Null => out.write_all(b"null"),
            Self::Bool(it) => write!(out, "{it}"),
            Self::Int(it) => write!(out, "{it}"),
            Self::Float(it) => Ok(serde_json::to_writer(out, it)?),
            Self::Text(it) => out.write_all(harmless_json(&serde_json::to_string(it)?).as_bytes()),
            Self::List(values) => {
                out.write_all(b"[")?;
                for (index, value) in values.iter().enumerate() {
                    out.write_all(if index > 0 { b"," } else { b"" })?;
                    value.write_json(out)?;
                }
                out.write_all(b"]")
            }
        }
    }

    /// The text for people. Floats have at most six decimal places, small ones three digits.
    pub(super) fn display(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Bool(it) => it.to_string(),
            Self::Int(it) => it.to_string(),
            Self::Float(it) if it.abs() < 1e15 => {
                let is_small = it.abs() >= LEAST && it.abs() < 1e-3;
                let text = fixed(*it, if is_small { significant_places(*it).max(6) } else { 6 });
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            }
            Self::Float(it) => it.to_string(),
            Self::Text(it) => visible(it).into_owned(),
            Self::List(values) => values.iter().map(Self::display).collect::<Vec<_>>().join(", "),
        }
    }

    /// The text for people in a report, by the name of the column: money is in the currency of the report and has four decimal
    /// places, shares are percentages, thousands are separated. Other numbers have one decimal place, small ones three digits.
    pub(super) fn shown_in(&self, report: ReportStyle, column: &str) -> String {
        match self {
            Self::Float(it) => Self::Float(report.currency.value_of(column, *it)).display_in_report(column),
            other => other.display_in_report(column),
        }
    }

    /// As [`Self::shown_in`], without a currency.
    fn display_in_report(&self, column: &str) -> String {
        match self {
            Self::Int(it) => grouped(it),
            Self::Float(it) if !it.is_finite() => String::new(),
            Self::Float(it) if is_share(column) => format!("{} %", fixed(it * 100.0, 1)),
            Self::Float(it) if is_money(column) => {
                let text = fixed(*it, 4);
                let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
                format!("{}.{fraction}", grouped(whole))
            }
            Self::Float(it) if is_probability(column) => fixed(*it, PROBABILITY_PLACES),
            Self::Float(it) if is_tiny(*it, 1) => self.display(),
            Self::Float(it) => fixed(*it, 1),
            other => other.display(),
        }
    }

    /// The value of a measure: numbers of tokens, sessions and milliseconds are whole.
    pub(super) fn measured(name: &str, value: f64) -> Self {
        let is_whole = name.ends_with("_ms") || name == "sessions" || name.split('_').any(|word| word == "tokens");
        #[expect(clippy::cast_possible_truncation, reason = "for people")]
        if is_whole { Self::Int(value.round() as i128) } else { Self::Float(value) }
    }

    /// The text for spreadsheets: numbers with all digits, and no formulas.
    pub(super) fn csv(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Float(it) => it.to_string(),
            Self::Text(it) => formula_safe(it).into_owned(),
            Self::List(values) => values.iter().map(Self::csv).collect::<Vec<_>>().join(";"),
            other => other.display(),
        }
    }
}

/// A number as reports show it, by the name of its measure.
pub fn measured(name: &str, value: f64) -> String {
    Value::measured(name, value).display_in_report(name)
}

/// An exact amount of US dollars in a currency, in the digits of reports: `$1,095.3198`, or `1,007.6943 EUR`.
pub fn exact_amount(dollars: f64, currency: Currency) -> String {
    let amount = measured(sessions::COST_USD, dollars * currency.rate);
    if currency.is_other() { format!("{amount} {}", currency.code()) } else { format!("${amount}") }
}

/// Whether the values of a column are shares of something: its name contains the word, as `hit_rate_within_5min` does, and does not end
/// with another unit.
pub fn is_share(column: &str) -> bool {
    const UNITS: [&str; 4] = ["usd", "ms", "bytes", "tokens"];
    let words = || column.split('_');
    let is_named = words().any(|word| matches!(word, "share" | "rate")) && column != "rate";
    (is_named || column.starts_with("pass_")) && !words().next_back().is_some_and(|unit| UNITS.contains(&unit))
}

/// The decimal places of probabilities, of which small ones matter.
pub(super) const PROBABILITY_PLACES: usize = 4;

/// Whether the values of a column are probabilities of tests.
pub(super) fn is_probability(column: &str) -> bool {
    matches!(column, "p_value" | "p_adjusted")
}

/// The rows of a frame.
pub(super) fn rows(frame: &DataFrame) -> impl Iterator<Item = Vec<Value>> {
    let columns: Vec<Series> = frame.columns().iter().map(|column| column.as_materialized_series().rechunk()).collect();
    let value = |column: &Series, row| column.get(row).map_or(Value::Null, |value| Value::of(&value));
    (0..frame.height()).map(move |row| columns.iter().map(|column| value(column, row)).collect())
}

/// The names of the columns.
pub(super) fn names(frame: &DataFrame) -> Vec<String> {
    frame.columns().iter().map(|it| it.name().to_string()).collect()
}

/// The names of the columns as a report shows them: those of amounts of money contain its currency.
pub(super) fn names_in(report: Option<ReportStyle>, frame: &DataFrame) -> Vec<String> {
    let name = |column: &Column| match report {
        Some(report) if column.dtype().is_float() => report.currency.name_of(column.name()),
        _ => column.name().to_string(),
    };
    frame.columns().iter().map(name).collect()
}

/// Whether a column contains numbers.
pub(super) fn is_number(dtype: &DataType) -> bool {
    dtype.is_primitive_numeric()
}

fn date(days: i32) -> String {
    instant(i64::from(days) * DAY_MICROS, TimeUnit::Microseconds).chars().take(10).collect()
}

fn instant(value: i64, unit: TimeUnit) -> String {
    let micros = match unit {
        TimeUnit::Nanoseconds => value / 1000,
        TimeUnit::Microseconds => value,
        TimeUnit::Milliseconds => value.saturating_mul(1000),
    };
    Time::from_micros(micros).to_string()
}
