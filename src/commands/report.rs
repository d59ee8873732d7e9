//! `agentlogs report`: the archive's rows grouped by dimensions.

use std::io::Write;

use agentlogs::chart::Chart;
use agentlogs::export::{Access, write_file};
use agentlogs::render;
use agentlogs::reports::{self, Cost, Error, Options, Scope};
use anyhow::Context;
use polars::prelude::*;

use super::{Outcome, WrongCommandLine, complain, print, say, tables, terminal_width};
use crate::cli::{self, Filters};

pub fn run(args: cli::Report) -> anyhow::Result<Outcome> {
    let report = reports::find(&args.name).map_err(wrong)?;
    let is_for_people = matches!(args.printed.format, cli::Format::Table | cli::Format::Markdown);
    let options = Options {
        by: args.by,
        scope: scope(args.filters),
        cost: cost(args.cost),
        sort: args.sort,
        limit: args.limit,
        total: is_for_people,
        wide: args.wide || !is_for_people,
    };
    let has_cost = report.measures().iter().any(|it| it.name.ends_with("cost_usd"));
    let opened = tables(args.from)?;
    let prices = (is_for_people && has_cost).then(|| opened.priced_with());
    let answer = report.run(opened.frames.clone(), &options).map_err(wrong)?;
    if args.chart || args.svg.is_some() {
        let chart = chart(report, &answer.rows, options.sort.as_deref())?;
        if let Some(path) = &args.svg {
            let svg = chart.svg().map_err(anyhow::Error::msg)?;
            let written = write_file(path, Access::Usual, |out| out.write_all(svg.as_bytes()));
            written.with_context(|| path.display().to_string())?;
        }
        if args.chart {
            let mut out = std::io::stdout().lock();
            // As wide as the terminal, or a page.
            let width = terminal_width().unwrap_or(100).clamp(40, 240);
            out.write_all(chart.text(width).as_bytes())?;
            out.flush()?;
            if chart.left_out > 0 {
                complain(format_args!("{} values are unknown or left out", render::grouped(chart.left_out)));
            }
            return Ok(Outcome::Done);
        }
    }
    let total = answer.total.filter(|_| answer.rows.height() > 1);
    let has_total = total.is_some();
    let rows = match total {
        Some(total) => with_total(&answer.rows, &total)?,
        None => answer.rows,
    };
    let hidden = print(&rows, args.printed, Some(render::Report { has_total, human: args.human }))?;
    if !hidden.is_empty() {
        complain(format_args!("too narrow for {}; --format csv has all columns", hidden.join(", ")));
    }
    if let Some(prices) = prices {
        say(&prices);
    }
    Ok(Outcome::Done)
}

/// The rows as a chart: of the column that they are sorted by, or the first that measures something.
fn chart(report: &reports::Report, rows: &DataFrame, sort: Option<&str>) -> anyhow::Result<Chart> {
    let wrong = |text: String| anyhow::Error::from(WrongCommandLine(text));
    let measures: Vec<&str> = report.measures().iter().map(|it| it.name).collect();
    let is_number = |name: &str| rows.column(name).is_ok_and(|it| it.dtype().is_primitive_numeric());
    let measure = sort.or_else(|| measures.iter().copied().find(|it| is_number(it)));
    let Some(measure) = measure.filter(|it| measures.contains(it) && is_number(it)) else {
        return Err(wrong(match sort {
            Some(column) => format!("{column} is no number to draw"),
            None => format!("report {} has no numbers to draw", report.name),
        }));
    };
    let names = rows.get_column_names();
    let dimensions: Vec<&str> = names.iter().map(|it| it.as_str()).take_while(|it| !measures.contains(it)).collect();
    Ok(Chart::of(rows, &dimensions, measure)?)
}

/// Which cost is asked for.
pub fn cost(asked: cli::Cost) -> Cost {
    match asked {
        cli::Cost::Auto => Cost::Auto,
        cli::Cost::Reported => Cost::Reported,
        cli::Cost::Computed => Cost::Computed,
    }
}

/// The rows that filters leave.
pub fn scope(filters: Filters) -> Scope {
    let system = || jiff::tz::TimeZone::system().iana_name().unwrap_or("UTC").to_owned();
    let named = [
        ("runtime", filters.runtime),
        ("model", filters.model),
        ("project", filters.project),
        ("session", filters.session),
        ("status", filters.status),
    ];
    let named = named.into_iter().filter_map(|(name, it)| Some((name.to_owned(), it?)));
    let labels = filters.labels.iter().filter_map(|it| it.split_once('='));
    Scope {
        since: filters.since,
        until: filters.until,
        timezone: filters.timezone.unwrap_or_else(system),
        only: named.chain(labels.map(|(key, value)| (format!("label:{key}"), value.to_owned()))).collect(),
        now: jiff::Timestamp::now(),
    }
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
pub fn wrong(error: Error) -> anyhow::Error {
    match error {
        Error::Polars(error) => error.into(),
        Error::Query(error) => error.into(),
        other => WrongCommandLine(other.to_string()).into(),
    }
}
