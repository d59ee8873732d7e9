//! The manifest of a generation: its parts, with the checksums of their files and the sums of their rows.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::Error;
use super::hashed_file::{self, Checksum, hash};
use super::layout::{LAST_VERSION_WITHOUT_MENTION, MANIFEST, OLDEST_VERSION, VERSION, file_of, is_kind};
use crate::base::time::{Day, Time};
use crate::input::open::read_file;
use crate::model::tables::Tables;

/// What a generation contains.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Manifest {
    /// See [`VERSION`].
    #[serde(default = "last_version_without_mention")]
    pub version: u32,
    /// The number of the generation.
    pub generation: u64,
    /// What its tables are computed with: the version of the program and the prices. If they differ, the tables are computed again.
    #[serde(rename = "settled_with")]
    pub reconciled_with: String,
    /// The day of the built-in prices.
    pub prices: Option<Day>,
    /// Hash of the file `index`, in generations before version 9: it is the index of all parts together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<String>,
    /// Its parts.
    pub parts: Vec<Part>,
    /// Hash of the text of this manifest with [`NO_HASH`] in place of the hash.
    pub hash: String,
}

/// The size of the largest manifest. It has some kilobytes per part.
const MAX_BYTES: u64 = 1 << 30;

/// Placeholder, as long as a hash.
const NO_HASH: &str = "00000000000000000000000000000000";

const fn last_version_without_mention() -> u32 {
    LAST_VERSION_WITHOUT_MENTION
}

impl Manifest {
    /// The sums of all parts.
    pub fn sums(&self) -> Sums {
        self.parts.iter().fold(Sums::default(), |sum, part| sum.plus(part.sums))
    }

    /// Writes it to a file, with the present version and its hash.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&mut self, path: &Path) -> io::Result<()> {
        self.version = VERSION;
        NO_HASH.clone_into(&mut self.hash);
        self.hash = hash(serde_json::to_string_pretty(self)?.as_bytes());
        let text = serde_json::to_string_pretty(self)?;
        hashed_file::write_file(path, 0, |file| file.write_all(text.as_bytes())).map(drop)
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// When the file cannot be read, is damaged, or is of another version.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let (manifest, is_intact) = Self::read_damaged(path)?;
        if is_intact { Ok(manifest) } else { Err(Error::changed(path.to_owned())) }
    }

    /// Reads a manifest that may be damaged, and reports whether it is intact.
    ///
    /// # Errors
    /// When the file cannot be read or decoded, or is intact and of another version.
    pub fn read_damaged(path: &Path) -> Result<(Self, bool), Error> {
        let text = read_file(path, MAX_BYTES).map_err(Error::file(path))?;
        let damaged = |error: String| Error::Damaged { path: path.to_owned(), error };
        let text = String::from_utf8(text).map_err(|error| damaged(error.to_string()))?;
        let manifest: Self = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        let found = &manifest.hash;
        let expected = |(before, after): (&str, &str)| hash(format!("{before}{NO_HASH}{after}").as_bytes());
        let is_intact = !found.is_empty() && text.rsplit_once(found.as_str()).map(expected).as_ref() == Some(found);
        if is_intact && !(OLDEST_VERSION..=VERSION).contains(&manifest.version) {
            return Err(Error::Version { path: path.to_owned(), found: manifest.version });
        }
        // A writer links and copies the files of parts.
        if let Some(part) = manifest.parts.iter().find(|part| !part.has_plain_names()) {
            return Err(damaged(format!("it lists the part {}, which is not in the archive", part.name)));
        }
        Ok((manifest, is_intact))
    }
}

/// Some groups of sources and their tables. Nothing in it depends on another part.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Part {
    /// The name of its files.
    pub name: String,
    /// Its files, by directory: the tables, the facts and the index.
    pub files: BTreeMap<String, Checksum>,
    /// The sums of its tables.
    pub sums: Sums,
    /// The rows without a time, of the tables that have such rows; `None` in parts of earlier versions of the program.
    #[serde(default)]
    pub undated: Option<BTreeMap<String, usize>>,
    /// See [`Tables::latest_time`]; `None` in parts without a time, with one that a manifest cannot contain, and of earlier versions of
    /// the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest: Option<Time>,
}

impl Part {
    /// Whether its files are below the directory of a generation.
    pub(super) fn has_plain_names(&self) -> bool {
        let is_plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
        let is_known = |kind: &String| is_kind(kind);
        !self.name.is_empty() && self.name.chars().all(is_plain) && self.files.keys().all(is_known)
    }

    /// The rows of a table without a time, if it is known how many there are.
    pub fn undated_rows(&self, table: &str) -> Option<usize> {
        let undated = self.undated.as_ref()?;
        Some(undated.get(table).copied().unwrap_or(0))
    }

    /// The time after which no row of its tables is; `None` if that is not known, as there are rows without a time.
    pub fn ends_at(&self) -> Option<Time> {
        let undated = self.undated.as_ref()?;
        self.latest.filter(|_| undated.values().all(|rows| *rows == 0))
    }

    /// The path of one of its files in the directory of a generation, once it is found to be as it was written, by its size and time or
    /// its content. polars trusts the lengths that a file states: some damaged files make it allocate more memory than there is, which
    /// ends the process.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged.
    pub fn verified_file(&self, generation: &Path, kind: &str) -> Result<PathBuf, Error> {
        let manifest = fs::metadata(generation.join(MANIFEST));
        self.intact_file(generation, kind, manifest.ok().as_ref().and_then(hashed_file::modified_at))
    }

    /// As [`Self::verified_file`], by its content alone.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged.
    pub fn compared_file(&self, generation: &Path, kind: &str) -> Result<PathBuf, Error> {
        self.intact_file(generation, kind, None)
    }

    /// The path of one of its files: see [`Checksum::is_state_of`].
    fn intact_file(&self, generation: &Path, kind: &str, listed_at: Option<Time>) -> Result<PathBuf, Error> {
        let path = generation.join(file_of(&self.name, kind));
        let is_intact = self.files.get(kind).map(|expected| expected.is_state_of(&path, listed_at)).transpose();
        let is_intact = is_intact.map_err(Error::listed(&path))?.unwrap_or(false);
        if is_intact { Ok(path) } else { Err(Error::changed(path)) }
    }
}

/// Sums of the tables of a part or of all parts.
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
    /// The known costs, in US dollars; `None` if all are unknown.
    pub cost_usd: Option<f64>,
    /// Tokens without a known cost.
    pub unpriced_tokens: i64,
}

impl Sums {
    /// The sums of some tables.
    pub fn of(tables: &Tables) -> Self {
        let sessions = &tables.sessions;
        Self {
            sessions: sessions.len(),
            turns: tables.turns.iter().filter(|row| row.number.is_some()).count(),
            tool_calls: tables.tool_calls.len(),
            tokens: sessions.iter().filter_map(|row| row.tokens.total()).sum(),
            cost_usd: sessions.iter().filter_map(|row| row.money.cost).reduce(|sum, cost| sum + cost),
            unpriced_tokens: sessions.iter().map(|row| row.unpriced_tokens).sum(),
        }
    }

    /// The sums of both together.
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
