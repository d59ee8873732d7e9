//! Precedence where logs of different programs report the same work: summaries of runs, and programs that run other agents.

use std::collections::BTreeSet;
use std::mem;

use foldhash::{HashMap, HashMapExt as _};

use super::part::{SessionKey, SessionPart, Sessions, facts_only};
use crate::base::rows::Rows;
use crate::model::session::{Capabilities, Event, EventKind, SessionResult, Status, add};

/// Reduces summaries of runs to how the runs ended where the session's own file is present. That file has the rows and
/// the times, and all of the tokens if it shows any: see docs/accounting.md#summaries-of-runs.
pub(super) fn reduce_run_summaries(parts: &mut [SessionPart]) {
    let own_files = || parts.iter().filter(|part| part.session.capabilities.has(Capabilities::KEPT_BY_RUNTIME));
    let Some(source) = own_files().map(|part| part.source).next() else { return };
    let has_tokens = own_files().any(|part| part.session.has_tokens());
    let ended_at = own_files().filter_map(|part| part.session.ended_at).max();
    let is_summary = |part: &SessionPart| part.session.capabilities.has(Capabilities::RUNS_ONLY);
    for part in parts.iter_mut().filter(|part| is_summary(part)) {
        let mut session = mem::take(&mut part.session);
        let totals = if has_tokens { Vec::new() } else { mem::take(&mut session.totals) };
        // An end before the last record of the session's own file is not the end of the session.
        let status = if session.ended_at >= ended_at { session.status } else { Status::Unknown };
        part.session = SessionResult {
            status,
            totals,
            started_at: None,
            ended_at: None,
            stated_tool_calls: None,
            stop_reason: None,
            text: None,
            ..facts_only(session)
        };
        part.transferred_to = Some(source);
    }
    parts.sort_by_key(is_summary);
}

/// Removes tokens and calls from the session of a program that ran another agent, if the log of the agent's own session
/// is present and has counts. The outer session keeps its status, its times and its errors: see
/// docs/accounting.md#programs-that-run-another-agent.
pub(super) fn defer_to_provider(sessions: &mut Sessions) {
    if !sessions.values().flatten().any(|part| part.session.provider_session_id.is_some()) {
        return;
    }
    let counted = counted_sessions(sessions);
    for (key, parts) in sessions.iter_mut() {
        let is_inner_counted = |part: &SessionPart| {
            let inner_id = part.session.provider_session_id.as_ref();
            inner_id.is_some_and(|inner_id| is_other_session_counted(&counted, inner_id, key))
        };
        for part in parts.iter_mut().filter(|part| is_inner_counted(part)) {
            part.session = without_work(mem::take(&mut part.session));
        }
    }
}

/// The runtimes of the sessions that have counts of tokens, by session id.
fn counted_sessions(sessions: &Sessions) -> HashMap<String, Vec<String>> {
    let has_counts = |part: &SessionPart| {
        let totals = part.session.totals.iter().flat_map(|total| &total.models).map(|model| model.tokens);
        let turns = part.session.turns.iter().map(|turn| turn.tokens.get());
        turns.chain(totals).any(|tokens| tokens.total().is_some())
    };
    let mut counted: HashMap<String, Vec<String>> = HashMap::new();
    for ((runtime, id), _) in sessions.iter().filter(|(_, parts)| parts.iter().any(has_counts)) {
        counted.entry(id.clone()).or_default().push(runtime.clone());
    }
    counted
}

/// Whether a session of this id other than the outer one has counts. A program may give its own session the agent's id.
fn is_other_session_counted(counted: &HashMap<String, Vec<String>>, inner_id: &str, outer: &SessionKey) -> bool {
    let (outer_runtime, outer_id) = outer;
    let runtimes = counted.get(inner_id);
    runtimes.is_some_and(|runtimes| inner_id != outer_id || runtimes.iter().any(|runtime| runtime != outer_runtime))
}

/// A session without the rows and counts of the agent that it ran.
fn without_work(session: SessionResult) -> SessionResult {
    let durations = session.totals.iter().map(|total| total.duration_ms);
    // The turns to which errors refer are removed.
    let errors = session.events.into_iter().filter(|event| event.kind == EventKind::Error);
    SessionResult {
        duration_ms: session.duration_ms.or(durations.fold(None, add)),
        capabilities: Capabilities::USER_TURNS,
        stated_turns: None,
        stated_tool_calls: None,
        stated_tool_errors: None,
        stated_lines: None,
        subagents: BTreeSet::new(),
        recording: None,
        turns: Rows::default(),
        tool_calls: Rows::default(),
        file_changes: Rows::default(),
        totals: Vec::new(),
        events: errors.map(|event| Event { turn: None, ..event }).collect(),
        ..session
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_defers_only_to_another_session_with_counts() {
        let counted = [("inner", "agent"), ("same", "wrapper"), ("both", "wrapper"), ("both", "agent")];
        let mut runtimes: HashMap<String, Vec<String>> = HashMap::new();
        for (id, runtime) in counted {
            runtimes.entry(id.to_owned()).or_default().push(runtime.to_owned());
        }
        let cases = [
            ("inner", "outer", true),
            ("missing", "outer", false),
            // The program's own session has the id of the agent's session: it does not defer to itself.
            ("same", "same", false),
            ("both", "both", true),
        ];
        for (inner, outer, expected) in cases {
            let outer = ("wrapper".to_owned(), outer.to_owned());
            assert_eq!(is_other_session_counted(&runtimes, inner, &outer), expected, "{inner}");
        }
    }
}
