//! Checks whether an archive is intact: the hashes of its files, the facts of its sources, and the sums of its tables.

use std::collections::BTreeSet;
use std::path::PathBuf;

use polars::prelude::*;

use super::error::{CHANGED, Error, Problem};
use super::generations::Snapshot;
use super::hashed_file::{self, Checksum};
use super::history::SCAN_AGAIN;
use super::layout::{INDEX, file_of};
use super::open::Archive;
use super::state::State;
use crate::store::frames::Frames;
use crate::store::query;

/// What was checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// Parts.
    pub parts: usize,
    /// Files of the parts.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Sources.
    pub sources: usize,
    /// Damage.
    pub problems: Vec<Problem>,
}

/// What is wrong with a session, and a query for the sessions of which it is true.
const QUESTIONS: &[(&str, &str)] = &[
    (
        "is not the sum of its rows in turns",
        "SELECT s.runtime AS runtime, s.session_id AS session_id
         FROM sessions s LEFT JOIN (
             SELECT runtime, session_id, SUM(total_tokens) AS total_tokens, SUM(cost_usd) AS cost_usd
             FROM turns GROUP BY runtime, session_id
         ) t ON s.runtime = t.runtime AND s.session_id = t.session_id
         WHERE COALESCE(s.total_tokens, 0) <> COALESCE(t.total_tokens, 0)
             OR ABS(COALESCE(s.cost_usd, 0) - COALESCE(t.cost_usd, 0)) > 0.000001 * (1 + COALESCE(s.cost_usd, 0))
         ORDER BY runtime, session_id",
    ),
    (
        "is in sessions more than once",
        "SELECT runtime, session_id FROM sessions GROUP BY runtime, session_id HAVING COUNT(*) > 1 ORDER BY session_id",
    ),
    (
        "has rows in turns, but none in sessions",
        "SELECT t.runtime AS runtime, t.session_id AS session_id FROM turns t
         LEFT JOIN sessions s ON s.runtime = t.runtime AND s.session_id = t.session_id
         WHERE s.format IS NULL ORDER BY session_id",
    ),
];

impl Archive {
    /// Checks the hash of every file and the facts of every source, and that the rows of each session add up to it.
    ///
    /// # Errors
    /// When there is no archive, or `agentlogs.json` or the manifest is damaged: the files cannot be found then.
    pub fn check(&self) -> Result<Checked, Error> {
        let snapshot = self.snapshot()?;
        let mut checked = Checked::default();
        if let Err(Error::Damaged { path, error }) = self.own_prices() {
            checked.add(path, error);
        }
        checked.check_histories(self);
        checked.check_files(&snapshot);
        if !checked.problems.is_empty() {
            // Their facts are not decoded, but they are there; without an index their number is unknown.
            checked.sources = snapshot.sources().map_or(0, |sources| sources.len());
            return Ok(checked);
        }
        let sources = snapshot.sources()?;
        // The files are verified once for all questions.
        let tables = snapshot.tables()?;
        // Its lock keeps the files until the rows are read: a writer removes those of earlier states.
        let state = State { snapshot: Some(snapshot), sources };
        checked.check_facts(&state);
        checked.check_rows(self, &tables);
        drop(state);
        Ok(checked)
    }
}

impl Checked {
    fn add(&mut self, path: PathBuf, what: impl Into<String>) {
        self.problems.push(Problem { path, what: what.into() });
    }

    /// Verifies what scans of repositories found.
    fn check_histories(&mut self, archive: &Archive) {
        match archive.histories() {
            Ok(histories) => {
                let (files, bytes, problems) = histories.check();
                (self.files, self.bytes) = (self.files + files, self.bytes + bytes);
                self.problems.extend(problems);
            }
            Err(error) => self.problems.push(Problem::of(error, SCAN_AGAIN)),
        }
    }

    /// Compares each file with its hash.
    fn check_files(&mut self, snapshot: &Snapshot) {
        let Snapshot { directory, manifest, .. } = snapshot;
        if let Some(expected) = &manifest.index {
            let index = directory.join(INDEX);
            match hashed_file::checksum(&index) {
                Ok((_, hash)) if hash == *expected => {}
                Ok(_) => self.add(index, CHANGED),
                Err(error) => self.add(index, error.to_string()),
            }
        }
        self.parts = manifest.parts.len();
        for part in &manifest.parts {
            for (kind, expected) in &part.files {
                self.check_file(directory.join(file_of(&part.name, kind)), expected);
            }
        }
    }

    fn check_file(&mut self, path: PathBuf, expected: &Checksum) {
        match hashed_file::checksum(&path) {
            Ok(found) => {
                self.files += 1;
                self.bytes += found.0;
                if !expected.is(&found) {
                    self.add(path, CHANGED);
                }
            }
            Err(error) => self.add(path, error.to_string()),
        }
    }

    /// Decodes the facts of each source.
    fn check_facts(&mut self, state: &State) {
        for (path, entry) in &state.sources {
            self.sources += 1;
            let source = state
                .open(entry.facts)
                .and_then(|(facts, mut file, chunks)| chunks.check(&mut file).map_err(Error::file(facts)));
            match source {
                Ok(source) if source.path == *path => {}
                Ok(_) => self.add(path.into(), "its facts are those of another source"),
                Err(error) => self.add(path.into(), error.to_string()),
            }
        }
    }

    /// Asks for sessions that the tables contradict.
    fn check_rows(&mut self, archive: &Archive, tables: &Frames) {
        let mut found = BTreeSet::new();
        for (what, sql) in QUESTIONS {
            let frame = match query::query(tables.clone(), sql) {
                Ok(frame) => frame,
                Err(error) => {
                    self.add(archive.directory().to_owned(), error.to_string());
                    continue;
                }
            };
            let [runtimes, sessions] = frame.columns() else { continue };
            for row in 0..frame.height() {
                let text =
                    |column: &Column| column.get(row).map(|value| value.str_value().into_owned()).unwrap_or_default();
                found.insert(format!("{} session {} {what}", text(runtimes), text(sessions)));
            }
        }
        for what in found {
            self.add(archive.directory().to_owned(), what);
        }
    }
}
