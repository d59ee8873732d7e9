//! The measures of sessions as columns.

use std::collections::BTreeSet;

use polars::prelude::*;
use rayon::prelude::*;

use super::read::{calls, changes, turns};
use super::rows::{Call, Change, Session, Turn};
use super::session::{COLUMNS, Measures};
use crate::analysis::rows::{
    Context, Extended, Find, Frames, KEY, ReportRows, SessionRows, Sorted, for_sessions, take,
};
use crate::store::frames::{file_changes, sessions, tool_calls, turns};

/// The rows of some sessions.
#[derive(Default)]
struct BehaviourRows {
    calls: Sorted<Call>,
    turns: Sorted<Turn>,
    changes: Sorted<Change>,
}

impl BehaviourRows {
    fn read(tables: &Frames, find: Find<'_>) -> PolarsResult<Self> {
        let of_turns = turns(tables.table(turns::TABLE), find)?;
        Ok(Self {
            calls: calls(tables.table(tool_calls::TABLE), &of_turns, find)?,
            turns: of_turns,
            changes: changes(tables.table(file_changes::TABLE), find)?,
        })
    }
}

impl SessionRows for BehaviourRows {
    fn sessions(&self) -> BTreeSet<usize> {
        self.calls.sessions().chain(self.turns.sessions()).chain(self.changes.sessions()).collect()
    }
}

/// The sessions, with their measures.
#[derive(Debug)]
pub(in crate::analysis) struct Behaviour;

impl ReportRows for Behaviour {
    fn tables(&self) -> Vec<&'static str> {
        vec![sessions::TABLE, turns::TABLE, tool_calls::TABLE, file_changes::TABLE]
    }

    fn extend(&self, rows: LazyFrame, context: &Context<'_>) -> PolarsResult<Extended> {
        Ok(add_measures(rows, context.tables)?.into())
    }
}

/// Adds the columns of the measures to sessions.
pub(in crate::analysis) fn add_measures(sessions: LazyFrame, tables: &Frames) -> PolarsResult<LazyFrame> {
    let columns = KEY.into_iter().map(col);
    let columns = columns.chain([
        col(sessions::STARTED_AT).to_physical(),
        col(sessions::TOOL_CALLS),
        col(sessions::FILE_CHANGES),
    ]);
    let mut frame = sessions.clone().select(columns.collect::<Vec<_>>()).collect()?;
    // Values are read by their index.
    frame.rechunk_mut();
    let started_at = frame.column(sessions::STARTED_AT)?.i64()?;
    let (call_counts, change_counts) =
        (frame.column(sessions::TOOL_CALLS)?.i64()?, frame.column(sessions::FILE_CHANGES)?.i64()?);
    // Some logs contain only the number of calls.
    let are_shown = |count: Option<i64>, rows: usize| count.is_some_and(|count| count == 0 || rows > 0);
    let keys = frame.select(KEY)?;
    let compute = |rows: &BehaviourRows, indices: &[usize]| {
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
    let measures = for_sessions(&frame, tables, BehaviourRows::read, compute)?;
    Ok(sessions.join(measures, KEY.map(col), KEY.map(col), JoinType::Left.into()))
}
