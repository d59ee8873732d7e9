//! Durations as texts: a number of microseconds has no unit.

use polars::prelude::*;

use crate::base::time::DAY_MICROS;

/// The frame with durations as texts: `2 days 03:04:05.678`.
///
/// # Errors
/// When polars cannot convert a column.
pub(super) fn with_texts_of_durations(frame: &DataFrame) -> PolarsResult<DataFrame> {
    let columns = frame.columns().iter().map(|column| match column.dtype() {
        DataType::Duration(_) => {
            let micros = column.cast(&DataType::Duration(TimeUnit::Microseconds))?.cast(&DataType::Int64)?;
            let texts: StringChunked = micros.i64()?.iter().map(|micros| micros.map(text)).collect();
            Ok(texts.with_name(column.name().clone()).into_column())
        }
        _ => Ok(column.clone()),
    });
    DataFrame::new(frame.height(), columns.collect::<PolarsResult<Vec<_>>>()?)
}

fn text(micros: i64) -> String {
    const DAY: u64 = DAY_MICROS.unsigned_abs();
    let sign = if micros < 0 { "-" } else { "" };
    let micros = micros.unsigned_abs();
    let (days, rest) = (micros / DAY, micros % DAY);
    let (seconds, fraction) = (rest / 1_000_000, rest % 1_000_000);
    let mut time = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if fraction > 0 {
        time = format!("{time}.{}", format!("{fraction:06}").trim_end_matches('0'));
    }
    match days {
        0 => format!("{sign}{time}"),
        1 => format!("{sign}1 day {sign}{time}"),
        days => format!("{sign}{days} days {sign}{time}"),
    }
}
