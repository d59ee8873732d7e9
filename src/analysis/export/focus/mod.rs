//! Costs and usage by day in the columns of FOCUS, the `FinOps` Open Cost and Usage Specification: see docs/focus.md.
//!
//! ```text
//! export    the charges of an archive, and the file
//! meters    the kinds of usage, and their sums over rows of the ledger
//! charges   the rows of the file
//! makers    the provider and the maker of a model
//! unpriced  usage without a known cost
//! ```

mod charges;
mod export;
mod makers;
mod meters;
mod unpriced;

pub use export::{FOCUS_TABLES, FOCUS_VERSION, Focus};
pub use unpriced::Unpriced;
