//! What totals contain beyond the responses: rows of grain `session`, so that the ledger sums to the totals.

use std::collections::BTreeMap;

use super::agents::divide;
use super::matching::{Match, Response, TotalNames, match_responses};
use super::model_name::canonical;
use super::model_sum::{PlacedTotal, turns};
use super::remainder::{Remainder, cost_of};
use super::stated::StatedTotals;
use crate::model::session::{Cost, NEGLIGIBLE_USD, SessionResult, Tokens, Turn};
use crate::model::tables::{Grain, TurnRow};

impl StatedTotals {
    /// Whether there is a total of tokens that covers all agents, and no response after the last one. A total of 0, or without input or
    /// output, covers nothing.
    pub(in crate::ledger) fn cover_all(&self, session: &SessionResult, turns: &[TurnRow]) -> bool {
        let is_whole = |tokens: Tokens| tokens.input.is_some() && tokens.output.is_some() && tokens.total() > Some(0);
        !self.is_sum_of_counts
            && !self.is_minimum
            && self.models.values().any(|sum| is_whole(sum.all.total.tokens))
            && (self.covers_subagents || session.subagents.is_empty())
            && turns.iter().all(|row| row.grain == Grain::Session || self.places.cover(row))
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
        for (total, sum) in self.models.values().enumerate() {
            let is_of_total = |(_, found): &(_, &Match)| found.total() == Some(total);
            let matched = (0..).zip(&matches).filter(is_of_total).map(|(index, _)| index).collect();
            for (part, own) in sum.divide(rows, matched, &self.places) {
                is_conflict |= add_remainder(&part, &own, rows, session_index, session);
            }
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
            is_before_last_total: self.places.cover(row),
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
        let own = || rows.iter().take(responses).map(|row| &*row.turn);
        let mut spent = Spent::of(rows.get(..responses).unwrap_or_default());
        let mut paid: f64 = own().filter_map(cost_of).sum();
        // A response without a cost may be a part of the run.
        let have_costs = own().all(|turn| cost_of(turn).is_some());
        for (source, step) in &self.steps {
            for model in &step.models {
                // A run with a place in a trace contains no response of its own log.
                let known = spent.take(model.tokens, step.place.is_some().then_some(*source));
                let tokens = model.tokens.minus(known);
                let cost = model.cost.filter(|_| have_costs).map(|cost| {
                    let known = cost.min(paid);
                    paid -= known;
                    cost - known
                });
                let is_paid = cost.is_none_or(|cost| cost <= NEGLIGIBLE_USD);
                let is_counted = known.total().unwrap_or(0) > 0 && tokens.total() == Some(0);
                let is_only_cost = model.cost.is_some() && tokens.total().is_none();
                if is_paid && (is_counted || is_only_cost) {
                    continue;
                }
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

/// The tokens of responses that no total of a thread or a run has yet, by the index of their file.
struct Spent(BTreeMap<usize, Tokens>);

impl Spent {
    fn of(rows: &[TurnRow]) -> Self {
        let mut spent: BTreeMap<usize, Tokens> = BTreeMap::new();
        for row in rows {
            let sum = spent.entry(row.source).or_insert(Tokens::UNKNOWN);
            *sum = sum.plus(row.turn.tokens.get());
        }
        Self(spent)
    }

    /// Takes what a total can contain. Responses of the file `except` are not a part of it.
    fn take(&mut self, total: Tokens, except: Option<usize>) -> Tokens {
        let mut taken = Tokens::UNKNOWN;
        for (_, left) in self.0.iter_mut().filter(|(source, _)| Some(**source) != except) {
            let known = total.minus(taken).zip(*left, |total, left| Some(total?.min(left?)));
            *left = left.minus(known);
            taken = taken.plus(known);
        }
        taken
    }
}

/// Adds rows for what a total contains beyond the responses with the indexes `own`. Returns whether these contain more than the total.
fn add_remainder(
    placed: &PlacedTotal,
    own: &[usize],
    rows: &mut Vec<TurnRow>,
    session_index: usize,
    session: &SessionResult,
) -> bool {
    let responses = || turns(rows, own);
    let remainder = placed.remainder(responses);
    let is_negative = remainder.is_negative;
    if remainder.is_zero() && rows.iter().any(|row| row.grain == Grain::Turn) {
        return is_negative;
    }
    let row = |turn: Turn| TurnRow::new(session_index, placed.source, Grain::Session, Box::new(turn));
    if placed.by_provider.len() > 1 && own.is_empty() {
        // With responses, the provider of the rest is unknown.
        rows.extend(placed.turns_by_provider(session).map(row));
        return is_negative;
    }
    let (agents, rest) = divide(remainder, &placed.total, &responses);
    let has_rest = agents.is_empty() || !rest.is_zero();
    let rest = placed.turn(&rest, &placed.total, session);
    let of_agents = agents.into_iter().map(|(agent, own)| Turn {
        is_subagent: true,
        agent: agent.name.clone(),
        agent_id: Some(agent.id.clone()),
        ..placed.turn(&own, &placed.total, session)
    });
    // The rest covers all responses, except those of subagents that have a row of their own.
    let parts: Vec<Turn> = has_rest.then_some(rest).into_iter().chain(of_agents).collect();
    for turn in parts {
        let total = rows.len();
        for index in own {
            let covered = rows.get_mut(*index).filter(|row| !turn.is_subagent || row.turn.agent_id == turn.agent_id);
            if let Some(covered) = covered {
                covered.covered_by = Some(total);
            }
        }
        rows.push(row(turn));
    }
    is_negative
}

impl PlacedTotal {
    /// A turn for each provider. The cost beyond that of the models is added to that of the first.
    fn turns_by_provider(&self, session: &SessionResult) -> impl Iterator<Item = Turn> {
        self.by_provider.values().enumerate().map(move |(index, part)| {
            let cost = self.unassigned_cost.filter(|_| index == 0);
            self.turn(&Remainder::of(part, || [].iter(), cost), part, session)
        })
    }
}
