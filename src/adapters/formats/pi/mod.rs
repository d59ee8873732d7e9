//! Formats of pi.

mod approvals;
pub(crate) mod common;
pub(crate) mod counts;
pub(crate) mod json;
mod ledger;
mod openclaw_prompts;
pub(crate) mod session;
mod spent;
pub(crate) mod subagent;
