//! Resolves arguments that several commands share to the types of the library.

use std::path::PathBuf;

use agentlogs::analysis::outcomes::{Judged, Unjudged};
use agentlogs::analysis::present::Currency;
use agentlogs::analysis::reports::{
    CostBasis, Error, LeftOut, Options, Report, Scope, Spending, has_session, lower_bound, only_in_turns,
    outside_of_period, unknown_labels, unmatched, used_by_others,
};
use agentlogs::model::source::STDIN;

use super::WrongCommandLine;
use super::hints::with_options;
use super::output::{complain, say};
use super::source::Opened;
use crate::cli::args::Filters;
use crate::cli::settings::Settings;

/// Checks that at most one of the paths is standard input, which can be read once.
///
/// # Errors
/// When several are.
pub fn check_standard_input<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> anyhow::Result<()> {
    let named = paths.into_iter().filter(|path| path.as_os_str() == STDIN).count();
    if named > 1 {
        return Err(WrongCommandLine("standard input can be read only once: - is named twice".to_owned()).into());
    }
    Ok(())
}

/// Prints how many rows are left out as they have no time, and the option that includes them.
pub fn state_left_out(prefix: &str, left_out: &LeftOut, thing: &str, lack: &str, currency: Currency) {
    if let Some(sentence) = left_out.stated(thing, lack, currency) {
        complain(format_args!("{prefix}{sentence}; --undated include adds them"));
    }
}

/// Prints how many trials have no verdict, and what they count as.
pub fn state_unjudged(prefix: &str, opened: &Opened, judged: Judged, unjudged: Unjudged) {
    let Some(what) = judged.stated().map(|what| format!("{prefix}{what}")) else { return };
    say(&match unjudged {
        Unjudged::Failed => format!("{what}: --unjudged failed counts them as failed"),
        Unjudged::Apart if judged.unjudged == judged.trials => {
            let option = opened.archive_option();
            format!(
                "{what}: `agentlogs verdicts import{option}` imports verdicts, --unjudged failed counts them as failed"
            )
        }
        Unjudged::Apart => {
            format!("{what}: neither passed nor failed here; --unjudged failed counts them as failed, as Harbor does")
        }
    });
}

/// Which rows are included.
pub fn scope(filters: Filters, settings: &Settings) -> Scope {
    let named = filters.by_dimension().map(|(name, pattern)| (name.to_owned(), pattern.to_owned()));
    let labels = filters.labels.iter().filter_map(|label| label.split_once('='));
    let only = named.chain(labels.map(|(key, value)| (format!("label:{key}"), value.to_owned()))).collect();
    Scope {
        since: filters.start(),
        until: filters.until,
        undated: filters.undated.map(Into::into),
        timezone: filters.timezone.unwrap_or_else(|| settings.timezone.value.clone()),
        week_start: settings.week_start.value,
        only,
        now: filters.now.unwrap_or_else(jiff::Timestamp::now),
    }
}

/// Prints which part of the costs and tokens in scope is a lower bound, if there is one.
///
/// # Errors
/// When a filter names something that does not exist, or the tables cannot be read.
pub fn state_lower_bound(
    prefix: &str,
    opened: &Opened,
    scope: &Scope,
    cost: CostBasis,
    spending: Spending,
    currency: Currency,
) -> anyhow::Result<()> {
    let bound = lower_bound(&opened.frames, scope, cost, spending).map_err(report_error)?;
    if let Some(sentence) = bound.sentence(currency) {
        // A list of sessions with the same filters can lack sessions of which the scope has a part.
        let listed = if scope.is_everything() { "them" } else { "all such sessions" };
        let command = format!("agentlogs sessions --usage lower_bound{}", opened.options);
        say(&format!("{prefix}{sentence}; `{command}` lists {listed}"));
    }
    Ok(())
}

/// Prints how many more sessions used the model of a filter. Rows of sessions are filtered by their main model.
pub fn state_other_users(opened: &Opened, scope: &Scope) {
    state_reason(
        "",
        used_by_others(&opened.frames, scope)
            .ok()
            .flatten()
            .map(|reason| with_options(&reason, &opened.options))
            .as_deref(),
    );
}

