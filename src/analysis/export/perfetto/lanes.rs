//! Slices that overlap: on one track a slice is either inside another one or apart from it.

/// The lane of each slice, from 0: slices of a lane do not overlap. `slices` are starts and ends, sorted by start.
pub(super) fn lanes(slices: impl Iterator<Item = (i64, i64)>) -> Vec<usize> {
    let mut ends: Vec<i64> = Vec::new();
    slices
        .map(|(start, end)| {
            let free = ends.iter().position(|last| *last <= start);
            let lane = free.unwrap_or_else(|| {
                ends.push(i64::MIN);
                ends.len() - 1
            });
            if let Some(last) = ends.get_mut(lane) {
                *last = end;
            }
            lane
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_of_a_lane_do_not_overlap() {
        assert_eq!(lanes([(0, 5), (0, 3), (3, 4), (5, 6), (5, 5), (5, 9)].into_iter()), [0, 1, 1, 0, 1, 1]);
        assert_eq!(lanes([(0, 10), (1, 9), (2, 8)].into_iter()), [0, 1, 2]);
        assert_eq!(lanes(std::iter::empty()), Vec::<usize>::new());
    }
}
