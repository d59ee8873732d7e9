//! The result of a report.

use polars::prelude::DataFrame;

use crate::analysis::rows::Judged;
use crate::analysis::selection::LeftOut;
use crate::analysis::skills::{PASS_RATE_WITH, PASS_RATE_WITHOUT};
use crate::analysis::waste::{CAUSE, Cause};

/// The result of a report.
#[derive(Debug)]
pub struct Answer {
    /// Its rows.
    pub rows: DataFrame,
    /// The number of dimensions: the first columns of the rows.
    pub dimensions: usize,
    /// The measures over all rows, if [`Options::total`](super::Options::total) is set.
    pub total: Option<DataFrame>,
    /// The number of rows beyond [`Options::limit`](super::Options::limit).
    pub more: usize,
    /// Undated rows that the filters exclude.
    pub left_out: LeftOut,
    /// Of `report outcomes`, how many trials are judged.
    pub judged: Option<Judged>,
}

/// The columns of a change: its direction, and the means before and after it.
pub(super) const RESULT: &str = "result";
pub(super) const BEFORE: &str = "before";
pub(super) const AFTER: &str = "after";

impl Answer {
    /// Whether it compares pass rates of sessions with and without a skill.
    pub fn compares_skills(&self) -> bool {
        let known = |name: &str| self.rows.column(name).is_ok_and(|column| column.null_count() < column.len());
        known(PASS_RATE_WITH) && known(PASS_RATE_WITHOUT)
    }

    /// Whether a row is of waste that its total leaves out.
    pub fn has_carried_output(&self) -> bool {
        let carried = Cause::OutputCarried.as_str();
        let causes = self.rows.column(CAUSE).ok().and_then(|column| column.str().ok());
        self.total.is_some() && causes.is_some_and(|causes| causes.iter().any(|cause| cause == Some(carried)))
    }

    /// Whether the means of a change differ in the other direction than its ranks, as of a few sessions that cost much more than others.
    pub fn has_opposite_means(&self) -> bool {
        let number = |name: &str| self.rows.column(name).ok()?.f64().ok();
        let result = self.rows.column(RESULT).ok().and_then(|column| column.str().ok());
        let (Some(result), Some(before), Some(after)) = (result, number(BEFORE), number(AFTER)) else {
            return false;
        };
        result.iter().zip(before.iter().zip(after.iter())).any(|(result, means)| match (result, means) {
            (Some("higher"), (Some(before), Some(after))) => after < before,
            (Some("lower"), (Some(before), Some(after))) => after > before,
            _ => false,
        })
    }
}
