//! Formats of Droid.

mod common;
pub(crate) mod session;
pub(crate) mod stream_json;
