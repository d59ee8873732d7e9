//! Intervals and tests. `scripts/outcomes.py` compares them with scipy and statsmodels.

use statrs::distribution::{Binomial, ContinuousCDF, Discrete, DiscreteCDF, Hypergeometric, Normal};

/// The quantile of the standard normal distribution for intervals of 95 %.
pub const Z_95: f64 = 1.959_963_984_540_054;

/// The mean of values, if there are any.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The 95 % interval of a rate by Wilson's score; `None` without trials.
pub fn wilson(passed: f64, count: f64) -> Option<(f64, f64)> {
    if count <= 0.0 {
        return None;
    }
    let (rate, square) = (passed / count, Z_95 * Z_95);
    let middle = rate + square / (2.0 * count);
    let half = Z_95 * (rate * (1.0 - rate) / count + square / (4.0 * count * count)).sqrt();
    let scale = 1.0 + square / count;
    Some((((middle - half) / scale).max(0.0), ((middle + half) / scale).min(1.0)))
}

/// The probability that at least one of `k` trials of a task passes, estimated without bias from `passed` of `count` trials:
/// Chen et al. 2021, <https://arxiv.org/abs/2107.03374>. `None` with fewer than `k` trials.
pub fn pass_at_k(count: u64, passed: u64, k: u64) -> Option<f64> {
    Some(1.0 - share_of_draws(count, count.checked_sub(passed)?, k)?)
}

/// The probability that all of `k` trials of a task pass, estimated without bias: <https://arxiv.org/abs/2406.12045>. `None`
/// with fewer than `k` trials.
pub fn pass_hat_k(count: u64, passed: u64, k: u64) -> Option<f64> {
    share_of_draws(count, passed, k)
}

/// The share of all draws of `k` out of `count` that only contain some `chosen` ones: C(chosen, k) / C(count, k).
fn share_of_draws(count: u64, chosen: u64, k: u64) -> Option<f64> {
    if k == 0 || k > count || chosen > count {
        return None;
    }
    if k > chosen {
        return Some(0.0);
    }
    Some((0..k).map(|drawn| (chosen - drawn) as f64 / (count - drawn) as f64).product())
}

/// The exact two-sided p-value of McNemar's test: of the pairs with different outcomes, how many are of each kind.
pub fn mcnemar(only_a: u64, only_b: u64) -> f64 {
    let count = only_a + only_b;
    let Ok(binomial) = Binomial::new(0.5, count) else { return 1.0 };
    (2.0 * binomial.cdf(only_a.min(only_b))).min(1.0)
}

/// The two-sided p-value of Fisher's exact test: whether two cohorts pass equally often.
pub fn fisher(passed_a: u64, count_a: u64, passed_b: u64, count_b: u64) -> f64 {
    let passed = passed_a + passed_b;
    let Ok(table) = Hypergeometric::new(count_a + count_b, passed, count_a) else { return 1.0 };
    let (first, last) = (passed.saturating_sub(count_b), passed.min(count_a));
    // Tables that are as likely as the observed one, apart from rounding, are as extreme.
    let observed = table.pmf(passed_a) * (1.0 + 1e-7);
    (first..=last).map(|it| table.pmf(it)).filter(|share| *share <= observed).sum::<f64>().min(1.0)
}

/// The p-values after the correction of Holm for the number of tests: <https://www.jstor.org/stable/4615733>. Values without a test
/// stay without one.
pub fn holm(p_values: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut order: Vec<(f64, usize)> =
        p_values.iter().enumerate().filter_map(|(index, p_value)| Some(((*p_value)?, index))).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut adjusted = vec![None; p_values.len()];
    let mut largest = 0.0_f64;
    for (rank, (p_value, index)) in order.iter().enumerate() {
        largest = largest.max(p_value * (order.len() - rank) as f64);
        if let Some(of_index) = adjusted.get_mut(*index) {
            *of_index = Some(largest.min(1.0));
        }
    }
    adjusted
}

/// Standard errors of a difference that a test at the level of 5 %, two-sided, finds with a probability of 80 %: the quantiles of
/// the normal distribution at 97.5 % and at 80 %.
const ERRORS_OF_POWER: f64 = Z_95 + 0.841_621_233_572_914_2;

/// The least difference that is found with a power of 80 %, by the standard error of the difference.
pub fn detectable(error: f64) -> f64 {
    ERRORS_OF_POWER * error
}

/// How many sessions, trials or pairs find a difference with a power of 80 %, if this number of them finds the least detectable one.
/// `None` without a difference.
pub fn needed(count: usize, detectable: f64, difference: f64) -> Option<u64> {
    let needed = (count as f64 * (detectable / difference).powi(2)).ceil();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is above 0 and below the bound")]
    (needed.is_finite() && needed < 1e12).then_some(needed as u64)
}

