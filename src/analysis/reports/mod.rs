//! Reports: the rows of the archive, grouped by dimensions.
//!
//! A report is an entry of [`REPORTS`], a dimension an entry of [`DIMENSIONS`], a measure a line of its report. Every report
//! accepts every dimension that its rows have.
//!
//! ```text
//! spec         what a report is
//! list         all reports; formulas has formulas of their measures
//! options      what a report can be asked
//! run          a report and options -> an answer
//! groups       reports whose rows are grouped; quantiles computes some of their measures
//! own_rows     rows that are computed from tables
//! price_as     the costs at the prices of another model
//! limits       the windows of limits as a list; listing sorts lists
//! health       a list of what was not read; doubts finds sessions that break rules
//! answer       the result
//! dimensions   which reports accept a dimension
//! lower_bound  how much of a cost is a lower bound
//! unmatched    filters that match no session
//! sessions     the sessions as a list, the newest first
//! trends       when the means of sessions changed
//! tree         the sessions, each below the one that started it
//! people       the rows of an answer for people
//! cells        the aggregates of the dashboard
//! ```

mod answer;
pub mod cells;
mod dimensions;
pub(crate) mod doubts;
mod formulas;
mod groups;
mod health;
mod limits;
mod list;
mod listing;
mod lower_bound;
mod options;
mod own_rows;
mod people;
mod price_as;
mod quantiles;
mod run;
pub(crate) mod sessions;
pub(crate) mod spec;
mod tree;
mod trends;
mod unmatched;

pub use answer::Answer;
pub(super) use dimensions::with_reports;
pub use doubts::content_doubts;
pub use list::REPORTS;
pub use lower_bound::{LowerBound, Spending, is_lower_bound, lower_bound};
pub use options::Options;
pub use people::for_people;
pub use price_as::{PriceAs, similar_models};
pub use run::find;
pub use sessions::{session_list, session_rows, sessions_for_people, tables_of_sessions};
pub use spec::Report;
pub use tree::tree_for_people;
pub(super) use unmatched::label_keys;
pub use unmatched::{has_session, only_in_turns, outside_of_period, unknown_labels, unmatched, used_by_others};

pub use crate::analysis::rows::{Bound, CostBasis, Current, Frames, Measure, ProjectNames, WeekStart, Within, round};
pub use crate::analysis::selection::{
    DIMENSIONS, Dimension, Error, LeftOut, Scope, Undated, is_time, other_report, sessions, tables_of_dimension,
};
