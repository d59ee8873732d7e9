//! Formats of Harbor and Terminal-Bench.

pub(crate) mod results;
