//! Formats of zag.

pub(crate) mod json;
pub(crate) mod log;
