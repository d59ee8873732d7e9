//! Formats of Hermes.

pub(crate) mod sessions;
