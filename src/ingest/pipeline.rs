//! The pipeline of a run: discovers the files, skips those that are unchanged, and reads the others in parallel, the largest
//! first.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use foldhash::{HashSet, HashSetExt as _};
use rayon::prelude::*;
use twox_hash::XxHash3_64;

use super::file_stamp::{FileStamp, hash_of_options};
use super::options::Options;
use super::read_file::{Finished, fingerprint_of, size};
use super::run::{FileRead, Inspection, Run, Sink};
use crate::input::discover::{self, Found, discover};
use crate::input::git_roots::GitRoots;
use crate::input::open;
use crate::model::source::{Source, SourceStatus, path_text};

#[cfg(test)]
mod tests;

/// How far a run has come. A progress bar reads it while the run writes it.
#[derive(Debug, Default)]
pub struct Progress {
    /// Files that were found.
    pub files: AtomicU64,
    /// Their bytes on disk.
    pub bytes: AtomicU64,
    /// Files that were read or skipped.
    pub files_done: AtomicU64,
    /// Their bytes on disk.
    pub bytes_done: AtomicU64,
}

impl Progress {
    fn start(&self, found: &[Found]) {
        self.files.store(found.len() as u64, Ordering::Relaxed);
        self.bytes.store(found.iter().map(|file| file.bytes).sum(), Ordering::Relaxed);
    }

    fn add(&self, file: &Found, bytes: u64) {
        self.files_done.fetch_add(1, Ordering::Relaxed);
        self.bytes_done.fetch_add(bytes, Ordering::Relaxed);
        if file.is_stream {
            // The size of a stream is not known before it is read.
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }
}

/// Paths of files. It contains only their hashes, as there may be millions.
#[derive(Debug, Default)]
pub struct PathSet(HashSet<u64>);

impl PathSet {
    /// Adds a path.
    pub fn insert(&mut self, path: &str) {
        self.0.insert(Self::hash(path));
    }

    /// Whether a path was added.
    pub fn contains(&self, path: &str) -> bool {
        self.0.contains(&Self::hash(path))
    }

    /// Whether no path was added.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn hash(path: &str) -> u64 {
        XxHash3_64::oneshot(path.as_bytes())
    }
}

impl<'a> FromIterator<&'a str> for PathSet {
    fn from_iter<I: IntoIterator<Item = &'a str>>(paths: I) -> Self {
        Self(paths.into_iter().map(Self::hash).collect())
    }
}

/// What a run read.
#[derive(Debug, Default)]
pub struct ReadSummary {
    /// The files, unless they went to a sink: see [`read_into`].
    pub sources: Vec<Source>,
    /// The paths of all files that were read.
    pub read: PathSet,
    /// The paths of files that are unchanged: what an earlier run read of them is still true.
    pub unchanged: BTreeSet<String>,
    /// Paths that could not be read.
    pub errors: Vec<discover::Error>,
}

/// Reads all logs at and below the roots. `known` contains the stamps of earlier runs, by path: a file of the same size and
/// time that was read with the same options by the same version is skipped.
pub fn read(options: &Options, known: &BTreeMap<String, FileStamp>, progress: &Progress) -> ReadSummary {
    let sources = Mutex::new(Vec::new());
    let sink = |source| sources.lock().unwrap_or_else(PoisonError::into_inner).push(source);
    let mut taken = read_into(options, |path| known.get(path), progress, &sink);
    taken.sources = sources.into_inner().unwrap_or_else(PoisonError::into_inner);
    taken.sources.sort_by(|a, b| a.path.cmp(&b.path));
    taken
}

/// The files that a run found, changed and unchanged ones.
#[derive(Debug)]
pub struct FilesToRead {
    found: Vec<Found>,
    errors: Vec<discover::Error>,
}

/// Finds the files at and below the roots.
pub fn find(options: &Options) -> FilesToRead {
    let (mut found, errors) = discover(&options.roots, options.except.as_deref());
    found.retain(|file| file.modified_at.is_none() || file.modified_at >= options.written_since);
    FilesToRead { found, errors }
}

