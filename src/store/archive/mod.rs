//! The archive: a folder of generations, of which one is current.
//!
//! ```text
//! agentlogs.json     what this folder is, and the version of its layout
//! lock               held by whoever writes
//! prices             the user's own prices
//! current            -> generation-N, replaced by one rename: the only moment in which an archive changes
//! generation-N/      never written again once it is current
//!     manifest.json  parts, their checksums and sums
//!     index          every source: size and time, so that it is read again only if it changed, its links, where its facts are
//!     sessions/, turns/, …, one parquet file per part
//!     facts/         what each source told before the ledger, per part
//! ```
//!
//! Any engine reads `current/turns/*.parquet`. A part holds whole groups of sources, which nothing links to other parts
//! ([`crate::ledger::groups`]): when sources change, the parts that they belong to are settled again from their facts, the others
//! are linked into the next generation as they are. Facts of files that are gone stay: the archive outlives the logs.
//!
//! A process that dies leaves the current generation and a folder `next`, which the next writer removes. The generation
//! before the current one stays until the next write, and any generation for as long as a reader has a [`Snapshot`] of it.
//!
//! Damage: the manifest contains the hash of its own text and those of all other files of its generation, and every file is
//! compared with its hash before it is read. A source's facts have a checksum in the index, so that [`Archive::repair`] keeps all
//! but those that the damage reaches.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use polars::prelude::*;
use rayon::prelude::*;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::base::time::Day;
use crate::ingest::Stamp;
use crate::model::health::Reason;
use crate::model::source::Source;
use crate::model::tables::Tables;
use crate::prices::{Catalog, Entry, ImportError, Table};
use crate::store::frames::{self, TABLES};

mod check;
mod disk;
mod facts;
mod generations;
mod pack;
mod parts;
mod repair;
mod unpack;
mod writer;

pub use check::{Checked, Problem};
pub use generations::Snapshot;
pub use parts::Sums;
pub use repair::{Lost, Repair};
pub use writer::{Writer, Written};

use facts::{Piece, Pieces};
use parts::Part;

const MARKER: &str = "agentlogs.json";
const LOCK: &str = "lock";
const PRICES: &str = "prices";
const CURRENT: &str = "current";
const NEXT: &str = "next";
const GENERATION: &str = "generation-";
const MANIFEST: &str = "manifest.json";
const INDEX: &str = "index";
/// Raised when the layout changes.
const VERSION: u32 = 4;
/// The oldest layout that is read: its facts and index are packed in other ways, its manifest and prices have no checksum.
const OLDEST: u32 = 2;

/// A folder that holds an archive, or will.
#[derive(Debug, Clone)]
pub struct Archive {
    folder: PathBuf,
}

/// What can go wrong with an archive.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is none.
    #[error("{}: no archive here; make one with `agentlogs ingest PATH --archive {}`", .0.display(), .0.display())]
    Missing(PathBuf),
    /// The folder is something else.
    #[error("{}: holds other files and no archive; name an empty folder", .0.display())]
    Foreign(PathBuf),
    /// Another version of this program wrote it.
    #[error(
        "{}: an archive of version {found}, this program reads version {VERSION}; {}",
        .path.display(),
        if *found > VERSION { "use a newer agentlogs" } else { "ingest the logs into a new folder" }
    )]
    Version {
        /// The file that contains it.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// A file of it cannot be read or written.
    #[error("{}: {error}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is not as it was written.
    #[error(
        "{}: the archive is damaged: {error}; `agentlogs archive check` lists all damage, `agentlogs archive repair` keeps what is intact",
        .path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Why.
        error: String,
    },
    /// It is damaged, and nothing of it can be read.
    #[error(
        "{}: no generation of the archive can be read, so it cannot be repaired; \
         move the directory away and ingest the logs into a new one",
        .0.display()
    )]
    Unrepairable(PathBuf),
    /// A table of prices cannot be used.
    #[error("{}: {error}", .path.display())]
    Prices {
        /// The file.
        path: PathBuf,
        /// Why.
        error: ImportError,
    },
    /// Its tables cannot be read or written.
    #[error(transparent)]
    Polars(#[from] PolarsError),
}

