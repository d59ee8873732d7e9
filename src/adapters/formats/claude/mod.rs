//! Formats of Claude Code.

pub(crate) mod common;
pub(crate) mod stream_json;
pub(crate) mod transcript;
