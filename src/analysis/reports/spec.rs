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
    /// The trials of [`crate::analysis::outcomes`], each as its session.
    Outcomes,
    /// The sessions, with rows for each cause of [`crate::analysis::waste`].
    Waste,
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
    /// Whether it needs the outcomes of trials.
    pub(super) needs_outcome: bool,
    /// Whether it needs the prices of another model, and so does not apply without `--price-as`.
    pub(super) needs_model: bool,
    /// Whether it is a part of the stored cost, and so does not apply to `--cost reported` or `computed`.
    pub(super) is_part: bool,
}

#[derive(Debug)]
pub(super) enum Of {
    /// The sum of a column; NULL if no value is known.
    Sum(&'static str),
    /// The largest value of a column.
    Max(&'static str),
    /// A quantile of a column, between 0 and 1.
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

    pub(super) const fn of_model(self) -> Self {
        Self { needs_model: true, ..self }
    }

    /// Whether the report has it without further options.
    pub const fn is_always_computed(&self) -> bool {
        !self.needs_model
    }

    pub(super) const fn of_outcome(self) -> Self {
        Self { needs_outcome: true, ..self }
    }

    /// Its aggregation over the rows of a group; `None` for a formula of other measures, and for [`Quantiles`](super::quantiles).
    pub(super) fn of_rows(&self) -> Option<Expr> {
        let value = match self.of {
            Of::Sum(column) => known_sum(column),
            Of::Max(column) => col(column).max(),
            Of::Where(column, value) => count_of(column, value),
            Of::Rows(aggregation) => aggregation(),
            Of::Quantile(..) | Of::Groups(_) => return None,
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
    when(col(column).count().gt(lit(0))).then(sum_of(column, col(column))).otherwise(lit(NULL))
}

/// The sum of a column over the rows that fulfil a condition; 0 if no value is known. The streaming engine of polars reads the rows
/// twice if the column is filtered instead.
pub(super) fn sum_where(column: &str, condition: Expr) -> Expr {
    sum_of(column, when(condition).then(col(column)).otherwise(lit(NULL)))
}

/// The sum of values of a column. A sum of floats depends on the order of the rows, which is not defined. So dollars are split: the
/// sum of multiples of a power of two is exact, and the remainders are too small to change a digit that reports show.
pub(super) fn sum_of(column: &str, values: Expr) -> Expr {
    /// Sums up to a hundred million dollars are exact, and remainders are below 0.00000002.
    const UNIT: f64 = 1.0 / (1 << 26) as f64;
    if !column.ends_with("_usd") {
        return values.sum();
    }
    let coarse = (values.clone() / lit(UNIT)).floor() * lit(UNIT);
    coarse.clone().sum() + (values - coarse).sum()
}

/// The number of rows in which a column has a value.
pub(super) fn count_of(column: &str, value: &str) -> Expr {
    col(column).eq(lit(value)).sum().cast(DataType::Int64)
}

/// The number of rows in which a flag has a value.
pub(super) fn count_of_flag(column: &str, value: bool) -> Expr {
    col(column).eq(lit(value)).sum().cast(DataType::Int64)
}
