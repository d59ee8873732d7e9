//! When the values of a sequence changed: binary segmentation with a permutation test.
//!
//! The statistic of a sequence is the largest standardised difference between the mean rank before and after any of its positions. It is
//! compared with the largest ones of random orders of the same values. If fewer than a share of them is as large, the sequence is divided
//! there, and both parts are tested. Ranks make a single expensive session no change.

use std::collections::HashMap;
use std::ops::Range;

use super::permutation::{ENOUGH, permutations, shuffle};
use crate::analysis::outcomes::statistics::{SEED, mean};

/// The fewest values before and after a change.
pub(in crate::analysis) const MIN_PART: usize = 10;
/// The number of resamples for the interval of a position.
const RESAMPLES: usize = 199;

/// Finds where a part changed most, and the p-value.
type Test<'t> = dyn FnMut(Range<usize>) -> Option<(usize, f64)> + 't;

/// A change in a sequence of values.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::analysis) struct Change {
    /// The index of the first value after it.
    pub at: usize,
    /// The middle 95 % of its position in resamples of the values before and after.
    pub between: (usize, usize),
    /// The values from the last change, or the start, up to the next one, or the end.
    pub part: Range<usize>,
    /// How often a random order of these values has a change as large.
    pub p_value: f64,
    /// Whether the mean rank is higher after it.
    pub is_rise: bool,
}

/// What a test of a sequence found.
pub(in crate::analysis) struct Changes {
    /// The changes, in their order.
    pub changes: Vec<Change>,
    /// The p-value of the whole sequence; `None` with too few values for a test.
    pub p_value: Option<f64>,
}

/// The changes of a sequence. A part is divided if its p-value is below `level`.
pub(in crate::analysis) fn changes(values: &[f64], level: f64) -> Changes {
    // Parts are tested again when positions move.
    let mut known: HashMap<Range<usize>, Option<(usize, f64)>> = HashMap::new();
    let mut of = |part: Range<usize>| {
        *known.entry(part.clone()).or_insert_with(|| {
            let of_part = values.get(part.clone()).unwrap_or_default();
            let permutations = permutations(of_part.len()).max(least_permutations(level));
            test(of_part, permutations).map(|(at, p_value)| (part.start + at, p_value))
        })
    };
    let mut p_value = None;
    let mut positions = Vec::new();
    let mut open = Vec::new();
    let mut next = Some(0..values.len());
    while let Some(part) = next.take().or_else(|| open.pop()) {
        let Some((at, found)) = of(part.clone()) else { continue };
        p_value.get_or_insert(found);
        if found < level {
            open.extend([part.start..at, at..part.end]);
            positions.push(at);
        }
    }
    positions.sort_unstable();
    Changes { changes: refined(positions, values, level, &mut of), p_value }
}

/// The fewest positions that leave no change in a part. The first ones were found in longer parts with several changes, so that one of
/// them may be a mixture of two others.
fn refined(mut positions: Vec<usize>, values: &[f64], level: f64, test: &mut Test<'_>) -> Vec<Change> {
    while let Some(fewer) = (0..positions.len()).find_map(|index| {
        let others = positions.iter().enumerate().filter(|(other, _)| *other != index);
        let moved = moved(others.map(|(_, at)| *at).collect(), values.len(), level, test)?;
        leaves_none(&moved, values.len(), level, test).then_some(moved)
    }) {
        positions = fewer;
    }
    positions = moved(positions.clone(), values.len(), level, test).unwrap_or(positions);
    let change = |index: usize| {
        let part = around(&positions, index, values.len());
        let (at, p_value) = test(part.clone())?;
        let is_rise = rises(values.get(part.clone()).unwrap_or_default(), at - part.start);
        Some(Change { at, between: interval(values, at, &part), part, p_value, is_rise })
    };
    (0..positions.len()).filter_map(change).collect()
}

/// The two parts before and after the position of an index.
fn around(positions: &[usize], index: usize, end: usize) -> Range<usize> {
    let start = index.checked_sub(1).and_then(|before| positions.get(before)).copied().unwrap_or(0);
    start..positions.get(index + 1).copied().unwrap_or(end)
}

/// The positions, each where the parts around it change most; `None` if one of them does not change.
fn moved(mut positions: Vec<usize>, end: usize, level: f64, test: &mut Test<'_>) -> Option<Vec<usize>> {
    for index in 0..positions.len() {
        let (at, _) = test(around(&positions, index, end)).filter(|(_, p_value)| *p_value < level)?;
        *positions.get_mut(index)? = at;
    }
    Some(positions)
}

/// Whether no part between these positions changes.
fn leaves_none(positions: &[usize], end: usize, level: f64, test: &mut Test<'_>) -> bool {
    let starts = std::iter::once(0).chain(positions.iter().copied());
    let ends = positions.iter().copied().chain([end]);
    starts.zip(ends).all(|(start, end)| test(start..end).is_none_or(|(_, p_value)| p_value >= level))
}

/// The fewest permutations by which a p-value can be below a level by far.
fn least_permutations(level: f64) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive number below 1,000,000")]
    let least = (2.0 / level.clamp(1e-5, 1.0)).ceil() as usize;
    least
}

/// Where a sequence changed most, and how often a random order changes as much; `None` with too few values.
fn test(values: &[f64], permutations: usize) -> Option<(usize, f64)> {
    if values.len() < 2 * MIN_PART {
        return None;
    }
    let mut ranks = ranks(values);
    let (at, observed) = largest(&ranks)?;
    let mut random = oorandom::Rand64::new(SEED);
    let count = ranks.len();
    let mut as_large = 0_u32;
    for tried in 1..=permutations {
        shuffle(&mut ranks, count, &mut random);
        as_large += u32::from(largest(&ranks).is_some_and(|(_, it)| it >= observed - 1e-9));
        if as_large >= ENOUGH {
            return Some((at, f64::from(as_large) / tried as f64));
        }
    }
    Some((at, (f64::from(as_large) + 1.0) / (permutations as f64 + 1.0)))
}

