//! The sessions that imported verdicts can be about.

use std::path::Path;

use polars::prelude::*;

use super::error::Error;
use super::generations::Snapshot;
use super::layout::file_of;
use super::manifest::Part;
use super::tables::options;
use crate::ledger::{SessionKey, SessionKeys};

/// How the paths of sources begin that contain imported verdicts: another source may be the same file, as a log.
pub const VERDICTS: &str = "verdicts:";

/// The sessions of parts in the directory of a generation.
pub(super) fn session_keys(generation: &Path, parts: &[Part]) -> Result<SessionKeys, Error> {
    let mut keys = SessionKeys::default();
    for part in parts.iter().filter(|part| part.files.get("sessions").is_some_and(|file| file.rows > 0)) {
        let path = generation.join(file_of(&part.name, "sessions"));
        let path = PlRefPath::try_from_path(&path)?;
        add_keys(&mut keys, LazyFrame::scan_parquet(path, options())?)?;
    }
    Ok(keys)
}

fn add_keys(keys: &mut SessionKeys, sessions: LazyFrame) -> PolarsResult<()> {
    let names = ["runtime", "session_id", "source_path", "parent_session_id"];
    let columns = names.iter().chain(&["labels"]).map(|name| col(*name)).collect::<Vec<_>>();
    let frame = sessions.select(columns).collect()?;
    let [runtimes, ids, paths, parents] = names.map(|name| frame.column(name).and_then(|column| column.str()));
    let (runtimes, ids, paths, parents) = (runtimes?, ids?, paths?, parents?);
    let labels = frame.column("labels")?.list()?;
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

impl Snapshot {
    /// The sessions that imported verdicts can be about.
    ///
    /// # Errors
    /// When the table of sessions cannot be read.
    pub fn session_keys(&self) -> Result<SessionKeys, Error> {
        session_keys(&self.folder, &self.manifest.parts)
    }
}
