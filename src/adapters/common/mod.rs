//! What several adapters share.

pub mod builder;
pub mod ids;
pub(super) mod shell;
pub mod tools;
