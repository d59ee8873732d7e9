//! Formats of Cline, Roo Code and Kilo Code.

pub(crate) mod session;
pub(crate) mod task;
