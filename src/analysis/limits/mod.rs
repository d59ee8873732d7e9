//! The windows of subscription limits: what was used in each, how fast, and how much it will be at the end. See
//! docs/reports.md#limits.
//!
//! ```text
//! rows      columns of the tables -> turns and states of limits
//! logged    states of limits -> windows that a runtime logged
//! blocks    times of turns -> windows that no runtime logged
//! windows   all windows, with the turns in each
//! window    one window, its rates and its projection
//! ```

mod blocks;
mod logged;
mod rows;
mod window;
mod windows;

pub(super) use rows::TurnFacts;
pub use window::{Rates, Spent, Window, window_label};
pub(super) use windows::ActiveWindows;
pub use windows::windows_of;
