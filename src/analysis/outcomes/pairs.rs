//! Two cohorts of trials, paired by task.

use std::collections::BTreeMap;

use super::frame::Trial;
use super::statistics::{bootstrap_mean, detectable, mcnemar, mean, needed};

/// A measure of a trial.
struct Measure {
    /// The name of its mean over tasks.
    name: &'static str,
    /// The measure of the same kind over all trials, whose number differs.
    replaces: &'static str,
    of: fn(&Trial) -> Option<f64>,
}

/// The measures that are compared, besides whether trials pass.
static MEASURES: [Measure; 4] = [
    Measure { name: "paired_cost_usd", replaces: "cost_per_trial_usd", of: |trial| trial.cost },
    Measure { name: "paired_tokens", replaces: "tokens_per_trial", of: |trial| trial.tokens.map(|it| it as f64) },
    Measure { name: "paired_turns", replaces: "turns_per_trial", of: |trial| trial.turns.map(|it| it as f64) },
    Measure {
        name: "paired_duration_ms",
        replaces: "mean_duration_ms",
        of: |trial| trial.duration_ms.map(|it| it as f64),
    },
];

/// Whether trials pass.
static PASS: Measure = Measure {
    name: "paired_pass_rate",
    replaces: "pass_rate",
    of: |trial| trial.passed.map(|passed| f64::from(u8::from(passed))),
};

/// The minimum number of pairs for an interval.
pub(in crate::analysis) const MIN_PAIRS: usize = 10;

/// One measure of both cohorts over the tasks that both have.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::analysis) struct Paired {
    pub measure: &'static str,
    /// The measure of the same kind over all trials.
    pub replaces: &'static str,
    /// Means over tasks.
    pub a: f64,
    pub b: f64,
    pub pairs: usize,
    /// The trials of these tasks with a known value.
    pub a_trials: usize,
    pub b_trials: usize,
    /// The 95 % interval of the mean difference; `None` with too few pairs.
    pub interval: Option<(f64, f64)>,
    /// The p-value of McNemar's test for the pass rate, of the bootstrap for others.
    pub p_value: Option<f64>,
    /// Whether McNemar's test decides.
    pub is_pass_rate: bool,
    /// The least mean difference that this number of pairs finds with a power of 80 %, and how many find the observed one.
    pub detectable: Option<f64>,
    pub needed: Option<u64>,
}

/// How the tasks of two cohorts match.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tasks {
    /// Tasks of both cohorts with a judged trial.
    pub both: usize,
    /// Judged tasks of the first cohort only.
    pub only_a: usize,
    /// Judged tasks of the second cohort only.
    pub only_b: usize,
}

/// The judged trials of a cohort, by task.
fn by_task(trials: &[Trial]) -> BTreeMap<&str, Vec<&Trial>> {
    let mut tasks: BTreeMap<&str, Vec<&Trial>> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| trial.passed.is_some()) {
        if let Some(task) = &trial.task {
            tasks.entry(task).or_default().push(trial);
        }
    }
    tasks
}

