//! The rows of sessions, of which only one partition is in memory at a time.

use std::collections::BTreeSet;

use foldhash::HashMap;
use polars::prelude::*;

use super::session_key::KEY;
use crate::store::frames::Frames;

/// Finds the index of a session by its runtime and id.
pub(in crate::analysis) type Find<'f> = &'f dyn Fn(Option<&str>, Option<&str>) -> Option<usize>;

/// The rows of some sessions in tables.
pub(in crate::analysis) trait SessionRows: Default {
    /// The indices of the sessions that have rows.
    fn sessions(&self) -> BTreeSet<usize>;
}

/// Computes a frame for the sessions of `sessions` from their rows in tables, of which one partition is in memory at a time. `read`
/// reads the rows of a partition, and `compute` computes the frame of the sessions with these indices.
pub(in crate::analysis) fn for_sessions<R: SessionRows>(
    sessions: &DataFrame,
    tables: &Frames,
    mut read: impl FnMut(&Frames, Find<'_>) -> PolarsResult<R>,
    compute: impl Fn(&R, &[usize]) -> PolarsResult<DataFrame>,
) -> PolarsResult<LazyFrame> {
    let [runtimes, ids] = KEY.map(|name| sessions.column(name).and_then(|column| column.str()));
    let (runtimes, ids) = (runtimes?, ids?);
    let indices: HashMap<(Option<&str>, Option<&str>), usize> =
        (0..sessions.height()).map(|index| ((runtimes.get(index), ids.get(index)), index)).collect();
    let find = |runtime: Option<&str>, id: Option<&str>| indices.get(&(runtime, id)).copied();
    let mut without_rows: BTreeSet<usize> = (0..sessions.height()).collect();
    let mut frames = Vec::new();
    for partition in tables.partitions() {
        let rows = read(partition, &find)?;
        let mut found = rows.sessions();
        found.retain(|session| without_rows.remove(session));
        frames.push(compute(&rows, &found.into_iter().collect::<Vec<_>>())?.lazy());
    }
    frames.push(compute(&R::default(), &without_rows.into_iter().collect::<Vec<_>>())?.lazy());
    concat(frames, UnionArgs::default())
}

/// Some rows of a frame, by their indices.
pub(in crate::analysis) fn take(frame: &DataFrame, indices: impl Iterator<Item = usize>) -> PolarsResult<DataFrame> {
    frame.take(&indices.map(|index| IdxSize::try_from(index).ok()).collect::<IdxCa>())
}
