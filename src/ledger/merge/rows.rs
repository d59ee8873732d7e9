//! The rows of a merged session in the tables.

use std::mem;

use super::limits::changes_of;
use super::merged_session::MergedSession;
use super::resolve::{
    drop_echoes, find_agent_types, find_turns_of_calls, find_turns_of_events, name_agents_of_calls, name_the_model,
};
use super::session_row::session_row;
use crate::base::rows::Rows;
use crate::ledger::totals::StatedTotals;
use crate::model::session::{Capabilities, MatchedBy, Turn, Verdict};
use crate::model::tables::{CallRow, ChangeRow, EventRow, Grain, LimitRow, Tables, TurnRow, VerdictRow};

impl MergedSession {
    /// Adds the rows of the session to the tables.
    pub(in crate::ledger) fn add_to_tables(mut self, tables: &mut Tables) {
        name_agents_of_calls(&mut self);
        drop_echoes(&mut self);
        find_turns_of_calls(&mut self);
        find_turns_of_events(&mut self.events, &self.calls);
        find_agent_types(&mut self);
        name_the_model(&mut self);

        let session = tables.sessions.len();
        let order = TurnOrder::of(&self.turns);
        let mut rows = self.take_turn_rows(session, &order);
        let recorded: Vec<(usize, usize)> =
            self.recorded.iter().map(|(source, turn)| (*source, order.index(*turn))).collect();
        let totals = StatedTotals::of_files(mem::take(&mut self.totals), &mut rows, &recorded);
        let verdicts = mem::take(&mut self.facts.session.verdicts);
        let is_conflict = totals.add_remainders(&mut rows, session, &self.facts.session);
        let first_caller = self.calls.first().and_then(|(_, call)| order.number(call.turn));
        tables.sessions.push(session_row(&mut self, &rows, &totals, is_conflict, first_caller));
        add_turns(tables, rows);
        add_verdicts(tables, session, verdicts);
        self.add_other_rows(tables, session, &order);
    }

    fn take_turn_rows(&mut self, session: usize, order: &TurnOrder) -> Vec<TurnRow> {
        let mut call_counts = Rows::from(vec![0; self.turns.len()]);
        for turn in self.calls.iter().filter_map(|(_, call)| call.turn) {
            call_counts[turn] += 1;
        }
        let shows_calls = self.facts.session.capabilities.has(Capabilities::TOOL_CALLS);
        let mut turns: Rows<Option<_>> = mem::take(&mut self.turns).into_iter().map(Some).collect();
        let mut rows: Vec<TurnRow> = Vec::with_capacity(turns.len());
        rows.extend(order.indexes.iter().filter_map(|index| {
            let (source, turn) = turns[*index].take()?;
            let tool_calls = shows_calls.then_some(call_counts[*index]);
            let number = order.number(Some(*index));
            Some(TurnRow { number, tool_calls, ..TurnRow::new(session, source, Grain::Turn, turn) })
        }));
        rows
    }

    /// Adds changes, calls, events and limits.
    fn add_other_rows(self, tables: &mut Tables, session: usize, order: &TurnOrder) {
        let calls = &self.calls;
        tables.file_changes.extend(self.changes.into_iter().map(|(source, change)| {
            let call = change.call.map(|call| &calls[call].1);
            let turn = order.number(call.and_then(|call| call.turn));
            ChangeRow { session, source, turn, call_id: call.map(|call| call.call_id.clone()), change }
        }));
        tables.tool_calls.extend(self.calls.into_iter().map(|(source, call)| {
            let turn = order.number(call.turn);
            CallRow { session, source, turn, call }
        }));
        tables.events.extend(self.events.into_iter().map(|(source, event)| {
            let turn = order.number(event.turn);
            EventRow { session, source, turn, event }
        }));
        let limits = changes_of(self.limits).into_iter();
        tables.limits.extend(limits.map(|(source, limit)| LimitRow { session, source, limit }));
    }
}

/// Adds the judgements that a session's own files contain.
fn add_verdicts(tables: &mut Tables, session: usize, verdicts: Vec<Verdict>) {
    let Some(row) = tables.sessions.get(session) else { return };
    tables.verdicts.extend(verdicts.into_iter().map(|verdict| VerdictRow {
        session_id: Some(row.session.session_id.clone()),
        runtime: Some(row.session.runtime.clone().into_owned()),
        matched_by: Some(MatchedBy::Sidecar),
        source: row.source,
        verdict,
    }));
}

/// Adds the rows of one session to `turns`.
fn add_turns(tables: &mut Tables, mut rows: Vec<TurnRow>) {
    let first = tables.turns.len();
    for row in &mut rows {
        row.covered_by = row.covered_by.map(|index| index + first);
    }
    // A single session passes its rows on without copying them.
    if tables.turns.is_empty() && tables.turns.capacity() < rows.len() {
        tables.turns = rows;
    } else {
        tables.turns.append(&mut rows);
    }
}

/// The turns of a session by time, then in the order of the log. A turn without a time follows the turn before it.
struct TurnOrder {
    /// Indexes of the turns in their order.
    indexes: Vec<usize>,
    /// The number of each turn, from 1.
    numbers: Rows<i64>,
}

impl TurnOrder {
    fn of(turns: &Rows<(usize, Box<Turn>)>) -> Self {
        let mut last_time = None;
        let times: Rows<_> = turns
            .iter()
            .map(|(_, turn)| {
                last_time = turn.occurred_at.or(last_time);
                last_time
            })
            .collect();
        let mut indexes: Vec<usize> = (0..turns.len()).collect();
        indexes.sort_by_key(|index| times[*index]);
        let mut numbers = Rows::from(vec![0; indexes.len()]);
        for (number, index) in (1..).zip(&indexes) {
            numbers[*index] = number;
        }
        Self { indexes, numbers }
    }

    /// The index of a turn's row.
    fn index(&self, turn: usize) -> usize {
        usize::try_from(self.numbers[turn] - 1).unwrap_or_default()
    }

    /// The number of a turn.
    fn number(&self, turn: Option<usize>) -> Option<i64> {
        turn.map(|index| self.numbers[index])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::time::Time;

    #[test]
    fn turns_are_numbered_by_time() {
        let cases: [(&[Option<i64>], &[i64]); 4] = [
            (&[], &[]),
            (&[Some(2), Some(1), Some(3)], &[2, 1, 3]),
            (&[Some(1), Some(1)], &[1, 2]),
            // A turn without a time follows the turn before it.
            (&[None, Some(5), None, Some(3)], &[1, 3, 4, 2]),
        ];
        for (times, expected) in cases {
            let turn = |time: &Option<i64>| Turn { occurred_at: time.map(Time::from_micros), ..Turn::default() };
            let turns = times.iter().map(|time| (0, Box::new(turn(time)))).collect();
            assert_eq!(TurnOrder::of(&turns).numbers, Rows::from(expected.to_vec()), "{times:?}");
        }
    }
}
