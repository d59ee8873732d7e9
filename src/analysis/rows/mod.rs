//! Which rows of the tables a question is about, and what can be computed of them: used by all that reads tables. Local time is used
//! from this module on.
//!
//! ```text
//! scope        the filters
//! bound        a bound of time as people write it; edges are the points in time of a scope's bounds
//! week_start   the day on which weeks begin
//! cost         the choice of --cost
//! dimension    the names by which rows are grouped and filtered
//! pattern      filters with *
//! projects     names that the user gives to projects
//! report_rows  what the rows of a report are; behaviour, outcomes and waste have their own
//! grouping     the rows in scope, with their dimensions
//! left_out     rows without a time that a scope excludes
//! measure      the columns of a report after its dimensions
//! sums         sums and counts over the rows of a group
//! session_key  the columns that identify a session
//! partitions   the rows of sessions, of which a few partitions are in memory at a time
//! sorted       rows by their sessions
//! calls        what a tool call means
//! trials       choices about trials
//! within       how soon work is abandoned or rewritten
//! error        why a report cannot be run
//! ```

mod bound;
mod calls;
mod cost;
mod dimension;
mod edges;
mod error;
mod grouping;
mod left_out;
pub(super) mod measure;
mod partitions;
mod pattern;
mod projects;
mod report_rows;
mod scope;
mod session_key;
mod sorted;
mod sums;
mod trials;
mod week_start;
mod within;

pub use bound::{Bound, Current};
pub(super) use calls::{Purpose, ToolMeanings, agent_of_call, hash_of, is_answer, needs_no_check};
pub use cost::Cost;
pub use dimension::tables_of_dimension;
pub use dimension::{DIMENSIONS, Dimension, is_time};
pub(super) use dimension::{LABEL, NONE, order_of};
pub use error::Error;
pub(super) use error::names;
pub(super) use grouping::Grouping;
pub use grouping::sessions;
pub use left_out::LeftOut;
pub use measure::Measure;
pub(super) use partitions::{Find, SessionRows, for_sessions, take};
pub(super) use pattern::matches;
pub use projects::ProjectNames;
pub(super) use projects::shown_project;
pub(super) use report_rows::{Context, Extended, ReportRows, Sessions, Table, Top, Where};
pub use scope::{Scope, Undated};
pub(super) use session_key::{KEY, Key, SESSION_KEY, distinct_sessions};
pub(super) use sorted::Sorted;
pub use sums::round;
pub(super) use sums::{count_of, count_of_flag, known_sum, sum_of, sum_where};
pub use trials::{Judged, Unjudged};
pub use week_start::WeekStart;
pub use within::Within;

pub use crate::store::frames::Frames;
