//! Values as people read them on a terminal, by the name of their column: `$742.86`, `1.2B`, `23m 05s`, `12.5 %`.

use super::currency::{Currency, is_money};
use super::number::{LEAST, bound_of, fixed, grouped, is_tiny, short, short_bytes, short_time, significant_places};
use super::value::{PROBABILITY_PLACES, Value, is_probability, is_share};
use crate::store::frames::{tool_calls, unknown_records};

/// What a table has in the place of an unknown value.
pub const UNKNOWN: &str = "-";

/// The value of a dimension for people: a group never has a blank cell.
pub fn named(value: Option<&str>) -> &str {
    match value {
        None => "(unknown)",
        Some("") => "(empty)",
        Some(text) => text,
    }
}

/// From this number on, counts are abbreviated.
const LARGE: i128 = 10_000_000;

/// Columns whose numbers are places or codes, not amounts.
const ORDINALS: &[&str] = &[tool_calls::EXIT_CODE, unknown_records::FIRST_LINE, "line", "turn", "year"];

/// What the values of a column are, and how many decimal places they have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Unit {
    Money {
        currency: Currency,
        decimals: usize,
    },
    Share,
    Percent,
    Milliseconds,
    Bytes,
    Tokens,
    Ordinal,
    /// Counts and all other numbers.
    Number {
        decimals: usize,
    },
}

impl Unit {
    /// The unit of a column, by its name and its values.
    pub(super) fn of<'v>(column: &str, values: impl Iterator<Item = &'v Value>, currency: Currency) -> Self {
        let floats = values.filter_map(|value| match value {
            Value::Float(number) if number.is_finite() => Some(number.abs()),
            _ => None,
        });
        let has_word = |word: &str| column.split('_').any(|it| it == word);
        match column {
            _ if is_share(column) => Self::Share,
            _ if is_money(column) => {
                let largest = floats.fold(0.0, |largest: f64, amount| largest.max(amount * currency.rate));
                Self::Money { currency, decimals: if largest > 0.0 && largest < 0.1 { 4 } else { 2 } }
            }
            _ if has_word("percent") => Self::Percent,
            _ if has_word("ms") => Self::Milliseconds,
            _ if has_word("bytes") => Self::Bytes,
            _ if ORDINALS.contains(&column) => Self::Ordinal,
            _ if has_word("tokens") => Self::Tokens,
            _ if is_probability(column) => Self::Number { decimals: PROBABILITY_PLACES },
            _ => Self::Number { decimals: decimals(floats) },
        }
    }

    /// A value of the column.
    pub(super) fn text(self, value: &Value) -> String {
        match value {
            Value::Null => UNKNOWN.to_owned(),
            Value::Float(number) if !number.is_finite() => UNKNOWN.to_owned(),
            Value::Float(number) => self.float(*number),
            Value::Int(number) => self.int(*number),
            Value::Text(text) if text.is_empty() => String::new(),
            other => other.display(),
        }
    }

    fn int(self, number: i128) -> String {
        match self {
            Self::Milliseconds => short_time(number),
            Self::Bytes => short_bytes(number),
            Self::Tokens => short(number),
            Self::Ordinal => number.to_string(),
            Self::Number { .. } if number.abs() < LARGE => grouped(number),
            Self::Number { .. } => short(number),
            Self::Money { .. } | Self::Share | Self::Percent => self.float(number as f64),
        }
    }

    fn float(self, number: f64) -> String {
        #[expect(clippy::cast_possible_truncation, reason = "larger numbers are limited")]
        let rounded = || number.round() as i128;
        match self {
            Self::Money { currency, decimals } => money(number, currency, decimals),
            Self::Share => format!("{} %", fixed(number * 100.0, 1)),
            Self::Percent => format!("{} %", fixed(number, 1)),
            Self::Tokens if number.abs() < 1000.0 => with_decimals(number, 1),
            Self::Milliseconds | Self::Bytes | Self::Tokens => self.int(rounded()),
            Self::Ordinal => Value::Float(number).display(),
            Self::Number { decimals } if is_tiny(number, decimals) => bound_of(number, &least(decimals)),
            Self::Number { decimals } => with_decimals(number, decimals),
        }
    }
}

/// A number by its measure, as in a table of its own.
pub fn human(name: &str, value: f64, currency: Currency) -> String {
    let value = Value::measured(name, value);
    Unit::of(name, std::iter::once(&value), currency).text(&value)
}

/// An amount of US dollars in a currency. The name of the column names a currency that is not the dollar.
fn money(dollars: f64, currency: Currency, decimals: usize) -> String {
    let amount = dollars * currency.rate;
    let sign = if currency.is_other() { "" } else { "$" };
    if is_tiny(amount, decimals) {
        return bound_of(amount, &format!("{sign}{}", least(decimals)));
    }
    let number = with_decimals(amount, decimals);
    match number.strip_prefix('-') {
        Some(number) => format!("-{sign}{number}"),
        None => format!("{sign}{number}"),
    }
}

/// The smallest number with so many decimal places.
fn least(decimals: usize) -> String {
    format!("{:.decimals$}", 0.1_f64.powi(i32::try_from(decimals).unwrap_or(i32::MAX)))
}

