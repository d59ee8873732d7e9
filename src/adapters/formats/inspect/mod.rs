//! Formats of Inspect.

pub(crate) mod log;
