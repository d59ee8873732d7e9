//! Whether sessions became worse than those of a baseline: a permutation test for each mean, with Holm's correction.

use super::line::SIGNIFICANCE;
use super::measures::MIN_SESSIONS;
use super::two::read;
use crate::analysis::cohort::means::{MEANS, Mean};
use crate::analysis::cohort::permutation::{is_larger, permutations};
use crate::analysis::cohort::read::Cohort;
use crate::analysis::outcomes::statistics::{holm, mean};
use crate::analysis::rows::{Frames, Unjudged};
use crate::analysis::selection::{Error, LeftOut, Scope};

/// A mean of the baseline and of the sessions that are compared with it.
#[derive(Debug, Clone, PartialEq)]
pub struct BaselineLine {
    /// The name of the measure: a mean over sessions, or over judged trials.
    pub measure: &'static str,
    /// The mean of the baseline.
    pub baseline: Option<f64>,
    /// The mean of the sessions.
    pub value: Option<f64>,
    /// The sessions of the baseline for which it is known.
    pub baseline_sessions: usize,
    /// The sessions for which it is known.
    pub sessions: usize,
    /// How often a random division of all sessions differs as much for the worse; `None` with fewer than ten of either.
    pub p_value: Option<f64>,
    /// The same after Holm's correction for the measures that are tested.
    pub p_adjusted: Option<f64>,
}

impl BaselineLine {
    /// Whether it became worse by more than chance.
    pub fn is_worse(&self) -> bool {
        self.p_adjusted.is_some_and(|p_value| p_value < SIGNIFICANCE)
    }

    /// `worse`, `not worse` or `too few`.
    pub fn result(&self) -> &'static str {
        match self.p_adjusted {
            None => "too few",
            Some(_) if self.is_worse() => "worse",
            Some(_) => "not worse",
        }
    }
}

/// Compares sessions with those of a baseline, which can be in other tables. The second result counts the sessions without a start that
/// each scope excludes.
///
/// # Errors
/// When a filter names something that does not exist, or the tables cannot be read.
pub fn compare_with_baseline(
    baseline: (&Frames, &Scope),
    sessions: (&Frames, &Scope),
) -> Result<(Vec<BaselineLine>, [LeftOut; 2]), Error> {
    let (baseline, left_out_of_baseline) = read(baseline.0, baseline.1, Unjudged::Apart)?;
    let (sessions, left_out) = read(sessions.0, sessions.1, Unjudged::Apart)?;
    let values = |cohort: &Cohort| {
        let known = |mean: &Mean| mean.values(cohort).into_iter().map(|(_, value)| value).collect();
        MEANS.iter().map(known).collect::<Vec<Vec<f64>>>()
    };
    Ok((lines(&values(&baseline), &values(&sessions), permutations), [left_out_of_baseline, left_out]))
}

/// The lines of the values of each mean. `permutations` returns how many permutations of so many values are tried.
fn lines(baseline: &[Vec<f64>], sessions: &[Vec<f64>], permutations: fn(usize) -> usize) -> Vec<BaselineLine> {
    let mut lines: Vec<BaselineLine> = MEANS
        .iter()
        .zip(baseline.iter().zip(sessions))
        .filter(|(_, (before, after))| !before.is_empty() || !after.is_empty())
        .map(|(of, (before, after))| {
            let is_enough = before.len() >= MIN_SESSIONS && after.len() >= MIN_SESSIONS;
            let permutations = permutations(before.len() + after.len());
            let p_value = || {
                if of.is_cost { is_larger(before, after, permutations) } else { is_larger(after, before, permutations) }
            };
            BaselineLine {
                measure: of.name,
                baseline: mean(before),
                value: mean(after),
                baseline_sessions: before.len(),
                sessions: after.len(),
                p_value: is_enough.then(p_value),
                p_adjusted: None,
            }
        })
        .collect();
    let p_values: Vec<Option<f64>> = lines.iter().map(|line| line.p_value).collect();
    for (line, p_adjusted) in lines.iter_mut().zip(holm(&p_values)) {
        line.p_adjusted = p_adjusted;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The means of some sessions: whether they pass and end cleanly, and amounts with a long tail that depend on each other.
    fn cohort(random: &mut oorandom::Rand64, count: usize, factor: f64) -> Vec<Vec<f64>> {
        let mut values = vec![Vec::new(); MEANS.len()];
        for _ in 0..count {
            let size = factor * (2.0 * random.rand_float()).exp() * (1.0 + random.rand_float());
            let good = f64::from(u8::from(random.rand_float() < 0.7));
            let ended = f64::from(u8::from(random.rand_float() < 0.9));
            let of = [good, ended, size, size * 1e5, size * 10.0, random.rand_float()];
            values.iter_mut().zip(of).for_each(|(values, value)| values.push(value));
        }
        values
    }

    /// A gate that fails without a reason in more than one of twenty runs is switched off.
    #[test]
    fn equal_cohorts_seldom_raise_an_alarm() {
        let mut random = oorandom::Rand64::new(7);
        let alarms = (0..1000).filter(|_| {
            let (before, after) = (cohort(&mut random, 20, 1.0), cohort(&mut random, 15, 1.0));
            lines(&before, &after, |_| 199).iter().any(BaselineLine::is_worse)
        });
        let alarms = alarms.count();
        assert!(alarms <= 50, "{alarms} of 1000");
    }

    #[test]
    fn what_became_worse_is_found() {
        let mut random = oorandom::Rand64::new(7);
        let (before, after) = (cohort(&mut random, 40, 1.0), cohort(&mut random, 40, 3.0));
        let worse = |lines: &[BaselineLine]| {
            lines.iter().filter(|line| line.is_worse()).map(|line| line.measure).collect::<Vec<_>>()
        };
        let expected = ["cost_per_session_usd", "tokens_per_session", "turns_per_session"];
        assert_eq!(worse(&lines(&before, &after, |_| 999)), expected);
        // Better is not worse.
        assert_eq!(worse(&lines(&after, &before, |_| 999)), [""; 0]);
        let few = lines(&cohort(&mut random, 9, 1.0), &after, |_| 999);
        assert!(few.iter().all(|line| line.result() == "too few"));
    }
}
