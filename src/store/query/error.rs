//! Why a query failed.

/// Why a query failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The SQL cannot be parsed.
    #[error("{0}")]
    Syntax(String),
    /// The query would do more than read the tables.
    #[error("{0}")]
    Refused(String),
    /// The query names a column or table that does not exist, or cannot be computed.
    #[error("{0}")]
    Wrong(String),
}
