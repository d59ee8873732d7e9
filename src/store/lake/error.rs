//! What can go wrong with a lake.

use std::io;
use std::path::{Path, PathBuf};

use polars::error::PolarsError;

/// What can go wrong with a lake.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read or written.
    #[error("{}: {error}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file or directory is not what a lake contains.
    #[error("{}: {what}", .path.display())]
    Wrong {
        /// The file or directory.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        what: String,
    },
    /// The tables cannot be read or written.
    #[error(transparent)]
    Polars(#[from] PolarsError),
}

impl Error {
    /// For [`Result::map_err`]: an error of the file at `path`.
    pub(super) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |error| Self::File { path, error }
    }

    pub(super) fn wrong(path: &Path, what: impl Into<String>) -> Self {
        Self::Wrong { path: path.to_owned(), what: what.into() }
    }
}
