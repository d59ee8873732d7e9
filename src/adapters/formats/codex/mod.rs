//! Formats of Codex.

pub(crate) mod common;
pub(crate) mod counts;
pub(crate) mod exec;
pub(crate) mod exec_legacy;
pub(crate) mod rollout;
pub(crate) mod session;
