//! Why a repository was not scanned.

use std::path::{Path, PathBuf};

/// Why a repository was not scanned.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no repository.
    #[error("{}: no git repository here", .0.display())]
    Missing(PathBuf),
    /// A file of it is a named pipe or a device.
    #[error("{}: a named pipe or a device, which would block a scan; its repository is not scanned", .0.display())]
    Special(PathBuf),
    /// It is of a kind that cannot be read.
    #[error("{}: a repository with {what} is not supported", .path.display())]
    Unsupported {
        /// Its directory.
        path: PathBuf,
        /// What it has.
        what: &'static str,
    },
    /// It cannot be read.
    #[error("{}: the repository cannot be read: {error}", .path.display())]
    Unreadable {
        /// Its directory.
        path: PathBuf,
        /// Why.
        error: String,
    },
}

impl Error {
    pub(super) fn unreadable(path: &Path, error: &dyn std::error::Error) -> Self {
        Self::Unreadable { path: path.to_owned(), error: error.to_string() }
    }
}
