//! `agentlogs check`: whether measures exceed bounds, or sessions became worse than those of a baseline.
//!
//! ```text
//! bounds    bounds of the command line or of budgets
//! baseline  the sessions of a period or of another archive
//! ```

mod baseline;
mod bounds;

pub use bounds::run;
