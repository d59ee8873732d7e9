//! Tables as polars frames, and as columns of files.

mod column;
mod columns;
mod rows;
mod schema;
mod tables;

pub use column::{time_type, time_value};
pub use rows::{count_undated, drop_rows, frames, row_sets};
pub use schema::{Described, TABLES, TABLES_OF_FILES, schema, schema_hash, schema_of};
pub use tables::Frames;
