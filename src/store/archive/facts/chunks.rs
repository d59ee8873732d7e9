//! The facts of one source in a file: a header, and one chunk or several.
//!
//! A source with many rows in several sessions has a chunk for each of these sessions, so that it can be read and reconciled without
//! all of them in memory at once, unless something links it to another source. The last chunk is the source with its other sessions.
//!
//! ```text
//! b"fct\xFF"   marks the begin
//! u32          the number of chunks
//! u64, u64     for each chunk: its length in bytes, its group
//! …            the chunks, each encoded by `codec`
//! ```
//!
//! Numbers are little-endian.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use super::codec::{self, damaged};
use crate::model::session::SessionResult;
use crate::model::source::Source;

/// Facts that are reconciled and written as a part together, in bytes as they are stored: some forty thousand turns. A part that
/// changes is reconciled whole, in memory; of sources in several chunks that nothing links to others, this much at a time.
pub const PART_BYTES: u64 = 5 << 19;

/// Parts with fewer bytes of facts are small.
pub const SMALL_PART: u64 = PART_BYTES / 4;

/// How the facts of a source begin.
const MARK: [u8; 4] = *b"fct\xFF";
/// Bytes of the header before the list of chunks, and of an entry of the list.
const HEADER: u64 = 8;
const ENTRY: u64 = 16;

/// A part of a source's facts in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// Where it begins, in bytes.
    pub offset: u64,
    /// Its length, in bytes.
    pub length: u64,
    /// The ledger may have to compare sessions of chunks with the same number.
    pub group: usize,
}

/// The chunks of a source's facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunks(Vec<Chunk>);

/// Sources that are reconciled together.
pub struct ReconcileBatch {
    /// The sources, with the sessions that belong together.
    pub sources: Vec<Source>,
    /// Whether a later batch contains more sessions of the same source. The last batch determines the status of the source.
    pub has_more: bool,
}

impl Chunks {
    /// These chunks. The last one is the source itself.
    pub const fn new(chunks: Vec<Chunk>) -> Self {
        Self(chunks)
    }

    /// A source that is one chunk.
    pub fn one(offset: u64, length: u64) -> Self {
        Self(vec![Chunk { offset, length, group: 0 }])
    }

    /// Reads the header of a source's facts, whose length is known.
    ///
    /// # Errors
    /// When the file cannot be read, or the chunks do not fill these bytes.
    pub fn read(file: &mut File, offset: u64, length: u64) -> io::Result<Self> {
        let chunks = Self::read_first(file, offset, length)?;
        if chunks.end() - offset == length {
            Ok(chunks)
        } else {
            Err(damaged("chunks that do not fill the facts of their source"))
        }
    }

    /// Reads the header of the first source's facts in these bytes of a file.
    ///
    /// # Errors
    /// When the file cannot be read, or the chunks are longer than these bytes.
    pub fn read_first(file: &mut File, offset: u64, length: u64) -> io::Result<Self> {
        if offset.checked_add(length).is_none() {
            return Err(damaged("facts beyond the end of any file"));
        }
        let header = read_at(file, offset, HEADER.min(length))?;
        let count = header.strip_prefix(&MARK).and_then(|rest| rest.try_into().ok()).map(u32::from_le_bytes);
        let count = u64::from(count.ok_or_else(|| damaged("no facts of a source begin here"))?);
        let Some(mut rest) = length.checked_sub(HEADER + count * ENTRY).filter(|_| count > 0) else {
            return Err(damaged("a number of chunks that is impossible"));
        };
        let list = read_at(file, offset + HEADER, count * ENTRY)?;
        let mut chunks = Vec::with_capacity(list.len() / size_of::<[u64; 2]>());
        let mut start = offset + HEADER + count * ENTRY;
        let (numbers, _) = list.as_chunks::<8>();
        let (entries, _) = numbers.as_chunks::<2>();
        for [length, group] in entries {
            let (length, group) = (u64::from_le_bytes(*length), u64::from_le_bytes(*group));
            let group = usize::try_from(group).map_err(damaged)?;
            rest = rest.checked_sub(length).ok_or_else(|| damaged("a chunk that is too long"))?;
            chunks.push(Chunk { offset: start, length, group });
            start += length;
        }
        Ok(Self(chunks))
    }

