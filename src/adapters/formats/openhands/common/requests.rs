//! The running totals of a conversation, for each use of a model, and the requests that its saved state lists.
//!
//! `ConversationStats` of the SDK: the saved state has the lists of `Metrics`, one entry for each request; events have only the sums,
//! `MetricsSnapshot` (`conversation_stats.py`, `llm/utils/metrics.py`, 2026-08).

use foldhash::{HashMap, HashMapExt as _};

use super::conversation::Conversation;
use super::records::{CachedPart, CostEntry, Event, Latency, Metrics, PLACEHOLDER, Stats, TokenUsage};
use super::running::{Running, add_part, is_of_subagent, sum_of};
use crate::adapters::engine::RecordErrors;
use crate::adapters::shared::builder::money;
use crate::adapters::shared::usage;
use crate::base::text::Symbol;
use crate::json::fields::{Number, Text};
use crate::model::session::{Cost, Identity, ModelTotal, Tokens, Total};

/// The name of a model, if it is one. Sums of several uses have the name `default`.
fn name_of(model: &Text<'_>) -> Option<Symbol> {
    model.owned().filter(|model: &Symbol| model != "default" && model != PLACEHOLDER)
}

impl Conversation {
    /// Adds running totals.
    pub(super) fn stats(&mut self, stats: &Stats<'_>, damage: &mut RecordErrors) {
        let all = || stats.usage_to_metrics.0.iter().chain(&stats.service_to_metrics.0);
        if self.agent_usage.is_none() {
            let own = all().find(|(usage, _)| ["agent", "default"].contains(&&**usage));
            self.agent_usage = own.map(|(usage, _)| usage.clone().into_owned());
        }
        for (usage, metrics) in all() {
            self.metrics(usage, metrics, damage);
            self.requests(usage, metrics, damage);
        }
    }

    /// Whether a use is that of the agent's own responses. A profile that the user switches to has a name of its own.
    fn is_of_agent(&self, usage: &str) -> bool {
        const OTHERS: [&str; 5] = ["condenser", "planning_condenser", "ask-agent-llm", "agent-hook:", "prompt-hook:"];
        match &self.agent_usage {
            Some(own) => usage == own || usage.starts_with("profile:"),
            None => !is_of_subagent(usage) && !OTHERS.iter().any(|other| usage.starts_with(other)),
        }
    }

    pub(super) fn metrics(&mut self, usage: &str, metrics: &Metrics<'_>, damage: &mut RecordErrors) {
        let counts = metrics.accumulated_token_usage.get();
        let tokens = counts.map_or(Tokens::UNKNOWN, |counts| counts.tokens(damage));
        let cost = money(metrics.accumulated_cost, damage);
        if tokens.total().unwrap_or(0) == 0 && cost.unwrap_or(0.0) == 0.0 {
            return;
        }
        let model = name_of(&metrics.model_name).or_else(|| counts.and_then(|counts| name_of(&counts.model)));
        let has_total = self.has_total();
        let known = self.running.iter_mut().find(|running| running.usage == usage);
        let before = known.as_ref().map_or(Tokens::UNKNOWN, |running| running.tokens);
        // The first total of a part contains responses before it.
        let is_unknown_start = before == Tokens::UNKNOWN && !self.has_beginning;
        let has_fallen = tokens.context() < before.context() || tokens.output < before.output;
        let running = Running { usage: usage.to_owned(), model: model.clone(), tokens, cost, listed: Vec::new() };
        match known {
            // An older total, or a copy.
            Some(_) if has_fallen => return,
            // A copy of the sums of the saved state.
            Some(known) if tokens == before => known.cost = cost,
            Some(known) => *known = running,
            None => self.running.push(running),
        }
        if !is_unknown_start && tokens != before && self.is_of_agent(usage) {
            // The first total contains the responses before it that state their own usage.
            let before = if has_total { before } else { self.stated() };
            let grown = tokens.minus(before);
            let grown = Tokens { reasoning: grown.reasoning.filter(|count| *count > 0), ..grown };
            // Nothing is left if the response stated its usage in an event before this one.
            let is_possible = grown.total() > Some(0) && grown.kinds().into_iter().flatten().all(|count| count >= 0);
            self.grown = Some((model, grown)).filter(|_| is_possible);
        }
    }

    /// Whether a running total of tokens was read.
    fn has_total(&self) -> bool {
        self.running.iter().any(|running| running.tokens != Tokens::UNKNOWN)
    }

    /// The tokens of all responses so far.
    fn stated(&self) -> Tokens {
        self.builder.session.turns.iter().map(|turn| turn.tokens.get()).sum()
    }

