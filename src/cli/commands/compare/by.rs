//! `compare --by`: more than two cohorts.

use agentlogs::analysis::compare::{CohortLine, Cohorts, TABLES, compare_by};
use agentlogs::analysis::outcomes::Unjudged;
use agentlogs::analysis::present::{Roles, are, counted, named};
use agentlogs::analysis::reports::{Scope, tables_of_dimension};
use polars::prelude::*;

use super::filters::{cohort, held_out};
use crate::cli::args::Compare;
use crate::cli::commands::output::{Layout, complain, numbers, print, say, state_currency};
use crate::cli::commands::resolve::{
    empty_table_reason, report_error, state_left_out, state_unjudged, state_unknown_labels,
};
use crate::cli::commands::source::some_tables;
use crate::cli::commands::{Outcome, WrongCommandLine};
use crate::cli::settings::Settings;

pub(super) fn run(args: Compare, by: &str, settings: &Settings) -> anyhow::Result<Outcome> {
    let scope = cohort(&args.only, args.timezone.clone(), settings);
    let scope = scope.map_err(|error| WrongCommandLine(format!("--where: {error}")))?;
    let scope = held_out(scope, args.held_out);
    let scope = Scope { undated: args.undated.map(Into::into), ..scope };
    let mut tables = TABLES.to_vec();
    tables.extend(scope.tables().chain(tables_of_dimension(by).iter().copied()));
    let opened = some_tables(args.source, settings, &tables)?;
    let choice = Unjudged::from(args.unjudged);
    let found = compare_by(&opened.frames, &scope, by, choice).map_err(report_error)?;
    let numbers = numbers(args.printed, settings);
    let lines = &found.lines;
    let values = |of: fn(&CohortLine) -> Option<f64>| lines.iter().map(move |line| (line.measure, of(line)));
    let sessions = lines.iter().map(|line| i64::try_from(line.sessions).unwrap_or(i64::MAX)).collect::<Vec<_>>();
    let cohort_name = |name| if numbers.is_for_people { Some(named(name)) } else { name };
    let different = lines.iter().map(|line| Some(line.different_from.join(", ")).filter(|it| !it.is_empty()));
    let columns = vec![
        Column::new(
            "measure".into(),
            lines.iter().map(|line| numbers.currency.name_of(line.measure)).collect::<Vec<_>>(),
        ),
        Column::new(by.into(), lines.iter().map(|line| cohort_name(line.cohort.as_deref())).collect::<Vec<_>>()),
        numbers.column("value", values(|line| line.value)),
        numbers.column("low", values(|line| line.interval.map(|(low, _)| low))),
        numbers.column("high", values(|line| line.interval.map(|(_, high)| high))),
        Column::new("sessions".into(), sessions),
        Column::new("different_from".into(), different.collect::<Vec<_>>()),
    ];
    let roles =
        Roles { names: Some(2), main: Some("value"), also: &["different_from"], least: &["high"], ..Roles::default() };
    let empty = lines.is_empty().then(|| empty_table_reason(&opened, &scope)).flatten();
    let layout = Layout { roles, empty: empty.as_deref(), ..Layout::default() };
    print(&DataFrame::new(lines.len(), columns)?, args.printed, layout)?;
    if numbers.is_for_people {
        state_currency(settings);
    }
    state(&found);
    state_unknown_labels(&opened, &[by.to_owned()]);
    if found.judged.trials > found.judged.unjudged {
        state_unjudged("", &opened, found.judged, choice);
    }
    state_left_out("", &found.left_out, "session", "start", numbers.currency);
    Ok(Outcome::Done)
}

/// Prints what the lines do not contain.
fn state(found: &Cohorts) {
    if found.omitted > 0 {
        say(&format!("{} left out, with fewer sessions: --where selects", are(found.omitted, "cohort")));
    }
    if found.common_tasks < found.all_tasks {
        complain(format_args!(
            "the tasks differ: {} of {} are in all cohorts with verdicts, so that a difference can be one of the tasks; compare two cohorts with --a \
             and --b to pair them by task",
            found.common_tasks,
            counted(found.all_tasks, "task")
        ));
    }
}
