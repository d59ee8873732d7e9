//! Quantiles of groups and of the total: the nearest of the known values, see docs/reports.md#percentiles.
//!
//! polars computes `Expr::quantile` of groups only with all columns in memory. Here, the groups have a list of the values of each
//! column that has quantiles. The total uses the same lists, so that each value is in memory once.

use polars::prelude::*;

use super::spec::{Measure, Of};

/// The quantiles among the measures of a report.
pub(super) struct Quantiles {
    /// Each column with the names of its measures and their quantiles, between 0 and 1.
    columns: Vec<(&'static str, Vec<(&'static str, f64)>)>,
}

impl Quantiles {
    /// Those among these measures.
    pub(super) fn of(measures: &[&Measure]) -> Self {
        let mut columns: Vec<(&'static str, Vec<(&'static str, f64)>)> = Vec::new();
        for measure in measures {
            let Of::Quantile(column, quantile) = measure.of else { continue };
            match columns.iter_mut().find(|(known, _)| *known == column) {
                Some((_, quantiles)) => quantiles.push((measure.name, quantile)),
                None => columns.push((column, vec![(measure.name, quantile)])),
            }
        }
        Self { columns }
    }

    /// The aggregations that compute the lists.
    pub(super) fn lists(&self) -> Vec<Expr> {
        self.columns.iter().map(|(column, _)| col(*column).implode(false).alias(name_of_list(column))).collect()
    }

    /// Replaces the lists of groups by their quantiles, and adds the quantiles of the total: of its own list, or else of all values of
    /// the groups.
    pub(super) fn replace_lists(&self, groups: &mut DataFrame, mut total: Option<&mut DataFrame>) -> PolarsResult<()> {
        for (column, quantiles) in &self.columns {
            let lists = groups.drop_in_place(&name_of_list(column))?;
            let lists = lists.list()?;
            for (name, quantile) in quantiles {
                let each = lists.amortized_iter().map(|list| match list {
                    Some(list) => nearest(list.as_ref(), *quantile),
                    None => Ok(None),
                });
                let each = each.collect::<PolarsResult<_>>()?;
                groups.with_column(values(name, column, each)?)?;
            }
            if let Some(total) = total.as_deref_mut() {
                let own = total.drop_in_place(&name_of_list(column)).ok();
                let all = own.as_ref().map_or(Ok(lists), |own| own.list())?;
                let all = all.explode(ExplodeOptions { empty_as_null: false, keep_nulls: false })?;
                for (name, quantile) in quantiles {
                    let value = [nearest(&all, *quantile)?].into_iter().collect();
                    total.with_column(values(name, column, value)?)?;
                }
            }
        }
        Ok(())
    }
}

fn name_of_list(column: &str) -> String {
    format!("values of {column}")
}

/// A quantile of the known values; `None` if there are none.
fn nearest(values: &Series, quantile: f64) -> PolarsResult<Option<f64>> {
    Ok(values.drop_nulls().quantile_reduce(quantile, QuantileMethod::Nearest)?.value().extract())
}

/// Quantiles of a column as a column of this name: money as floats, all else as whole numbers.
fn values(name: &str, column: &str, quantiles: Float64Chunked) -> PolarsResult<Column> {
    let values = quantiles.with_name(name.into()).into_column();
    if column.ends_with("_usd") { Ok(values) } else { values.cast(&DataType::Int64) }
}
