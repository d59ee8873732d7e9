//! Formats of GitHub Copilot.

pub(crate) mod chat;
pub(crate) mod events;
