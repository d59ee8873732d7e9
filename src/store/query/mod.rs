//! SQL over the tables. A query reads these tables only, and changes nothing. docs/sql.md describes the dialect.

mod asked;
mod conditions;
mod constants;
mod dates;
mod durations;
mod error;
mod explained;
mod forms;
mod groups;
mod joins;
mod lists;
mod names;
mod numbers;
mod orders;
mod parse;
mod refused;
mod rewrite;
mod run;
mod scope;
mod subqueries;
#[cfg(test)]
mod tests;
mod types;
mod values;
mod visit;
mod windows;

pub use asked::{describes, has_limit, lists_tables, names_column, reads};
pub use error::Error;
pub use explained::{near, nearest};
pub use run::{query, query_rows};
