//! What several adapters share.

pub mod builder;
pub(super) mod changes;
pub mod ids;
mod shell;
pub(super) mod subagents;
pub mod tools;
pub(super) mod usage;
