//! What several adapters share.

pub mod builder;
mod shell;
pub mod tools;
