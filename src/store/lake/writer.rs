//! Writes a lake: changed files only, all of them visible at once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::error::Error;
use super::layout::{LOCK, MANIFEST, PartitionBy, STAGED_MANIFEST, STAGING};
use super::manifest::{FileEntry, Manifest, VERSION};
use super::place::Place;
use crate::base::time::Day;
use crate::store::archive::{self, Checksum, HashedFile, Waited, remove_directory, sync_all};
use crate::store::frames::schema_hash;

/// Writes the next state of a lake. Only one writer of a lake exists at a time.
#[derive(Debug)]
pub struct LakeWriter {
    directory: PathBuf,
    /// Whether only the owner may read new files. Elsewhere than on Unix they have the permissions of their directory.
    #[cfg_attr(not(unix), expect(dead_code, reason = "only Unix has modes of files"))]
    is_private: bool,
    /// The manifest of the present state.
    before: Option<Manifest>,
    /// The files of the next state.
    files: BTreeMap<String, FileEntry>,
    /// Those of them that differ from the present state.
    changed: BTreeSet<String>,
    _lock: File,
}

/// What an export changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Files of the lake.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Files that were written.
    pub changed: usize,
    /// Files that were removed.
    pub removed: usize,
}

impl LakeWriter {
    /// Waits until no other process writes the lake in this directory, and completes what an interrupted process left.
    ///
    /// # Errors
    /// When the directory cannot be written, or contains links, or files of tables that are not in its manifest.
    pub fn open(directory: &Path, is_private: bool) -> Result<Self, Error> {
        fs::create_dir_all(directory).map_err(Error::file(directory))?;
        let path = directory.join(LOCK);
        // A pipe would be waited for, and a link would create a file elsewhere.
        if fs::symlink_metadata(&path).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(Error::wrong(&path, "this is not a regular file; export to another directory"));
        }
        let lock = File::options().write(true).create(true).truncate(false).open(&path).and_then(|file| {
            file.lock()?;
            Ok(file)
        });
        let lock = lock.map_err(Error::file(&path))?;
        let staging = directory.join(STAGING);
        let place = Place::Directory(directory.to_owned());
        place.check_links()?;
        move_files(directory)?;
        remove_directory(&staging).map_err(Error::file(&staging))?;
        let before = Manifest::read(&place, MANIFEST)?;
        let files = place.list("")?;
        // Engines would read them too.
        let other = before.as_ref().map_or_else(|| files.keys().next(), |manifest| manifest.find_unlisted(&files));
        if let Some(path) = other {
            let what = format!(
                "{MANIFEST} does not list this file, so that agentlogs did not write it; export to another directory, or \
                 remove the file first"
            );
            return Err(Error::wrong(&place.path_of(path), what));
        }
        let (files, changed) = (BTreeMap::new(), BTreeSet::new());
        Ok(Self { directory: directory.to_owned(), is_private, before, files, changed, _lock: lock })
    }

    /// Adds a file, unless it has no rows. `path` uses `/`, `days` are the first and the last day of the rows, `write` returns how many
    /// rows it wrote.
    ///
    /// # Errors
    /// Those of `write`, and when the file cannot be written.
    pub fn add(
        &mut self,
        path: String,
        days: Option<(Day, Day)>,
        write: impl FnOnce(&mut dyn Write) -> io::Result<usize>,
    ) -> Result<(), Error> {
        let staged = self.directory.join(STAGING).join(&path);
        let write_staged = || {
            fs::create_dir_all(staged.parent().unwrap_or(&staged))?;
            let mut file = HashedFile::over(self.create(&staged)?);
            let rows = write(&mut file)?;
            file.finish(rows)
        };
        let Checksum { bytes, hash, rows, .. } = write_staged().map_err(Error::file(&staged))?;
        if rows == 0 {
            return fs::remove_file(&staged).map_err(Error::file(&staged));
        }
        let (min_day, max_day) = days.unzip();
        let entry = FileEntry { bytes, xxh3_128: hash, rows, min_day, max_day };
        let is_unchanged = self.before.as_ref().and_then(|before| before.files.get(&path)) == Some(&entry)
            && fs::metadata(self.directory.join(&path)).is_ok_and(|metadata| metadata.len() == entry.bytes);
        if is_unchanged {
            fs::remove_file(&staged).map_err(Error::file(&staged))?;
        } else {
            self.changed.insert(path.clone());
        }
        self.files.insert(path, entry);
        Ok(())
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        let mut options = File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if self.is_private {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        options.open(path)
    }

    /// Makes the added files the content of the lake. Files of the state before that were not added again are removed.
    ///
    /// # Errors
    /// When a file cannot be written or moved. Before all files are prepared, the lake is as it was before; then it is in the new
    /// state, also if the rest fails.
    pub fn commit(mut self, partitioned_by: Option<PartitionBy>, prices: Option<Day>) -> Result<Written, Error> {
        let manifest = Manifest {
            lake: VERSION,
            written_by: concat!("agentlogs ", env!("CARGO_PKG_VERSION")).to_owned(),
            schema: schema_hash(),
            facts: archive::VERSION,
            partitioned_by,
            prices,
            files: std::mem::take(&mut self.files),
        };
        let is_gone = |path: &&String| !manifest.files.contains_key(*path);
        let written = Written {
            files: manifest.files.len(),
            bytes: manifest.files.values().map(|file| file.bytes).sum(),
            changed: self.changed.len(),
            removed: self.before.iter().flat_map(|before| before.files.keys().filter(is_gone)).count(),
        };
        let staging = self.directory.join(STAGING);
        if self.before.as_ref() != Some(&manifest) || !self.changed.is_empty() {
            let prepare = || {
                fs::create_dir_all(&staging)?;
                sync_all(|wait_for| {
                    self.changed.iter().for_each(|path| wait_for(Waited::File(staging.join(path))));
                    Ok(())
                })?;
                let next = staging.join("_manifest.next");
                let mut file = File::create(&next)?;
                file.write_all(&manifest.to_json()?)?;
                file.sync_data()?;
                fs::rename(&next, staging.join(MANIFEST))
            };
            prepare().map_err(Error::file(&staging))?;
            move_files(&self.directory)?;
        }
        remove_directory(&staging).map_err(Error::file(&staging))?;
        Ok(written)
    }
}

