//! The rules: each returns the commits in which the work of a session is found.

pub(super) mod branch;
pub(super) mod content;
pub(super) mod hash;
pub(super) mod pull_request;
pub(super) mod time;
pub(super) mod trailer;

/// A second, in microseconds.
pub(super) const SECOND: i64 = 1_000_000;
/// How far the clocks of a log and of a repository may differ.
pub(super) const TOLERANCE: i64 = 120 * SECOND;
