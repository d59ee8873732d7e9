//! Where and when the totals of a session were stated.

use std::collections::BTreeMap;

use crate::base::time::Time;
use crate::model::session::Total;
use crate::model::tables::TurnRow;

/// The places of all totals of a session. No total contains a response after the last one.
#[derive(Default)]
pub(super) struct TotalPlaces {
    /// The time of each total, by file and line. Of totals on one line it is that of the last one.
    times: BTreeMap<(usize, i64), Option<Time>>,
    /// The time of the last total in any file.
    last: Option<Time>,
}

impl TotalPlaces {
    pub(super) fn add(&mut self, source: usize, total: &Total) {
        let time = self.times.entry((source, total.line)).or_default();
        *time = total.occurred_at.max(*time);
        self.last = self.last.max(total.occurred_at);
    }

    /// The last total of a file that has no time was stated when the file ended.
    pub(super) fn end_file(&mut self, source: usize, ended_at: Option<Time>) {
        if let Some((_, time)) = self.times.range_mut((source, i64::MIN)..=(source, i64::MAX)).next_back() {
            *time = time.or(ended_at);
        }
    }

    /// Whether a total can contain the response.
    pub(super) fn cover(&self, row: &TurnRow) -> bool {
        let is_before =
            |last: Option<Time>| row.turn.occurred_at.is_none_or(|time| last.is_none_or(|last| time <= last));
        match self.times.range((row.source, i64::MIN)..=(row.source, i64::MAX)).next_back() {
            _ if row.turn.is_of_killed => false,
            // Records may share a line: the time decides.
            Some(((_, line), last)) => row.turn.line < *line || row.turn.line == *line && is_before(*last),
            // The response is in another log of the session.
            None => is_before(self.last),
        }
    }

    /// The day of the next total that can contain the response, in its file; `None` if the lines do not show it.
    pub(super) fn next_day(&self, row: &TurnRow) -> Option<i32> {
        let mut next = self.times.range((row.source, row.turn.line)..=(row.source, i64::MAX));
        let ((_, line), time) = next.find(|(_, time)| time.is_some())?;
        let is_on_one_line = *line == row.turn.line && row.turn.occurred_at.is_some();
        time.filter(|_| !is_on_one_line).map(Time::day)
    }
}
