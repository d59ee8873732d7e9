//! The failed sessions as a list, each with the line that shows why it failed.

use polars::prelude::*;

use crate::analysis::failures::frame::{FAILURE_CLASS, FAILURE_LINE, FAILURE_PATH, FAILURE_SIGN, failures};
use crate::analysis::rows::{Frames, KEY};
use crate::analysis::selection::{self, Error, LeftOut, Scope};
use crate::store::frames::sessions;

/// The failed sessions in scope, the newest first, and the sessions without a start that the scope excludes. `evidence` is the file and
/// the line.
///
/// # Errors
/// When a filter names something that does not exist, or the tables cannot be read.
pub fn failed_sessions(tables: &Frames, scope: &Scope) -> Result<(DataFrame, LeftOut), Error> {
    let (rows, left_out) = selection::sessions(tables, scope)?;
    let rows = rows.join(failures(tables)?, KEY.map(col), KEY.map(col), JoinType::Inner.into());
    let path = || coalesce(&[col(FAILURE_PATH), col(sessions::SOURCE_PATH)]);
    let line = concat_str([lit(":"), col(FAILURE_LINE).cast(DataType::String)], "", false).fill_null(lit(""));
    let columns = [
        col(sessions::SESSION_ID),
        col(sessions::STARTED_AT),
        col(sessions::RUNTIME),
        col(sessions::CANONICAL_MODEL).alias(sessions::MODEL),
        col(sessions::PROJECT),
        col(FAILURE_CLASS),
        col(FAILURE_SIGN),
        concat_str([path(), line], "", false).alias("evidence"),
    ];
    let order = SortMultipleOptions::default().with_order_descending_multi([true, false, false]).with_nulls_last(true);
    let rows = rows.sort([sessions::STARTED_AT, sessions::SESSION_ID, sessions::RUNTIME], order);
    Ok((rows.select(columns).collect()?, left_out))
}
