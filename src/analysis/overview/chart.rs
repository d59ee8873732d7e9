//! The cost of each day, drawn as columns of characters.

/// The heights of a column in a line: the first one is 0.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The lines of a chart, the highest first, with a column of `columns` characters for each cost. A cost that is unknown is drawn as `?`:
/// a day with tokens of unknown cost is not a day without cost.
pub(super) fn chart(costs: &[Option<f64>], maximum: f64, lines: usize, columns: usize) -> Vec<String> {
    let line = |above: usize| -> String {
        costs
            .iter()
            .flat_map(|cost| {
                let char = match cost {
                    None if above == 0 => '?',
                    None => ' ',
                    Some(cost) => part(*cost, maximum, lines, above),
                };
                std::iter::repeat_n(char, columns)
            })
            .collect()
    };
    (0..lines).rev().map(line).collect()
}

/// The part of a column in the line that has `above` lines below it. A cost above 0 is never drawn as 0.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few characters")]
fn part(cost: f64, maximum: f64, lines: usize, above: usize) -> char {
    // The lowest line draws 0 as its first height, so that it has one step less than the others.
    let steps = 8 * lines - 1;
    let height = (cost / maximum * steps as f64).ceil().clamp(0.0, steps as f64) as usize;
    let index =
        if above == 0 { Some(height.min(7)) } else { (height + 1).checked_sub(8 * above + 1).map(|it| it.min(7)) };
    index.and_then(|index| HEIGHTS.get(index)).copied().unwrap_or(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_cost_is_not_drawn_as_zero() {
        let costs = [0.0, 0.001, 1.0, 3.5, 7.0].map(Some);
        assert_eq!(chart(&costs, 7.0, 1, 1), ["▁▂▂▅█"]);
        assert_eq!(chart(&[Some(7.0), None], 7.0, 1, 2), ["██??"]);
    }

    #[test]
    fn high_columns_have_several_lines() {
        let costs = [0.0, 0.001, 7.0, 8.0, 15.0].map(Some);
        assert_eq!(chart(&costs, 15.0, 2, 1), ["   ▁█", "▁▂███"]);
        assert_eq!(chart(&[None], 15.0, 2, 1), [" ", "?"]);
    }
}