/// A number with its thousands separated.
fn with_decimals(number: f64, decimals: usize) -> String {
    if number.abs() >= 1e15 {
        return format!("{number:e}");
    }
    let text = fixed(number, decimals);
    match text.split_once('.') {
        Some((whole, fraction)) => format!("{}.{fraction}", grouped(whole)),
        None => grouped(text),
    }
}

/// The decimal places of the numbers of a column: all that they have up to four, as prices do, else about three digits. Where all are
/// small, this is more than four.
fn decimals(numbers: impl Iterator<Item = f64>) -> usize {
    const USUAL: usize = 4;
    let numbers: Vec<f64> = numbers.filter(|number| *number >= LEAST).collect();
    let largest = numbers.iter().fold(0.0, |largest: f64, number| largest.max(*number));
    let most = if largest > 0.0 { significant_places(largest).max(USUAL) } else { USUAL };
    let is_exact = |number: f64, places: usize| {
        !is_tiny(number, places) && (number - round_to(number, places)).abs() < LEAST.min(number / 1e3)
    };
    let exact = numbers.iter().try_fold(0, |before, number| {
        (0..=most).find(|places| is_exact(*number, *places)).map(|places| places.max(before))
    });
    exact.unwrap_or(match largest {
        10.0.. => 1,
        1.0.. => 2,
        _ => most,
    })
}

fn round_to(number: f64, places: usize) -> f64 {
    let factor = 10_f64.powi(i32::try_from(places).unwrap_or(0));
    (number * factor).round() / factor
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of a column as they are shown.
    fn shown(column: &str, values: &[Value]) -> Vec<String> {
        let unit = Unit::of(column, values.iter(), Currency::default());
        values.iter().map(|value| unit.text(value)).collect()
    }

    #[test]
    fn numbers_have_the_unit_of_their_column() {
        let float = Value::Float;
        let int = Value::Int;
        for (column, values, expected) in [
            (
                "cost_usd",
                vec![float(1742.8589), float(0.001), float(0.0), Value::Null, float(-3.456)],
                vec!["$1,742.86", "<$0.01", "$0.00", "-", "-$3.46"],
            ),
            ("p50_cost_usd", vec![float(0.0111), float(0.000_001)], vec!["$0.0111", "<$0.0001"]),
            ("error_rate", vec![float(0.125), float(f64::NAN)], vec!["12.5 %", "-"]),
            ("hit_rate_within_5min", vec![float(0.9284)], vec!["92.8 %"]),
            ("share_of_session", vec![float(0.5)], vec!["50.0 %"]),
            ("shared_lines", vec![float(0.5)], vec!["0.5"]),
            ("rate_usd", vec![float(0.5)], vec!["$0.50"]),
            ("used_percent", vec![float(45.0), int(3)], vec!["45.0 %", "3.0 %"]),
            ("p50_duration_ms", vec![int(1_375_496), float(231.4), int(-2500)], vec!["22m 55s", "231ms", "-2.5s"]),
            ("result_bytes", vec![int(2_000_000)], vec!["2.0 MB"]),
            ("total_tokens", vec![int(1_234_567_890), float(12.34)], vec!["1.2B", "12.3"]),
            ("tokens_per_minute", vec![float(4321.0)], vec!["4.3k"]),
            ("calls", vec![int(1_234_567), int(12_345_678)], vec!["1,234,567", "12.3M"]),
            ("line", vec![int(123_456)], vec!["123456"]),
            ("input", vec![float(1.25), float(15.0)], vec!["1.25", "15.00"]),
            ("times_median", vec![float(12.345_678), float(1.0)], vec!["12.3", "1.0"]),
            ("ratio", vec![float(1234.0)], vec!["1,234"]),
            (
                "price",
                vec![float(0.000_002_134_5), float(0.0), float(1e-8)],
                vec!["0.00000213", "0.00000000", "0.00000001"],
            ),
            ("price", vec![float(0.000_02)], vec!["0.00002"]),
            ("times", vec![float(12.345_678), float(0.01), float(-0.01)], vec!["12.3", "<0.1", ">-0.1"]),
            ("p_value", vec![float(1.0), float(0.012_999_675), float(0.000_01)], vec!["1.0000", "0.0130", "<0.0001"]),
            ("difference_usd", vec![float(-0.000_000_4), float(-1e-12)], vec![">-$0.0001", "$0.0000"]),
            ("difference_rate", vec![float(-0.000_000_2)], vec!["0.0 %"]),
            ("name", vec![Value::Text("a".to_owned()), Value::Null, Value::Bool(true)], vec!["a", "-", "true"]),
        ] {
            assert_eq!(shown(column, &values), expected, "{column}");
        }
    }

    #[test]
    fn amounts_are_in_the_currency_of_the_user() {
        let euro = Currency::new("EUR", 0.5).unwrap();
        assert_eq!(human("cost_usd", 2469.0, euro), "1,234.50");
        assert_eq!(human("cost_usd", 2469.0, Currency::default()), "$2,469.00");
        assert_eq!(human("total_tokens", 2469.0, euro), "2.5k");
    }
}
