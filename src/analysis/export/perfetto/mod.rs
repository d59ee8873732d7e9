//! Sessions as a trace that Perfetto shows, in the Trace Event Format of catapult: see docs/perfetto.md.
//!
//! ```text
//! export   the sessions of an archive -> the file
//! session  a session -> its tracks and events
//! slices   what happened on the tracks of a session
//! lanes    slices that overlap, on several tracks
//! counters sums of tokens and dollars over time
//! event    an event, as the format writes it
//! tables   the columns that events are made of
//! ```

mod counters;
mod event;
mod export;
mod lanes;
mod session;
mod slices;
mod tables;

pub use export::{Timeline, Written};
