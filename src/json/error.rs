//! Why bytes are not a JSON value that can be read.

use std::fmt;

use serde::de;

/// Nesting beyond this is rejected as [`Error::TooDeep`]. Real records stay under 40.
pub const MAX_DEPTH: usize = 1024;

/// Why a piece of input is not a JSON value that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The input ends inside a value.
    #[error("the value is cut short")]
    CutShort,
    /// Something that JSON does not allow stands at this byte.
    #[error("not JSON at byte {0}")]
    NotJson(usize),
    /// Brackets are nested deeper than [`MAX_DEPTH`].
    #[error("nested deeper than {MAX_DEPTH}")]
    TooDeep,
    /// A type refused a value; the types of this crate do not.
    #[error("a field could not be read")]
    Refused,
    /// A key stands twice in an object; [`from_slice`](crate::json::from_slice) takes the first.
    #[error("a key stands twice")]
    Repeated,
}

impl de::Error for Error {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::Refused
    }

    fn duplicate_field(_: &'static str) -> Self {
        Self::Repeated
    }
}
