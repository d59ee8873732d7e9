//! The rows of sessions, of which only some partitions are in memory at a time.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{panic, thread};

use foldhash::HashMap;
use polars::prelude::*;

use super::session_key::KEY;
use crate::base::time::Time;
use crate::store::frames::{Frames, sessions};

/// Finds the index of a session by its runtime and id.
pub(in crate::analysis) type Find<'f> = &'f dyn Fn(Option<&str>, Option<&str>) -> Option<usize>;

/// A runtime and a session id.
type Key<'k> = (Option<&'k str>, Option<&'k str>);

/// The indices of sessions. The rows of a session follow each other, so that the last index is kept.
struct Indices<'i> {
    all: &'i HashMap<Key<'i>, usize>,
    last: RefCell<([Option<String>; 2], Option<usize>)>,
}

impl<'i> Indices<'i> {
    fn new(all: &'i HashMap<Key<'i>, usize>) -> Self {
        Self { last: RefCell::new(([None, None], all.get(&(None, None)).copied())), all }
    }

    fn of(&self, runtime: Option<&str>, id: Option<&str>) -> Option<usize> {
        let mut last = self.last.borrow_mut();
        if last.0.each_ref().map(Option::as_deref) != [runtime, id] {
            *last = ([runtime, id].map(|text| text.map(str::to_owned)), self.all.get(&(runtime, id)).copied());
        }
        last.1
    }
}

/// The most partitions in memory at a time: while one is read, others are computed.
const MOST_PARTITIONS: usize = 4;

/// The rows of some sessions in tables.
pub(in crate::analysis) trait SessionRows: Default {
    /// The indices of the sessions that have rows.
    fn sessions(&self) -> BTreeSet<usize>;
}

/// Computes a frame for the sessions of `sessions` from their rows in tables, of which a partition per thread is in memory at a time.
/// `read` reads the rows of a partition, and `compute` computes the frame of the sessions with these indices.
pub(in crate::analysis) fn for_sessions<R: SessionRows>(
    sessions: &DataFrame,
    tables: &Frames,
    read: impl Fn(&Frames, Find<'_>) -> PolarsResult<R> + Sync,
    compute: impl Fn(&R, &[usize]) -> PolarsResult<DataFrame> + Sync,
) -> PolarsResult<LazyFrame> {
    let [runtimes, ids] = KEY.map(|name| sessions.column(name).and_then(|column| column.str()));
    let (runtimes, ids) = (runtimes?, ids?);
    let indices: HashMap<Key<'_>, usize> =
        (0..sessions.height()).map(|index| ((runtimes.get(index), ids.get(index)), index)).collect();
    // All rows of a session are in one partition.
    let recent = recent(sessions, tables)?;
    let computed = in_parallel(recent.partitions(), |partition| {
        let indices = Indices::new(&indices);
        let rows = read(partition, &|runtime, id| indices.of(runtime, id))?;
        let found: Vec<usize> = rows.sessions().into_iter().collect();
        Ok((compute(&rows, &found)?.lazy(), found))
    })?;
    let mut without_rows: BTreeSet<usize> = (0..sessions.height()).collect();
    let mut frames = Vec::with_capacity(computed.len() + 1);
    for (frame, found) in computed {
        for session in &found {
            without_rows.remove(session);
        }
        frames.push(frame);
    }
    frames.push(compute(&R::default(), &without_rows.into_iter().collect::<Vec<_>>())?.lazy());
    concat(frames, UnionArgs::default())
}

/// The rows that `read` has of each partition, together: of groups of the rows of sessions, only some partitions are in memory at a time.
pub(in crate::analysis) fn of_partitions(
    tables: &Frames,
    read: impl Fn(&Frames) -> PolarsResult<DataFrame> + Sync,
) -> PolarsResult<LazyFrame> {
    let frames = in_parallel(tables.partitions(), |partition| Ok(read(partition)?.lazy()))?;
    concat(frames, UnionArgs::default())
}

/// The tables without partitions that end before these sessions start, where their starts are known.
fn recent(of_sessions: &DataFrame, tables: &Frames) -> PolarsResult<Frames> {
    let Ok(starts) = of_sessions.column(sessions::STARTED_AT) else { return Ok(tables.clone()) };
    let starts = starts.to_physical_repr();
    let starts = starts.i64()?;
    if starts.null_count() > 0 {
        return Ok(tables.clone());
    }
    tables.since(Time::from_micros(starts.min().unwrap_or(i64::MAX)))
}

/// The results of items, in their order. Each thread works on one item at a time.
fn in_parallel<I: Sync, T: Send>(items: &[I], work: impl Fn(&I) -> PolarsResult<T> + Sync) -> PolarsResult<Vec<T>> {
    let next = AtomicUsize::new(0);
    let some = || {
        let results = std::iter::from_fn(|| {
            let position = next.fetch_add(1, Ordering::Relaxed);
            Some((position, work(items.get(position)?)))
        });
        results.collect::<Vec<_>>()
    };
    let threads = rayon::current_num_threads().min(MOST_PARTITIONS).min(items.len());
    let mut results: Vec<(usize, PolarsResult<T>)> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(some)).collect();
        let own = some();
        let others =
            others.into_iter().flat_map(|it| it.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked)));
        others.chain(own).collect()
    });
    results.sort_by_key(|(position, _)| *position);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Some rows of a frame, by their indices.
pub(in crate::analysis) fn take(frame: &DataFrame, indices: impl Iterator<Item = usize>) -> PolarsResult<DataFrame> {
    frame.take(&indices.map(|index| IdxSize::try_from(index).ok()).collect::<IdxCa>())
}
