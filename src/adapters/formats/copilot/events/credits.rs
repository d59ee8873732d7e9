//! The sum of AI credits that a log of Copilot CLI states from time to time.

use crate::adapters::engine::RecordErrors;
use crate::adapters::shared::ai_credits::{NANO_CREDITS_PER_DOLLAR, counted};
use crate::json::fields::Number;

/// The credits of a session.
#[derive(Debug, Default)]
pub(super) struct Credits {
    /// The sum of all processes, in billionths of a credit.
    sum: f64,
    /// The counter when it was last stated.
    counter: f64,
    /// Whether the runtime writes checkpoints, from which the counter of the next process goes on.
    has_checkpoints: bool,
}

impl Credits {
    /// What the session cost so far, in US dollars.
    pub(super) fn cost(&self) -> Option<f64> {
        (self.sum > 0.0).then_some(self.sum / NANO_CREDITS_PER_DOLLAR)
    }

    /// A checkpoint of the counter.
    pub(super) fn checkpoint(&mut self, counter: Number, damage: &mut RecordErrors) {
        self.has_checkpoints = true;
        self.advance(counter, true, damage);
    }

    /// The counter at the end of a process, which has the counts of the process before if it `goes_on`.
    pub(super) fn shutdown(&mut self, counter: Number, goes_on: bool, damage: &mut RecordErrors) {
        self.advance(counter, goes_on || self.has_checkpoints, damage);
    }

    fn advance(&mut self, counter: Number, goes_on: bool, damage: &mut RecordErrors) {
        // A process that asked nothing states 0.
        let Some(counter) = counted(counter, damage).filter(|counter| *counter > 0.0) else { return };
        let before = if goes_on && counter >= self.counter { self.counter } else { 0.0 };
        self.sum += counter - before;
        self.counter = counter;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_goes_on_or_begins_again() {
        enum Stated {
            Checkpoint,
            End,
            EndOfMore,
        }
        use Stated::{Checkpoint, End, EndOfMore};
        for (steps, cents) in [
            (&[(Checkpoint, 1.0), (Checkpoint, 3.0), (End, 3.0)][..], 3.0),
            // Processes of versions without checkpoints begin at 0, unless their counts show otherwise.
            (&[(End, 3.0), (End, 4.0)][..], 7.0),
            (&[(End, 3.0), (EndOfMore, 4.0)][..], 4.0),
            (&[(End, 3.0), (End, 0.0), (EndOfMore, 4.0)][..], 4.0),
            // A process that was killed, and the next one.
            (&[(Checkpoint, 3.0), (Checkpoint, 5.0), (End, 5.0)][..], 5.0),
            (&[(Checkpoint, 3.0), (Checkpoint, 1.0), (End, 2.0)][..], 5.0),
        ] {
            let (mut credits, mut damage) = (Credits::default(), RecordErrors::default());
            for (stated, cents) in steps {
                let counter = Number(Some(cents * 1e9));
                match stated {
                    Checkpoint => credits.checkpoint(counter, &mut damage),
                    End => credits.shutdown(counter, false, &mut damage),
                    EndOfMore => credits.shutdown(counter, true, &mut damage),
                }
            }
            assert_eq!(credits.cost(), Some(cents / 100.0));
        }
        assert_eq!(Credits::default().cost(), None);
    }
}
