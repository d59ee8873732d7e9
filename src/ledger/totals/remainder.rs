//! The part of a total that its responses do not contain.

use crate::model::session::{ModelTotal, NEGLIGIBLE_USD, Tokens, Turn};

/// What a model's total contains beyond its responses.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Remainder {
    pub(super) tokens: Tokens,
    pub(super) web_searches: Option<i64>,
    pub(super) cost: Option<f64>,
    /// Whether the responses contain more tokens than the total.
    pub(super) is_negative: bool,
}

impl Remainder {
    /// `unassigned_cost` is added to the total's cost.
    pub(super) fn of<'a, T: Iterator<Item = &'a Turn>>(
        total: &ModelTotal,
        responses: impl Fn() -> T,
        unassigned_cost: Option<f64>,
    ) -> Self {
        let difference = total.tokens.minus(sum_of_tokens(responses()));
        // It counts some tokens as another kind, as Gemini's stream those of tools.
        let is_equal = difference.total() == Some(0);
        let searched: i64 = responses().filter_map(|turn| turn.web_searches.get()).sum();
        let paid: f64 = responses().filter_map(|turn| Some(turn.cost.as_deref()?.total)).sum();
        let unassigned_cost = unassigned_cost.unwrap_or(0.0);
        let cost = total.cost.or((unassigned_cost > 0.0).then_some(0.0));
        Self {
            tokens: difference.zip(difference, |count, _| count.map(|count| if is_equal { 0 } else { count.max(0) })),
            web_searches: total.web_searches.map(|count| (count - searched).max(0)),
            cost: cost
                .map(|cost| cost + unassigned_cost - paid)
                .map(|cost| if cost > NEGLIGIBLE_USD { cost } else { 0.0 }),
            is_negative: !is_equal && difference.kinds().into_iter().flatten().any(|count| count < 0),
        }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.tokens.total().unwrap_or(0) == 0 && self.web_searches.unwrap_or(0) == 0 && self.cost.unwrap_or(0.0) == 0.0
    }
}

/// The sum over responses.
pub(super) fn sum_of_tokens<'a>(turns: impl Iterator<Item = &'a Turn>) -> Tokens {
    turns.map(|turn| turn.tokens.get()).sum()
}

/// The reported cost of a response; `None` if it is 0, which is that of a subscription.
pub(super) fn cost_of(turn: &Turn) -> Option<f64> {
    turn.cost.as_deref().map(|cost| cost.total).filter(|cost| *cost > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::Cost;

    #[test]
    fn a_remainder_is_the_total_less_its_responses() {
        let tokens = |input, output| Tokens { input, output, ..Tokens::UNKNOWN };
        let turn = |input, cost: Option<f64>| Turn {
            tokens: tokens(Some(input), Some(1)).into(),
            cost: cost.map(Cost::of),
            ..Turn::default()
        };
        let total = |input, cost| ModelTotal { tokens: tokens(Some(input), Some(2)), cost, ..ModelTotal::default() };
        let remainder = |input, output, cost, is_negative| Remainder {
            tokens: tokens(Some(input), Some(output)),
            web_searches: None,
            cost,
            is_negative,
        };
        let turns = [turn(10, Some(0.5)), turn(20, None)];
        let tools = ModelTotal { tokens: tokens(Some(29), Some(3)), ..ModelTotal::default() };
        let cases = [
            (total(50, Some(2.0)), &turns[..], None, remainder(20, 0, Some(1.5), false)),
            (total(30, Some(0.25)), &turns[..], None, remainder(0, 0, Some(0.0), false)),
            (total(29, None), &turns[..], None, remainder(0, 0, None, true)),
            (tools, &turns[..], None, remainder(0, 0, None, false)),
            (total(50, None), &turns[..1], Some(1.0), remainder(40, 1, Some(0.5), false)),
            (total(50, Some(2.0)), &[], Some(1.0), remainder(50, 2, Some(3.0), false)),
        ];
        for (total, turns, unassigned_cost, expected) in cases {
            assert_eq!(Remainder::of(&total, || turns.iter(), unassigned_cost), expected);
        }
        assert!(remainder(0, 0, Some(0.0), false).is_zero() && !remainder(0, 1, None, false).is_zero());
    }
}
