//! The index of a part: an entry for each of its sources, so that an unchanged source is not read again and its facts are found.
//!
//! The links of the sources are after all entries: they are most of the file, and only a run that changes something needs them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use twox_hash::XxHash3_64;

use super::error::Error;
use super::facts::codec;
use super::hashed_file::{self, Checksum};
use crate::ingest::FileStamp;
use crate::input::open::open_file;
use crate::model::health::Reason;
use crate::model::known_places::PlaceKinds;
use crate::model::source::{Source, SourceStatus};

/// One source in an index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexEntry {
    /// Whether its file has to be read again.
    pub(super) stamp: FileStamp,
    /// Whether it contains a session.
    pub(super) has_sessions: bool,
    /// How many lines were lost, by reason.
    pub rejects: Vec<(Reason, i64)>,
    /// Records of types that no adapter knows.
    pub unknown_records: i64,
    /// Its status after the ledger, which finds duplicates.
    pub status: SourceStatus,
    /// Sources with a common link may contain the same sessions: see [`crate::ledger::links`].
    pub(super) links: Links,
    /// Where its facts are stored.
    pub(super) facts: FactsPlace,
    /// Whether it contains imported verdicts. Such sources have a part of their own, as their sessions are in any part.
    #[serde(default)]
    pub(super) has_verdicts: bool,
    /// Which [`PlaceKinds`] its facts may know. Those of earlier archives may know any.
    #[serde(default = "all_places")]
    known_places: u8,
    /// How often a line is in `rejects` for one more reason.
    #[serde(default)]
    more_reasons: i64,
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
            stamp: FileStamp::of(source),
            has_sessions: !source.sessions.is_empty() || has_spilled_sessions,
            rejects: source.health.rejects.iter().map(|reject| (reject.reason, reject.lines)).collect(),
            unknown_records: source.health.unknown_records,
            status: source.status,
            links: Links::Known(links),
            facts: FactsPlace::default(),
            has_verdicts: !source.verdicts.is_empty(),
            known_places: if has_spilled_sessions { all_places() } else { PlaceKinds::known(&source.sessions).bits() },
            more_reasons: source.health.more_reasons,
        }
    }

    /// Lines that were lost whole or in part, each once.
    pub fn rejected_lines(&self) -> i64 {
        self.rejects.iter().map(|(_, lines)| lines).sum::<i64>() - self.more_reasons
    }

    /// Whether its facts may know where sessions ran that lack it.
    pub(super) const fn may_know(&self, missing: PlaceKinds) -> bool {
        PlaceKinds::of_bits(self.known_places).meets(missing)
    }
}

const fn all_places() -> u8 {
    PlaceKinds::ALL.bits()
}

/// Bytes before the entries: their length, their XXH3-64, and that of the links.
const HEADER: usize = 24;

/// Writes the index of a part, whose sources have known links.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, sources: &[(&str, &IndexEntry)]) -> io::Result<Checksum> {
    let entries = codec::encode(sources)?;
    let mut links = Vec::new();
    for (_, entry) in sources {
        let Links::Known(known) = &entry.links else { return Err(io::Error::other("links are not read yet")) };
        links.extend(known.iter().flat_map(|link| link.to_le_bytes()));
    }
    let numbers = [entries.len() as u64, XxHash3_64::oneshot(&entries), XxHash3_64::oneshot(&links)];
    hashed_file::write_file(path, sources.len(), |file| {
        file.write_all(numbers.map(u64::to_le_bytes).as_flattened())?;
        file.write_all(&entries)?;
        file.write_all(&links)
    })
}

