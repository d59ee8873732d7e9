//! Subagents: what each run of one cost, and what it returned. docs/behavior.md#agents defines the columns of `report agents`.
//!
//! ```text
//! read      tables -> the rows of sessions that runs are made of
//! run       those of one session -> its runs
//! frame     the runs as rows
//! measures  the columns of the report
//! ```

mod frame;
mod measures;
mod read;
mod run;

pub(super) use frame::Agents;
pub(super) use measures::MEASURES;
