//! The options of a report.

use std::sync::Arc;

use super::cost::Cost;
use super::price_as::PriceAs;
use super::scope::Scope;
use crate::prices::Catalog;

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
    /// Of `report cost`, the model whose prices are applied to the same tokens.
    pub price_as: Option<PriceAs>,
    /// Of `report waste`, the number of groups of each cause; all if `None`.
    pub top: Option<u32>,
    /// The prices with which `report waste` computes; the built-in ones if `None`.
    pub catalog: Option<Arc<Catalog>>,
    /// Whether to include the columns that tables omit by default.
    pub wide: bool,
}
