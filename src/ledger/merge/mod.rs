//! Merges the parts of one session into its rows in the tables.

mod calls;
mod copies;
mod doubts;
mod limits;
mod merged_session;
mod project;
mod resolve;
mod rows;
mod session_facts;
mod session_row;

pub(super) use merged_session::MergedSession;
