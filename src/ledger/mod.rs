//! From the sessions of all files to tables, with costs.

pub mod costs;
mod settle;

pub use settle::{distinct, groups, links, links_of, settle, settle_into};
