//! What is the same for all files of a run, and where their results go.

use super::drift::Drifts;
use super::file_stamp::FileStamp;
use super::options::Options;
use super::shape::Shape;
use crate::adapters::Claims;
use crate::base::time::Time;
use crate::input::git_roots::GitRoots;
use crate::model::session::SessionResult;
use crate::model::source::{Source, SourceStatus, SpilledSession};

/// Where files go that were read. A function that takes them is one.
pub trait Sink: Sync {
    /// Takes a file that was read.
    fn take(&self, source: Source);

    /// Stores sessions of the large file at a path while the rest of it is read, so that they need no memory. The source that is taken
    /// later contains what this returns; if it is never taken, the sessions are not part of any file.
    ///
    /// # Errors
    /// The sessions, if they cannot be stored.
    fn spill(&self, _path: &str, sessions: Vec<SessionResult>) -> Result<Vec<SpilledSession>, Vec<SessionResult>> {
        Err(sessions)
    }
}

impl<F: Fn(Source) + Sync> Sink for F {
    fn take(&self, source: Source) {
        self(source);
    }
}

/// A file that was read, and the formats that claim it.
#[derive(Debug)]
pub struct FileRead {
    /// The file.
    pub source: Source,
    /// The formats that claim it, the likeliest first.
    pub claims: Claims,
    /// Its shape, if `Run::inspection` asks for it.
    pub shape: Option<Shape>,
    /// What its adapter does not know, if `Run::inspection` asks for it.
    pub drift: Option<Drifts>,
}

/// What a run finds out about its files besides their sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inspection {
    /// Nothing.
    None,
    /// The shapes of files that no format matches.
    UnrecognisedShapes,
    /// The shapes of all files.
    Shapes,
    /// What the adapters do not know of each file.
    Drift,
}

impl FileRead {
    /// A file without records.
    pub fn without_claims(source: Source) -> Self {
        Self { source, claims: Claims::new(), shape: None, drift: None }
    }

    /// A file that cannot be read.
    pub fn unreadable(source: Source, message: String) -> Self {
        Self::without_claims(Source { status: SourceStatus::Unreadable, message: Some(message), ..source })
    }
}

/// Reads the files of one run. Its methods are in `read_file`, `read_container` and `read_content`.
pub struct Run<'a> {
    /// What to read, and how.
    pub options: &'a Options,
    /// See [`Options::fingerprint`].
    pub fingerprint: String,
    /// The stamps of earlier runs, by path.
    pub known: &'a (dyn Fn(&str) -> Option<FileStamp> + Sync),
    /// Takes each file that was read.
    pub emit: &'a (dyn Fn(FileRead) + Sync),
    /// What to find out besides the sessions.
    pub inspection: Inspection,
    /// The repositories around working directories on this machine.
    pub repositories: GitRoots,
    /// Stores sessions of files that are still being read; `None` keeps them in memory.
    pub spill: Option<&'a dyn Sink>,
}

impl Run<'_> {
    /// A file that is about to be read.
    pub fn source(&self, path: String, bytes: i64, modified_at: Option<Time>) -> Source {
        Source {
            path,
            host: self.options.host.clone(),
            bytes,
            modified_at,
            ingested_at: self.options.now,
            options: self.fingerprint.clone(),
            ..Source::default()
        }
    }
}
