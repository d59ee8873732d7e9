//! Formats of Drover.

pub(crate) mod events;
