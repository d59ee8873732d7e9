//! What several adapters share.

pub mod builder;
pub(super) mod shell;
pub mod tools;
