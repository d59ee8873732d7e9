//! Where sessions ran, as the archive knows it, for sources that are read again.

use std::sync::{Arc, PoisonError};

use super::api::Writer;
use crate::model::known_places::{KnownPlaces, PlaceKinds};
use crate::model::session::SessionResult;
use crate::store::archive::error::Error;
use crate::store::archive::index::IndexEntry;

impl Writer {
    /// Fills in where the sessions of a source ran, as far as its facts in the archive know it and the sessions do not.
    ///
    /// # Errors
    /// When the facts cannot be read.
    pub(super) fn keep_known_places(&self, path: &str, sessions: &mut [SessionResult]) -> Result<(), Error> {
        let Some(entry) = self.state.sources.get(path).filter(|entry| entry.has_sessions) else { return Ok(()) };
        // Most sources lack nothing, so that their earlier facts are not read.
        if entry.may_know(PlaceKinds::missing(sessions)) {
            self.known_places(path, entry)?.fill(sessions);
        }
        Ok(())
    }

    fn known_places(&self, path: &str, entry: &IndexEntry) -> Result<Arc<KnownPlaces>, Error> {
        let places = || self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = places().get(path) {
            return Ok(Arc::clone(known));
        }
        let (file_path, file, chunks) = self.state.open(entry.facts)?;
        let mut known = KnownPlaces::default();
        for batch in chunks.batches(file).map_err(Error::file(&file_path))? {
            for source in batch.map_err(Error::file(&file_path))?.sources {
                known.add(&source.sessions);
            }
        }
        let known = Arc::new(known);
        places().insert(path.to_owned(), Arc::clone(&known));
        Ok(known)
    }
}
