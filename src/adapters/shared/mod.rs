//! What several adapters share.

pub(crate) mod at;
pub(crate) mod blocks;
pub mod builder;
mod call_index;
mod calls;
pub(crate) mod changed_lines;
pub(crate) mod changes;
pub(crate) mod chat_completions;
pub mod denials;
mod events;
pub(crate) mod file_changes;
pub(crate) mod history;
pub mod ids;
pub(crate) mod latency;
mod limits;
pub(crate) mod names;
mod offer;
pub mod repository;
mod row_index;
mod shell;
mod signs;
mod skills;
mod status;
pub(crate) mod subagents;
mod test_results;
pub mod tools;
pub(crate) mod usage;
