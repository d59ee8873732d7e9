//! What several adapters share.

pub mod builder;
pub(super) mod changes;
pub(super) mod chat_completions;
pub mod denials;
mod events;
mod file_changes;
pub mod ids;
pub(super) mod latency;
mod limits;
pub mod repository;
mod row_index;
pub(super) mod sessions_by_id;
mod shell;
mod status;
pub(super) mod subagents;
mod test_results;
pub mod tools;
pub(super) mod usage;
