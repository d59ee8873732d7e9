//! The Pareto front of cost and quality: groups for which no other group is better in one and at least as good in the other.

/// Whether each pair of cost and quality is on the front; `None` where one of both is unknown, or no other pair is known. A quality of 0
/// is never on it: the cheapest group of all may be one that passed nothing.
pub(crate) fn is_on_front(pairs: &[(Option<f64>, Option<f64>)]) -> Vec<Option<bool>> {
    let known: Vec<(f64, f64)> = pairs.iter().filter_map(|(cost, quality)| Some(((*cost)?, (*quality)?))).collect();
    let is_best = |(cost, quality): (f64, f64)| {
        let is_worse =
            |other: &(f64, f64)| other.0 <= cost && other.1 >= quality && (other.0 < cost || other.1 > quality);
        quality > 0.0 && !known.iter().any(is_worse)
    };
    let has_others = known.len() > 1;
    pairs.iter().map(|(cost, quality)| (*cost).zip(*quality).filter(|_| has_others).map(is_best)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_front_has_no_dominated_pair() {
        let pairs = [(1.0, 0.5), (2.0, 0.9), (2.0, 0.8), (3.0, 0.9), (0.5, 0.1), (1.0, 0.5)];
        let pairs = pairs.map(|(cost, quality)| (Some(cost), Some(quality)));
        let expected = [true, true, false, false, true, true].map(Some);
        assert_eq!(is_on_front(&pairs), expected);
        let with_zero = [(Some(0.1), Some(0.0)), (Some(1.0), Some(0.5))];
        assert_eq!(is_on_front(&with_zero), [Some(false), Some(true)]);
        assert_eq!(is_on_front(&[(Some(1.0), None), (Some(2.0), Some(0.5))]), [None, None]);
    }
}
