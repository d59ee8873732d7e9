//! The reconciliation: one row per session, every billed token in exactly one row, counters derived.
//!
//! [`reconcile`] is a pure function of the parsed files. It sorts them first, so the order of files, threads and ingests
//! does not change the result. Identities are part of the facts: [`Identity`] of a response, the key of a [`Total`],
//! [`SessionResult::recording`], the content hash of a file.
//!
//! [`Identity`]: crate::model::session::Identity
//! [`Total`]: crate::model::session::Total
//! [`SessionResult::recording`]: crate::model::session::SessionResult::recording

use super::copied_histories::drop_copied_histories;
use super::copied_names::name_copies;
use super::delegates::{defer_to_delegates, take_delegates};
use super::duplicates::{RowOrigin, drop_copied_recordings, mark_equal_files, mark_files_without_rows};
use super::forked_totals::subtract_forked_totals;
use super::inherited_totals::subtract_inherited_totals;
use super::joins::{defer_to_sessions_of_run, join_contained, join_sessions};
use super::merge::MergedSession;
use super::metered::join_metered;
use super::migrated::defer_to_earlier_logs;
use super::ownership::give_each_response_to_one_session;
use super::parents::link_children;
use super::part::{Sessions, group_by_session, order_by_time, resolve_prompts};
use super::precedence::{defer_to_provider, reduce_run_summaries};
use super::started_agents::defer_to_started_agents;
use super::subagent_sums::defer_to_children;
use super::threads::name_by_first_thread;
use super::trials::{add_imported, defer_to_logs_of_trials};
use super::views::keep_most_detailed;
use crate::base::rows::Rows;
use crate::model::session::SessionResult;
use crate::model::source::Source;
use crate::model::tables::Tables;

/// Makes the tables of all parsed files. The sessions of `sources` move into the tables.
pub fn reconcile(sources: Vec<Source>) -> Tables {
    reconcile_into(sources, Tables::default())
}

/// As [`reconcile`], and reuses the memory of `tables`. Rows in `tables` are dropped.
pub fn reconcile_into(mut sources: Vec<Source>, mut tables: Tables) -> Tables {
    tables.clear();
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    mark_equal_files(&mut sources);
    // Sessions that appear under several ids become one: all later steps need a session as a whole.
    let mut sessions = group_by_session(&mut sources);
    defer_to_logs_of_trials(&mut sessions);
    let delegates = take_delegates(&mut sessions);
    let mut renamed = join_contained(&mut sessions);
    renamed.extend(join_sessions(&mut sessions));
    defer_to_sessions_of_run(&mut sessions);
    renamed.extend(drop_copied_histories(&mut sessions));
    // Several files of one session: each row counts in one of them.
    for parts in sessions.values_mut() {
        resolve_prompts(parts);
        if parts.len() > 1 {
            order_by_time(parts, &sources);
            drop_copied_recordings(parts);
            reduce_run_summaries(parts);
            join_metered(parts);
            keep_most_detailed(parts);
        }
    }
    // Several sessions with the same tokens: they count in one of them. Programs that ran an agent first, as their turns have other names
    // than the responses; then responses by their names; then sums, which contain what the steps before left.
    defer_to_provider(&mut sessions);
    defer_to_delegates(&mut sessions, &delegates);
    defer_to_started_agents(&mut sessions);
    subtract_inherited_totals(&mut sessions);
    name_by_first_thread(&mut sessions);
    name_copies(&mut sessions);
    renamed.extend(give_each_response_to_one_session(&mut sessions));
    // Histories that forks copied are removed, so that each total is that of its own session.
    subtract_forked_totals(&mut sessions);
    defer_to_children(&mut sessions);
    defer_to_earlier_logs(&mut sessions);

    let mut origins: Rows<RowOrigin> = sources.iter().map(|_| RowOrigin::default()).collect();
    reserve_rows(&mut tables, &sessions);
    for parts in sessions.into_values() {
        MergedSession::of_parts(parts, &mut origins).add_to_tables(&mut tables);
    }
    mark_files_without_rows(&mut sources, &origins);
    link_children(&mut tables, &renamed);
    add_imported(&mut tables, &sources);
    tables.sources = sources;
    tables
}

/// Reserves memory for the rows of several sessions, because tables that grow are copied repeatedly. A single session
/// passes its rows on without copying them.
fn reserve_rows(tables: &mut Tables, sessions: &Sessions) {
    /// Capacities are multiples of this, so that batches of similar sizes can reuse the memory.
    const STEP: usize = 1 << 12;
    fn reserve<T>(table: &mut Vec<T>, rows: usize) {
        if table.capacity() < rows {
            *table = Vec::new();
            *table = Vec::with_capacity(rows.next_multiple_of(STEP));
        }
    }
    if sessions.len() > 1 {
        let sum = |count: fn(&SessionResult) -> usize| {
            let parts = sessions.values().flatten();
            parts.map(|part| count(&part.session)).sum()
        };
        reserve(&mut tables.turns, sum(|session| session.turns.len()));
        reserve(&mut tables.tool_calls, sum(|session| session.tool_calls.len()));
        reserve(&mut tables.file_changes, sum(|session| session.file_changes.len()));
        reserve(&mut tables.events, sum(|session| session.events.len()));
        reserve(&mut tables.limits, sum(|session| session.limits.len()));
    }
}
