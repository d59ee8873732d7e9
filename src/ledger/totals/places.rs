//! Where the last totals of a session are.

use foldhash::HashMap;

use crate::base::time::Time;
use crate::model::session::Total;
use crate::model::tables::TurnRow;

/// The place of the last total. No total contains a response after it.
#[derive(Default)]
pub(super) struct LastTotals {
    lines: HashMap<usize, i64>,
    time: Option<Time>,
}

impl LastTotals {
    pub(super) fn add(&mut self, source: usize, total: &Total) {
        let line = self.lines.entry(source).or_default();
        *line = total.line.max(*line);
        self.time = self.time.max(total.occurred_at);
    }

    /// Whether a total can contain the response.
    pub(super) fn cover(&self, row: &TurnRow) -> bool {
        match self.lines.get(&row.source) {
            _ if row.turn.is_of_killed => false,
            Some(line) => row.turn.line <= *line,
            // The response is in another log of the session: the time decides.
            None => row.turn.occurred_at.is_none_or(|time| self.time.is_none_or(|last| time <= last)),
        }
    }
}
