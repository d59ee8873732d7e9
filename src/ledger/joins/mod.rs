//! Sessions that appear under several ids or runtimes: the beginning of a log whose end states the id, or that was recognised as the
//! format of another runtime, trajectories whose converter gave them an id or a runtime's name of its own, and logs that another log
//! contains. See docs/accounting.md#several-views-of-one-session.

mod contained;
mod conversions;
mod proxied;
mod runs;
mod sessions;
mod signature;

pub(super) use contained::join_contained;
pub(super) use proxied::defer_to_sessions_of_run;
pub(super) use sessions::join_sessions;
pub(super) use signature::{first_calls, global_calls, is_global, links};
