//! The end of a process of Copilot CLI: its totals, and which responses they contain.

use std::mem;

use foldhash::{HashMap, HashMapExt as _, HashSet};

use super::Session;
use super::stated::Stated;
use crate::adapters::engine::RecordErrors;
use crate::adapters::formats::copilot::events::records::Record;
use crate::adapters::shared::ids::hashed_id;
use crate::adapters::shared::usage;
use crate::json::lines::Line;
use crate::model::errors::{ErrorKind, classify};
use crate::model::session::{ModelTotal, Status, Tokens, Total, TotalKind, add, add_money};

impl Session {
    /// Ends a process, and adds its tokens to the totals.
    pub(super) fn shutdown(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut RecordErrors) {
        let data = &record.data;
        let session = &mut self.builder.session;
        session.model = data.current_model.owned().or(session.model.take());
        // A process that the user stopped, or that failed, may still write a routine shutdown.
        if data.shutdown_type.as_str() == "error" {
            let reason = data.error_reason.as_str();
            // The record of an earlier error may state more.
            if session.status != Status::Error || classify(None, reason) != ErrorKind::Other {
                self.builder.fail(None, reason);
            }
        } else if session.status == Status::Incomplete {
            self.builder.succeed();
        }
        let stated = Stated::new(data, damage);
        let session = &self.builder.session;
        let goes_on = stated.goes_on_from(
            &self.stated,
            session.turns.iter().skip(self.process).map(|turn| turn.tokens.get()),
            session.runtime_version.as_deref(),
        );
        self.credits.shutdown(data.total_nano_aiu, goes_on, damage);
        let spent = if goes_on { stated.clone().since(&self.stated) } else { stated.clone() };
        let models = if stated.has_tokens() { stated.models } else { mem::take(&mut self.stated.models) };
        self.stated = Stated { models, ..stated };
        self.requests = add(self.requests, spent.requests);
        if let Some((added, removed)) = spent.lines {
            let session = &mut self.builder.session;
            let before = session.stated_lines.unwrap_or((0, 0));
            session.stated_lines = Some((before.0 + added, before.1 + removed));
        }
        self.close_process(&spent.models);
        self.phases.clear();
        self.has_shutdown = true;
        self.builder.session.totals.push(Total {
            line: line.number,
            key: record.id.owned().unwrap_or_else(|| hashed_id(line.bytes)),
            kind: TotalKind::Process,
            occurred_at: record.timestamp.0,
            api_duration_ms: spent.api_duration_ms,
            turns: self.requests,
            cost: self.credits.cost(),
            models: self.spent.clone(),
            covers_subagents: true,
            ..Total::default()
        });
    }

    /// Adds the credits so far, also those of a process that ends without a shutdown.
    pub(super) fn checkpoint(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut RecordErrors) {
        self.credits.checkpoint(record.data.total_nano_aiu, damage);
        let Some(cost) = self.credits.cost() else { return };
        let session = &mut self.builder.session;
        // A checkpoint states no tokens, so its total repeats those of the last shutdown.
        let (known_line, occurred_at) =
            session.totals.last().map_or((session.line, None), |total| (total.line, total.occurred_at));
        session.totals.push(Total {
            line: known_line,
            key: record.id.owned().unwrap_or_else(|| hashed_id(line.bytes)),
            kind: TotalKind::Process,
            occurred_at,
            turns: self.requests,
            cost: Some(cost),
            models: self.spent.clone(),
            covers_subagents: true,
            ..Total::default()
        });
    }

    /// Ends a recording. Its result names the session, and has the exit status of the process.
    pub(in super::super) fn result(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut RecordErrors) {
        self.has_result = true;
        self.builder.extend_to(record.timestamp.0);
        let session = &mut self.builder.session;
        if let Some(id) = record.session_id.owned() {
            let before = mem::replace(&mut session.session_id, id);
            session.id_if_cut = self.is_unnamed.then_some(before);
            self.is_unnamed = false;
        }
        let exit_code = record.exit_code.whole();
        session.exit_code = exit_code;
        match exit_code {
            Some(0) => self.builder.succeed(),
            // An error or an abort before it has a kind.
            Some(_) if !matches!(self.builder.session.status, Status::Error | Status::Aborted) => {
                self.builder.fail(None, "");
            }
            _ => {}
        }
        let Some(usage) = usage::present(&record.usage, damage) else { return };
        let changes = usage.code_changes.lines_added.get().zip(usage.code_changes.lines_removed.get());
        let session = &mut self.builder.session;
        session.stated_lines = session.stated_lines.or(changes);
        // A shutdown before it may state the same.
        let api_duration_ms = usage.total_api_duration_ms.rounded();
        let is_repeated = session.totals.iter().any(|total| total.api_duration_ms == api_duration_ms);
        session.totals.push(Total {
            line: line.number,
            key: hashed_id(line.bytes),
            kind: TotalKind::Process,
            occurred_at: record.timestamp.0,
            duration_ms: usage.session_duration_ms.rounded(),
            api_duration_ms: api_duration_ms.filter(|_| !is_repeated),
            covers_subagents: true,
            // It goes on from no cost.
            is_of_new_process: true,
            ..Total::default()
        });
    }

