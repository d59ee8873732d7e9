//! Whether a mean differs between two groups: a permutation test.

use crate::analysis::outcomes::statistics::SEED;

/// The number of permutations. Large groups have fewer, so that a test takes a second at most.
const MAX_PERMUTATIONS: usize = 9_999;
const MIN_PERMUTATIONS: usize = 999;
const MAX_MOVED: usize = 2_000_000;

/// How many permutations of so many values are tried.
pub(in crate::analysis) fn permutations(count: usize) -> usize {
    (MAX_MOVED / count.max(1)).clamp(MIN_PERMUTATIONS, MAX_PERMUTATIONS)
}

/// A test ends once so many permutations were as extreme as the values: the p-value is large, and more permutations would only make it more
/// precise. Besag and Clifford 1991.
pub(super) const ENOUGH: u32 = 20;

/// Moves random values to the first `count` places: the first part of a shuffle of Fisher and Yates.
pub(super) fn shuffle(values: &mut [f64], count: usize, random: &mut oorandom::Rand64) {
    for position in 0..count.min(values.len()) {
        let other = random.rand_range(position as u64..values.len() as u64);
        values.swap(position, usize::try_from(other).unwrap_or(position));
    }
}

/// The share of random divisions of all values into groups of these sizes in which the mean of the second group is at least as much larger
/// than that of the first. The values are counted as one of the divisions, so that the share is never 0.
pub(in crate::analysis) fn is_larger(before: &[f64], after: &[f64], permutations: usize) -> f64 {
    let mut all: Vec<f64> = after.iter().chain(before).copied().collect();
    let count = after.len();
    // The sum of the second group decides, as the sum of all is the same.
    let observed: f64 = after.iter().sum();
    let least = observed - observed.abs() * 1e-12;
    let mut random = oorandom::Rand64::new(SEED);
    let mut as_large = 0_u32;
    for _ in 0..permutations {
        shuffle(&mut all, count, &mut random);
        as_large += u32::from(all.iter().take(count).sum::<f64>() >= least);
    }
    (f64::from(as_large) + 1.0) / (permutations as f64 + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: of the 70 divisions of 1 to 8 into two groups of four, one has the sum of 5, 6, 7 and 8.
    #[test]
    fn the_p_value_is_the_share_of_divisions() {
        let found = is_larger(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0], 9_999);
        assert!((found - 1.0 / 70.0).abs() < 0.004, "{found}");
        let opposite = is_larger(&[5.0, 6.0, 7.0, 8.0], &[1.0, 2.0, 3.0, 4.0], 999);
        assert!(opposite > 0.999, "{opposite}");
        assert!(is_larger(&[1.0; 10], &[1.0; 10], 999) > 0.999);
    }
}
