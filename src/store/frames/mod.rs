//! Tables as polars frames, and as columns of files.

mod column;
mod columns;
mod rows;
mod schema;

pub use column::{time_type, time_value};
pub use rows::{drop_rows, frames, row_sets};
pub use schema::{Described, TABLES, schema, schema_hash, schema_of};
