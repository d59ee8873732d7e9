//! The files of a generation: facts one by one, tables as parquet, each with its checksum.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_128;

use super::disk;
use super::facts::{FACTS, Facts, Place};
use crate::ledger;
use crate::ledger::costs;
use crate::model::source::Source;
use crate::model::tables::Tables;
use crate::prices::Catalog;
use crate::store::frames::{self, TABLES};
use crate::store::parquet::{Batched, RowSet};

/// Rows that are written at once.
const ROW_GROUP: usize = 1 << 14;

/// What is written at once, in bytes: the page cache takes 64 kB in the time of 30 kB that come 8 kB at a time.
pub const BUFFER: usize = 1 << 16;

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
            cost_usd: crate::model::session::add_money(self.cost_usd, other.cost_usd),
            unpriced_tokens: self.unpriced_tokens + other.unpriced_tokens,
        }
    }
}

/// A file that is written and hashed at once.
pub struct Hashed {
    /// The bytes are hashed as they leave it: those of a parquet file's end come one by one.
    inner: BufWriter<Hashing>,
    bytes: u64,
}

struct Hashing {
    file: File,
    hash: XxHash3_128,
}

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        if let Some(bytes) = bytes.get(..written) {
            self.hash.write(bytes);
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl Hashed {
    /// A new file.
    pub fn create(path: &Path) -> io::Result<Self> {
        let hashing = Hashing { file: disk::create(path)?, hash: XxHash3_128::new() };
        Ok(Self { inner: BufWriter::with_capacity(BUFFER, hashing), bytes: 0 })
    }

    /// How many bytes were written.
    pub const fn written(&self) -> u64 {
        self.bytes
    }

    /// What the file holds. It has yet to reach the disk.
    pub fn finish(self, rows: usize) -> io::Result<Checksum> {
        let Hashing { file, hash } = self.inner.into_inner().map_err(io::IntoInnerError::into_error)?;
        disk::begin_sync(&file);
        Ok(Checksum { bytes: self.bytes, hash: format!("{:032x}", hash.finish_128()), rows })
    }
}

/// Writes a file, and says what it holds. It has yet to reach the disk.
pub fn write_file(path: &Path, rows: usize, write: impl FnOnce(&mut Hashed) -> io::Result<()>) -> io::Result<Checksum> {
    let mut out = Hashed::create(path)?;
    write(&mut out)?;
    out.finish(rows)
}

/// XXH3-128 of these bytes, as text.
pub fn hash(bytes: &[u8]) -> String {
    format!("{:032x}", XxHash3_128::oneshot(bytes))
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
    pub places: Vec<Place>,
    /// The sources as the ledger leaves them, by path.
    pub settled: Vec<Source>,
}

/// Sources that are settled together.
pub struct Round {
    /// With the sessions that belong together.
    pub sources: Vec<Source>,
    /// Whether more of the same source is to come: of each source the last round tells what became of it.
    pub has_more: bool,
}

/// Settles sources round by round, and writes them as a part into the folders of a generation. `facts` are theirs; tables are
/// taken from `room`, if there is one, and left there without their rows.
pub fn write(
    folder: &Path,
    name: String,
    rounds: impl Iterator<Item = io::Result<Round>>,
    facts: Facts,
    catalog: &Catalog,
    room: &Mutex<Vec<Tables>>,
) -> io::Result<New> {
    let mut writers = Vec::with_capacity(TABLES.len());
    for table in TABLES {
        let file = Hashed::create(&folder.join(table).join(format!("{name}.parquet")))?;
        writers.push((table, Batched::new(file, &frames::schema_of(table))?, 0));
    }
    let mut sums = Sums::default();
    let mut settled = Vec::new();
    let mut sessions_before = 0;
    for round in rounds {
        let Round { sources, has_more } = round?;
        let used = room.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut tables = ledger::settle_into(sources, used.unwrap_or_default());
        costs::price(&mut tables, catalog);
        sums = sums.plus(Sums::of(&tables));
        for it in &mut tables.sources {
            it.session_count += sessions_before;
        }
        sessions_before = if has_more { tables.sources.iter().map(|it| it.session_count).sum() } else { 0 };
        for (table, out, rows) in &mut writers {
            if has_more && matches!(*table, "sources" | "rejects") {
                continue;
            }
            let write = |batch: &dyn RowSet| {
                let group = out.pack(batch)?;
                *rows += out.write(&group)?;
                Ok(())
            };
            frames::row_sets(&tables, table, ROW_GROUP, write).map_err(io::Error::other)?;
            frames::drop_rows(&mut tables, table);
        }
        if !has_more {
            settled.append(&mut tables.sources);
        }
        let used = Tables { sessions: Vec::new(), sources: Vec::new(), ..tables };
        room.lock().unwrap_or_else(PoisonError::into_inner).push(used);
    }
    let mut files = BTreeMap::new();
    for (table, out, rows) in writers {
        files.insert(table.to_owned(), out.finish()?.finish(rows)?);
    }
    let (checksum, places) = facts.finish()?;
    files.insert(FACTS.to_owned(), checksum);
    Ok(New { part: Part { name, files, sums }, places, settled })
}

/// Where a file of a part stands below its generation.
pub fn file_of(part: &Part, kind: &str) -> String {
    if TABLES.contains(&kind) { format!("{kind}/{}.parquet", part.name) } else { format!("{kind}/{}", part.name) }
}
