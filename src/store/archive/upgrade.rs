//! How archives of earlier versions are read, so that the next write upgrades them.
//!
//! Version 6 differs from version 7 in what names the current generation: the link `current`, on Windows a file that contains the
//! name. Version 8 added the table `verdicts`, which is empty in archives of earlier versions. Version 9 has an index for each part; before,
//! one file was the index of all parts, and links were in its entries. Version 10 added the end of a response to the facts. Facts and index
//! are decoded as they are: fields that were added since have their defaults.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::error::Error;
use super::layout::{CURRENT, INDEX, MANIFEST, file_of, number_of};
use super::manifest::Manifest;
use super::open::Archive;

impl Archive {
    /// The current generation of an archive of version 6. Where `current` is missing or a directory, as in copies that drop or
    /// follow symbolic links, it is the newest generation; `None` if there is no generation.
    pub(super) fn current_by_link(&self) -> Result<Option<PathBuf>, Error> {
        let path = self.directory().join(CURRENT);
        let metadata = match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => return self.newest("it is a directory, not a link"),
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return self.newest("it is missing"),
            Err(error) => return Err(Error::File { path, error }),
        };
        let name = if metadata.is_symlink() {
            fs::read_link(&path).map(|name| name.to_string_lossy().into_owned())
        } else {
            fs::read_to_string(&path)
        };
        let name = name.map_err(Error::file(&path))?;
        if number_of(&name).is_some() {
            return Ok(Some(self.directory().join(name)));
        }
        Err(Error::Damaged { path, error: format!("it points to {name}, which is not a generation of this archive") })
    }

    /// The newest generation, if it is complete.
    fn newest(&self, why: &str) -> Result<Option<PathBuf>, Error> {
        let Some((_, directory)) = self.generations().pop() else { return Ok(None) };
        let is_complete =
            Manifest::read(&directory.join(MANIFEST)).is_ok_and(|manifest| has_all_files(&directory, &manifest));
        if is_complete {
            return Ok(Some(directory));
        }
        let name = directory.file_name().unwrap_or_default().display();
        let error = format!("{why}, and {name}, the newest generation, is not complete");
        Err(Error::Damaged { path: self.directory().join(CURRENT), error })
    }
}

/// Whether all files of a generation exist, with their lengths.
fn has_all_files(directory: &Path, manifest: &Manifest) -> bool {
    let length = |name: &str| {
        fs::metadata(directory.join(name)).ok().filter(fs::Metadata::is_file).map(|metadata| metadata.len())
    };
    let mut files = manifest.parts.iter().flat_map(|part| part.files.iter().map(move |file| (part, file)));
    (manifest.index.is_none() || length(INDEX).is_some())
        && files.all(|(part, (kind, checksum))| length(&file_of(&part.name, kind)) == Some(checksum.bytes))
}