/// As [`read`], but passes each file to `sink` as soon as it is read, in any order, so that they are never all in memory.
pub fn read_into<'a>(
    options: &Options,
    known: impl Fn(&str) -> Option<&'a FileStamp> + Sync,
    progress: &Progress,
    sink: &impl Sink,
) -> ReadSummary {
    read_found_into(find(options), options, known, progress, sink)
}

/// As [`read_into`], for files that [`find`] found with the same options.
pub fn read_found_into<'a>(
    files: FilesToRead,
    options: &Options,
    known: impl Fn(&str) -> Option<&'a FileStamp> + Sync,
    progress: &Progress,
    sink: &impl Sink,
) -> ReadSummary {
    let FilesToRead { found, mut errors } = files;
    progress.start(&found);
    let read = Mutex::new(PathSet(HashSet::new()));
    let emit = |file: FileRead| {
        read.lock().unwrap_or_else(PoisonError::into_inner).insert(&file.source.path);
        sink.take(file.source);
    };
    let known = |path: &str| known(path).cloned();
    let run = Run {
        options,
        fingerprint: options.fingerprint(),
        known: &known,
        emit: &emit,
        repositories: GitRoots::default(),
        inspection: Inspection::None,
        spill: Some(sink),
    };
    let (mut unchanged, mut changed) = (Vec::new(), Vec::new());
    for file in found {
        let path = path_text(&file.path);
        if (run.known)(&path).is_some_and(|stamp| is_unchanged(&file, &stamp, &run.fingerprint)) {
            progress.add(&file, file.bytes);
            unchanged.push(path);
        } else {
            changed.push(file);
        }
    }
    // The largest first: a large file that comes last keeps one core busy while the others wait.
    changed.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.path.cmp(&b.path)));
    let unread: Vec<discover::Error> = changed
        .into_par_iter()
        .with_max_len(1)
        .filter_map(|file| {
            let finished = run.read_file(&file);
            progress.add(&file, if file.is_stream { finished.bytes } else { file.bytes });
            unread(&file, finished)
        })
        .collect();
    open::drop_buffers();
    errors.extend(unread);
    let read = read.into_inner().unwrap_or_else(PoisonError::into_inner);
    // The paths are sorted, so the set is built in one pass.
    ReadSummary { sources: Vec::new(), read, unchanged: unchanged.into_iter().collect(), errors }
}

fn is_unchanged(file: &Found, stamp: &FileStamp, options: &str) -> bool {
    // A file that could not be read may be readable now.
    stamp.status != SourceStatus::Unreadable
        && !file.is_stream
        && stamp.bytes == size(file)
        && stamp.modified_at == file.modified_at
        && stamp.options == hash_of_options(&fingerprint_of(file, options))
}

/// Reads the files at and below a path as [`read`] does, and returns each with the formats that claim it and what `inspection`
/// asks for.
pub fn inspect(path: &Path, options: &Options, inspection: Inspection) -> (Vec<FileRead>, Vec<discover::Error>) {
    let (found, mut errors) = discover(&[path.to_owned()], None);
    let inspect = |file: &Found| {
        let files = Mutex::new(Vec::new());
        let emit = |read: FileRead| {
            files.lock().unwrap_or_else(PoisonError::into_inner).push(read);
        };
        let run = Run {
            options,
            fingerprint: options.fingerprint(),
            known: &|_| None,
            emit: &emit,
            repositories: GitRoots::default(),
            inspection,
            spill: None,
        };
        let finished = run.read_file(file);
        let mut files = files.into_inner().unwrap_or_else(PoisonError::into_inner);
        files.sort_by(|a, b| a.source.path.cmp(&b.source.path));
        (files, unread(file, finished))
    };
    let read: Vec<_> = found.par_iter().map(inspect).collect();
    let mut all = Vec::new();
    for (files, unread) in read {
        all.extend(files);
        errors.extend(unread);
    }
    (all, errors)
}

/// An error if a path of the command line cannot be read. Files below a directory are only counted.
fn unread(file: &Found, finished: Finished) -> Option<discover::Error> {
    let error = finished.error.filter(|_| file.is_named)?;
    Some(discover::Error::Unreadable { path: file.path.clone(), error })
}
