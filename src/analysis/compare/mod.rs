//! Compares two cohorts of sessions: the difference of each measure, with a bootstrap confidence interval of 95 %.
//!
//! Where verdicts are present, trials are compared too. The measures of `report outcomes` have the same numbers here. If both cohorts
//! have tasks in common, the means over these tasks (`paired_…`) are compared in pairs ([`pairs`](crate::analysis::outcomes)), and
//! decide in place of the measures of the same kind.
//!
//! Sessions are resampled as a whole, as the turns of a session depend on each other. The interval contains the middle 95 %
//! of the differences between resampled cohorts. The seed and the order of sessions are fixed, so that the same question
//! always has the same answer.
//!
//! ```text
//! line      a line of the comparison
//! measures  the numbers of a cohort, and their differences by resampling
//! tasks     the tasks that were fixed, broke or are flaky
//! two       two cohorts: the lines of the comparison
//! by        more than two cohorts
//! baseline  whether sessions became worse than those of a baseline
//! ```

mod baseline;
mod by;
mod line;
mod measures;
mod tasks;
mod two;

pub use crate::analysis::cohort::read::TABLES;
pub use baseline::{BaselineLine, compare_with_baseline};
pub use by::{CohortLine, Cohorts, compare_by};
pub use line::{Compared, SIGNIFICANCE};
pub use tasks::{Change, Side, TaskChange};
pub use two::{Comparison, compare, has_few_pairs};
