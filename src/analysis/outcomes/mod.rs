//! Outcomes of trials: which sessions belong to a trial, whether it passed, and what it cost. docs/verdicts.md defines them.
//!
//! ```text
//! statistics  intervals and tests
//! verdicts    the verdict that decides the outcome of each session
//! trials      sessions -> trials
//! frame       the trials as columns of sessions, for reports
//! view        the trials as a table, for SQL
//! pairs       two cohorts of trials, paired by task
//! sets        tasks to learn from, and tasks that are held out
//! front       the Pareto front of cost and quality
//! measures    the columns of `report outcomes`
//! ```

pub(crate) mod frame;
pub(crate) mod front;
mod measures;
pub(crate) mod pairs;
pub(super) mod sets;
pub mod statistics;
mod trials;
mod verdicts;
mod view;

pub(super) use frame::Outcomes;
pub(super) use measures::{Interval, MEASURES, cost_per_passed, wilson_of};
pub(super) use view::view;

pub use pairs::Tasks;

pub use crate::analysis::rows::{Judged, Unjudged};