/// The seed of all resampling: the same question always has the same answer.
pub const SEED: u128 = 0x0061_6765_6e74_6c6f_6773;
/// The number of resamples, and the number of values drawn at most.
const MAX_RESAMPLES: usize = 9_999;
const MIN_RESAMPLES: usize = 999;
const MAX_DRAWN: usize = 100_000_000;

/// What a bootstrap states about a mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bootstrapped {
    /// The 95 % interval.
    pub interval: (f64, f64),
    /// The two-sided p-value of the mean 0: the level at which an interval ends at 0.
    pub p_value: f64,
    /// The standard error of the mean.
    pub error: f64,
}

/// The 95 % interval of the mean by a bootstrap, bias-corrected and accelerated (`BCa`): Efron 1987. `None` with fewer than two
/// values. Values that are all equal have an interval without width.
pub fn bootstrap_mean(values: &[f64]) -> Option<Bootstrapped> {
    let count = values.len();
    if count < 2 {
        return None;
    }
    let sum: f64 = values.iter().sum();
    let mean = sum / count as f64;
    let resamples = (MAX_DRAWN / count).clamp(MIN_RESAMPLES, MAX_RESAMPLES);
    let mut random = oorandom::Rand64::new(SEED);
    let mut means: Vec<f64> = (0..resamples)
        .map(|_| {
            let drawn = (0..count).filter_map(|_| {
                values.get(usize::try_from(random.rand_range(0..count as u64)).unwrap_or_default()).copied()
            });
            drawn.sum::<f64>() / count as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let (first, last) = (*means.first()?, *means.last()?);
    let least_p = 2.0 / (resamples + 1) as f64;
    if last - first <= f64::EPSILON * mean.abs() {
        let p_value = if mean == 0.0 { 1.0 } else { least_p };
        return Some(Bootstrapped { interval: (mean, mean), p_value, error: 0.0 });
    }
    let below = means.partition_point(|it| *it < mean);
    let not_above = means.partition_point(|it| *it <= mean);
    let normal = Normal::standard();
    let bias = normal.inverse_cdf((below + not_above) as f64 / (2 * resamples) as f64);
    // The jackknife: the mean without one of the values each.
    let without = |value: f64| (sum - value) / (count - 1) as f64;
    let middle = values.iter().map(|value| without(*value)).sum::<f64>() / count as f64;
    let differences = || values.iter().map(|value| middle - without(*value));
    let squares: f64 = differences().map(|it| it * it).sum();
    let cubes: f64 = differences().map(|it| it * it * it).sum();
    let acceleration = if squares > 0.0 { cubes / (6.0 * squares.powf(1.5)) } else { 0.0 };
    let at = |quantile: f64| {
        let shifted = bias + quantile;
        let share = normal.cdf(bias + shifted / (1.0 - acceleration * shifted));
        share.is_finite().then(|| interpolated(&means, share)).flatten()
    };
    // The share of resamples at or below 0 as the quantile of the interval that ends there.
    let zeros = (means.partition_point(|it| *it < 0.0) + means.partition_point(|it| *it <= 0.0)) as f64 / 2.0;
    let share = (zeros / resamples as f64).clamp(least_p / 2.0, 1.0 - least_p / 2.0);
    let shifted = normal.inverse_cdf(share) - bias;
    let one_sided = normal.cdf(shifted / (1.0 + acceleration * shifted) - bias);
    let p_value = (2.0 * one_sided.min(1.0 - one_sided)).clamp(least_p, 1.0);
    let spread: f64 = values.iter().map(|it| (it - mean).powi(2)).sum();
    let error = (spread / (count - 1) as f64 / count as f64).sqrt();
    Some(Bootstrapped { interval: (at(-Z_95)?, at(Z_95)?), p_value, error })
}

/// The value at a share of sorted values, between the two nearest.
fn interpolated(sorted: &[f64], share: f64) -> Option<f64> {
    let position = share.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a position in the list")]
    let index = position.floor() as usize;
    let (lower, upper) = (*sorted.get(index)?, *sorted.get((index + 1).min(sorted.len() - 1))?);
    Some(lower + (upper - lower) * position.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(a: f64, b: f64) -> bool {
        (a - b).abs() < 5e-5
    }

    /// Newcombe 1998, table I: the score method without continuity correction.
    #[test]
    fn wilson_has_the_published_values() {
        for (passed, count, low, high) in [
            (81.0, 263.0, 0.2553, 0.3662),
            (15.0, 148.0, 0.0624, 0.1605),
            (0.0, 20.0, 0.0, 0.1611),
            (1.0, 29.0, 0.0061, 0.1718),
        ] {
            let found = wilson(passed, count).unwrap();
            assert!(is_near(found.0, low) && is_near(found.1, high), "{found:?}");
        }
        assert_eq!(wilson(0.0, 0.0), None);
    }

    #[test]
    fn pass_at_k_counts_the_draws() {
        let cases = [
            (5, 2, 1, Some(0.4), Some(0.4)),
            // C(3,2)/C(5,2) = 3/10 have no pass, C(2,2)/C(5,2) = 1/10 only passes.
            (5, 2, 2, Some(0.7), Some(0.1)),
            (5, 0, 3, Some(0.0), Some(0.0)),
            (5, 5, 5, Some(1.0), Some(1.0)),
            (5, 4, 5, Some(1.0), Some(0.0)),
            (4, 2, 5, None, None),
            (4, 2, 0, None, None),
        ];
        for (count, passed, k, at, hat) in cases {
            let near = |a: Option<f64>, b: Option<f64>| a.zip(b).map_or(a == b, |(a, b)| is_near(a, b));
            assert!(near(pass_at_k(count, passed, k), at), "{count} {passed} {k}");
            assert!(near(pass_hat_k(count, passed, k), hat), "{count} {passed} {k}");
        }
    }

    #[test]
    fn mcnemar_is_the_sign_test_of_the_different_pairs() {
        // 2 * (1 + 10) / 2^10, and both tails together.
        for (a, b, p) in [(1, 9, 0.021_484), (9, 1, 0.021_484), (0, 6, 0.031_25), (5, 5, 1.0), (0, 0, 1.0)] {
            assert!(is_near(mcnemar(a, b), p), "{a} {b} {}", mcnemar(a, b));
        }
    }

    #[test]
    fn the_interval_of_skewed_values_is_not_symmetric() {
        let values: Vec<f64> = (1..=30).map(|it| f64::from(it * it)).collect();
        let mean = values.iter().sum::<f64>() / 30.0;
        let found = bootstrap_mean(&values).unwrap();
        let (low, high) = found.interval;
        assert!(low < mean && mean < high && high - mean > mean - low, "{low} {mean} {high}");
        assert_eq!(bootstrap_mean(&values), Some(found));
        let equal = bootstrap_mean(&[2.5; 7]).unwrap();
        assert!(equal.interval == (2.5, 2.5) && equal.p_value < 0.001 && equal.error == 0.0);
        assert_eq!(bootstrap_mean(&[1.0]), None);
    }

    /// An interval that just contains 0 has a p-value of 5 %.
    #[test]
    fn the_p_value_of_a_mean_agrees_with_its_interval() {
        let values: Vec<f64> = (1..=30).map(|it| f64::from(it * it) / 100.0).collect();
        let moved = |by: f64| values.iter().map(|it| it - by).collect::<Vec<f64>>();
        let (low, high) = bootstrap_mean(&values).unwrap().interval;
        for end in [low, high] {
            let p_value = bootstrap_mean(&moved(end)).unwrap().p_value;
            assert!((p_value - 0.05).abs() < 0.01, "{p_value}");
        }
        assert!(bootstrap_mean(&moved(low - 1.0)).unwrap().p_value < 0.05);
        let mean = values.iter().sum::<f64>() / 30.0;
        assert!(bootstrap_mean(&moved(mean)).unwrap().p_value > 0.9);
    }

    /// `scipy.stats.fisher_exact` of the same tables.
    #[test]
    fn fisher_has_the_values_of_scipy() {
        for (a, of_a, b, of_b, expected) in [
            (8, 10, 1, 6, 0.034_965),
            (5, 11, 11, 12, 0.027_191),
            (0, 5, 0, 7, 1.0),
            (3, 3, 0, 3, 0.1),
            (2, 4, 2, 4, 1.0),
        ] {
            assert!(is_near(fisher(a, of_a, b, of_b), expected), "{a} {b} {}", fisher(a, of_a, b, of_b));
        }
    }

    /// statsmodels.stats.multitest.multipletests with the method "holm" has the same values.
    #[test]
    fn holm_multiplies_by_the_number_of_tests_that_remain() {
        let p_values = [Some(0.01), None, Some(0.04), Some(0.03), Some(0.005)];
        let expected = [Some(0.03), None, Some(0.06), Some(0.06), Some(0.02)];
        let found = holm(&p_values);
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.zip(expected).map_or(*found == expected, |(a, b)| is_near(a, b)), "{found:?}");
        }
        assert_eq!(holm(&[Some(0.9), Some(0.8)]), [Some(1.0), Some(1.0)]);
        assert_eq!(holm(&[]), []);
    }

    /// Two groups of 100 values with the standard deviation 1: statsmodels' `TTestIndPower` needs 63 of each for a difference of 0.5,
    /// of which the correction for the t distribution is one.
    #[test]
    fn power_is_that_of_the_normal_distribution() {
        let least = detectable((2.0_f64 / 100.0).sqrt());
        assert!(is_near(least, 0.396_204), "{least}");
        assert_eq!(needed(100, least, 0.5), Some(63));
        assert_eq!(needed(100, least, 0.0), None);
    }
}
