//! How agents work: measures of single sessions that depend on the order of their calls. docs/behaviour.md defines them.
//!
//! [`frame`] adds the measures to sessions: `read` reads the columns that they need, `session` computes those of one
//! session.

mod changes;
pub(crate) mod frame;
mod read;
mod rows;
mod session;
mod time;

pub(super) use read::{Find, SessionRows, Sorted, for_sessions};
pub(super) use rows::Purpose;
