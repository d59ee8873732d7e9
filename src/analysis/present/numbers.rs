//! Numbers of measures as columns: for people as texts with the unit of each measure, else rounded.

use polars::prelude::{Column, DataFrame, DataType, PolarsResult};

use super::currency::Currency;
use super::human::human;
use super::value::measured;

/// The column that names the measure of a row.
const MEASURE: &str = "measure";
/// The columns with its numbers, in reports.
const OF_MEASURE: [&str; 2] = ["before", "after"];

/// How numbers are printed.
#[derive(Debug, Clone, Copy)]
pub struct Numbers {
    /// Whether people read them.
    pub is_for_people: bool,
    /// Whether they are abbreviated.
    pub is_human: bool,
    /// The currency of amounts.
    pub currency: Currency,
}

impl Numbers {
    /// The numbers of lines, each with the name of its measure.
    pub fn column<'m>(self, name: &str, lines: impl Iterator<Item = (&'m str, Option<f64>)>) -> Column {
        self.column_of(name, lines, str::to_owned)
    }

    /// The same of differences.
    pub fn differences<'m>(self, name: &str, lines: impl Iterator<Item = (&'m str, Option<f64>)>) -> Column {
        self.column_of(name, lines, in_points)
    }

    /// The rows of a report with the numbers in the unit of the measure that their row names, if the rows name measures.
    ///
    /// # Errors
    /// When the columns cannot be converted, which would be a bug.
    pub fn by_measure(self, mut rows: DataFrame) -> PolarsResult<DataFrame> {
        let Ok(measures) = rows.column(MEASURE).and_then(|measures| measures.str().cloned()) else { return Ok(rows) };
        let named = || measures.iter().map(Option::unwrap_or_default);
        for name in OF_MEASURE {
            let values = rows.column(name)?.cast(&DataType::Float64)?.f64()?.clone();
            rows.with_column(self.column(name, named().zip(values.iter())))?;
        }
        let names = named().map(|name| self.currency.name_of(name)).collect::<Vec<_>>();
        rows.with_column(Column::new(MEASURE.into(), names))?;
        Ok(rows)
    }

    fn column_of<'m>(
        self,
        name: &str,
        lines: impl Iterator<Item = (&'m str, Option<f64>)>,
        changed: fn(&str) -> String,
    ) -> Column {
        if !self.is_for_people {
            // Rounded to ten digits, as in reports.
            let rounded = |value: f64| (value * 1e10).round() / 1e10;
            return Column::new(name.into(), lines.map(|(_, value)| value.map(rounded)).collect::<Vec<_>>());
        }
        let texts: Vec<Option<String>> =
            lines.map(|(measure, value)| Some(changed(&self.text(measure, value?)))).collect();
        let width = texts.iter().flatten().map(|text| text.chars().count()).max().unwrap_or_default();
        let texts = texts.into_iter().map(|text| text.map(|text| format!("{text:>width$}")));
        Column::new(name.into(), texts.collect::<Vec<_>>())
    }

    fn text(self, measure: &str, value: f64) -> String {
        if self.is_human {
            human(measure, value, self.currency)
        } else {
            measured(measure, self.currency.value_of(measure, value))
        }
    }
}

/// A difference as text: that of shares is not a share of something.
pub fn in_points(difference: &str) -> String {
    difference.replace(" %", " points")
}
