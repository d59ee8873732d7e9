//! Reads the columns that the measures need, and sorts the rows by session.

use std::collections::BTreeSet;

use foldhash::HashMap;
use polars::prelude::*;

use super::meaning::{is_answer, needs_no_check};
use super::rows::{Call, Change, Purpose, Status, Turn};
use crate::adapters::shared::tools::{asks_human, polls};
use crate::analysis::reports::tables::{Frames, KEY, hash_of};
use crate::base::time::Time;
use crate::store::frames::{TypedRows, file_changes, for_each_batch, rows, tool_calls, turns};

/// The rows of some sessions in tables.
pub(in crate::analysis) trait SessionRows: Default {
    /// The indices of the sessions that have rows.
    fn sessions(&self) -> BTreeSet<usize>;
}

/// Computes a frame for the sessions of `sessions` from their rows in tables, of which one partition is in memory at a time. `read`
/// reads the rows of a partition, and `compute` computes the frame of the sessions with these indices.
pub(in crate::analysis) fn for_sessions<R: SessionRows>(
    sessions: &DataFrame,
    tables: &Frames,
    mut read: impl FnMut(&Frames, Find<'_>) -> PolarsResult<R>,
    compute: impl Fn(&R, &[usize]) -> PolarsResult<DataFrame>,
) -> PolarsResult<LazyFrame> {
    let [runtimes, ids] = KEY.map(|name| sessions.column(name).and_then(|column| column.str()));
    let (runtimes, ids) = (runtimes?, ids?);
    let indices: HashMap<(Option<&str>, Option<&str>), usize> =
        (0..sessions.height()).map(|index| ((runtimes.get(index), ids.get(index)), index)).collect();
    let find = |runtime: Option<&str>, id: Option<&str>| indices.get(&(runtime, id)).copied();
    let mut without_rows: BTreeSet<usize> = (0..sessions.height()).collect();
    let mut frames = Vec::new();
    for partition in tables.partitions() {
        let rows = read(partition, &find)?;
        let mut found = rows.sessions();
        found.retain(|session| without_rows.remove(session));
        frames.push(compute(&rows, &found.into_iter().collect::<Vec<_>>())?.lazy());
    }
    frames.push(compute(&R::default(), &without_rows.into_iter().collect::<Vec<_>>())?.lazy());
    concat(frames, UnionArgs::default())
}

/// Some rows of a frame, by their indices.
pub(super) fn take(frame: &DataFrame, indices: impl Iterator<Item = usize>) -> PolarsResult<DataFrame> {
    frame.take(&indices.map(|index| IdxSize::try_from(index).ok()).collect::<IdxCa>())
}

/// Rows by their sessions: of each session together, in order.
pub(in crate::analysis) struct Sorted<R> {
    rows: Vec<R>,
    /// The index of each session that has rows, with the position after its last row; sorted.
    ends: Vec<(usize, usize)>,
}

impl<R> Default for Sorted<R> {
    fn default() -> Self {
        Self { rows: Vec::new(), ends: Vec::new() }
    }
}

impl<R> Sorted<R> {
    /// Sorts rows by the indices of their sessions; of each session by `time`. Rows without a time follow the row before
    /// them.
    pub(in crate::analysis) fn new(rows: Vec<(usize, R)>, time: impl Fn(&R) -> Option<i64>) -> Self {
        let mut keyed: Vec<(usize, Option<i64>, R)> =
            rows.into_iter().map(|(session, row)| (session, time(&row), row)).collect();
        keyed.sort_by_key(|(session, ..)| *session);
        let mut before = None;
        for (session, time, _) in &mut keyed {
            *time = time.or(before.filter(|(of, _)| of == session).and_then(|(_, time)| time));
            before = Some((*session, *time));
        }
        keyed.sort_by_key(|(session, time, _)| (*session, *time));
        let mut end = 0;
        let runs = keyed.chunk_by(|(a, ..), (b, ..)| a == b);
        let ends = runs.filter_map(|run| {
            end += run.len();
            run.first().map(|(session, ..)| (*session, end))
        });
        let ends = ends.collect();
        Self { rows: keyed.into_iter().map(|(.., row)| row).collect(), ends }
    }

    /// The indices of the sessions that have rows.
    pub(in crate::analysis) fn sessions(&self) -> impl Iterator<Item = usize> {
        self.ends.iter().map(|(session, _)| *session)
    }

    /// The rows of a session.
    pub(in crate::analysis) fn of(&self, session: usize) -> &[R] {
        let Ok(found) = self.ends.binary_search_by_key(&session, |(session, _)| *session) else { return &[] };
        let end = |position: usize| self.ends.get(position).map(|(_, end)| *end);
        let start = found.checked_sub(1).and_then(end).unwrap_or(0);
        end(found).and_then(|end| self.rows.get(start..end)).unwrap_or_default()
    }
}

/// Finds the index of a session by its runtime and id.
pub(in crate::analysis) type Find<'f> = &'f dyn Fn(Option<&str>, Option<&str>) -> Option<usize>;

rows! {
    /// The columns of calls.
    struct CallColumns {
        runtime: tool_calls::RUNTIME,
        session: tool_calls::SESSION_ID,
        category: tool_calls::CATEGORY,
        kind: tool_calls::COMMAND_KIND,
        status: tool_calls::STATUS,
        agent: tool_calls::AGENT,
        tool: tool_calls::TOOL,
        hash: tool_calls::ARGS_HASH,
        target: tool_calls::TARGET,
        time: tool_calls::OCCURRED_AT,
        duration_ms: tool_calls::DURATION_MS,
        turn: tool_calls::TURN,
        exit_code: tool_calls::EXIT_CODE,
        is_subagent: tool_calls::IS_SUBAGENT,
        failed_tests: tool_calls::RESULT_FAILED_TESTS,
    }

    /// The columns of responses.
    struct TurnColumns {
        runtime: turns::RUNTIME,
        session: turns::SESSION_ID,
        agent: turns::AGENT,
        agent_id: turns::AGENT_ID,
        is_subagent: turns::IS_SUBAGENT,
        number: turns::TURN,
        time: turns::OCCURRED_AT,
        duration_ms: turns::DURATION_MS,
        context_tokens: turns::CONTEXT_TOKENS,
        total_tokens: turns::TOTAL_TOKENS,
    }

    /// The columns of changes of files.
    struct ChangeColumns {
        runtime: file_changes::RUNTIME,
        session: file_changes::SESSION_ID,
        path: file_changes::PATH,
        operation: file_changes::OPERATION,
        time: file_changes::OCCURRED_AT,
        lines_added: file_changes::LINES_ADDED,
        lines_removed: file_changes::LINES_REMOVED,
    }
}

/// The calls.
pub(super) fn calls(table: LazyFrame, turns: &Sorted<Turn>, find: Find<'_>) -> PolarsResult<Sorted<Call>> {
    let mut found = Vec::new();
    for_each_batch(table, |calls: &CallColumns| {
        for row in 0..calls.height() {
            let Some(index) = find(calls.runtime(row), calls.session(row)) else { continue };
            let (name, category, kind) = (calls.tool(row).unwrap_or_default(), calls.category(row), calls.kind(row));
            let (is_subagent, target) = (calls.is_subagent(row), calls.target(row));
            let agent = agent_of_call(turns.of(index), calls.turn(row), |turn| (turn.number, turn.agent))
                .unwrap_or_else(|| hash_of((is_subagent, calls.agent(row))));
            // Each poll is a call of its own.
            let poll = polls(name).then_some(found.len());
            let call = Call {
                time: calls.time(row).map(Time::micros),
                duration_ms: calls.duration_ms(row),
                turn: calls.turn(row),
                is_subagent,
                status: Status::of(calls.status(row)),
                purpose: Purpose::of(category, kind),
                failed_tests: calls.failed_tests(row) == Some(true),
                asks_human: asks_human(name),
                is_answer: is_answer(calls.exit_code(row), kind, target),
                needs_no_check: needs_no_check(category == Some("shell"), target),
                identity: calls.hash(row).map(|hash| hash_of((agent, name, hash, poll))),
            };
            found.push((index, call));
        }
        Ok(())
    })?;
    Ok(Sorted::new(found, |call| call.time))
}

/// The agent of the response that made a call, among the responses of its session.
pub(in crate::analysis) fn agent_of_call<T>(
    turns: &[T],
    number: Option<i64>,
    number_and_agent: impl Fn(&T) -> (i64, u64),
) -> Option<u64> {
    let position = turns.binary_search_by_key(&number?, |turn| number_and_agent(turn).0).ok()?;
    turns.get(position).map(|turn| number_and_agent(turn).1)
}

/// The responses.
pub(super) fn turns(table: LazyFrame, find: Find<'_>) -> PolarsResult<Sorted<Turn>> {
    let mut found = Vec::new();
    for_each_batch(table.filter(col(turns::GRAIN).eq(lit("turn"))), |turns: &TurnColumns| {
        for row in 0..turns.height() {
            let Some(index) = find(turns.runtime(row), turns.session(row)) else { continue };
            let Some(number) = turns.number(row) else { continue };
            let is_subagent = turns.is_subagent(row);
            let agent = is_subagent.then(|| turns.agent_id(row).or(turns.agent(row)));
            let turn = Turn {
                number,
                is_subagent,
                agent: hash_of((is_subagent, agent)),
                time: turns.time(row).map(Time::micros),
                duration_ms: turns.duration_ms(row),
                context_tokens: turns.context_tokens(row),
                total_tokens: turns.total_tokens(row),
            };
            found.push((index, turn));
        }
        Ok(())
    })?;
    Ok(Sorted::new(found, |turn| Some(turn.number)))
}

/// The changes of files.
pub(super) fn changes(table: LazyFrame, find: Find<'_>) -> PolarsResult<Sorted<Change>> {
    let mut found = Vec::new();
    for_each_batch(table, |changes: &ChangeColumns| {
        for row in 0..changes.height() {
            let Some(index) = find(changes.runtime(row), changes.session(row)) else { continue };
            let change = Change {
                time: changes.time(row).map(Time::micros),
                path: hash_of(changes.path(row)),
                is_deletion: changes.operation(row) == Some("delete"),
                lines_added: changes.lines_added(row),
                lines_removed: changes.lines_removed(row),
            };
            found.push((index, change));
        }
        Ok(())
    })?;
    Ok(Sorted::new(found, |change| change.time))
}
