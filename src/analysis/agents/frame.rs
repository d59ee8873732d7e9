//! The runs of subagents as rows.

use std::collections::{BTreeSet, HashMap};

use polars::prelude::*;
use rayon::prelude::*;

use super::read::{calls, starts, turns};
use super::run::{Call, Rows, Run, Start, Started, Turn, run_of_session, runs};
use crate::analysis::rows::{
    Context, Extended, Find, Frames, KEY, ReportRows, SessionRows, Sorted, for_sessions, take,
};
use crate::store::frames::{events, sessions, tool_calls, turns};

/// Reads the value of a column.
type Value = fn(&Run) -> Option<i64>;

/// The columns of runs, apart from the name and the cost.
const COLUMNS: [(&str, Value); 6] = [
    ("run_turns", |it| it.turns),
    ("run_calls", |it| Some(it.calls)),
    ("run_tokens", |it| it.tokens),
    (tool_calls::RESULT_BYTES, |it| it.result_bytes),
    ("reads", |it| Some(it.reads)),
    ("repeated_reads", |it| Some(it.repeated_reads)),
];

/// The cost of a run.
pub(super) const RUN_COST_USD: &str = "run_cost_usd";

/// The rows of some sessions.
#[derive(Default)]
struct AgentRows {
    turns: Sorted<Turn>,
    calls: Sorted<Call>,
    starts: Sorted<Start>,
}

impl AgentRows {
    fn of(&self, session: usize) -> Rows<'_> {
        Rows { turns: self.turns.of(session), calls: self.calls.of(session), starts: self.starts.of(session) }
    }
}

impl SessionRows for AgentRows {
    /// A session without responses, whose log contains sums only, is computed with the one that started it.
    fn sessions(&self) -> BTreeSet<usize> {
        let starts = self.starts.sessions().flat_map(|session| self.starts.of(session));
        self.turns.sessions().chain(starts.filter_map(|start| start.session)).collect()
    }
}

/// The runs of subagents: those in the logs of sessions, and sessions that another one started.
#[derive(Debug)]
pub(in crate::analysis) struct Agents;

impl ReportRows for Agents {
    fn tables(&self) -> Vec<&'static str> {
        vec![sessions::TABLE, turns::TABLE, tool_calls::TABLE, events::TABLE]
    }

    fn extend(&self, rows: LazyFrame, context: &Context<'_>) -> PolarsResult<Extended> {
        let columns = KEY.into_iter().chain([sessions::PARENT_SESSION_ID, sessions::AGENT]).map(col);
        // Of all sessions: the parent of a session in scope may be outside of it.
        let all = context.tables.table(sessions::TABLE);
        let mut frame = all.select(columns.collect::<Vec<_>>()).collect()?;
        // Values are read by their index.
        frame.rechunk_mut();
        let texts = |name: &str| frame.column(name).and_then(|column| column.str());
        let (runtimes, ids) = (texts(sessions::RUNTIME)?, texts(sessions::SESSION_ID)?);
        let (parents, names) = (texts(sessions::PARENT_SESSION_ID)?, texts(sessions::AGENT)?);
        let positions: HashMap<(Option<&str>, Option<&str>), usize> =
            (0..frame.height()).map(|row| ((runtimes.get(row), ids.get(row)), row)).collect();
        let parent_of = |row: usize| positions.get(&(runtimes.get(row), parents.get(row))).copied();
        let keys = frame.select(KEY)?;
        let read = |tables: &Frames, find: Find<'_>| {
            Ok(AgentRows {
                turns: turns(tables.table(turns::TABLE), context.cost, find)?,
                calls: calls(tables.table(tool_calls::TABLE), find)?,
                starts: starts(tables.table(events::TABLE), find)?,
            })
        };
        let compute = |rows: &AgentRows, indices: &[usize]| {
            // The rows of linked sessions are in the same partition.
            let with_parents: BTreeSet<usize> =
                indices.iter().copied().chain(indices.iter().filter_map(|row| parent_of(*row))).collect();
            let started: HashMap<usize, Started<'_>> =
                with_parents.into_par_iter().map(|row| (row, Started::of(rows.of(row)))).collect();
            let of_session = |row: &usize| -> Vec<(usize, Run)> {
                let own = rows.of(*row);
                let as_run = parent_of(*row)
                    .and_then(|parent| started.get(&parent))
                    .and_then(|parent| run_of_session(ids.get(*row).unwrap_or_default(), names.get(*row), own, parent));
                let runs = started.get(row).map(|started| runs(own, started)).unwrap_or_default();
                as_run.into_iter().chain(runs).map(|run| (*row, run)).collect()
            };
            let found: Vec<(usize, Run)> = indices.par_iter().flat_map_iter(of_session).collect();
            let mut frame = take(&keys, found.iter().map(|(row, _)| *row))?;
            for (name, value) in COLUMNS {
                let values: Vec<_> = found.iter().map(|(_, run)| value(run)).collect();
                frame.with_column(Column::new(name.into(), values))?;
            }
            let costs: Vec<_> = found.iter().map(|(_, run)| run.cost_usd).collect();
            frame.with_column(Column::new(RUN_COST_USD.into(), costs))?;
            // The name of the subagent replaces that of the main agent.
            let names: Vec<Option<&str>> = found.iter().map(|(_, run)| run.name.as_deref()).collect();
            frame.with_column(Column::new(sessions::AGENT.into(), names))?;
            Ok(frame)
        };
        let found = for_sessions(&frame, context.tables, read, compute)?;
        let rows = rows.drop(cols([sessions::AGENT]));
        Ok(rows.join(found, KEY.map(col), KEY.map(col), JoinType::Inner.into()).into())
    }
}
