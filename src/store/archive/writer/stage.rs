//! Sources that a run adds, until the commit: in memory while all of them fit, else in the spool.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use crate::model::source::Source;
use crate::store::archive::error::Error;
use crate::store::archive::facts::{Chunks, codec, rows_of};
use crate::store::archive::index::IndexEntry;

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
#[derive(Debug, Clone)]
pub enum FactsLocation {
    /// In memory. A thread that writes them to the spool shares them.
    Memory(Arc<InMemory>),
    /// Encoded in the spool.
    Spool(Chunks),
    /// In the part of the current generation that the entry names.
    Part,
}

/// A source in memory.
#[derive(Debug)]
pub struct InMemory {
    pub source: Source,
    /// Its facts as they are stored. Each is encoded by the thread that read it: later, fewer threads are busy.
    pub encoded: Vec<u8>,
}

impl InMemory {
    /// Encodes the facts of a source.
    ///
    /// # Errors
    /// When the source cannot be encoded.
    pub fn new(source: Source) -> io::Result<Arc<Self>> {
        let encoded = codec::encode(&source)?;
        Ok(Arc::new(Self { source, encoded }))
    }

    /// About how much memory it takes, in bytes: the encoded facts, and the same texts in structures.
    fn footprint(&self) -> usize {
        const SOURCE: usize = 3_500;
        const SESSION: usize = 1_200;
        const ROW: usize = 256;
        let sessions = &self.source.sessions;
        let structures = SOURCE + sessions.len() * SESSION + rows_of(sessions) * ROW;
        self.encoded.len() + codec::plain_size(&self.encoded) + structures
    }
}

impl Staged {
    /// Adds a source in memory, in place of an earlier one of the same path. If [`Self::next_to_spill`] returns sources then, the caller
    /// writes them to the spool.
    pub(super) fn insert_in_memory(&mut self, entry: Box<IndexEntry>, staged: Arc<InMemory>) {
        let path = staged.source.path.clone();
        // Not needed once the sources are spilled.
        let footprint = if self.is_spilling { 0 } else { staged.footprint() };
        self.insert(path.clone(), entry, FactsLocation::Memory(staged));
        self.memory += footprint;
        if self.is_spilling {
            self.to_spill.push(path);
        } else if self.memory > MEMORY {
            self.begin_spilling();
        }
    }

    pub(super) fn insert(&mut self, path: String, entry: Box<IndexEntry>, facts: FactsLocation) {
        let replaced = self.sources.insert(path, StagedSource { entry, facts });
        if let Some(StagedSource { facts: FactsLocation::Memory(staged), .. }) = replaced {
            self.memory = self.memory.saturating_sub(staged.footprint());
        }
    }

    pub(super) fn begin_spilling(&mut self) {
        if !self.is_spilling {
            self.is_spilling = true;
            let in_memory = |staged: &StagedSource| matches!(staged.facts, FactsLocation::Memory(_));
            let paths = self.sources.iter().filter(|(_, staged)| in_memory(staged)).map(|(path, _)| path.clone());
            self.to_spill = paths.collect();
        }
    }

    /// A source that has to be written to the spool.
    pub(super) fn next_to_spill(&mut self) -> Option<Arc<InMemory>> {
        while let Some(path) = self.to_spill.pop() {
            if let Some(StagedSource { facts: FactsLocation::Memory(staged), .. }) = self.sources.get(&path) {
                return Some(Arc::clone(staged));
            }
        }
        None
    }

    /// Records that a source was written to the spool, unless another one was added in its place meanwhile.
    pub(super) fn spilled(&mut self, written: &Arc<InMemory>, chunks: Chunks) {
        if let Some(staged) = self.sources.get_mut(&written.source.path)
            && let FactsLocation::Memory(found) = &staged.facts
            && Arc::ptr_eq(found, written)
        {
            staged.facts = FactsLocation::Spool(chunks);
        }
    }
}

impl FactsLocation {
    /// How long the encoded facts are, in bytes. `stored` is the length of facts in a part.
    pub fn length(&self, stored: u64) -> u64 {
        match self {
            Self::Memory(staged) => staged.encoded.len() as u64,
            Self::Spool(chunks) => chunks.length(),
            Self::Part => stored,
        }
    }
}
