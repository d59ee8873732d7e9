//! What totals contain beyond the responses: rows of grain `session`, so that the ledger sums to the totals.

use super::matching::{Match, Response, TotalNames, match_responses};
use super::model_name::canonical;
use super::stated::{ModelSum, StatedTotals};
use crate::model::session::{Cost, ModelTotal, NEGLIGIBLE_USD, SessionResult, Tokens, Turn};
use crate::model::tables::{Grain, TurnRow};

impl StatedTotals {
    /// Whether there is a total of tokens that covers all agents, and no response after the last one.
    pub(in crate::ledger) fn cover_all(&self, session: &SessionResult, turns: &[TurnRow]) -> bool {
        !self.is_sum_of_counts
            && self.models.values().any(|sum| sum.total.tokens.total().is_some())
            && (self.covers_subagents || session.subagents.is_empty())
            && turns.iter().all(|row| row.grain == Grain::Session || self.last.cover(row))
    }

    /// Adds a row for what each total contains beyond the responses in `rows`. Returns whether the responses contain
    /// more than a total, or a response has to be in a total but none names its model.
    pub(in crate::ledger) fn add_remainders(
        &self,
        rows: &mut Vec<TurnRow>,
        session_index: usize,
        session: &SessionResult,
    ) -> bool {
        let responses = rows.len();
        let matches = self.match_rows(rows);
        let mut is_conflict = matches.contains(&Match::Conflict);
        // A cost of no model is added to the largest one.
        let largest = self.models.iter().max_by_key(|(_, sum)| sum.total.tokens.total()).map(|(model, _)| model);
        for (total, (model, sum)) in self.models.iter().enumerate() {
            let unassigned_cost = self.unassigned_cost.filter(|_| Some(model) == largest);
            let is_of_total = |(_, found): &(_, &Match)| found.total() == Some(total);
            let matched = || rows.iter().zip(&matches).filter(is_of_total).map(|(row, _)| &*row.turn);
            let remainder = Remainder::of(&sum.total, matched, unassigned_cost);
            is_conflict |= remainder.is_negative;
            if remainder.is_zero() && responses > 0 {
                continue;
            }
            if sum.by_provider.len() > 1 && matched().next().is_none() {
                // With responses, the provider of the rest is unknown.
                let parts = sum.turns_by_provider(unassigned_cost, session);
                rows.extend(parts.map(|turn| TurnRow::new(session_index, sum.source, Grain::Session, Box::new(turn))));
                continue;
            }
            let turn = remainder.into_turn(&sum.total, sum, session);
            let remainder_index = rows.len();
            for (row, found) in rows.iter_mut().zip(&matches) {
                if found.total() == Some(total) {
                    row.covered_by = Some(remainder_index);
                }
            }
            rows.push(TurnRow::new(session_index, sum.source, Grain::Session, Box::new(turn)));
        }
        self.add_steps(rows, responses, session_index, session);
        self.add_migrated(rows, session_index, session);
        is_conflict
    }

    fn match_rows(&self, rows: &[TurnRow]) -> Vec<Match> {
        if self.models.is_empty() {
            return Vec::new();
        }
        let response = |row: &TurnRow| Response {
            source: row.source,
            model: row.turn.model.as_deref().map(canonical),
            has_tokens: row.turn.tokens.get().total().unwrap_or(0) > 0,
            is_of_covered_agent: self.covers_subagents || !row.turn.is_subagent,
            is_before_last_total: self.last.cover(row),
        };
        let responses: Vec<Response> = rows.iter().map(response).collect();
        let names = TotalNames { all: self.models.keys().collect(), in_files: &self.names_in_files };
        match_responses(&names, &responses)
    }

    /// Adds a row for each model of a sum over a log that is absent.
    fn add_migrated(&self, rows: &mut Vec<TurnRow>, session_index: usize, session: &SessionResult) {
        for (source, total) in &self.migrated {
            rows.extend(total.models.iter().map(|model| {
                let turn = Turn {
                    line: total.line,
                    model: model.model.clone().or_else(|| session.model.clone()),
                    occurred_at: total.occurred_at.or(session.ended_at),
                    tokens: model.tokens.into(),
                    cost: model.cost.map(Cost::of),
                    ..Turn::default()
                };
                TurnRow::new(session_index, *source, Grain::Session, Box::new(turn))
            }));
        }
    }

    /// Adds a row for what each total of a thread or a run contains beyond the first `responses` rows: the log that the
    /// runtime keeps shows the responses of the thread.
    fn add_steps(&self, rows: &mut Vec<TurnRow>, responses: usize, session_index: usize, session: &SessionResult) {
        let mut spent = sum_of_tokens(rows.iter().take(responses).map(|row| &*row.turn));
        for (source, step) in &self.steps {
            for model in &step.models {
                let known = model.tokens.zip(spent, |total, spent| Some(total?.min(spent?)));
                spent = spent.minus(known);
                let tokens = model.tokens.minus(known);
                if known.total().unwrap_or(0) > 0 && tokens.total() == Some(0) {
                    continue;
                }
                // It is that of all tokens.
                let cost = model.cost.filter(|_| known.total().unwrap_or(0) == 0);
                let turn = Turn {
                    line: step.line,
                    model: model.model.clone().or_else(|| session.model.clone()),
                    occurred_at: step.occurred_at.or(session.ended_at),
                    tokens: tokens.into(),
                    cost: cost.map(Cost::of),
                    ..Turn::default()
                };
                rows.push(TurnRow::new(session_index, *source, Grain::Session, Box::new(turn)));
            }
        }
    }
}

fn sum_of_tokens<'a>(turns: impl Iterator<Item = &'a Turn>) -> Tokens {
    turns.fold(Tokens::UNKNOWN, |sum, turn| sum.plus(turn.tokens.get()))
}

impl ModelSum {
    /// A turn for each provider. `unassigned_cost` is added to that of the first.
    fn turns_by_provider(&self, unassigned_cost: Option<f64>, session: &SessionResult) -> impl Iterator<Item = Turn> {
        self.by_provider.values().enumerate().map(move |(index, part)| {
            let cost = unassigned_cost.filter(|_| index == 0);
            Remainder::of(part, || [].iter(), cost).into_turn(part, self, session)
        })
    }
}

/// What a model's total contains beyond its responses.
#[derive(Debug, PartialEq)]
struct Remainder {
    tokens: Tokens,
    web_searches: Option<i64>,
    cost: Option<f64>,
    /// Whether the responses contain more tokens than the total.
    is_negative: bool,
}

impl Remainder {
    /// `unassigned_cost` is added to the total's cost.
    fn of<'a, T: Iterator<Item = &'a Turn>>(
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

    fn is_zero(&self) -> bool {
        self.tokens.total().unwrap_or(0) == 0 && self.web_searches.unwrap_or(0) == 0 && self.cost.unwrap_or(0.0) == 0.0
    }

    /// `total` is that of the model, or of the model and a provider.
    fn into_turn(self, total: &ModelTotal, sum: &ModelSum, session: &SessionResult) -> Turn {
        Turn {
            line: sum.line,
            model: total.model.clone().or_else(|| session.model.clone()),
            provider: total.provider.clone(),
            effort: total.effort.clone(),
            occurred_at: sum.occurred_at.or(session.ended_at),
            context_window: total.context_window.into(),
            tokens: self.tokens.into(),
            web_searches: self.web_searches.into(),
            cost: self.cost.map(Cost::of),
            ..Turn::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
