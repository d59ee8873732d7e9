//! Files of verdicts to import: CSV, JSON Lines, JUnit XML, reports of SWE-bench, results of terminal-bench and Harbor.
//! See docs/verdicts.md.

mod content;
mod fields;
mod junit;
mod read;
mod table;

pub use read::{Defaults, Read, VerdictFile, read};
