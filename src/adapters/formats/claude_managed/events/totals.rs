//! The running totals of a session, in the order of their times.

use super::usage::Usage;
use crate::adapters::engine::RecordErrors;
use crate::adapters::shared::at::At;
use crate::model::session::{SessionResult, Tokens, Total, Turn};

/// The totals that a log states.
#[derive(Default)]
pub(super) struct Totals {
    of_events: Vec<Total>,
    /// That of the session object.
    of_object: Option<Total>,
}

impl Totals {
    /// Adds the total of an event.
    pub(super) fn add(&mut self, usage: Option<&Usage<'_>>, key: &str, at: At, damage: &mut RecordErrors) {
        let total = usage.and_then(|usage| usage.total(key.to_owned(), damage));
        self.of_events.extend(total.map(|total| Total { line: at.line, occurred_at: at.time, ..total }));
    }

    /// Adds the total of the session object, as of the last time that it changed.
    pub(super) fn set_object(&mut self, usage: Option<&Usage<'_>>, id: &str, at: At, damage: &mut RecordErrors) {
        let total = usage.and_then(|usage| usage.total(id.to_owned(), damage));
        self.of_object =
            total.map(|total| Total { line: at.line, occurred_at: at.time, ..total }).or(self.of_object.take());
    }

    /// Moves the totals to the session, each after the responses that it contains, whatever the order of the log. One that has fallen is
    /// left out, as it counts less of the session. An object without events is left out: its file is usually beside that of the events,
    /// which do not name the session.
    pub(super) fn move_to(mut self, session: &mut SessionResult) {
        let all: Tokens = session.turns.iter().map(|turn| turn.tokens.get()).sum();
        if let Some(mut object) = self.of_object.filter(|_| session.started_at.is_some()) {
            // It may have been fetched at any time: that of a session at the end contains all responses.
            if all.fits(object.tokens()) {
                object.occurred_at = session.ended_at;
            }
            self.of_events.push(object);
        }
        self.of_events.sort_by_key(|total| (total.occurred_at, total.tokens().total()));
        let mut turns: Vec<&Turn> = session.turns.iter().map(|turn| &**turn).collect();
        turns.sort_by_key(|turn| turn.occurred_at);
        let mut turns = turns.into_iter().peekable();
        let (mut line, mut spent) = (0, Tokens::UNKNOWN);
        for mut total in self.of_events {
            while let Some(turn) = turns.next_if(|turn| turn.occurred_at <= total.occurred_at) {
                (line, spent) = (turn.line.max(line), spent.plus(turn.tokens.get()));
            }
            total.line = total.line.max(line);
            // The unit of the costs has changed.
            let totals = &mut session.totals;
            if totals.last().is_some_and(|last| total.is_below(&Total { cost: None, ..last.clone() })) {
                continue;
            }
            // That of a part of the session.
            if total.tokens().total() < spent.total() {
                total.remove_cost();
            }
            totals.push(total);
        }
    }
}
