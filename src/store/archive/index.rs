//! The index of a part: an entry for each of its sources, so that an unchanged source is not read again and its facts are found.

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

/// One source in an index.
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
    #[serde(with = "stored_links")]
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
    /// The position of the part in the manifest. An index does not know it, and contains 0; that of a generation before version 9
    /// contains the position.
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

/// Writes an index of sources with their paths.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, sources: &[(&str, &IndexEntry)]) -> io::Result<Checksum> {
    use std::io::Write as _;
    let bytes = codec::encode(sources)?;
    hashed_file::write_file(path, sources.len(), |file| file.write_all(&bytes))
}

/// Decodes an index.
///
/// # Errors
/// When the bytes are not an index.
pub fn decode(bytes: &[u8]) -> io::Result<Vec<(String, Box<IndexEntry>)>> {
    codec::decode(bytes)
}

/// Links as bytes, little-endian: they are most of an index, and this is read in a fifth of the time of numbers. Before version 9 they
/// were numbers.
mod stored_links {
    use std::fmt;

    use serde::de::{Deserializer, Error, SeqAccess, Visitor};
    use serde::ser::Serializer;

    pub fn serialize<S: Serializer>(links: &[u64], serializer: S) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = links.iter().flat_map(|link| link.to_le_bytes()).collect();
        serializer.serialize_bytes(&bytes)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<[u64]>, D::Error> {
        deserializer.deserialize_any(Links)
    }

    struct Links;

    impl<'de> Visitor<'de> for Links {
        type Value = Box<[u64]>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("links")
        }

        fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
            let (links, []) = bytes.as_chunks() else { return Err(E::invalid_length(bytes.len(), &self)) };
            Ok(links.iter().map(|link| u64::from_le_bytes(*link)).collect())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<Self::Value, A::Error> {
            let mut links = Vec::new();
            while let Some(link) = numbers.next_element()? {
                links.push(link);
            }
            Ok(links.into_boxed_slice())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_read_as_it_was_written() {
        let mut sources = Vec::new();
        let hashes = [None, Some("00ab".repeat(8)), Some("f".repeat(32))];
        for (path, content_hash) in ["b", "a", "c"].into_iter().zip(hashes) {
            let source = Source { path: path.to_owned(), bytes: 7, content_hash, ..Source::default() };
            let mut entry = IndexEntry::of(&source, true, [4, u64::MAX].into());
            entry.rejects = vec![(Reason::NoUsage, 3)];
            entry.facts = FactsPlace { part: 1, offset: 1 << 40, length: 9, checksum: 7 };
            sources.push((path.to_owned(), Box::new(entry)));
        }
        assert!(sources.iter().any(|(_, entry)| entry.stamp.content_hash.is_some()));
        let entries: Vec<(&str, &IndexEntry)> = sources.iter().map(|(path, entry)| (path.as_str(), &**entry)).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        assert_eq!(write(&path, &entries).unwrap().rows, 3);
        assert_eq!(decode(&std::fs::read(&path).unwrap()).unwrap(), sources);
    }
}
