//! The rows of an answer for people.

use polars::prelude::*;

use crate::analysis::present::{Numbers, named};

/// The rows of an answer for people: unknown and empty dimensions are named, the sums over all groups are appended, and numbers of a measure
/// that the row names have its unit.
///
/// # Errors
/// When columns cannot be converted, which would be a bug.
pub fn for_people(
    rows: &DataFrame,
    dimensions: usize,
    total: Option<&DataFrame>,
    numbers: Numbers,
) -> PolarsResult<DataFrame> {
    let mut columns: Vec<Column> = Vec::with_capacity(rows.width());
    for (index, column) in rows.columns().iter().take(dimensions).enumerate() {
        // Dates are converted to text: the column also contains words.
        let texts = column.as_materialized_series().cast(&DataType::String)?;
        let texts_for_people: StringChunked = texts.str()?.iter().map(|text| Some(named(text))).collect();
        let mut texts = texts_for_people.with_name(column.name().clone()).into_series();
        if total.is_some() {
            let text = if index == 0 { Some("total") } else { None };
            texts.append(&Series::new(column.name().clone(), [text]))?;
        }
        columns.push(texts.into());
    }
    for (index, column) in rows.columns().iter().skip(dimensions).enumerate() {
        let mut column = column.as_materialized_series().clone();
        if let Some(sum) = total.and_then(|total| total.columns().get(index)) {
            column.append(&sum.as_materialized_series().cast(column.dtype())?)?;
        }
        columns.push(column.into());
    }
    numbers.by_measure(with_singular(DataFrame::new(rows.height() + usize::from(total.is_some()), columns)?)?)
}

/// `1 line` in place of `1 lines`, in rows that have a count with its unit.
fn with_singular(mut rows: DataFrame) -> PolarsResult<DataFrame> {
    let (Ok(counts), Ok(units)) = (rows.column("count"), rows.column("unit")) else { return Ok(rows) };
    let (counts, units) = (counts.cast(&DataType::Int64)?, units.str()?.clone());
    let singular = |(unit, count): (Option<&str>, Option<i64>)| {
        unit.map(|unit| if count == Some(1) { unit.trim_end_matches('s') } else { unit }.to_owned())
    };
    let units: StringChunked = units.iter().zip(counts.i64()?.iter()).map(singular).collect();
    rows.with_column(units.with_name("unit".into()).into_column())?;
    Ok(rows)
}
