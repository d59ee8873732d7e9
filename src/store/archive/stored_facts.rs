//! The facts of an archive, source by source, for exports.

use super::error::Error;
use super::generations::Snapshot;
use super::state::State;
use crate::model::source::Source;

/// The facts of the sources of one state of an archive, which no writer removes while this value exists.
#[derive(Debug)]
pub struct StoredFacts(State);

impl Snapshot {
    /// Opens the facts of its sources.
    ///
    /// # Errors
    /// When an index cannot be read or is damaged.
    pub fn facts(self) -> Result<StoredFacts, Error> {
        let sources = self.sources()?;
        Ok(StoredFacts(State { sources, snapshot: Some(self) }))
    }
}

impl StoredFacts {
    /// The paths of the sources, in order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.sources.keys().map(String::as_str)
    }

    /// Compares the facts of all sources with their checksums.
    ///
    /// # Errors
    /// When a file cannot be read or is damaged.
    pub fn verify(&self) -> Result<(), Error> {
        self.0.sources.values().try_for_each(|entry| self.0.open(entry.facts).map(drop))
    }

    /// The facts of a source; `None` if there is no such source.
    ///
    /// # Errors
    /// When they cannot be read or are damaged.
    pub fn load(&self, path: &str) -> Result<Option<Source>, Error> {
        self.0.sources.get(path).map(|entry| self.0.load(entry)).transpose()
    }
}
