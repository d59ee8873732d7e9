//! One line about a running session, for the status line of Claude Code: see docs/configuration.md#status-line.
//!
//! ```text
//! input       what Claude Code writes to standard input
//! transcript  the log of the session -> its cost, the size of its context
//! usage       an archive -> the cost of today, the current window
//! cache       what was computed of an archive, until it is written again
//! line        all of that as text
//! ```

mod cache;
mod input;
mod line;
mod transcript;
mod usage;

pub use input::{Input, Limit};
pub use line::{Context, Line, Spent, WindowLeft};
pub use transcript::{Session, session};
pub use usage::{Error, Question, Usage, usage};
