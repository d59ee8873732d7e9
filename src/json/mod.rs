//! JSON: from bytes to records.
//!
//! [`lines`] finds the records of a log, and [`parts`] those of a damaged line. [`record`](mod@record) declares what they contain, with types of [`fields`], `raw` and
//! `variants`. `deserializer` connects these declarations with `reader`, which finds tokens, and [`scan`], which skips text.

mod deserializer;
mod error;
pub mod fields;
pub(crate) mod in_place;
mod items;
pub mod lines;
mod number;
pub mod parts;
mod raw;
mod reader;
pub mod record;
pub mod scan;
mod short;
pub mod simd;
mod string;
mod structure;
mod variants;

pub use error::{Error, MAX_DEPTH};
pub use raw::{Raw, WithRaw};
pub use reader::{from_slice, read_into, value_end};
pub use short::{Inside, backslash};
pub use string::{unescape, unescape_into};
