//! The output of an evaluation or of the resolver: one line for each instance, with the events and the costs of its requests.
//!
//! # `openhands-evaluation`
//!
//! `output.jsonl` of OpenHands' evaluations and of its resolver, a line for each instance. Recognised by `history` and `metrics` with
//! `instance_id`, `issue` or `git_patch`. From descriptions of 2 lines of 2024, and from the source of later ones.
//!
//! Session: a hash of `history`; `instance_id` is a label. Turns: the requests in `metrics.token_usages` and `costs` if there are at
//! least as many as responses in `history`; what `accumulated_token_usage` and `accumulated_cost` have more is a row of grain
//! `session`. Events are those of the other two formats; without ids, a result follows its action. Status: `error`, else as there.
//! *Unknown*: the tokens of lines before 2025, and all times of the oldest.

use serde::Deserialize;

use super::common::SHOWS;
use super::common::conversation::Conversation;
use super::common::records::{Event, Llm, Metrics, TokenUsage};
use crate::adapters::engine::document::LineNumbers;
use crate::adapters::engine::{Adapter, FinishedSessions, RecordErrors, RecordKind, SessionRecords, session_records};
use crate::adapters::shared::builder::money;
use crate::adapters::shared::ids::hashed_id;
use crate::adapters::shared::usage;
use crate::json::Raw;
use crate::json::fields::{Maybe, Text};
use crate::json::lines::Line;
use crate::model::session::{Cost, Identity};

pub(crate) const EVALUATION: Adapter = Adapter {
    id: "openhands-evaluation",
    runtime: "openhands",
    about: "OpenHands, output.jsonl of evaluations and of the resolver",
    tested: None,
    capabilities: SHOWS,
    places: &[],
    claims: |probe| {
        let is_output = probe.is_list("history") && probe.has("metrics");
        6 * u32::from(is_output && (probe.has("instance_id") || probe.has("issue") || probe.has("git_patch")))
    },
    parse: session_records::<Outputs>,
};

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Output<'a> {
    /// A string or a number.
    instance_id: Raw<'a>,
    history: Raw<'a>,
    metrics: Maybe<Metrics<'a>>,
    metadata: Metadata<'a>,
    error: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Metadata<'a> {
    llm_config: Llm<'a>,
    llm: Llm<'a>,
}

/// The outputs of a file.
pub(crate) enum Outputs {}

impl SessionRecords for Outputs {
    type Record<'a> = Output<'a>;

    fn record(log: &mut FinishedSessions, line: Line<'_>, output: Output<'_>, damage: &mut RecordErrors) -> RecordKind {
        let history: Vec<Raw<'_>> = output.history.read();
        if history.is_empty() && output.metrics.get().is_none() {
            return RecordKind::Unknown;
        }
        // The same instance is run several times. Old events have no time: the whole history is the id.
        let id = hashed_id(output.history.0);
        if log.sessions.iter().any(|session| session.session_id == id) {
            return RecordKind::Known;
        }
        let mut conversation = Conversation::new(&log.context, id, line.number);
        let session = &mut conversation.builder.session;
        let model = output.metadata.llm_config.model.owned().or_else(|| output.metadata.llm.model.owned());
        session.model = model;
        if !output.instance_id.is_empty() {
            session.labels.insert(format!("instance_id={}", output.instance_id.text()));
        }
        let mut line_numbers = LineNumbers::new(line);
        for raw in &history {
            let number = line_numbers.line_of(*raw);
            let event: Event<'_> = raw.read();
            conversation.event(&event, raw.0, number, damage);
        }
        if let Some(metrics) = usage::present(&output.metrics, damage) {
            requests(&mut conversation, metrics, line.number, damage);
            conversation.end_metrics(metrics, damage);
        }
        if let Some(error) = output.error.some() {
            conversation.fail(error, line.number);
        }
        log.sessions.push(conversation.finish());
        RecordKind::Known
    }
}

/// Replaces the turns of the events by the requests that the metrics list, if there are at least as many.
fn requests(conversation: &mut Conversation, metrics: &Metrics<'_>, line: i64, damage: &mut RecordErrors) {
    let usages: Vec<TokenUsage<'_>> = metrics.token_usages.read();
    let costs = metrics.costs();
    let count = usages.len().max(costs.len());
    let turns = conversation.builder.session.turns.len();
    if count == 0 || count < turns {
        return;
    }
    for index in 0..count {
        // The turns of the events come first, in the same order.
        let row = if index < turns {
            index
        } else {
            conversation.builder.turn(Identity::Session(format!("request {index}").into()), line)
        };
        let turn = &mut conversation.builder.session.turns[row];
        if let Some(usage) = usages.get(index) {
            turn.tokens = usage.tokens(damage).into();
            turn.model = usage.model.owned().or_else(|| turn.model.take());
            turn.message_id = turn.message_id.take().or_else(|| usage.response_id.owned());
        }
        if let Some(entry) = costs.get(index) {
            turn.cost = money(entry.cost, damage).map(Cost::of);
            turn.model = turn.model.take().or_else(|| entry.model.owned());
        }
    }
}