    /// Adds the requests that the state lists for one use. Those of a subagent are turns of its own conversation.
    fn requests(&mut self, usage: &str, metrics: &Metrics<'_>, damage: &mut RecordErrors) {
        let usages: Vec<TokenUsage<'_>> = metrics.token_usages.read();
        if usages.is_empty() {
            return;
        }
        let sum = metrics.accumulated_token_usage.get();
        // Which counts the prompt contains is the same in all requests of a use, and the sum shows it best.
        let cached = sum.map_or(CachedPart::WhatFits, TokenUsage::cached_part);
        let tokens: Vec<Tokens> = usages.iter().map(|usage| usage.tokens_of(cached, damage)).collect();
        let costs = metrics.costs();
        self.list(usage, sum, &usages, &tokens, &costs);
        if is_of_subagent(usage) {
            return;
        }
        if self.is_of_agent(usage) {
            self.grown = None;
        }
        let mut durations = durations_by_response(metrics);
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for (index, (request, tokens)) in usages.iter().zip(tokens).enumerate() {
            let id = request.response_id.some();
            // Another program that runs the agent names its session, in each of its requests.
            let earlier = id.map_or(0, |id| {
                let count = counts.entry(id).or_default();
                *count += 1;
                *count - 1
            });
            let name = match (id, earlier) {
                (Some(id), 0) => id.to_owned(),
                (Some(id), earlier) => format!("{id} {earlier}"),
                (None, _) => format!("{usage} request {index}"),
            };
            let row = self.builder.turn(self.identity_of(&name), self.last_line);
            let turn = &mut self.builder.session.turns[row];
            turn.message_id = turn.message_id.take().or_else(|| id.map(Into::into));
            turn.tokens = tokens.into();
            turn.model = name_of(&request.model).or_else(|| name_of(&metrics.model_name));
            turn.context_window = request.context_window.get().filter(|size| *size > 0).into();
            let duration = id.and_then(|id| durations.get_mut(id)?.next());
            turn.duration_ms = duration.or_else(|| turn.duration_ms.get()).into();
            // A request without a cost has no entry: if there are fewer, it is not known which ones these are.
            let cost = costs.get(index).filter(|_| costs.len() == usages.len());
            turn.cost = cost.and_then(|entry| money(entry.cost, damage)).map(Cost::of);
        }
    }

    /// Adds the requests that an event before 1.0 lists. Some versions have no running total of tokens there, and list the event's own
    /// request only.
    pub(super) fn requests_of_event(&mut self, metrics: &Metrics<'_>, damage: &mut RecordErrors) {
        let usages: Vec<TokenUsage<'_>> = metrics.token_usages.read();
        for request in &usages {
            let Some(id) = request.response_id.some() else { continue };
            let row = self.builder.turn(Identity::Session(id.into()), self.last_line);
            let turn = &mut self.builder.session.turns[row];
            turn.message_id = turn.message_id.take().or_else(|| Some(id.into()));
            turn.tokens = request.tokens(damage).into();
            turn.model = name_of(&request.model).or_else(|| turn.model.take());
        }
    }

    /// Adds what the response of an action before 1.0 states itself: its model, and its usage if nothing before it in the log states its
    /// tokens.
    pub(super) fn response_of_action(&mut self, action: &Event<'_>, damage: &mut RecordErrors) {
        let Some(response) = action.response() else { return };
        let Some(id) = response.id.some() else { return };
        let row = self.builder.turn(Identity::Session(id.into()), self.last_line);
        let has_total = self.has_total();
        let turn = &mut self.builder.session.turns[row];
        turn.model = turn.model.take().or_else(|| name_of(&response.model));
        if turn.tokens.get() == Tokens::UNKNOWN
            && !has_total
            && let Some(usage) = usage::present(&response.usage, damage)
        {
            turn.tokens = usage.tokens(damage).into();
        }
    }

    /// Divides a running total by the models of its requests, if these are all of it.
    fn list(
        &mut self,
        usage: &str,
        sum: Option<&TokenUsage<'_>>,
        usages: &[TokenUsage<'_>],
        tokens: &[Tokens],
        costs: &[CostEntry<'_>],
    ) {
        let counts = usages.iter().map(TokenUsage::sent_and_received);
        let counts = counts.fold((0, 0), |sum, own| (sum.0 + own.0, sum.1 + own.1));
        let Some(running) = self.running.iter_mut().find(|running| running.usage == usage) else { return };
        if sum.map(TokenUsage::sent_and_received) != Some(counts) {
            return;
        }
        let mut models: Vec<ModelTotal> = Vec::new();
        for (request, tokens) in usages.iter().zip(tokens) {
            let model = name_of(&request.model).or_else(|| running.model.clone());
            add_part(&mut models, ModelTotal { model, tokens: *tokens, ..ModelTotal::default() });
        }
        for entry in costs {
            let model = name_of(&entry.model).or_else(|| running.model.clone());
            add_part(&mut models, ModelTotal { model, cost: entry.cost.money(), ..ModelTotal::default() });
        }
        running.listed = models;
    }

    /// Adds the last totals to the session: those of the conversation, and those of each of its subagents.
    pub(super) fn add_totals(&mut self) {
        let (subagents, own): (Vec<&Running>, Vec<&Running>) =
            self.running.iter().partition(|running| is_of_subagent(&running.usage));
        let model = self.builder.session.model.clone().or_else(|| own.first()?.model.clone());
        // The same keys in all files of a conversation: the largest counts apply.
        let mut totals = vec![Total { key: "stats".to_owned(), ..sum_of(&own, model.as_ref()) }];
        totals.extend(subagents.into_iter().map(|running| Total {
            key: format!("stats {}", running.usage),
            // It is not a later state of the total before it.
            is_of_new_process: true,
            is_of_subagents: true,
            ..sum_of(&[running], model.as_ref())
        }));
        totals.retain(|total| !total.models.is_empty());
        // They contain the response that is logged after them.
        let line = self.last_line;
        self.builder.session.totals.extend(totals.into_iter().map(|total| Total { line, ..total }));
    }
}

/// How long the requests took, in milliseconds, by the ids of their responses.
fn durations_by_response(metrics: &Metrics<'_>) -> HashMap<String, std::vec::IntoIter<i64>> {
    let latencies: Vec<Latency<'_>> = metrics.response_latencies.read();
    let mut durations: HashMap<String, Vec<i64>> = HashMap::new();
    for entry in latencies {
        let duration = Number(entry.latency.0.map(|seconds| seconds * 1000.0)).rounded();
        if let (Some(id), Some(duration)) = (entry.response_id.some(), duration) {
            durations.entry(id.to_owned()).or_default().push(duration);
        }
    }
    durations.into_iter().map(|(id, durations)| (id, durations.into_iter())).collect()
}
