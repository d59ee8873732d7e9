//! `agentlogs report`: the archive's rows grouped by dimensions.

use agentlogs::render::Report;
use agentlogs::reports::{self, Error, Options};
use polars::prelude::*;

use super::{Outcome, WrongCommandLine, print, tables};
use crate::cli;

pub fn run(args: cli::Report) -> anyhow::Result<Outcome> {
    let report = reports::find(&args.name).map_err(wrong)?;
    let only = [
        ("runtime", args.runtime),
        ("model", args.model),
        ("project", args.project),
        ("session", args.session),
        ("status", args.status),
    ];
    let system = || jiff::tz::TimeZone::system().iana_name().unwrap_or("UTC").to_owned();
    let options = Options {
        by: args.by,
        since: args.since,
        until: args.until,
        timezone: args.timezone.unwrap_or_else(system),
        only: only.into_iter().filter_map(|(name, it)| Some((name.to_owned(), it?))).collect(),
        sort: args.sort,
        limit: args.limit,
    };
    let (rows, total) = report.run(tables(args.from)?, &options).map_err(wrong)?;
    let has_total = matches!(args.printed.format, cli::Format::Table | cli::Format::Markdown) && rows.height() > 1;
    let rows = if has_total { with_total(&rows, &total)? } else { rows };
    print(&rows, args.printed, Some(Report { has_total }))?;
    Ok(Outcome::Done)
}

/// The rows, and one more with the sums over all groups.
fn with_total(rows: &DataFrame, total: &DataFrame) -> PolarsResult<DataFrame> {
    let dimensions = rows.width() - total.width();
    let mut columns: Vec<Column> = rows.columns()[..dimensions]
        .iter()
        .enumerate()
        .map(|(index, it)| {
            // A date and the word cannot stand in one column: dates are shown as their text.
            let text = if index == 0 { Some("total") } else { None };
            let mut texts = it.as_materialized_series().cast(&DataType::String)?;
            texts.append(&Series::new(it.name().clone(), [text]))?;
            Ok(texts.into())
        })
        .collect::<PolarsResult<_>>()?;
    for (column, sum) in rows.columns()[dimensions..].iter().zip(total.columns()) {
        let mut column = column.as_materialized_series().clone();
        column.append(&sum.as_materialized_series().cast(column.dtype())?)?;
        columns.push(column.into());
    }
    DataFrame::new(rows.height() + 1, columns)
}

/// All but what polars says is the fault of the command line.
fn wrong(error: Error) -> anyhow::Error {
    match error {
        Error::Polars(error) => error.into(),
        other => WrongCommandLine(other.to_string()).into(),
    }
}
