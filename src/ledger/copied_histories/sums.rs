//! What is left of the sums that a session copied: they contain those of the session that it was copied from.

use foldhash::HashMap;

use super::history::own_parts;
use crate::base::time::Time;
use crate::ledger::part::SessionPart;
use crate::ledger::renumber::NewIndexes;
use crate::model::session::{Identity, SessionResult, Tokens, add_money};

/// Tokens and a cost.
#[derive(Clone, Copy, Default)]
pub(super) struct Spent {
    pub tokens: Tokens,
    pub cost: Option<f64>,
    /// Whether some of it may have been spent later than it was copied.
    pub may_be_later: bool,
}

impl Spent {
    pub fn add(&mut self, other: Self) {
        self.tokens = self.tokens.plus(other.tokens);
        self.cost = add_money(self.cost, other.cost);
        self.may_be_later |= other.may_be_later;
    }

    /// What a session spent itself until a time.
    pub fn until(end: Option<Time>, parts: &[SessionPart]) -> Self {
        let mut places: HashMap<&Identity, usize> = HashMap::default();
        let mut turns: Vec<(bool, Self)> = Vec::new();
        for turn in own_parts(parts).flat_map(|part| &part.session.turns) {
            let (tokens, cost) = (turn.tokens.get(), turn.cost.as_deref().map(|cost| cost.total));
            let is_named = turn.identity != Identity::Unique;
            let next = turns.len();
            let place = if is_named { *places.entry(&turn.identity).or_insert(next) } else { next };
            if let Some((_, known)) = turns.get_mut(place) {
                (known.tokens, known.cost) = (known.tokens.max(tokens), known.cost.or(cost));
            } else {
                let is_later = end.is_some() && turn.occurred_at > end;
                turns.push((is_later, Self { tokens, cost, may_be_later: false }));
            }
        }
        let (mut before, mut after) = (Self::default(), Self::default());
        for (is_later, turn) in turns {
            if is_later { after.add(turn) } else { before.add(turn) }
        }
        let stated = own_parts(parts).filter_map(|part| Self::stated(&part.session)).max_by_key(|it| it.tokens.total());
        match stated {
            Some(stated) if stated.tokens.total() > before.tokens.plus(after.tokens).total() => {
                // What no turn contains is from before the first turn.
                let may_be_later = before.tokens.total().is_none();
                Self { may_be_later, ..stated.without(after) }
            }
            _ => before,
        }
    }

    /// The largest total that a log states, else the sum of its turns.
    pub fn stated(session: &SessionResult) -> Option<Self> {
        let spent = |tokens: Tokens, cost: Option<f64>| Self { tokens, cost, may_be_later: false };
        let totals = session.totals.iter().map(|total| spent(total.tokens(), total.cost));
        let turns = session.turns.iter().map(|turn| spent(turn.tokens.get(), turn.cost.as_deref().map(|it| it.total)));
        let sum = |mut sum: Self, turn: Self| {
            sum.add(turn);
            sum
        };
        totals.max_by_key(|it| it.tokens.total()).or_else(|| turns.reduce(sum))
    }

    /// What is left if `other` is taken off. A cost is divided as the tokens are if only one of both is known.
    fn without(self, other: Self) -> Self {
        let tokens = self.tokens.without(other.tokens);
        let part_left = tokens.total().unwrap_or(0) as f64 / self.tokens.total().unwrap_or(0).max(1) as f64;
        let left = |cost: f64| other.cost.map_or(cost * part_left, |other| (cost - other).max(0.0));
        Self { tokens, cost: self.cost.map(left), may_be_later: self.may_be_later }
    }

    /// Takes it off the totals of a history, and off the last request of a session without totals.
    pub fn take_off(self, session: &mut SessionResult) {
        let Some(tokens) = self.tokens.total() else { return };
        for total in &mut session.totals {
            let own = Self { tokens: total.tokens(), cost: total.cost, may_be_later: false };
            let left = own.without(self);
            total.cost = left.cost;
            if let [model] = total.models.as_mut_slice() {
                (model.tokens, model.cost) = (left.tokens, model.cost.and(left.cost));
            }
        }
        session.totals.retain(|total| total.tokens().total() != Some(0));
        let turns = NewIndexes::after_removal(&mut session.turns, |turn| {
            turn.tokens.get().total().is_some_and(|own| own > tokens)
        });
        session.tool_calls.iter_mut().for_each(|call| {
            turns.update(&mut call.turn);
        });
        session.events.iter_mut().for_each(|event| {
            turns.update(&mut event.turn);
        });
    }
}