/// Compares two cohorts over the tasks that both have. Of several trials of a task, the mean counts.
pub(in crate::analysis) fn compare(a: &[Trial], b: &[Trial]) -> (Vec<Paired>, Tasks) {
    let (a, b) = (by_task(a), by_task(b));
    let pairs: Vec<(&[&Trial], &[&Trial])> =
        a.iter().filter_map(|(task, trials)| Some((&trials[..], &b.get(task)?[..]))).collect();
    let tasks = Tasks { both: pairs.len(), only_a: a.len() - pairs.len(), only_b: b.len() - pairs.len() };
    if pairs.is_empty() {
        return (Vec::new(), tasks);
    }
    let paired = [&PASS].into_iter().chain(&MEASURES).filter_map(|measure| {
        let (mut a_trials, mut b_trials) = (0, 0);
        let known = pairs.iter().filter_map(|(a, b)| {
            let (a, b) = (known(a, measure.of), known(b, measure.of));
            let means = (mean(&a)?, mean(&b)?);
            (a_trials, b_trials) = (a_trials + a.len(), b_trials + b.len());
            Some(means)
        });
        let known: Vec<(f64, f64)> = known.collect();
        let count = known.len() as f64;
        if known.is_empty() {
            return None;
        }
        let differences: Vec<f64> = known.iter().map(|(a, b)| b - a).collect();
        let is_pass_rate = measure.name == PASS.name;
        let found = (known.len() >= MIN_PAIRS).then(|| bootstrap_mean(&differences)).flatten();
        let least = found.map(|it| detectable(it.error));
        let difference = differences.iter().sum::<f64>() / count;
        Some(Paired {
            measure: measure.name,
            replaces: measure.replaces,
            a: known.iter().map(|pair| pair.0).sum::<f64>() / count,
            b: known.iter().map(|pair| pair.1).sum::<f64>() / count,
            pairs: known.len(),
            a_trials,
            b_trials,
            interval: found.map(|it| it.interval),
            p_value: if is_pass_rate { Some(p_value(&known)) } else { found.map(|it| it.p_value) },
            is_pass_rate,
            detectable: least,
            needed: least.and_then(|least| needed(known.len(), least, difference)),
        })
    });
    (paired.collect(), tasks)
}

/// The p-value of McNemar's test. A task passes if more than half of its trials do.
fn p_value(rates: &[(f64, f64)]) -> f64 {
    let count = |is_a: bool| rates.iter().filter(|(a, b)| (*a > 0.5) == is_a && (*b > 0.5) != is_a).count() as u64;
    mcnemar(count(true), count(false))
}

/// The known values of trials.
fn known(trials: &[&Trial], of: fn(&Trial) -> Option<f64>) -> Vec<f64> {
    trials.iter().filter_map(|trial| of(trial)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(task: u32, passed: bool, cost: Option<f64>) -> Trial {
        Trial { task: Some(format!("t{task}")), passed: Some(passed), cost, ..Trial::default() }
    }

    #[test]
    fn only_tasks_of_both_are_compared() {
        let a: Vec<Trial> = (0..12).map(|it| trial(it, it < 4, Some(f64::from(it)))).collect();
        let mut b: Vec<Trial> = (2..13).map(|it| trial(it, it < 10, Some(f64::from(it) + 1.0))).collect();
        b.push(Trial { task: Some("t3".into()), passed: None, ..Trial::default() });
        let (paired, tasks) = compare(&a, &b);
        assert_eq!(tasks, Tasks { both: 10, only_a: 2, only_b: 1 });
        let names: Vec<_> = paired.iter().map(|it| (it.measure, it.pairs)).collect();
        assert_eq!(names, [("paired_pass_rate", 10), ("paired_cost_usd", 10)]);
        assert_eq!((paired[0].a, paired[0].b), (0.2, 0.8));
        // Six tasks pass in the second cohort only: 2 / 2^6.
        assert!((paired[0].p_value.unwrap() - 0.03125).abs() < 1e-9);
        assert_eq!(paired[1].interval, Some((1.0, 1.0)));
    }

    #[test]
    fn several_trials_of_a_task_count_once() {
        let a = [trial(1, true, Some(1.0)), trial(1, false, Some(3.0)), trial(1, true, None)];
        let b = [trial(1, false, Some(2.0))];
        let (paired, _) = compare(&a, &b);
        assert_eq!((paired[0].pairs, paired[0].interval), (1, None));
        assert!((paired[0].p_value.unwrap() - 1.0).abs() < 1e-9);
        assert!((paired[0].a - 2.0 / 3.0).abs() < 1e-12 && (paired[1].a - 2.0).abs() < 1e-12);
        assert_eq!(compare(&a, &[trial(2, true, None)]).0, []);
    }
}
