//! The cost of each row of the ledger: as the log reports it, or computed from tokens and prices. See
//! docs/accounting.md#cost and docs/prices.md.
//!
//! This is a separate pass after the reconciliation. It changes only what depends on the catalog: the [`Money`] and the
//! canonical models of rows, and the sums of trees. So a new catalog does not require logs to be read again.

use std::collections::BTreeMap;

use super::trees;
use crate::adapters;
use crate::base::time::Time;
use crate::model::session::{CostParts, Tokens, Turn, add};
use crate::model::tables::{CostSource, Grain, Money, SessionRow, Tables, TurnRow};
use crate::prices::{Catalog, Pricer, Request};

/// Sets the cost and the canonical model of every row of `turns` and `sessions`.
pub fn price(tables: &mut Tables, catalog: &Catalog) {
    tables.priced_with = Some(catalog.date);
    let mut pricer = Pricer::new(catalog);
    let mut remaining = &mut tables.turns[..];
    let mut first = 0;
    for (index, session) in tables.sessions.iter_mut().enumerate() {
        let count = remaining.iter().take_while(|row| row.session == index).count();
        let (rows, others) = remaining.split_at_mut(count);
        remaining = others;
        let mut covered: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, row) in rows.iter().enumerate() {
            if let Some(total) = row.covered_by.and_then(|total| total.checked_sub(first)) {
                covered.entry(total).or_default().push(index);
            }
        }
        for row in rows.iter_mut() {
            row.canonical_model = row.turn.model.as_ref().map(|model| pricer.canonical(model));
        }
        session.canonical_model = session.model.as_ref().map(|model| pricer.canonical(model));
        // Rows whose reported costs are known to be wrong.
        let maker = adapters::maker_with_known_prices(&session.session.runtime);
        let mut is_of_other_maker = |row: &TurnRow| {
            maker.is_some_and(|maker| {
                let known = row.turn.model.as_deref().and_then(|model| pricer.maker(model));
                known.is_some_and(|known| known != maker)
            })
        };
        let mispriced = rows.iter().map(&mut is_of_other_maker).collect();
        SessionCosts { rows, covered, mispriced, start: session.session.started_at }.compute(&mut pricer);
        add_up(session, rows);
        first += count;
    }
    trees::add_up(&mut tables.sessions);
}

/// The request that the price of a row is computed for. A row without a time has the time of `start`.
pub fn request(row: &TurnRow, start: Option<Time>) -> Request<'_> {
    let turn = &row.turn;
    Request {
        provider: turn.provider.as_deref(),
        model: turn.model.as_deref(),
        at: turn.occurred_at.or(start),
        tokens: turn.tokens.get(),
        web_searches: turn.web_searches.get(),
        service_tier: turn.service_tier.as_deref(),
        speed: turn.speed.as_deref(),
        inference_geo: turn.inference_geo.as_deref(),
        is_sum: row.grain == Grain::Session,
    }
}

/// The rows of one session.
struct SessionCosts<'a> {
    rows: &'a mut [TurnRow],
    /// The rows of totals, each with the rows that the total covers.
    covered: BTreeMap<usize, Vec<usize>>,
    /// For each row, whether its runtime does not know the price of its model: see [`adapters::maker_with_known_prices`].
    mispriced: Vec<bool>,
    /// When the session began.
    start: Option<Time>,
}

