//! Formats of Kiro.

pub(crate) mod adapters;
pub(crate) mod conversation;
pub(crate) mod messages;
pub(crate) mod tools;
