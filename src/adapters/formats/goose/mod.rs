//! Formats of goose.

pub(crate) mod sessions;
