//! How agents work: measures of single sessions that depend on the order of their calls. docs/behaviour.md defines them.
//!
//! [`frame`] adds the measures to sessions: `read` reads the columns that they need, `session` computes those of one
//! session.

mod changes;
pub(crate) mod frame;
mod meaning;
mod read;
mod rows;
mod session;
mod time;

pub(super) use meaning::is_answer;
pub(super) use read::{Find, SessionRows, Sorted, agent_of_call, for_sessions};
pub(super) use rows::Purpose;
