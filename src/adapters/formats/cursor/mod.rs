//! Formats of Cursor.

pub(crate) mod stream_json;
pub(crate) mod transcript;
