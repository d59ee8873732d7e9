//! The measures of sessions as columns.

use polars::prelude::*;

use super::read::{calls, changes, indices_of, turns};
use super::rows::Session;
use super::session::{COLUMNS, Measures};
use crate::analysis::reports::tables::Frames;

/// Adds the columns of the measures to sessions. Only the rows of these sessions are kept while they are computed.
pub(in crate::analysis) fn add_measures(sessions: LazyFrame, tables: &Frames) -> PolarsResult<LazyFrame> {
    let key = || [col("runtime"), col("session_id")];
    let columns =
        [col("runtime"), col("session_id"), col("started_at").to_physical(), col("tool_calls"), col("file_changes")];
    let mut frame = sessions.clone().select(columns).collect()?;
    // Values are read by their index.
    frame.rechunk_mut();
    let count = frame.height();
    let indices = indices_of(&frame)?;
    let find = |runtime: Option<&str>, id: Option<&str>| indices.get(&(runtime, id)).copied();
    let calls = calls(tables.table("tool_calls"), &find, count)?;
    let turns = turns(tables.table("turns"), &find, count)?;
    let changes = changes(tables.table("file_changes"), &find, count)?;
    let started_at = frame.column("started_at")?.i64()?;
    let (call_counts, change_counts) = (frame.column("tool_calls")?.i64()?, frame.column("file_changes")?.i64()?);
    // Some logs contain only the number of calls.
    let are_shown = |count: Option<i64>, rows: usize| count.is_some_and(|count| count == 0 || rows > 0);
    let mut values: Vec<Vec<Option<i64>>> = COLUMNS.iter().map(|_| Vec::with_capacity(count)).collect();
    for index in 0..count {
        let measures = Measures::of(&Session {
            started_at: started_at.get(index),
            shows_calls: are_shown(call_counts.get(index), calls.of(index).len()),
            shows_changes: are_shown(change_counts.get(index), changes.of(index).len()),
            calls: calls.of(index),
            turns: turns.of(index),
            changes: changes.of(index),
        });
        for ((_, value), column) in COLUMNS.iter().zip(&mut values) {
            column.push(value(&measures));
        }
    }
    let mut measures = frame.select(["runtime", "session_id"])?;
    for ((name, _), values) in COLUMNS.iter().zip(values) {
        measures.with_column(Column::new((*name).into(), values))?;
    }
    Ok(sessions.join(measures.lazy(), key(), key(), JoinType::Left.into()))
}
