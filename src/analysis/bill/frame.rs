//! The groups as rows.

use polars::prelude::*;

use super::compare::Bill;
use super::key::By;
use super::row::{Measure, Row};
use crate::analysis::rows::round;

/// A number of a row.
type Number = fn(&Row) -> Option<f64>;

/// The amounts after those of both sides: their names without the unit.
const AMOUNTS: [(&str, Number); 5] = [
    ("bill_only", |row| row.parts.bill.map(|_| row.parts.bill_only)),
    ("logs_only", |row| row.parts.logs.map(|_| row.parts.logs_only)),
    ("price_difference", |row| row.parts.bill.and(row.parts.logs).map(|_| row.parts.price_difference)),
    ("explained", |row| row.parts.bill.map(|_| row.parts.explained)),
    ("other_day", |row| row.parts.bill.map(|_| row.parts.moved)),
];
/// The amount that only dollars have: the same tokens have no other number of tokens.
const PRICE: &str = "price_difference";

/// The groups as rows: the names, the result, and all measures.
///
/// # Errors
/// When the columns cannot be built, which would be a bug.
pub fn rows(bill: &Bill) -> PolarsResult<DataFrame> {
    let rows = &bill.rows;
    let names = bill.by.iter().map(|by| named(*by, rows));
    let result = Column::new("result".into(), rows.iter().map(|row| row.outcome.as_str()).collect::<Vec<_>>());
    let columns = names.collect::<PolarsResult<Vec<_>>>()?.into_iter().chain([result]);
    let columns = columns.chain(measures(rows, bill.measure)).collect();
    round(DataFrame::new(rows.len(), columns)?.lazy()).collect()
}

/// The sums of the measures as one row, without a result.
///
/// # Errors
/// When the columns cannot be built, which would be a bug.
pub fn total(bill: &Bill) -> PolarsResult<DataFrame> {
    let mut columns = vec![Column::new("result".into(), [None::<&str>])];
    for column in measures(&bill.rows, bill.measure) {
        let name = column.name().clone();
        let series = column.as_materialized_series();
        // A sum of nothing known is unknown.
        let has_value = series.null_count() < series.len();
        columns.push(match series.dtype() {
            DataType::Int64 => Column::new(name, [series.i64()?.sum().filter(|_| has_value)]),
            _ => Column::new(name, [series.f64()?.sum().filter(|_| has_value)]),
        });
    }
    round(DataFrame::new(1, columns)?.lazy()).collect()
}

fn named(by: By, rows: &[Row]) -> PolarsResult<Column> {
    let name = PlSmallStr::from_static(by.as_str());
    match by {
        By::Day => {
            let days = rows.iter().map(|row| row.key.day.map(|day| day.0)).collect::<Vec<_>>();
            Column::new(name, days).cast(&DataType::Date)
        }
        _ => Ok(Column::new(name, rows.iter().map(|row| row.key.text(by)).collect::<Vec<_>>())),
    }
}

fn measures(rows: &[Row], measure: Measure) -> Vec<Column> {
    let dollars = |name: String, of: Number| Column::new(name.into(), rows.iter().map(of).collect::<Vec<_>>());
    let counts = |name: String, of: &dyn Fn(&Row) -> Option<i64>| {
        Column::new(name.into(), rows.iter().map(of).collect::<Vec<_>>())
    };
    #[expect(clippy::cast_possible_truncation, reason = "a sum of counts of tokens")]
    let whole = |of: Number| move |row: &Row| of(row).map(|number| number.round() as i64);
    let tokens = [
        counts("bill_tokens".to_owned(), &|row: &Row| row.bill.as_ref()?.total_tokens),
        counts("logs_tokens".to_owned(), &|row: &Row| row.logs.as_ref()?.total_tokens),
    ];
    let unpriced = counts("unpriced_responses".to_owned(), &|row: &Row| Some(row.logs.as_ref()?.unpriced));
    let logs_usd = dollars("logs_usd".to_owned(), |row| row.logs.as_ref()?.cost_usd);
    let mut columns = Vec::new();
    match measure {
        Measure::Dollars => {
            columns.extend([dollars("bill_usd".to_owned(), |row| row.parts.bill), logs_usd]);
            columns.extend(AMOUNTS.iter().map(|(name, of)| dollars(format!("{name}_usd"), *of)));
            columns.extend(tokens);
        }
        Measure::Tokens => {
            columns.extend(tokens);
            let amounts = AMOUNTS.iter().filter(|(name, _)| *name != PRICE);
            columns.extend(amounts.map(|(name, of)| counts(format!("{name}_tokens"), &whole(*of))));
            columns.push(logs_usd);
        }
    }
    columns.push(unpriced);
    columns
}
