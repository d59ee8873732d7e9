//! The sums that a session states since 2.0: in its row of the database, and in an export. Each step, title and compaction is added to
//! them, and nothing is ever taken off (`packages/core/src/session/projector.ts`); titles, most compactions and reverted steps are in
//! no message. What is above the messages makes a total (docs/accounting.md#saved-totals).
//!
//! A fork since 2.0 begins at 0 with copies of the messages of its parent. One of 1.x began with the sums of the copies: the first start
//! of 2.0 sums all messages of an older session.

use super::common::{Message, Usage};
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::model::session::{ModelTotal, SessionResult, Tokens, Total, TotalKind, Turn};

/// Sums that differ by less are equal.
const NO_MONEY: f64 = 1e-9;

/// What a session states.
pub(super) struct Stated {
    pub(super) tokens: Tokens,
    pub(super) cost: Option<f64>,
    /// When the session began. Messages before are copies.
    pub(super) created: Option<Time>,
    /// When it changed: later than each step, also a reverted one.
    pub(super) updated: Option<Time>,
    /// Whether it began at 0 with copies of the messages of another session.
    pub(super) is_fork: bool,
    /// The model that is selected last.
    pub(super) model: Option<Symbol>,
}

/// The sums of a session, and what its messages have of them.
#[derive(Default)]
pub(super) struct Sums {
    stated: Option<Stated>,
    tokens: Tokens,
    cost: f64,
}

impl Sums {
    /// Sets what the session states, which precedes its messages since 2.0.
    pub(super) fn state(&mut self, stated: Stated) {
        self.stated = Some(stated);
    }

    /// Adds a message.
    pub(super) fn message(&mut self, message: &Message<'_>) {
        if self.stated.as_ref().is_some_and(|it| it.is_fork && message.time.start() < it.created) {
            return;
        }
        self.tokens = self.tokens.plus(message.tokens.get().map_or(Tokens::UNKNOWN, Usage::with_reasoning));
        self.cost += message.cost.money().unwrap_or(0.0);
    }

    /// Adds the total to the session, if the sums are above its messages.
    pub(super) fn finish(self, session: &mut SessionResult) {
        let Some(stated) = self.stated else { return };
        let above = |sum: Option<i64>, shown: Option<i64>| Some(sum?.saturating_sub(shown.unwrap_or(0)).max(0));
        let mut tokens = stated.tokens.zip(self.tokens, above);
        let mut cost = stated.cost.map_or(0.0, |cost| cost - self.cost);
        if tokens.total().unwrap_or(0) == 0 && cost < NO_MONEY {
            return;
        }
        cost = cost.max(0.0);
        let is_copy = |turn: &Turn| turn.occurred_at.is_some() && turn.occurred_at < stated.created;
        for turn in &mut session.turns {
            if is_copy(turn) {
                // Also if its own session is not there.
                turn.is_of_killed = true;
                continue;
            }
            tokens = tokens.plus(turn.tokens.get());
            cost += turn.cost.as_deref().map_or(0.0, |cost| cost.total);
        }
        // The sums are those of all models. The request for a title may be to a smaller one.
        let mut models = session.turns.iter().map(|turn| turn.model.clone());
        let first = models.next().unwrap_or(stated.model);
        session.model = session.model.take().or(first.filter(|first| models.all(|it| it.as_ref() == Some(first))));
        let cost = Some(cost).filter(|cost| *cost > 0.0);
        session.totals.push(Total {
            line: session.turns.iter().map(|turn| turn.line).max().unwrap_or(session.line),
            key: format!("sums {:?} {:?} {cost:?}", stated.created.map(Time::micros), tokens.kinds()),
            kind: TotalKind::Saved,
            occurred_at: session.ended_at.max(stated.updated),
            cost,
            models: vec![ModelTotal { tokens, cost, ..ModelTotal::default() }],
            covers_subagents: true,
            started_at: stated.created,
            is_sum_of_counts: true,
            ..Total::default()
        });
    }
}
