//! A run that changes an archive: what it adds, and the next generation that it writes.
//!
//! [`Writer`] stages sources (`sink` and `stage`, with the `spool` on the disk). [`Writer::commit`] decides which parts change (`plan`, `verify`),
//! divides their sources into parts of about the same size (`batches`), writes the parts (`commit`), and makes the generation the
//! current one (`finish`).

mod api;
mod batches;
mod commit;
mod finish;
mod places;
mod plan;
mod sink;
mod spool;
mod stage;
mod verify;

pub use api::{PartsWritten, Writer, Written};
pub use commit::reconciled_with;
