//! `agentlogs sessions`: the sessions, the newest first.

use agentlogs::analysis::present::{ReportStyle, Roles};
use agentlogs::analysis::reports::{Options, Spending, session_list, sessions_for_people, tables_of_sessions};
use agentlogs::store::frames::sessions;

use super::Outcome;
use super::output::{Layout, numbers, print, row_limit, state_currency};
use super::resolve::{empty_table_reason, report_error, scope, state_left_out, state_lower_bound, state_other_users};
use super::source::some_tables;
use crate::cli::args::Sessions;
use crate::cli::settings::Settings;

pub fn run(args: Sessions, settings: &Settings) -> anyhow::Result<Outcome> {
    let is_for_people = args.printed.is_for_people();
    let options = Options {
        scope: scope(args.filters, settings),
        cost: args.cost.into(),
        sort: args.sort,
        limit: row_limit(args.printed),
        wide: args.printed.wide || !is_for_people,
        ..Options::default()
    };
    let opened = some_tables(args.source, settings, &tables_of_sessions(&options))?;
    let answer = session_list(&opened.frames, &options).map_err(report_error)?;
    let empty = (answer.rows.height() == 0).then(|| empty_table_reason(&opened, &options.scope)).flatten();
    let rows = if is_for_people {
        let now = options.scope.zoned().map_err(|error| report_error(error.into()))?;
        sessions_for_people(&answer.rows, &opened.frames, &now)?
    } else {
        answer.rows
    };
    let report = ReportStyle { dimensions: NAMES, has_total: false, currency: settings.shown_currency() };
    let least = if rows.column("about").is_ok() { LESS_THAN_ABOUT } else { &[] };
    let roles = Roles { names: Some(NAMES), main: Some(sessions::COST_USD), least, ..Roles::default() };
    let layout = Layout { roles, report: Some(report), is_long: true, more: answer.more, empty: empty.as_deref() };
    print(&rows, args.printed, layout)?;
    state_left_out("", &answer.left_out, "session", "start", numbers(args.printed, settings).currency);
    state_other_users(&opened, &options.scope);
    if is_for_people {
        state_lower_bound("", &opened, &options.scope, options.cost, Spending::Sessions, settings.shown_currency())?;
        state_currency(settings);
    }
    Ok(Outcome::Done)
}

/// The number of first columns that name a session: its number, id, start and project.
const NAMES: usize = 4;

/// The columns that matter less than the first prompt, by which a person recognises a session.
const LESS_THAN_ABOUT: &[&str] =
    &[sessions::RUNTIME, sessions::TURNS, sessions::INCLUSIVE_COST_USD, sessions::MODEL, sessions::STATUS];
