//! The periods of time of a chart: numbered without gaps, so that a period without rows has a place.

use std::collections::BTreeMap;

use jiff::civil::{Date, date};
use jiff::{Span, Unit};

/// The maximum number of panels: those with the largest sums are drawn.
const MAX_PANELS: usize = 6;

/// The first day of week 0, if weeks begin on Monday.
const FIRST_MONDAY: Date = date(1969, 12, 29);

/// The length of a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    Hour,
    Day,
    /// With the first day of week 0.
    Week(Date),
    Month,
}

impl Period {
    /// The periods of a dimension; `None` if it is not one of time.
    pub fn of(dimension: &str) -> Option<Self> {
        match dimension {
            "hour" => Some(Self::Hour),
            "day" => Some(Self::Day),
            "week" => Some(Self::Week(FIRST_MONDAY)),
            "month" => Some(Self::Month),
            _ => None,
        }
    }

    /// The same periods; weeks begin on the day on which the weeks of a report do.
    fn aligned(self, times: &[Option<String>]) -> Self {
        let first = times.iter().flatten().find_map(|time| time.parse::<Date>().ok());
        match (self, first) {
            (Self::Week(_), Some(first)) => {
                let day = i64::from(first.weekday().to_monday_zero_offset());
                Self::Week(FIRST_MONDAY.checked_add(Span::new().days(day)).unwrap_or(FIRST_MONDAY))
            }
            (period, _) => period,
        }
    }

    pub const fn plural(self) -> &'static str {
        match self {
            Self::Hour => "hours",
            Self::Day => "days",
            Self::Week(_) => "weeks",
            Self::Month => "months",
        }
    }

    /// The number of a period, by its text in a report.
    fn number(self, text: &str) -> Option<i64> {
        match self {
            Self::Hour => {
                let (day, hour) = text.split_once(' ')?;
                Some(days(Date::default(), day.parse().ok()?)? * 24 + hour.split(':').next()?.parse::<i64>().ok()?)
            }
            Self::Day => days(Date::default(), text.parse().ok()?),
            Self::Week(first) => Some(days(first, text.parse().ok()?)?.div_euclid(7)),
            Self::Month => {
                let first: Date = format!("{text}-01").parse().ok()?;
                Some(i64::from(first.year()) * 12 + i64::from(first.month()) - 1)
            }
        }
    }

    /// The text of a period.
    pub fn text(self, number: i64) -> String {
        let day = |first: Date, number: i64| {
            let day = Span::new().try_days(number).and_then(|days| first.checked_add(days));
            day.map_or_else(|_| String::new(), |day| day.to_string())
        };
        match self {
            Self::Hour => format!("{} {:02}:00", day(Date::default(), number.div_euclid(24)), number.rem_euclid(24)),
            Self::Day => day(Date::default(), number),
            Self::Week(first) => day(first, number.saturating_mul(7)),
            Self::Month => format!("{:04}-{:02}", number.div_euclid(12), number.rem_euclid(12) + 1),
        }
    }
}

fn days(first: Date, day: Date) -> Option<i64> {
    Some(first.until((Unit::Day, day)).ok()?.get_days().into())
}

/// The values of one combination of dimensions over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    pub name: String,
    /// Values by the number of their period.
    known: BTreeMap<i64, f64>,
}

impl Panel {
    pub fn values(&self) -> impl Iterator<Item = f64> {
        self.known.values().copied()
    }

    /// A value per column, each the largest one of `periods_per_column` periods from `first` on; 0 without data.
    pub fn columns(&self, first: i64, count: usize, periods_per_column: u64) -> Vec<f64> {
        let mut columns = vec![0.0_f64; count];
        for (number, value) in &self.known {
            let column = usize::try_from(number.abs_diff(first) / periods_per_column.max(1));
            if let Some(column) = column.ok().and_then(|column| columns.get_mut(column)) {
                *column = column.max(*value);
            }
        }
        columns
    }
}

/// Values over time.
pub(super) struct Periods {
    pub period: Period,
    /// The number of the first period.
    pub first: i64,
    /// The number of periods.
    pub count: u64,
    pub panels: Vec<Panel>,
}

/// A panel per name, up to the maximum, and the number of omitted values, including values without a time.
pub(super) fn panels(
    period: Period,
    times: &[Option<String>],
    values: &[Option<f64>],
    name_of: impl Fn(usize) -> String,
) -> (Periods, usize) {
    let period = period.aligned(times);
    let numbers: Vec<Option<i64>> = times.iter().map(|time| period.number(time.as_deref()?)).collect();
    let mut omitted = numbers.iter().zip(values).filter(|(number, value)| number.is_none() && value.is_some()).count();
    // A period whose value is unknown has a place too.
    let first = numbers.iter().flatten().min().copied().unwrap_or_default();
    let last = numbers.iter().flatten().max().copied();
    let count = last.map_or(0, |last| last.abs_diff(first) + 1);
    let mut panels: Vec<Panel> = Vec::new();
    for (row, (number, value)) in numbers.iter().zip(values).enumerate() {
        let (Some(number), Some(value)) = (number, value) else { continue };
        let name = name_of(row);
        match panels.iter_mut().find(|panel| panel.name == name) {
            Some(panel) => {
                panel.known.insert(*number, *value);
            }
            None => panels.push(Panel { name, known: BTreeMap::from([(*number, *value)]) }),
        }
    }
    let sum = |panel: &Panel| panel.values().sum::<f64>();
    panels.sort_by(|a, b| sum(b).total_cmp(&sum(a)));
    omitted += panels.iter().skip(MAX_PANELS).map(|panel| panel.known.len()).sum::<usize>();
    panels.truncate(MAX_PANELS);
    (Periods { period, first, count, panels }, omitted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn week_of(day: &str) -> Period {
        Period::Week(FIRST_MONDAY).aligned(&[None, Some(day.to_owned())])
    }

    #[test]
    fn periods_are_numbered_without_gaps() {
        for (period, texts) in [
            (Period::Hour, ["2026-12-31 23:00", "2027-01-01 00:00", "2027-01-01 01:00"]),
            (Period::Hour, ["1969-12-31 22:00", "1969-12-31 23:00", "1970-01-01 00:00"]),
            (Period::Day, ["2028-02-28", "2028-02-29", "2028-03-01"]),
            (Period::Week(FIRST_MONDAY), ["1969-12-22", "1969-12-29", "1970-01-05"]),
            (Period::Week(FIRST_MONDAY), ["2026-12-21", "2026-12-28", "2027-01-04"]),
            (week_of("2026-12-27"), ["2026-12-20", "2026-12-27", "2027-01-03"]),
            (Period::Month, ["2026-11", "2026-12", "2027-01"]),
        ] {
            let numbers = texts.map(|text| period.number(text).unwrap());
            assert_eq!([numbers[1] - numbers[0], numbers[2] - numbers[1]], [1, 1], "{texts:?}");
            assert_eq!(numbers.map(|number| period.text(number)), texts);
        }
        assert_eq!([Period::Day.number("soon"), Period::Month.number("2026-13"), Period::Hour.number("")], [None; 3]);
        assert_eq!(Period::Day.text(i64::MAX), "");
    }
}
