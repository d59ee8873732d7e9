//! The tables that reports read.

use std::hash::{BuildHasher as _, Hash};

use crate::store::frames::sessions;
use foldhash::quality::FixedState;

pub use crate::store::frames::Frames;

/// The columns that identify a session.
pub(in crate::analysis) const KEY: [&str; 2] = [sessions::RUNTIME, sessions::SESSION_ID];
/// The column of one value that identifies the session of a row, where a measure counts sessions.
pub(super) const SESSION_KEY: &str = "session_key";

/// A hash that is the same in every run.
pub(in crate::analysis) fn hash_of(value: impl Hash) -> u64 {
    FixedState::default().hash_one(value)
}
