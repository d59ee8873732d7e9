//! `agentlogs report`: the archive's rows grouped by dimensions.

use std::io::Write;

use agentlogs::analysis::chart::Chart;
use agentlogs::analysis::export::{Access, write_file};
use agentlogs::analysis::render;
use agentlogs::analysis::reports::{self, Answer, Cost, Error, LeftOut, Options, Scope, Undated};
use anyhow::Context;
use polars::prelude::*;

use super::{Outcome, WrongCommandLine, complain, print, say, tables, terminal_width};
use crate::cli::args::{self, Filters};

pub fn run(args: args::Report) -> anyhow::Result<Outcome> {
    let report = reports::find(&args.name).map_err(wrong)?;
    let is_for_people = matches!(args.printed.format, args::Format::Table | args::Format::Markdown);
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
        let chart = chart(report, &answer, options.sort.as_deref())?;
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
            state_left_out("", &answer.left_out, "row", "time");
            return Ok(Outcome::Done);
        }
    }
    let total = answer.total.filter(|_| answer.rows.height() > 1);
    let shown = render::Report {
        dimensions: answer.dimensions,
        has_total: total.is_some(),
        human: args.human,
        is_whole: args.wide,
    };
    let left_out = answer.left_out;
    let rows = if is_for_people { for_people(&answer.rows, answer.dimensions, total.as_ref())? } else { answer.rows };
    let hidden = print(&rows, args.printed, Some(shown))?;
    if !hidden.is_empty() {
        complain(format_args!("too narrow for {}; --format csv has all columns", hidden.join(", ")));
    }
    state_left_out("", &left_out, "row", "time");
    if let Some(prices) = prices {
        say(&prices);
    }
    Ok(Outcome::Done)
}

/// The rows as a chart: of the column that they are sorted by, or the first that measures something.
fn chart(report: &reports::Report, answer: &Answer, sort: Option<&str>) -> anyhow::Result<Chart> {
    let wrong = |text: String| anyhow::Error::from(WrongCommandLine(text));
    let measures: Vec<&str> = report.measures().iter().map(|it| it.name).collect();
    let rows = &answer.rows;
    let is_number = |name: &str| rows.column(name).is_ok_and(|it| it.dtype().is_primitive_numeric());
    let measure = sort.or_else(|| measures.iter().copied().find(|it| is_number(it)));
    let Some(measure) = measure.filter(|it| measures.contains(it) && is_number(it)) else {
        return Err(wrong(match sort {
            Some(column) => format!("{column} is no number to draw"),
            None => format!("report {} has no numbers to draw", report.name),
        }));
    };
    let names = rows.get_column_names();
    let dimensions: Vec<&str> = names.iter().map(|name| name.as_str()).take(answer.dimensions).collect();
    Ok(Chart::of(rows, &dimensions, measure)?)
}

/// Prints what is left out for want of a time, and the option that includes it.
pub fn state_left_out(prefix: &str, left_out: &LeftOut, thing: &str, lack: &str) {
    if let Some(sentence) = left_out.stated(thing, lack) {
        complain(format_args!("{prefix}{sentence}; --undated include adds them"));
    }
}

/// What happens to rows without a time.
pub fn undated(asked: args::Undated) -> Undated {
    match asked {
        args::Undated::Include => Undated::Include,
        args::Undated::Exclude => Undated::Exclude,
        args::Undated::Only => Undated::Only,
    }
}

/// Which cost is asked for.
pub fn cost(asked: args::Cost) -> Cost {
    match asked {
        args::Cost::Auto => Cost::Auto,
        args::Cost::Reported => Cost::Reported,
        args::Cost::Computed => Cost::Computed,
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
        undated: filters.undated.map(undated),
        timezone: filters.timezone.unwrap_or_else(system),
        only: named.chain(labels.map(|(key, value)| (format!("label:{key}"), value.to_owned()))).collect(),
        now: jiff::Timestamp::now(),
    }
}

/// A dimension's value as people read it: no group has a blank cell.
fn named(value: Option<&str>) -> &str {
    match value {
        None => "(unknown)",
        Some("") => "(empty)",
        Some(text) => text,
    }
}

/// The rows as people read them: dimensions without a value are named, and the sums over all groups are one more row.
fn for_people(rows: &DataFrame, dimensions: usize, total: Option<&DataFrame>) -> PolarsResult<DataFrame> {
    let mut columns: Vec<Column> = Vec::with_capacity(rows.width());
    for (index, column) in rows.columns().iter().take(dimensions).enumerate() {
        // A date and a word cannot be in one column: dates are shown as their text.
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
    DataFrame::new(rows.height() + usize::from(total.is_some()), columns)
}

/// All but what polars says is the fault of the command line.
pub fn wrong(error: Error) -> anyhow::Error {
    match error {
        Error::Polars(error) => error.into(),
        Error::Query(error) => error.into(),
        other => WrongCommandLine(other.to_string()).into(),
    }
}
