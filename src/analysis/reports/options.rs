//! The options of a report.

use std::sync::Arc;

use polars::prelude::DataFrame;

use super::price_as::PriceAs;
use crate::analysis::rows::{CostBasis, Unjudged, Within};
use crate::analysis::selection::{Dimension, Scope};
use crate::prices::Catalog;

/// Whether the values of a column are names, such as those of a dimension other than time. `passed` is also a number of trials.
fn is_name(column: &str) -> bool {
    let is_dimension_of_names = |dimension: &Dimension| !dimension.is_time() && dimension.name != "passed";
    column.starts_with("label:") || Dimension::find(column).is_some_and(is_dimension_of_names)
}

/// The options of a report.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Dimensions, in order; the default of the report if empty.
    pub by: Vec<String>,
    /// Which rows are included.
    pub scope: Scope,
    /// Which cost is used.
    pub cost: CostBasis,
    /// The column to sort by: descending, or ascending if it begins with `+`. See [`Self::order`].
    pub sort: Option<String>,
    /// The maximum number of rows; all if it is `None` or 0.
    pub limit: Option<u32>,
    /// Whether rows of periods begin with the latest, unless `sort` is set.
    pub newest_first: bool,
    /// Whether to compute the measures over all rows as well.
    pub total: bool,
    /// Of `report limits`, whether only active windows are included.
    pub active: bool,
    /// Of `report outcomes`, the number of trials of pass@k; the default if `None`.
    pub k: Option<u32>,
    /// Of `report outcomes`, what trials without a verdict count as.
    pub unjudged: Unjudged,
    /// Of `report shipped`, how soon work is abandoned or rewritten.
    pub within: Within,
    /// Of `report cost`, the model whose prices are applied to the same tokens.
    pub price_as: Option<PriceAs>,
    /// Of `report waste`, the number of groups of each cause; all if `None`.
    pub top: Option<u32>,
    /// Of `report sessions`, whether each session is a row below the session that started it.
    pub tree: bool,
    /// The prices with which `report waste` computes; the built-in ones if `None`.
    pub catalog: Option<Arc<Catalog>>,
    /// Whether to include the columns that tables omit by default.
    pub wide: bool,
}

impl Options {
    /// The column to sort by, and whether its values descend: `cost_usd` and `-cost_usd` do, `+cost_usd` does not. Names ascend
    /// unless there is a `-`.
    pub fn order(&self) -> Option<(&str, bool)> {
        let text = self.sort.as_deref()?;
        Some(match text.strip_prefix('+') {
            Some(column) => (column, false),
            None => match text.strip_prefix('-') {
                Some(column) => (column, true),
                None => (text, !is_name(text)),
            },
        })
    }

    /// The first rows of a result up to the limit, and the number of the others.
    pub(super) fn limited(&self, rows: DataFrame) -> (DataFrame, usize) {
        match self.limit {
            Some(limit @ 1..) => {
                let kept = rows.head(Some(limit as usize));
                let more = rows.height() - kept.height();
                (kept, more)
            }
            _ => (rows, 0),
        }
    }
}