impl Error {
    fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |error| match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
                Self::Damaged { path, error: error.to_string() }
            }
            _ => Self::File { path, error },
        }
    }

    /// For a file that the manifest lists: if it is not there, the archive is damaged.
    fn listed(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |error| if error.kind() == io::ErrorKind::NotFound { Self::missing(path) } else { Self::file(path)(error) }
    }

    fn missing(path: PathBuf) -> Self {
        Self::Damaged { path, error: "it is missing".to_owned() }
    }

    fn changed(path: PathBuf) -> Self {
        Self::Damaged { path, error: "it is not what was written".to_owned() }
    }
}

#[derive(Serialize, Deserialize)]
struct Marker {
    version: u32,
}

impl Marker {
    /// That of an archive as this program writes it.
    fn of_now() -> Vec<u8> {
        serde_json::to_vec(&Self { version: VERSION }).unwrap_or_default()
    }
}

/// What a generation holds.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Manifest {
    generation: u64,
    /// What its tables are settled with: the program's version and the prices. Others settle them again.
    settled_with: String,
    /// The day of the built-in prices among them.
    prices: Option<Day>,
    /// Hash of the index.
    index: String,
    parts: Vec<Part>,
    /// Hash of the text of this manifest with [`NO_HASH`] in its place. Earlier versions have none.
    #[serde(default)]
    hash: String,
}

/// As long as a hash.
const NO_HASH: &str = "00000000000000000000000000000000";

/// One source, as the index knows it: the values in this order, or with the names of the fields, as earlier versions kept it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Known {
    /// Whether its file has to be read again.
    stamp: Stamp,
    /// Whether it tells of a session.
    has_sessions: bool,
    /// What was lost of it, by reason.
    pub rejects: Vec<(Reason, i64)>,
    /// Records of types that no adapter knows.
    pub unknown_records: i64,
    /// What became of it, in the ledger's word: parsed, or a copy.
    pub status: crate::model::source::SourceStatus,
    /// Index of its part, and where its facts stand there.
    part: usize,
    offset: u64,
    length: u64,
    /// Where they stand in pieces until they are in a part.
    #[serde(skip)]
    pieces: Vec<Piece>,
    /// See [`crate::ledger::links`].
    links: Box<[u64]>,
    /// Checksum of its facts: [`facts::checksum`]. Earlier versions have none.
    #[serde(default)]
    checksum: Option<u32>,
}

/// The sources by path. There may be many, and they are sorted, grouped and handed on: only their places move.
type Sources = BTreeMap<String, Box<Known>>;

/// The sources as they are read. They are in order: a map of all of them at once takes a tenth of the time of one by one.
struct Index(Vec<(String, Box<Known>)>);

impl<'de> Deserialize<'de> for Index {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Index;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("the sources of an archive")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Index, A::Error> {
                let mut sources = Vec::new();
                while let Some(it) = map.next_entry()? {
                    sources.push(it);
                }
                Ok(Index(sources))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

/// What the current generation holds.
#[derive(Debug, Default)]
struct State {
    /// The generation; none of an archive that is new.
    snapshot: Option<Snapshot>,
    sources: Sources,
    /// The parts whose facts are what was written.
    verified: Mutex<BTreeSet<usize>>,
}

impl State {
    fn parts(&self) -> &[Part] {
        self.snapshot.as_ref().map_or(&[], |snapshot| &snapshot.manifest.parts)
    }

    /// The file that contains the facts of a source, once it is known to be what was written.
    fn open(&self, known: &Known) -> Result<(PathBuf, File), Error> {
        let (Some(snapshot), Some(part)) = (&self.snapshot, self.parts().get(known.part)) else {
            return Err(Error::Damaged { path: PathBuf::from(INDEX), error: "a source is in no part".to_owned() });
        };
        let path = snapshot.folder.join(parts::file_of(part, facts::FACTS));
        let verified = || self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        if !verified().contains(&known.part) {
            whole_file(&snapshot.folder, part, facts::FACTS)?;
            verified().insert(known.part);
        }
        let file = File::open(&path).map_err(Error::listed(&path))?;
        Ok((path, file))
    }

    /// What a source told.
    fn load(&self, known: &Known) -> Result<Source, Error> {
        self.read(known, Pieces::load)
    }

