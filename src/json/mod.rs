//! JSON: from bytes to records.

pub mod lines;
mod reader;
pub mod scan;
pub mod wire;

pub use reader::{Both, Error, MAX_DEPTH, Number, Raw, from_slice, number_at, unescape, value_at, value_end};
