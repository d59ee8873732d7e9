//! Sums of tokens and dollars over time.

use serde_json::json;

use super::event::Event;
use super::tables::Tables;
use crate::analysis::rows::Key;

/// The tokens and the cost of a row of the ledger, at its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub time: i64,
    pub tokens: Option<i64>,
    pub cost_usd: Option<f64>,
}

/// The rows of a session by their end. Those without a time are at the start of the session, as reports date them.
pub(super) fn steps(tables: &Tables, key: &Key, start: i64) -> Vec<Step> {
    let turns = &tables.turns;
    let steps = tables.turns_of.of(key).map(|row| Step {
        time: turns.end(row).unwrap_or(start),
        tokens: turns.total_tokens(row),
        cost_usd: turns.cost(row),
    });
    let mut steps: Vec<Step> = steps.collect();
    steps.sort_by_key(|step| step.time);
    steps
}

/// The sums after each step that changes them. Steps of one time are one.
pub(super) fn sums(steps: &[Step], pid: usize) -> Vec<Event> {
    let (mut tokens, mut dollars) = (0_i64, 0.0);
    let mut events = Vec::new();
    for steps in steps.chunk_by(|a, b| a.time == b.time) {
        let Some(Step { time, .. }) = steps.first() else { continue };
        let has = |is_known: fn(&Step) -> bool| steps.iter().any(is_known);
        tokens = steps.iter().filter_map(|step| step.tokens).fold(tokens, i64::saturating_add);
        dollars += steps.iter().filter_map(|step| step.cost_usd).sum::<f64>();
        if has(|step| step.tokens.is_some()) {
            events.push(Event::counter("tokens", pid, *time, json!(tokens)));
        }
        if has(|step| step.cost_usd.is_some()) {
            events.push(Event::counter("dollars", pid, *time, json!(dollars)));
        }
    }
    events
}

/// The size of the context of the main agent after each of its responses.
pub(super) fn contexts(tables: &Tables, key: &Key, pid: usize) -> Vec<Event> {
    let turns = &tables.turns;
    let main = tables.turns_of.of(key).filter(|row| !turns.is_subagent(*row));
    let sizes = main.filter_map(|row| Some((turns.end(row)?, turns.context_tokens(row)?)));
    let mut sizes: Vec<(i64, i64)> = sizes.collect();
    sizes.sort_by_key(|(time, _)| *time);
    sizes.into_iter().map(|(time, size)| Event::counter("context", pid, time, json!(size))).collect()
}
