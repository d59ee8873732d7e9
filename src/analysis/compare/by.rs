//! More than two cohorts: the sessions in a scope, divided by a dimension.

use std::collections::BTreeSet;

use super::line::SIGNIFICANCE;
use super::measures::{Difference, MEASURES, MIN_SESSIONS, Measure, OF_TRIALS, PASS_RATE, middle};
use crate::analysis::cohort::groups::Groups;
use crate::analysis::cohort::read::{Cohort, CohortSessions, Row, row_of_trial};
use crate::analysis::outcomes::frame::Trial;
use crate::analysis::outcomes::statistics::{fisher, holm, wilson};
use crate::analysis::present::named;
use crate::analysis::reports::with_reports;
use crate::analysis::rows::{CostBasis, Frames, Judged, Unjudged};
use crate::analysis::selection::{Error, Grouping, LeftOut, Scope};

/// The most cohorts that are compared: those with most sessions.
const MAX_COHORTS: usize = 12;

/// The measures of sessions that are compared if no trial is judged.
const OF_SESSIONS: &[&str] = &[
    "ended_cleanly_rate",
    "cost_per_session_usd",
    "tokens_per_session",
    "turns_per_session",
    "p50_duration_ms",
    "tool_error_rate",
];

/// A measure of a cohort.
#[derive(Debug, Clone, PartialEq)]
pub struct CohortLine {
    /// The name of the measure.
    pub measure: &'static str,
    /// The value of the dimension; `None` if it is unknown.
    pub cohort: Option<String>,
    /// The number; `None` if it is unknown for all sessions.
    pub value: Option<f64>,
    /// Its 95 % interval: Wilson's for the pass rate, that of resampled sessions for others.
    pub interval: Option<(f64, f64)>,
    /// The sessions or trials for which the number is known.
    pub sessions: usize,
    /// The cohorts whose number differs by more than chance, after Holm's correction for all pairs of cohorts.
    pub different_from: Vec<String>,
}

/// The comparison of the cohorts of a dimension.
#[derive(Debug)]
pub struct Cohorts {
    /// For each measure, the cohorts in the order of its value, the largest first.
    pub lines: Vec<CohortLine>,
    /// The cohorts with fewer sessions that are left out.
    pub omitted: usize,
    /// The tasks with a judged trial in each cohort that has one, and those in any.
    pub common_tasks: usize,
    /// See [`Self::common_tasks`].
    pub all_tasks: usize,
    /// How many trials are judged.
    pub judged: Judged,
    /// Sessions without a start that the scope excludes.
    pub left_out: LeftOut,
}

/// Compares the sessions in a scope by the values of a dimension.
///
/// # Errors
/// When the dimension or a filter does not exist, or the tables cannot be read.
pub fn compare_by(tables: &Frames, scope: &Scope, by: &str, unjudged: Unjudged) -> Result<Cohorts, Error> {
    let mut grouping =
        Grouping::new("compare", &CohortSessions, tables, scope, CostBasis::Auto).map_err(with_reports)?;
    let groups = Groups::of(&mut grouping, &[by.to_owned()]).map_err(with_reports)?;
    let trials = groups.trials(tables, CostBasis::Auto, unjudged)?;
    // A cohort without verdicts has a cost, too; only its pass rate is unknown.
    let are_judged = trials.iter().any(|trial| trial.passed.is_some());
    // Sessions that others started are not a cohort of their own: they belong to the trials of those.
    let groups = if are_judged { groups.of_trials(&trials)? } else { groups };
    let omitted = groups.groups.len().saturating_sub(MAX_COHORTS);
    let mut cohorts = Vec::new();
    for (values, _) in groups.groups.iter().take(MAX_COHORTS) {
        cohorts.push((values.first().cloned().flatten(), groups.cohort(values, &trials)?));
    }
    let lines = if are_judged {
        OF_TRIALS.iter().flat_map(|measure| lines(measure, &cohorts, of_trials)).collect()
    } else {
        let measures = MEASURES.iter().filter(|measure| OF_SESSIONS.contains(&measure.name));
        measures.flat_map(|measure| lines(measure, &cohorts, |cohort| cohort.rows.clone())).collect()
    };
    let judged_cohorts = cohorts.iter().map(|(_, cohort)| cohort.judged_trials()).filter(|trials| !trials.is_empty());
    let tasks: Vec<BTreeSet<&str>> = judged_cohorts.map(tasks).collect();
    let all: BTreeSet<&str> = tasks.iter().flatten().copied().collect();
    let common_tasks = all.iter().filter(|task| tasks.iter().all(|of| of.contains(*task))).count();
    let judged = cohorts.iter().fold(Judged::default(), |sum, (_, cohort)| Judged {
        trials: sum.trials + cohort.judged.trials,
        unjudged: sum.unjudged + cohort.judged.unjudged,
    });
    let all_tasks = all.len();
    Ok(Cohorts { lines, omitted, common_tasks, all_tasks, judged, left_out: grouping.left_out })
}

