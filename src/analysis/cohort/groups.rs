//! Sessions divided by the values of dimensions.

use polars::prelude::*;

use super::read::Cohort;
use crate::analysis::outcomes::frame::{Trial, all_trials, among};
use crate::analysis::rows::{CostBasis, Frames, KEY, Unjudged};
use crate::analysis::selection::{Error, Grouping};

/// The values of the dimensions; `None` is unknown.
pub(in crate::analysis) type Values = Vec<Option<String>>;

/// Sessions divided by the values of dimensions.
pub(in crate::analysis) struct Groups {
    /// The sessions, with the values of the dimensions as columns.
    rows: LazyFrame,
    /// These columns.
    columns: Vec<String>,
    /// The groups with their numbers of sessions, the largest first. Without dimensions there is one.
    pub groups: Vec<(Values, usize)>,
}

impl Groups {
    /// Divides the rows of `grouping`, which are sessions.
    ///
    /// # Errors
    /// When a dimension does not exist, or the tables cannot be read.
    pub(in crate::analysis) fn of(grouping: &mut Grouping, by: &[String]) -> Result<Self, Error> {
        let columns: Vec<String> = (0..by.len()).map(|number| format!("cohort_{number}")).collect();
        let mut values = Vec::new();
        for (column, dimension) in columns.iter().zip(by) {
            values.push(grouping.dimension(dimension)?.cast(DataType::String).alias(column.as_str()));
        }
        let rows = std::mem::take(&mut grouping.rows).with_columns(values).collect()?;
        Self::divided(rows, columns)
    }

    fn divided(rows: DataFrame, columns: Vec<String>) -> Result<Self, Error> {
        let groups = if columns.is_empty() { vec![(Vec::new(), rows.height())] } else { counted(&rows, &columns)? };
        Ok(Self { rows: rows.lazy(), columns, groups })
    }

    /// Only the sessions of these trials, each of which is in the group of its session.
    ///
    /// # Errors
    /// When the tables cannot be read.
    pub(in crate::analysis) fn of_trials(self, trials: &[Trial]) -> Result<Self, Error> {
        let (runtimes, ids): (Vec<&str>, Vec<&str>) =
            trials.iter().map(|trial| (trial.key.0.as_str(), trial.key.1.as_str())).unzip();
        let [runtime, session] = KEY;
        let keys = df!(runtime => runtimes, session => ids)?;
        let rows = self.rows.join(keys.lazy(), KEY.map(col), KEY.map(col), JoinType::Semi.into());
        Self::divided(rows.collect()?, self.columns)
    }

    /// The trials of all groups.
    ///
    /// # Errors
    /// When the tables cannot be read.
    pub(in crate::analysis) fn trials(
        &self,
        tables: &Frames,
        cost: CostBasis,
        unjudged: Unjudged,
    ) -> PolarsResult<Vec<Trial>> {
        among(all_trials(tables, cost, unjudged)?, &self.rows)
    }

    /// The sessions of a group. `trials` are those of all groups.
    ///
    /// # Errors
    /// When the tables cannot be read.
    pub(in crate::analysis) fn cohort(&self, values: &Values, trials: &[Trial]) -> PolarsResult<Cohort> {
        let is_in = self.columns.iter().zip(values).map(|(column, value)| match value {
            Some(value) => col(column.as_str()).eq(lit(value.as_str())),
            None => col(column.as_str()).is_null(),
        });
        let is_in = is_in.reduce(Expr::and).unwrap_or_else(|| lit(true));
        Cohort::of(&self.rows.clone().filter(is_in), trials)
    }
}

/// The values of the columns with the numbers of their rows, the most frequent first.
fn counted(rows: &DataFrame, columns: &[String]) -> PolarsResult<Vec<(Values, usize)>> {
    const COUNT: &str = "cohort_sessions";
    let keys = || columns.iter().map(|column| col(column.as_str())).collect::<Vec<_>>();
    let descending = [vec![true], vec![false; columns.len()]].concat();
    let order = SortMultipleOptions::default().with_order_descending_multi(descending).with_nulls_last(true);
    let counts = rows.clone().lazy().group_by(keys()).agg([len().cast(DataType::UInt32).alias(COUNT)]);
    let counts = counts.sort_by_exprs([vec![col(COUNT)], keys()].concat(), order).collect()?;
    let texts = columns.iter().map(|column| counts.column(column)?.str()).collect::<PolarsResult<Vec<_>>>()?;
    let sizes = counts.column(COUNT)?.u32()?;
    let values = |row: usize| texts.iter().map(|column| column.get(row).map(str::to_owned)).collect();
    Ok((0..counts.height()).map(|row| (values(row), sizes.get(row).unwrap_or(0) as usize)).collect())
}
