//! Sources that a run adds, until the commit: in memory while all of them fit, else in the spool.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::api::Writer;
use crate::ingest::Sink;
use crate::ledger;
use crate::model::session::SessionResult;
use crate::model::source::{Source, SpilledSession};
use crate::store::archive::error::Error;
use crate::store::archive::facts::{Chunk, Chunks, MANY_ROWS, rows_of};
use crate::store::archive::index::IndexEntry;

/// How much larger a source in memory is than its encoded facts, about.
const ENCODED_RATIO: usize = 5;

/// Memory for staged sources, in bytes. If they take more, all of them are written to the spool: a run with so many sources would
/// save little time by keeping a part of them.
const MEMORY: usize = if cfg!(test) { 16 << 10 } else { 64 << 20 };

/// What a run changes.
#[derive(Debug, Default)]
pub struct Staged {
    /// Sources to add, by path.
    pub sources: BTreeMap<String, StagedSource>,
    /// Paths of sources to remove.
    pub removed: BTreeSet<String>,
    /// The first error of the run.
    pub error: Option<Error>,
    /// About how much memory the sources take, in bytes.
    memory: usize,
    /// Whether they take too much.
    is_spilling: bool,
    /// Paths of sources in memory that have to be written to the spool.
    to_spill: Vec<String>,
}

/// A source to add.
#[derive(Debug)]
pub struct StagedSource {
    /// Its entry in the index, still without a place of the facts.
    pub entry: Box<IndexEntry>,
    /// Where its facts are.
    pub facts: FactsLocation,
}

/// Where the facts of a source are before they are written to a part of the next generation.
#[derive(Debug)]
pub enum FactsLocation {
    /// In memory. They are encoded when they are written.
    Memory {
        /// The source. A thread that writes it to the spool shares it.
        source: Arc<Source>,
        /// About how much memory it takes, in bytes.
        footprint: usize,
    },
    /// Encoded in the spool.
    Spool(Chunks),
    /// In the part of the current generation that the entry names.
    Part,
}

impl Staged {
    /// Adds a source in memory, in place of an earlier one of the same path. If [`Self::next_to_spill`] returns sources then, the caller
    /// writes them to the spool.
    fn insert_in_memory(&mut self, entry: Box<IndexEntry>, source: Source) {
        let path = source.path.clone();
        // Not needed once the sources are spilled.
        let footprint = if self.is_spilling { 0 } else { footprint(&source) };
        self.insert(path.clone(), entry, FactsLocation::Memory { source: Arc::new(source), footprint });
        self.memory += footprint;
        if self.is_spilling {
            self.to_spill.push(path);
        } else if self.memory > MEMORY {
            self.begin_spilling();
        }
    }

    fn insert(&mut self, path: String, entry: Box<IndexEntry>, facts: FactsLocation) {
        let replaced = self.sources.insert(path, StagedSource { entry, facts });
        if let Some(StagedSource { facts: FactsLocation::Memory { footprint, .. }, .. }) = replaced {
            self.memory = self.memory.saturating_sub(footprint);
        }
    }

    fn begin_spilling(&mut self) {
        if !self.is_spilling {
            self.is_spilling = true;
            let in_memory = |staged: &StagedSource| matches!(staged.facts, FactsLocation::Memory { .. });
            let paths = self.sources.iter().filter(|(_, staged)| in_memory(staged)).map(|(path, _)| path.clone());
            self.to_spill = paths.collect();
        }
    }

    /// A source that has to be written to the spool.
    fn next_to_spill(&mut self) -> Option<Arc<Source>> {
        while let Some(path) = self.to_spill.pop() {
            if let Some(StagedSource { facts: FactsLocation::Memory { source, .. }, .. }) = self.sources.get(&path) {
                return Some(Arc::clone(source));
            }
        }
        None
    }

    /// Records that a source was written to the spool, unless another one was added in its place meanwhile.
    fn spilled(&mut self, written: &Arc<Source>, chunks: Chunks) {
        if let Some(staged) = self.sources.get_mut(&written.path)
            && let FactsLocation::Memory { source, .. } = &staged.facts
            && Arc::ptr_eq(source, written)
        {
            staged.facts = FactsLocation::Spool(chunks);
        }
    }
}

impl FactsLocation {
    /// How long the encoded facts are, in bytes; of sources in memory about. `stored` is the length of facts in a part.
    pub fn length(&self, stored: u64) -> u64 {
        match self {
            Self::Memory { footprint, .. } => (footprint / ENCODED_RATIO) as u64,
            Self::Spool(chunks) => chunks.length(),
            Self::Part => stored,
        }
    }
}

/// About how much memory a source takes, in bytes.
fn footprint(source: &Source) -> usize {
    const SOURCE: usize = 3_500;
    const SESSION: usize = 1_200;
    const ROW: usize = 256;
    const CHANGE: usize = 112;
    const TOTAL: usize = 512;
    const NAME: usize = 64;
    let of_session = |session: &SessionResult| {
        let names = session.prompts.len()
            + session.asked.len()
            + session.said.len()
            + session.subagents.len()
            + session.labels.len();
        let hashes = session.recording.as_ref().map_or(0, |recording| recording.len() * size_of::<u64>());
        let changes = session.file_changes.len() * CHANGE;
        SESSION + changes + session.totals.len() * TOTAL + names * NAME + hashes + session.text_bytes()
    };
    SOURCE + rows_of(&source.sessions) * ROW + source.sessions.iter().map(of_session).sum::<usize>()
}

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
            self.staged().insert_in_memory(entry, source);
        } else {
            self.stage_large(&source, &spilled, &own_links)?;
        }
        self.spill_sources()
    }

    /// Stages a source that is too large for the memory: writes it to the spool, after its sessions that are already there.
    fn stage_large(&self, source: &Source, spilled: &[SpilledSession], own_links: &[u64]) -> Result<(), Error> {
        let all_links = || spilled.iter().map(|session| &*session.links).chain([own_links]);
        let groups = ledger::groups(all_links());
        let (offset, length) = self.spool.append(source)?;
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
            let Some(source) = next else { return Ok(()) };
            let (offset, length) = self.spool.append(&*source)?;
            self.staged().spilled(&source, Chunks::one(offset, length));
        }
    }

    /// Writes sessions of a source that is added later to the spool.
    fn spill_sessions(&self, sessions: &[SessionResult]) -> Result<Vec<SpilledSession>, Error> {
        let spill = |session: &SessionResult| {
            let (offset, length) = self.spool.append(session)?;
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