    /// As [`Self::load`], but of a source in pieces what `all` makes of them.
    fn read(&self, known: &Known, all: impl Fn(&Pieces, &mut File) -> io::Result<Source>) -> Result<Source, Error> {
        let (path, mut file) = self.open(known)?;
        facts::read(&mut file, known.offset, known.length, all).map_err(Error::file(&path))
    }
}

/// Keeps other processes from writing the archive.
#[derive(Debug)]
struct Lock {
    #[expect(dead_code, reason = "the lock lasts as long as the file is open")]
    file: File,
    /// What had to be made for it, the outermost directory first.
    made: Vec<PathBuf>,
}

impl Archive {
    /// The archive in `folder`, which need not exist.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The day of the prices that its tables are computed with.
    ///
    /// # Errors
    /// When there is no archive, or one of another version.
    pub fn priced_with(&self) -> Result<Option<Day>, Error> {
        Ok(self.snapshot()?.priced_with())
    }

    /// What it holds, in sum.
    ///
    /// # Errors
    /// When there is no archive, or one of another version.
    pub fn sums(&self) -> Result<Sums, Error> {
        Ok(self.snapshot()?.manifest.sums())
    }

    fn check_version(&self) -> Result<u32, Error> {
        let path = self.folder.join(MARKER);
        let missing = |path| {
            // A directory with generations is an archive whose marker was lost.
            if self.generations().is_empty() { Error::Missing(self.folder.clone()) } else { Error::missing(path) }
        };
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(missing(path)),
            Err(error) => return Err(Error::File { path, error }),
        };
        let marker: Marker = match serde_json::from_slice(&bytes) {
            Ok(marker) => marker,
            // The power went before a first ingest made anything current, and took what was written.
            Err(_) if bytes.iter().all(|it| *it == 0) => return Err(missing(path)),
            Err(error) => return Err(Error::Damaged { path, error: error.to_string() }),
        };
        let found = marker.version;
        if (OLDEST..=VERSION).contains(&found) { Ok(found) } else { Err(Error::Version { path, found }) }
    }

    /// Notes that the layout is that of now.
    fn mark(&self) -> io::Result<()> {
        match self.check_version() {
            Ok(VERSION) => Ok(()),
            _ => self.replace(MARKER, &Marker::of_now()),
        }
    }

    /// The current generation with its index; nothing if there is none yet.
    fn state(&self) -> Result<State, Error> {
        let snapshot = match self.snapshot() {
            Ok(snapshot) => snapshot,
            Err(Error::Missing(_)) => return Ok(State::default()),
            Err(error) => return Err(error),
        };
        let sources = snapshot.sources()?;
        Ok(State { snapshot: Some(snapshot), sources, verified: Mutex::default() })
    }

    /// Makes the folder if there is none, and waits until no other process writes to it.
    fn lock(&self) -> Result<Lock, Error> {
        match self.check_version() {
            Err(Error::Missing(_)) => {
                let names: Vec<String> = fs::read_dir(&self.folder)
                    .map(|it| it.flatten().map(|it| it.file_name().to_string_lossy().into_owned()).collect())
                    .unwrap_or_default();
                // What a first ingest that was cut off leaves.
                let is_ours =
                    |it: &str| matches!(it, LOCK | MARKER) || it == NEXT && writer::is_next(&self.folder.join(NEXT));
                if !names.iter().all(|it| is_ours(it)) {
                    return Err(Error::Foreign(self.folder.clone()));
                }
            }
            other => drop(other?),
        }
        self.lock_folder()
    }

    /// [`Self::lock`] of a directory that is known to be an archive's.
    fn lock_folder(&self) -> Result<Lock, Error> {
        let path = self.folder.join(LOCK);
        let is_new = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let mut made: Vec<PathBuf> = self.folder.ancestors().take_while(is_new).map(Path::to_owned).collect();
        made.reverse();
        let locked = loop {
            let is_new_lock = !path.exists();
            let locked = disk::create_folder(&self.folder).and_then(|()| {
                let file = disk::open_lock(&path)?;
                file.lock()?;
                Ok(file)
            });
            // Another process may have removed what it made meanwhile: see `Writer::withdraw`.
            if !matches!(&locked, Ok(file) if !disk::is_at(file, &path)) {
                made.extend(Some(path.clone()).filter(|_| is_new_lock));
                break locked;
            }
        };
        locked.map(|file| Lock { file, made }).map_err(|error| Error::File { path, error })
    }

    /// What each of its sources told, by path; nothing if there is no archive yet.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn facts(&self) -> Result<BTreeMap<String, Source>, Error> {
        let state = self.state()?;
        state.sources.iter().map(|(path, known)| Ok((path.clone(), state.load(known)?))).collect()
    }

