//! The columns that identify a session.

use crate::store::frames::sessions;

/// The columns that identify a session.
pub(in crate::analysis) const KEY: [&str; 2] = [sessions::RUNTIME, sessions::SESSION_ID];

/// Their values: the runtime and the id of a session.
pub(in crate::analysis) type Key = (String, String);

/// The column of one value that identifies the session of a row, where a measure counts sessions.
pub(in crate::analysis) const SESSION_KEY: &str = "session_key";
