//! Runs that a log contains, to find other logs of the same runs.

use serde::{Deserialize, Serialize};

use crate::model::cost::NEGLIGIBLE_USD;
use crate::model::tokens::Tokens;

/// One run of an agent, as its own log and a log of several runs both contain it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Attempt {
    /// For each step a hash of all steps up to it.
    pub steps: Vec<u64>,
    /// The tokens that it states.
    pub tokens: Tokens,
    /// The cost that it states, in US dollars.
    pub cost: Option<f64>,
}

impl Attempt {
    /// Whether it is another one, or a beginning of it: no step differs, and it states no more tokens and cost.
    pub fn is_contained_in(&self, other: &Self) -> bool {
        let is_beginning = match self.steps.last() {
            Some(last) => other.steps.get(self.steps.len() - 1) == Some(last),
            None => true,
        };
        is_beginning
            && (other.tokens.total().is_none() || self.tokens.fits(other.tokens))
            && self.cost.zip(other.cost).is_none_or(|(cost, of_other)| cost <= of_other + NEGLIGIBLE_USD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_with_smaller_counts_is_contained() {
        let attempt = |steps: &[u64], input: i64, cost: f64| Attempt {
            steps: steps.to_vec(),
            tokens: Tokens { input: Some(input), ..Tokens::UNKNOWN },
            cost: Some(cost),
        };
        let whole = attempt(&[1, 2, 3], 30, 0.3);
        for (name, other, expected) in [
            ("equal", whole.clone(), true),
            ("cut", attempt(&[1, 2], 20, 0.2), true),
            ("without a step", attempt(&[], 0, 0.0), true),
            ("longer", attempt(&[1, 2, 3, 4], 30, 0.3), false),
            ("another step", attempt(&[1, 9], 20, 0.2), false),
            ("more tokens", attempt(&[1, 2, 3], 31, 0.3), false),
            ("more cost", attempt(&[1, 2, 3], 30, 0.4), false),
        ] {
            assert_eq!(other.is_contained_in(&whole), expected, "{name}");
        }
        let unknown = Attempt { steps: whole.steps.clone(), ..Attempt::default() };
        assert!(whole.is_contained_in(&unknown) && unknown.is_contained_in(&whole));
    }
}
