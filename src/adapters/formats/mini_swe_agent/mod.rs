//! Formats of mini-SWE-agent.

pub(crate) mod trajectory;
