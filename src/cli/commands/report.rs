//! `agentlogs report`: prints a report as a table or a chart.

use std::io::Write;
use std::sync::Arc;

use agentlogs::analysis::export::Access;
use agentlogs::analysis::present::chart::Chart;
use agentlogs::analysis::present::{Currency, ReportStyle, Roles, are, in_local_time};
use agentlogs::analysis::reports::{
    self, Answer, Dimension, LeftOut, Options, PriceAs, Report, for_people, tree_for_people,
};
use agentlogs::analysis::shipped::has_history;
use agentlogs::store::frames::sessions;
use polars::prelude::*;

use super::output::{
    Layout, STDOUT, complain, is_on_terminal, numbers, print, row_limit, say, state_currency, terminal_width,
    write_page,
};
use super::resolve::{
    empty_report_reason, report_error, scope, state_left_out, state_lower_bound, state_other_users, state_unjudged,
    state_unknown_labels, state_unmatched_turns,
};
use super::source::{Opened, catalog, some_tables};
use super::{Outcome, WrongCommandLine};
use crate::cli::args;
use crate::cli::settings::Settings;
use crate::cli::terminal;

pub fn run(args: args::Report, settings: &Settings) -> anyhow::Result<Outcome> {
    let report = reports::find(&args.name).map_err(report_error)?;
    let only_current = !args.active && wants_current(report, &args);
    let is_svg_printed = args.svg.as_ref().is_some_and(|path| path.as_os_str() == STDOUT);
    if is_svg_printed && (args.chart || args.printed.format != args::Format::Table) {
        let other = if args.chart { "--chart" } else { "--format" };
        return Err(WrongCommandLine(format!("--svg - and {other} both write to standard output")).into());
    }
    let mut options = resolve(report, &args, settings)?;
    options.active |= only_current;
    let opened = some_tables(args.source, settings, &report.tables_for(&options))?;
    let mut answer = report.run(&opened.frames, &options).map_err(report_error)?;
    let shows_current = only_current && answer.rows.height() > 0;
    if only_current && !shows_current {
        options.active = false;
        answer = report.run(&opened.frames, &options).map_err(report_error)?;
    }
    if args.chart || args.svg.is_some() {
        let chart = chart(report, &answer, options.order().map(|(column, _)| column))?;
        if let Some(path) = &args.svg {
            write_page(path, || Ok(Access::Umask), &chart.svg())?;
        }
        if args.chart {
            print_chart(&chart)?;
        }
        if args.chart || is_svg_printed {
            if let Some(reason) = reason_of_emptiness(report, &answer, &opened, &options) {
                complain(format_args!("{reason}"));
            }
            state(report, &answer.left_out, Currency::default());
            return Ok(Outcome::Done);
        }
    }
    let asked = Asked { report, options: &options, printed: args.printed };
    asked.print_table(&answer, &opened, settings)?;
    if shows_current {
        say("only the current windows; --limit 0 shows all");
    }
    asked.print_notes(&answer, &opened, settings)?;
    Ok(Outcome::Done)
}

/// The options of the library for those of the command line.
fn resolve(report: &Report, args: &args::Report, settings: &Settings) -> anyhow::Result<Options> {
    let needs_prices = args.price_as.is_some() || report.has_waste();
    // Those of the archive contain imported ones.
    let catalog = needs_prices.then(|| catalog(&args.source, settings)).transpose()?;
    let catalog = catalog.map(|catalog| Arc::new(catalog.into_owned()));
    let price_as = args.price_as.as_deref().zip(catalog.clone()).map(|(model, catalog)| PriceAs::new(model, catalog));
    let is_chart = args.chart || args.svg.is_some();
    let is_for_people = args.printed.is_for_people();
    let is_recurring = |name: &String| Dimension::find(name).is_some_and(Dimension::is_recurring);
    let is_by_recurring_time = matches!(args.by.as_slice(), [name] if is_recurring(name));
    Ok(Options {
        by: args.by.clone(),
        scope: scope(args.filters.clone(), settings),
        cost: args.cost.into(),
        sort: args.sort.clone(),
        // A chart shows all groups, and the hours of a day are few.
        limit: if is_chart || is_by_recurring_time { args.printed.limit } else { row_limit(args.printed) },
        newest_first: !is_chart && is_on_terminal(args.printed),
        total: is_for_people,
        active: args.active,
        k: args.k,
        unjudged: args.unjudged.into(),
        within: args.within.unwrap_or_default(),
        price_as: price_as.transpose().map_err(report_error)?,
        top: args.top,
        tree: args.tree,
        catalog,
        wide: args.printed.wide || !is_for_people,
    })
}

/// Prints a chart in the width of the terminal, or in 80 columns.
fn print_chart(chart: &Chart) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let width = terminal_width().unwrap_or(80).clamp(40, 240);
    let is_ascii = terminal::screen().is_some_and(|screen| screen.is_ascii);
    let text = if is_ascii { chart.text_in_ascii(width) } else { chart.text(width) };
    out.write_all(text.as_bytes())?;
    out.flush()?;
    let reasons =
        [(chart.unknown, "unknown"), (chart.undated, "without a time"), (chart.beyond, "more than a chart shows")];
    for (count, reason) in reasons.into_iter().filter(|(count, _)| *count > 0) {
        complain(format_args!("{} not drawn: {reason}", are(count, "value")));
    }
    Ok(())
}

/// What the user asked for.
struct Asked<'a> {
    report: &'a Report,
    options: &'a Options,
    printed: args::Printed,
}

