//! Reports: the rows of the archive, grouped by dimensions. Local time is used from this module on.
//!
//! A report is an entry of [`REPORTS`], a dimension an entry of [`DIMENSIONS`], a measure a line of its report. Every report
//! accepts every dimension that its rows have.
//!
//! The modules, in reading order: `spec` declares what a report is and `list` contains all of them; `scope` holds the
//! filters; `rows` selects the rows, `grouping` filters them and adds dimensions, `run` aggregates and sorts.

mod answer;
mod behaviour;
pub mod cells;
mod cost;
mod dimension;
pub(crate) mod doubts;
mod error;
pub(crate) mod grouping;
mod health;
mod limits;
mod list;
mod listing;
mod lower_bound;
mod options;
mod outcomes;
mod pattern;
mod price_as;
pub(crate) mod projects;
mod quantiles;
mod rows;
mod run;
mod scope;
pub(crate) mod spec;
pub(crate) mod tables;
mod unmatched;
mod waste;

pub use answer::{Answer, LeftOut};
pub use cost::Cost;
pub use dimension::{DIMENSIONS, Dimension, is_time};
pub use doubts::content_doubts;
pub use error::Error;
pub use list::REPORTS;
pub use lower_bound::{LowerBound, is_lower_bound, lower_bound};
pub use options::Options;
pub use price_as::{PriceAs, similar_models};
pub use projects::ProjectNames;
pub use run::{find, sessions};
pub use scope::{Bound, Scope, Undated, WeekStart};
pub use spec::{Measure, Report};
pub use tables::Frames;
pub use unmatched::unmatched;
