//! What the rows of a question are, and what can be computed of them: used by all that reads tables. Local time is used from this
//! module on.
//!
//! ```text
//! bound        a bound of time as people write it
//! week_start   the day on which weeks begin
//! cost         the choice of --cost
//! pattern      filters with *
//! projects     names that the user gives to projects
//! report_rows  what the rows of a report are; behaviour, outcomes and waste have their own
//! measure      the columns of a report after its dimensions
//! sums         sums and counts over the rows of a group
//! session_key  the columns that identify a session
//! numbers      the numbers of sessions, by which `show` finds them
//! partitions   the rows of sessions, of which a few partitions are in memory at a time
//! sorted       rows by their sessions
//! response_times  when responses ended, and when their requests were sent
//! calls        what a tool call means
//! trials       choices about trials
//! within       how soon work is abandoned or rewritten
//! ```

mod bound;
mod calls;
mod cost;
pub(super) mod measure;
mod numbers;
mod partitions;
mod pattern;
mod projects;
mod report_rows;
mod response_times;
mod session_key;
mod sorted;
mod sums;
mod trials;
mod week_start;
mod within;

pub use bound::{Bound, Current};
pub(super) use calls::{Purpose, ToolMeanings, agent_of_call, hash_of, hash_of_agent, is_answer, needs_no_check};
pub use cost::CostBasis;
pub(super) use cost::IS_UNPRICED;
pub use measure::Measure;
pub(super) use numbers::newest_first;
pub(super) use partitions::{Find, SessionRows, for_sessions, of_partitions, take};
pub use pattern::PatternTooLong;
pub(super) use pattern::{SEPARATOR, escaped, has_entry, matches};
pub use projects::ProjectNames;
pub(super) use projects::{is_named, shown_project};
pub(super) use report_rows::{Context, Extended, NONE, ReportRows, Sessions, Table, Top, Where};
pub(super) use response_times::{end_of, pause_before, start_of};
pub(super) use session_key::{KEY, Key, SESSION_KEY, beginning_of_id, both_ends_of_id, distinct_sessions};
pub(super) use sorted::Sorted;
pub use sums::round;
pub(super) use sums::{
    calls_with_result, count_of, count_of_flag, failed_calls, known_sum, responses, sum_of, sum_where, whole,
};
pub use trials::{Judged, Unjudged};
pub use week_start::WeekStart;
pub use within::Within;

pub use crate::store::frames::Frames;
