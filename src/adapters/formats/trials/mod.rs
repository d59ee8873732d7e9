//! Formats of trials of Harbor and Terminal-Bench.

pub(crate) mod results;
