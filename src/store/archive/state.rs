//! The current generation with its index: what is known of each source.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use super::error::Error;
use super::facts::Chunks;
use super::generations::Snapshot;
use super::hashed_file::hash;
use super::index::{self, FactsPlace, IndexEntry, Sources};
use super::layout::{FACTS, INDEX, file_of};
use super::manifest::Part;
use super::open::Archive;
use crate::input::open::{open_file, read_file};
use crate::model::source::Source;

/// The current generation with its index.
#[derive(Debug, Default)]
pub struct State {
    /// The generation; `None` if the archive is new.
    pub snapshot: Option<Snapshot>,
    /// Its sources.
    pub sources: Sources,
    /// The parts whose files of facts are known to be intact.
    pub verified: Mutex<BTreeSet<usize>>,
}

impl State {
    /// The parts of the generation.
    pub fn parts(&self) -> &[Part] {
        self.snapshot.as_ref().map_or(&[], |snapshot| &snapshot.manifest.parts)
    }

    /// The file that contains facts, once it is known to be intact, and their chunks in it.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged.
    pub fn open(&self, place: FactsPlace) -> Result<(PathBuf, File, Chunks), Error> {
        let (Some(snapshot), Some(part)) = (&self.snapshot, self.parts().get(place.part)) else {
            return Err(Error::Damaged { path: PathBuf::from(INDEX), error: "a source is in no part".to_owned() });
        };
        let path = snapshot.folder.join(file_of(&part.name, FACTS));
        let verified = || self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        if !verified().contains(&place.part) {
            part.verified_file(&snapshot.folder, FACTS)?;
            verified().insert(place.part);
        }
        let mut file = open_file(&path).map_err(Error::listed(&path))?;
        let chunks = Chunks::read(&mut file, place.offset, place.length).map_err(Error::file(&path))?;
        Ok((path, file, chunks))
    }

    /// The facts of a source.
    ///
    /// # Errors
    /// When they cannot be read or are damaged.
    pub fn load(&self, entry: &IndexEntry) -> Result<Source, Error> {
        let (path, mut file, chunks) = self.open(entry.facts)?;
        chunks.load(&mut file).map_err(Error::file(&path))
    }
}

impl Archive {
    /// The current generation with its index; empty if there is no archive yet.
    pub(super) fn state(&self) -> Result<State, Error> {
        let snapshot = match self.snapshot() {
            Ok(snapshot) => snapshot,
            Err(Error::Missing(_)) => return Ok(State::default()),
            Err(error) => return Err(error),
        };
        let sources = snapshot.sources()?;
        Ok(State { snapshot: Some(snapshot), sources, verified: Mutex::default() })
    }

    /// The facts of all sources, by path; empty if there is no archive yet.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn facts(&self) -> Result<BTreeMap<String, Source>, Error> {
        let state = self.state()?;
        state.sources.iter().map(|(path, entry)| Ok((path.clone(), state.load(entry)?))).collect()
    }

    /// [`Self::facts`] of an archive that has to exist.
    ///
    /// # Errors
    /// When there is no archive, or the facts cannot be read.
    pub fn known_facts(&self) -> Result<BTreeMap<String, Source>, Error> {
        self.snapshot()?;
        self.facts()
    }
}

impl Snapshot {
    /// The index, once it is known to be intact.
    pub(super) fn sources(&self) -> Result<Sources, Error> {
        let path = self.folder.join(INDEX);
        let bytes = read_file(&path, u64::MAX).map_err(Error::listed(&path))?;
        if hash(&bytes) != self.manifest.index {
            return Err(Error::changed(path));
        }
        index::decode(&bytes).map_err(Error::file(&path))
    }
}
