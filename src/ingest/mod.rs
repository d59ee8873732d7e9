//! Reads all files in parallel, each through its adapter.

mod behind;
mod pipeline;
pub mod privacy;

pub use pipeline::{Claims, Options, Progress, Sink, Stamp, Taken, look, read, read_into};
