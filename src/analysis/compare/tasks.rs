//! The tasks of two cohorts: which were fixed, which broke, and which are flaky.

use std::collections::BTreeMap;

use crate::analysis::outcomes::frame::Trial;
use crate::analysis::outcomes::statistics::mean;

/// What happened to a task from the first cohort to the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// All trials of the first cohort passed, and none of the second.
    Broke,
    /// None of the first passed, and all of the second.
    Fixed,
    /// In a cohort, some trials passed and others did not.
    Flaky,
    /// No trial passed.
    StayedFailed,
    /// All trials passed.
    StayedPassed,
    /// Only the first cohort has judged trials.
    OnlyA,
    /// Only the second one has.
    OnlyB,
}

impl Change {
    /// The word in the table.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Broke => "broke",
            Self::Fixed => "fixed",
            Self::Flaky => "flaky",
            Self::StayedFailed => "stayed_failed",
            Self::StayedPassed => "stayed_passed",
            Self::OnlyA => "only_a",
            Self::OnlyB => "only_b",
        }
    }
}

/// The judged trials of a task in one cohort.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Side {
    /// The judged trials.
    pub trials: usize,
    /// Those that passed.
    pub passed: usize,
    /// The mean cost of those with a known one.
    pub cost_usd: Option<f64>,
    /// The same of tokens.
    pub tokens: Option<f64>,
    /// The standard deviation of the tokens divided by their mean; `None` with fewer than two trials.
    pub tokens_cv: Option<f64>,
    /// The largest number of tokens divided by the smallest.
    pub worst_over_best: Option<f64>,
}

/// A task of two cohorts.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskChange {
    /// The task.
    pub task: String,
    /// What happened to it.
    pub change: Change,
    /// The first cohort.
    pub a: Side,
    /// The second cohort.
    pub b: Side,
}

/// The tasks of both cohorts: those that broke first, then those that were fixed.
pub(super) fn changes(a: &[Trial], b: &[Trial]) -> Vec<TaskChange> {
    let mut tasks: BTreeMap<&str, [Vec<&Trial>; 2]> = BTreeMap::new();
    for (side, trials) in [a, b].into_iter().enumerate() {
        for trial in trials.iter().filter(|trial| trial.passed.is_some()) {
            if let Some(task) = &trial.task
                && let Some(of_side) = tasks.entry(task).or_default().get_mut(side)
            {
                of_side.push(trial);
            }
        }
    }
    let mut changes: Vec<TaskChange> = tasks
        .into_iter()
        .map(|(task, sides)| {
            let [a, b] = sides.map(|trials| Side::of(&trials));
            TaskChange { task: task.to_owned(), change: change(a, b), a, b }
        })
        .collect();
    changes.sort_by(|a, b| (a.change, &a.task).cmp(&(b.change, &b.task)));
    changes
}

/// How often the trials of a task passed in a cohort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Passes {
    /// There is no trial.
    Unknown,
    Never,
    Sometimes,
    Always,
}

fn change(a: Side, b: Side) -> Change {
    match (a.passes(), b.passes()) {
        (Passes::Unknown, _) => Change::OnlyB,
        (_, Passes::Unknown) => Change::OnlyA,
        (Passes::Always, Passes::Never) => Change::Broke,
        (Passes::Never, Passes::Always) => Change::Fixed,
        (Passes::Always, Passes::Always) => Change::StayedPassed,
        (Passes::Never, Passes::Never) => Change::StayedFailed,
        (Passes::Sometimes, _) | (_, Passes::Sometimes) => Change::Flaky,
    }
}

