//! Compares bills with the archive: what of a bill the logs explain. docs/bill.md describes it.
//!
//! ```text
//! question  what is compared, and how
//! amounts   sums of tokens and dollars
//! key       by what both sides are grouped
//! billed    the lines of bills -> groups
//! logged    the rows of the ledger -> groups
//! row       the two sides of a group, and what they differ in
//! days      differences that the days around explain
//! compare   all of these in order
//! sums      the sums over all groups
//! frame     the groups as rows
//! ```

mod amounts;
mod billed;
mod compare;
mod days;
mod frame;
mod key;
mod logged;
mod question;
mod row;
mod sums;

pub use compare::{Bill, compare};
pub use frame::{rows, total};
pub use key::By;
pub use logged::OfOthers;
pub use question::{Question, TABLES};
pub use row::Measure;
pub use sums::Sums;
