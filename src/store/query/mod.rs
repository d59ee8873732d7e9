//! SQL over the tables. A query reads these tables only, and changes nothing. docs/sql.md describes the dialect.

mod explained;
mod refused;
mod rewrite;
mod run;

pub use explained::near;
pub use run::{Error, query};
