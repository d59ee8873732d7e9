//! How agents work: measures of single sessions that depend on the order of their calls. docs/behavior.md defines them.
//!
//! ```text
//! rows      the rows of one session, as far as the measures need them
//! read      tables -> rows
//! session   the rows of a session -> its measures; changes, prefill and time next to it compute
//!           single ones
//! frame     the measures as columns of sessions
//! measures  the columns of `report behavior`
//! ```

mod changes;
mod frame;
mod measures;
mod prefill;
mod read;
mod rows;
mod session;
mod time;

pub(super) use frame::{Behaviour, add_measures};
pub(super) use measures::MEASURES;
