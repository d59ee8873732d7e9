//! The measures of sessions as columns.

use std::collections::BTreeSet;

use polars::prelude::*;
use rayon::prelude::*;

use super::read::{Find, Sorted, calls, changes, for_sessions, indices_of, take, turns};
use super::rows::{Call, Change, Session, Turn};
use super::session::{COLUMNS, Measures};
use crate::analysis::reports::tables::Frames;

/// The columns that identify a session.
const KEY: [&str; 2] = ["runtime", "session_id"];

/// The rows of some sessions.
#[derive(Default)]
struct Rows {
    calls: Sorted<Call>,
    turns: Sorted<Turn>,
    changes: Sorted<Change>,
}

impl Rows {
    /// Reads the rows, and finds the indices of their sessions.
    fn read(tables: &Frames, find: Find<'_>) -> PolarsResult<(Self, BTreeSet<usize>)> {
        let rows = Self {
            calls: calls(tables.table("tool_calls"), find)?,
            turns: turns(tables.table("turns"), find)?,
            changes: changes(tables.table("file_changes"), find)?,
        };
        let sessions = rows.calls.sessions().chain(rows.turns.sessions()).chain(rows.changes.sessions()).collect();
        Ok((rows, sessions))
    }
}

/// Adds the columns of the measures to sessions.
pub(in crate::analysis) fn add_measures(sessions: LazyFrame, tables: &Frames) -> PolarsResult<LazyFrame> {
    let columns = KEY.into_iter().map(col);
    let columns = columns.chain([col("started_at").to_physical(), col("tool_calls"), col("file_changes")]);
    let mut frame = sessions.clone().select(columns.collect::<Vec<_>>()).collect()?;
    // Values are read by their index.
    frame.rechunk_mut();
    let indices = indices_of(&frame)?;
    let find = |runtime: Option<&str>, id: Option<&str>| indices.get(&(runtime, id)).copied();
    let started_at = frame.column("started_at")?.i64()?;
    let (call_counts, change_counts) = (frame.column("tool_calls")?.i64()?, frame.column("file_changes")?.i64()?);
    // Some logs contain only the number of calls.
    let are_shown = |count: Option<i64>, rows: usize| count.is_some_and(|count| count == 0 || rows > 0);
    let keys = frame.select(KEY)?;
    let compute = |rows: &Rows, indices: &[usize]| {
        let measures = indices.par_iter().map(|index| {
            let (calls, changes) = (rows.calls.of(*index), rows.changes.of(*index));
            Measures::of(&Session {
                started_at: started_at.get(*index),
                shows_calls: are_shown(call_counts.get(*index), calls.len()),
                shows_changes: are_shown(change_counts.get(*index), changes.len()),
                calls,
                turns: rows.turns.of(*index),
                changes,
            })
        });
        let measures: Vec<Measures> = measures.collect();
        let mut found = take(&keys, indices.iter().copied())?;
        for (name, value) in COLUMNS {
            found.with_column(Column::new((*name).into(), measures.iter().map(value).collect::<Vec<_>>()))?;
        }
        Ok(found)
    };
    let measures = for_sessions(tables, frame.height(), |partition| Rows::read(partition, &find), compute)?;
    Ok(sessions.join(measures, KEY.map(col), KEY.map(col), JoinType::Left.into()))
}
