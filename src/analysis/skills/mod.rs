//! Skills, plugins and MCP servers: how often they are used, and what that costs. docs/reports.md#skills defines the columns.
//!
//! ```text
//! unit      what a row is about: a skill, a plugin or a server
//! frame     the use of each unit in each session as rows
//! measures  the columns of `report skills`
//! ```

mod frame;
mod measures;
mod unit;

pub(super) use frame::Skills;
pub(super) use measures::{MEASURES, PASS_RATE_WITH, PASS_RATE_WITHOUT};
