//! Compares two cohorts of sessions.

use agentlogs::analysis::compare::{Compared, Comparison, TABLES, compare};
use agentlogs::analysis::outcomes::Unjudged;
use agentlogs::analysis::present::{Currency, Numbers, Roles};
use agentlogs::analysis::reports::{CostBasis, Scope, Spending};
use polars::prelude::*;

use super::filters::{cohort, held_out};
use super::notes::{Note, of_lines, of_sessions, of_tasks};
use super::{by, tasks};
use crate::cli::args::Compare;
use crate::cli::commands::output::{Layout, numbers, print, state_currency};
use crate::cli::commands::resolve::{report_error, state_empty, state_left_out, state_lower_bound, state_unjudged};
use crate::cli::commands::source::some_tables;
use crate::cli::commands::{Outcome, WrongCommandLine};
use crate::cli::settings::Settings;

pub fn run(args: Compare, settings: &Settings) -> anyhow::Result<Outcome> {
    if let Some(dimension) = args.by.clone() {
        return by::run(args, &dimension, settings);
    }
    let of = |texts: &[String], flag: &str| {
        let found = cohort(texts, args.timezone.clone(), settings);
        let found = found.map_err(|error| WrongCommandLine(format!("{flag}: {error}")))?;
        Ok::<_, WrongCommandLine>(Scope { undated: args.undated.map(Into::into), ..held_out(found, args.held_out) })
    };
    let (a, b) = (of(&args.a, "--a")?, of(&args.b, "--b")?);
    let numbers = numbers(args.printed, settings);
    let is_for_people = numbers.is_for_people;
    let mut tables = TABLES.to_vec();
    tables.extend(a.tables().chain(b.tables()));
    let opened = some_tables(args.source, settings, &tables)?;
    for (scope, prefix) in [(&a, "a: "), (&b, "b: ")] {
        state_empty(prefix, &opened, scope);
    }
    let unjudged = Unjudged::from(args.unjudged);
    let found = compare(&opened.frames, &a, &b, unjudged).map_err(report_error)?;
    if args.tasks {
        tasks::print_tasks(&found.changes, args.printed, args.printed.wide || !is_for_people)?;
        found.tasks.iter().flat_map(|matched| of_tasks(*matched)).for_each(|note| note.print());
        return Ok(Outcome::Done);
    }
    let roles = Roles { names: Some(1), main: Some("difference"), also: &["result"], ..Roles::default() };
    let rows = table(&found, numbers, args.printed.wide)?;
    print(&rows, args.printed, Layout { roles, ..Layout::default() })?;
    if is_for_people {
        state_currency(settings);
        state_lower_bound("a: ", &opened, &a, CostBasis::Auto, Spending::Sessions, settings.shown_currency())?;
        state_lower_bound("b: ", &opened, &b, CostBasis::Auto, Spending::Sessions, settings.shown_currency())?;
    }
    state_results(&found, numbers.currency);
    if found.is_judged() {
        for (prefix, judged) in ["a: ", "b: "].into_iter().zip(found.judged) {
            state_unjudged(prefix, &opened, judged, unjudged);
        }
    }
    for (cohort, left_out) in ["a", "b"].into_iter().zip(&found.left_out) {
        state_left_out(&format!("{cohort}: "), left_out, "session", "start", numbers.currency);
    }
    Ok(Outcome::Done)
}

/// A row per measure.
fn table(found: &Comparison, numbers: Numbers, is_wide: bool) -> PolarsResult<DataFrame> {
    let lines = &found.lines;
    let is_for_people = numbers.is_for_people;
    let values = |of: Number| lines.iter().map(move |line| (line.measure, of(line)));
    let counts = |of: fn(&Compared) -> Option<u64>, name: &'static str| {
        let counts = lines.iter().map(|line| of(line).map(|count| i64::try_from(count).unwrap_or(i64::MAX)));
        Column::new(name.into(), counts.collect::<Vec<_>>())
    };
    let mut columns = vec![
        Column::new("measure".into(), lines.iter().map(|it| numbers.currency.name_of(it.measure)).collect::<Vec<_>>()),
        numbers.column("a", values(|it| it.a)),
        numbers.column("b", values(|it| it.b)),
        numbers.differences("difference", values(Compared::difference)),
        numbers.differences("low", values(|it| it.interval.map(|(low, _)| low))),
        numbers.differences("high", values(|it| it.interval.map(|(_, high)| high))),
        Column::new("result".into(), lines.iter().map(|it| it.result).collect::<Vec<_>>()),
        Column::new("test".into(), lines.iter().map(|it| it.test).collect::<Vec<_>>()),
        counts(|it| Some(it.a_sessions as u64), "a_sessions"),
        counts(|it| Some(it.b_sessions as u64), "b_sessions"),
    ];
    if !is_for_people || found.tasks.is_some() {
        columns.push(counts(|it| it.pairs.map(|pairs| pairs as u64), "pairs"));
        let digits = if is_for_people { 1e4 } else { 1e10 };
        let rounded = |value: f64| (value * digits).round() / digits;
        for (name, of) in P_VALUES {
            let p_values = lines.iter().map(|it| of(it).map(rounded)).collect::<Vec<_>>();
            columns.push(Column::new(name.into(), p_values));
        }
    }
    if !is_for_people || is_wide {
        columns.push(numbers.differences("detectable", values(|it| it.detectable)));
        columns.push(counts(|it| it.needed, "needed"));
    }
    DataFrame::new(lines.len(), columns)
}

/// Prints what a reader of the rows has to know about the sessions, tasks and tests.
fn state_results(found: &Comparison, currency: Currency) {
    of_sessions(found).iter().for_each(Note::print);
    tasks::state_changes(&found.changes);
    of_lines(&found.lines, currency).iter().for_each(Note::print);
}

/// Reads a number of a line.
type Number = fn(&Compared) -> Option<f64>;

/// The columns of p-values.
const P_VALUES: [(&str, Number); 2] = [("p_value", |it| it.p_value), ("p_adjusted", |it| it.p_adjusted)];
