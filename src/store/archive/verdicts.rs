//! The sessions that imported verdicts can be about.

use std::path::Path;

use polars::prelude::*;

use super::error::Error;
use super::generations::Snapshot;
use super::layout::file_of;
use super::manifest::Part;
use super::table_files::options;
use crate::base::time::Time;
use crate::ledger::{SessionKey, SessionKeys};
use crate::model::verdict::{MatchedBy, Verdict};
use crate::store::frames::{sessions, verdicts};

/// How the paths of sources begin that contain imported verdicts: another source may be the same file, as a log.
pub const VERDICTS: &str = "verdicts:";

/// The table of verdicts.
const TABLE: &str = "verdicts";

/// The sessions of parts, and the verdicts next to their logs, in the directory of a generation.
pub(super) fn session_keys(generation: &Path, parts: &[Part]) -> Result<SessionKeys, Error> {
    let mut keys = SessionKeys::default();
    for part in parts.iter().filter(|part| part.files.get("sessions").is_some_and(|file| file.rows > 0)) {
        let path = generation.join(file_of(&part.name, "sessions"));
        let path = PlRefPath::try_from_path(&path)?;
        add_keys(&mut keys, LazyFrame::scan_parquet(path, options())?)?;
    }
    for part in parts.iter().filter(|part| part.files.get(TABLE).is_some_and(|file| file.rows > 0)) {
        let path = generation.join(file_of(&part.name, TABLE));
        let path = PlRefPath::try_from_path(&path)?;
        add_verdicts(&mut keys, LazyFrame::scan_parquet(path, options())?)?;
    }
    Ok(keys)
}

fn add_keys(keys: &mut SessionKeys, sessions: LazyFrame) -> PolarsResult<()> {
    let names = [verdicts::RUNTIME, verdicts::SESSION_ID, verdicts::SOURCE_PATH, sessions::PARENT_SESSION_ID];
    let columns = names.iter().chain(&["labels"]).map(|name| col(*name)).collect::<Vec<_>>();
    let frame = sessions.select(columns).collect()?;
    let [runtimes, ids, paths, parents] = names.map(|name| frame.column(name).and_then(|column| column.str()));
    let (runtimes, ids, paths, parents) = (runtimes?, ids?, paths?, parents?);
    let labels = frame.column(sessions::LABELS)?.list()?;
    for row in 0..frame.height() {
        let text = |column: &StringChunked| column.get(row).unwrap_or_default().to_owned();
        let session = SessionKey {
            runtime: text(runtimes),
            session_id: text(ids),
            path: text(paths),
            is_child: parents.get(row).is_some(),
        };
        let labels = labels.get_as_series(row);
        let labels = labels.as_ref().map(|labels| labels.str()).transpose()?;
        keys.add(session, labels.into_iter().flat_map(|labels| labels.iter().flatten()));
    }
    Ok(())
}

/// Adds the verdicts next to logs.
fn add_verdicts(keys: &mut SessionKeys, verdicts: LazyFrame) -> PolarsResult<()> {
    let names =
        [verdicts::RUNTIME, verdicts::SESSION_ID, verdicts::TASK, verdicts::TRIAL, verdicts::NAME, verdicts::JUDGE];
    let columns = names.iter().map(|name| col(*name));
    let columns = columns.chain([col(verdicts::PASSED), col(verdicts::SCORE), col(verdicts::JUDGED_AT).to_physical()]);
    let is_beside_log = col(verdicts::MATCHED_BY).eq(lit(MatchedBy::Sidecar.as_str()));
    let frame = verdicts.filter(is_beside_log).select(columns.collect::<Vec<_>>()).collect()?;
    let [runtimes, ids, tasks, trials, labels, judges] =
        names.map(|name| frame.column(name).and_then(|column| column.str()));
    let (runtimes, ids, tasks, trials, labels, judges) = (runtimes?, ids?, tasks?, trials?, labels?, judges?);
    let (passed, score) = (frame.column(verdicts::PASSED)?.bool()?, frame.column(verdicts::SCORE)?.f64()?);
    let judged_at = frame.column(verdicts::JUDGED_AT)?.i64()?;
    for row in 0..frame.height() {
        let text = |column: &StringChunked| column.get(row).map(str::to_owned);
        let verdict = Verdict {
            task: text(tasks),
            trial: text(trials),
            name: text(labels).unwrap_or_default(),
            passed: passed.get(row),
            score: score.get(row),
            judge: text(judges),
            judged_at: judged_at.get(row).map(Time::from_micros),
            ..Verdict::default()
        };
        keys.add_verdict(text(runtimes).unwrap_or_default(), text(ids).unwrap_or_default(), &verdict);
    }
    Ok(())
}

impl Snapshot {
    /// The sessions that imported verdicts can be about.
    ///
    /// # Errors
    /// When the table of sessions cannot be read.
    pub fn session_keys(&self) -> Result<SessionKeys, Error> {
        session_keys(&self.directory, &self.manifest.parts)
    }
}
