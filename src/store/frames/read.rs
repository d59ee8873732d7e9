//! Reads rows of frames: [`rows!`](crate::store::frames::rows) names the columns that a reader needs, and the compiler knows their types.

use std::sync::mpsc::sync_channel;
use std::{panic, thread};

use polars::prelude::*;

/// Some columns of rows in memory, made by `rows!`.
pub trait TypedRows: Sized {
    /// The names of the columns.
    const NAMES: &'static [&'static str];

    /// The columns of a frame.
    ///
    /// # Errors
    /// When the frame has no such columns.
    fn of(frame: &DataFrame) -> PolarsResult<Self>;

    /// The number of rows.
    fn height(&self) -> usize;

    /// Reads all rows of a table at once.
    ///
    /// # Errors
    /// When the table cannot be read.
    fn read(table: LazyFrame) -> PolarsResult<Self> {
        let mut frame = table.select(names::<Self>()).collect()?;
        // Values are read by their index.
        frame.rechunk_mut();
        Self::of(&frame)
    }
}

fn names<R: TypedRows>() -> Vec<Expr> {
    R::NAMES.iter().map(|name| col(*name)).collect()
}

/// Declares a struct with some columns of rows, whose values are read by the index of their row.
///
/// ```text
/// rows! {
///     /// Calls of tools.
///     struct Calls { tool: tool_calls::TOOL, time: tool_calls::OCCURRED_AT }
/// }
/// ```
///
/// expands to
///
/// ```text
/// /// Calls of tools.
/// struct Calls { height: usize, tool: StringChunked, time: Int64Chunked }
///
/// impl Calls {
///     fn tool(&self, row: usize) -> Option<&str> { self.tool.get(row) }
///     fn time(&self, row: usize) -> Option<Time> { self.time.get(row).map(Time::from_micros) }
/// }
///
/// impl TypedRows for Calls {
///     const NAMES: &[&str] = &["tool", "occurred_at"];
///     fn of(frame: &DataFrame) -> PolarsResult<Self> { .. }   // clones references to the columns, not their values
///     fn height(&self) -> usize { self.height }
/// }
/// ```
macro_rules! rows {
    ($($(#[$about:meta])* $visibility:vis struct $rows:ident { $($field:ident: $column:path),+ $(,)? })+) => {$(
        $(#[$about])*
        $visibility struct $rows {
            height: usize,
            $($field: <$column as $crate::store::frames::kind::Kind>::Values),+
        }

        impl $rows {
            $(
                $visibility fn $field(&self, row: usize) -> <$column as $crate::store::frames::kind::Kind>::Value<'_> {
                    <$column as $crate::store::frames::kind::Kind>::value(&self.$field, row)
                }
            )+
        }

        impl $crate::store::frames::TypedRows for $rows {
            const NAMES: &'static [&'static str] = &[$($column),+];

            fn of(frame: &polars::prelude::DataFrame) -> polars::prelude::PolarsResult<Self> {
                let height = frame.height();
                $(let $field = <$column as $crate::store::frames::kind::Kind>::values(frame.column($column)?)?;)+
                Ok(Self { height, $($field),+ })
            }

            fn height(&self) -> usize {
                self.height
            }
        }
    )+};
}
pub(crate) use rows;

/// Declares names of columns that a report computes, with their kinds, as [`columns`](super::columns) does it for the tables.
macro_rules! computed_columns {
    ($($(#[$about:meta])* $visibility:vis $name:ident: $kind:ident = $text:expr;)+) => {$(
        $(#[$about])*
        $visibility const $name: &str = $text;
        $(#[$about])*
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "it has the name of the column")]
        $visibility type $name = $crate::store::frames::kind::$kind;
    )+};
}
pub(crate) use computed_columns;

/// Reads rows in batches, in their order, so that only some of them are in memory at a time. The columns of a batch have few chunks,
/// so that values can be read by their index: in a column with a chunk for each file, each value would need a search for its chunk.
///
/// # Errors
/// When the rows cannot be read, and those of `each`.
pub fn for_each_batch<R: TypedRows>(rows: LazyFrame, mut each: impl FnMut(&R) -> PolarsResult<()>) -> PolarsResult<()> {
    let (sender, batches) = sync_channel(1);
    // Ends early if no one receives.
    let send = PlanCallback::new(move |batch| Ok(sender.send(batch).is_err()));
    let rows = rows.select(names::<R>()).sink_batches(send, true, None)?;
    thread::scope(|scope| {
        let reading = scope.spawn(|| rows.collect_with_engine(Engine::Streaming));
        for batch in batches {
            each(&R::of(&batch)?)?;
        }
        reading.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked)).map(drop)
    })
}