    /// Whether it has nothing besides facts about a process.
    pub(in super::super) fn is_empty(&self) -> bool {
        let session = &self.builder.session;
        session.turns.is_empty()
            && session.tool_calls.is_empty()
            && session.prompts.is_empty()
            && session.events.is_empty()
            && self.requests_of_recording.is_empty()
            // Those of checkpoints repeat what the recording before states.
            && (session.totals.is_empty() || !self.has_shutdown && !self.has_result)
    }

    /// Adds the tokens of a process: those that its shutdown states for a model, for other models those of its turns.
    fn close_process(&mut self, totals: &[ModelTotal]) {
        for total in totals.iter().filter(|total| total.tokens != Tokens::UNKNOWN || total.cost.is_some()) {
            usage::spend(&mut self.spent, total.model.clone(), total.tokens);
            if let Some(known) = self.spent.iter_mut().find(|known| known.model == total.model) {
                known.cost = add_money(known.cost, total.cost);
                known.add_agents(&total.agents);
            }
        }
        let stated: Vec<_> = totals.iter().filter(|total| total.tokens != Tokens::UNKNOWN).collect();
        let outside = self.summaries_outside(&stated);
        let turns = &mut self.builder.session.turns;
        let add_output = |sum: i64, tokens: Tokens| sum.saturating_add(tokens.output.unwrap_or(0));
        let stated_output = stated.iter().fold(0, |sum, total| add_output(sum, total.tokens));
        let of_process = turns.iter_mut().enumerate().skip(self.process);
        let (separate, mut covered): (Vec<_>, Vec<_>) = of_process.partition(|(index, _)| outside.contains(index));
        for (_, turn) in separate {
            usage::spend(&mut self.spent, turn.model.clone(), turn.tokens.get());
        }
        let logged_output = covered.iter().fold(0, |sum, (_, turn)| add_output(sum, turn.tokens.get()));
        let is_stated = |model: Option<&str>| stated.iter().any(|total| total.model.as_deref() == model);
        for (_, turn) in covered.iter_mut().filter(|(_, turn)| !is_stated(turn.model.as_deref())) {
            if stated_output > 0 && stated_output >= logged_output {
                // The shutdown has the model under another name: its counts include this turn.
                turn.tokens = Tokens::UNKNOWN.into();
            } else if turn.tokens.get() != Tokens::UNKNOWN {
                usage::spend(&mut self.spent, turn.model.clone(), turn.tokens.get());
            }
        }
        self.process = turns.len();
    }

    /// The summaries of the process that its totals do not contain: the outputs of its messages alone add up to the stated output, of
    /// the summary's model or of all.
    fn summaries_outside(&mut self, stated: &[&ModelTotal]) -> HashSet<usize> {
        let summaries: HashSet<usize> = mem::take(&mut self.summaries).into_iter().collect();
        let turns = &self.builder.session.turns;
        let messages = turns.iter().enumerate().skip(self.process).filter(|(index, _)| !summaries.contains(index));
        let logged = outputs(messages.map(|(_, turn)| (turn.model.as_deref(), turn.tokens.get())));
        let stated = outputs(stated.iter().map(|total| (total.model.as_deref(), total.tokens)));
        let is_all = |model: Option<&str>| {
            stated.get(&model).is_some_and(|output| *output > 0 && logged.get(&model) == Some(output))
        };
        let is_outside = |index: &usize| {
            let turn = &turns[*index];
            let has_output = turn.tokens.get().output.unwrap_or(0) > 0;
            has_output && (is_all(None) || turn.model.is_some() && is_all(turn.model.as_deref()))
        };
        summaries.iter().copied().filter(is_outside).collect()
    }

    /// Adds the phases of a process that wrote no totals: others contain them.
    pub(super) fn add_phases(&mut self) {
        for phase in mem::take(&mut self.phases) {
            let index = self.builder.turn(phase.identity.clone(), phase.line);
            *self.builder.session.turns[index] = phase;
        }
    }

    /// Marks the turns of a process that ended without a shutdown: no total includes them.
    pub(super) fn leave_process(&mut self) {
        self.add_phases();
        let turns = &mut self.builder.session.turns;
        turns.iter_mut().skip(self.process).for_each(|turn| turn.is_of_killed = true);
        self.process = turns.len();
        self.summaries.clear();
    }
}

/// The output of each model, and that of all under `None`.
fn outputs<'m>(all: impl Iterator<Item = (Option<&'m str>, Tokens)>) -> HashMap<Option<&'m str>, i64> {
    let mut sums = HashMap::new();
    for (model, tokens) in all {
        let output = tokens.output.unwrap_or(0);
        for key in [None, model].into_iter().take(1 + usize::from(model.is_some())) {
            let sum: &mut i64 = sums.entry(key).or_default();
            *sum = sum.saturating_add(output);
        }
    }
    sums
}
