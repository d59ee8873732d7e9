//! Reports, the overview, comparisons, exports and the dashboard, and their output as text.

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
pub mod measure;
pub mod outcomes;
pub mod overview;
pub mod present;
pub mod reports;
mod requests;
pub mod rows;
pub mod shipped;
pub mod show;
mod skills;
pub mod statusline;
pub mod views;
pub mod waste;
pub mod working_directories;
