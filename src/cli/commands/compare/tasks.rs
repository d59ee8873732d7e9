//! `compare --tasks`: the tasks that were fixed, broke, are flaky or stayed.

use agentlogs::analysis::compare::{Change, Side, TaskChange};
use agentlogs::analysis::present::{Roles, counted};
use polars::prelude::*;

use crate::cli::args::Printed;
use crate::cli::commands::output::{Layout, print, say};

/// The tasks of one kind that a line names.
const MAX_NAMED: usize = 5;

/// Prints all tasks.
pub(super) fn print_tasks(tasks: &[TaskChange], printed: Printed, is_wide: bool) -> anyhow::Result<()> {
    let counts = |name: &str, of: fn(&TaskChange) -> usize| {
        let counts = tasks.iter().map(|task| i64::try_from(of(task)).unwrap_or(i64::MAX));
        Column::new(name.into(), counts.collect::<Vec<_>>())
    };
    let numbers = |name: &str, of: fn(&TaskChange) -> Option<f64>| {
        Column::new(name.into(), tasks.iter().map(of).collect::<Vec<_>>())
    };
    let whole = |name: &str, of: fn(&TaskChange) -> Option<f64>| {
        #[expect(clippy::cast_possible_truncation, reason = "a mean of tokens")]
        let whole = tasks.iter().map(|task| of(task).map(|mean| mean.round() as i64));
        Column::new(name.into(), whole.collect::<Vec<_>>())
    };
    let mut columns = vec![
        Column::new("task".into(), tasks.iter().map(|it| it.task.as_str()).collect::<Vec<_>>()),
        Column::new("change".into(), tasks.iter().map(|it| it.change.as_str()).collect::<Vec<_>>()),
        counts("a_passed", |it| it.a.passed),
        counts("a_trials", |it| it.a.trials),
        counts("b_passed", |it| it.b.passed),
        counts("b_trials", |it| it.b.trials),
        numbers("a_cost_usd", |it| it.a.cost_usd),
        numbers("b_cost_usd", |it| it.b.cost_usd),
    ];
    if is_wide {
        columns.extend([
            whole("a_tokens", |it| it.a.tokens),
            whole("b_tokens", |it| it.b.tokens),
            numbers("a_variation", |it| it.a.tokens_cv),
            numbers("b_variation", |it| it.b.tokens_cv),
            numbers("a_worst_over_best", |it| it.a.worst_over_best),
            numbers("b_worst_over_best", |it| it.b.worst_over_best),
        ]);
    }
    let roles = Roles { names: Some(1), main: Some("change"), ..Roles::default() };
    let layout = Layout { roles, is_long: true, empty: Some("no task has a judged trial"), ..Layout::default() };
    print(&DataFrame::new(tasks.len(), columns)?, printed, layout)
}

/// Prints how many tasks there are of each kind, and the names of those that changed.
pub(super) fn state_changes(tasks: &[TaskChange]) {
    let of = |change: Change| tasks.iter().filter(move |task| task.change == change);
    let kinds = [Change::Fixed, Change::Broke, Change::Flaky, Change::StayedPassed, Change::StayedFailed];
    if kinds.iter().all(|kind| of(*kind).next().is_none()) {
        return;
    }
    let counts: Vec<String> = kinds.iter().map(|kind| format!("{} {}", of(*kind).count(), word(*kind))).collect();
    say(&format!("tasks: {}; --tasks lists them", counts.join(", ")));
    for kind in [Change::Broke, Change::Fixed, Change::Flaky] {
        let all: Vec<String> = of(kind).map(|task| named(task, kind)).collect();
        if all.is_empty() {
            continue;
        }
        let more = all.len().saturating_sub(MAX_NAMED);
        let more = if more == 0 { String::new() } else { format!(" and {} more", counted(more, "task")) };
        let named = all.get(..MAX_NAMED.min(all.len())).unwrap_or_default().join(", ");
        say(&format!("  {}: {named}{more}", word(kind)));
    }
}

const fn word(change: Change) -> &'static str {
    match change {
        Change::StayedPassed => "passed in both",
        Change::StayedFailed => "failed in both",
        other => other.as_str(),
    }
}

/// A task; if it is flaky, with how many of its trials passed.
fn named(task: &TaskChange, kind: Change) -> String {
    let share = |side: Side| format!("{}/{}", side.passed, side.trials);
    if kind == Change::Flaky {
        format!("{} ({} to {})", task.task, share(task.a), share(task.b))
    } else {
        task.task.clone()
    }
}
