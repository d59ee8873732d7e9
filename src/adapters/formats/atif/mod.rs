//! Formats of ATIF.

pub(crate) mod trajectory;
