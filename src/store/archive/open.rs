//! An archive in its directory: its pointer with the check of the version, and the lock of its writers.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::disk;
use super::error::Error;
use super::layout::{FIRST_WITH_POINTER, LOCK, NEXT, OLDEST_VERSION, POINTER, Pointer, VERSION, Version, is_next};
use crate::input::open::read_file;
use crate::prices::Entry;

/// The size of the largest pointer that is read, in bytes: it is a version, a number and a hash.
const MAX_POINTER: u64 = 1 << 16;

/// A directory that contains an archive, or will contain one.
#[derive(Debug, Clone)]
pub struct Archive {
    directory: PathBuf,
    /// See [`Self::with_prices`].
    configured_prices: Vec<Entry>,
}

/// Keeps other processes from writing the archive while it exists.
#[derive(Debug)]
pub(super) struct Lock {
    #[expect(dead_code, reason = "the lock lasts as long as the file is open")]
    file: File,
    /// Files and directories that were created for the lock, the outermost directory first.
    pub created: Vec<PathBuf>,
}

impl Archive {
    /// The archive in `directory`, which need not exist.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), configured_prices: Vec::new() }
    }

    /// The same archive, whose writers also use these prices. They take precedence over those that were imported.
    #[must_use]
    pub fn with_prices(self, entries: Vec<Entry>) -> Self {
        Self { configured_prices: entries, ..self }
    }

    /// See [`Self::with_prices`].
    pub(super) fn configured_prices(&self) -> &[Entry] {
        &self.configured_prices
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Whether the directory contains an archive, perhaps a damaged one or one of another version.
    pub fn exists(&self) -> bool {
        self.directory.join(POINTER).exists() || self.has_generations()
    }

    /// The pointer to the current generation; `None` for an archive of an earlier version, which has none.
    ///
    /// # Errors
    /// When there is no archive or one of another version, or the pointer cannot be read.
    pub(super) fn pointer(&self) -> Result<Option<Pointer>, Error> {
        let path = self.directory.join(POINTER);
        let missing = |path| {
            // A directory with generations is an archive whose pointer was lost.
            if self.has_generations() { Error::missing(path) } else { Error::Missing(self.directory.clone()) }
        };
        let bytes = match read_file(&path, MAX_POINTER) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(missing(path)),
            Err(error) => return Err(Error::File { path, error }),
        };
        let version = match serde_json::from_slice(&bytes) {
            Ok(Version { version }) => version,
            // A power cut during a first ingest can leave zeros in place of the content.
            Err(_) if bytes.iter().all(|byte| *byte == 0) => return Err(missing(path)),
            Err(error) => return Err(Error::Damaged { path, error: error.to_string() }),
        };
        if !(OLDEST_VERSION..=VERSION).contains(&version) {
            return Err(Error::Version { path, found: version });
        }
        if version < FIRST_WITH_POINTER {
            return Ok(None);
        }
        match serde_json::from_slice(&bytes) {
            Ok(pointer) if Pointer::is_plausible(&pointer) => Ok(Some(pointer)),
            Ok(_) => Err(Error::changed(path)),
            Err(error) => Err(Error::Damaged { path, error: error.to_string() }),
        }
    }

    fn has_generations(&self) -> bool {
        !self.generations().is_empty()
    }

    /// Replaces a file by one atomic rename.
    pub(super) fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let next = self.directory.join(format!("{name}.next"));
        let mut file = disk::create_or_empty(&next)?;
        file.write_all(bytes)?;
        disk::sync(&file, &next)?;
        disk::rename(&next, &self.directory.join(name))?;
        disk::sync_directory(&self.directory)
    }

    /// Whether another process writes the archive at this moment, so that [`Self::write`] has to wait.
    pub fn is_being_written(&self) -> bool {
        let lock = File::open(self.directory.join(LOCK));
        lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// Creates the directory if it is missing, and waits until no other process writes the archive.
    pub(super) fn lock(&self) -> Result<Lock, Error> {
        match self.pointer() {
            Err(Error::Missing(_)) => {
                let names: Vec<String> = fs::read_dir(&self.directory)
                    .map(|entries| {
                        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
                    })
                    .unwrap_or_default();
                // A first ingest that was interrupted leaves these.
                let is_ours =
                    |name: &str| matches!(name, LOCK | POINTER) || name == NEXT && is_next(&self.directory.join(NEXT));
                if !names.iter().all(|name| is_ours(name)) {
                    return Err(Error::Foreign(self.directory.clone()));
                }
            }
            other => drop(other?),
        }
        self.lock_directory()
    }

    /// As [`Self::lock`], for a directory that is known to belong to an archive.
    pub(super) fn lock_directory(&self) -> Result<Lock, Error> {
        let path = self.directory.join(LOCK);
        let is_new = |directory: &&Path| !directory.as_os_str().is_empty() && !directory.exists();
        let mut created: Vec<PathBuf> = self.directory.ancestors().take_while(is_new).map(Path::to_owned).collect();
        created.reverse();
        let locked = loop {
            let is_new_lock = !path.exists();
            let locked = disk::create_directory(&self.directory).and_then(|()| {
                let file = disk::open_lock(&path)?;
                file.lock()?;
                Ok(file)
            });
            // If another process removed the file that it created meanwhile (a writer that committed nothing), try again.
            if !matches!(&locked, Ok(file) if !disk::is_at(file, &path)) {
                created.extend(Some(path.clone()).filter(|_| is_new_lock));
                break locked;
            }
        };
        locked
            .map(|file| Lock { file, created })
            .map_err(|error| Error::NotWritable { directory: self.directory.clone(), error })
    }
}
