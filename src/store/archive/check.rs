//! Whether an archive is as it was written, and adds up.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Mutex;

use polars::prelude::*;

use super::facts::Pieces;
use super::{Archive, Error, INDEX, State, parts};
use crate::store::query;

/// What is wrong with an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file, or the archive's folder.
    pub path: PathBuf,
    /// What is wrong with it.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.path.display(), self.what)
    }
}

/// What was verified.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// Parts.
    pub parts: usize,
    /// Files.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Sources.
    pub sources: usize,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// What is not as a writer leaves it, and harms nothing.
    pub notes: Vec<Problem>,
}

/// Sessions whose columns are not the sum of their rows in the ledger.
const SUMS: &str = "
SELECT s.runtime AS runtime, s.session_id AS session_id
FROM sessions s LEFT JOIN (
    SELECT runtime, session_id, SUM(total_tokens) AS total_tokens, SUM(cost_usd) AS cost_usd
    FROM turns GROUP BY runtime, session_id
) t ON s.runtime = t.runtime AND s.session_id = t.session_id
WHERE COALESCE(s.total_tokens, 0) <> COALESCE(t.total_tokens, 0)
    OR ABS(COALESCE(s.cost_usd, 0) - COALESCE(t.cost_usd, 0)) > 0.000001 * (1 + COALESCE(s.cost_usd, 0))
ORDER BY runtime, session_id
";

/// Sessions that stand twice, and rows of no session.
const KEYS: &[(&str, &str)] = &[
    (
        "stands more than once in sessions",
        "SELECT runtime, session_id FROM sessions GROUP BY runtime, session_id HAVING COUNT(*) > 1 ORDER BY session_id",
    ),
    (
        "has rows in turns and none in sessions",
        "SELECT t.runtime AS runtime, t.session_id AS session_id FROM turns t
         LEFT JOIN sessions s ON s.runtime = t.runtime AND s.session_id = t.session_id
         WHERE s.format IS NULL ORDER BY session_id",
    ),
];

impl Archive {
    /// Verifies checksums and rows of every file, the facts of every source, and that the ledger adds up to the sessions.
    ///
    /// # Errors
    /// When there is no archive, or what leads to its files is damaged: `agentlogs.json`, `current`, or the manifest.
    pub fn check(&self) -> Result<Checked, Error> {
        let snapshot = self.snapshot()?;
        let (folder, manifest) = (&snapshot.folder, &snapshot.manifest);
        let mut checked = Checked { notes: snapshot.problem.clone().into_iter().collect(), ..Checked::default() };
        let problem = |path: PathBuf, what: String| Problem { path, what };
        if let Err(Error::Damaged { path, error }) = self.own_prices() {
            checked.problems.push(problem(path, error));
        }
        let index = folder.join(INDEX);
        match parts::checksum(&index) {
            Ok((_, hash)) if hash == manifest.index => {}
            Ok(_) => checked.problems.push(problem(index, "it is not what was written".to_owned())),
            Err(error) => checked.problems.push(problem(index, error.to_string())),
        }
        for part in &manifest.parts {
            checked.parts += 1;
            for (kind, expected) in &part.files {
                let path = folder.join(parts::file_of(part, kind));
                match parts::checksum(&path) {
                    Ok(found) => {
                        checked.files += 1;
                        checked.bytes += found.0;
                        if !expected.is(&found) {
                            checked.problems.push(problem(path, "it is not what was written".to_owned()));
                        }
                    }
                    Err(error) => checked.problems.push(problem(path, error.to_string())),
                }
            }
        }
        if !checked.problems.is_empty() {
            return Ok(checked);
        }
        // Their facts were verified with the other files.
        let verified = Mutex::new((0..manifest.parts.len()).collect());
        let sources = snapshot.sources()?;
        // They are verified when they are opened: once for all questions.
        let tables = snapshot.tables()?;
        let state = State { snapshot: Some(snapshot), sources, verified };
        for (path, known) in &state.sources {
            checked.sources += 1;
            let mut problems = Vec::new();
            match state.read(known, Pieces::check) {
                Ok(source) if source.path == *path => {}
                Ok(_) => problems.push("its facts are another source's".to_owned()),
                Err(error) => problems.push(error.to_string()),
            }
            checked.problems.extend(problems.into_iter().map(|it| problem(PathBuf::from(path), it)));
        }
        let mut rows = BTreeSet::new();
        let asked = [("is not the sum of its rows in turns", SUMS)];
        for (what, sql) in asked.iter().chain(KEYS) {
            let frame = match query::query(tables.clone(), sql) {
                Ok(frame) => frame,
                Err(error) => {
                    checked.problems.push(problem(self.folder.clone(), error.to_string()));
                    continue;
                }
            };
            let [runtimes, sessions] = frame.columns() else { continue };
            for row in 0..frame.height() {
                let text = |it: &Column| it.get(row).map(|it| it.str_value().into_owned()).unwrap_or_default();
                rows.insert(format!("{} session {} {what}", text(runtimes), text(sessions)));
            }
        }
        checked.problems.extend(rows.into_iter().map(|what| problem(self.folder.clone(), what)));
        Ok(checked)
    }
}
