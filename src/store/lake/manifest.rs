//! The manifest of a lake: its files with their sizes and checksums.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::Error;
use super::layout::{PartitionBy, is_path_of_lake};
use super::place::Place;
use crate::base::time::Day;

/// The version of the layout of lakes. A program refuses lakes of later versions.
pub const VERSION: u32 = 2;

/// What a lake consists of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// See [`VERSION`].
    pub lake: u32,
    /// The program that wrote it, and its version.
    pub written_by: String,
    /// Hash of the names and types of all columns: the version of the schema of the tables.
    pub schema: String,
    /// The version of the encoding of [`super::layout::FACTS`].
    pub facts: u32,
    /// The period of a partition; `None` if the tables are not partitioned.
    pub partitioned_by: Option<PartitionBy>,
    /// The day of the built-in prices that its costs are computed with, if they are computed.
    pub prices: Option<Day>,
    /// The files by their paths, which use `/`.
    pub files: BTreeMap<String, FileEntry>,
}

/// A file of a lake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Its size.
    pub bytes: u64,
    /// XXH3-128 of its content, in hexadecimal.
    pub xxh3_128: String,
    /// Its rows; of facts, its sources.
    pub rows: usize,
    /// The first day of its rows in UTC; `None` if no row has one.
    #[serde(default)]
    pub min_day: Option<Day>,
    /// The last day.
    #[serde(default)]
    pub max_day: Option<Day>,
}

impl Manifest {
    /// Reads the manifest in the file of a lake; `None` if there is no such file.
    ///
    /// # Errors
    /// When the file cannot be read, or has another version.
    pub fn read(place: &Place, file: &str) -> Result<Option<Self>, Error> {
        place.read(file)?.map(|text| Self::parse(&text, &place.path_of(file))).transpose()
    }

    /// The first of these files of a lake that it does not list.
    pub fn find_unlisted<'a>(&self, files: &'a BTreeMap<String, u64>) -> Option<&'a String> {
        files.keys().find(|path| !self.files.contains_key(*path))
    }

    /// Parses the text of the manifest at `path`. All its users read, write and remove the files that it lists, so that the paths are
    /// checked here.
    ///
    /// # Errors
    /// When it is not such a manifest, has a later version, or lists a file that cannot be one of the lake.
    fn parse(text: &[u8], path: &Path) -> Result<Self, Error> {
        #[derive(Deserialize)]
        struct Version {
            lake: u32,
        }
        let not_a_manifest = |error: serde_json::Error| {
            let then = "if the files are intact, remove it: a lake is read without a manifest too";
            Error::wrong(path, format!("not the manifest of a lake: {error}; {then}"))
        };
        let Version { lake } = serde_json::from_slice(text).map_err(not_a_manifest)?;
        if lake > VERSION {
            let what = format!(
                "the lake has layout version {lake}, this program reads version {VERSION}; use a newer agentlogs"
            );
            return Err(Error::wrong(path, what));
        }
        let manifest: Self = serde_json::from_slice(text).map_err(not_a_manifest)?;
        if let Some(file) = manifest.files.keys().find(|file| !is_path_of_lake(file)) {
            return Err(Error::wrong(path, format!("it lists {file}, which is not in the lake")));
        }
        Ok(manifest)
    }

    /// As JSON, a line per value.
    ///
    /// # Errors
    /// Those of `serde_json`.
    pub fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        Ok(text)
    }
}
