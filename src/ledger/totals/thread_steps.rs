//! Running totals of a thread as steps that add up: see docs/accounting.md#thread-totals.

use crate::base::rows::Rows;
use crate::model::session::{Tokens, Total};

/// A total with the index of its file.
type SourceTotal = (usize, Total);

/// Converts running totals of a thread to differences. A total contains another if none of its counts is smaller. Totals that contain
/// one another form a chain; the chains add up. The tokens of the result do not depend on the order of `totals`.
pub(super) fn thread_steps(mut totals: Vec<SourceTotal>) -> Vec<SourceTotal> {
    totals.sort_by_key(|total| (tokens(total).total(), tokens(total).kinds()));
    totals.dedup_by_key(|total| tokens(total).kinds());
    let chains = chains_of(totals);
    let mut steps: Vec<SourceTotal> = chains.into_iter().flat_map(|chain| differences(without_falls(chain))).collect();
    steps.sort_by_key(|(source, total)| (*source, total.line));
    steps
}

fn tokens((_, total): &SourceTotal) -> Tokens {
    total.models.first().map_or(Tokens::UNKNOWN, |model| model.tokens)
}

fn contains(whole: Tokens, part: Tokens) -> bool {
    let counts = |tokens: Tokens| [tokens.context(), tokens.output, tokens.cache_read].map(|count| count.unwrap_or(0));
    counts(whole).into_iter().zip(counts(part)).all(|(whole, part)| whole >= part)
}

/// Divides totals, sorted by size, into chains of which each total contains the next one. Each chain starts with a
/// total that no other one contains.
fn chains_of(totals: Vec<SourceTotal>) -> Vec<Vec<SourceTotal>> {
    let mut chains: Rows<Vec<SourceTotal>> = Rows::default();
    for total in totals.into_iter().rev() {
        let own = tokens(&total);
        let contains_own = |whole: Option<&SourceTotal>| whole.is_some_and(|whole| contains(tokens(whole), own));
        // The chain with the smallest whole whose last total contains this one.
        let chain = (0..chains.len())
            .filter(|chain| contains_own(chains[*chain].last()))
            .min_by_key(|chain| chains[*chain].first().and_then(|whole| tokens(whole).total()));
        match chain {
            Some(chain) => chains[chain].push(total),
            // Another total contains it, so its tokens are in a step of that total's chain.
            None if chains.iter().any(|chain| contains_own(chain.first())) => {}
            None => chains.push(vec![total]),
        }
    }
    chains.into_iter().collect()
}

/// The totals of a chain from the smallest to the largest, without those after which a count falls: the next total
/// includes them.
fn without_falls(chain: Vec<SourceTotal>) -> Vec<SourceTotal> {
    let mut rising: Vec<SourceTotal> = Vec::new();
    for total in chain.into_iter().rev() {
        let has_fallen = |last: &SourceTotal| {
            let differences = tokens(&total).minus(tokens(last)).kinds();
            differences.into_iter().flatten().any(|difference| difference < 0)
        };
        while rising.last().is_some_and(has_fallen) {
            rising.pop();
        }
        rising.push(total);
    }
    rising
}

/// Each total less the total before it.
fn differences(rising: Vec<SourceTotal>) -> Vec<SourceTotal> {
    let mut previous = Tokens::UNKNOWN;
    let subtract_previous = |(source, mut total): SourceTotal| {
        if let Some(model) = total.models.first_mut() {
            let whole = model.tokens;
            model.tokens = whole.minus(previous).zip(Tokens::UNKNOWN, |count, _| count.map(|count| count.max(0)));
            previous = whole;
        }
        (source, total)
    };
    rising.into_iter().map(subtract_previous).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::ModelTotal;

    /// Input and output of each step, for totals that are in this order in one file.
    fn steps(totals: &[(i64, i64)]) -> Vec<(i64, i64)> {
        let total = |(line, (input, output)): (i64, &(i64, i64))| {
            let tokens = Tokens { input: Some(*input), output: Some(*output), ..Tokens::UNKNOWN };
            let models = vec![ModelTotal { tokens, ..ModelTotal::default() }];
            (0, Total { line, models, ..Total::default() })
        };
        let forwards: Vec<_> = (1..).zip(totals).map(total).collect();
        let backwards = forwards.iter().rev().cloned().collect();
        let [steps, same_steps] = [forwards, backwards].map(|totals| -> Vec<(i64, i64)> {
            let tokens = thread_steps(totals).iter().map(tokens).collect::<Vec<_>>();
            tokens.iter().map(|tokens| (tokens.input.unwrap_or(0), tokens.output.unwrap_or(0))).collect()
        });
        assert_eq!(steps, same_steps);
        steps
    }

    #[test]
    fn running_totals_become_differences() {
        assert_eq!(steps(&[]), []);
        assert_eq!(steps(&[(10, 1)]), [(10, 1)]);
        assert_eq!(steps(&[(10, 1), (30, 3), (60, 6)]), [(10, 1), (20, 2), (30, 3)]);
        // The same total again adds nothing.
        assert_eq!(steps(&[(10, 1), (10, 1), (30, 3)]), [(10, 1), (20, 2)]);
        // Neither contains the other.
        assert_eq!(steps(&[(10, 9), (30, 3)]), [(10, 9), (30, 3)]);
    }
}
