//! The index of a generation: an entry for each source, so that an unchanged source is not read again and its facts are found.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::facts::codec;
use super::hashed_file::{self, Checksum};
use crate::ingest::Fingerprint;
use crate::model::health::Reason;
use crate::model::known_places::PlaceKinds;
use crate::model::source::{Source, SourceStatus};

/// One source in the index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexEntry {
    /// Whether its file has to be read again.
    pub(super) stamp: Fingerprint,
    /// Whether it contains a session.
    pub(super) has_sessions: bool,
    /// How many lines were lost, by reason.
    pub rejects: Vec<(Reason, i64)>,
    /// Records of types that no adapter knows.
    pub unknown_records: i64,
    /// Its status after the ledger, which finds duplicates.
    pub status: SourceStatus,
    /// Sources with a common link may contain the same sessions: see [`crate::ledger::links`].
    pub(super) links: Box<[u64]>,
    /// Where its facts are stored.
    pub(super) facts: FactsPlace,
    /// Whether it contains imported verdicts. Such sources have a part of their own, as their sessions are in any part.
    #[serde(default)]
    pub(super) has_verdicts: bool,
    /// Which [`PlaceKinds`] its facts may know. Those of earlier archives may know any.
    #[serde(default = "all_places")]
    known_places: u8,
}

/// Where the facts of a source are stored in a generation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactsPlace {
    /// The position of the part in the manifest.
    pub part: usize,
    /// Where they begin in the part's file of facts, in bytes.
    pub offset: u64,
    /// Their length, in bytes.
    pub length: u64,
    /// See [`super::facts::checksum_at`].
    pub checksum: u32,
}

/// The entries by path. They are boxed, because they are moved often.
pub type Sources = BTreeMap<String, Box<IndexEntry>>;

impl IndexEntry {
    /// The entry of a source that is not yet in a part. `has_sessions` is false if none of its sessions is elsewhere.
    pub(super) fn of(source: &Source, has_spilled_sessions: bool, links: Box<[u64]>) -> Self {
        Self {
            stamp: Fingerprint::of(source),
            has_sessions: !source.sessions.is_empty() || has_spilled_sessions,
            rejects: source.health.rejects.iter().map(|reject| (reject.reason, reject.lines)).collect(),
            unknown_records: source.health.unknown_records,
            status: source.status,
            links,
            facts: FactsPlace::default(),
            has_verdicts: !source.verdicts.is_empty(),
            known_places: if has_spilled_sessions { all_places() } else { PlaceKinds::known(&source.sessions).bits() },
        }
    }

    /// Whether its facts may know where sessions ran that lack it.
    pub(super) const fn may_know(&self, missing: PlaceKinds) -> bool {
        PlaceKinds::of_bits(self.known_places).meets(missing)
    }
}

const fn all_places() -> u8 {
    PlaceKinds::ALL.bits()
}

/// Writes an index.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, sources: &Sources) -> io::Result<Checksum> {
    use std::io::Write as _;
    let entries: Vec<(&String, &IndexEntry)> = sources.iter().map(|(path, entry)| (path, &**entry)).collect();
    let bytes = codec::encode(&entries)?;
    hashed_file::write_file(path, entries.len(), |file| file.write_all(&bytes))
}

/// Decodes an index.
///
/// # Errors
/// When the bytes are not an index.
pub fn decode(bytes: &[u8]) -> io::Result<Sources> {
    let entries: Vec<(String, Box<IndexEntry>)> = codec::decode(bytes)?;
    // The entries are in order: a map is built of all of them at once in a tenth of the time of one by one.
    Ok(entries.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_read_as_it_was_written() {
        let mut sources = Sources::new();
        let hashes = [None, Some("00ab".repeat(8)), Some("f".repeat(32))];
        for (path, content_hash) in ["b", "a", "c"].into_iter().zip(hashes) {
            let source = Source { path: path.to_owned(), bytes: 7, content_hash, ..Source::default() };
            let mut entry = IndexEntry::of(&source, true, [4, u64::MAX].into());
            entry.rejects = vec![(Reason::NoUsage, 3)];
            entry.facts = FactsPlace { part: 1, offset: 1 << 40, length: 9, checksum: 7 };
            sources.insert(path.to_owned(), Box::new(entry));
        }
        assert!(sources["a"].stamp.content_hash.is_some());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        assert_eq!(write(&path, &sources).unwrap().rows, 3);
        assert_eq!(decode(&std::fs::read(&path).unwrap()).unwrap(), sources);
    }
}