impl Drop for LakeWriter {
    /// Removes what was prepared and not committed.
    fn drop(&mut self) {
        let staging = self.directory.join(STAGING);
        if !staging.join(MANIFEST).exists() {
            let _ = remove_directory(&staging);
        }
    }
}

/// Moves prepared files to their places, and removes the files of the earlier state that are not in the new one. It can be repeated.
/// Does nothing if not all files are prepared.
fn move_files(directory: &Path) -> Result<(), Error> {
    let place = Place::Directory(directory.to_owned());
    let staging = directory.join(STAGING);
    let Some(manifest) = Manifest::read(&place, STAGED_MANIFEST)? else { return Ok(()) };
    for path in manifest.files.keys() {
        let (from, to) = (staging.join(path), directory.join(path));
        let is_staged = from.is_file();
        let result = if is_staged { create_parent(&to).and_then(|()| fs::rename(&from, &to)) } else { Ok(()) };
        result.map_err(Error::file(&to))?;
    }
    // A manifest that cannot be read, or that lists other files than those of a lake, lists nothing that can be removed.
    if let Ok(Some(before)) = Manifest::read(&place, MANIFEST) {
        for path in before.files.keys().filter(|path| !manifest.files.contains_key(*path)) {
            let path = directory.join(path);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::file(&path)(error)),
                _ => remove_empty_parents(&path, directory),
            }
        }
    }
    let current = directory.join(MANIFEST);
    fs::rename(staging.join(MANIFEST), &current).map_err(Error::file(&current))
}

fn create_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

/// Removes the directories around a removed file that are empty now, up to that of the lake.
fn remove_empty_parents(path: &Path, directory: &Path) {
    for parent in path.ancestors().skip(1).take_while(|parent| *parent != directory) {
        if fs::remove_dir(parent).is_err() {
            return;
        }
    }
}
