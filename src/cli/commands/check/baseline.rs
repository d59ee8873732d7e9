//! `check --baseline`: fails if sessions became worse than those of a period or of another archive.

use std::path::Path;

use agentlogs::analysis::compare::{BaselineLine, TABLES, compare_with_baseline};
use agentlogs::analysis::present::{Numbers, Roles, counted};
use agentlogs::analysis::reports::{Bound, Error, Scope};
use polars::prelude::*;

use crate::cli::args::{ArchiveDirectory, Check, DataSource, Filters};
use crate::cli::commands::output::{Layout, numbers, print, say, state_currency};
use crate::cli::commands::resolve::{report_error, scope, state_left_out, state_period, state_unmatched};
use crate::cli::commands::source::some_tables;
use crate::cli::commands::{Outcome, WrongCommandLine};
use crate::cli::settings::Settings;

/// Where the sessions are with which others are compared.
enum Baseline {
    /// An archive or a lake.
    Archive(String),
    /// A period, by its first and its last bound.
    Period(Bound, Bound),
}

impl Baseline {
    /// A period such as `2026-10` or `2026-10-01..2026-10-14`, else the path of an archive or the address of a lake.
    fn parse(text: &str) -> Result<Self, WrongCommandLine> {
        let bound = |text: &str| text.trim().parse::<Bound>();
        let (first, last) = text.split_once("..").unwrap_or((text, text));
        match (bound(first), bound(last)) {
            (Ok(first), Ok(last)) => Ok(Self::Period(first, last)),
            _ if Path::new(text).exists() || text.contains("://") => Ok(Self::Archive(text.to_owned())),
            _ => Err(WrongCommandLine(format!(
                "--baseline: {text:?} is neither an archive nor a period such as 2026-10, 2026-W41 or 2026-10-01..2026-10-14"
            ))),
        }
    }

    /// An error of the comparison. The times of the baseline are not options.
    fn error(&self, error: Error) -> anyhow::Error {
        match (self, error) {
            (Self::Period(earliest, latest), Error::EmptyPeriod { since, first, until, end })
                if since == earliest.to_string() && until == latest.to_string() =>
            {
                let period = if since == until { since.clone() } else { format!("{since}..{until}") };
                WrongCommandLine(format!(
                    "--baseline {period}: no time is between {since} ({first}) and {until} ({end}); write a period such as 2026-10 or 14d..7d"
                ))
                .into()
            }
            (_, error) => report_error(error),
        }
    }

    /// The filters of the command line, in the period of the baseline; in another archive without bounds of time.
    fn scope(&self, filters: Filters, settings: &Settings) -> Scope {
        let (since, until) = match self {
            Self::Archive(_) => (None, None),
            Self::Period(first, last) => (Some(*first), Some(*last)),
        };
        scope(Filters { since, until, last: None, ..filters }, settings)
    }
}

pub(super) fn run(args: Check, baseline: &str, settings: &Settings) -> anyhow::Result<Outcome> {
    let baseline = Baseline::parse(baseline)?;
    let sessions = scope(args.filters.clone(), settings);
    let tables: Vec<&str> = TABLES.iter().copied().chain(sessions.tables()).collect();
    let opened = some_tables(args.source, settings, &tables)?;
    let other = match &baseline {
        Baseline::Archive(archive) => {
            let archive = ArchiveDirectory { archive: Some(archive.into()) };
            Some(some_tables(DataSource { archive, logs: Vec::new() }, settings, &tables)?)
        }
        Baseline::Period(..) => None,
    };
    let of_baseline = baseline.scope(args.filters, settings);
    let matches_nothing = state_unmatched("", &opened, &sessions);
    if !matches_nothing {
        state_period("", &opened, &sessions);
    }
    let frames = other.as_ref().map_or(&opened.frames, |other| &other.frames);
    let found = compare_with_baseline((frames, &of_baseline), (&opened.frames, &sessions));
    let found = found.map_err(|error| baseline.error(error));
    let (lines, [left_out_of_baseline, left_out]) = found?;
    let numbers = numbers(args.printed, settings);
    let roles = Roles { names: Some(1), main: Some("value"), also: &["result"], ..Roles::default() };
    print(&frame(&lines, numbers)?, args.printed, Layout { roles, ..Layout::default() })?;
    if numbers.is_for_people {
        state_currency(settings);
    }
    state_left_out("baseline: ", &left_out_of_baseline, "session", "start", numbers.currency);
    state_left_out("", &left_out, "session", "start", numbers.currency);
    let worse = lines.iter().filter(|line| line.is_worse()).count();
    let tested = lines.iter().filter(|line| line.p_adjusted.is_some()).count();
    let has_baseline = lines.iter().any(|line| line.baseline_sessions > 0);
    if !has_baseline {
        say("the baseline has no session in scope: the filters other than those of time apply to it, too");
    } else if tested == 0 {
        say("nothing is tested: a test needs 10 sessions of the baseline and 10 others");
    } else {
        say(&format!("{worse} of {} became worse", counted(tested, "tested measure")));
    }
    Ok(match (worse, (matches_nothing || !has_baseline) && !args.allow_empty) {
        (1.., _) => Outcome::Exceeded,
        (0, true) => Outcome::NothingMatched,
        (0, false) => Outcome::Done,
    })
}

fn frame(lines: &[BaselineLine], numbers: Numbers) -> PolarsResult<DataFrame> {
    let values = |of: fn(&BaselineLine) -> Option<f64>| lines.iter().map(move |line| (line.measure, of(line)));
    let counts = |name: &str, of: fn(&BaselineLine) -> usize| {
        let counts = lines.iter().map(|line| i64::try_from(of(line)).unwrap_or(i64::MAX));
        Column::new(name.into(), counts.collect::<Vec<_>>())
    };
    let p_values = |name: &str, of: fn(&BaselineLine) -> Option<f64>| {
        let rounded = lines.iter().map(|line| of(line).map(|value| (value * 1e4).round() / 1e4));
        Column::new(name.into(), rounded.collect::<Vec<_>>())
    };
    let names = lines.iter().map(|line| numbers.currency.name_of(line.measure)).collect::<Vec<_>>();
    DataFrame::new(
        lines.len(),
        vec![
            Column::new("measure".into(), names),
            numbers.column("baseline", values(|line| line.baseline)),
            numbers.column("value", values(|line| line.value)),
            Column::new("result".into(), lines.iter().map(BaselineLine::result).collect::<Vec<_>>()),
            p_values("p_value", |line| line.p_value),
            p_values("p_adjusted", |line| line.p_adjusted),
            counts("baseline_sessions", |line| line.baseline_sessions),
            counts("sessions", |line| line.sessions),
        ],
    )
}