impl Side {
    fn of(trials: &[&Trial]) -> Self {
        let tokens: Vec<f64> = trials.iter().filter_map(|trial| trial.tokens).map(|it| it as f64).collect();
        let costs: Vec<f64> = trials.iter().filter_map(|trial| trial.cost).collect();
        let (least, most) = tokens.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), it| (a.min(*it), b.max(*it)));
        Self {
            trials: trials.len(),
            passed: trials.iter().filter(|trial| trial.passed == Some(true)).count(),
            cost_usd: mean(&costs),
            tokens: mean(&tokens),
            tokens_cv: variation(&tokens),
            worst_over_best: (tokens.len() > 1 && least > 0.0).then(|| most / least),
        }
    }

    fn passes(self) -> Passes {
        match (self.trials, self.passed) {
            (0, _) => Passes::Unknown,
            (_, 0) => Passes::Never,
            (all, passed) if all == passed => Passes::Always,
            _ => Passes::Sometimes,
        }
    }
}

/// The coefficient of variation: the sample's standard deviation divided by the mean.
fn variation(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|mean| values.len() > 1 && *mean > 0.0)?;
    let squares: f64 = values.iter().map(|it| (it - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt() / mean)
}

/// The mean over tasks of the dispersion between the trials of one task in each cohort, and how many tasks have one.
pub(super) fn dispersion(changes: &[TaskChange], of: fn(&TaskChange) -> Option<f64>) -> (Option<f64>, usize) {
    let known: Vec<f64> = changes.iter().filter_map(of).collect();
    (mean(&known), known.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trials(task: &str, of: &[(bool, i64)]) -> Vec<Trial> {
        let trial = |(passed, tokens): &(bool, i64)| Trial {
            task: Some(task.into()),
            passed: Some(*passed),
            tokens: Some(*tokens),
            cost: Some(*tokens as f64 / 1e3),
            ..Trial::default()
        };
        of.iter().map(trial).collect()
    }

    #[test]
    fn tasks_are_fixed_break_or_stay() {
        let (yes, no) = ((true, 100), (false, 100));
        let mut a = Vec::new();
        let mut b = Vec::new();
        for (task, of_a, of_b) in [
            ("1 fixed", &[no, no][..], &[yes, yes][..]),
            ("2 broke", &[yes], &[no]),
            ("3 flaky in a", &[yes, no], &[yes, yes]),
            ("4 flaky in b", &[no], &[yes, no]),
            ("5 good", &[yes], &[yes]),
            ("6 bad", &[no], &[no]),
            ("7 only a", &[yes], &[]),
            ("8 only b", &[], &[yes]),
        ] {
            a.extend(trials(task, of_a));
            b.extend(trials(task, of_b));
        }
        // Neither a trial without a verdict nor one without a task counts.
        a.push(Trial { task: Some("8 only b".into()), ..Trial::default() });
        a.push(Trial { passed: Some(true), ..Trial::default() });
        let found = changes(&a, &b);
        let found: Vec<(&str, &str)> = found.iter().map(|it| (it.change.as_str(), &it.task[..1])).collect();
        let expected = [
            ("broke", "2"),
            ("fixed", "1"),
            ("flaky", "3"),
            ("flaky", "4"),
            ("stayed_failed", "6"),
            ("stayed_passed", "5"),
            ("only_a", "7"),
            ("only_b", "8"),
        ];
        assert_eq!(found, expected);
    }

    /// By hand: of 100, 200 and 300 the mean is 200 and the standard deviation 100.
    #[test]
    fn dispersion_is_that_of_the_trials_of_a_task() {
        let of = [trials("x", &[(true, 100), (false, 200), (true, 300)]), trials("y", &[(true, 50)])].concat();
        let found = changes(&of, &of);
        let side = found.iter().find(|it| it.task == "x").unwrap().a;
        assert_eq!((side.trials, side.passed, side.tokens), (3, 2, Some(200.0)));
        assert!((side.cost_usd.unwrap() - 0.2).abs() < 1e-9);
        assert_eq!((side.tokens_cv, side.worst_over_best), (Some(0.5), Some(3.0)));
        assert_eq!(dispersion(&found, |it| it.a.tokens_cv), (Some(0.5), 1));
    }
}
