//! SQL over the tables.

use polars::prelude::*;
use polars::sql::SQLContext;

/// The answer to one SQL query over the tables.
///
/// # Errors
/// When the SQL cannot be read or asks for what is not there.
pub fn query(tables: Vec<(&'static str, LazyFrame)>, sql: &str) -> PolarsResult<DataFrame> {
    let mut context = SQLContext::new();
    for (name, frame) in tables {
        context.register(name, frame);
    }
    context.execute(sql.trim().trim_end_matches(';'))?.collect()
}
