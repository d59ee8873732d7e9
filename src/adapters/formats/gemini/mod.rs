//! Formats of Gemini CLI.

pub(crate) mod chat;
pub(crate) mod json;
pub(crate) mod project_root;
