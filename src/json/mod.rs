//! JSON: from bytes to records.

mod error;
pub mod lines;
mod reader;
pub mod record;
pub mod scan;
pub mod wire;

pub use error::{Error, MAX_DEPTH};
pub use reader::{Both, Number, Raw, from_slice, number_at, read_into, unescape, value_at, value_end};
