//! The rules: each returns the commits in which the work of a session is found.

pub(super) mod branch;
pub(super) mod content;
pub(super) mod hash;
pub(super) mod pull_request;
pub(super) mod time;
pub(super) mod trailer;

use crate::base::time::SECOND_MICROS;

/// How far the clocks of a log and of a repository may differ.
pub(super) const TOLERANCE: i64 = 120 * SECOND_MICROS;
