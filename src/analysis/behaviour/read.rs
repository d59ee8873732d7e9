//! Reads the columns that the measures need, and sorts the rows by session.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash};

use polars::prelude::*;

use super::rows::{Call, Change, Purpose, Status, Turn};

/// Rows of all sessions: of each session together, in order.
pub(in crate::analysis) struct Sorted<R> {
    /// The rows with the indices of their sessions.
    rows: Vec<R>,
    /// The index of the first row of each session, and the number of rows.
    starts: Vec<usize>,
}

impl<R> Sorted<R> {
    /// Sorts rows by the indices of their sessions; of each session by `time`. Rows without a time follow the row before
    /// them.
    pub(in crate::analysis) fn new(rows: Vec<(usize, R)>, sessions: usize, time: impl Fn(&R) -> Option<i64>) -> Self {
        let mut last: Vec<Option<i64>> = vec![None; sessions];
        let mut keyed: Vec<(usize, Option<i64>, R)> = Vec::with_capacity(rows.len());
        for (session, row) in rows {
            let Some(last) = last.get_mut(session) else { continue };
            *last = time(&row).or(*last);
            keyed.push((session, *last, row));
        }
        keyed.sort_by_key(|(session, time, _)| (*session, *time));
        let starts = (0..=sessions).map(|session| keyed.partition_point(|(of, _, _)| *of < session)).collect();
        Self { rows: keyed.into_iter().map(|(_, _, row)| row).collect(), starts }
    }

    /// The rows of a session.
    pub(in crate::analysis) fn of(&self, session: usize) -> &[R] {
        let range = |()| Some(*self.starts.get(session)?..*self.starts.get(session + 1)?);
        range(()).and_then(|range| self.rows.get(range)).unwrap_or_default()
    }
}

/// The index of each session, by its runtime and id.
type Indices<'f> = HashMap<(Option<&'f str>, Option<&'f str>), usize>;

/// The indices of the rows of a frame of sessions.
pub(in crate::analysis) fn indices_of(sessions: &DataFrame) -> PolarsResult<Indices<'_>> {
    let (runtimes, ids) = (sessions.column("runtime")?.str()?, sessions.column("session_id")?.str()?);
    Ok((0..sessions.height()).map(|index| ((runtimes.get(index), ids.get(index)), index)).collect())
}

/// Finds the index of a session by its runtime and id.
pub(in crate::analysis) type Find<'f> = &'f dyn Fn(Option<&str>, Option<&str>) -> Option<usize>;

/// The calls.
pub(super) fn calls(table: LazyFrame, find: Find<'_>, sessions: usize) -> PolarsResult<Sorted<Call>> {
    let texts = ["runtime", "session_id", "category", "command_kind", "status", "agent", "tool", "args_hash"];
    let frame = columns(table, &texts, &["occurred_at", "duration_ms", "turn"], Some("is_subagent"))?;
    let [runtime, session, category, kind, status, agent, tool, hash] = texts_of(&frame, texts)?;
    let [time, duration, turn] = numbers_of(&frame, ["occurred_at", "duration_ms", "turn"])?;
    let is_subagent = frame.column("is_subagent")?.bool()?;
    let mut rows = Vec::new();
    for row in 0..frame.height() {
        let Some(index) = find(runtime.get(row), session.get(row)) else { continue };
        let is_subagent = is_subagent.get(row).unwrap_or(false);
        let call = Call {
            time: time.get(row),
            duration_ms: duration.get(row),
            turn: turn.get(row),
            is_subagent,
            status: match status.get(row) {
                Some("ok") => Status::Ok,
                Some("error") => Status::Error,
                Some("denied") => Status::Denied,
                _ => Status::Incomplete,
            },
            purpose: Purpose::of(category.get(row), kind.get(row)),
            identity: hash.get(row).map(|hash| hash_of((is_subagent, agent.get(row), tool.get(row), hash))),
        };
        rows.push((index, call));
    }
    Ok(Sorted::new(rows, sessions, |call| call.time))
}

/// The responses.
pub(super) fn turns(table: LazyFrame, find: Find<'_>, sessions: usize) -> PolarsResult<Sorted<Turn>> {
    let table = table.filter(col("grain").eq(lit("turn")));
    let numbers = ["turn", "occurred_at", "duration_ms", "context_tokens", "total_tokens"];
    let frame = columns(table, &["runtime", "session_id"], &numbers, Some("is_subagent"))?;
    let [runtime, session] = texts_of(&frame, ["runtime", "session_id"])?;
    let [number, time, duration, context, total] = numbers_of(&frame, numbers)?;
    let is_subagent = frame.column("is_subagent")?.bool()?;
    let mut rows = Vec::new();
    for row in 0..frame.height() {
        let Some(index) = find(runtime.get(row), session.get(row)) else { continue };
        let Some(number) = number.get(row) else { continue };
        let turn = Turn {
            number,
            is_subagent: is_subagent.get(row).unwrap_or(false),
            time: time.get(row),
            duration_ms: duration.get(row),
            context_tokens: context.get(row),
            total_tokens: total.get(row),
        };
        rows.push((index, turn));
    }
    Ok(Sorted::new(rows, sessions, |turn| Some(turn.number)))
}

/// The changes of files.
pub(super) fn changes(table: LazyFrame, find: Find<'_>, sessions: usize) -> PolarsResult<Sorted<Change>> {
    let texts = ["runtime", "session_id", "path", "operation"];
    let numbers = ["occurred_at", "lines_added", "lines_removed"];
    let frame = columns(table, &texts, &numbers, None)?;
    let [runtime, session, path, operation] = texts_of(&frame, texts)?;
    let [time, added, removed] = numbers_of(&frame, numbers)?;
    let mut rows = Vec::new();
    for row in 0..frame.height() {
        let Some(index) = find(runtime.get(row), session.get(row)) else { continue };
        let change = Change {
            time: time.get(row),
            path: hash_of(path.get(row)),
            is_deletion: operation.get(row) == Some("delete"),
            lines_added: added.get(row),
            lines_removed: removed.get(row),
        };
        rows.push((index, change));
    }
    Ok(Sorted::new(rows, sessions, |change| change.time))
}

/// Some columns of a table: texts, numbers and times, and a Boolean.
fn columns(table: LazyFrame, texts: &[&str], numbers: &[&str], flag: Option<&str>) -> PolarsResult<DataFrame> {
    let texts = texts.iter().chain(flag.as_slice()).map(|name| col(*name));
    let numbers = numbers.iter().map(|name| col(*name).to_physical());
    table.select(texts.chain(numbers).collect::<Vec<_>>()).collect()
}

fn texts_of<'f, const N: usize>(frame: &'f DataFrame, names: [&str; N]) -> PolarsResult<[&'f StringChunked; N]> {
    let columns = names.iter().map(|name| frame.column(name)?.str()).collect::<PolarsResult<Vec<_>>>()?;
    columns.try_into().map_err(|_| polars_err!(ComputeError: "columns are missing"))
}

fn numbers_of<'f, const N: usize>(frame: &'f DataFrame, names: [&str; N]) -> PolarsResult<[&'f Int64Chunked; N]> {
    let columns = names.iter().map(|name| frame.column(name)?.i64()).collect::<PolarsResult<Vec<_>>>()?;
    columns.try_into().map_err(|_| polars_err!(ComputeError: "columns are missing"))
}

/// A hash that is the same in every run.
pub(in crate::analysis) fn hash_of(value: impl Hash) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(value)
}
