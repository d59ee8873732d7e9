//! Formats of Claude Managed Agents.

pub(crate) mod events;
