//! Means over sessions or trials, for tests that permute their values.

use super::read::{Cohort, Column, Row, row_of_trial};
use crate::analysis::rows::Key;

/// A mean over sessions or trials.
pub(in crate::analysis) struct Mean {
    pub name: &'static str,
    of: fn(&Row) -> f64,
    /// Whether it is over trials with a verdict.
    pub is_of_trials: bool,
    /// Whether a larger value is worse.
    pub is_cost: bool,
}

/// All means, in the order in which they are shown.
pub(in crate::analysis) static MEANS: [Mean; 6] = [
    Mean { name: "pass_rate", of: |row| value(row, Column::Success), is_of_trials: true, is_cost: false },
    Mean { name: "ended_cleanly_rate", of: |row| value(row, Column::Success), is_of_trials: false, is_cost: false },
    Mean { name: "cost_per_session_usd", of: |row| value(row, Column::Cost), is_of_trials: false, is_cost: true },
    Mean { name: "tokens_per_session", of: |row| value(row, Column::Tokens), is_of_trials: false, is_cost: true },
    Mean { name: "turns_per_session", of: |row| value(row, Column::Turns), is_of_trials: false, is_cost: true },
    Mean {
        name: "mean_tool_error_rate",
        of: |row| value(row, Column::Errors) / value(row, Column::CallsWithResult),
        is_of_trials: false,
        is_cost: true,
    },
];

fn value(row: &Row, column: Column) -> f64 {
    row.get(column as usize).copied().unwrap_or(f64::NAN)
}

impl Mean {
    /// The known values of a cohort, each with the key of its session, in the order of the cohort.
    pub(in crate::analysis) fn values<'c>(&self, cohort: &'c Cohort) -> Vec<(&'c Key, f64)> {
        let trials = || cohort.judged_trials().iter().map(|trial| (&trial.key, (self.of)(&row_of_trial(trial))));
        let sessions = || cohort.keys.iter().zip(cohort.rows.iter().map(self.of));
        let is_known = |(_, value): &(_, f64)| value.is_finite();
        if self.is_of_trials { trials().filter(is_known).collect() } else { sessions().filter(is_known).collect() }
    }
}
