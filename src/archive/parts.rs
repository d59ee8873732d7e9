//! The files of a generation: facts one by one, tables as parquet, each with its checksum.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use polars::frame::DataFrame;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_128;

use super::disk;
use crate::frames::{self, TABLES};
use crate::parquet::Batched;
use crate::prices::Catalog;
use crate::source::Source;
use crate::tables::Tables;
use crate::{costs, ledger};

/// Where the facts of the sources of each part stand.
pub const FACTS: &str = "facts";

/// Rows that are written at once.
const ROW_GROUP: usize = 1 << 14;

/// Some groups of sources with their tables: nothing in it depends on what stands in another part.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Part {
    /// Its name: that of its files.
    pub name: String,
    /// Its files, by folder.
    pub files: BTreeMap<String, Checksum>,
    /// What it holds.
    pub sums: Sums,
}

/// Size and hash of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checksum {
    /// Its length.
    pub bytes: u64,
    /// XXH3-128 of its content.
    pub hash: String,
    /// Its rows; of facts, the sources.
    pub rows: usize,
}

impl Checksum {
    /// Whether this is what [`checksum`] found.
    pub fn is(&self, found: &(u64, String)) -> bool {
        (self.bytes, &self.hash) == (found.0, &found.1)
    }
}

/// What parts hold, in sum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Sums {
    /// Sessions.
    pub sessions: usize,
    /// Responses.
    pub turns: usize,
    /// Tool calls.
    pub tool_calls: usize,
    /// Tokens of all kinds.
    pub tokens: i64,
    /// What it cost, as far as that is known.
    pub cost_usd: Option<f64>,
    /// Tokens that no cost covers.
    pub unpriced_tokens: i64,
}

impl Sums {
    fn of(tables: &Tables) -> Self {
        let sessions = &tables.sessions;
        Self {
            sessions: sessions.len(),
            turns: tables.turns.iter().filter(|it| it.number.is_some()).count(),
            tool_calls: tables.tool_calls.len(),
            tokens: sessions.iter().filter_map(|it| it.tokens.total()).sum(),
            cost_usd: sessions.iter().filter_map(|it| it.money.cost).reduce(|sum, it| sum + it),
            unpriced_tokens: sessions.iter().map(|it| it.unpriced_tokens).sum(),
        }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            sessions: self.sessions + other.sessions,
            turns: self.turns + other.turns,
            tool_calls: self.tool_calls + other.tool_calls,
            tokens: self.tokens + other.tokens,
            cost_usd: crate::session::add_money(self.cost_usd, other.cost_usd),
            unpriced_tokens: self.unpriced_tokens + other.unpriced_tokens,
        }
    }
}

/// The facts of a source as they are kept: its values in the order of the fields, without their names, by LZ4; many of them
/// by zstd, as they come, so that they never stand in memory as a whole. Facts that were kept with names, as earlier versions
/// did, are read as well, and so are those of structures that had fewer fields at their end. Also says how long they are
/// uncompressed, unless they are many.
pub fn encode(source: &Source) -> io::Result<(Vec<u8>, Option<usize>)> {
    let rows = source.sessions.iter().map(|it| it.turns.len() + it.tool_calls.len() + it.events.len());
    let rows: usize = rows.sum();
    if rows > MANY_ROWS {
        return Ok((encode_as_they_come(source)?, None));
    }
    let mut bytes = Vec::with_capacity(1024 + rows * ROW_BYTES);
    rmp_serde::encode::write(&mut bytes, source).map_err(io::Error::other)?;
    // LZ4 takes no more than 2 GB: a few rows may hold much text.
    if bytes.len() > MOST_LZ4 {
        return Ok((encode_as_they_come(source)?, None));
    }
    Ok((lz4::block::compress(&bytes, None, true)?, Some(bytes.len())))
}

const MANY_ROWS: usize = 50_000;
/// What a row takes, or somewhat more.
const ROW_BYTES: usize = 320;
const MOST_LZ4: usize = 0x7E00_0000;

fn encode_as_they_come(source: &Source) -> io::Result<Vec<u8>> {
    let mut out = zstd::Encoder::new(Vec::new(), 1)?;
    rmp_serde::encode::write(&mut out, source).map_err(io::Error::other)?;
    out.finish()
}

/// Facts as [`encode`] wrote them.
pub fn decode(bytes: &[u8]) -> io::Result<Source> {
    /// How many times as much LZ4 can give as it takes.
    const RATIO: usize = 256;
    let damaged = |error: &dyn std::fmt::Display| io::Error::new(io::ErrorKind::InvalidData, error.to_string());
    if bytes.starts_with(&zstd::zstd_safe::MAGICNUMBER.to_le_bytes()) {
        let bytes = BufReader::new(zstd::Decoder::with_buffer(bytes)?);
        return rmp_serde::from_read(bytes).map_err(|it| damaged(&it));
    }
    let Some((length, packed)) = bytes.split_first_chunk() else { return Err(damaged(&"no facts")) };
    let length = u32::from_le_bytes(*length);
    let bytes = match i32::try_from(length) {
        Ok(it) if length as usize <= packed.len().saturating_mul(RATIO) => {
            lz4::block::decompress(packed, Some(it)).map_err(|it| damaged(&it))?
        }
        _ => return Err(damaged(&"more facts than there can be")),
    };
    rmp_serde::from_slice(&bytes).map_err(|it| damaged(&it))
}