/// Why there are no sessions: which filter matches none, with the most similar value, or that only responses match. `None` if that is
/// not the reason.
pub fn empty_reason(opened: &Opened, scope: &Scope) -> Option<String> {
    let frames = &opened.frames;
    let reason = unmatched(frames, scope).and_then(|reason| Ok(reason.or(only_in_turns(frames, scope)?)));
    Some(with_options(&reason.ok().flatten()?, &opened.options))
}

/// The same of rows that are responses.
pub fn empty_reason_of_turns(opened: &Opened, scope: &Scope) -> Option<String> {
    unmatched(&opened.frames, scope).ok().flatten()
}

/// When the sessions begin, if none of them begins within the bounds of time.
fn period_reason(opened: &Opened, scope: &Scope) -> Option<String> {
    outside_of_period(&opened.frames, scope).ok().flatten()
}

/// That there are no sessions at all, if that is so.
fn no_sessions(opened: &Opened) -> Option<String> {
    let is_empty = has_session(&opened.frames, &Scope::default()).is_ok_and(|has| !has);
    is_empty.then(|| match opened.archive_option() {
        "" if !opened.options.is_empty() => "there are no sessions in these logs".to_owned(),
        archive => format!("there are no sessions; `agentlogs ingest PATH{archive}` reads logs"),
    })
}

/// The same for a table of sessions without rows; that there are no sessions at all, or when they begin if none begins within the bounds
/// of time.
pub fn empty_table_reason(opened: &Opened, scope: &Scope) -> Option<String> {
    no_sessions(opened).or_else(|| empty_reason(opened, scope)).or_else(|| period_reason(opened, scope))
}

/// The same for the table of a report.
pub fn empty_report_reason(report: &Report, opened: &Opened, options: &Options) -> Option<String> {
    let scope = &options.scope;
    if report.has_rows_of_turns() {
        let reason = no_sessions(opened).or_else(|| empty_reason_of_turns(opened, scope));
        return reason.or_else(|| period_reason(opened, scope));
    }
    empty_table_reason(opened, scope).or_else(|| report.needs(options))
}

/// Prints which filter matches no session and no response, and the most similar value. Returns whether there is such a filter.
pub fn state_unmatched_turns(prefix: &str, opened: &Opened, scope: &Scope) -> bool {
    state_reason(prefix, empty_reason_of_turns(opened, scope).as_deref())
}

/// Prints when the sessions begin, if none of them begins within the bounds of time.
pub fn state_period(prefix: &str, opened: &Opened, scope: &Scope) {
    state_reason(prefix, period_reason(opened, scope).as_deref());
}

/// Prints which filter matches no session, and the most similar value. Returns whether there is such a filter.
pub fn state_unmatched(prefix: &str, opened: &Opened, scope: &Scope) -> bool {
    state_reason(prefix, empty_reason(opened, scope).as_deref())
}

/// Prints why no session is in scope: a filter, or when the sessions begin. Returns whether there is such a reason.
pub fn state_empty(prefix: &str, opened: &Opened, scope: &Scope) -> bool {
    state_reason(prefix, empty_table_reason(opened, scope).as_deref())
}

/// Prints which dimension of labels no session has: all rows are in one group then.
pub fn state_unknown_labels(opened: &Opened, by: &[String]) {
    if let Ok(Some(reason)) = unknown_labels(&opened.frames, by) {
        complain(format_args!("{reason}"));
    }
}

fn state_reason(prefix: &str, reason: Option<&str>) -> bool {
    if let Some(reason) = reason {
        complain(format_args!("{prefix}{reason}"));
    }
    reason.is_some()
}

/// The error of a report. All errors except those of polars are errors in the command line.
pub fn report_error(error: Error) -> anyhow::Error {
    match error {
        Error::Polars(error) => error.into(),
        Error::Query(error) => error.into(),
        other => WrongCommandLine(other.to_string()).into(),
    }
}
