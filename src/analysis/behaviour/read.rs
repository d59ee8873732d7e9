//! Reads the columns that the measures need, and sorts the rows by session.

use std::hash::{BuildHasher as _, Hash};

use foldhash::HashMap;
use foldhash::quality::FixedState;
use polars::prelude::*;

use super::rows::{Call, Change, Purpose, Status, Turn};
use crate::analysis::reports::tables::{for_each_batch, physical};

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
    const TEXTS: [&str; 8] =
        ["runtime", "session_id", "category", "command_kind", "status", "agent", "tool", "args_hash"];
    const WHOLES: [&str; 3] = ["occurred_at", "duration_ms", "turn"];
    let rows = physical(table, &[&TEXTS[..], &WHOLES, &["is_subagent"]].concat());
    let mut found = Vec::new();
    for_each_batch(rows, |batch| {
        let [runtime, session, category, kind, status, agent, tool, hash] = batch.texts(TEXTS)?;
        let [time, duration, turn] = batch.wholes(WHOLES)?;
        let is_subagent = batch.flag("is_subagent")?;
        for row in 0..batch.height() {
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
            found.push((index, call));
        }
        Ok(())
    })?;
    Ok(Sorted::new(found, sessions, |call| call.time))
}

/// The responses.
pub(super) fn turns(table: LazyFrame, find: Find<'_>, sessions: usize) -> PolarsResult<Sorted<Turn>> {
    const WHOLES: [&str; 5] = ["turn", "occurred_at", "duration_ms", "context_tokens", "total_tokens"];
    let rows = table.filter(col("grain").eq(lit("turn")));
    let rows = physical(rows, &[&["runtime", "session_id", "is_subagent"][..], &WHOLES].concat());
    let mut found = Vec::new();
    for_each_batch(rows, |batch| {
        let [runtime, session] = batch.texts(["runtime", "session_id"])?;
        let [number, time, duration, context, total] = batch.wholes(WHOLES)?;
        let is_subagent = batch.flag("is_subagent")?;
        for row in 0..batch.height() {
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
            found.push((index, turn));
        }
        Ok(())
    })?;
    Ok(Sorted::new(found, sessions, |turn| Some(turn.number)))
}

/// The changes of files.
pub(super) fn changes(table: LazyFrame, find: Find<'_>, sessions: usize) -> PolarsResult<Sorted<Change>> {
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
    Ok(Sorted::new(found, sessions, |change| change.time))
}

/// A hash that is the same in every run.
pub(in crate::analysis) fn hash_of(value: impl Hash) -> u64 {
    FixedState::default().hash_one(value)
}
