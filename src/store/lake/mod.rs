//! Lakes: directories of parquet files that other engines read in place, and that `export --as lake` writes.
//!
//! ```text
//! _manifest.json                                  all files with their sizes and checksums
//! turns/day=2026-11-20/part-0.parquet             the rows of one day in UTC, without the column `day`
//! turns/day=__HIVE_DEFAULT_PARTITION__/…          the rows without a time
//! sources/part-0.parquet                          a table without days
//! _facts/day=2026-11-20/part-0                    what `archive merge` reads: the facts of the sources of that day
//! _facts/history/part-0                           the same of a repository, and `pull_requests` next to it
//! ```
//!
//! Engines ignore names that begin with an underscore. A lake of another engine has no manifest and no facts: it is read as it is.
//!
//! The writer prepares all changed files in `_staging`, the new manifest last. From then on the lake is in the new state: a reader
//! uses a file in `_staging` if there is one, else that in its final place, and the next writer continues to move the files.

#[cfg(feature = "cloud")]
mod bucket;
mod error;
mod facts;
mod layout;
mod manifest;
mod place;
mod reader;
mod url;
mod writer;

pub use error::Error;
pub(crate) use manifest::VERSION;

pub use layout::{FACTS, FACTS_OF_REPOSITORIES, PULL_REQUESTS, PartitionBy, partition_name};
pub use reader::{Lake, LakeChecked};
pub use url::{is_url, shown};
pub use writer::{LakeWriter, Written};
