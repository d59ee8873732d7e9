//! What happened on the tracks of a session: responses, calls, and waiting for a human.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::event::args;
use super::tables::Tables;
use crate::adapters::shared::tools::asks_human;
use crate::analysis::rows::{Key, start_of};
use crate::base::time::Time;
use crate::store::frames::{tool_calls, turns};

/// The agent of a track: its id or its name; `None` for the main agent.
pub(super) type Agent = Option<String>;

/// What a slice shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A response of the model, or waiting between two of them.
    Agent,
    /// A call of a tool.
    Tool,
}

/// A part of the time of an agent.
#[derive(Debug)]
pub(super) struct Slice {
    pub agent: Agent,
    pub kind: Kind,
    pub name: String,
    pub category: String,
    /// Microseconds since 1970.
    pub start: i64,
    /// Microseconds; `None` if it is unknown.
    pub duration: Option<i64>,
    pub args: Map<String, Value>,
}

impl Slice {
    pub(super) fn end(&self) -> i64 {
        self.start.saturating_add(self.duration.unwrap_or(0))
    }
}

/// The slices of a session, and the rows without a time, which have none.
#[derive(Debug, Default)]
pub(super) struct Slices {
    pub all: Vec<Slice>,
    pub untimed: usize,
}

/// The slices of the session of a key.
pub(super) fn slices(tables: &Tables, key: &Key) -> Slices {
    let mut slices = Slices::default();
    let mut agents: HashMap<i64, Agent> = HashMap::new();
    for row in tables.turns_of.of(key).filter(|row| tables.turns.grain(*row) == Some("turn")) {
        let agent = agent_of_turn(tables, row);
        if let Some(number) = tables.turns.number(row) {
            agents.insert(number, agent.clone());
        }
        match response(tables, row, agent) {
            Some(slice) => slices.all.push(slice),
            None => slices.untimed += 1,
        }
    }
    let mut with_calls: HashSet<i64> = HashSet::new();
    let mut calls = Vec::new();
    for row in tables.calls_of.of(key) {
        with_calls.extend(tables.calls.turn(row));
        let of_turn = tables.calls.turn(row).and_then(|turn| agents.get(&turn)).cloned();
        let named = || tables.calls.is_subagent(row).then(|| tables.calls.agent(row).unwrap_or("subagent").to_owned());
        match call(tables, row, of_turn.unwrap_or_else(named)) {
            Some(slice) => calls.push(slice),
            None => slices.untimed += 1,
        }
    }
    slices.all.extend(waiting(tables, key, &with_calls));
    slices.all.extend(calls);
    // A slice without a length comes before one that begins with it.
    slices.all.sort_by(|a, b| (a.start, &a.agent, a.kind, a.end()).cmp(&(b.start, &b.agent, b.kind, b.end())));
    slices
}

fn agent_of_turn(tables: &Tables, row: usize) -> Agent {
    let turns = &tables.turns;
    let name = turns.agent_id(row).or(turns.agent(row)).unwrap_or("subagent");
    turns.is_subagent(row).then(|| name.to_owned())
}

/// The start and the end of a response: its logged duration, else the time from the prompt or the last result to its end.
fn span(tables: &Tables, row: usize) -> Option<(i64, i64, bool)> {
    let turns = &tables.turns;
    let end = turns.end(row)?;
    let duration = turns.duration_ms(row).or(turns.latency_ms(row)).filter(|duration| *duration >= 0);
    let start = start_of(Some(end), duration);
    Some((start.unwrap_or(end), end, start.is_some()))
}

fn response(tables: &Tables, row: usize, agent: Agent) -> Option<Slice> {
    let turns = &tables.turns;
    let (start, end, is_known) = span(tables, row)?;
    let args = args([
        (turns::TURN, json!(turns.number(row))),
        (turns::EFFORT, json!(turns.effort(row))),
        (turns::STOP_REASON, json!(turns.stop_reason(row))),
        (turns::INPUT_TOKENS, json!(turns.input(row))),
        (turns::OUTPUT_TOKENS, json!(turns.output(row))),
        (turns::CACHE_READ_TOKENS, json!(turns.cache_read(row))),
        (turns::CACHE_WRITE_TOKENS, json!(turns.cache_write(row))),
        (turns::COST_USD, json!(turns.cost(row))),
        (turns::LINE, json!(turns.line(row))),
    ]);
    Some(Slice {
        agent,
        kind: Kind::Agent,
        name: turns.model(row).unwrap_or("model").to_owned(),
        category: "model".to_owned(),
        start,
        duration: is_known.then(|| end.saturating_sub(start)),
        args,
    })
}

fn call(tables: &Tables, row: usize, agent: Agent) -> Option<Slice> {
    let calls = &tables.calls;
    let start = calls.time(row).map(Time::micros)?;
    let duration = calls.duration_ms(row).filter(|duration| *duration >= 0).and_then(|it| it.checked_mul(1000));
    let tool = calls.tool(row).unwrap_or("tool");
    let category = if asks_human(tool) { "waiting" } else { calls.category(row).unwrap_or("other") };
    let args = args([
        (tool_calls::STATUS, json!(calls.status(row))),
        (tool_calls::TARGET, json!(calls.target(row))),
        (tool_calls::EXIT_CODE, json!(calls.exit_code(row))),
        (tool_calls::TURN, json!(calls.turn(row))),
        (tool_calls::LINE, json!(calls.line(row))),
        ("arguments", json!(calls.args(row))),
        ("result", json!(calls.result(row))),
    ]);
    let (name, category) = (tool.to_owned(), category.to_owned());
    Some(Slice { agent, kind: Kind::Tool, name, category, start, duration, args })
}

/// From a response of the main agent without calls to the start of its next one: the human writes a prompt.
fn waiting(tables: &Tables, key: &Key, with_calls: &HashSet<i64>) -> Vec<Slice> {
    let turns = &tables.turns;
    let main = tables.turns_of.of(key).filter(|row| !turns.is_subagent(*row));
    // By their end: a title is made while another response is.
    let mut spans: BTreeMap<(i64, i64), bool> = BTreeMap::new();
    for row in main {
        let (Some(number), Some((start, end, _))) = (turns.number(row), span(tables, row)) else { continue };
        spans.insert((end, start), with_calls.contains(&number));
    }
    let spans: Vec<((i64, i64), bool)> = spans.into_iter().collect();
    let gaps = spans.windows(2).filter_map(|pair| {
        let [((end, _), has_calls), ((_, next), _)] = pair else { return None };
        (!has_calls && next > end).then(|| Slice {
            agent: None,
            kind: Kind::Agent,
            name: "waiting".to_owned(),
            category: "waiting".to_owned(),
            start: *end,
            duration: Some(next.saturating_sub(*end)),
            args: Map::new(),
        })
    });
    gaps.collect()
}
