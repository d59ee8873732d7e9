//! Numbers of measures as columns: for people as texts with the unit of each measure, else rounded.

use agentlogs::analysis::present::{Currency, human, measured};
use polars::prelude::{Column, DataFrame, DataType, PolarsResult};

use crate::cli::args::{Format, Printed};
use crate::cli::commands::output::is_human;
use crate::cli::settings::Settings;

/// How numbers are printed.
#[derive(Clone, Copy)]
pub(super) struct Numbers {
    /// Whether people read them.
    pub is_for_people: bool,
    /// Whether they are abbreviated.
    is_human: bool,
    /// The currency of amounts.
    pub currency: Currency,
}

impl Numbers {
    pub(super) fn of(printed: Printed, settings: &Settings) -> Self {
        let is_for_people = matches!(printed.format, Format::Table | Format::Markdown);
        let currency = if is_for_people { settings.shown_currency() } else { Currency::default() };
        Self { is_for_people, is_human: is_human(printed), currency }
    }

    /// The numbers of lines, each with the name of its measure.
    pub(super) fn column<'m>(self, name: &str, lines: impl Iterator<Item = (&'m str, Option<f64>)>) -> Column {
        self.column_of(name, lines, str::to_owned)
    }

    /// The same of differences.
    pub(super) fn differences<'m>(self, name: &str, lines: impl Iterator<Item = (&'m str, Option<f64>)>) -> Column {
        self.column_of(name, lines, in_points)
    }

    /// The rows of `report trends` for people: the values before and after a change in the unit of the measure that the row names.
    pub(super) fn of_trends(self, rows: &DataFrame) -> PolarsResult<DataFrame> {
        let measures = rows.column("measure")?.str()?.clone();
        let named = || measures.iter().map(Option::unwrap_or_default);
        let mut rows = rows.clone();
        for name in ["before", "after"] {
            let values = rows.column(name)?.cast(&DataType::Float64)?.f64()?.clone();
            let column = self.column(name, named().zip(values.iter()));
            rows.with_column(column)?;
        }
        let names = named().map(|name| self.currency.name_of(name)).collect::<Vec<_>>();
        rows.with_column(Column::new("measure".into(), names))?;
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
pub(super) fn in_points(difference: &str) -> String {
    difference.replace(" %", " points")
}
