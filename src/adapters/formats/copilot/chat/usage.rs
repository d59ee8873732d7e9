//! What requests of a chat cost, as VS Code states it.
//!
//! `copilotCredits` of a request are those of all calls that it consists of, with its subagents; `completionTokens` is the sum of the
//! outputs of the calls (`ChatResponseModel.setUsage`, `_withSubagentCopilotCredits`). Both are known only of versions that write credits.

#![cfg_attr(not(test), expect(clippy::indexing_slicing, reason = "a member of a JSON value that is absent is null"))]

use foldhash::{HashSet, HashSetExt as _};
use serde_json::Value;

use crate::adapters::engine::RecordErrors;
use crate::adapters::shared::ai_credits::dollars_of_credits;
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::json::fields::Number;
use crate::model::session::{ModelTotal, SessionResult, Tokens, Total, TotalKind};

/// Milliseconds since 1970.
pub(super) fn time_of(value: &Value) -> Option<Time> {
    Time::from_number(value.as_f64()?)
}

/// The amount of a request in US dollars; `None` if it is not billed in credits.
fn cost_of(request: &Value, damage: &mut RecordErrors) -> Option<f64> {
    dollars_of_credits(Number(request["copilotCredits"].as_f64()), damage)
}

/// Notes amounts that are impossible, of the requests that a record adds, or of the one whose credits it sets.
pub(super) fn note_impossible(record: &Value, damage: &mut RecordErrors) {
    let value = &record["v"];
    let is_list = record["k"].as_array().is_some_and(|path| path.len() == 1);
    let added = if is_list { value } else { &value["requests"] };
    for request in [added, &record["requests"]].into_iter().filter_map(Value::as_array).flatten() {
        cost_of(request, damage);
    }
    if record["k"].as_array().and_then(|path| path.last()).is_some_and(|key| key == "copilotCredits") {
        dollars_of_credits(Number(value.as_f64()), damage);
    }
}

/// A request that was billed in credits.
#[derive(Debug)]
pub(super) struct Billed {
    id: String,
    line: i64,
    ended_at: Option<Time>,
    model: Option<Symbol>,
    output: Option<i64>,
    /// In US dollars.
    cost: f64,
}

impl Billed {
    /// What a request cost; `None` if that is not stated.
    pub(super) fn of(request: &Value, line: i64) -> Option<Self> {
        Some(Self {
            // What is impossible was noted with its record.
            cost: cost_of(request, &mut RecordErrors::default())?,
            id: request["requestId"].as_str().map_or_else(|| request["timestamp"].to_string(), str::to_owned),
            line,
            ended_at: time_of(&request["modelState"]["completedAt"]).or_else(|| time_of(&request["timestamp"])),
            model: request["modelId"].as_str().map(Symbol::new),
            // A 0 beside credits is that of subagents whose parent has not stated anything yet.
            output: request["completionTokens"].as_i64().filter(|count| *count > 0),
        })
    }
}

/// Adds a total for each request. Of several states of one request the first in the list counts.
pub(super) fn add(session: &mut SessionResult, billed: Vec<Billed>) {
    let mut ids = HashSet::new();
    // The input of the requests is unknown.
    session.under_reports |= !billed.is_empty();
    for request in billed.into_iter().filter(|request| ids.insert(request.id.clone())) {
        let tokens = Tokens { output: request.output, ..Tokens::UNKNOWN };
        let model = ModelTotal { model: request.model, tokens, cost: Some(request.cost), ..ModelTotal::default() };
        session.totals.push(Total {
            line: request.line,
            key: format!("request {}", request.id),
            kind: TotalKind::Run,
            occurred_at: request.ended_at,
            models: vec![model],
            covers_subagents: true,
            ..Total::default()
        });
    }
}
