//! Tables as polars frames, and as columns of files; their rows as values again.
//!
//! ```text
//! columns  all columns, with constants of their names: turns::COST_USD
//! column   rows of the ledger -> one column
//! rows     tables -> frames, and row groups of files
//! schema   the names, types and meanings of all columns
//! computed the same of tables that are computed for queries
//! tables   frames by the names of their tables
//! kind     how the values of each type of columns are read
//! read     frames -> rows: rows!
//! ```

mod column;
mod columns;
mod computed;
pub mod kind;
mod read;
mod rows;
mod schema;
mod tables;

pub use column::{time_type, time_value};
pub use columns::{
    commit_files, commits, events, file_changes, limits, pull_requests, rejects, sessions, sources, tool_calls, turns,
    unknown_records, verdicts,
};
pub use computed::{
    COMPUTED_TABLES, FAILURES, LABELS, OUTCOMES, SHIPPED, all_columns, computed_schema, names_of_tables,
};
pub use read::{TypedRows, for_each_batch};
pub(crate) use read::{computed_columns, rows};
pub use rows::{count_undated, drop_rows, frame, frames, row_sets, some_frames};
pub use schema::{
    Described, TABLES, TABLES_OF_FILES, TABLES_OF_LOGS, TABLES_OF_REPOSITORIES, schema, schema_hash, schema_of,
};
pub use tables::Frames;
