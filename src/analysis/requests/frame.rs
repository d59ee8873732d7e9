//! The requests of sessions as rows.

use std::collections::BTreeSet;

use polars::prelude::*;
use rayon::prelude::*;

use super::read::{calls, compactions, turns};
use super::request::{Call, Compaction, Request, Turn, requests};
use crate::analysis::rows::{
    Context, Extended, Find, Frames, KEY, ReportRows, SessionRows, Sorted, for_sessions, take,
};
use crate::store::frames::{events, sessions, tool_calls, turns};

/// Reads the value of a column.
type Value = fn(&Request) -> Option<i64>;

/// The columns of requests, apart from their cost.
const COLUMNS: [(&str, Value); 7] = [
    ("steps", |it| Some(it.steps)),
    ("subagent_turns", |it| Some(it.subagent_turns)),
    ("calls", |it| Some(it.calls)),
    ("edits", |it| it.edits),
    ("request_duration_ms", |it| it.duration_ms),
    ("tokens", |it| it.tokens),
    ("answered", |it| Some(i64::from(it.is_answered))),
];

/// The cost of a request.
pub(super) const REQUEST_COST_USD: &str = "request_cost_usd";

/// The rows of some sessions.
#[derive(Default)]
struct Rows {
    turns: Sorted<Turn>,
    calls: Sorted<Call>,
    compactions: Sorted<Compaction>,
}

impl SessionRows for Rows {
    fn sessions(&self) -> BTreeSet<usize> {
        self.turns.sessions().collect()
    }
}

/// The requests of the sessions whose calls are shown.
#[derive(Debug)]
pub(in crate::analysis) struct Requests;

impl ReportRows for Requests {
    fn tables(&self) -> Vec<&'static str> {
        vec![sessions::TABLE, turns::TABLE, tool_calls::TABLE, events::TABLE]
    }

    fn extend(&self, rows: LazyFrame, context: &Context<'_>) -> PolarsResult<Extended> {
        let columns = KEY.into_iter().chain([sessions::TOOL_CALLS]).map(col).collect::<Vec<_>>();
        let mut frame = rows.clone().select(columns).collect()?;
        // Values are read by their index.
        frame.rechunk_mut();
        let call_counts = frame.column(sessions::TOOL_CALLS)?.i64()?;
        let keys = frame.select(KEY)?;
        let read = |tables: &Frames, find: Find<'_>| {
            Ok(Rows {
                turns: turns(tables.table(turns::TABLE), context.cost, find)?,
                calls: calls(tables.table(tool_calls::TABLE), find)?,
                compactions: compactions(tables.table(events::TABLE), find)?,
            })
        };
        let compute = |rows: &Rows, indices: &[usize]| {
            let of_session = |index: &usize| -> Vec<(usize, Request)> {
                let calls = rows.calls.of(*index);
                // Without calls it is unknown which responses are answers. Some logs contain only the number of calls.
                let shows_calls = call_counts.get(*index).is_some_and(|count| count == 0 || !calls.is_empty());
                if !shows_calls {
                    return Vec::new();
                }
                let found = requests(rows.turns.of(*index), calls, rows.compactions.of(*index));
                found.into_iter().map(|request| (*index, request)).collect()
            };
            let found: Vec<(usize, Request)> = indices.par_iter().flat_map_iter(of_session).collect();
            let mut frame = take(&keys, found.iter().map(|(index, _)| *index))?;
            for (name, value) in COLUMNS {
                let values: Vec<_> = found.iter().map(|(_, request)| value(request)).collect();
                frame.with_column(Column::new(name.into(), values))?;
            }
            let costs: Vec<_> = found.iter().map(|(_, request)| request.cost_usd).collect();
            frame.with_column(Column::new(REQUEST_COST_USD.into(), costs))?;
            Ok(frame)
        };
        let found = for_sessions(&frame, context.tables, read, compute)?;
        Ok(rows.join(found, KEY.map(col), KEY.map(col), JoinType::Inner.into()).into())
    }
}
