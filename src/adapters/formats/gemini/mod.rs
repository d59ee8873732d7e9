//! Formats of Gemini CLI.

pub(crate) mod chat;
mod counts;
pub(crate) mod json;
pub(crate) mod project_root;
