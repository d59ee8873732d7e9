//! Requests of humans: from a prompt to the next one. docs/behavior.md#requests defines them, and the columns of `report requests`.
//!
//! ```text
//! read      tables -> the responses and calls of sessions
//! request   those of one session -> its requests
//! frame     the requests as rows
//! measures  the columns of the report
//! ```

mod frame;
mod measures;
mod read;
mod request;

pub(super) use frame::Requests;
pub(super) use measures::MEASURES;
