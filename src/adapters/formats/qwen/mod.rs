//! Formats of Qwen Code.

pub(crate) mod chat;
