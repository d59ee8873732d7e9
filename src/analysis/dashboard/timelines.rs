//! The timelines of sessions: their turns, tool calls and events.
#![cfg_attr(
    not(test),
    expect(
        clippy::indexing_slicing,
        reason = "columns have the length of their frame, and indexes are those of its rows"
    )
)]

use polars::prelude::*;
use serde::Serialize;

use super::sessions::{Selection, Sessions};
use super::table::{Dictionary, Table, money, pick, texts, whole};
use super::vocabulary::Vocabulary;
use crate::store::frames::{events, tool_calls, turns};

/// The maximum number of rows of one kind in a timeline.
pub const MAX_ROWS: usize = 1_500;

/// The timelines of the page.
#[derive(Debug, Serialize)]
pub struct Timelines {
    /// A row per timeline: its session, and its number of turns, calls and events.
    timelines: Table,
    timeline_turns: Table,
    timeline_calls: Table,
    timeline_events: Table,
    /// The rows of all timelines beyond [`MAX_ROWS`].
    #[serde(skip)]
    pub omitted_rows: usize,
}

impl Timelines {
    /// The timelines of some sessions, which are sorted positions in the selection, from their turns, calls and events.
    pub fn new(
        all: &Sessions<'_>,
        selection: &Selection,
        sessions: &[usize],
        rows: &[DataFrame; 3],
        words: &Vocabulary,
    ) -> PolarsResult<Self> {
        let [turns, calls, events] = rows;
        let included = |rows: &DataFrame| Included::new(all, selection, sessions, rows);
        let (turn_rows, call_rows, event_rows) = (included(turns)?, included(calls)?, included(events)?);
        let mut timelines = Table::default();
        timelines.indexes("session", sessions.iter().copied());
        timelines.indexes("turns", turn_rows.counts.iter().copied());
        timelines.indexes("calls", call_rows.counts.iter().copied());
        timelines.indexes("events", event_rows.counts.iter().copied());
        let omitted: Vec<usize> = (0..sessions.len())
            .map(|index| turn_rows.omitted[index] + call_rows.omitted[index] + event_rows.omitted[index])
            .collect();
        timelines.indexes("left_out", omitted.iter().copied());
        let mut timeline_turns = turn_rows.table(
            turns,
            &[("model", &words.model)],
            &[
                turns::TURN,
                turns::CONTEXT_TOKENS,
                turns::OUTPUT_TOKENS,
                turns::TOTAL_TOKENS,
                turns::DURATION_MS,
                turns::IS_SUBAGENT,
            ],
            "agent",
        )?;
        timeline_turns.numbers("cost", pick(&turn_rows.rows, &money(turns, turns::COST_USD)?));
        let timeline_calls = call_rows.table(
            calls,
            &[("tool", &words.tool), ("status", &words.call_status)],
            &[turns::TURN, turns::DURATION_MS, tool_calls::RESULT_BYTES, turns::IS_SUBAGENT],
            "target",
        )?;
        let timeline_events = event_rows.table(
            events,
            &[("kind", &words.kind), ("code", &words.code)],
            &[events::TURN, events::TOKENS_BEFORE, events::TOKENS_AFTER, turns::IS_SUBAGENT],
            "message",
        )?;
        Ok(Self { timelines, timeline_turns, timeline_calls, timeline_events, omitted_rows: omitted.iter().sum() })
    }
}

/// The rows of one kind that the timelines include.
struct Included {
    /// The start of the session and the index of the row, in order.
    rows: Vec<(Option<i64>, usize)>,
    /// The number of rows of each timeline.
    counts: Vec<usize>,
    /// The number of rows of each timeline beyond [`MAX_ROWS`].
    omitted: Vec<usize>,
}

impl Included {
    fn new(all: &Sessions<'_>, selection: &Selection, sessions: &[usize], rows: &DataFrame) -> PolarsResult<Self> {
        let none = vec![0; sessions.len()];
        let mut included = Self { rows: Vec::new(), counts: none.clone(), omitted: none };
        for (session, row) in selection.rows(all, rows)? {
            let Ok(index) = sessions.binary_search(&session) else { continue };
            if included.counts[index] == MAX_ROWS {
                included.omitted[index] += 1;
            } else {
                included.counts[index] += 1;
                included.rows.push((all.started[selection.shown[session]], row));
            }
        }
        Ok(included)
    }

    /// Milliseconds since the start of the session.
    fn times(&self, frame: &DataFrame) -> PolarsResult<Vec<Option<i64>>> {
        let times = whole(frame, turns::OCCURRED_AT)?;
        Ok(self.rows.iter().map(|(start, row)| Some((times[*row]? - (*start)?).div_euclid(1000))).collect())
    }

    /// A table of the rows: their times, columns with indexes of texts, columns of numbers, and a column of texts.
    fn table(
        &self,
        frame: &DataFrame,
        words: &[(&'static str, &Dictionary)],
        numbers: &[&'static str],
        text: &'static str,
    ) -> PolarsResult<Table> {
        let mut table = Table::default();
        table.deltas("at", self.times(frame)?);
        for (name, words) in words {
            table.numbers(name, words.indexes(pick(&self.rows, &texts(frame, name)?)));
        }
        for name in numbers {
            table.numbers(name, pick(&self.rows, &whole(frame, name)?));
        }
        table.texts(text, pick(&self.rows, &texts(frame, text)?));
        Ok(table)
    }
}
