//! Times for people.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use polars::prelude::{Column, DataFrame, DataType, NamedFrom as _, PolarsResult, Series};

/// The rows with their times as local times to the minute, such as `2026-10-05 14:30`.
///
/// # Errors
/// When a column cannot be converted, which would be a bug.
pub fn in_local_time(rows: &DataFrame, zone: &TimeZone) -> PolarsResult<DataFrame> {
    let local = |column: &Column| -> PolarsResult<Column> {
        if !matches!(column.dtype(), DataType::Datetime(..)) {
            return Ok(column.clone());
        }
        let micros = column.as_materialized_series().to_physical_repr();
        let text = |micros: Option<i64>| {
            let moment = Timestamp::from_microsecond(micros?).ok()?;
            Some(moment.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string())
        };
        let texts: Vec<Option<String>> = micros.i64()?.iter().map(text).collect();
        Ok(Series::new(column.name().clone(), texts).into())
    };
    DataFrame::new(rows.height(), rows.columns().iter().map(local).collect::<PolarsResult<_>>()?)
}
