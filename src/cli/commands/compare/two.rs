//! Compares two cohorts of sessions.

use agentlogs::analysis::compare::{Compared, Comparison, SIGNIFICANCE, TABLES, compare, has_few_pairs};
use agentlogs::analysis::outcomes::{Tasks, Unjudged};
use agentlogs::analysis::present::{self, Numbers, Roles};
use agentlogs::analysis::reports::{CostBasis, Scope, Spending};
use polars::prelude::*;

use super::filters::{cohort, held_out};
use super::{by, tasks};
use crate::cli::args::Compare;
use crate::cli::commands::output::{Layout, complain, numbers, print, say, state_currency};
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
        if let Some(matched) = found.tasks {
            state_tasks(matched);
        }
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
    state_results(&found);
    if found.judged.iter().any(|judged| judged.trials > judged.unjudged) {
        for (prefix, judged) in ["a: ", "b: "].into_iter().zip(found.judged) {
            state_unjudged(prefix, &opened, judged, unjudged);
        }
    }
    for (cohort, left_out) in ["a", "b"].into_iter().zip(&found.left_out) {
        state_left_out(&format!("{cohort}: "), left_out, "session", "start");
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
fn state_results(found: &Comparison) {
    if found.shared > 0 {
        say(&format!("in both cohorts: {}", present::counted(found.shared, "session")));
    }
    if let Some(tasks) = found.tasks {
        state_tasks(tasks);
    }
    tasks::state_changes(&found.changes);
    found.lines.iter().for_each(state_disagreement);
    state_correction(&found.lines);
    state_power(&found.lines);
}

/// Reads a number of a line.
type Number = fn(&Compared) -> Option<f64>;

/// The columns of p-values.
const P_VALUES: [(&str, Number); 2] = [("p_value", |it| it.p_value), ("p_adjusted", |it| it.p_adjusted)];

/// Prints which results are no longer more than chance once it counts that several lines are tested.
fn state_correction(lines: &[Compared]) {
    let is_found = |line: &&Compared| matches!(line.result, Some("higher" | "lower")) && line.test.is_some();
    let remains = |line: &&Compared| line.p_adjusted.is_some_and(|p_value| p_value < SIGNIFICANCE);
    let tested = lines.iter().filter(|line| line.p_adjusted.is_some()).count();
    let found: Vec<&Compared> = lines.iter().filter(is_found).collect();
    if found.is_empty() {
        return;
    }
    let names = |kept: bool| {
        let names = found.iter().filter(|line| remains(line) == kept).map(|line| line.measure);
        names.collect::<Vec<_>>().join(", ")
    };
    let (kept, lost) = (names(true), names(false));
    if !lost.is_empty() {
        let kept = if kept.is_empty() { String::new() } else { format!("; those of {kept} are more") };
        say(&format!(
            "{tested} lines are tested, of which some differ by chance: by Holm's correction, the differences of {lost} can be chance{kept}"
        ));
    }
}

/// Prints which difference of the main measure is found, if it is inconclusive.
fn state_power(lines: &[Compared]) {
    const MAIN: [&str; 3] = ["paired_pass_rate", "pass_rate", "cost_per_session_usd"];
    let main = MAIN.iter().find_map(|name| lines.iter().find(|line| line.measure == *name && line.test.is_some()));
    let Some((main, least)) = main.and_then(|line| Some((line, line.detectable?))) else { return };
    if main.result != Some("inconclusive") || least <= 0.0 {
        return;
    }
    let least = present::in_points(&present::measured(main.measure, least));
    let things = if main.pairs.is_some() { "tasks" } else { "sessions" };
    let needed = main.needed.filter(|_| main.difference() != Some(0.0));
    let needed = needed.map_or_else(String::new, |count| {
        format!("; the observed difference needs about {} {things} in each cohort", present::grouped(count))
    });
    say(&format!("{}: with a power of 80 %, only differences from {least} on are found here{needed}", main.measure));
}

/// Prints which test decided a line if the interval alone would lead to another result.
fn state_disagreement(line: &Compared) {
    if !line.is_of_mcnemar() {
        return;
    }
    let (Some((low, high)), Some(p_value), Some(result)) = (line.interval, line.p_value, line.result) else { return };
    let excludes_0 = low > 0.0 || high < 0.0;
    if excludes_0 == (result == "inconclusive") {
        let contains = if excludes_0 { "does not contain" } else { "contains" };
        say(&format!(
            "{}: {result} by McNemar's test (p = {p_value:.3}), which compares how many tasks pass in one cohort only; the interval \
             {contains} 0",
            line.measure
        ));
    }
}

/// Prints how the tasks of both cohorts match.
fn state_tasks(tasks: Tasks) {
    let Tasks { both, only_a, only_b } = tasks;
    if both == 0 {
        complain(format_args!("no task is judged in both cohorts: trials are compared without pairs"));
        return;
    }
    say(&format!("trials are paired by task: {}", present::counted(both, "task")));
    if only_a + only_b > 0 {
        complain(format_args!(
            "the tasks differ: {} only in a and {} only in b are not compared in pairs, and lines without pairs can differ for this reason \
             alone",
            present::counted(only_a, "task"),
            present::counted(only_b, "task")
        ));
    }
    if has_few_pairs(tasks) {
        complain(format_args!("too few pairs for an interval: {}", present::grouped(both)));
    }
}
