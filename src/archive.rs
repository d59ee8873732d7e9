//! The archive: a folder with one parquet file per table, and the facts that they were made of.
//!
//! Any engine reads the parquet files. `facts` is what each file told, before the ledger: a later ingest replaces the
//! facts of the files that changed and settles all of them again, so that the order of ingests does not matter. Facts of
//! files that are gone stay: the archive outlives the logs.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use polars::prelude::*;
use serde::{Deserialize, Serialize};

use crate::frames::{self, TABLES};
use crate::prices::{Catalog, Day, Entry, ImportError, Table};
use crate::source::{Source, SourceStatus};
use crate::tables::Tables;

const MARKER: &str = "agentlogs.json";
const FACTS: &str = "facts";
const LOCK: &str = "lock";
const PRICES: &str = "prices";
const VERSION: u32 = 1;

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
    #[error("{}: an archive of version {found}, this program reads version {VERSION}", .folder.display())]
    Version {
        /// The archive.
        folder: PathBuf,
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
    /// Its facts cannot be read.
    #[error("{}: the archive is damaged: {error}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Why.
        error: String,
    },
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

#[derive(Serialize, Deserialize)]
struct Marker {
    version: u32,
    /// The day of the prices that its tables are computed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prices: Option<Day>,
}

/// Keeps other processes from writing the archive.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "the lock lasts as long as the file is open")] File);

impl Archive {
    /// The archive in `folder`, which need not exist.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Checks that it can be read.
    ///
    /// # Errors
    /// When there is no archive, or one of another version.
    pub fn check(&self) -> Result<(), Error> {
        self.marker().map(drop)
    }

    /// The day of the prices that its tables are computed with.
    ///
    /// # Errors
    /// When there is no archive, or one of another version.
    pub fn priced_with(&self) -> Result<Option<Day>, Error> {
        Ok(self.marker()?.prices)
    }

