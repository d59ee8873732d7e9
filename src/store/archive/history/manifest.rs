//! The manifest of `history/`.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::input::open::read_file;
use crate::model::history::Identity;
use crate::store::archive::error::Error;
use crate::store::archive::hashed_file::{self, Checksum};
use crate::store::archive::prices::{with_hash, without_hash};

/// The version of the files.
const VERSION: u32 = 1;
/// The version of the scanner. Raised if the same commits give other histories: then they are scanned again.
pub(super) const SCANNER: u32 = 1;
/// The name of the manifest.
pub(super) const MANIFEST: &str = "manifest";
/// The kind of the file of facts; the other kinds are the names of tables.
pub(super) const FACTS: &str = "facts";
/// The size of the largest manifest that is read, in bytes.
const MAX_BYTES: u64 = 1 << 28;

/// The files of the directory.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// See [`VERSION`].
    pub version: u32,
    /// How often it was written.
    pub number: u64,
    /// The repositories.
    pub repositories: Vec<Stored>,
    /// The pull requests, if there are any.
    pub pull_requests: Option<Files>,
}

/// A repository.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Stored {
    pub identity: Identity,
    /// The version of the scanner: see `SCANNER`.
    pub scanner: u32,
    pub files: Files,
}

/// Files by their kind: [`FACTS`] or a table.
pub(super) type Files = BTreeMap<String, StoredFile>;

/// A file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct StoredFile {
    pub name: String,
    pub checksum: Checksum,
}

impl Default for Manifest {
    fn default() -> Self {
        Self { version: VERSION, number: 0, repositories: Vec::new(), pull_requests: None }
    }
}

impl Manifest {
    /// Reads the manifest of a directory; an empty one if the file does not exist.
    pub fn read(directory: &Path) -> Result<Self, Error> {
        let path = directory.join(MANIFEST);
        let bytes = match read_file(&path, MAX_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(Error::file(path)(error)),
        };
        let Some(json) = without_hash(&bytes) else { return Err(Error::changed(path)) };
        let manifest: Self = match serde_json::from_slice(json) {
            Ok(manifest) => manifest,
            Err(error) => return Err(Error::Damaged { path, error: error.to_string() }),
        };
        if manifest.version > VERSION {
            let error =
                "a newer agentlogs wrote it; use that one, or remove the directory and scan the repositories again";
            return Err(Error::File { path, error: io::Error::other(error) });
        }
        if let Some(file) = manifest.files().find(|file| !is_plain(&file.name)) {
            let error = format!("it lists the file {}, which is not in the archive", file.name);
            return Err(Error::Damaged { path, error });
        }
        Ok(manifest)
    }

    /// The text of the file.
    pub fn text(&self) -> io::Result<String> {
        Ok(with_hash(&format!("{}\n", serde_json::to_string(self)?)))
    }

    /// All files.
    pub fn files(&self) -> impl Iterator<Item = &StoredFile> {
        let of_repositories = self.repositories.iter().flat_map(|stored| stored.files.values());
        of_repositories.chain(self.pull_requests.iter().flat_map(BTreeMap::values))
    }

    /// The names of all files.
    pub fn names(&self) -> BTreeSet<&str> {
        self.files().map(|file| file.name.as_str()).chain([MANIFEST]).collect()
    }
}

/// Whether a name is that of a file in the directory.
fn is_plain(name: &str) -> bool {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
    name.starts_with(|char: char| char.is_ascii_digit()) && name.chars().all(is_plain)
}

impl StoredFile {
    /// Its path, once the content is found to be what was written.
    pub fn verified(&self, directory: &Path) -> Result<PathBuf, Error> {
        let path = directory.join(&self.name);
        let found = hashed_file::checksum(&path).map_err(Error::listed(&path))?;
        if self.checksum.is(&found) { Ok(path) } else { Err(Error::changed(path)) }
    }
}
