//! The options of a report.

use super::cost::Cost;
use super::scope::Scope;

/// The options of a report.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Dimensions, in order; the default of the report if empty.
    pub by: Vec<String>,
    /// Which rows are included.
    pub scope: Scope,
    /// Which cost is used.
    pub cost: Cost,
    /// The column to sort by, descending.
    pub sort: Option<String>,
    /// The maximum number of rows.
    pub limit: Option<u32>,
    /// Whether to compute the measures over all rows as well.
    pub total: bool,
    /// Of `report limits`, whether only active windows are included.
    pub active: bool,
    /// Of `report outcomes`, the number of trials of pass@k; the default if `None`.
    pub k: Option<u32>,
    /// Whether to include the columns that tables omit by default.
    pub wide: bool,
}