fn of_trials(cohort: &Cohort) -> Vec<Row> {
    cohort.trials.iter().map(row_of_trial).collect()
}

/// The tasks with a judged trial.
fn tasks(trials: &[Trial]) -> BTreeSet<&str> {
    trials.iter().filter(|trial| trial.passed.is_some()).filter_map(|trial| trial.task.as_deref()).collect()
}

/// A cohort with what is resampled of it.
struct Resampled<'a> {
    name: Option<&'a str>,
    values: Vec<(f64, f64)>,
    value: Option<f64>,
    resamples: Vec<Option<f64>>,
}

/// The lines of a measure.
fn lines(
    measure: &Measure,
    cohorts: &[(Option<String>, Cohort)],
    rows: impl Fn(&Cohort) -> Vec<Row>,
) -> Vec<CohortLine> {
    let resampled: Vec<Resampled<'_>> = cohorts
        .iter()
        .enumerate()
        .map(|(index, (name, cohort))| {
            let values = measure.values(&rows(cohort));
            let is_enough = values.len() >= MIN_SESSIONS;
            let resamples = if is_enough { measure.resamples(&values, index) } else { Vec::new() };
            Resampled { name: name.as_deref(), value: measure.all(&values), values, resamples }
        })
        .collect();
    let pairs: Vec<(usize, usize)> =
        (0..resampled.len()).flat_map(|a| (a + 1..resampled.len()).map(move |b| (a, b))).collect();
    let p_values: Vec<Option<f64>> = pairs
        .iter()
        .map(|(a, b)| resampled.get(*a).zip(resampled.get(*b)).and_then(|(a, b)| p_value(measure, a, b)))
        .collect();
    let adjusted = holm(&p_values);
    let is_different = |a: usize, b: usize| {
        let is_pair = |pair: &(usize, usize)| *pair == (a.min(b), a.max(b));
        let found = pairs.iter().position(is_pair).and_then(|index| adjusted.get(index).copied().flatten());
        found.is_some_and(|p_value| p_value < SIGNIFICANCE)
    };
    let mut lines: Vec<CohortLine> = resampled
        .iter()
        .enumerate()
        .map(|(index, cohort)| {
            let others =
                resampled.iter().enumerate().filter(|(other, _)| *other != index && is_different(index, *other));
            CohortLine {
                measure: measure.name,
                cohort: cohort.name.map(str::to_owned),
                value: cohort.value.map(|value| measure.rounded(value)),
                interval: cohort.interval(measure),
                sessions: cohort.values.len(),
                different_from: others.map(|(_, other)| named(other.name).to_owned()).collect(),
            }
        })
        .collect();
    let number = |line: &CohortLine| line.value.unwrap_or(f64::NEG_INFINITY);
    lines.sort_by(|a, b| number(b).total_cmp(&number(a)).then_with(|| a.cohort.cmp(&b.cohort)));
    lines
}

/// Whether two cohorts differ: Fisher's exact test for the pass rate, resampled sessions for others.
fn p_value(measure: &Measure, a: &Resampled<'_>, b: &Resampled<'_>) -> Option<f64> {
    if measure.name == PASS_RATE {
        let [(a, of_a), (b, of_b)] = [a, b].map(|cohort| (passed(&cohort.values), cohort.values.len() as u64));
        return (of_a > 0 && of_b > 0).then(|| fisher(a, of_a, b, of_b));
    }
    Some(Difference::of(&a.resamples, &b.resamples)?.p_value)
}

/// How many trials passed.
fn passed(values: &[(f64, f64)]) -> u64 {
    values.iter().filter(|(passed, _)| *passed > 0.5).count() as u64
}

impl Resampled<'_> {
    fn interval(&self, measure: &Measure) -> Option<(f64, f64)> {
        if measure.name == PASS_RATE {
            return wilson(passed(&self.values) as f64, self.values.len() as f64);
        }
        let mut known: Vec<f64> = self.resamples.iter().copied().flatten().collect();
        if known.len() * 10 < self.resamples.len() * 9 {
            return None;
        }
        known.sort_by(f64::total_cmp);
        middle(&known)
    }
}
