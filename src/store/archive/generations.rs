//! Which generation of an archive is the current one, and how a reader keeps a generation from being removed.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::disk;
use super::error::{Error, Problem};
use super::layout::{CURRENT, INDEX, MANIFEST, file_of, number_of};
use super::manifest::{Manifest, Sums};
use super::open::Archive;
use crate::base::time::Day;

/// The generation that readers use.
pub(super) struct Current {
    /// Its directory.
    pub folder: PathBuf,
    /// What is wrong with the link `current`, if another rule had to choose the generation.
    pub problem: Option<Problem>,
}

/// One state of an archive, which no writer removes while this value exists.
#[derive(Debug)]
pub struct Snapshot {
    /// The directory of the generation.
    pub(super) folder: PathBuf,
    pub(super) manifest: Manifest,
    /// What is wrong with the link to it.
    pub(super) problem: Option<Problem>,
    /// A shared lock on the manifest: see [`remove_unless_read`].
    _lock: File,
}

impl Snapshot {
    /// A generation of a damaged archive, which the caller keeps from being removed. `file` is the name of a file or directory in it
    /// that exists.
    pub(super) fn of(folder: PathBuf, manifest: Manifest, file: &str) -> Result<Self, Error> {
        let path = folder.join(file);
        let file = File::open(&path).map_err(Error::file(&path))?;
        Ok(Self { folder, manifest, problem: None, _lock: file })
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

    /// The day of the prices that its tables are computed with.
    ///
    /// # Errors
    /// Those of [`Self::snapshot`].
    pub fn priced_with(&self) -> Result<Option<Day>, Error> {
        Ok(self.snapshot()?.priced_with())
    }

    /// The sums of its tables.
    ///
    /// # Errors
    /// Those of [`Self::snapshot`].
    pub fn sums(&self) -> Result<Sums, Error> {
        Ok(self.snapshot()?.manifest.sums())
    }

    /// Identifies the current state: it changes with every write. Unlike [`Self::snapshot`], it reads no file. `None` if there is no
    /// archive.
    pub fn stamp(&self) -> Option<String> {
        let folder = self.current().ok()??.folder;
        let manifest = fs::metadata(folder.join(MANIFEST)).ok()?;
        let modified = manifest.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        // An archive that was made again has the same generations.
        Some(format!("{} {} {}", folder.file_name()?.to_str()?, manifest.len(), modified.as_nanos()))
    }

    fn open_current(&self) -> Result<Snapshot, Error> {
        self.check_version()?;
        let Some(Current { folder, problem }) = self.current()? else {
            return Err(Error::Missing(self.folder().to_owned()));
        };
        let path = folder.join(MANIFEST);
        let file = File::open(&path).map_err(Error::file(&path))?;
        match file.try_lock_shared() {
            // Some network file systems have no locks: there a slow reader may find its files removed.
            Ok(()) | Err(TryLockError::Error(_)) => {}
            // A writer is removing it.
            Err(TryLockError::WouldBlock) => return Err(Error::File { path, error: io::ErrorKind::NotFound.into() }),
        }
        // Read after the lock: if it can still be read, it was not removed before.
        let manifest = Manifest::read(&path)?;
        Ok(Snapshot { folder, manifest, problem, _lock: file })
    }

    /// The generation that `current` names. Where `current` is missing or a directory, as in copies that drop or follow symbolic
    /// links, it is the newest generation; `None` if there is no generation.
    pub(super) fn current(&self) -> Result<Option<Current>, Error> {
        let path = self.folder().join(CURRENT);
        let metadata = match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => return self.newest("it is a directory, not a link"),
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return self.newest("it is missing"),
            Err(error) => return Err(Error::File { path, error }),
        };
        // Windows has a regular file that contains the name in place of a link.
        let name =
            if metadata.is_symlink() { fs::read_link(&path) } else { fs::read(&path).map(|name| path_of(&name)) };
        let name = name.map_err(Error::file(&path))?;
        if name.to_str().and_then(number_of).is_some() {
            return Ok(Some(Current { folder: self.folder().join(name), problem: None }));
        }
        let error = format!("it points to {}, which is not a generation of this archive", name.display());
        Err(Error::Damaged { path, error })
    }

    /// The newest generation, if it is complete.
    fn newest(&self, why: &str) -> Result<Option<Current>, Error> {
        let path = self.folder().join(CURRENT);
        let Some((_, folder)) = self.generations().pop() else { return Ok(None) };
        let name = folder.file_name().unwrap_or_default().display();
        let is_complete =
            Manifest::read(&folder.join(MANIFEST)).is_ok_and(|manifest| has_all_files(&folder, &manifest));
        if !is_complete {
            return Err(Error::Damaged { error: format!("{why}, and {name} is not complete"), path });
        }
        let what = format!("{why}; {name}, the newest generation, is used");
        Ok(Some(Current { folder, problem: Some(Problem { path, what }) }))
    }

    /// The generations in the directory with their numbers, the newest last.
    pub(super) fn generations(&self) -> Vec<(u64, PathBuf)> {
        let entries = fs::read_dir(self.folder()).into_iter().flatten().flatten();
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
    pub(super) fn make_current(&self, name: &str) -> io::Result<()> {
        let (path, next) = (self.folder().join(CURRENT), self.folder().join("current.next"));
        let _ = disk::remove_file(&next);
        if fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir()) {
            // A link cannot be renamed over a directory. Without `current` the newest generation is the current one.
            disk::remove_folder(&path)?;
        }
        disk::point(&next, name)?;
        disk::rename(&next, &path)?;
        disk::sync_folder(self.folder())
    }
}

/// Removes a generation, unless a [`Snapshot`] of it exists. What cannot be removed is left for the next writer.
pub(super) fn remove_unless_read(folder: &Path) {
    let lock = File::open(folder.join(MANIFEST)).map(|file| file.try_lock().map(|()| file));
    if !matches!(lock, Ok(Err(TryLockError::WouldBlock))) {
        let _ = disk::remove_folder(folder);
    }
}

fn path_of(name: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(name).into_owned())
}

/// Whether all files of a generation exist, with their lengths.
fn has_all_files(folder: &Path, manifest: &Manifest) -> bool {
    let length =
        |name: &str| fs::metadata(folder.join(name)).ok().filter(fs::Metadata::is_file).map(|metadata| metadata.len());
    let mut files = manifest.parts.iter().flat_map(|part| part.files.iter().map(move |file| (part, file)));
    length(INDEX).is_some()
        && files.all(|(part, (kind, checksum))| length(&file_of(&part.name, kind)) == Some(checksum.bytes))
}