    /// [`Self::facts`] of an archive that is there.
    ///
    /// # Errors
    /// When there is none, or they cannot be read.
    pub fn known_facts(&self) -> Result<BTreeMap<String, Source>, Error> {
        self.snapshot()?;
        self.facts()
    }

    /// The prices that were imported into it; none if there is no archive yet.
    ///
    /// # Errors
    /// When they cannot be read, or are damaged.
    pub fn own_prices(&self) -> Result<Vec<Entry>, Error> {
        let path = self.folder.join(PRICES);
        let bytes = match fs::read(&path) {
            Ok(bytes) if bytes.is_empty() => return Ok(Vec::new()),
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::File { path, error }),
        };
        let Some(entries) = without_hash(&bytes) else { return Err(Error::changed(path)) };
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        Table::parse(entries).map(|it| it.entries).map_err(|error| Error::Prices { path, error })
    }

    /// The built-in prices under its own.
    ///
    /// # Errors
    /// When its own cannot be read.
    pub fn catalog(&self) -> Result<Cow<'static, Catalog>, Error> {
        let own = self.own_prices()?;
        let catalog = Catalog::built_in();
        Ok(if own.is_empty() { Cow::Borrowed(catalog) } else { Cow::Owned(catalog.under(own)) })
    }

    /// Waits until no other process writes, and takes the writing over.
    ///
    /// # Errors
    /// When the folder holds something else, or cannot be read or written.
    pub fn write(&self) -> Result<Writer, Error> {
        Writer::new(self.clone())
    }

    fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let next = self.folder.join(format!("{name}.next"));
        let mut file = disk::create_or_empty(&next)?;
        file.write_all(bytes)?;
        disk::sync(&file, &next)?;
        disk::rename(&next, &self.folder.join(name))?;
        disk::sync_folder(&self.folder)
    }

    /// The tables, to be read when they are asked for. Whoever reads them for long, beside writers, takes those of a [`Snapshot`].
    ///
    /// # Errors
    /// When there is no archive, or a table of it cannot be opened.
    pub fn tables(&self) -> Result<Vec<(&'static str, LazyFrame)>, Error> {
        self.snapshot()?.tables()
    }
}

impl Snapshot {
    /// The day of the prices that its tables are computed with.
    pub fn priced_with(&self) -> Option<Day> {
        self.manifest.prices
    }

    /// Its tables, to be read while this value exists.
    ///
    /// # Errors
    /// When a table cannot be opened, or is not what was written.
    pub fn tables(&self) -> Result<Vec<(&'static str, LazyFrame)>, Error> {
        let Self { folder, manifest, .. } = self;
        if manifest.parts.is_empty() {
            let empty = frames::frames(&Tables::default())?;
            return Ok(empty.into_iter().map(|(name, frame)| (name, frame.lazy())).collect());
        }
        TABLES
            .into_par_iter()
            .map(|name| {
                let scans = manifest.parts.iter().filter(|it| it.files.get(name).is_some_and(|it| it.rows > 0));
                let mut parts: Vec<&Part> = scans.collect();
                if parts.is_empty() {
                    parts.extend(manifest.parts.first());
                }
                let paths = parts.into_par_iter().map(|it| whole_file(folder, it, name));
                let paths = paths.collect::<Result<Vec<_>, _>>()?;
                let paths = paths.iter().map(|it| PlRefPath::try_from_path(it)).collect::<PolarsResult<Vec<_>>>()?;
                // A path may hold characters that are patterns elsewhere.
                let options = ScanArgsParquet { glob: false, ..ScanArgsParquet::default() };
                Ok((name, LazyFrame::scan_parquet_files(paths.into(), options)?))
            })
            .collect()
    }

    /// The index, once it is known to be what was written.
    fn sources(&self) -> Result<Sources, Error> {
        let path = self.folder.join(INDEX);
        let bytes = fs::read(&path).map_err(Error::listed(&path))?;
        if parts::hash(&bytes) != self.manifest.index {
            return Err(Error::changed(path));
        }
        let read = || -> io::Result<Index> {
            let index = io::BufReader::new(zstd::Decoder::with_buffer(&*bytes)?);
            rmp_serde::from_read(index).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
        };
        Ok(read().map_err(Error::file(&path))?.0.into_iter().collect())
    }
}

