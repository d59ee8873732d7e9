//! Totals that logs state, against the responses: see docs/accounting.md#totals-against-turns.

mod agents;
mod matching;
mod model_name;
mod model_sum;
mod others;
mod places;
mod processes;
mod remainder;
mod remainders;
mod running_total;
mod runs;
mod saved;
mod stated;
mod thread_steps;

pub(super) use stated::{FileTotals, StatedTotals};
