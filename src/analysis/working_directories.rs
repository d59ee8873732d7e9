//! The directories in which the sessions of this machine ran.

use std::collections::BTreeMap;
use std::path::PathBuf;

use polars::prelude::PolarsResult;

use crate::base::time::Time;
use crate::store::frames::{Frames, TypedRows, rows, sessions};

rows! {
    /// Where sessions ran.
    struct Places { cwd: sessions::CWD, host: sessions::HOST, started_at: sessions::STARTED_AT }
}

/// The working directories of sessions, with the start of the first session of each. Sessions of other hosts are left out, and
/// directories of a network.
///
/// # Errors
/// When the sessions cannot be read.
pub fn working_directories(tables: &Frames, host: Option<&str>) -> PolarsResult<BTreeMap<PathBuf, Option<Time>>> {
    let places = Places::read(tables.table(sessions::TABLE))?;
    let mut found: BTreeMap<PathBuf, Option<Time>> = BTreeMap::new();
    for row in 0..places.height() {
        let is_elsewhere = places.host(row).is_some() && places.host(row) != host;
        let is_of_network = |cwd: &&str| cwd.starts_with("\\\\") || cwd.starts_with("//");
        let cwd = places.cwd(row).filter(|cwd| !is_elsewhere && !is_of_network(cwd)).map(PathBuf::from);
        if let Some(cwd) = cwd.filter(|cwd| cwd.is_absolute()) {
            let first = found.entry(cwd).or_default();
            *first = (*first).into_iter().chain(places.started_at(row)).min();
        }
    }
    Ok(found)
}
