//! Evidence packs: the failures of trials with what shows them, for a person or a program that improves a prompt or a skill.
//! docs/evaluations.md#evidence-for-a-better-prompt describes them.
//!
//! ```text
//! steps       the calls of a session as steps, and where two sessions differ first
//! listed      the failed sessions as a list
//! read        the tables -> the failed sessions with their steps
//! pack        the failed sessions -> the pack, by class
//! logged      the records of a log around a line
//! markdown    the pack for people
//! ```

mod listed;
mod logged;
mod markdown;
mod pack;
mod read;
mod steps;

pub use listed::failed_sessions;
pub use pack::{Pack, Texts};
pub use read::TABLES;
