//! The names of an archive's files and directories, and the version of its layout.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::store::frames::TABLES_OF_LOGS;

/// The version of the layout, of the facts and of the indexes. Raised whenever one of them changes in a way that an earlier program
/// cannot read. A program refuses archives of later versions.
pub const VERSION: u32 = 10;
/// The earliest version that is read. The next write upgrades such an archive: it keeps the facts, computes the tables again, and
/// writes a generation of the present version.
pub const OLDEST_VERSION: u32 = 6;
/// The first version whose [`POINTER`] names the current generation; before, the link [`CURRENT`] did.
pub const FIRST_WITH_POINTER: u32 = 7;
/// The last version whose manifest did not contain the version.
pub const LAST_VERSION_WITHOUT_MENTION: u32 = 4;

/// Identifies the directory as an archive, and names the current generation: see [`Pointer`].
pub const POINTER: &str = "agentlogs.json";
/// Locked by the process that writes the archive.
pub const LOCK: &str = "lock";
/// The user's own prices.
pub const PRICES: &str = "prices";
/// The directory of what scans of repositories found.
pub const HISTORY: &str = "history";
/// A link to the current generation, for other programs.
pub const CURRENT: &str = "current";
/// The generation that is being written.
pub const NEXT: &str = "next";
/// How the names of generations begin; their number follows.
pub const GENERATION: &str = "generation-";
/// Lists the parts of a generation.
pub const MANIFEST: &str = "manifest.json";
/// The directory of the index of each part, which lists its sources. Before version 9 a file, which lists all sources.
pub const INDEX: &str = "index";
/// The directory of the facts of each part.
pub const FACTS: &str = "facts";
/// In [`NEXT`]: facts of sources that are not yet in a part.
pub const SPOOL: &str = "spool";

/// The content of [`POINTER`], as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pointer {
    /// See [`VERSION`].
    pub version: u32,
    /// The number of the current generation; 0 before the first one.
    pub generation: u64,
    /// The hash of its manifest, so that damage does not lead to an earlier generation; empty before the first one.
    pub manifest: String,
}

impl Pointer {
    /// A pointer to a generation of the present version.
    pub const fn new(generation: u64, manifest: String) -> Self {
        Self { version: VERSION, generation, manifest }
    }

    /// The pointer of an archive without a generation.
    pub const fn none() -> Self {
        Self::new(0, String::new())
    }

    /// Whether it can be what was written.
    pub const fn is_plausible(&self) -> bool {
        (self.generation == 0) == self.manifest.is_empty()
    }

    /// As JSON.
    pub fn json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// The part of a [`Pointer`] that archives of all versions have.
#[derive(Debug, Deserialize)]
pub struct Version {
    /// See [`VERSION`].
    pub version: u32,
}

/// The name of the directory of a generation.
pub fn name_of(generation: u64) -> String {
    format!("{GENERATION}{generation}")
}

/// The kinds of files that a part has, which are the names of their directories.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    TABLES_OF_LOGS.into_iter().chain([FACTS, INDEX])
}

/// Whether this is one of [`kinds`].
pub fn is_kind(name: &str) -> bool {
    kinds().any(|kind| kind == name)
}

/// The path of a file of a part below its generation. `kind` is one of [`kinds`].
pub fn file_of(part: &str, kind: &str) -> String {
    if TABLES_OF_LOGS.contains(&kind) { format!("{kind}/{part}.parquet") } else { format!("{kind}/{part}") }
}

/// The number in the name of a generation's directory.
pub fn number_of(name: &str) -> Option<u64> {
    let digits = name.strip_prefix(GENERATION)?;
    digits.parse().ok().filter(|number: &u64| number.to_string() == digits)
}

/// Whether a directory contains only what a writer creates in [`NEXT`]. The next writer removes such a directory.
pub fn is_next(directory: &Path) -> bool {
    let is_known = |name: &str| is_kind(name) || [MANIFEST, SPOOL].contains(&name);
    fs::read_dir(directory).is_ok_and(|mut entries| {
        entries.all(|entry| entry.is_ok_and(|entry| entry.file_name().to_str().is_some_and(is_known)))
    })
}

/// The path itself, or with a number appended if it is in use.
pub fn unused(path: &Path) -> PathBuf {
    let numbered = (2..).map(|number: u32| PathBuf::from(format!("{}.{number}", path.display())));
    std::iter::once(path.to_owned()).chain(numbered).find(|path| !path.exists()).unwrap_or_else(|| path.to_owned())
}
