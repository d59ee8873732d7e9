//! When the sessions of an archive ended.

use std::collections::HashMap;

use polars::prelude::PolarsResult;

use crate::base::time::Time;
use crate::store::frames::{Frames, TypedRows, rows, sessions};

rows! {
    /// When sessions began and ended.
    struct Ends { session: sessions::SESSION_ID, started_at: sessions::STARTED_AT, ended_at: sessions::ENDED_AT }
}

/// The last known time of each session, by its id: its end, else its start. `None` if the session, or another one with the same id, has no
/// time.
///
/// # Errors
/// When the sessions cannot be read.
pub fn session_ends(tables: &Frames) -> PolarsResult<HashMap<String, Option<Time>>> {
    let ends = Ends::read(tables.table(sessions::TABLE))?;
    let mut found: HashMap<String, Option<Time>> = HashMap::with_capacity(ends.height());
    for row in 0..ends.height() {
        let Some(session) = ends.session(row) else { continue };
        let end = ends.ended_at(row).or(ends.started_at(row));
        let latest = found.entry(session.to_owned()).or_insert(end);
        *latest = latest.zip(end).map(|(latest, end)| latest.max(end));
    }
    Ok(found)
}
