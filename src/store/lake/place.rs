//! Where the files of a lake are: in a directory, or in a bucket of an object store.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

#[cfg(feature = "cloud")]
use super::bucket::Bucket;
use super::error::Error;
use super::layout::{FACTS, INDEX, STAGING, is_hidden};
use super::url::is_url;
use crate::input::open::read_file;
use crate::store::frames::TABLES;

/// The size of the largest manifest, in bytes. It has some 200 bytes per file.
const MAX_MANIFEST: u64 = 1 << 29;

/// Where the files of a lake are. Paths of files use `/` and begin below this place.
#[derive(Debug)]
pub enum Place {
    /// A directory of the file system.
    Directory(PathBuf),
    /// A directory of an object store.
    #[cfg(feature = "cloud")]
    Bucket(Bucket),
}

impl Place {
    /// The place of this name: a directory, or the URL of a bucket and a prefix in it.
    ///
    /// # Errors
    /// When it is a URL that cannot be read.
    pub fn open(name: &Path) -> Result<Self, Error> {
        if !is_url(name) {
            return Ok(Self::Directory(name.to_owned()));
        }
        #[cfg(feature = "cloud")]
        return Bucket::open(&name.to_string_lossy()).map(Self::Bucket);
        #[cfg(not(feature = "cloud"))]
        return Err(Error::wrong(
            name,
            "this agentlogs was built without the feature `cloud`, which reads object stores",
        ));
    }

    /// The whole path or URL of a file.
    pub fn path_of(&self, file: &str) -> PathBuf {
        match self {
            Self::Directory(directory) if file.is_empty() => directory.clone(),
            Self::Directory(directory) => directory.join(file),
            #[cfg(feature = "cloud")]
            Self::Bucket(bucket) => bucket.path_of(file),
        }
    }

    /// The content of a file; `None` if it does not exist.
    ///
    /// # Errors
    /// When it cannot be read, is not a regular file, or is larger than any manifest.
    pub fn read(&self, file: &str) -> Result<Option<Vec<u8>>, Error> {
        match self {
            Self::Directory(directory) => {
                let path = directory.join(file);
                match read_file(&path, MAX_MANIFEST) {
                    Ok(content) => Ok(Some(content)),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                    Err(error) => Err(Error::file(&path)(error)),
                }
            }
            #[cfg(feature = "cloud")]
            Self::Bucket(bucket) => bucket.read(file),
        }
    }

    /// Checks that no directory and no file of the lake, or of its staged state, is a link. A writer would replace and remove files at
    /// the other end of it.
    ///
    /// # Errors
    /// When there is a link, or a directory cannot be read.
    pub fn check_links(&self) -> Result<(), Error> {
        #[cfg_attr(not(feature = "cloud"), expect(irrefutable_let_patterns, reason = "only `cloud` has other places"))]
        let Self::Directory(directory) = self else { return Ok(()) };
        let names = || TABLES.iter().copied().chain([FACTS, INDEX]);
        let staging = directory.join(STAGING);
        let staged = std::iter::once(staging.clone()).chain(names().map(|name| staging.join(name)));
        for path in names().map(|name| directory.join(name)).chain(staged) {
            for entry in walkdir::WalkDir::new(&path).follow_root_links(false) {
                match entry {
                    Ok(entry) if entry.path_is_symlink() => {
                        let what =
                            "this is a link; a lake is written to directories of its own: export to another directory";
                        return Err(Error::wrong(entry.path(), what));
                    }
                    Ok(_) => {}
                    Err(error) if error.io_error().is_some_and(|error| error.kind() == io::ErrorKind::NotFound) => {}
                    Err(error) => return Err(Error::file(&path)(error.into())),
                }
            }
        }
        Ok(())
    }

    /// The files of tables, facts and index in this place or in a directory of it, with their sizes in bytes, except those that engines
    /// ignore. Their paths begin below that directory.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub fn list(&self, below: &str) -> Result<BTreeMap<String, u64>, Error> {
        let directory = match self {
            Self::Directory(directory) => directory.join(below),
            #[cfg(feature = "cloud")]
            Self::Bucket(bucket) => {
                let mut files = bucket.list(below)?;
                files.retain(|path, _| is_of_lake(path));
                return Ok(files);
            }
        };
        let mut files = BTreeMap::new();
        for kind in TABLES.iter().chain(&[FACTS, INDEX]) {
            for path in files_below(&directory.join(kind))? {
                let size = fs::metadata(&path).map_err(Error::file(&path))?.len();
                files.insert(path_below(&directory, &path), size);
            }
        }
        Ok(files)
    }
}

/// Whether a file belongs to a table, to the facts or to the index, and is not hidden below that.
#[cfg(feature = "cloud")]
fn is_of_lake(path: &str) -> bool {
    let Some((kind, rest)) = path.split_once('/') else { return false };
    (TABLES.contains(&kind) || [FACTS, INDEX].contains(&kind)) && !rest.split('/').any(is_hidden)
}

/// The files in a directory and those below it, except hidden ones, in order; none if it does not exist.
fn files_below(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let is_shown = |entry: &walkdir::DirEntry| entry.depth() == 0 || !is_hidden(&entry.file_name().to_string_lossy());
    let entries = walkdir::WalkDir::new(directory).follow_links(true).sort_by_file_name().into_iter();
    let mut files = Vec::new();
    for entry in entries.filter_entry(is_shown) {
        let is_missing = |error: &walkdir::Error| {
            error.depth() == 0 && error.io_error().is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
        };
        match entry {
            Ok(entry) if entry.file_type().is_file() => files.push(entry.into_path()),
            Ok(_) => {}
            Err(error) if is_missing(&error) => {}
            Err(error) => {
                let path = error.path().unwrap_or(directory).to_owned();
                return Err(Error::file(&path)(error.into()));
            }
        }
    }
    Ok(files)
}

/// The path of a file of a lake, as the manifest lists it.
fn path_below(directory: &Path, path: &Path) -> String {
    let below = path.strip_prefix(directory).unwrap_or(path);
    let names: Vec<_> = below.components().map(|name| name.as_os_str().to_string_lossy()).collect();
    names.join("/")
}
