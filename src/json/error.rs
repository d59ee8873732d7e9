//! Why bytes cannot be parsed as a JSON value.

use std::fmt;

use serde::de;

/// Nesting beyond this is rejected as [`Error::TooDeep`]. Real records stay under 40.
pub const MAX_DEPTH: usize = 1024;

/// Why bytes cannot be parsed as a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The input ends inside a value.
    #[error("the value is cut short")]
    CutShort,
    /// JSON does not allow the byte at this position.
    #[error("not JSON at byte {0}")]
    NotJson(usize),
    /// Brackets are nested deeper than [`MAX_DEPTH`].
    #[error("nested deeper than {MAX_DEPTH}")]
    TooDeep,
    /// A type rejected a value; the types of this crate never do.
    #[error("a field could not be read")]
    Refused,
    /// An object contains a key twice; [`from_slice`](crate::json::from_slice) uses the first.
    #[error("a repeated key")]
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
