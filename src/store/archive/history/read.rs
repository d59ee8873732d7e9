//! Reads what `history/` contains.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use polars::prelude::*;
use serde::de::DeserializeOwned;

use super::manifest::{FACTS, Files, Manifest, SCANNER};
use crate::input::open::read_file;
use crate::model::history::{History, Identity};
use crate::model::repository::PullRequestRow;
use crate::store::archive::error::{Error, Problem};
use crate::store::archive::facts::codec;
use crate::store::archive::generations::Snapshot;
use crate::store::archive::layout::HISTORY;
use crate::store::archive::open::Archive;
use crate::store::archive::table_files::scan;
use crate::store::frames;

/// The size of the largest file of facts that is read, in bytes.
const MAX_FACTS: u64 = 1 << 32;

/// The scanned repositories and the pull requests of an archive.
#[derive(Debug, Clone, Default)]
pub struct Histories {
    pub(super) directory: PathBuf,
    pub(super) manifest: Manifest,
}

/// The facts of repositories, which `archive merge` adds to those of another archive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepositoryFacts {
    /// The scanned repositories.
    pub histories: Vec<History>,
    /// The imported pull requests.
    pub pull_requests: Vec<PullRequestRow>,
}

impl Archive {
    /// The scanned repositories; none if nothing was scanned yet.
    ///
    /// # Errors
    /// When their list cannot be read or is damaged.
    pub fn histories(&self) -> Result<Histories, Error> {
        Histories::read(self.directory().join(HISTORY))
    }
}

impl Snapshot {
    /// As [`Archive::histories`].
    ///
    /// # Errors
    /// Those of [`Archive::histories`].
    pub fn histories(&self) -> Result<Histories, Error> {
        Histories::read(self.directory.parent().unwrap_or(Path::new("")).join(HISTORY))
    }
}

impl Histories {
    pub(super) fn read(directory: PathBuf) -> Result<Self, Error> {
        Ok(Self { manifest: Manifest::read(&directory)?, directory })
    }

    /// What distinguishes the repositories.
    pub fn identities(&self) -> impl Iterator<Item = &Identity> {
        self.manifest.repositories.iter().map(|stored| &stored.identity)
    }

    /// The history of a repository, as far as this version of the program can continue it. Other copies of it may have been scanned
    /// before their remote was known: their histories are joined.
    ///
    /// # Errors
    /// When it cannot be read or is damaged.
    pub fn load(&self, identity: &Identity) -> Result<Option<History>, Error> {
        let mut found: Option<History> = None;
        for stored in &self.manifest.repositories {
            if !stored.identity.is_same(identity) {
                continue;
            }
            let mut history: History = self.facts(&stored.files)?;
            if stored.scanner != SCANNER {
                history.commits.clear();
                history.head = None;
            }
            match &mut found {
                Some(found) => found.add(history),
                None => found = Some(history),
            }
        }
        Ok(found)
    }

    /// The first history of a repository of this name that meets a condition.
    ///
    /// # Errors
    /// Those of [`Self::load`].
    pub fn find(&self, name: &str, is_wanted: impl Fn(&History) -> bool) -> Result<Option<History>, Error> {
        for identity in self.identities().filter(|identity| identity.repository == name) {
            if let Some(history) = self.load(identity)?.filter(&is_wanted) {
                return Ok(Some(history));
            }
        }
        Ok(None)
    }

    /// The pull requests.
    ///
    /// # Errors
    /// When they cannot be read or are damaged.
    pub fn pull_requests(&self) -> Result<Vec<PullRequestRow>, Error> {
        self.manifest.pull_requests.as_ref().map_or_else(|| Ok(Vec::new()), |files| self.facts(files))
    }

    /// All facts.
    ///
    /// # Errors
    /// When they cannot be read or are damaged.
    pub fn repositories(&self) -> Result<RepositoryFacts, Error> {
        let histories = self.manifest.repositories.iter().map(|stored| self.facts(&stored.files));
        Ok(RepositoryFacts { histories: histories.collect::<Result<_, _>>()?, pull_requests: self.pull_requests()? })
    }

    /// The content of a file of facts.
    pub(super) fn facts<T: DeserializeOwned>(&self, files: &Files) -> Result<T, Error> {
        let Some(file) = files.get(FACTS) else { return Err(Error::missing(self.directory.join(FACTS))) };
        let path = file.verified(&self.directory)?;
        let bytes = read_file(&path, MAX_FACTS).map_err(Error::listed(&path))?;
        codec::decode(&bytes).map_err(Error::file(path))
    }

    /// A table, once its files are found to be what was written.
    pub(in crate::store::archive) fn table(&self, name: &str) -> Result<LazyFrame, Error> {
        let of_repositories = self.manifest.repositories.iter().map(|stored| &stored.files);
        let files = of_repositories.chain(&self.manifest.pull_requests).filter_map(|files| files.get(name));
        let mut paths = Vec::new();
        for file in files.filter(|file| file.checksum.rows > 0) {
            paths.push(PlRefPath::try_from_path(&file.verified(&self.directory)?)?);
        }
        Ok(scan(paths, &Arc::new(frames::schema_of(name)))?)
    }

    /// Verifies all files, and decodes the facts. Returns their number, their bytes, and the damage.
    pub(in crate::store::archive) fn check(&self) -> (usize, u64, Vec<Problem>) {
        let mut problems = Vec::new();
        let mut bytes = 0;
        for file in self.manifest.files() {
            bytes += file.checksum.bytes;
            problems.extend(file.verified(&self.directory).err());
        }
        if problems.is_empty() {
            let histories = self.manifest.repositories.iter();
            problems.extend(histories.filter_map(|stored| self.facts::<History>(&stored.files).err()));
            problems.extend(self.pull_requests().err());
        }
        let problems = problems.into_iter().map(|error| Problem::of(error, SCAN_AGAIN)).collect();
        (self.manifest.files().count(), bytes, problems)
    }
}

/// What is done about damage.
pub(in crate::store::archive) const SCAN_AGAIN: &str =
    "`agentlogs archive repair` keeps what is intact; then scan the repositories again";
