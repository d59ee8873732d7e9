//! Takes sources from an ingest: those that do not fit into memory are written to the spool.

use super::api::Writer;
use super::stage::{FactsLocation, InMemory};
use crate::ingest::Sink;
use crate::ledger;
use crate::model::session::SessionResult;
use crate::model::source::{Source, SpilledSession};
use crate::store::archive::error::Error;
use crate::store::archive::facts::{Chunk, Chunks, MANY_ROWS, rows_of};
use crate::store::archive::index::IndexEntry;

impl Writer {
    /// Stages a source until the commit.
    pub(super) fn stage(&self, mut source: Source) -> Result<(), Error> {
        if rows_of(&source.sessions) > MANY_ROWS && source.sessions.len() > 1 {
            let sessions = std::mem::take(&mut source.sessions);
            source.spilled.extend(self.spill_sessions(&sessions)?);
        }
        let spilled = std::mem::take(&mut source.spilled);
        let own_links = ledger::links(&source);
        if spilled.is_empty() && rows_of(&source.sessions) <= MANY_ROWS {
            let entry = Box::new(IndexEntry::of(&source, false, own_links));
            let staged = InMemory::new(source).map_err(Error::file(&self.next))?;
            self.staged().insert_in_memory(entry, staged);
        } else {
            self.stage_large(&source, &spilled, &own_links)?;
        }
        self.spill_sources()
    }

    /// Stages a source that is too large for the memory: writes it to the spool, after its sessions that are already there.
    fn stage_large(&self, source: &Source, spilled: &[SpilledSession], own_links: &[u64]) -> Result<(), Error> {
        let all_links = || spilled.iter().map(|session| &*session.links).chain([own_links]);
        let groups = ledger::groups(all_links());
        let (offset, length) = self.spool.append_encoded(source)?;
        let places = spilled.iter().map(|session| (session.offset, session.length)).chain([(offset, length)]);
        let chunks = places.zip(&groups).map(|((offset, length), group)| Chunk { offset, length, group: *group });
        let chunks = Chunks::new(chunks.collect());
        let links = ledger::distinct(all_links().flatten().copied().collect());
        let entry = Box::new(IndexEntry::of(source, !spilled.is_empty(), links));
        let mut staged = self.staged();
        staged.insert(source.path.clone(), entry, FactsLocation::Spool(chunks));
        staged.begin_spilling();
        Ok(())
    }

    /// Writes sources to the spool as long as some have to be. Several threads may do so at the same time.
    fn spill_sources(&self) -> Result<(), Error> {
        loop {
            let next = self.staged().next_to_spill();
            let Some(staged) = next else { return Ok(()) };
            let (offset, length) = self.spool.append(&staged.encoded)?;
            self.staged().spilled(&staged, Chunks::one(offset, length));
        }
    }

    /// Writes sessions of a source that is added later to the spool.
    fn spill_sessions(&self, sessions: &[SessionResult]) -> Result<Vec<SpilledSession>, Error> {
        let spill = |session: &SessionResult| {
            let (offset, length) = self.spool.append_encoded(session)?;
            let links = ledger::links_of(std::slice::from_ref(session), None);
            Ok(SpilledSession { offset, length, session_id: session.session_id.clone(), links })
        };
        sessions.iter().map(spill).collect()
    }
}

impl Sink for Writer {
    fn take(&self, source: Source) {
        self.add(source);
    }

    fn spill(&self, path: &str, mut sessions: Vec<SessionResult>) -> Result<Vec<SpilledSession>, Vec<SessionResult>> {
        let kept = self.keep_known_places(path, &mut sessions);
        kept.and_then(|()| self.spill_sessions(&sessions)).map_err(|error| {
            // The commit returns the error and changes nothing.
            self.staged().error.get_or_insert(error);
            sessions
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::time::Time;
    use crate::model::session::Turn;
    use crate::store::archive::Archive;

    /// Of two states of a file that are merged by one writer, the later one is kept, also where sources are in the spool.
    #[test]
    fn the_later_state_of_a_file_in_the_spool_is_kept() {
        let state = |turns: i64| Source {
            path: "log".to_owned(),
            modified_at: Some(Time::from_micros(turns)),
            sessions: vec![SessionResult {
                session_id: "session".into(),
                turns: (0..turns).map(|line| Box::new(Turn { line, ..Turn::default() })).collect(),
                ..SessionResult::default()
            }],
            ..Source::default()
        };
        let directory = tempfile::tempdir().unwrap();
        for (name, turns) in [("forth", [100, 200]), ("back", [200, 100])] {
            let archive = Archive::at(directory.path().join(name));
            let writer = archive.write().unwrap();
            for turns in turns {
                writer.merge(state(turns));
                let staged = writer.staged();
                assert!(matches!(staged.sources["log"].facts, FactsLocation::Spool(_)));
            }
            assert_eq!(writer.commit().unwrap().sums.turns, 200, "{name}");
        }
    }
}
