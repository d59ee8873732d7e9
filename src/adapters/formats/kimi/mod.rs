//! Formats of Kimi.

pub(crate) mod wire;
