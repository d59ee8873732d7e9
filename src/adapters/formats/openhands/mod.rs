//! Formats of OpenHands.

pub(crate) mod adapters;
pub(crate) mod completions;
pub(crate) mod conversation;
pub(crate) mod evaluation;
pub(crate) mod events;
pub(crate) mod records;
