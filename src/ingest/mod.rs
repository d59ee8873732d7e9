//! Reads all files in parallel, each through its adapter.
//!
//! ```text
//! options         what to read, and how
//! file_stamp      whether a file is unchanged, or grew
//! pipeline        discovers files, and reads those that changed
//! run             what is the same for all files of a run, and where their results go
//! read_file       opens a file, and tries again if it changes meanwhile
//! read_container  the members of a tar or zip archive
//! read_content    a log or a database to its sessions: the loop around `adapters::Driver`
//! place           what is beside a log: sidecars, journals
//! sidecars        where sidecars of a log are
//! content_hasher  hashes a file while it is read, and releases its memory
//! drift           what an adapter does not know of the logs that it reads
//! shape           keys and types of files that no format matches
//! swe_bench       verdicts in reports of SWE-bench
//! verdict_files   files of verdicts to import
//! bill_files      bills to compare with an archive
//! repositories    commits of git repositories
//! pull_requests   files of pull requests, from programs of hosting services
//! privacy         removes secrets, and the words of rejected lines
//! ```

#[cfg(feature = "archive")]
pub mod bill_files;
mod content_hasher;
pub mod drift;
mod file_stamp;
mod options;
mod pipeline;
mod place;
pub mod privacy;
#[cfg(feature = "archive")]
pub mod pull_requests;
mod read_container;
mod read_content;
mod read_file;
#[cfg(feature = "archive")]
pub mod repositories;
mod run;
pub mod shape;
mod sidecars;
mod swe_bench;
#[cfg(feature = "archive")]
pub mod verdict_files;

pub use file_stamp::FileStamp;
pub use options::Options;
pub use pipeline::{FilesToRead, PathSet, Progress, ReadSummary, find, inspect, read, read_found_into, read_into};
pub use run::{FileRead, Inspection, Sink};
