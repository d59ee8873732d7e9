//! `agentlogs compare`: compares two cohorts of sessions.

use agentlogs::analysis::compare::{Compared, compare, has_few_pairs};
use agentlogs::analysis::outcomes::Tasks;
use agentlogs::analysis::present::{self, Roles};
use agentlogs::analysis::reports::{DIMENSIONS, Scope};
use agentlogs::store::query::near;
use polars::prelude::*;

use super::output::{Layout, complain, is_human, print, say, state_currency};
use super::resolve::{
    report_error, scope, state_left_out, state_lower_bound, state_unjudged, state_unmatched, undated, unjudged,
};
use super::source::some_tables;
use super::{Outcome, WrongCommandLine};
use crate::cli::args::{Compare, Filters, Format};
use crate::cli::settings::Settings;

pub fn run(args: Compare, settings: &Settings) -> anyhow::Result<Outcome> {
    let of = |texts: &[String], flag: &str| {
        let found = cohort(texts, args.timezone.clone(), settings);
        let found = found.map_err(|error| WrongCommandLine(format!("{flag}: {error}")))?;
        Ok::<_, WrongCommandLine>(Scope { undated: args.undated.map(undated), ..found })
    };
    let (a, b) = (of(&args.a, "--a")?, of(&args.b, "--b")?);
    let is_for_people = matches!(args.printed.format, Format::Table | Format::Markdown);
    let opened = some_tables(args.source, settings, &["sessions", "verdicts"])?;
    for (scope, prefix) in [(&a, "a: "), (&b, "b: ")] {
        state_unmatched(prefix, &opened.frames, scope);
    }
    let unjudged = unjudged(args.unjudged);
    let found = compare(&opened.frames, &a, &b, unjudged).map_err(report_error)?;
    let lines = &found.lines;
    let is_human = is_human(args.printed);
    let currency = if is_for_people { settings.shown_currency() } else { present::Currency::default() };
    let numbers = |of: &dyn Fn(&Compared) -> Option<f64>, name: &'static str, is_difference: bool| {
        let column: Column = if is_for_people {
            // Each line has its own unit.
            let text = |line: &Compared| {
                let value = of(line)?;
                let text = if is_human {
                    present::human(line.measure, value, currency)
                } else {
                    present::measured(line.measure, currency.value_of(line.measure, value))
                };
                // A difference of shares is not a share of something.
                Some(if is_difference { text.replace(" %", " points") } else { text })
            };
            let texts = lines.iter().map(text);
            let texts: Vec<Option<String>> = texts.collect();
            let width = texts.iter().flatten().map(|text| text.chars().count()).max().unwrap_or_default();
            let texts = texts.into_iter().map(|text| text.map(|text| format!("{text:>width$}")));
            Column::new(name.into(), texts.collect::<Vec<_>>())
        } else {
            // Rounded to ten digits, as in reports.
            let rounded = |value: f64| (value * 1e10).round() / 1e10;
            Column::new(name.into(), lines.iter().map(|line| of(line).map(rounded)).collect::<Vec<_>>())
        };
        column
    };
    let counts = |of: fn(&Compared) -> usize, name: &'static str| {
        Column::new(
            name.into(),
            lines.iter().map(|line| i64::try_from(of(line)).unwrap_or(i64::MAX)).collect::<Vec<_>>(),
        )
    };
    let mut columns = vec![
        Column::new("measure".into(), lines.iter().map(|it| currency.name_of(it.measure)).collect::<Vec<_>>()),
        numbers(&|it| it.a, "a", false),
        numbers(&|it| it.b, "b", false),
        numbers(&|it| it.difference(), "difference", true),
        numbers(&|it| it.interval.map(|(low, _)| low), "low", true),
        numbers(&|it| it.interval.map(|(_, high)| high), "high", true),
        Column::new("result".into(), lines.iter().map(|it| it.result).collect::<Vec<_>>()),
        Column::new("test".into(), lines.iter().map(|it| it.test).collect::<Vec<_>>()),
        counts(|it| it.a_sessions, "a_sessions"),
        counts(|it| it.b_sessions, "b_sessions"),
    ];
    if !is_for_people || found.tasks.is_some() {
        let pairs = lines.iter().map(|it| it.pairs.and_then(|pairs| i64::try_from(pairs).ok()));
        columns.push(Column::new("pairs".into(), pairs.collect::<Vec<_>>()));
        let digits = if is_for_people { 1e4 } else { 1e10 };
        let rounded = |value: f64| (value * digits).round() / digits;
        let p_values = lines.iter().map(|it| it.p_value.map(rounded)).collect::<Vec<_>>();
        columns.push(Column::new("p_value".into(), p_values));
    }
    let roles = Roles { names: Some(1), main: Some("difference"), sentences: &[] };
    print(&DataFrame::new(lines.len(), columns)?, args.printed, Layout { roles, ..Layout::default() })?;
    if is_for_people {
        state_currency(settings);
    }
    if is_for_people {
        state_lower_bound("a: ", &opened.frames, &a, settings)?;
        state_lower_bound("b: ", &opened.frames, &b, settings)?;
    }
    if found.shared > 0 {
        say(&format!("in both cohorts: {}", present::counted(found.shared, "session")));
    }
    if let Some(tasks) = found.tasks {
        state_tasks(tasks);
    }
    lines.iter().for_each(state_disagreement);
    if found.judged.iter().any(|judged| judged.trials > judged.unjudged) {
        for (prefix, judged) in ["a: ", "b: "].into_iter().zip(found.judged) {
            state_unjudged(prefix, judged, unjudged);
        }
    }
    for (cohort, left_out) in ["a", "b"].into_iter().zip(&found.left_out) {
        state_left_out(&format!("{cohort}: "), left_out, "session", "start");
    }
    Ok(Outcome::Done)
}

