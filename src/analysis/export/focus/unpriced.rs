//! Usage that is not a charge, as its cost is unknown.

/// Usage without a known cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unpriced {
    /// Rows of the ledger.
    pub rows: i64,
    /// Their known tokens.
    pub tokens: i64,
}
