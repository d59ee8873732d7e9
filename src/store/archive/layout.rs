//! The names of an archive's files and directories, and the version of its layout.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::store::frames::TABLES;

/// The version of the layout, of the facts and of the index. Raised whenever one of them changes: an archive of another version is
/// refused.
pub const VERSION: u32 = 6;
/// The last version whose manifest did not contain the version.
pub const LAST_VERSION_WITHOUT_MENTION: u32 = 4;

/// Identifies the directory as an archive: see [`Marker`].
pub const MARKER: &str = "agentlogs.json";
/// Locked by the process that writes the archive.
pub const LOCK: &str = "lock";
/// The user's own prices.
pub const PRICES: &str = "prices";
/// The link to the current generation.
pub const CURRENT: &str = "current";
/// The generation that is being written.
pub const NEXT: &str = "next";
/// How the names of generations begin; their number follows.
pub const GENERATION: &str = "generation-";
/// Lists the parts of a generation.
pub const MANIFEST: &str = "manifest.json";
/// Lists the sources of a generation.
pub const INDEX: &str = "index";
/// The directory of the facts of each part.
pub const FACTS: &str = "facts";
/// In [`NEXT`]: facts of sources that are not yet in a part.
pub const SPOOL: &str = "spool";

/// The content of [`MARKER`].
#[derive(Serialize, Deserialize)]
pub struct Marker {
    /// See [`VERSION`].
    pub version: u32,
}

impl Marker {
    /// The marker of an archive that this program writes, as JSON.
    pub fn json() -> Vec<u8> {
        serde_json::to_vec(&Self { version: VERSION }).unwrap_or_default()
    }
}

/// The path of a file of a part below its generation. `kind` is the name of a table or [`FACTS`].
pub fn file_of(part: &str, kind: &str) -> String {
    if TABLES.contains(&kind) { format!("{kind}/{part}.parquet") } else { format!("{kind}/{part}") }
}

/// The number in the name of a generation's directory.
pub fn number_of(name: &str) -> Option<u64> {
    let digits = name.strip_prefix(GENERATION)?;
    digits.parse().ok().filter(|number: &u64| number.to_string() == digits)
}

/// Whether a directory contains only what a writer creates in [`NEXT`]. The next writer removes such a directory.
pub fn is_next(folder: &Path) -> bool {
    let is_known = |name: &str| TABLES.contains(&name) || [FACTS, INDEX, MANIFEST, SPOOL].contains(&name);
    fs::read_dir(folder).is_ok_and(|mut entries| {
        entries.all(|entry| entry.is_ok_and(|entry| entry.file_name().to_str().is_some_and(is_known)))
    })
}

/// The path itself, or with a number appended if it is in use.
pub fn unused(path: &Path) -> PathBuf {
    let numbered = (2..).map(|number: u32| PathBuf::from(format!("{}.{number}", path.display())));
    std::iter::once(path.to_owned()).chain(numbered).find(|path| !path.exists()).unwrap_or_else(|| path.to_owned())
}
