//! Formats of Continue.

pub(crate) mod dev_data;
pub(crate) mod session;
