//! Formats of pi.

pub(crate) mod common;
pub(crate) mod json;
pub(crate) mod session;
pub(crate) mod subagent;
