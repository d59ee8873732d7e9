//! The row of a session: counters that are derived from its other rows.

use std::collections::BTreeSet;
use std::mem;

use foldhash::{HashMap, HashMapExt as _};

use super::doubts::{Counted, doubts};
use super::merged_session::MergedSession;
use super::project::project;
use crate::base::text::Symbol;
use crate::ledger::totals::StatedTotals;
use crate::model::session::{CallStatus, Capabilities, EventKind, FileChange, SessionResult, Status, Tokens};
use crate::model::tables::{Doubt, Grain, SessionRow, TurnRow, Usage, UsageReason};
use crate::model::unknown::Unread;

/// Makes the row of a session. `turns` are its rows in the ledger; `is_conflict`: the totals contradict them;
/// `first_caller`: the number of the response that made the first call. A counter of what the format cannot show is NULL: see
/// docs/accounting.md#invariants.
pub(super) fn session_row(
    merged: &mut MergedSession,
    turns: &[TurnRow],
    totals: &StatedTotals,
    is_conflict: bool,
    first_caller: Option<i64>,
) -> SessionRow {
    let has_incomplete_subagent = merged.facts.has_incomplete_subagent();
    let mut session = mem::take(&mut merged.facts.session);
    session.under_reports |= has_incomplete_subagent;
    let capabilities = session.capabilities;
    let count_if_shown = |what: Capabilities, count: usize| {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        (count > 0 || capabilities.has(what)).then_some(count)
    };
    let zero_if_shown = |what: Capabilities| capabilities.has(what).then_some(0);
    let calls = || merged.calls.iter().map(|(_, call)| call);
    let changes = || merged.changes.iter().map(|(_, change)| change);
    let event_count = |kind: EventKind| merged.events.iter().filter(|(_, event)| event.kind == kind).count();
    let sum_lines = |lines: fn(&FileChange) -> Option<i64>| changes().filter_map(lines).reduce(|a, b| a + b);

    let started_agents = calls().filter(|call| call.category == "subagent" && call.status == CallStatus::Ok).count();
    let failed_calls = calls().filter(|call| call.status == CallStatus::Error).count();
    let (stated_added, stated_removed) = session.stated_lines.unzip();
    let tokens: Tokens = turns.iter().map(|row| row.turn.tokens.get()).sum();
    let responses = turns.iter().filter(|row| row.grain == Grain::Turn).count();
    let responses = i64::try_from(responses).ok().filter(|count| *count > 0);
    let [prompts, answers] = [&session.prompts, &session.answers]
        .map(|identities| i64::try_from(identities.len()).ok().filter(|count| *count > 0));
    let web_searches = turns.iter().filter_map(|row| row.turn.web_searches.get()).reduce(|a, b| a + b);
    let models: BTreeSet<Symbol> = turns.iter().filter_map(|row| row.turn.model.clone()).collect();
    let time_between = || session.ended_at?.duration_since(session.started_at?);
    let (usage, usage_reason) = usage(&session, turns, tokens, totals, is_conflict);
    let counted = Counted { session: &session, turns, calls: &merged.calls, first_caller };
    let (doubts, has_no_results) = (doubts(&counted), counted.has_no_results());
    // A counter in doubt is unknown, not 0.
    let unless = |is_in_doubt: bool, count: Option<i64>| count.filter(|count| *count > 0 || !is_in_doubt);
    SessionRow {
        source: merged.source,
        model: main_model(turns).or_else(|| session.model.clone()),
        models: models.into_iter().collect(),
        project: session.cwd.as_deref().and_then(project),
        duration_ms: totals.duration_ms.or(session.duration_ms).or_else(time_between),
        api_duration_ms: totals.api_duration_ms,
        user_turns: unless(
            doubts.contains(&Doubt::NoPrompt),
            prompts.max(session.user_turns).or(zero_if_shown(Capabilities::USER_TURNS)),
        ),
        turns: responses.or(totals.turns).or(answers).or(session.stated_turns).or(zero_if_shown(Capabilities::TURNS)),
        tool_calls: count_if_shown(Capabilities::TOOL_CALLS, merged.calls.len()).or(session.stated_tool_calls),
        tool_errors: unless(has_no_results, count_if_shown(Capabilities::TOOL_CALLS, failed_calls))
            .or(session.stated_tool_errors),
        file_changes: count_if_shown(Capabilities::FILE_CHANGES, merged.changes.len()),
        lines_added: sum_lines(|change| change.lines_added).or(stated_added),
        lines_removed: sum_lines(|change| change.lines_removed).or(stated_removed),
        // Agents by name, or the calls that started them if the log names none.
        subagents: count_if_shown(Capabilities::SUBAGENTS, session.subagents.len().max(started_agents)),
        compactions: count_if_shown(Capabilities::COMPACTIONS, event_count(EventKind::Compaction)),
        retries: count_if_shown(Capabilities::RETRIES, event_count(EventKind::Retry)),
        permission_denials: count_if_shown(Capabilities::PERMISSION_DENIALS, event_count(EventKind::PermissionDenial)),
        web_searches: web_searches.or(zero_if_shown(Capabilities::WEB_SEARCHES)),
        tokens,
        usage,
        usage_reason,
        doubts,
        session,
        ..SessionRow::default()
    }
}

