//! Writes the sessions of an archive as trajectories.

use std::collections::BTreeSet;
use std::io::{self, Write};

use polars::prelude::PolarsResult;
use twox_hash::XxHash3_64;

use super::document::Document;
use super::tables::{Sessions, Tables};
use crate::analysis::rows::Frames;
use crate::analysis::rows::Key;

/// A session, and the name of its file.
pub struct Trajectory<'a> {
    /// The name of its file, which no other session has.
    pub file_name: String,
    document: Document<'a>,
}

impl Trajectory<'_> {
    /// Writes the document, pretty-printed.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut out, &self.document)?;
        out.write_all(b"\n")
    }
}

/// All sessions of an archive, to be written as trajectories.
pub struct Trajectories {
    sessions: Sessions,
    tables: Tables,
}

impl Trajectories {
    /// Reads the tables.
    ///
    /// # Errors
    /// When a table cannot be read.
    pub fn new(tables: &Frames) -> PolarsResult<Self> {
        Ok(Self { sessions: Sessions::new(tables)?, tables: Tables::new(tables)? })
    }

    /// Each session, in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = Trajectory<'_>> {
        let mut names = BTreeSet::new();
        self.sessions.iter().map(move |session| {
            let key = (session.agent.name.clone(), session.id.clone());
            Trajectory { file_name: file_name(&key, &mut names), document: Document::new(session, &self.tables, &key) }
        })
    }
}

/// A unique name that every file system accepts. A hash is appended if the plain name is taken, or has other characters.
fn file_name((runtime, id): &Key, taken: &mut BTreeSet<String>) -> String {
    let plain = format!("{runtime}-{id}");
    let is_plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.' | '~');
    let mut name: String = plain.chars().map(|char| if is_plain(char) { char } else { '_' }).take(120).collect();
    // Some file systems ignore case.
    if name != plain || !taken.insert(name.to_lowercase()) {
        name = format!("{name}-{:016x}", XxHash3_64::oneshot(format!("{runtime}\0{id}").as_bytes()));
        taken.insert(name.to_lowercase());
    }
    format!("{name}.json")
}
