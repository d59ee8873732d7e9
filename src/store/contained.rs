//! Reads tables that another program wrote, or that are damaged.

use std::panic::{AssertUnwindSafe, catch_unwind};

use polars::prelude::{PolarsResult, polars_err};

/// Runs polars on a table. It may panic on one that is damaged, or of a type that it does not know; this is an error of the table.
///
/// # Errors
/// Those of `read`, and panics.
pub(super) fn contained<T>(read: impl FnOnce() -> PolarsResult<T>) -> PolarsResult<T> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("it is damaged");
        Err(polars_err!(ComputeError: "{text}"))
    })
}
