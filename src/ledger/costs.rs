//! Money for the ledger's rows: what logs report, what tokens are worth, and which of them stands. See the contract's
//! "Cost" and docs/prices.md.
//!
//! A pass of its own behind the ledger: it reads rows and changes nothing of them but [`Money`], so that new prices need
//! no log to be read again.

use std::collections::BTreeMap;

use crate::base::time::Time;
use crate::model::session::{CostParts, Tokens, Turn, add};
use crate::model::tables::{CostSource, Grain, Money, SessionRow, Tables, TurnRow};
use crate::prices::{Catalog, Pricer, Request};

/// Fills in what every row of `turns` and `sessions` cost.
pub fn price(tables: &mut Tables, catalog: &Catalog) {
    tables.priced_with = Some(catalog.date);
    let mut pricer = Pricer::new(catalog);
    let mut rows = &mut tables.turns[..];
    let mut first = 0;
    for (index, session) in tables.sessions.iter_mut().enumerate() {
        let count = rows.iter().take_while(|it| it.session == index).count();
        let (own, others) = rows.split_at_mut(count);
        rows = others;
        let mut covered: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (place, row) in own.iter().enumerate() {
            if let Some(holder) = row.covered_by.and_then(|it| it.checked_sub(first)) {
                covered.entry(holder).or_default().push(place);
            }
        }
        Costs { rows: own, covered, start: session.session.started_at }.settle(&mut pricer);
        sum(session, own);
        first += count;
    }
}

/// What a row is priced by: its own time and model, as far as it has them.
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
struct Costs<'a> {
    rows: &'a mut [TurnRow],
    /// The rows that hold a total, with the rows that it covers.
    covered: BTreeMap<usize, Vec<usize>>,
    /// When the session began.
    start: Option<Time>,
}

impl Costs<'_> {
    fn settle(&mut self, pricer: &mut Pricer<'_>) {
        let mut parts: Vec<Option<CostParts>> =
            self.rows.iter().map(|it| Some(pricer.price(&request(it, self.start)).ok()?.parts)).collect();
        // Rows that hold a total come behind the rows that it covers.
        let holders: Vec<usize> = self.covered.keys().copied().collect();
        for holder in &holders {
            let rest = self.rest(*holder, &parts, pricer);
            if let Some(place) = parts.get_mut(*holder) {
                *place = rest;
            }
        }
        for (row, parts) in self.rows.iter_mut().zip(&parts) {
            row.money = own(&row.turn, row.turn.tokens.get(), *parts);
        }
        for holder in holders {
            self.share(holder, &parts);
        }
    }

    /// The rows that the total of a row covers.
    fn covered_by(&self, holder: usize) -> impl Iterator<Item = (usize, &TurnRow)> {
        let places = self.covered.get(&holder).into_iter().flatten();
        places.filter_map(|it| Some((*it, self.rows.get(*it)?)))
    }

    fn whole(&self, holder: usize) -> Tokens {
        let own = self.rows.get(holder).map_or(Tokens::UNKNOWN, |it| it.turn.tokens.get());
        self.covered_by(holder).fold(own, |sum, (_, it)| sum.plus(it.turn.tokens.get()))
    }

    /// What a total's row is worth: its model's whole less the turns.
    fn rest(&self, holder: usize, parts: &[Option<CostParts>], pricer: &mut Pricer<'_>) -> Option<CostParts> {
        let row = self.rows.get(holder)?;
        let own = request(row, self.start);
        let turns = || self.covered_by(holder).map(|(_, it)| &it.turn);
        let searches = turns().fold(row.turn.web_searches.get(), |sum, it| add(sum, it.web_searches.get()));
        let whole = Request {
            provider: own.provider.or_else(|| turns().find_map(|it| it.provider.as_deref())),
            tokens: self.whole(holder),
            web_searches: searches,
            service_tier: own.service_tier.or_else(|| common(turns().map(|it| it.service_tier.as_deref()))),
            speed: own.speed.or_else(|| common(turns().map(|it| it.speed.as_deref()))),
            inference_geo: own.inference_geo.or_else(|| common(turns().map(|it| it.inference_geo.as_deref()))),
            ..own
        };
        let whole = pricer.price(&whole).ok()?.parts;
        let spent = self.covered_by(holder).filter_map(|(index, _)| *parts.get(index)?);
        let spent = spent.fold(CostParts::default(), |sum, it| sum.zip(it, |a, b| a + b));
        // The turns may have cost more, by a tier: then nothing is left, and no part is negative.
        let left = (whole.total() - spent.total()).max(0.0);
        whole.zip(spent, |whole, spent| (whole - spent).max(0.0)).scaled_to(left)
    }

    /// A reported total is shared over the rows that it covers and its own, in proportion to what they are worth; without
    /// a price it stands on its own row.
    fn share(&mut self, holder: usize, parts: &[Option<CostParts>]) {
        let Some(total) = self.rows.get(holder).and_then(|it| it.turn.cost.as_deref()).map(|it| it.total) else {
            return;
        };
        let whole = self.whole(holder);
        if total <= 0.0 {
            // A 0 beside the tokens of the whole model is no price, though none may be left for this row.
            if let (Some(row), true) = (self.rows.get_mut(holder), whole.total().unwrap_or(0) > 0) {
                row.money = computed(row.money.reported, parts.get(holder).copied().flatten());
            }
            return;
        }
        let is_free = |it: &TurnRow| it.turn.cost.as_deref().is_none_or(|it| it.total <= 0.0);
        let covered = self.covered_by(holder).filter(|(_, it)| is_free(it)).map(|(index, _)| index);
        let rows: Vec<usize> = covered.chain([holder]).collect();
        let worth = |index: usize| parts.get(index).copied().flatten();
        let sum: f64 = rows.iter().filter_map(|it| worth(*it)).map(CostParts::total).sum();
        for index in rows {
            let Some(row) = self.rows.get_mut(index) else { continue };
            let cost = match worth(index) {
                Some(own) if sum > 0.0 => Some(total * own.total() / sum),
                _ if sum > 0.0 => None,
                _ => (index == holder).then_some(total),
            };
            row.money.cost = cost;
            row.money.source = Some(CostSource::Reported);
            row.money.parts = cost.and_then(|it| worth(index)?.scaled_to(it));
        }
    }
}

