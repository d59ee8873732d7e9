//! Usage that was billed beside the responses of pi: summaries, requests that keep a cache, and what tools ask of a model. Each is a
//! turn.

use std::mem;

use super::common::{Agent, identity};
use super::counts::Usage;
use crate::adapters::engine::RecordErrors;
use crate::adapters::shared::at::At;
use crate::adapters::shared::ids::push_counts_name;
use crate::adapters::shared::usage;
use crate::json::Raw;
use crate::json::fields::Maybe;
use crate::model::session::{Identity, Tokens};

impl Agent {
    /// Adds a billed usage as a turn, unless it is empty. Returns the index of the turn.
    pub(crate) fn spent(
        &mut self,
        usage: Raw<'_>,
        at: At,
        identity: impl FnOnce(Tokens) -> Identity,
        damage: &mut RecordErrors,
    ) -> Option<usize> {
        let usage = usage.read::<Maybe<Usage>>();
        let usage = usage::present(&usage, damage)?;
        self.add_spent(usage, at, identity, damage)
    }

    pub(super) fn add_spent(
        &mut self,
        usage: &Usage,
        at: At,
        identity: impl FnOnce(Tokens) -> Identity,
        damage: &mut RecordErrors,
    ) -> Option<usize> {
        let tokens = usage.tokens(damage);
        if tokens.total().unwrap_or(0) == 0 {
            return None;
        }
        let index = self.builder.turn(identity(tokens), at.line);
        let turn = &mut self.builder.session.turns[index];
        turn.tokens = tokens.into();
        turn.occurred_at = at.time;
        turn.cost = usage.cost(damage).map(Box::new);
        Some(index)
    }

    /// Adds the response that wrote a summary, if its usage is known. `first_kept` is the first entry that a compaction kept: the record
    /// of the event stream has it, too, and no time.
    pub(crate) fn summary(&mut self, usage: Raw<'_>, first_kept: &str, at: At, damage: &mut RecordErrors) {
        let name = |tokens: Tokens| {
            if first_kept.is_empty() {
                return identity(at.time, tokens);
            }
            let mut name = format!("pi compaction {first_kept} ");
            push_counts_name(&mut name, tokens);
            Identity::Global(name.into())
        };
        let Some(index) = self.spent(usage, at, name, damage) else { return };
        let turn = &mut self.builder.session.turns[index];
        turn.model = self.model.clone().or(turn.model.take());
    }

    /// Adds the requests that only the ledger of format 4 contains.
    pub(super) fn add_requests_of_ledger(&mut self) {
        for request in mem::take(&mut self.ledger).without_entries() {
            if request.tokens.total().unwrap_or(0) == 0 {
                continue;
            }
            let index = self.builder.turn(identity(request.at.time, request.tokens), request.at.line);
            let turn = &mut self.builder.session.turns[index];
            turn.tokens = request.tokens.into();
            turn.occurred_at = request.at.time;
            turn.cost = request.cost;
            turn.provider = request.provider;
            turn.model = request.model;
        }
    }
}
