//! The current generation with the indexes of its parts: what is known of each source.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;

use rayon::prelude::*;

use super::error::Error;
use super::facts::{self, Chunks};
use super::generations::Snapshot;
use super::hashed_file::hash;
use super::index::{self, FactsPlace, IndexEntry, Sources};
use super::layout::{FACTS, INDEX, file_of};
use super::manifest::Part;
use super::open::Archive;
use crate::input::open::{open_file, read_file};
use crate::model::source::Source;

/// The current generation with its sources.
#[derive(Debug, Default)]
pub struct State {
    /// The generation; `None` if the archive is new.
    pub snapshot: Option<Snapshot>,
    /// Its sources.
    pub sources: Sources,
}

impl State {
    /// The parts of the generation.
    pub fn parts(&self) -> &[Part] {
        self.snapshot.as_ref().map_or(&[], |snapshot| &snapshot.manifest.parts)
    }

    /// See [`Snapshot::open_facts`].
    ///
    /// # Errors
    /// When the file cannot be read or the facts are damaged.
    pub fn open(&self, place: FactsPlace) -> Result<(PathBuf, File, Chunks), Error> {
        self.snapshot.as_ref().ok_or_else(in_no_part)?.open_facts(place)
    }

    /// The facts of a source.
    ///
    /// # Errors
    /// When they cannot be read or are damaged.
    pub fn load(&self, entry: &IndexEntry) -> Result<Source, Error> {
        self.snapshot.as_ref().ok_or_else(in_no_part)?.load_facts(entry.facts)
    }

    /// The links of all sources of the part at this position.
    ///
    /// # Errors
    /// When the index of the part cannot be read or is damaged.
    pub fn links_of(&self, position: usize) -> Result<Vec<u64>, Error> {
        let (snapshot, part) = self.snapshot.as_ref().zip(self.parts().get(position)).ok_or_else(in_no_part)?;
        snapshot.links_of(part)
    }
}

fn in_no_part() -> Error {
    Error::Damaged { path: PathBuf::from(INDEX), error: "a source is in no part".to_owned() }
}

impl Archive {
    /// The current generation with its sources; empty if there is no archive yet.
    pub(super) fn state(&self) -> Result<State, Error> {
        let snapshot = match self.snapshot() {
            Ok(snapshot) => snapshot,
            Err(Error::Missing(_)) => return Ok(State::default()),
            Err(error) => return Err(error),
        };
        let sources = snapshot.sources()?;
        Ok(State { snapshot: Some(snapshot), sources })
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
    /// The file that contains the facts of a source, once these are known to be intact, and their chunks in it. They are compared with
    /// their own checksum, as new files are made of them.
    ///
    /// # Errors
    /// When the file cannot be read or the facts are damaged.
    fn open_facts(&self, place: FactsPlace) -> Result<(PathBuf, File, Chunks), Error> {
        let part = self.manifest.parts.get(place.part).ok_or_else(in_no_part)?;
        let path = self.directory.join(file_of(&part.name, FACTS));
        let mut file = open_file(&path).map_err(Error::listed(&path))?;
        let checksum = facts::checksum_at(&mut file, place.offset, place.length).map_err(Error::file(&path))?;
        if checksum != place.checksum {
            return Err(Error::changed(path));
        }
        let chunks = Chunks::read(&mut file, place.offset, place.length).map_err(Error::file(&path))?;
        Ok((path, file, chunks))
    }

    /// The facts of a source, if they are intact, whatever became of the others in their file.
    ///
    /// # Errors
    /// When they cannot be read or are damaged.
    pub(super) fn load_facts(&self, place: FactsPlace) -> Result<Source, Error> {
        let (path, mut file, chunks) = self.open_facts(place)?;
        chunks.load(&mut file).map_err(Error::file(&path))
    }

    /// All sources, once the indexes are known to be intact.
    pub(super) fn sources(&self) -> Result<Sources, Error> {
        if let Some(expected) = &self.manifest.index {
            let path = self.directory.join(INDEX);
            let bytes = read_file(&path, u64::MAX).map_err(Error::listed(&path))?;
            if hash(&bytes) != *expected {
                return Err(Error::changed(path));
            }
            return Ok(index::decode(&bytes).map_err(Error::file(&path))?.into_iter().collect());
        }
        let parts = self.manifest.parts.par_iter().enumerate();
        let sources = parts.map(|(position, part)| self.sources_of(position, part)).collect::<Result<Vec<_>, _>>()?;
        Ok(sources.into_iter().flatten().collect())
    }

    /// The sources of the part at this position in the manifest: see [`index::read`].
    ///
    /// # Errors
    /// When the index cannot be read or is damaged.
    pub(super) fn sources_of(&self, position: usize, part: &Part) -> Result<Vec<(String, Box<IndexEntry>)>, Error> {
        let mut sources = index::read(&self.directory.join(file_of(&part.name, INDEX)))?;
        for (_, entry) in &mut sources {
            entry.facts.part = position;
        }
        Ok(sources)
    }

    /// The links of all sources of a part: see [`index::read_links`].
    ///
    /// # Errors
    /// When the index cannot be read or is damaged.
    pub(super) fn links_of(&self, part: &Part) -> Result<Vec<u64>, Error> {
        index::read_links(&self.directory.join(file_of(&part.name, INDEX)))
    }
}
