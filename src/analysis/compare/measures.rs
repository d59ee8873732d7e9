//! The numbers of a cohort, and their differences by resampling.

use super::line::Compared;
use crate::analysis::cohort::read::{Column, Row};
use crate::analysis::outcomes::statistics::{SEED, detectable, needed};

/// The minimum number of sessions of a cohort for an interval.
pub(super) const MIN_SESSIONS: usize = 10;
/// The number of resamples. Large cohorts have fewer, so that a comparison takes seconds at most.
const MAX_RESAMPLES: usize = 2000;
const MIN_RESAMPLES: usize = 400;
const MAX_SESSIONS_DRAWN: usize = 200_000_000;

/// A number of a cohort, computed from its sessions.
pub(super) struct Measure {
    pub name: &'static str,
    of: Of,
}

enum Of {
    /// The sum of one column divided by the sum of another, over sessions that have both.
    Ratio(Column, Column),
    /// The median of a column.
    Median(Column),
}

/// All measures, in the order in which they are shown.
pub(super) static MEASURES: &[Measure] = &[
    Measure { name: "ended_cleanly_rate", of: Of::Ratio(Column::Success, Column::One) },
    Measure { name: "cost_per_session_usd", of: Of::Ratio(Column::Cost, Column::One) },
    Measure { name: "p50_cost_usd", of: Of::Median(Column::Cost) },
    Measure { name: "cost_per_clean_end_usd", of: Of::Ratio(Column::CostIfOutcomeKnown, Column::Success) },
    Measure { name: "tokens_per_session", of: Of::Ratio(Column::Tokens, Column::One) },
    Measure { name: "turns_per_session", of: Of::Ratio(Column::Turns, Column::One) },
    Measure { name: "p50_turns", of: Of::Median(Column::Turns) },
    Measure { name: "p50_duration_ms", of: Of::Median(Column::Duration) },
    Measure { name: "tool_calls_per_session", of: Of::Ratio(Column::Calls, Column::One) },
    Measure { name: "tool_errors_per_session", of: Of::Ratio(Column::Errors, Column::One) },
    Measure { name: "tool_error_rate", of: Of::Ratio(Column::Errors, Column::CallsWithResult) },
];

/// Whether trials pass.
pub(super) const PASS_RATE: &str = "pass_rate";

/// The measures of trials, in the order in which they are shown: those of `report outcomes`.
pub(super) static OF_TRIALS: &[Measure] = &[
    Measure { name: PASS_RATE, of: Of::Ratio(Column::Success, Column::One) },
    Measure { name: "cost_per_trial_usd", of: Of::Ratio(Column::Cost, Column::One) },
    Measure { name: "cost_per_passed_usd", of: Of::Ratio(Column::CostIfOutcomeKnown, Column::Success) },
    Measure { name: "tokens_per_trial", of: Of::Ratio(Column::Tokens, Column::One) },
    Measure { name: "turns_per_trial", of: Of::Ratio(Column::Turns, Column::One) },
    Measure { name: "mean_duration_ms", of: Of::Ratio(Column::Duration, Column::One) },
];

/// What resamples of two cohorts state about their difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Difference {
    /// The middle 95 % of the differences.
    pub interval: (f64, f64),
    /// Twice the smaller share of the differences on one side of 0, two-sided.
    pub p_value: f64,
    /// The standard deviation of the differences.
    pub error: f64,
}

impl Difference {
    /// The differences of resamples, of which those without a value are skipped; `None` if they are too many.
    pub(super) fn of(a: &[Option<f64>], b: &[Option<f64>]) -> Option<Self> {
        let pairs = a.iter().zip(b);
        let mut differences: Vec<f64> = pairs.filter_map(|(a, b)| Some((*b)? - (*a)?)).collect();
        if differences.is_empty() || differences.len() * 10 < a.len() * 9 {
            return None;
        }
        differences.sort_by(f64::total_cmp);
        let count = differences.len() as f64;
        let mean = differences.iter().sum::<f64>() / count;
        let error = (differences.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0)).sqrt();
        let not_above = differences.partition_point(|it| *it <= 0.0) as f64;
        let not_below = count - differences.partition_point(|it| *it < 0.0) as f64;
        let p_value = (2.0 * (not_above.min(not_below) + 1.0) / (count + 1.0)).min(1.0);
        Some(Self { interval: middle(&differences)?, p_value, error })
    }
}

