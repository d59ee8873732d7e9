//! The rules: each returns the commits in which the work of a session is found.

pub(super) mod branch;
pub(super) mod content;
pub(super) mod hash;
pub(super) mod pull_request;
pub(super) mod time;
pub(super) mod trailer;

/// Microseconds of a second, and of a day.
pub(super) const SECOND: i64 = 1_000_000;
pub(super) const DAY: i64 = 86_400 * SECOND;
/// How far the clocks of a log and of a repository may differ.
pub(super) const TOLERANCE: i64 = 120 * SECOND;