/// The sources in the index of a part, once they are known to be intact. Their links are not read.
///
/// # Errors
/// When the file cannot be read or is damaged.
pub fn read(path: &Path) -> Result<Vec<(String, Box<IndexEntry>)>, Error> {
    let read = || {
        let mut file = open_file(path)?;
        let [length, hash, _] = read_header(&mut file)?;
        let mut bytes = Vec::new();
        file.take(length).read_to_end(&mut bytes)?;
        Ok((XxHash3_64::oneshot(&bytes) == hash).then_some(bytes))
    };
    let bytes = read().map_err(Error::listed(path))?.ok_or_else(|| Error::changed(path.to_owned()))?;
    let mut sources = decode(&bytes).map_err(Error::file(path))?;
    let mut before = 0_usize;
    for (_, entry) in &mut sources {
        if let Links::Stored(positions) = &mut entry.links {
            *positions = before..before.saturating_add(positions.end);
            before = positions.end;
        }
    }
    Ok(sources)
}

/// The links of all sources in the index of a part, once they are known to be intact.
///
/// # Errors
/// When the file cannot be read or is damaged.
pub fn read_links(path: &Path) -> Result<Vec<u64>, Error> {
    let read = || {
        let mut file = open_file(path)?;
        let [length, _, hash] = read_header(&mut file)?;
        file.seek(SeekFrom::Start(length.saturating_add(HEADER as u64)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let (links, rest) = bytes.as_chunks();
        let is_intact = rest.is_empty() && XxHash3_64::oneshot(&bytes) == hash;
        Ok(is_intact.then(|| links.iter().map(|link| u64::from_le_bytes(*link)).collect()))
    };
    read().map_err(Error::listed(path))?.ok_or_else(|| Error::changed(path.to_owned()))
}

fn read_header(file: &mut File) -> io::Result<[u64; 3]> {
    let mut header = [0; HEADER];
    file.read_exact(&mut header)?;
    let mut numbers = [0; 3];
    for (number, bytes) in numbers.iter_mut().zip(header.as_chunks().0) {
        *number = u64::from_le_bytes(*bytes);
    }
    Ok(numbers)
}

/// Decodes the entries of an index, or an index of a version before 9, which was entries only.
///
/// # Errors
/// When the bytes are not entries.
pub fn decode(bytes: &[u8]) -> io::Result<Vec<(String, Box<IndexEntry>)>> {
    codec::decode(bytes)
}

/// The links of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Links {
    /// In memory.
    Known(Box<[u64]>),
    /// At these positions among the links of the part: see [`read_links`]. An entry contains only how many there are.
    Stored(Range<usize>),
}

impl Serialize for Links {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let count = match self {
            Self::Known(links) => links.len(),
            Self::Stored(positions) => positions.len(),
        };
        count.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Links {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Stored {
            Count(usize),
            /// Before version 9.
            Links(Box<[u64]>),
        }
        Ok(match Stored::deserialize(deserializer)? {
            Stored::Count(count) => Self::Stored(0..count),
            Stored::Links(links) => Self::Known(links),
        })
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
            let mut entry = IndexEntry::of(&source, true, [sources.len() as u64, u64::MAX].into());
            entry.rejects = vec![(Reason::NoUsage, 3)];
            entry.facts = FactsPlace { part: 1, offset: 1 << 40, length: 9, checksum: 7 };
            sources.push((path.to_owned(), Box::new(entry)));
        }
        assert!(sources.iter().any(|(_, entry)| entry.stamp.content_hash.is_some()));
        let entries: Vec<(&str, &IndexEntry)> = sources.iter().map(|(path, entry)| (path.as_str(), &**entry)).collect();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("index");
        assert_eq!(write(&path, &entries).unwrap().rows, 3);
        let mut found = read(&path).unwrap();
        let links = read_links(&path).unwrap();
        for (_, entry) in &mut found {
            let Links::Stored(positions) = &entry.links else { panic!("{:?}", entry.links) };
            entry.links = Links::Known(links[positions.clone()].into());
        }
        assert_eq!(found, sources);

        let whole = std::fs::read(&path).unwrap();
        for position in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[position] ^= 1;
            std::fs::write(&path, damaged).unwrap();
            assert!(read(&path).is_err() || read_links(&path).is_err(), "{position}");
        }
    }
}