    /// Where the last chunk ends in its file.
    pub fn end(&self) -> u64 {
        self.0.last().map_or(0, |chunk| chunk.offset + chunk.length)
    }

    /// The header of facts that have these chunks, as [`Self::read`] reads it.
    ///
    /// # Errors
    /// When there are more chunks than a header can list.
    pub fn header(&self) -> io::Result<Vec<u8>> {
        let count = u32::try_from(self.0.len()).map_err(io::Error::other)?;
        let mut header = [MARK, count.to_le_bytes()].concat();
        for chunk in &self.0 {
            header.extend(chunk.length.to_le_bytes());
            header.extend((chunk.group as u64).to_le_bytes());
        }
        Ok(header)
    }

    /// The chunks, the source itself last.
    pub fn iter(&self) -> std::slice::Iter<'_, Chunk> {
        self.0.iter()
    }

    /// The only chunk, if there is just one.
    pub fn only(&self) -> Option<&Chunk> {
        if let [chunk] = &self.0[..] { Some(chunk) } else { None }
    }

    /// The length of all chunks, in bytes.
    pub fn length(&self) -> u64 {
        self.0.iter().fold(0, |sum, chunk| sum.saturating_add(chunk.length))
    }

    /// The source with all of its sessions.
    ///
    /// # Errors
    /// When the file cannot be read, or a chunk is damaged.
    pub fn load(&self, file: &mut File) -> io::Result<Source> {
        let (mut source, others) = self.source(file)?;
        let own = std::mem::take(&mut source.sessions);
        source.sessions = sessions(file, others)?;
        source.sessions.extend(own);
        Ok(source)
    }

    /// Decodes all chunks, one at a time, and returns the source without the sessions of the other chunks.
    ///
    /// # Errors
    /// Those of [`Self::load`].
    pub fn check(&self, file: &mut File) -> io::Result<Source> {
        let (source, others) = self.source(file)?;
        for chunk in others {
            sessions(file, std::slice::from_ref(chunk))?;
        }
        Ok(source)
    }

    /// The source several times, each time with the sessions of some groups, together about [`PART_BYTES`]; the last time with those
    /// of the last chunk.
    ///
    /// # Errors
    /// When the file cannot be read, or the last chunk is damaged. The iterator returns errors of the others.
    pub fn batches(self, mut file: File) -> io::Result<impl Iterator<Item = io::Result<ReconcileBatch>>> {
        let (mut source, others) = self.source(&mut file)?;
        let mut own = std::mem::take(&mut source.sessions);
        let last = self.0.last().map_or(0, |chunk| chunk.group);
        let mut groups: BTreeMap<usize, Vec<Chunk>> = BTreeMap::new();
        for chunk in others {
            groups.entry(chunk.group).or_default().push(*chunk);
        }
        let with_last = groups.remove(&last).unwrap_or_default();
        let mut batches: Vec<Vec<Chunk>> = Vec::new();
        let mut length = 0;
        for group in groups.into_values() {
            let added: u64 = group.iter().map(|chunk| chunk.length).sum();
            if let Some(batch) = batches.last_mut().filter(|_| length < PART_BYTES) {
                batch.extend(group);
                length += added;
            } else {
                batches.push(group);
                length = added;
            }
        }
        let last = batches.len();
        Ok(batches.into_iter().chain([with_last]).enumerate().map(move |(number, chunks)| {
            let mut sessions = sessions(&mut file, &chunks)?;
            let has_more = number != last;
            if !has_more {
                sessions.append(&mut own);
            }
            Ok(ReconcileBatch { sources: vec![Source { sessions, ..source.clone() }], has_more })
        }))
    }

    /// The source itself, and the other chunks.
    fn source(&self, file: &mut File) -> io::Result<(Source, &[Chunk])> {
        let Some((last, others)) = self.0.split_last() else { return Err(damaged("a source without facts")) };
        Ok((codec::decode_facts(&read_at(file, last.offset, last.length)?)?, others))
    }
}

