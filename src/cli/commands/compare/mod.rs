//! `agentlogs compare`: compares two cohorts of sessions, or all cohorts of a dimension.
//!
//! ```text
//! filters  the filters of a cohort, as the command line describes them
//! two      two cohorts
//! notes    what a reader of two cohorts has to know
//! tasks    the tasks that were fixed, broke, are flaky or stayed
//! by       all cohorts of a dimension
//! ```

mod by;
mod filters;
pub(super) mod notes;
mod tasks;
mod two;

pub(super) use filters::cohort;
pub use two::run;
