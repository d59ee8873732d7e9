//! The files of a generation: facts one by one, tables as parquet, each with its checksum.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use polars::prelude::*;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3Default;

use crate::frames::{self, TABLES};
use crate::prices::Catalog;
use crate::source::Source;
use crate::tables::Tables;
use crate::{costs, ledger};

/// Where the facts of the sources of each part stand.
pub const FACTS: &str = "facts";

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

/// The facts of a source as they are kept.
pub fn encode(source: &Source) -> io::Result<Vec<u8>> {
    let bytes = rmp_serde::to_vec_named(source).map_err(io::Error::other)?;
    zstd::bulk::compress(&bytes, 1)
}

/// Facts as [`encode`] wrote them.
pub fn decode(bytes: &[u8]) -> io::Result<Source> {
    let reader = zstd::stream::read::Decoder::with_buffer(bytes)?;
    rmp_serde::from_read(io::BufReader::new(reader)).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
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
    hash: Xxh3Default,
    bytes: u64,
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        if let Some(bytes) = bytes.get(..written) {
            self.hash.update(bytes);
        }
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Writes a file to the disk, and says what it holds.
pub fn write_file(
    path: &Path,
    rows: usize,
    write: impl FnOnce(&mut Hashed<BufWriter<File>>) -> io::Result<()>,
) -> io::Result<Checksum> {
    let file = super::private(File::options().write(true).create_new(true)).open(path)?;
    let mut out = Hashed { inner: BufWriter::new(file), hash: Xxh3Default::new(), bytes: 0 };
    write(&mut out)?;
    let Hashed { inner, hash, bytes } = out;
    inner.into_inner().map_err(io::IntoInnerError::into_error)?.sync_data()?;
    Ok(Checksum { bytes, hash: format!("{:032x}", hash.digest128()), rows })
}

/// The checksum of a file as it is.
pub fn checksum(path: &Path) -> io::Result<(u64, String)> {
    let mut hash = Xxh3Default::new();
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 16];
    let mut bytes = 0;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok((bytes, format!("{:032x}", hash.digest128())));
        }
        bytes += read as u64;
        hash.update(buffer.get(..read).unwrap_or_default());
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

/// Settles sources that belong together, and writes them as a part into the folders of a generation. `encoded` are their
/// facts as they are kept.
pub fn write(
    folder: &Path,
    name: String,
    sources: Vec<Source>,
    encoded: &[Vec<u8>],
    catalog: &Catalog,
) -> io::Result<New> {
    let mut tables = ledger::settle(sources);
    costs::price(&mut tables, catalog);
    let frames = frames::frames(&tables).map_err(io::Error::other)?;
    let mut files = BTreeMap::new();
    for (table, mut frame) in frames {
        let path = folder.join(table).join(format!("{name}.parquet"));
        let checksum = write_file(&path, frame.height(), |file| write_parquet(file, &mut frame))?;
        files.insert(table.to_owned(), checksum);
    }
    let mut places = Vec::with_capacity(encoded.len());
    let mut offset = 0;
    let checksum = write_file(&folder.join(FACTS).join(&name), encoded.len(), |file| {
        for bytes in encoded {
            file.write_all(bytes)?;
            places.push((offset, bytes.len() as u64));
            offset += bytes.len() as u64;
        }
        Ok(())
    })?;
    files.insert(FACTS.to_owned(), checksum);
    Ok(New { part: Part { name, files, sums: Sums::of(&tables) }, places, settled: tables.sources })
}

/// Writes one frame as parquet, compressed with zstd.
///
/// # Errors
/// When the file cannot be written.
pub fn write_parquet(file: impl Write, frame: &mut DataFrame) -> io::Result<()> {
    crate::parquet::write(file, frame, Vec::new())
}

/// Where a file of a part stands below its generation.
pub fn file_of(part: &Part, kind: &str) -> String {
    if TABLES.contains(&kind) { format!("{kind}/{}.parquet", part.name) } else { format!("{kind}/{}", part.name) }
}
