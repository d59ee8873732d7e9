//! From paths to bytes: the only reader of logs.

pub mod containers;
pub mod database;
pub mod discover;
pub mod labels;
pub mod mapped;
pub mod open;
pub mod sidecar;
