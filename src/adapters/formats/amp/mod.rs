//! Formats of Amp.

pub(crate) mod thread;