/// Prints which test decided a line if the interval alone would lead to another result.
fn state_disagreement(line: &Compared) {
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
            "the tasks differ: {} only in a and {} only in b are not compared",
            present::counted(only_a, "task"),
            present::counted(only_b, "task")
        ));
    }
    if has_few_pairs(tasks) {
        complain(format_args!("too few pairs for an interval: {}", present::grouped(both)));
    }
}

/// Parses filters such as `model=claude-*,since=30d`.
fn cohort(texts: &[String], timezone: Option<String>, settings: &Settings) -> Result<Scope, String> {
    const TIMES: [&str; 3] = ["since", "until", "last"];
    let names = || TIMES.into_iter().chain(DIMENSIONS.iter().map(|dimension| dimension.name));
    let mut filters = Filters { timezone, ..Filters::default() };
    let mut only = Vec::new();
    for text in texts {
        for filter in split(text) {
            let Some((name, value)) = filter.split_once('=') else {
                return Err(format!("{filter:?} is not a filter; write NAME=VALUE, such as model=claude-opus-*"));
            };
            let name = name.trim();
            match name {
                "since" | "last" => {
                    filters.since = Some(value.parse().map_err(|error| format!("{value:?} is {error}"))?);
                }
                "until" => filters.until = Some(value.parse().map_err(|error| format!("{value:?} is {error}"))?),
                // As the option --label: label=experiment=base is label:experiment=base.
                "label" => match value.split_once('=') {
                    Some((key, value)) => only.push((format!("label:{key}"), value.to_owned())),
                    None => return Err(format!("{filter:?} is not a label; write label:KEY=VALUE")),
                },
                _ if name.starts_with("label:") || names().any(|known| known == name) => {
                    only.push((name.to_owned(), value.to_owned()));
                }
                _ => {
                    let near = near(name, names()).map_or_else(String::new, |near| format!("; did you mean {near:?}?"));
                    return Err(format!("no filter {name:?}{near}"));
                }
            }
        }
    }
    let mut scope = scope(filters, settings);
    scope.only = only;
    Ok(scope)
}

/// Splits filters at commas. A part without `=` belongs to the value before it.
fn split(text: &str) -> Vec<String> {
    let mut filters: Vec<String> = Vec::new();
    for part in text.split(',') {
        match filters.last_mut() {
            Some(last) if !part.contains('=') => {
                last.push(',');
                last.push_str(part);
            }
            _ => filters.push(part.to_owned()),
        }
    }
    filters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_in_one_word() {
        let asked = |text: &str| {
            cohort(&[text.to_owned()], None, &Settings::default())
                .map(|it| (it.only, it.since.is_some(), it.until.is_some()))
        };
        let only = |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        assert_eq!(asked("model=gpt-5*"), Ok((only(&[("model", "gpt-5*")]), false, false)));
        assert_eq!(
            asked("label:task=a,b,label=x=y=z,since=2026-10-01,until=2w"),
            Ok((only(&[("label:task", "a,b"), ("label:x", "y=z")]), true, true))
        );
        assert_eq!(asked("modle=x").unwrap_err(), "no filter \"modle\"; did you mean \"model\"?");
        assert!(asked("gpt-5").unwrap_err().contains("NAME=VALUE"));
        assert!(asked("since=soon").unwrap_err().contains("is not a time"));
    }
}
