//! The sum of the totals of one model, and its parts by day.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::places::TotalPlaces;
use super::remainder::Remainder;
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::model::session::{Cost, ModelTotal, NEGLIGIBLE_USD, SessionResult, Total, Turn, add, add_money};
use crate::model::tables::TurnRow;

/// The totals of one model in all processes of a session.
pub(super) struct ModelSum {
    /// Their sum, at the place of the last one.
    pub all: PlacedTotal,
    /// Those of each process, or of each day of a process.
    parts: Vec<PlacedTotal>,
}

/// A total of one model with its place.
#[derive(Clone)]
pub(super) struct PlacedTotal {
    /// Index of the file.
    pub source: usize,
    pub line: i64,
    pub occurred_at: Option<Time>,
    pub total: ModelTotal,
    /// The same by provider.
    pub by_provider: BTreeMap<Option<Symbol>, ModelTotal>,
    /// Cost of the process beyond that of its models.
    pub unassigned_cost: Option<f64>,
}

/// A part of a sum that gets rows of its own, with the indexes of the responses that it contains.
pub(super) type PartWithResponses<'a> = (Cow<'a, PlacedTotal>, Vec<usize>);

impl ModelSum {
    /// A sum that begins with the first total of its model. `process` is the total of all models that contains it.
    pub fn new(source: usize, process: &Total, first: &ModelTotal) -> Self {
        Self { all: PlacedTotal::new(source, process, first), parts: Vec::new() }
    }

    /// Adds the model's total of a process.
    pub fn add(&mut self, source: usize, process: &Total, total: &ModelTotal, unassigned_cost: Option<f64>) {
        let mut part = PlacedTotal::new(source, process, total);
        part.add(total, unassigned_cost);
        self.all.join(&part);
        self.parts.push(part);
    }

    /// The parts that get rows of their own: one for each day, or the whole sum if the log does not show which of the responses each day
    /// contains. `responses` are the indexes of those that the sum contains, `places` those of all totals of the session.
    pub fn divide(&self, rows: &[TurnRow], responses: Vec<usize>, places: &TotalPlaces) -> Vec<PartWithResponses<'_>> {
        self.by_day(rows, &responses, places).unwrap_or_else(|| vec![(Cow::Borrowed(&self.all), responses)])
    }

    fn by_day(
        &self,
        rows: &[TurnRow],
        responses: &[usize],
        places: &TotalPlaces,
    ) -> Option<Vec<PartWithResponses<'_>>> {
        let mut days: BTreeMap<i32, PartWithResponses<'_>> = BTreeMap::new();
        for part in &self.parts {
            match days.entry(part.occurred_at?.day()) {
                Entry::Vacant(day) => {
                    day.insert((Cow::Borrowed(part), Vec::new()));
                }
                Entry::Occupied(mut day) => day.get_mut().0.to_mut().join(part),
            }
        }
        if days.len() < 2 {
            return None;
        }
        for index in responses {
            let row = rows.get(*index)?;
            let day = places.next_day(row).or_else(|| self.next_day(row.turn.occurred_at?))?;
            days.range_mut(day..).next()?.1.1.push(*index);
        }
        let days: Vec<_> = days.into_values().filter(|(part, own)| !part.is_zero() || !own.is_empty()).collect();
        let are_possible = days.iter().all(|(part, own)| part.can_contain(|| turns(rows, own)));
        (are_possible && !days.is_empty()).then_some(days)
    }

    /// The day of the first total after a time.
    fn next_day(&self, time: Time) -> Option<i32> {
        self.parts.iter().filter_map(|part| part.occurred_at).filter(|end| *end >= time).min().map(Time::day)
    }
}

impl PlacedTotal {
    /// Nothing yet, at the place of a process.
    fn new(source: usize, process: &Total, model: &ModelTotal) -> Self {
        Self {
            source,
            line: process.line,
            // A session may change long after its last request: a new title, or its archiving.
            occurred_at: process.occurred_at.filter(|_| !process.is_sum_of_counts),
            total: ModelTotal { model: model.model.clone(), ..ModelTotal::default() },
            by_provider: BTreeMap::new(),
            unassigned_cost: None,
        }
    }

    fn add(&mut self, total: &ModelTotal, unassigned_cost: Option<f64>) {
        add_to(&mut self.total, total);
        let nothing = || ModelTotal { model: total.model.clone(), ..ModelTotal::default() };
        add_to(self.by_provider.entry(total.provider.clone()).or_insert_with(nothing), total);
        self.unassigned_cost = add_money(self.unassigned_cost, unassigned_cost);
    }

    /// Adds another sum. The place is that of the later one.
    fn join(&mut self, other: &Self) {
        if other.occurred_at >= self.occurred_at {
            (self.source, self.line, self.occurred_at) = (other.source, other.line, other.occurred_at);
        }
        for total in other.by_provider.values() {
            self.add(total, None);
        }
        self.unassigned_cost = add_money(self.unassigned_cost, other.unassigned_cost);
    }

    fn is_zero(&self) -> bool {
        self.remainder(|| [].iter()).is_zero()
    }

    /// What it contains beyond these responses.
    pub fn remainder<'a, T: Iterator<Item = &'a Turn>>(&self, responses: impl Fn() -> T) -> Remainder {
        Remainder::of(&self.total, responses, self.unassigned_cost)
    }

    /// A remainder as a turn of this place. `total` is that of the model, or of the model and a provider.
    pub fn turn(&self, remainder: &Remainder, total: &ModelTotal, session: &SessionResult) -> Turn {
        Turn {
            line: self.line,
            model: total.model.clone().or_else(|| session.model.clone()),
            provider: total.provider.clone(),
            effort: total.effort.clone(),
            occurred_at: self.occurred_at.or(session.ended_at),
            context_window: total.context_window.into(),
            tokens: remainder.tokens.into(),
            web_searches: remainder.web_searches.into(),
            cost: remainder.cost.map(Cost::of),
            ..Turn::default()
        }
    }

    /// Whether its tokens and its cost are at least those of responses.
    fn can_contain<'a, T: Iterator<Item = &'a Turn>>(&self, responses: impl Fn() -> T) -> bool {
        let paid: f64 = responses().filter_map(|turn| Some(turn.cost.as_deref()?.total)).sum();
        let cost = add_money(self.total.cost, self.unassigned_cost);
        cost.is_none_or(|cost| cost + NEGLIGIBLE_USD >= paid) && !self.remainder(responses).is_negative
    }
}

/// The responses with these indexes.
pub(super) fn turns<'a>(rows: &'a [TurnRow], indexes: &'a [usize]) -> impl Iterator<Item = &'a Turn> {
    indexes.iter().filter_map(|index| rows.get(*index)).map(|row| &*row.turn)
}

/// Adds tokens, searches and cost to a sum.
fn add_to(sum: &mut ModelTotal, total: &ModelTotal) {
    sum.tokens = sum.tokens.plus(total.tokens);
    sum.web_searches = add(sum.web_searches, total.web_searches);
    sum.context_window = sum.context_window.or(total.context_window);
    sum.provider = sum.provider.take().or_else(|| total.provider.clone());
    sum.effort = sum.effort.take().or_else(|| total.effort.clone());
    sum.cost = add_money(sum.cost, total.cost);
    sum.add_agents(&total.agents);
}
