//! Formats of Antigravity.

pub(crate) mod transcript;