impl SessionCosts<'_> {
    fn compute(&mut self, pricer: &mut Pricer<'_>) {
        let mut price = |row: &TurnRow| Some(pricer.price(&request(row, self.start)).ok()?.parts);
        let mut computed: Vec<Option<CostParts>> = self.rows.iter().map(&mut price).collect();
        // The row of a total comes after the rows that it covers, so their costs are known here.
        let totals: Vec<usize> = self.covered.keys().copied().collect();
        for total in &totals {
            let remainder = self.remainder(*total, &computed, pricer);
            if let Some(parts) = computed.get_mut(*total) {
                *parts = remainder;
            }
        }
        for ((row, parts), mispriced) in self.rows.iter_mut().zip(&computed).zip(&self.mispriced) {
            row.money = if *mispriced {
                computed_cost(row.turn.cost.as_deref().map(|cost| cost.total), *parts)
            } else {
                cost_of_row(&row.turn, *parts)
            };
        }
        for total in totals {
            self.share(total, &computed);
            if computed.get(total).is_some_and(Option::is_some) {
                self.cover(total);
            }
        }
    }

    /// The computed cost of a total contains the tokens of the rows that it covers, also of those without a cost of their own, as their
    /// input is unknown: these are not without a price.
    fn cover(&mut self, total: usize) {
        for index in self.covered.get(&total).into_iter().flatten() {
            if let Some(row) = self.rows.get_mut(*index) {
                row.money.source = row.money.source.or(Some(CostSource::Computed));
            }
        }
    }

    /// The rows that a total covers, with their indexes.
    fn covered_by(&self, total: usize) -> impl Iterator<Item = (usize, &TurnRow)> {
        let indexes = self.covered.get(&total).into_iter().flatten();
        indexes.filter_map(|index| Some((*index, self.rows.get(*index)?)))
    }

    /// The tokens of a total's row and of the rows that it covers.
    fn whole_tokens(&self, total: usize) -> Tokens {
        let own = self.rows.get(total).map_or(Tokens::UNKNOWN, |row| row.turn.tokens.get());
        self.covered_by(total).fold(own, |sum, (_, row)| sum.plus(row.turn.tokens.get()))
    }

    /// The computed cost of a total's row: the price of the model's whole usage less that of the covered rows.
    fn remainder(&self, total: usize, computed: &[Option<CostParts>], pricer: &mut Pricer<'_>) -> Option<CostParts> {
        let row = self.rows.get(total)?;
        let own = request(row, self.start);
        let turns = || self.covered_by(total).map(|(_, row)| &row.turn);
        let searches = turns().fold(row.turn.web_searches.get(), |sum, turn| add(sum, turn.web_searches.get()));
        let whole = Request {
            provider: own.provider.or_else(|| turns().find_map(|turn| turn.provider.as_deref())),
            tokens: self.whole_tokens(total),
            web_searches: searches,
            service_tier: own.service_tier.or_else(|| common(turns().map(|turn| turn.service_tier.as_deref()))),
            speed: own.speed.or_else(|| common(turns().map(|turn| turn.speed.as_deref()))),
            inference_geo: own.inference_geo.or_else(|| common(turns().map(|turn| turn.inference_geo.as_deref()))),
            ..own
        };
        let whole = pricer.price(&whole).ok()?.parts;
        let spent = self.covered_by(total).filter_map(|(index, _)| *computed.get(index)?);
        let spent = spent.fold(CostParts::default(), |sum, parts| sum.zip(parts, |a, b| a + b));
        // The covered rows may cost more than the whole, because of a tier: then the remainder is 0, and so are its
        // parts.
        let remainder = (whole.total() - spent.total()).max(0.0);
        whole.zip(spent, |whole, spent| (whole - spent).max(0.0)).scaled_to(remainder)
    }

    /// Divides the reported cost of a total between its own row and the rows that it covers, in proportion to their
    /// computed costs. If no row has a price, the whole cost is in the total's row.
    fn share(&mut self, total: usize, computed: &[Option<CostParts>]) {
        let Some(cost) = self.rows.get(total).and_then(|row| row.turn.cost.as_deref()).map(|cost| cost.total) else {
            return;
        };
        if self.mispriced.get(total).copied().unwrap_or_default() {
            return;
        }
        let whole = self.whole_tokens(total);
        if cost <= 0.0 {
            // A 0 with tokens, or with unknown ones, is not a price, even if this row has no tokens of its own.
            if let (Some(row), true) = (self.rows.get_mut(total), whole.total() != Some(0)) {
                row.money = computed_cost(row.money.reported, computed.get(total).copied().flatten());
            }
            return;
        }
        let has_no_cost = |row: &TurnRow| row.turn.cost.as_deref().is_none_or(|cost| cost.total <= 0.0);
        let is_priced = |index: usize| !self.mispriced.get(index).copied().unwrap_or_default();
        let covered = self.covered_by(total).filter(|(index, row)| has_no_cost(row) && is_priced(*index));
        let covered = covered.map(|(index, _)| index);
        let indexes: Vec<usize> = covered.chain([total]).collect();
        let parts_of = |index: usize| computed.get(index).copied().flatten();
        let sum: f64 = indexes.iter().filter_map(|index| parts_of(*index)).map(CostParts::total).sum();
        for index in indexes {
            let Some(row) = self.rows.get_mut(index) else { continue };
            let share = match parts_of(index) {
                Some(own) if sum > 0.0 => Some(cost * own.total() / sum),
                _ if sum > 0.0 => None,
                _ => (index == total).then_some(cost),
            };
            row.money.cost = share;
            row.money.source = Some(CostSource::Reported);
            row.money.parts = share.and_then(|share| parts_of(index)?.scaled_to(share));
        }
    }
}

