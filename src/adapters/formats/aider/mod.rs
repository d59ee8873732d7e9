//! Formats of Aider.

pub(crate) mod adapters;
pub(crate) mod analytics;
pub(crate) mod chat;
pub(crate) mod llm_history;