fn sessions(file: &mut File, chunks: &[Chunk]) -> io::Result<Vec<SessionResult>> {
    chunks.iter().map(|chunk| codec::decode_facts(&read_at(file, chunk.offset, chunk.length)?)).collect()
}

/// Some bytes of a file.
///
/// # Errors
/// When the file cannot be read, or ends before.
pub fn read_at(file: &mut File, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    /// The length may be damaged: not more than this is allocated before the bytes are read.
    const MAX_CAPACITY: u64 = 1 << 24;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::with_capacity(usize::try_from(length.min(MAX_CAPACITY)).unwrap_or(0));
    file.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == length { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn session(id: &str) -> SessionResult {
        SessionResult { session_id: id.to_owned(), ..SessionResult::default() }
    }

    fn source(sessions: &[&str]) -> Source {
        Source { path: "a".to_owned(), sessions: sessions.iter().map(|id| session(id)).collect(), ..Source::default() }
    }

    /// A file with facts of two sessions and their source after some other bytes, and the length of the facts.
    fn file(list: impl Fn(&mut Vec<Chunk>)) -> (File, u64) {
        let encoded = [codec::encode(&session("s1")), codec::encode(&session("s2")), codec::encode(&source(&["s3"]))];
        let encoded = encoded.map(Result::unwrap);
        let chunk = |(group, bytes): (usize, &Vec<u8>)| Chunk { offset: 0, length: bytes.len() as u64, group };
        let mut chunks: Vec<Chunk> = encoded.iter().enumerate().map(chunk).collect();
        // The first session and the source belong together.
        chunks[2].group = 0;
        list(&mut chunks);
        let bytes = [Chunks::new(chunks).header().unwrap(), encoded.concat()].concat();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[b"before", &bytes[..]].concat()).unwrap();
        (file, bytes.len() as u64)
    }

    #[test]
    fn a_source_is_read_whole_or_in_batches() {
        let (mut file, length) = file(|_| {});
        let chunks = Chunks::read(&mut file, 6, length).unwrap();
        assert_eq!((chunks.iter().len(), chunks.end(), chunks.only()), (3, 6 + length, None));
        assert_eq!(chunks.load(&mut file).unwrap(), source(&["s1", "s2", "s3"]));
        assert_eq!(chunks.check(&mut file).unwrap(), source(&["s3"]));
        let batches = chunks
            .batches(file)
            .unwrap()
            .map(|batch| batch.map(|ReconcileBatch { sources, has_more }| (sources, has_more)));
        let batches = batches.collect::<io::Result<Vec<_>>>().unwrap();
        assert_eq!(batches, [(vec![source(&["s2"])], true), (vec![source(&["s1", "s3"])], false)]);
    }

    #[test]
    fn a_header_that_does_not_fit_is_refused() {
        let refused = |list: fn(&mut Vec<Chunk>), length: fn(u64) -> u64| {
            let (mut file, whole) = file(list);
            let length = length(whole);
            assert!(Chunks::read(&mut file, 6, length).is_err(), "{length} of {whole}");
        };
        refused(|chunks| chunks[0].length += 1, |length| length);
        refused(|chunks| chunks[1].length = u64::MAX, |length| length);
        refused(|chunks| chunks[2].length -= 1, |length| length);
        refused(Vec::clear, |length| length);
        refused(|_| {}, |length| length - 1);
        refused(|_| {}, |length| length + 1);
        refused(|_| {}, |_| 7);
        refused(|_| {}, |_| 20);
        refused(|_| {}, |_| u64::MAX - 6);
        refused(|_| {}, |_| u64::MAX);
        let mut other = tempfile::tempfile().unwrap();
        other.write_all(b"before and not facts of a source").unwrap();
        assert!(Chunks::read(&mut other, 6, 26).is_err());
    }
}
