//! Compares two cohorts of sessions, measure by measure.

use super::line::{Compared, MCNEMAR, SIGNIFICANCE};
use super::measures::{MEASURES, Measure, OF_TRIALS, result_of};
use super::tasks::{self, TaskChange};
use crate::analysis::cohort::read::{Cohort, Row, row_of_trial};
use crate::analysis::outcomes::frame::Trial;
use crate::analysis::outcomes::pairs::{self, MIN_PAIRS, Paired, Tasks};
use crate::analysis::outcomes::statistics::holm;
use crate::analysis::reports::with_reports;
use crate::analysis::rows::{Frames, Judged, Unjudged};
use crate::analysis::selection::{Error, LeftOut, Scope};

/// The comparison of two cohorts.
#[derive(Debug)]
pub struct Comparison {
    /// The number of sessions, then all measures.
    pub lines: Vec<Compared>,
    /// The number of sessions that are in both cohorts.
    pub shared: usize,
    /// How the tasks match; `None` unless both cohorts have a judged trial.
    pub tasks: Option<Tasks>,
    /// The tasks with judged trials: those that broke first.
    pub changes: Vec<TaskChange>,
    /// Sessions without a start that the first and the second scope exclude.
    pub left_out: [LeftOut; 2],
    /// How many trials of the first and the second scope are judged.
    pub judged: [Judged; 2],
}

impl Comparison {
    /// Whether a trial of either cohort is judged.
    pub fn is_judged(&self) -> bool {
        self.judged.iter().any(|judged| judged.trials > judged.unjudged)
    }
}

/// Compares the sessions in two scopes.
///
/// # Errors
/// When a filter names something that does not exist, or the tables cannot be read.
pub fn compare(tables: &Frames, a: &Scope, b: &Scope, unjudged: Unjudged) -> Result<Comparison, Error> {
    let ((a, left_out_of_a), (b, left_out_of_b)) = (read(tables, a, unjudged)?, read(tables, b, unjudged)?);
    let shared = b.keys.iter().filter(|key| a.keys.binary_search(key).is_ok()).count();
    let sessions = |cohort: &Cohort| Some(cohort.rows.len() as f64);
    let mut lines = vec![Compared {
        a: sessions(&a),
        b: sessions(&b),
        a_sessions: a.rows.len(),
        b_sessions: b.rows.len(),
        ..Compared::named("sessions")
    }];
    let (trials_of_a, trials_of_b) = (a.judged_trials(), b.judged_trials());
    let are_judged = !trials_of_a.is_empty() && !trials_of_b.is_empty();
    let changes = if are_judged { tasks::changes(trials_of_a, trials_of_b) } else { Vec::new() };
    let tasks = are_judged.then(|| {
        let (paired, tasks) = pairs::compare(trials_of_a, trials_of_b);
        lines.extend(compare_trials(trials_of_a, trials_of_b, &paired));
        tasks
    });
    lines.extend(dispersion(&changes));
    lines.extend(MEASURES.iter().map(|measure| measure.compare(&a.rows, &b.rows)));
    // A line without a result has no test of its own.
    let p_values: Vec<Option<f64>> = lines.iter().map(|line| line.p_value.filter(|_| line.test.is_some())).collect();
    for (line, p_adjusted) in lines.iter_mut().zip(holm(&p_values)) {
        line.p_adjusted = p_adjusted;
    }
    let judged = [a.judged, b.judged];
    Ok(Comparison { lines, shared, tasks, changes, left_out: [left_out_of_a, left_out_of_b], judged })
}

/// A cohort whose errors name the command, and the reports that have what it lacks.
pub(super) fn read(tables: &Frames, scope: &Scope, unjudged: Unjudged) -> Result<(Cohort, LeftOut), Error> {
    Cohort::read(tables, scope, unjudged).map_err(|error| match error {
        Error::NotOfReport { dimension, list, reports, .. } => {
            with_reports(Error::NotOfReport { report: "compare", dimension, list, reports })
        }
        other => other,
    })
}

/// The lines of trials: the measures of `report outcomes`, then the means over the tasks of both cohorts.
fn compare_trials(a: &[Trial], b: &[Trial], paired: &[Paired]) -> Vec<Compared> {
    let (a, b): (Vec<Row>, Vec<Row>) = (a.iter().map(row_of_trial).collect(), b.iter().map(row_of_trial).collect());
    let line = |measure: &Measure| {
        let line = measure.compare(&a, &b);
        let decides_in_pairs = paired.iter().any(|pair| pair.replaces == measure.name);
        if !decides_in_pairs {
            return line;
        }
        let Compared { measure, a, b, a_sessions, b_sessions, .. } = line;
        Compared { a, b, a_sessions, b_sessions, ..Compared::named(measure) }
    };
    OF_TRIALS.iter().map(line).chain(paired.iter().map(line_of_pairs)).collect()
}

fn line_of_pairs(pair: &Paired) -> Compared {
    let (result, test) = match (pair.interval, pair.p_value) {
        (None, _) => ("too few", None),
        (Some(interval), _) if !pair.is_pass_rate => (result_of(interval), Some("paired_bootstrap")),
        (_, Some(p)) if p < SIGNIFICANCE => (if pair.b > pair.a { "higher" } else { "lower" }, Some(MCNEMAR)),
        _ => ("inconclusive", Some(MCNEMAR)),
    };
    Compared {
        a: Some(pair.a),
        b: Some(pair.b),
        a_sessions: pair.a_trials,
        b_sessions: pair.b_trials,
        interval: pair.interval,
        result: Some(result),
        test,
        pairs: Some(pair.pairs),
        p_value: pair.p_value,
        detectable: pair.detectable,
        needed: pair.needed,
        ..Compared::named(pair.measure)
    }
}

/// How much the trials of one task differ, where a cohort has several trials of a task: means over these tasks.
fn dispersion(changes: &[TaskChange]) -> Vec<Compared> {
    let line = |measure, of: [fn(&TaskChange) -> Option<f64>; 2]| {
        let [(a, a_sessions), (b, b_sessions)] = of.map(|of| tasks::dispersion(changes, of));
        (a_sessions + b_sessions > 0).then(|| Compared { a, b, a_sessions, b_sessions, ..Compared::named(measure) })
    };
    let variation = line("variation_of_task", [|it| it.a.tokens_cv, |it| it.b.tokens_cv]);
    let worst = line("worst_over_best_of_task", [|it| it.a.worst_over_best, |it| it.b.worst_over_best]);
    [variation, worst].into_iter().flatten().collect()
}

/// Whether there are too few pairs for an interval.
pub fn has_few_pairs(tasks: Tasks) -> bool {
    tasks.both < MIN_PAIRS
}