    fn marker(&self) -> Result<Marker, Error> {
        let path = self.folder.join(MARKER);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Error::Missing(self.folder.clone())),
            Err(error) => return Err(Error::File { path, error }),
        };
        let marker: Marker =
            serde_json::from_slice(&bytes).map_err(|error| Error::Damaged { path, error: error.to_string() })?;
        if marker.version == VERSION {
            Ok(marker)
        } else {
            Err(Error::Version { folder: self.folder.clone(), found: marker.version })
        }
    }

    /// Makes the folder if there is none, and waits until no other process writes to it.
    ///
    /// # Errors
    /// When the folder holds something else, or cannot be written.
    pub fn lock(&self) -> Result<Lock, Error> {
        match self.check() {
            Err(Error::Missing(_)) => {
                let names: Vec<String> = fs::read_dir(&self.folder)
                    .map(|it| it.flatten().map(|it| it.file_name().to_string_lossy().into_owned()).collect())
                    .unwrap_or_default();
                // A first ingest that was killed leaves its lock and some files. Tables without a lock are an export.
                let is_begun = names.iter().any(|it| it == LOCK) && names.iter().all(|it| is_own(it));
                if !names.is_empty() && !is_begun {
                    return Err(Error::Foreign(self.folder.clone()));
                }
            }
            other => other?,
        }
        let path = self.folder.join(LOCK);
        let locked = fs::create_dir_all(&self.folder).and_then(|()| {
            let file = File::create(&path)?;
            file.lock()?;
            Ok(file)
        });
        locked.map(Lock).map_err(|error| Error::File { path, error })
    }

    /// The facts of all files, by path; none if there is no archive yet.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn facts(&self) -> Result<BTreeMap<String, Source>, Error> {
        let path = self.folder.join(FACTS);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(Error::File { path, error }),
        };
        let damaged = |error: &dyn std::fmt::Display| Error::Damaged { path: path.clone(), error: error.to_string() };
        let mut reader = zstd::stream::read::Decoder::new(BufReader::new(file)).map_err(|it| damaged(&it))?;
        let count: u64 = rmp_serde::from_read(&mut reader).map_err(|it| damaged(&it))?;
        (0..count)
            .map(|_| {
                let source: Source = rmp_serde::from_read(&mut reader).map_err(|it| damaged(&it))?;
                Ok((source.path.clone(), source))
            })
            .collect()
    }

    /// The prices that were imported into it; none if there is no archive yet.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn own_prices(&self) -> Result<Vec<Entry>, Error> {
        let path = self.folder.join(PRICES);
        match fs::read(&path) {
            Ok(bytes) if bytes.is_empty() => Ok(Vec::new()),
            Ok(bytes) => Table::parse(&bytes).map(|it| it.entries).map_err(|error| Error::Prices { path, error }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(Error::File { path, error }),
        }
    }

    /// Keeps prices as its own, in place of those that it has.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn write_own_prices(&self, entries: &Table) -> Result<(), Error> {
        self.replace(PRICES, |file| file.write_all(entries.to_json_lines().as_bytes()))
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

    /// Writes the tables and the facts that they were made of. Each file is replaced whole.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, facts: &[Source], tables: &Tables) -> Result<(), Error> {
        for (name, mut frame) in frames::frames(tables)? {
            self.replace(&format!("{name}.parquet"), |file| write_parquet(file, &mut frame))?;
        }
        self.replace(FACTS, |file| {
            let mut writer = zstd::stream::write::Encoder::new(file, 1)?.auto_finish();
            rmp_serde::encode::write(&mut writer, &(facts.len() as u64)).map_err(io::Error::other)?;
            for source in facts {
                rmp_serde::encode::write_named(&mut writer, source).map_err(io::Error::other)?;
            }
            writer.flush()
        })?;
        let marker = Marker { version: VERSION, prices: tables.priced_with };
        self.replace(MARKER, |file| Ok(serde_json::to_writer(&mut *file, &marker)?))
    }

    fn replace(&self, name: &str, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<(), Error> {
        let path = self.folder.join(name);
        let next = self.folder.join(format!("{name}.next"));
        let written = File::create(&next).map(BufWriter::new).and_then(|mut file| {
            write(&mut file)?;
            file.flush()?;
            fs::rename(&next, &path)
        });
        written.map_err(|error| Error::File { path, error })
    }

    /// The tables, to be read when they are asked for.
    ///
    /// # Errors
    /// When there is no archive, or a table of it cannot be opened.
    pub fn tables(&self) -> Result<Vec<(&'static str, LazyFrame)>, Error> {
        self.check()?;
        TABLES
            .into_iter()
            .map(|name| {
                let path = self.folder.join(format!("{name}.parquet"));
                if !path.is_file() {
                    return Err(Error::Damaged { path, error: "the file is missing; ingest again".to_owned() });
                }
                let path = PlRefPath::try_from_path(&path)?;
                // A path may hold characters that are patterns elsewhere.
                let options = ScanArgsParquet { glob: false, ..ScanArgsParquet::default() };
                Ok((name, LazyFrame::scan_parquet(path, options)?))
            })
            .collect()
    }
}

/// Whether a file of that name can be one of an archive, or the next one of it.
fn is_own(name: &str) -> bool {
    let name = name.strip_suffix(".next").unwrap_or(name);
    let is_table = |it: &str| TABLES.contains(&it);
    [MARKER, FACTS, LOCK, PRICES].contains(&name) || name.strip_suffix(".parquet").is_some_and(is_table)
}

/// Writes one frame as parquet, compressed with zstd.
///
/// # Errors
/// When the file cannot be written.
pub fn write_parquet(file: impl Write, frame: &mut DataFrame) -> io::Result<()> {
    let writer = ParquetWriter::new(file).with_compression(ParquetCompression::Zstd(None));
    writer.finish(frame).map(drop).map_err(io::Error::other)
}

/// The facts after a run: what it read replaces what was known, and what it could not read does not. What was known of a
/// file that now holds something else is set aside, and so is what was known of sessions that were deleted of a database.
pub fn join(mut known: BTreeMap<String, Source>, read: Vec<Source>) -> Vec<Source> {
    for source in read {
        let has_facts = known.get(&source.path).is_some_and(|it| !it.sessions.is_empty());
        if source.status == SourceStatus::Unreadable && has_facts {
            continue;
        }
        let aside = known.get(&source.path).and_then(|it| it.left_by(&source));
        known.insert(source.path.clone(), source);
        if let Some(old) = aside {
            known.insert(old.path.clone(), old);
        }
    }
    known.into_values().collect()
}
