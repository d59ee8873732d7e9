//! SQL over the tables. A query reads these tables only, and changes nothing. docs/sql.md describes the dialect.

mod error;
mod explained;
mod joins;
mod refused;
mod rewrite;
mod run;
mod scope;
#[cfg(test)]
mod tests;

pub use error::Error;
pub use explained::{near, nearest};
pub use run::{has_limit, query, query_rows, reads};