/// A stretch of a file.
pub fn read_at(file: &mut File, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == length { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// A file that is written and hashed at once.
pub struct Hashed<W> {
    inner: W,
    hash: XxHash3_128,
    bytes: u64,
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        if let Some(bytes) = bytes.get(..written) {
            self.hash.write(bytes);
        }
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl Hashed<BufWriter<File>> {
    fn create(path: &Path) -> io::Result<Self> {
        Ok(Self { inner: BufWriter::new(disk::create(path)?), hash: XxHash3_128::new(), bytes: 0 })
    }

    /// What the file holds. It has yet to reach the disk.
    fn finish(self, rows: usize) -> io::Result<Checksum> {
        self.inner.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(Checksum { bytes: self.bytes, hash: format!("{:032x}", self.hash.finish_128()), rows })
    }
}

/// Writes a file, and says what it holds. It has yet to reach the disk.
pub fn write_file(
    path: &Path,
    rows: usize,
    write: impl FnOnce(&mut Hashed<BufWriter<File>>) -> io::Result<()>,
) -> io::Result<Checksum> {
    let mut out = Hashed::create(path)?;
    write(&mut out)?;
    out.finish(rows)
}

/// The facts of a part, written one by one as they are loaded: nobody needs them again until then.
pub struct Facts {
    file: Hashed<BufWriter<File>>,
    /// The place of each source's facts.
    places: Vec<(u64, u64)>,
}

impl Facts {
    /// A new file for the facts of a part.
    pub fn create(folder: &Path, name: &str) -> io::Result<Self> {
        Ok(Self { file: Hashed::create(&folder.join(FACTS).join(name))?, places: Vec::new() })
    }

    /// Adds the facts of a source, as they are kept.
    pub fn add(&mut self, encoded: &[u8]) -> io::Result<()> {
        self.places.push((self.file.bytes, encoded.len() as u64));
        self.file.write_all(encoded)
    }
}

/// The checksum of a file as it is.
pub fn checksum(path: &Path) -> io::Result<(u64, String)> {
    let mut hash = XxHash3_128::new();
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 16];
    let mut bytes = 0;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok((bytes, format!("{:032x}", hash.finish_128())));
        }
        bytes += read as u64;
        hash.write(buffer.get(..read).unwrap_or_default());
    }
}

/// A part that was written.
pub struct New {
    /// What is known of it.
    pub part: Part,
    /// The place of each source's facts, in the order in which they were given.
    pub places: Vec<(u64, u64)>,
    /// The sources as the ledger leaves them, by path.
    pub settled: Vec<Source>,
}

/// Settles sources that belong together, and writes them as a part into the folders of a generation. `facts` are theirs.
pub fn write(folder: &Path, name: String, sources: Vec<Source>, facts: Facts, catalog: &Catalog) -> io::Result<New> {
    let mut tables = ledger::settle(sources);
    costs::price(&mut tables, catalog);
    let sums = Sums::of(&tables);
    let mut files = BTreeMap::new();
    for table in TABLES {
        let path = folder.join(table).join(format!("{name}.parquet"));
        let mut rows = 0;
        let checksum = write_file(&path, 0, |file| {
            let mut out = Batched::new(file, &frames::schema_of(table))?;
            let write = |frame: DataFrame| {
                rows += frame.height();
                out.write(&frame)
            };
            frames::in_batches(&tables, table, ROW_GROUP, write).map_err(io::Error::other)?;
            out.finish()
        })?;
        files.insert(table.to_owned(), Checksum { rows, ..checksum });
        frames::drop_rows(&mut tables, table);
    }
    let Facts { file, places } = facts;
    files.insert(FACTS.to_owned(), file.finish(places.len())?);
    Ok(New { part: Part { name, files, sums }, places, settled: tables.sources })
}

/// Where a file of a part stands below its generation.
pub fn file_of(part: &Part, kind: &str) -> String {
    if TABLES.contains(&kind) { format!("{kind}/{}.parquet", part.name) } else { format!("{kind}/{}", part.name) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::{Hints, parse};
    use crate::builder::Content;

    fn source() -> Source {
        let log = include_bytes!("../../sample-logs/claude-transcript/with-a-subagent.jsonl");
        let parsed = parse(log, Hints::default(), Content::Full);
        assert!(!parsed.sessions.is_empty());
        Source {
            path: "a".to_owned(),
            forgets: true,
            sessions: parsed.sessions,
            health: parsed.health,
            ..Source::default()
        }
    }

    #[test]
    fn facts_are_read_as_they_were_kept() {
        let source = source();
        assert_eq!(decode(&encode(&source).unwrap().0).unwrap(), source);
        assert_eq!(decode(&encode_as_they_come(&source).unwrap()).unwrap(), source);
        // By their names, as before.
        let named = zstd::bulk::compress(&rmp_serde::to_vec_named(&source).unwrap(), 1).unwrap();
        assert_eq!(decode(&named).unwrap(), source);
    }

    /// A field that came to the end of a structure has its default in facts that were kept before.
    #[test]
    fn facts_may_have_fewer_fields() {
        let turn = &source().sessions[0].turns[0];
        let bytes = rmp_serde::to_vec(turn).unwrap();
        let mut values: Vec<serde::de::IgnoredAny> = rmp_serde::from_slice(&bytes).unwrap();
        let count = values.len();
        values.clear();
        // The last value is a flag of one byte; an array of more than 15 has its length in the two bytes behind the first.
        let mut short = bytes[..bytes.len() - 1].to_vec();
        assert_eq!((short[0], usize::from(u16::from_be_bytes([short[1], short[2]]))), (0xdc, count));
        short[2] -= 1;
        let read: crate::session::Turn = rmp_serde::from_slice(&short).unwrap();
        assert_eq!(read, crate::session::Turn { is_of_killed: false, ..(**turn).clone() });
    }
}