/// The main agent's model with the most responses, the later one on a tie. Parts of a response do not count. `None` if no response is of
/// the main agent.
fn main_model(turns: &[TurnRow]) -> Option<Symbol> {
    let mut counts: HashMap<&Symbol, (usize, usize)> = HashMap::new();
    for (index, row) in turns.iter().enumerate() {
        if row.grain == Grain::Turn
            && !row.turn.is_subagent
            && !row.details().is_some_and(|details| details.is_part)
            && let Some(model) = &row.turn.model
        {
            let (count, last) = counts.entry(model).or_default();
            (*count, *last) = (*count + 1, index);
        }
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(model, _)| model.clone())
}

/// How complete the counts of a session are, and why they are a lower bound: see docs/accounting.md#completeness.
fn usage(
    session: &SessionResult,
    turns: &[TurnRow],
    tokens: Tokens,
    totals: &StatedTotals,
    is_conflict: bool,
) -> (Usage, Option<UsageReason>) {
    let has_no_counts = |row: &TurnRow| {
        let tokens = row.turn.tokens.get();
        row.grain == Grain::Turn && (tokens.input.is_none() || tokens.output.is_none())
    };
    let has_lost_predecessors = |row: &TurnRow| {
        let is_predecessor = |other: &TurnRow| !other.turn.is_echo && other.turn.agent_id == row.turn.agent_id;
        row.turn.has_predecessors && !turns.iter().any(is_predecessor)
    };
    let omitted = || match () {
        // A total contains what its responses leave out.
        () if totals.cover_all(session, turns) => None,
        () if session.under_reports || totals.is_minimum => Some(UsageReason::UnderReports),
        () if turns.iter().any(has_no_counts) => Some(UsageReason::NoCounts),
        // A sum of which a count is unknown.
        () if tokens.input.is_none() || tokens.output.is_none() => Some(UsageReason::NoCounts),
        () => turns.iter().any(has_lost_predecessors).then_some(UsageReason::LostResponses),
    };
    let unread = session.unread.map(|unread| match unread {
        Unread::Counts => UsageReason::UnreadCounts,
        Unread::NewerVersion => UsageReason::NewerVersion,
    });
    let has_no_end = session.status == Status::Incomplete;
    let reason = || unread.or_else(omitted).or(has_no_end.then_some(UsageReason::NoEnd));
    if tokens.total().is_none() {
        (Usage::Unknown, None)
    } else if is_conflict || session.inherits_total || session.has_disputed_totals {
        (Usage::Conflict, None)
    } else if session.is_estimated {
        (Usage::Estimate, None)
    } else if let Some(reason) = reason() {
        (Usage::LowerBound, Some(reason))
    } else {
        (Usage::Exact, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::Turn;

    #[test]
    fn the_main_model_has_most_responses_of_the_main_agent() {
        let row = |model: &str, is_subagent, grain| {
            TurnRow::new(0, 0, grain, Box::new(Turn { model: Some(model.into()), is_subagent, ..Turn::default() }))
        };
        let main = |model| row(model, false, Grain::Turn);
        let cases = [
            (vec![], None),
            (vec![main("a"), main("b"), main("a")], Some("a")),
            (vec![main("a"), main("b")], Some("b")),
            (vec![main("a"), row("b", true, Grain::Turn), row("b", true, Grain::Turn)], Some("a")),
            (vec![row("a", false, Grain::Session)], None),
        ];
        for (turns, expected) in cases {
            assert_eq!(main_model(&turns).as_deref(), expected);
        }
    }
}
