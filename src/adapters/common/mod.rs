//! What several adapters share.

pub mod builder;
mod changes;
mod events;
pub mod ids;
mod row_index;
pub(super) mod shell;
mod status;
pub mod tools;
