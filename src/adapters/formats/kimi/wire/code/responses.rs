//! The responses: which records and ends of steps state the same one.

use super::records::Record;
use super::step::{Span, Step, identity_of};
use super::{Code, MAIN};
use crate::adapters::engine::RecordErrors;
use crate::adapters::shared::at::At;
use crate::adapters::shared::usage;
use crate::base::text::Symbol;
use crate::json::fields::Text;
use crate::model::session::{Identity, Tokens};

impl Code {
    /// Adds what a record states of the use of tokens.
    pub(super) fn usage(&mut self, record: &Record<'_>, line: i64, damage: &mut RecordErrors) {
        let Some(tokens) = usage::present(&record.usage, damage).and_then(|usage| usage.tokens(damage)) else { return };
        self.models.set(&record.model);
        let time = record.time.0;
        if record.usage_scope.as_str() == "session" {
            return self.request_outside_of_turns(record, tokens, line);
        }
        let is_sum = self.steps.len() > 1 && self.sum_of_steps() == tokens;
        if let Some(index) = self.step_of(tokens, is_sum, &record.agent_id) {
            let step = self.steps.remove(index);
            let later = self.steps.split_off(index);
            self.add_steps();
            self.steps = later;
            let identity = if time.is_none() { step.identity() } else { identity_of(time, tokens) };
            let at = At { line, time: step.at.time.or(time) };
            self.response(identity, at, tokens, Some(&record.agent_id), step.span);
        } else if is_sum {
            // The sum of several steps.
            self.add_steps();
        } else {
            let (at, span) = (At { line, time }, self.span());
            let turn = self.response(identity_of(time, tokens), at, tokens, Some(&record.agent_id), span);
            self.recorded = Some((turn, tokens));
        }
    }

    /// The step whose usage a record states: the last one with the same counts, else the last one, if it stated only zeros.
    fn step_of(&self, tokens: Tokens, is_sum: bool, agent: &Text<'_>) -> Option<usize> {
        let last = self.steps.iter().rposition(|step| step.tokens.is_some());
        let equal = last.filter(|index| self.steps.get(*index).is_some_and(|step| step.tokens == Some(tokens)));
        let is_of_zeros =
            || !is_sum && self.is_own(agent) && self.steps.last().is_some_and(|step| step.tokens.is_none());
        equal.or_else(|| self.steps.len().checked_sub(1).filter(|_| is_of_zeros()))
    }

    /// The sum of the steps whose usage no other record has stated so far.
    fn sum_of_steps(&self) -> Tokens {
        self.steps.iter().filter_map(|step| step.tokens).sum()
    }

    /// Adds the last step if it stated only zeros, and no record has stated its usage until the next step began.
    pub(super) fn add_step_of_zeros(&mut self) {
        if let Some(step) = self.steps.pop_if(|step| step.tokens.is_none()) {
            self.add_step(step);
        }
    }

    /// Adds the steps whose usage no other record states.
    pub(super) fn add_steps(&mut self) {
        for step in std::mem::take(&mut self.steps) {
            self.add_step(step);
        }
    }

    fn add_step(&mut self, step: Step) {
        self.response(step.identity(), step.at, step.tokens.unwrap_or(Tokens::UNKNOWN), None, step.span);
    }

    /// Whether a record is of the agent whose file this is.
    fn is_own(&self, agent: &Text<'_>) -> bool {
        agent.some().is_none_or(|agent| agent == self.agent.as_deref().unwrap_or(MAIN))
    }

    /// What belongs to the current step so far: calls that no earlier step has.
    pub(super) fn span(&mut self) -> Span {
        let first = self.steps.last().map_or(0, |step| step.span.calls.end);
        Span { began_at: self.began_at.take(), calls: first..self.builder.session.tool_calls.len() }
    }

    /// Adds a response of a step. Returns its turn.
    fn response(
        &mut self,
        identity: Identity,
        at: At,
        tokens: Tokens,
        agent: Option<&Text<'_>>,
        Span { began_at, calls }: Span,
    ) -> usize {
        let index = self.turn(identity, at, tokens, agent);
        let calls = self.builder.session.tool_calls.iter_mut().take(calls.end).skip(calls.start);
        calls.filter(|call| call.turn.is_none()).for_each(|call| call.turn = Some(index));
        self.builder.session.turns[index].duration_ms =
            began_at.zip(at.time).and_then(|(start, end)| end.duration_since(start)).into();
        index
    }

    fn turn(&mut self, identity: Identity, at: At, tokens: Tokens, agent: Option<&Text<'_>>) -> usize {
        let stated = agent.and_then(Text::owned).filter(|agent: &Symbol| *agent != MAIN);
        let agent = stated.or_else(|| self.agent.clone());
        let index = self.builder.turn(identity, at.line);
        let turn = &mut self.builder.session.turns[index];
        turn.tokens = tokens.into();
        turn.occurred_at = at.time;
        turn.model = self.models.current();
        turn.effort.clone_from(&self.effort);
        turn.provider.clone_from(&self.provider);
        turn.is_subagent = agent.is_some();
        turn.agent_id = agent;
        self.sums = self.sums.map(|sum| sum.plus(tokens));
        index
    }

    /// A request that belongs to no turn, such as the summary of a compaction. Descriptions of the format state that such a record can
    /// repeat a sum of the turns instead: one that equals a known sum or response adds nothing.
    fn request_outside_of_turns(&mut self, record: &Record<'_>, tokens: Tokens, line: i64) {
        let steps = self.sum_of_steps();
        let is_repeated = self.sums.iter().any(|sum| sum.plus(steps) == tokens)
            || self.builder.session.turns.iter().any(|turn| turn.tokens.get() == tokens);
        self.sums[2] = Tokens::UNKNOWN;
        if !is_repeated {
            let time = record.time.0;
            self.turn(identity_of(time, tokens), At { line, time }, tokens, Some(&record.agent_id));
        }
    }
}
