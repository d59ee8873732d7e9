//! Types of fields. Each accepts any JSON value and keeps only what it can use.
//!
//! A record is a struct of these, declared by [`record!`](crate::json::record) or with `#[serde(default)]`: a value of another
//! type, a missing member or an unknown one never makes a record unreadable.

mod content;
mod scalar;

pub use content::{Pairs, TextOrBlocks};
pub use scalar::{Count, Flag, Maybe, Number, Text, When};

pub use super::raw::LazyText;
pub(crate) use super::variants::by_type;
