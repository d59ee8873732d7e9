//! What scans of repositories found, and pull requests, beside the generations of an archive: commits do not depend on logs, so that
//! an ingest leaves them as they are.
//!
//! ```text
//! history/manifest       lists the files with their hashes, and ends in its own; replaced by one rename
//! history/N-K.facts      the history of a repository (`model::history`), or the pull requests
//! history/N-K.commits, …  the rows that follow from it, as parquet
//! ```
//!
//! N is the number of the write. Files of the manifest before the present one stay until the next write, for readers that still use
//! them.

mod manifest;
mod read;
mod write;

pub(super) use read::SCAN_AGAIN;
pub use read::{Histories, RepositoryFacts};
