//! What a report consists of: its rows, its default dimensions and its measures.

use polars::prelude::*;

/// A question about the archive.
#[derive(Debug)]
pub struct Report {
    /// Its name on the command line.
    pub name: &'static str,
    /// The question that it answers, in a line.
    pub about: &'static str,
    pub(super) body: Body,
}

#[derive(Debug)]
pub(super) enum Body {
    /// Rows grouped by dimensions.
    Groups {
        rows: Rows,
        /// The dimensions of a report without `--by`.
        by: &'static [&'static str],
        measures: &'static [Measure],
    },
    /// A list of findings: see `health`.
    Health,
    /// The windows of limits: see `limits`.
    Limits,
}

/// The rows that a report groups. All have `runtime`, `session_id` and `occurred_at`.
#[derive(Debug)]
pub(in crate::analysis) enum Rows {
    /// All rows of a table.
    Table(&'static str),
    /// The rows of a table that fulfil a condition.
    Where(&'static str, fn() -> Expr),
    /// The sessions, at the time of their start.
    Sessions,
    /// Events, and failed sessions without an error event.
    Errors,
    /// Sessions by model, with their reported and their computed cost.
    Reconcile,
    /// The sessions, with the measures of [`crate::analysis::behaviour`].
    Behaviour,
}

/// A column of a report.
#[derive(Debug)]
pub struct Measure {
    /// Its name.
    pub name: &'static str,
    /// What it means, in a line.
    pub about: &'static str,
    pub(super) of: Of,
    /// Whether tables omit it unless `--wide` is given, or it is the column to sort by.
    pub(super) is_wide: bool,
    /// Whether it needs columns of the session.
    pub(super) needs_session: bool,
    /// Whether it is a part of the stored cost, and so does not apply to `--cost reported` or `computed`.
    pub(super) is_part: bool,
}

#[derive(Debug)]
pub(super) enum Of {
    /// The sum of a column; NULL if no value is known.
    Sum(&'static str),
    /// The largest value of a column.
    Max(&'static str),
    /// A quantile of a column, between 0 and 1: the nearest of the known values, see docs/reports.md#percentiles.
    Quantile(&'static str, f64),
    /// The number of rows in which a column has a value.
    Where(&'static str, &'static str),
    /// Any other aggregation over the rows of a group.
    Rows(fn() -> Expr),
    /// A formula of other measures, with a row per group.
    Groups(fn() -> Expr),
}

impl Measure {
    pub(super) const fn wide(self) -> Self {
        Self { is_wide: true, ..self }
    }

    pub(super) const fn of_session(self) -> Self {
        Self { needs_session: true, ..self }
    }

    /// Its aggregation over the rows of a group; `None` for a formula of other measures.
    pub(super) fn of_rows(&self) -> Option<Expr> {
        let value = match self.of {
            Of::Sum(column) => known_sum(column),
            Of::Max(column) => col(column).max(),
            Of::Quantile(column, quantile) => {
                let value = col(column).quantile(lit(quantile), QuantileMethod::Nearest);
                if column.ends_with("_usd") { value } else { value.cast(DataType::Int64) }
            }
            Of::Where(column, value) => count_of(column, value),
            Of::Rows(aggregation) => aggregation(),
            Of::Groups(_) => return None,
        };
        Some(value.alias(self.name))
    }

    /// Its formula of other measures; `None` for an aggregation over rows.
    pub(super) fn of_groups(&self) -> Option<Expr> {
        match self.of {
            Of::Groups(formula) => Some(formula().alias(self.name)),
            _ => None,
        }
    }
}

/// The sum of a column; NULL if no value is known.
pub(in crate::analysis) fn known_sum(column: &str) -> Expr {
    when(col(column).count().gt(lit(0))).then(col(column).sum()).otherwise(lit(NULL))
}

/// The number of rows in which a column has a value.
pub(super) fn count_of(column: &str, value: &str) -> Expr {
    col(column).eq(lit(value)).sum().cast(DataType::Int64)
}
