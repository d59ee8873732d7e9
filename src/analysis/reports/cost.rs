//! Which of the costs in the archive a report uses.

use polars::prelude::*;

/// The cost that a report uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Cost {
    /// The reported cost where a log reports it, else the computed one.
    #[default]
    Auto,
    /// The cost that logs report, including 0.
    Reported,
    /// Tokens times prices.
    Computed,
}

impl Cost {
    /// `cost_usd` of this choice, and `is_unpriced`: whether a row has no such cost.
    pub(in crate::analysis) fn columns(self) -> [Expr; 2] {
        let is_shared = || col("cost_source").eq(lit("reported"));
        let (cost, is_unpriced) = match self {
            Self::Auto => (col("cost_usd"), col("cost_source").is_null()),
            // `cost_usd` contains each row's share of a reported total.
            Self::Reported => (
                when(is_shared().and(col("cost_usd").is_not_null()))
                    .then(col("cost_usd"))
                    .otherwise(col("reported_cost_usd")),
                is_shared().fill_null(lit(false)).not().and(col("reported_cost_usd").is_null()),
            ),
            Self::Computed => (col("computed_cost_usd"), col("computed_cost_usd").is_null()),
        };
        [cost.alias("cost_usd"), is_unpriced.alias("is_unpriced")]
    }
}
