//! Which generation of an archive is the current one, and how a reader keeps a generation from being removed.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::disk;
use super::error::Error;
use super::layout::{CURRENT, MANIFEST, POINTER, Pointer, name_of, number_of};
use super::manifest::{Manifest, Sums};
use super::open::Archive;
use crate::base::time::Day;
use crate::input::open::open_file;

/// The generation that readers use.
pub(super) struct Current {
    /// Its directory.
    pub directory: PathBuf,
    /// The hash of its manifest, if the pointer contains it.
    manifest: Option<String>,
}

impl Current {
    /// Whether this is its manifest, as far as is known.
    pub fn is_described_by(&self, manifest: &Manifest) -> bool {
        self.manifest.as_ref().is_none_or(|hash| *hash == manifest.hash)
    }
}

/// One state of an archive, which no writer removes while this value exists.
#[derive(Debug)]
pub struct Snapshot {
    /// The directory of the generation.
    pub(super) directory: PathBuf,
    pub(super) manifest: Manifest,
    /// A shared lock on the manifest: see [`remove_unless_read`]. `None` if the caller keeps the generation from being removed.
    _lock: Option<File>,
}

impl Snapshot {
    /// A generation of a damaged archive, which the caller keeps from being removed.
    pub(super) fn of(directory: PathBuf, manifest: Manifest) -> Self {
        Self { directory, manifest, _lock: None }
    }

    /// The day of the prices that its tables are computed with.
    pub fn priced_with(&self) -> Option<Day> {
        self.manifest.prices
    }
}

/// How often a reader tries again because a writer removed the generation that it was about to open.
const TRIES: usize = 20;

impl Archive {
    /// The current state of the archive.
    ///
    /// # Errors
    /// When there is no archive, one of another version, or a damaged one.
    pub fn snapshot(&self) -> Result<Snapshot, Error> {
        let mut tries = 1..TRIES;
        loop {
            match self.open_current() {
                Err(Error::File { error, .. }) if error.kind() == io::ErrorKind::NotFound && tries.next().is_some() => {
                }
                Err(Error::File { path, error }) if error.kind() == io::ErrorKind::NotFound => {
                    return Err(Error::missing(path));
                }
                other => return other,
            }
        }
    }

    /// The sums of its tables.
    ///
    /// # Errors
    /// Those of [`Self::snapshot`].
    pub fn sums(&self) -> Result<Sums, Error> {
        Ok(self.snapshot()?.manifest.sums())
    }

    /// Identifies the current state: it changes with every write. Unlike [`Self::snapshot`], it reads only the pointer. `None` if there
    /// is not an archive.
    ///
    /// # Errors
    /// When the archive has another version, or the pointer cannot be read.
    pub fn stamp(&self) -> Result<Option<String>, Error> {
        let current = match self.current() {
            Ok(Some(current)) => current,
            Ok(None) | Err(Error::Missing(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let path = current.directory.join(MANIFEST);
        let metadata = fs::metadata(&path).map_err(Error::listed(&path))?;
        let modified = metadata.modified().map_err(Error::file(&path))?;
        let modified = modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        // An archive that was made again has the same generations.
        Ok(Some(format!("{} {} {}", current.directory.display(), metadata.len(), modified.as_nanos())))
    }

    fn open_current(&self) -> Result<Snapshot, Error> {
        let Some(current) = self.current()? else {
            return Err(Error::Missing(self.directory().to_owned()));
        };
        let path = current.directory.join(MANIFEST);
        let file = open_file(&path).map_err(Error::file(&path))?;
        match file.try_lock_shared() {
            // Some network file systems have no locks: there a slow reader may find its files removed.
            Ok(()) | Err(TryLockError::Error(_)) => {}
            // A writer is removing it.
            Err(TryLockError::WouldBlock) => return Err(Error::File { path, error: io::ErrorKind::NotFound.into() }),
        }
        // Read after the lock: if it can still be read, it was not removed before.
        let manifest = Manifest::read(&path)?;
        if !current.is_described_by(&manifest) {
            return Err(Error::changed(self.directory().join(POINTER)));
        }
        Ok(Snapshot { directory: current.directory, manifest, _lock: Some(file) })
    }

    /// The current generation; `None` before the first one.
    ///
    /// # Errors
    /// When there is no archive or one of another version, or the pointer cannot be read.
    pub(super) fn current(&self) -> Result<Option<Current>, Error> {
        let Some(pointer) = self.pointer()? else {
            let directory = self.current_by_link()?;
            return Ok(directory.map(|directory| Current { directory, manifest: None }));
        };
        let directory = self.directory().join(name_of(pointer.generation));
        Ok((pointer.generation > 0).then_some(Current { directory, manifest: Some(pointer.manifest) }))
    }

    /// The generations in the directory with their numbers, the newest last.
    pub(super) fn generations(&self) -> Vec<(u64, PathBuf)> {
        let entries = fs::read_dir(self.directory()).into_iter().flatten().flatten();
        let generation = |entry: fs::DirEntry| {
            let path = entry.path();
            let name = entry.file_name();
            // A copy that followed links may contain no other directory than `current` itself.
            let number = match number_of(name.to_str()?) {
                None if name == CURRENT && entry.file_type().ok()?.is_dir() => {
                    Manifest::read(&path.join(MANIFEST)).ok()?.generation
                }
                number => number?,
            };
            path.is_dir().then_some((number, path))
        };
        let mut found: Vec<_> = entries.filter_map(generation).collect();
        // `current` sorts before the `generation-N` that it is a copy of.
        found.sort();
        found
    }

    /// Makes a generation the current one: the only step that changes what readers see.
    pub(super) fn make_current(&self, manifest: &Manifest) -> io::Result<()> {
        self.replace(POINTER, &Pointer::new(manifest.generation, manifest.hash.clone()).json())?;
        self.link_current(manifest.generation);
        Ok(())
    }

    /// Points the link `current` to the current generation, for programs that read its parquet files. Nothing here reads the link. It
    /// is removed where it cannot be replaced, because those programs would read an earlier state.
    pub(super) fn link_current(&self, generation: u64) {
        let (path, name) = (self.directory().join(CURRENT), name_of(generation));
        if fs::read_link(&path).is_ok_and(|target| target == Path::new(&name)) && disk::uses_links(&path) {
            return;
        }
        let next = self.directory().join("current.next");
        let replace = || {
            let _ = disk::remove_file(&next);
            if fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir()) {
                // A copy of the archive that followed the link. A link cannot be renamed over a directory.
                disk::remove_directory(&path)?;
            }
            disk::link_directory(&next, &name)?;
            #[cfg(windows)]
            // There a link to a directory cannot be renamed over another one.
            let _ = disk::remove_file(&path);
            disk::rename(&next, &path)
        };
        if replace().is_err() {
            let _ = disk::remove_file(&path);
        }
    }
}

/// Removes a generation, unless a [`Snapshot`] of it exists. What cannot be removed is left for the next writer.
pub(super) fn remove_unless_read(directory: &Path) {
    let lock = open_file(&directory.join(MANIFEST)).map(|file| file.try_lock().map(|()| file));
    if !matches!(lock, Ok(Err(TryLockError::WouldBlock))) {
        let _ = disk::remove_directory(directory);
    }
}