/// The cost of a row without its share of a total: as reported, unless that is a 0 with tokens, or with unknown ones (a
/// subscription, a proxy); else as computed.
fn cost_of_row(turn: &Turn, parts: Option<CostParts>) -> Money {
    let has_no_tokens = turn.tokens.get().total() == Some(0);
    match turn.cost.as_deref() {
        Some(cost) if cost.total > 0.0 || has_no_tokens => Money {
            cost: Some(cost.total),
            source: Some(CostSource::Reported),
            reported: Some(cost.total),
            computed: parts.map(CostParts::total),
            parts: cost.parts.or(parts).and_then(|parts| parts.scaled_to(cost.total)),
        },
        cost => computed_cost(cost.map(|cost| cost.total), parts),
    }
}

fn computed_cost(reported: Option<f64>, parts: Option<CostParts>) -> Money {
    let cost = parts.map(CostParts::total);
    Money { cost, source: cost.map(|_| CostSource::Computed), reported, computed: cost, parts }
}

/// The value that all have in common.
fn common<'a>(mut values: impl Iterator<Item = Option<&'a str>>) -> Option<&'a str> {
    let first = values.next()??;
    values.all(|value| value == Some(first)).then_some(first)
}

/// Sets the cost of a session to the sum of its rows.
fn add_up(session: &mut SessionRow, rows: &[TurnRow]) {
    let sum = |amount: fn(&Money) -> Option<f64>| rows.iter().filter_map(|row| amount(&row.money)).reduce(|a, b| a + b);
    let sources = rows.iter().filter_map(|row| row.money.source);
    // The parts of the session are known only if those of every row with a cost are.
    let with_cost = rows.iter().filter(|row| row.money.cost.is_some());
    let parts = with_cost.map(|row| row.money.parts).collect::<Option<Vec<_>>>().filter(|parts| !parts.is_empty());
    let add_parts = |sum: CostParts, parts: CostParts| sum.zip(parts, |a, b| a + b);
    session.money = Money {
        cost: sum(|money| money.cost),
        source: sources.reduce(|a, b| if a == b { a } else { CostSource::Mixed }),
        reported: sum(|money| money.reported),
        computed: sum(|money| money.computed),
        parts: parts.map(|parts| parts.into_iter().fold(CostParts::default(), add_parts)),
    };
    let unpriced = rows.iter().filter(|row| row.money.source.is_none());
    session.unpriced_tokens = unpriced.filter_map(|row| row.turn.tokens.get().total()).sum();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::Cost;

    fn row(input: i64, cost: Option<f64>, covered_by: Option<usize>, grain: Grain) -> TurnRow {
        let tokens = Tokens { input: Some(input), output: Some(0), ..Tokens::UNKNOWN };
        let turn = Turn {
            tokens: tokens.into(),
            model: Some("claude-sonnet-4-5".into()),
            cost: cost.map(Cost::of),
            ..Turn::default()
        };
        TurnRow { covered_by, ..TurnRow::new(0, 0, grain, Box::new(turn)) }
    }

    /// The costs of rows in cents.
    fn costs(turns: Vec<TurnRow>) -> Vec<Option<f64>> {
        let mut tables = Tables { sessions: vec![SessionRow::default()], turns, ..Tables::default() };
        price(&mut tables, Catalog::built_in());
        tables.turns.iter().map(|row| row.money.cost.map(|cost| (cost * 1e4).round() / 100.0)).collect()
    }

    /// A runtime that prices the models of other makers as its own: their costs are computed, also as parts of a total.
    #[test]
    fn a_runtime_knows_the_prices_of_its_own_maker_only() {
        let costs = |runtime: &'static str, model: &str| {
            let of_model = |input, cost, covered_by, grain| {
                let mut row = row(input, cost, covered_by, grain);
                row.turn.model = Some(model.into());
                row
            };
            let turns = vec![
                of_model(10_000, Some(0.05), None, Grain::Turn),
                of_model(10_000, None, Some(2), Grain::Turn),
                of_model(10_000, Some(0.24), None, Grain::Session),
            ];
            let mut session = SessionRow::default();
            session.session.runtime = runtime.into();
            let mut tables = Tables { sessions: vec![session], turns, ..Tables::default() };
            price(&mut tables, Catalog::built_in());
            tables.turns.iter().map(|row| (row.money.cost, row.money.source, row.money.reported)).collect::<Vec<_>>()
        };
        let reported = Some(CostSource::Reported);
        for (runtime, model) in [("claude", "claude-sonnet-4-5"), ("claude", "a-model-of-nobody"), ("pi", "gpt-5.1")] {
            let costs = costs(runtime, model);
            assert_eq!((costs[0].0, costs[0].1), (Some(0.05), reported), "{runtime} {model}");
        }
        // 1.25 dollars per million.
        let computed = Some(CostSource::Computed);
        let close = |cost: Option<f64>| cost.is_some_and(|cost| (cost - 0.0125).abs() < 1e-9);
        let costs = costs("claude", "gpt-5.1");
        assert!(costs.iter().all(|(cost, source, _)| close(*cost) && *source == computed), "{costs:?}");
        assert_eq!((costs[0].2, costs[2].2), (Some(0.05), Some(0.24)));
    }

    /// A million input tokens of the model cost 3 dollars.
    #[test]
    fn a_cost_is_reported_computed_or_a_share_of_a_total() {
        let turn = |input, cost| row(input, cost, None, Grain::Turn);
        let covered = |input, cost| row(input, cost, Some(2), Grain::Turn);
        let total = |input, cost| row(input, cost, None, Grain::Session);
        assert_eq!(costs(vec![turn(10_000, None)]), [Some(3.0)]);
        assert_eq!(costs(vec![turn(10_000, Some(0.05))]), [Some(5.0)]);
        assert_eq!(costs(vec![turn(10_000, Some(0.0))]), [Some(3.0)]);
        assert_eq!(costs(vec![turn(0, Some(0.0))]), [Some(0.0)]);
        let rows = |cost| vec![covered(10_000, None), covered(20_000, None), total(10_000, cost)];
        assert_eq!(costs(rows(None)), [Some(3.0), Some(6.0), Some(3.0)]);
        assert_eq!(costs(rows(Some(0.24))), [Some(6.0), Some(12.0), Some(6.0)]);
        assert_eq!(costs(rows(Some(0.0))), [Some(3.0), Some(6.0), Some(3.0)]);
        // A 0 is not a cost of unknown tokens.
        let unknown = || {
            let mut row = row(0, Some(0.0), None, Grain::Turn);
            row.turn.tokens = Tokens::UNKNOWN.into();
            row
        };
        assert_eq!(costs(vec![unknown()]), [None]);
        // The cost of a total contains the output of a row whose input is unknown.
        let of_output = || {
            let mut row = covered(0, None);
            row.turn.tokens = Tokens { output: Some(1000), ..Tokens::UNKNOWN }.into();
            row
        };
        let rows = || vec![of_output(), covered(20_000, None), total(10_000, None)];
        assert_eq!(costs(rows()), [None, Some(6.0), Some(4.5)]);
        let mut tables = Tables { sessions: vec![SessionRow::default()], turns: rows(), ..Tables::default() };
        price(&mut tables, Catalog::built_in());
        assert_eq!(tables.turns[0].money.source, Some(CostSource::Computed));
        assert_eq!(tables.sessions[0].unpriced_tokens, 0);
        // A row with its own cost keeps it; the total's row contains the remaining cost of the total.
        let rows = vec![covered(10_000, Some(0.05)), covered(20_000, None), total(10_000, Some(0.18))];
        assert_eq!(costs(rows), [Some(5.0), Some(12.0), Some(6.0)]);
    }
}
