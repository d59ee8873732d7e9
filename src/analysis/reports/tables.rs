//! The tables that reports read.

use std::hash::{BuildHasher as _, Hash};
use std::sync::mpsc::sync_channel;
use std::{panic, thread};

use foldhash::quality::FixedState;
use polars::prelude::*;

pub use crate::store::frames::Frames;

/// The columns that identify a session.
pub(in crate::analysis) const KEY: [&str; 2] = ["runtime", "session_id"];
/// The column of one value that identifies the session of a row, where a measure counts sessions.
pub(super) const SESSION_KEY: &str = "session_key";

/// A batch of rows. Its columns have few chunks, so that values can be read by their index: in a column with a chunk for each file,
/// each value would need a search for its chunk.
#[derive(Clone, Copy)]
pub(in crate::analysis) struct Batch<'f>(&'f DataFrame);

impl<'f> Batch<'f> {
    /// The number of rows.
    pub(in crate::analysis) fn height(self) -> usize {
        self.0.height()
    }

    /// Columns of texts.
    pub(in crate::analysis) fn texts<const N: usize>(self, names: [&str; N]) -> PolarsResult<[&'f StringChunked; N]> {
        columns(names.iter().map(|name| self.0.column(name)?.str()))
    }

    /// Columns of whole numbers.
    pub(in crate::analysis) fn wholes<const N: usize>(self, names: [&str; N]) -> PolarsResult<[&'f Int64Chunked; N]> {
        columns(names.iter().map(|name| self.0.column(name)?.i64()))
    }

    /// Columns of floats.
    pub(in crate::analysis) fn floats<const N: usize>(self, names: [&str; N]) -> PolarsResult<[&'f Float64Chunked; N]> {
        columns(names.iter().map(|name| self.0.column(name)?.f64()))
    }

    /// A column of Booleans.
    pub(in crate::analysis) fn flag(self, name: &str) -> PolarsResult<&'f BooleanChunked> {
        self.0.column(name)?.bool()
    }
}

fn columns<C, const N: usize>(found: impl Iterator<Item = PolarsResult<C>>) -> PolarsResult<[C; N]> {
    let found = found.collect::<PolarsResult<Vec<C>>>()?;
    found.try_into().map_err(|_| polars_err!(ComputeError: "columns are missing"))
}

/// Columns of rows, with times as numbers of microseconds.
pub(in crate::analysis) fn physical(rows: LazyFrame, names: &[&str]) -> LazyFrame {
    rows.select(names.iter().map(|name| col(*name).to_physical()).collect::<Vec<_>>())
}

/// A hash that is the same in every run.
pub(in crate::analysis) fn hash_of(value: impl Hash) -> u64 {
    FixedState::default().hash_one(value)
}

/// Reads rows in batches, in their order, so that only some of them are in memory at a time.
pub(in crate::analysis) fn for_each_batch(
    rows: LazyFrame,
    mut each: impl FnMut(Batch<'_>) -> PolarsResult<()>,
) -> PolarsResult<()> {
    let (sender, batches) = sync_channel(1);
    // Ends early if no one receives.
    let send = PlanCallback::new(move |batch| Ok(sender.send(batch).is_err()));
    let rows = rows.sink_batches(send, true, None)?;
    thread::scope(|scope| {
        let reading = scope.spawn(|| rows.collect_with_engine(Engine::Streaming));
        for batch in batches {
            each(Batch(&batch))?;
        }
        reading.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked)).map(drop)
    })
}