/// A file of a part, once it is known to be what was written. polars trusts what a file says of itself: of some damaged
/// ones it asks for more memory than there is, which ends the process.
fn whole_file(folder: &Path, part: &Part, kind: &str) -> Result<PathBuf, Error> {
    let path = folder.join(parts::file_of(part, kind));
    let found = parts::checksum(&path).map_err(Error::listed(&path))?;
    let is_whole = part.files.get(kind).is_some_and(|it| it.is(&found));
    if is_whole { Ok(path) } else { Err(Error::changed(path)) }
}

/// How the last line of the file of prices begins, which contains the hash of the lines before it.
const PRICES_HASH: &str = "{\"hash\":\"";

/// Lines of prices, and a last line with their hash.
fn with_hash(lines: &str) -> String {
    format!("{lines}{PRICES_HASH}{}\"}}\n", parts::hash(lines.as_bytes()))
}

/// The lines of prices, if they are what was written. Earlier versions wrote no hash.
fn without_hash(bytes: &[u8]) -> Option<&[u8]> {
    let start = bytes.len().saturating_sub(PRICES_HASH.len() + NO_HASH.len() + "\"}\n".len());
    let (lines, last) = bytes.split_at_checked(start)?;
    if !last.starts_with(PRICES_HASH.as_bytes()) {
        return Some(bytes);
    }
    (with_hash(std::str::from_utf8(lines).ok()?).as_bytes() == bytes).then_some(lines)
}

impl Manifest {
    fn sums(&self) -> Sums {
        self.parts.iter().fold(Sums::default(), |sum, it| sum.plus(it.sums))
    }

    /// As JSON, with the hash of that text in it.
    fn to_json(&self) -> serde_json::Result<String> {
        let text = serde_json::to_string_pretty(&Self { hash: NO_HASH.to_owned(), ..self.clone() })?;
        let hash = parts::hash(text.as_bytes());
        // It is the last field.
        Ok(text.rsplit_once(NO_HASH).map_or_else(|| text.clone(), |(before, after)| format!("{before}{hash}{after}")))
    }

    /// The manifest in a file.
    fn read(path: &Path) -> Result<Self, Error> {
        let (manifest, is_whole) = Self::read_damaged(path)?;
        if is_whole { Ok(manifest) } else { Err(Error::changed(path.to_owned())) }
    }

    /// The manifest in a file, and whether it is what was written.
    fn read_damaged(path: &Path) -> Result<(Self, bool), Error> {
        let text = fs::read_to_string(path).map_err(Error::file(path))?;
        let manifest: Self = serde_json::from_str(&text)
            .map_err(|error| Error::Damaged { path: path.to_owned(), error: error.to_string() })?;
        let hash = &manifest.hash;
        let whole = |(before, after): (&str, &str)| parts::hash(format!("{before}{NO_HASH}{after}").as_bytes());
        // Earlier versions have no hash.
        let is_whole = hash.is_empty() || text.rsplit_once(hash.as_str()).map(whole).as_ref() == Some(hash);
        Ok((manifest, is_whole))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Earlier versions kept the index with the names of the fields.
    #[test]
    fn the_index_is_read_as_it_is_and_was_kept() {
        let hash = Some("00ab".repeat(8));
        for content_hash in [None, hash.clone(), Some("f".repeat(32))] {
            let source = Source { path: "b".to_owned(), bytes: 7, content_hash, ..Source::default() };
            let known = Known {
                stamp: Stamp::of(&source),
                has_sessions: true,
                rejects: vec![(Reason::NoUsage, 3)],
                unknown_records: 2,
                status: source.status,
                part: 1,
                offset: 1 << 40,
                length: 9,
                pieces: Vec::new(),
                links: [4, u64::MAX].into(),
                checksum: Some(7),
            };
            let sources: Sources =
                [("b", &known), ("a", &known)].map(|it| (it.0.into(), Box::new(it.1.clone()))).into();
            for bytes in [rmp_serde::to_vec(&sources).unwrap(), rmp_serde::to_vec_named(&sources).unwrap()] {
                let read: Index = rmp_serde::from_read(&*bytes).unwrap();
                assert_eq!(format!("{:?}", read.0.into_iter().collect::<Sources>()), format!("{sources:?}"));
            }
        }
        assert!(Stamp::of(&Source { content_hash: hash, ..Source::default() }).content_hash.is_some());
    }
}