/// The middle 95 % of sorted values.
pub(super) fn middle(sorted: &[f64]) -> Option<(f64, f64)> {
    let at = |per_mille: usize| sorted.get(sorted.len() * per_mille / 1000).copied();
    Some((at(25)?, at(975)?))
}

/// Whether `b - a` is more than chance, by its interval.
pub(super) fn result_of((low, high): (f64, f64)) -> &'static str {
    if low > 0.0 {
        "higher"
    } else if high < 0.0 {
        "lower"
    } else {
        "inconclusive"
    }
}

impl Measure {
    pub(super) fn compare(&self, a: &[Row], b: &[Row]) -> Compared {
        let (a, b) = (self.values(a), self.values(b));
        let (value_a, value_b) = (self.all(&a), self.all(&b));
        let is_enough = a.len() >= MIN_SESSIONS && b.len() >= MIN_SESSIONS && value_a.is_some() && value_b.is_some();
        let difference = if is_enough { self.difference(&a, &b) } else { None };
        let interval = difference.map(|it| it.interval);
        let detectable = difference.map(|it| detectable(it.error));
        let smaller = a.len().min(b.len());
        Compared {
            a: value_a.map(|value| self.rounded(value)),
            b: value_b.map(|value| self.rounded(value)),
            a_sessions: a.len(),
            b_sessions: b.len(),
            interval,
            result: Some(interval.map_or("too few", result_of)),
            test: interval.map(|_| "bootstrap"),
            p_value: difference.map(|it| it.p_value),
            detectable,
            needed: detectable.zip(value_a).zip(value_b).and_then(|((least, a), b)| needed(smaller, least, b - a)),
            ..Compared::named(self.name)
        }
    }

    /// The value over all of these pairs.
    pub(super) fn all(&self, values: &[(f64, f64)]) -> Option<f64> {
        self.of.value(values.iter().copied(), &mut Vec::new())
    }

    /// The value as reports show it: tokens and times are whole numbers there.
    pub(super) fn rounded(&self, value: f64) -> f64 {
        if self.name.starts_with("tokens") || self.name.ends_with("_ms") { value.round() } else { value }
    }

    /// The pairs of numerator and denominator, of sessions that have both.
    pub(super) fn values(&self, rows: &[Row]) -> Vec<(f64, f64)> {
        let (of, by) = match self.of {
            Of::Ratio(of, by) => (of, by),
            Of::Median(of) => (of, Column::One),
        };
        let number = |row: &Row, column: Column| row.get(column as usize).copied().unwrap_or(f64::NAN);
        let pair = |row: &Row| (number(row, of), number(row, by));
        rows.iter().map(pair).filter(|(of, by)| !of.is_nan() && !by.is_nan()).collect()
    }

    fn difference(&self, a: &[(f64, f64)], b: &[(f64, f64)]) -> Option<Difference> {
        let resamples = (MAX_SESSIONS_DRAWN / (a.len() + b.len())).clamp(MIN_RESAMPLES, MAX_RESAMPLES);
        let mut random = oorandom::Rand64::new(SEED);
        let mut scratch = Vec::new();
        let (mut of_a, mut of_b) = (Vec::with_capacity(resamples), Vec::with_capacity(resamples));
        for _ in 0..resamples {
            of_a.push(self.draw(a, &mut random, &mut scratch));
            of_b.push(self.draw(b, &mut random, &mut scratch));
        }
        // Some resamples have no value: without a success there is no cost per success.
        Difference::of(&of_a, &of_b)
    }

    /// The values of resamples of one cohort, whose seed is that of its number.
    pub(super) fn resamples(&self, values: &[(f64, f64)], cohort: usize) -> Vec<Option<f64>> {
        let resamples = (MAX_SESSIONS_DRAWN / values.len().max(1)).clamp(MIN_RESAMPLES, MAX_RESAMPLES);
        let mut random = oorandom::Rand64::new(SEED ^ cohort as u128);
        let mut scratch = Vec::new();
        (0..resamples).map(|_| self.draw(values, &mut random, &mut scratch)).collect()
    }

    /// The value of one resample.
    fn draw(&self, from: &[(f64, f64)], random: &mut oorandom::Rand64, scratch: &mut Vec<f64>) -> Option<f64> {
        let count = from.len() as u64;
        let drawn = (0..count).filter_map(|_| from.get(usize::try_from(random.rand_range(0..count)).ok()?).copied());
        self.of.value(drawn, scratch)
    }
}

