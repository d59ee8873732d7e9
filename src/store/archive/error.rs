//! What can go wrong with an archive, and damage that does not stop the work.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use polars::error::PolarsError;

use super::layout::{OLDEST_VERSION, POINTER, VERSION};
use crate::prices::ImportError;

/// How to get an archive in a directory. One with other files may be a directory of logs.
fn advice(directory: &Path) -> String {
    let has_files = fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some());
    if has_files {
        format!(
            ", but other files; if they are logs, `--logs {}` in place of --archive reads them",
            directory.display()
        )
    } else {
        format!("; make one with `agentlogs ingest PATH --archive {}`", directory.display())
    }
}

/// What can be done with an archive that cannot be written.
fn reading_advice(directory: &Path) -> &'static str {
    if directory.join(POINTER).exists() { "; reports and queries can still read it" } else { "" }
}

/// What can go wrong with an archive.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no archive in this directory.
    #[error("{}: no archive here{}", .0.display(), advice(.0))]
    Missing(PathBuf),
    /// The directory contains other files.
    #[error("{}: contains other files and no archive; name an empty directory", .0.display())]
    Foreign(PathBuf),
    /// Another version of this program wrote the archive. It is neither read nor changed.
    #[error(
        "{}: the archive has layout version {found}, this program reads versions {OLDEST_VERSION} to {VERSION}; {}",
        .path.display(),
        if *found > VERSION {
            "use a newer agentlogs"
        } else {
            "ingest the logs into a new directory (`--archive DIR`), or remove this archive first"
        }
    )]
    Version {
        /// The file that contains the version.
        path: PathBuf,
        /// The version of the archive.
        found: u32,
    },
    /// A file of the archive cannot be read or written.
    #[error("{}: {error}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Nothing can be written to the archive.
    #[error("{}: cannot write to the archive: {error}{}", .directory.display(), reading_advice(.directory))]
    NotWritable {
        /// The directory of the archive.
        directory: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file of the archive differs from what was written.
    #[error(
        "{}: the archive is damaged: {error}; `agentlogs archive check{option}` lists all damage, `agentlogs archive repair{option}` keeps what is intact",
        .path.display(),
        option = option_of(.path)
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: String,
    },
    /// No generation of the archive can be read.
    #[error(
        "{}: no generation of the archive can be read, so it cannot be repaired; \
         move the directory away and ingest the logs into a new one",
        .0.display()
    )]
    Unrepairable(PathBuf),
    /// A table of prices cannot be used.
    #[error("{}: {error}", .path.display())]
    Prices {
        /// The file.
        path: PathBuf,
        /// Why.
        error: ImportError,
    },
    /// The tables cannot be read or written.
    #[error(transparent)]
    Polars(#[from] PolarsError),
}

impl Error {
    /// Whether a newer version of this program wrote the archive.
    pub const fn is_of_newer_program(&self) -> bool {
        matches!(self, Self::Version { found, .. } if *found > VERSION)
    }

    /// For [`Result::map_err`]: an error of the file at `path`. Content that cannot be decoded is damage.
    pub(super) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |error| match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
                Self::Damaged { path, error: error.to_string() }
            }
            _ => Self::File { path, error },
        }
    }

    /// As [`Self::file`], for a file that the manifest lists: the archive is damaged if it is missing.
    pub(super) fn listed(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |error| if error.kind() == io::ErrorKind::NotFound { Self::missing(path) } else { Self::file(path)(error) }
    }

    pub(super) fn missing(path: PathBuf) -> Self {
        Self::Damaged { path, error: "the file is missing".to_owned() }
    }

    /// A file whose hash differs from the one that was stored.
    pub(super) fn changed(path: PathBuf) -> Self {
        Self::Damaged { path, error: CHANGED.to_owned() }
    }
}

/// The option that names the archive of a file, with a space before it: that of a command without one may be another archive.
fn option_of(path: &Path) -> String {
    // The pointer may be the file that is missing.
    let is_archive = |directory: &&Path| directory.join(POINTER) == path || directory.join(POINTER).exists();
    let archive = path.ancestors().skip(1).find(is_archive);
    archive.map(|archive| format!(" --archive {}", archive.display())).unwrap_or_default()
}

/// What is wrong with a file whose hash differs from the one that was stored.
pub(super) const CHANGED: &str = "the content differs from what was written";

/// Damage that does not stop the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file, or the directory of the archive.
    pub path: PathBuf,
    /// What is wrong with it, and what is done about it.
    pub what: String,
}

impl Problem {
    /// The problem that `error` is, and what is done about it.
    pub(super) fn of(error: Error, then: &str) -> Self {
        match error {
            Error::Damaged { path, error } => Self { path, what: format!("{error}; {then}") },
            Error::Prices { path, error } => Self { path, what: format!("{error}; {then}") },
            Error::File { path, error } => Self { path, what: format!("{error}; {then}") },
            Error::Version { path, found } => Self { path, what: format!("it contains version {found}; {then}") },
            other => Self { path: PathBuf::new(), what: format!("{other}; {then}") },
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.path.display(), self.what)
    }
}