/// What a row costs by itself: as reported, unless that is a 0 beside tokens (a subscription, a proxy); else as computed.
fn own(turn: &Turn, tokens: Tokens, worth: Option<CostParts>) -> Money {
    match turn.cost.as_deref() {
        Some(cost) if cost.total > 0.0 || tokens.total().unwrap_or(0) == 0 => Money {
            cost: Some(cost.total),
            source: Some(CostSource::Reported),
            reported: Some(cost.total),
            computed: worth.map(CostParts::total),
            parts: cost.parts.or(worth).and_then(|it| it.scaled_to(cost.total)),
        },
        cost => computed(cost.map(|it| it.total), worth),
    }
}

fn computed(reported: Option<f64>, worth: Option<CostParts>) -> Money {
    let computed = worth.map(CostParts::total);
    Money { cost: computed, source: computed.map(|_| CostSource::Computed), reported, computed, parts: worth }
}

/// The value that all have.
fn common<'a>(mut values: impl Iterator<Item = Option<&'a str>>) -> Option<&'a str> {
    let first = values.next()??;
    values.all(|it| it == Some(first)).then_some(first)
}

/// The sums over a session's rows.
fn sum(session: &mut SessionRow, rows: &[TurnRow]) {
    let sum = |of: fn(&Money) -> Option<f64>| rows.iter().filter_map(|it| of(&it.money)).reduce(|a, b| a + b);
    let source = rows.iter().filter_map(|it| it.money.source).reduce(|a, b| if a == b { a } else { CostSource::Mixed });
    // Parts are known for the session only where they are for every row that costs.
    let with_cost = rows.iter().filter(|it| it.money.cost.is_some());
    let parts = with_cost.map(|it| it.money.parts).collect::<Option<Vec<_>>>().filter(|it| !it.is_empty());
    session.money = Money {
        cost: sum(|it| it.cost),
        source,
        reported: sum(|it| it.reported),
        computed: sum(|it| it.computed),
        parts: parts.map(|it| it.into_iter().fold(CostParts::default(), |sum, it| sum.zip(it, |a, b| a + b))),
    };
    let unpriced = rows.iter().filter(|it| it.money.source.is_none());
    session.unpriced_tokens = unpriced.filter_map(|it| it.turn.tokens.get().total()).sum();
}

/// The tables of what files tell, with the built-in prices.
#[cfg(test)]
pub fn settled(sources: Vec<crate::model::source::Source>) -> Tables {
    let mut tables = crate::ledger::settle(sources);
    price(&mut tables, Catalog::built_in());
    tables
}