/// The position with the largest standardised difference of means, and that difference. All values may be equal: it is 0.
fn largest(values: &[f64]) -> Option<(usize, f64)> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let mut sum = 0.0;
    let mut largest = None;
    for (index, value) in values.iter().enumerate() {
        sum += value - mean;
        let before = index + 1;
        if before < MIN_PART || values.len() - before < MIN_PART {
            continue;
        }
        let parts = before as f64 * (count - before as f64) / count;
        let difference = sum.abs() / parts.sqrt();
        if largest.is_none_or(|(_, known)| difference > known) {
            largest = Some((before, difference));
        }
    }
    largest
}

/// Whether the mean rank of the values from a position on is higher than that of those before.
fn rises(values: &[f64], at: usize) -> bool {
    let ranks = ranks(values);
    let (before, after) = ranks.split_at(at.min(ranks.len()));
    mean(after) > mean(before)
}

/// The ranks of values, from 1; equal ones share the middle of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<(f64, usize)> = values.iter().copied().zip(0..).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut ranks = vec![0.0; values.len()];
    let mut below = 0;
    for equal in order.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()) {
        let rank = below as f64 + f64::midpoint(equal.len() as f64, 1.0);
        for (_, index) in equal {
            if let Some(of_value) = ranks.get_mut(*index) {
                *of_value = rank;
            }
        }
        below += equal.len();
    }
    ranks
}

/// The middle 95 % of the positions of a change, where the values before it and after it are drawn again.
fn interval(values: &[f64], at: usize, part: &Range<usize>) -> (usize, usize) {
    let of = |part: Range<usize>| values.get(part).unwrap_or_default();
    let (before, after) = (of(part.start..at), of(at..part.end));
    let mut random = oorandom::Rand64::new(SEED);
    let mut positions: Vec<usize> = (0..RESAMPLES)
        .filter_map(|_| {
            let mut drawn = Vec::with_capacity(before.len() + after.len());
            for side in [before, after] {
                let draw = |_| side.get(usize::try_from(random.rand_range(0..side.len() as u64)).ok()?).copied();
                drawn.extend((0..side.len()).filter_map(draw));
            }
            largest(&ranks(&drawn)).map(|(at, _)| part.start + at)
        })
        .collect();
    positions.sort_unstable();
    let position = |per_mille: usize| positions.get(positions.len() * per_mille / 1000).copied().unwrap_or(at);
    (position(25).min(at), position(975).max(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values with a long tail, as costs have.
    fn sequence(random: &mut oorandom::Rand64, parts: &[(usize, f64)]) -> Vec<f64> {
        let value = |factor: f64, random: &mut oorandom::Rand64| factor * (2.0 * random.rand_float()).exp();
        parts
            .iter()
            .flat_map(|(count, factor)| (0..*count).map(|_| value(*factor, random)).collect::<Vec<_>>())
            .collect()
    }

    #[test]
    fn changes_are_found_where_they_are() {
        let mut random = oorandom::Rand64::new(3);
        let values = sequence(&mut random, &[(40, 1.0), (30, 4.0), (40, 1.0)]);
        let found = changes(&values, 0.01);
        let positions: Vec<usize> = found.changes.iter().map(|change| change.at).collect();
        assert_eq!(positions.len(), 2, "{positions:?}");
        for (change, expected) in found.changes.iter().zip([40_usize, 70]) {
            assert!(change.at.abs_diff(expected) <= 3, "{change:?}");
            assert!(change.between.0 <= expected && expected <= change.between.1, "{change:?}");
        }
        assert_eq!(found.changes.iter().map(|change| change.is_rise).collect::<Vec<_>>(), [true, false]);
        assert_eq!(found.changes[0].part, 0..positions[1]);
        assert_eq!(found.changes[1].part, positions[0]..110);
    }

    #[test]
    fn a_single_large_value_is_no_change() {
        let mut values = vec![1.0; 60];
        values[30] = 1e9;
        assert!(changes(&values, 0.05).changes.is_empty());
        assert!(changes(&[1.0; 60], 0.05).changes.is_empty());
        assert!(changes(&[1.0; 19], 0.05).p_value.is_none());
        assert!(changes(&[], 0.05).p_value.is_none());
    }

    /// One large value among small ones makes the mean before the change larger.
    #[test]
    fn the_direction_is_that_of_the_ranks() {
        let mut values = vec![1.0; 20];
        values[7] = 1e4;
        values.extend([4.0; 20]);
        let found = changes(&values, 0.01).changes;
        assert_eq!(found.iter().map(|change| (change.at, change.is_rise)).collect::<Vec<_>>(), [(20, true)]);
    }

    /// Of equal values, one in twenty is taken for a change at a level of 5 %, by what the level means.
    #[test]
    fn a_sequence_without_a_change_seldom_has_one() {
        let mut random = oorandom::Rand64::new(11);
        let alarms = (0..200).filter(|_| {
            let values = sequence(&mut random, &[(30, 1.0)]);
            test(&values, 199).is_some_and(|(_, p_value)| p_value < 0.05)
        });
        let alarms = alarms.count();
        assert!(alarms <= 18, "{alarms} of 200");
    }

    #[test]
    fn equal_values_share_their_ranks() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
    }
}
