//! Reports, the overview, comparisons, exports and the dashboard, and their output as text.
//!
//! ```text
//! rows                 what the rows of a question are, and what can be computed of them
//! selection            which rows a question is about: filters and dimensions
//!
//! agents, behaviour, failures, integrity, limits, outcomes, requests, shipped, skills, waste
//!                      rows that reports compute: each has the name of its report, or of what it measures
//! reports              groups these and the rows of tables by dimensions
//! budget               measures of reports against bounds
//! cohort               means of sessions and tests, for compare and the trends of reports
//! compare              differences of cohorts
//! bill                 bills against the archive
//!
//! show                 one session as a timeline
//! browse               sessions, timelines and reports with a cursor
//! overview             what was spent lately
//! statusline           one line about a running session
//! dashboard            the archive as one HTML file
//! evidence             what failed, for a person or a program
//! export               files of tables, lakes, trajectories, traces, costs by day
//! views                computed tables for SQL
//! present              frames as text
//!
//! throughput           how fast this machine reads logs
//! session_ends         when sessions ended
//! working_directories  where sessions ran
//! ```

mod agents;
mod behaviour;
pub mod bill;
pub mod browse;
pub mod budget;
mod cohort;
pub mod compare;
pub mod dashboard;
pub mod evidence;
pub mod export;
pub mod failures;
mod integrity;
pub mod limits;
pub mod outcomes;
pub mod overview;
pub mod present;
pub mod reports;
mod requests;
pub mod rows;
pub mod selection;
pub mod session_ends;
pub mod shipped;
pub mod show;
mod skills;
pub mod statusline;
pub mod throughput;
pub mod views;
pub mod waste;
pub mod working_directories;
