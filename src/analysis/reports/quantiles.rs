//! Quantiles of groups and of the total: the nearest of the known values, see docs/reports.md#percentiles.
//!
//! polars computes `Expr::quantile` of groups only with all columns in memory. Here, the groups have a list of the values of each
//! column that has quantiles. The total uses the same lists; only the values of one column at a time are copied for it.

use polars::prelude::*;

use crate::analysis::rows::measure::{Formula, Measure};

/// The quantiles among the measures of a report.
pub(super) struct Quantiles {
    /// Each column with the names of its measures and their quantiles, between 0 and 1.
    columns: Vec<(&'static str, Vec<(&'static str, f64)>)>,
    /// Whether the lists of whole numbers have 32 bits per value, which nearly always suffices. A value that does not fit is NULL
    /// there.
    are_narrow: bool,
}

impl Quantiles {
    /// Those among these measures.
    pub(super) fn of(measures: &[&Measure]) -> Self {
        let mut columns: Vec<(&'static str, Vec<(&'static str, f64)>)> = Vec::new();
        for measure in measures {
            let Formula::Quantile(column, quantile) = measure.formula else { continue };
            match columns.iter_mut().find(|(known, _)| *known == column) {
                Some((_, quantiles)) => quantiles.push((measure.name, quantile)),
                None => columns.push((column, vec![(measure.name, quantile)])),
            }
        }
        Self { columns, are_narrow: true }
    }

    /// The same quantiles, of lists that have all values.
    pub(super) fn with_all_bits(self) -> Self {
        Self { are_narrow: false, ..self }
    }

    /// The aggregations that compute the lists, and the numbers of values that these should have.
    pub(super) fn lists(&self) -> Vec<Expr> {
        let list = |column: &str| {
            let is_narrow = self.are_narrow && !is_money(column);
            let values = if is_narrow { col(column).cast(DataType::UInt32) } else { col(column) };
            values.implode(false).alias(name_of_list(column))
        };
        let count = |column: &str| col(column).count().alias(name_of_count(column));
        self.columns.iter().flat_map(|(column, _)| [list(column), count(column)]).collect()
    }

    /// Whether the lists of these groups lack values. Then the groups are to be computed once more, by [`Self::with_all_bits`].
    pub(super) fn lack_values(&self, groups: &DataFrame) -> PolarsResult<bool> {
        for (column, _) in &self.columns {
            let lists = groups.column(&name_of_list(column))?.list()?;
            let known = |list: &Series| list.len() - list.null_count();
            let found: usize = lists.amortized_iter().flatten().map(|list| known(list.as_ref())).sum();
            let counts = groups.column(&name_of_count(column))?;
            if counts.sum_reduce()?.value().extract() != Some(found) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Replaces the lists of groups by their quantiles, and adds the quantiles of the total: of its own list, or else of all values of
    /// the groups.
    pub(super) fn replace_lists(&self, groups: &mut DataFrame, mut total: Option<&mut DataFrame>) -> PolarsResult<()> {
        for (column, quantiles) in &self.columns {
            let list = name_of_list(column);
            let lists = groups.drop_in_place(&list)?;
            let own = total.as_deref_mut().and_then(|total| total.drop_in_place(&list).ok());
            let uses_groups = total.is_some() && own.is_none();
            let mut of_groups = vec![Vec::with_capacity(lists.len()); quantiles.len()];
            let mut all = Vec::new();
            for list in lists.list()?.amortized_iter() {
                let mut values = known_values(list)?;
                for (of_groups, (_, quantile)) in of_groups.iter_mut().zip(quantiles) {
                    of_groups.push(nearest(&mut values, *quantile));
                }
                if uses_groups {
                    all.append(&mut values);
                }
            }
            for (of_groups, (name, _)) in of_groups.into_iter().zip(quantiles) {
                groups.with_column(values(name, column, of_groups)?)?;
            }
            if let Some(own) = own {
                all = known_values(own.list()?.amortized_iter().next().flatten())?;
            }
            if let Some(total) = total.as_deref_mut() {
                for (name, quantile) in quantiles {
                    total.with_column(values(name, column, vec![nearest(&mut all, *quantile)])?)?;
                }
            }
        }
        Ok(())
    }
}

fn name_of_list(column: &str) -> String {
    format!("values of {column}")
}

fn name_of_count(column: &str) -> String {
    format!("number of values of {column}")
}

fn is_money(column: &str) -> bool {
    column.ends_with("_usd")
}

/// The known values of a list.
fn known_values(list: Option<impl AsRef<Series>>) -> PolarsResult<Vec<f64>> {
    let Some(list) = list else { return Ok(Vec::new()) };
    let list = list.as_ref().cast(&DataType::Float64)?;
    let mut known = Vec::with_capacity(list.len() - list.null_count());
    for values in list.f64()?.downcast_iter() {
        known.extend(values.non_null_values_iter());
    }
    Ok(known)
}

/// A quantile of values; `None` if there are none. Changes their order.
fn nearest(values: &mut [f64], quantile: f64) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and the last index")]
    let index = (quantile * last as f64).round() as usize;
    let (_, value, _) = values.select_nth_unstable_by(index.min(last), f64::total_cmp);
    Some(*value)
}

/// Quantiles of a column as a column of this name: money as floats, all else as whole numbers.
fn values(name: &str, column: &str, quantiles: Vec<Option<f64>>) -> PolarsResult<Column> {
    let values = Column::new(name.into(), quantiles);
    if is_money(column) { Ok(values) } else { values.cast(&DataType::Int64) }
}
