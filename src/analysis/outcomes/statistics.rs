//! Intervals and tests. `scripts/outcomes.py` compares them with scipy and statsmodels.

use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal};

/// The quantile of the standard normal distribution for intervals of 95 %.
pub const Z_95: f64 = 1.959_963_984_540_054;

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

/// The seed of all resampling: the same question always has the same answer.
pub const SEED: u128 = 0x0061_6765_6e74_6c6f_6773;
/// The number of resamples, and the number of values drawn at most.
const MAX_RESAMPLES: usize = 9_999;
const MIN_RESAMPLES: usize = 999;
const MAX_DRAWN: usize = 100_000_000;

/// The 95 % interval of the mean by a bootstrap, bias-corrected and accelerated (`BCa`): Efron 1987. `None` with fewer than two
/// values. Values that are all equal have an interval without width.
pub fn bootstrap_mean(values: &[f64]) -> Option<(f64, f64)> {
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
    if last - first <= f64::EPSILON * mean.abs() {
        return Some((mean, mean));
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
    Some((at(-Z_95)?, at(Z_95)?))
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
        let (low, high) = bootstrap_mean(&values).unwrap();
        assert!(low < mean && mean < high && high - mean > mean - low, "{low} {mean} {high}");
        assert_eq!(bootstrap_mean(&values), Some((low, high)));
        assert_eq!(bootstrap_mean(&[2.5; 7]), Some((2.5, 2.5)));
        assert_eq!(bootstrap_mean(&[1.0]), None);
    }
}
