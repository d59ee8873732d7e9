//! The tables that reports read.

use polars::prelude::*;

/// Tables by name.
pub type Frames = Vec<(&'static str, LazyFrame)>;

/// The table of that name; an empty one if it is missing.
pub(in crate::analysis) fn table(tables: &Frames, name: &str) -> LazyFrame {
    tables.iter().find(|(table, _)| *table == name).map(|(_, frame)| frame.clone()).unwrap_or_default()
}
