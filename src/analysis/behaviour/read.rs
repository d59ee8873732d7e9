//! Reads the columns that the measures need, and sorts the rows by session.

use std::collections::BTreeSet;

use foldhash::HashMap;
use polars::prelude::*;

use super::meaning::{is_answer, needs_no_check};
use super::rows::{Call, Change, Purpose, Status, Turn};
use crate::adapters::shared::tools::{asks_human, polls};
use crate::analysis::reports::tables::{Frames, KEY, for_each_batch, hash_of, physical};

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

/// The calls.
pub(super) fn calls(table: LazyFrame, turns: &Sorted<Turn>, find: Find<'_>) -> PolarsResult<Sorted<Call>> {
    const TEXTS: [&str; 9] =
        ["runtime", "session_id", "category", "command_kind", "status", "agent", "tool", "args_hash", "target"];
    const WHOLES: [&str; 4] = ["occurred_at", "duration_ms", "turn", "exit_code"];
    let rows = physical(table, &[&TEXTS[..], &WHOLES, &["is_subagent", "result_failed_tests"]].concat());
    let mut found = Vec::new();
    for_each_batch(rows, |batch| {
        let [runtime, session, category, kind, status, agent, tool, hash, target] = batch.texts(TEXTS)?;
        let [time, duration, turn, exit_code] = batch.wholes(WHOLES)?;
        let (is_subagent, failed_tests) = (batch.flag("is_subagent")?, batch.flag("result_failed_tests")?);
        for row in 0..batch.height() {
            let Some(index) = find(runtime.get(row), session.get(row)) else { continue };
            let is_subagent = is_subagent.get(row).unwrap_or(false);
            let (name, category) = (tool.get(row).unwrap_or_default(), category.get(row));
            let agent = agent_of_call(turns.of(index), turn.get(row), |turn| (turn.number, turn.agent))
                .unwrap_or_else(|| hash_of((is_subagent, agent.get(row))));
            // Each poll is a call of its own.
            let poll = polls(name).then_some(found.len());
            let call = Call {
                time: time.get(row),
                duration_ms: duration.get(row),
                turn: turn.get(row),
                is_subagent,
                status: match status.get(row) {
                    Some("ok") => Status::Ok,
                    Some("error") => Status::Error,
                    Some("denied") => Status::Denied,
                    Some("cancelled") => Status::Cancelled,
                    _ => Status::Incomplete,
                },
                purpose: Purpose::of(category, kind.get(row)),
                failed_tests: failed_tests.get(row) == Some(true),
                asks_human: asks_human(name),
                is_answer: is_answer(exit_code.get(row), kind.get(row), target.get(row)),
                needs_no_check: needs_no_check(category == Some("shell"), target.get(row)),
                identity: hash.get(row).map(|hash| hash_of((agent, name, hash, poll))),
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
    const WHOLES: [&str; 5] = ["turn", "occurred_at", "duration_ms", "context_tokens", "total_tokens"];
    const TEXTS: [&str; 4] = ["runtime", "session_id", "agent", "agent_id"];
    let rows = table.filter(col("grain").eq(lit("turn")));
    let rows = physical(rows, &[&TEXTS[..], &["is_subagent"], &WHOLES].concat());
    let mut found = Vec::new();
    for_each_batch(rows, |batch| {
        let [runtime, session, agent, agent_id] = batch.texts(TEXTS)?;
        let [number, time, duration, context, total] = batch.wholes(WHOLES)?;
        let is_subagent = batch.flag("is_subagent")?;
        for row in 0..batch.height() {
            let Some(index) = find(runtime.get(row), session.get(row)) else { continue };
            let Some(number) = number.get(row) else { continue };
            let is_subagent = is_subagent.get(row).unwrap_or(false);
            let turn = Turn {
                number,
                is_subagent,
                agent: hash_of((is_subagent, is_subagent.then(|| agent_id.get(row).or(agent.get(row))))),
                time: time.get(row),
                duration_ms: duration.get(row),
                context_tokens: context.get(row),
                total_tokens: total.get(row),
            };
            found.push((index, turn));
        }
        Ok(())
    })?;
    Ok(Sorted::new(found, |turn| Some(turn.number)))
}

/// The changes of files.
pub(super) fn changes(table: LazyFrame, find: Find<'_>) -> PolarsResult<Sorted<Change>> {
    const TEXTS: [&str; 4] = ["runtime", "session_id", "path", "operation"];
    const WHOLES: [&str; 3] = ["occurred_at", "lines_added", "lines_removed"];
    let rows = physical(table, &[&TEXTS[..], &WHOLES].concat());
    let mut found = Vec::new();
    for_each_batch(rows, |batch| {
        let [runtime, session, path, operation] = batch.texts(TEXTS)?;
        let [time, added, removed] = batch.wholes(WHOLES)?;
        for row in 0..batch.height() {
            let Some(index) = find(runtime.get(row), session.get(row)) else { continue };
            let change = Change {
                time: time.get(row),
                path: hash_of(path.get(row)),
                is_deletion: operation.get(row) == Some("delete"),
                lines_added: added.get(row),
                lines_removed: removed.get(row),
            };
            found.push((index, change));
        }
        Ok(())
    })?;
    Ok(Sorted::new(found, |change| change.time))
}
