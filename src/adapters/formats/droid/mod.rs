//! Formats of Droid.

pub(crate) mod session;
