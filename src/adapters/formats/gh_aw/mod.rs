//! Formats of GitHub Agentic Workflows.

pub(crate) mod token_usage;
