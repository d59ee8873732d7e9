//! The tables that reports read.

use std::sync::mpsc::sync_channel;
use std::{panic, thread};

use polars::prelude::*;

pub use crate::store::frames::Frames;

/// Reads rows in batches, in their order, so that only some of them are in memory at a time.
pub(in crate::analysis) fn for_each_batch(
    rows: LazyFrame,
    mut each: impl FnMut(&DataFrame) -> PolarsResult<()>,
) -> PolarsResult<()> {
    let (sender, batches) = sync_channel(1);
    // Ends early if no one receives.
    let send = PlanCallback::new(move |batch| Ok(sender.send(batch).is_err()));
    let rows = rows.sink_batches(send, true, None)?;
    thread::scope(|scope| {
        let reading = scope.spawn(|| rows.collect_with_engine(Engine::Streaming));
        for batch in batches {
            each(&batch)?;
        }
        reading.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked)).map(drop)
    })
}
