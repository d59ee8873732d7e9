//! Formats of Harbor and Terminal-Bench.

pub(crate) mod results;
pub mod verifier;
