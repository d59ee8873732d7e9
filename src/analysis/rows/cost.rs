//! Which of the costs in the archive a report uses.

use crate::store::frames::turns;
use polars::prelude::*;

/// The column that is true where a row has no known cost: neither one of its own, nor a part of another row's.
pub(in crate::analysis) const IS_UNPRICED: &str = "is_unpriced";

/// The cost that a report uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CostBasis {
    /// The reported cost where a log reports it, else the computed one.
    #[default]
    Auto,
    /// The cost that logs report, including 0.
    Reported,
    /// Tokens times prices.
    Computed,
}

impl CostBasis {
    /// `cost_usd` of this choice, and `is_unpriced`: whether a row has no such cost.
    pub(in crate::analysis) fn columns(self) -> [Expr; 2] {
        let is_shared = || col(turns::COST_SOURCE).eq(lit("reported"));
        let (cost, is_unpriced) = match self {
            Self::Auto => (col(turns::COST_USD), col(turns::COST_SOURCE).is_null()),
            // `cost_usd` contains each row's share of a reported total.
            Self::Reported => (
                when(is_shared().and(col(turns::COST_USD).is_not_null()))
                    .then(col(turns::COST_USD))
                    .otherwise(col(turns::REPORTED_COST_USD)),
                is_shared().fill_null(lit(false)).not().and(col(turns::REPORTED_COST_USD).is_null()),
            ),
            Self::Computed => (col(turns::COMPUTED_COST_USD), col(turns::COMPUTED_COST_USD).is_null()),
        };
        [cost.alias(turns::COST_USD), is_unpriced.alias(IS_UNPRICED)]
    }

    /// Where a cost of this choice is from, if that of [`Self::Auto`] is from `stored`.
    pub(in crate::analysis) fn source(self, stored: Option<&str>) -> Option<&str> {
        match self {
            Self::Auto => stored,
            Self::Reported => Some("reported"),
            Self::Computed => Some("computed"),
        }
    }

    /// Rows with [`Self::columns`], if they have a cost.
    pub(in crate::analysis) fn applied_to(self, mut rows: LazyFrame) -> PolarsResult<LazyFrame> {
        let has_cost = rows.collect_schema()?.contains(turns::COST_SOURCE);
        Ok(if has_cost { rows.with_columns(self.columns()) } else { rows })
    }
}
