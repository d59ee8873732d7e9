//! The numbers of sessions, by which `show` finds them.

use polars::prelude::*;

use crate::store::frames::{Frames, sessions};

/// All sessions in the order of the list: their number from 1, `runtime` and `session_id`. Sessions without a start are last.
pub(in crate::analysis) fn newest_first(tables: &Frames) -> LazyFrame {
    let order = SortMultipleOptions::default().with_order_descending_multi([true, false, false]).with_nulls_last(true);
    let rows =
        tables.table(sessions::TABLE).select([sessions::RUNTIME, sessions::SESSION_ID, sessions::STARTED_AT].map(col));
    let rows =
        rows.sort([sessions::STARTED_AT, sessions::SESSION_ID, sessions::RUNTIME], order).with_row_index("n", Some(1));
    rows.select([col("n").cast(DataType::Int64), col(sessions::RUNTIME), col(sessions::SESSION_ID)])
}
