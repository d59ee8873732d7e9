//! The columns of a report after its dimensions.

use polars::prelude::*;

use super::sums::{count_of, known_sum};

/// A column of a report.
#[derive(Debug)]
pub struct Measure {
    /// Its name.
    pub name: &'static str,
    /// What it means, in a line.
    pub about: &'static str,
    pub(in crate::analysis) formula: Formula,
    /// Whether tables omit it unless `--wide` is given, or it is the column to sort by.
    pub(in crate::analysis) is_wide: bool,
    /// Whether it is of k trials, so that tables show it with `--k`.
    pub(in crate::analysis) is_of_k: bool,
    /// Whether it needs columns of the session.
    pub(in crate::analysis) needs_session: bool,
    /// Whether it needs the outcomes of trials.
    pub(in crate::analysis) needs_outcome: bool,
    /// Whether it needs the prices of another model, and so does not apply without `--price-as`.
    pub(in crate::analysis) needs_price_as: bool,
    /// Computes the values of a flag that depends on all groups; it is NULL in the total.
    pub(in crate::analysis) over_groups: Option<fn(LazyFrame) -> PolarsResult<LazyFrame>>,
    /// Whether it is a value of one row of the group, as an example; it is NULL in the total.
    pub(in crate::analysis) is_example: bool,
    /// Whether it is an amount. A text, a day, a flag or the number of a line cannot be compared with a bound.
    pub(in crate::analysis) is_amount: bool,
    /// Whether it is a part of the stored cost, and so does not apply to `--cost reported` or `computed`.
    pub(in crate::analysis) is_part: bool,
}

#[derive(Debug)]
pub(in crate::analysis) enum Formula {
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
    pub(in crate::analysis) const fn wide(self) -> Self {
        Self { is_wide: true, ..self }
    }

    pub(in crate::analysis) const fn of_k(self) -> Self {
        Self { is_of_k: true, ..self }
    }

    pub(in crate::analysis) const fn of_session(self) -> Self {
        Self { needs_session: true, ..self }
    }

    pub(in crate::analysis) const fn of_price_as(self) -> Self {
        Self { needs_price_as: true, ..self }
    }

    /// A text, a day, a flag or the number of a line.
    pub(in crate::analysis) const fn no_amount(self) -> Self {
        Self { is_amount: false, ..self }
    }

    /// Whether the report has it without further options.
    pub const fn is_always_computed(&self) -> bool {
        !self.needs_price_as
    }

    pub(in crate::analysis) const fn of_outcome(self) -> Self {
        Self { needs_outcome: true, ..self }
    }

    /// A flag that depends on all groups: `of` replaces the value that its formula has for single groups.
    pub(in crate::analysis) const fn over_groups(self, of: fn(LazyFrame) -> PolarsResult<LazyFrame>) -> Self {
        Self { over_groups: Some(of), ..self }
    }

    /// Its aggregation over the rows of a group; `None` for a formula of other measures, and for quantiles.
    pub(in crate::analysis) fn of_rows(&self) -> Option<Expr> {
        let value = match self.formula {
            Formula::Sum(column) => known_sum(column),
            Formula::Max(column) => col(column).max(),
            Formula::Where(column, value) => count_of(column, value),
            Formula::Rows(aggregation) => aggregation(),
            Formula::Quantile(..) | Formula::Groups(_) => return None,
        };
        Some(value.alias(self.name))
    }

    /// Its formula of other measures; `None` for an aggregation over rows.
    pub(in crate::analysis) fn of_groups(&self) -> Option<Expr> {
        match self.formula {
            Formula::Groups(formula) => Some(formula().alias(self.name)),
            _ => None,
        }
    }
}

pub(in crate::analysis) const fn new(name: &'static str, about: &'static str, formula: Formula) -> Measure {
    Measure {
        name,
        about,
        formula,
        is_wide: false,
        needs_session: false,
        needs_outcome: false,
        needs_price_as: false,
        over_groups: None,
        is_example: false,
        is_amount: true,
        is_part: false,
        is_of_k: false,
    }
}

/// Any measure over the rows of a group.
pub(in crate::analysis) const fn measure(name: &'static str, about: &'static str, of: fn() -> Expr) -> Measure {
    new(name, about, Formula::Rows(of))
}

/// A value of one row of a group, as an example; NULL in the total.
pub(in crate::analysis) const fn example(name: &'static str, about: &'static str, of: fn() -> Expr) -> Measure {
    Measure { is_example: true, ..measure(name, about, of).no_amount() }
}

/// A formula of other measures.
pub(in crate::analysis) const fn derived(name: &'static str, about: &'static str, of: fn() -> Expr) -> Measure {
    new(name, about, Formula::Groups(of))
}

/// The sum of the column of that name; NULL if no value is known.
pub(in crate::analysis) const fn sum(name: &'static str, about: &'static str) -> Measure {
    new(name, about, Formula::Sum(name))
}

/// The number of rows.
pub(in crate::analysis) const fn rows(name: &'static str, about: &'static str) -> Measure {
    measure(name, about, || len().cast(DataType::Int64))
}

/// The median of a column.
pub(in crate::analysis) const fn median(name: &'static str, about: &'static str, column: &'static str) -> Measure {
    new(name, about, Formula::Quantile(column, 0.5))
}

/// The 90th percentile.
pub(in crate::analysis) const fn percentile_90(
    name: &'static str,
    about: &'static str,
    column: &'static str,
) -> Measure {
    new(name, about, Formula::Quantile(column, 0.9))
}

/// The 95th percentile.
pub(in crate::analysis) const fn percentile_95(
    name: &'static str,
    about: &'static str,
    column: &'static str,
) -> Measure {
    new(name, about, Formula::Quantile(column, 0.95))
}

/// The largest value of a column.
pub(in crate::analysis) const fn max(name: &'static str, about: &'static str, column: &'static str) -> Measure {
    new(name, about, Formula::Max(column))
}

pub(in crate::analysis) fn float(column: &str) -> Expr {
    col(column).cast(DataType::Float64)
}

pub(in crate::analysis) fn ratio(numerator: &str, denominator: &str) -> Expr {
    float(numerator) / not_zero(col(denominator))
}

pub(in crate::analysis) fn not_zero(value: Expr) -> Expr {
    when(value.clone().neq(lit(0))).then(value).otherwise(lit(NULL))
}
