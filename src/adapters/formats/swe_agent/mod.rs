//! Formats of SWE-agent.

pub(crate) mod trajectory;
