//! Formats of OpenClaw.

pub(crate) mod events;
mod jobs;
pub(crate) mod json;
pub(crate) mod session;
pub(crate) mod trajectory;