impl Of {
    /// The number of a cohort or of a resample.
    fn value(&self, values: impl Iterator<Item = (f64, f64)>, scratch: &mut Vec<f64>) -> Option<f64> {
        match self {
            Self::Ratio(..) => {
                let (sum, divisor) = values.fold((0.0, 0.0), |sums, (of, by)| (sums.0 + of, sums.1 + by));
                (divisor > 0.0).then(|| sum / divisor)
            }
            Self::Median(_) => {
                scratch.clear();
                scratch.extend(values.map(|(value, _)| value));
                if scratch.is_empty() {
                    return None;
                }
                // Of an even number of values the upper one in the middle, as in reports.
                let middle = scratch.len() / 2;
                let (_, median, _) = scratch.select_nth_unstable_by(middle, f64::total_cmp);
                Some(*median)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This number of sessions, with costs around `cost`.
    fn rows(count: u32, cost: f64) -> Vec<Row> {
        let row = |it: u32| {
            let of = cost * (0.5 + f64::from(it * 37 % 100) / 100.0);
            [1.0, f64::from(it % 2), of, 10.0, f64::NAN, of * 1e3, 4.0, 4.0, f64::from(it % 4), of]
        };
        (0..count).map(row).collect()
    }

    fn compared(name: &str, a: &[Row], b: &[Row]) -> Compared {
        MEASURES.iter().find(|it| it.name == name).unwrap().compare(a, b)
    }

    #[test]
    fn a_difference_is_reported_if_it_is_more_than_chance() {
        let (a, b, few) = (rows(100, 1.0), rows(60, 1.5), rows(9, 9.0));
        let result = |name: &str, a: &[Row], b: &[Row]| compared(name, a, b).result.unwrap();
        for name in ["cost_per_session_usd", "p50_cost_usd", "cost_per_clean_end_usd", "p50_duration_ms"] {
            assert_eq!([result(name, &a, &b), result(name, &b, &a)], ["higher", "lower"], "{name}");
            assert_eq!([result(name, &a, &a), result(name, &a, &few)], ["inconclusive", "too few"], "{name}");
            // The p-value and the interval agree.
            assert!(compared(name, &a, &b).p_value.unwrap() < 0.05 && compared(name, &a, &a).p_value.unwrap() > 0.5);
        }
        for name in ["ended_cleanly_rate", "tokens_per_session", "tool_error_rate"] {
            assert_eq!(result(name, &a, &b), "inconclusive", "{name}");
        }
        assert_eq!(result("turns_per_session", &a, &b), "too few");
    }

    #[test]
    fn the_same_question_has_the_same_answer() {
        let (a, b) = (rows(30, 1.0), rows(40, 1.1));
        for measure in MEASURES {
            assert_eq!(measure.compare(&a, &b), measure.compare(&a, &b));
        }
        let compared = MEASURES[1].compare(&a, &b);
        let (low, high) = compared.interval.unwrap();
        let difference = compared.difference().unwrap();
        assert!(low < difference && difference < high && high - low < 0.5, "{low} {difference} {high}");
    }

    /// The least difference is 2.80 standard errors of the difference of two means, and four times the sessions halve it.
    #[test]
    fn the_detectable_difference_follows_from_the_spread() {
        let (a, b) = (rows(100, 1.0), rows(100, 1.1));
        let costs: Vec<f64> = a.iter().map(|row| row[2]).collect();
        let mean = costs.iter().sum::<f64>() / 100.0;
        let variance = |scale: f64| costs.iter().map(|it| (scale * (it - mean)).powi(2)).sum::<f64>() / 99.0;
        let expected = 2.801_585 * ((variance(1.0) + variance(1.1)) / 100.0).sqrt();
        let compared = compared("cost_per_session_usd", &a, &b);
        let found = compared.detectable.unwrap();
        assert!((found / expected - 1.0).abs() < 0.06, "{found} {expected}");
        let difference = compared.difference().unwrap();
        let needed = compared.needed.unwrap() as f64;
        assert!((needed / (100.0 * (found / difference).powi(2)) - 1.0).abs() < 0.05, "{needed}");
    }

    #[test]
    fn the_median_is_the_middle_value() {
        let median =
            |values: &[f64]| Of::Median(Column::Cost).value(values.iter().map(|it| (*it, 1.0)), &mut Vec::new());
        assert_eq!(
            [median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0, 3.0, 2.0]), median(&[])],
            [Some(2.0), Some(3.0), None]
        );
    }
}