impl Asked<'_> {
    fn print_table(&self, answer: &Answer, opened: &Opened, settings: &Settings) -> anyhow::Result<()> {
        let Self { report, options, printed } = *self;
        let total = answer.total.as_ref().filter(|_| answer.rows.height() + answer.more > 1);
        let (dimensions, currency) = (answer.dimensions, settings.shown_currency());
        let style = ReportStyle { dimensions, has_total: total.is_some(), currency };
        let empty = reason_of_emptiness(report, answer, opened, options);
        let rows = if printed.is_for_people() {
            let rows = if options.tree { &tree_for_people(&answer.rows, &opened.frames)? } else { &answer.rows };
            let rows = for_people(rows, dimensions, total, numbers(printed, settings))?;
            &in_local_time(&rows, &options.scope.zone().map_err(|error| report_error(error.into()))?)?
        } else {
            &answer.rows
        };
        let sorted = options.order().map(|(column, _)| column);
        let measures = || rows.get_column_names().into_iter().skip(dimensions).map(PlSmallStr::as_str);
        let first = || if options.tree { Some(sessions::INCLUSIVE_COST_USD) } else { measures().next() };
        let main = sorted.filter(|column| measures().any(|name| name == *column)).or_else(first);
        // Sessions of a tree are named by their id.
        let own = report.roles(dimensions);
        let names = if options.tree { Some(1) } else { own.names };
        let roles = Roles { names, main: main.filter(|_| dimensions > 0 || options.tree), ..own };
        let layout = Layout { roles, report: Some(style), is_long: true, more: answer.more, empty: empty.as_deref() };
        print(rows, printed, layout)
    }

    /// Prints what a reader of the rows has to know.
    fn print_notes(&self, answer: &Answer, opened: &Opened, settings: &Settings) -> anyhow::Result<()> {
        let Self { report, options, printed } = *self;
        state(report, &answer.left_out, numbers(printed, settings).currency);
        if answer.rows.height() > 0 {
            state_unknown_labels(opened, &options.by);
            // The windows of limits are rows whatever the filters match.
            if report.has_active() {
                state_unmatched_turns("", opened, &options.scope);
            }
        }
        if report.has_main_models() {
            state_other_users(opened, &options.scope);
        }
        if let Some(judged) = answer.judged {
            state_unjudged("", opened, judged, options.unjudged);
        }
        if report.needs_history() && !has_history(&opened.frames)? {
            let option = opened.archive_option();
            say(&format!("no repository was scanned: `agentlogs git scan{option}` reads their history"));
        }
        if !printed.is_for_people() {
            return Ok(());
        }
        if answer.has_opposite_means() {
            say(
                "where the means differ in the other direction than the result, a few sessions have far larger values: ranks are compared",
            );
        }
        if answer.has_carried_output() {
            say("the total leaves out output_carried: some requests need these results in their context");
        }
        if answer.compares_skills() {
            say("the pass rates are no experiment: sessions with and without a skill have different tasks");
        }
        if report.has_cost() || report.has_tokens() {
            let spending = report.spending();
            state_lower_bound("", opened, &options.scope, options.cost, spending, settings.shown_currency())?;
        }
        if report.has_cost() {
            opened.state_prices();
            state_currency(settings);
        }
        Ok(())
    }
}

/// Whether a person asks for windows of limits and names neither a period nor how many: the current ones are meant.
fn wants_current(report: &Report, args: &args::Report) -> bool {
    let (printed, filters) = (args.printed, &args.filters);
    let names_no_period = filters.start().is_none() && filters.until.is_none();
    let is_table = is_on_terminal(printed) && !args.chart && args.svg.is_none();
    report.has_active() && is_table && names_no_period && printed.limit.is_none() && !printed.wide
}

/// Why a report has no rows, if it has none.
fn reason_of_emptiness(report: &Report, answer: &Answer, opened: &Opened, options: &Options) -> Option<String> {
    (answer.rows.height() == 0).then(|| empty_report_reason(report, opened, options)).flatten()
}

/// Prints how many rows are left out as they have no time.
fn state(report: &Report, left_out: &LeftOut, currency: Currency) {
    if report.takes_undated() {
        state_left_out("", left_out, "row", "time", currency);
    } else if let Some(sentence) = report.stated(left_out, currency) {
        complain(format_args!("{sentence}"));
    }
}

/// A chart of the column to sort by, or of the first numeric measure.
fn chart(report: &Report, answer: &Answer, sort: Option<&str>) -> anyhow::Result<Chart> {
    let wrong = |text: String| anyhow::Error::from(WrongCommandLine(text));
    let measures: Vec<&str> = report.measures().iter().map(|it| it.name).collect();
    let rows = &answer.rows;
    let is_number = |name: &str| rows.column(name).is_ok_and(|column| column.dtype().is_primitive_numeric());
    let measure = sort.or_else(|| measures.iter().copied().find(|name| is_number(name)));
    let Some(measure) = measure.filter(|name| measures.contains(name) && is_number(name)) else {
        return Err(wrong(match sort {
            Some(column) => format!("{column} is not a number, and cannot be drawn"),
            None => format!("report {} has no numbers to draw", report.name),
        }));
    };
    let names = rows.get_column_names();
    let dimensions: Vec<&str> = names.iter().map(|name| name.as_str()).take(answer.dimensions).collect();
    Ok(Chart::of(rows, &dimensions, measure)?)
}
