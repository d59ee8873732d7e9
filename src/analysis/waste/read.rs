//! Reads the rows that the causes need, in batches, and sorts them by session.

use std::collections::BTreeSet;

use foldhash::HashMap;
use polars::prelude::*;

use super::names::{AllNames, Names};
use super::rows::{Call, Count, Event, KINDS, Miss, Place, Turn, TurnRates};
use crate::analysis::rows::{
    CostBasis, Find, Frames, Purpose, SessionRows, Sorted, ToolMeanings, agent_of_call, end_of, hash_of, hash_of_agent,
    is_answer,
};
use crate::base::time::Time;
use crate::model::session::Tokens;
use crate::prices::{Catalog, Pricer, Rates, Request};
use crate::store::frames::{computed_columns, events, rows, tool_calls, turns};

/// The rows of some sessions.
#[derive(Default)]
pub(super) struct WasteRows {
    pub names: AllNames,
    pub turns: Sorted<Turn>,
    pub calls: Sorted<Call>,
    pub events: Sorted<Event>,
    pub rates: Vec<TurnRates>,
    pub models: Names,
}

impl SessionRows for WasteRows {
    fn sessions(&self) -> BTreeSet<usize> {
        self.turns.sessions().chain(self.calls.sessions()).chain(self.events.sessions()).collect()
    }
}

/// What the costs of responses depend on besides their rows.
#[derive(Clone, Copy)]
pub(super) struct Choices<'a> {
    /// The starts of the sessions, in microseconds: the times of responses without one.
    pub starts: &'a [Option<i64>],
    pub cost: CostBasis,
    pub catalog: &'a Catalog,
}

impl WasteRows {
    /// Reads the rows of sessions.
    pub(super) fn read(tables: &Frames, find: Find<'_>, choices: Choices<'_>) -> PolarsResult<Self> {
        let mut names = AllNames::default();
        let mut models = Names::default();
        let (turns, rates) = turns(tables, find, choices, &mut names.paths, &mut models)?;
        let calls = calls(tables, &turns, find, &mut names)?;
        let events = events(tables, find)?;
        Ok(Self { names, turns, calls, events, rates, models })
    }
}

/// The prices of responses, each once.
struct Prices<'c> {
    pricer: Pricer<'c>,
    rates: Vec<TurnRates>,
    numbers: HashMap<[u64; 10], u32>,
    /// The number that was returned last: most responses have the prices of the one before.
    last: u32,
}

impl Prices<'_> {
    /// The number of the prices of a request; `None` if it has no price.
    fn number(&mut self, request: &Request<'_>) -> Option<u32> {
        let priced = self.pricer.price(request).ok()?;
        let is_long = priced.terms.long_context.is_some();
        let ordinary = if is_long { self.pricer.price(&Request { is_sum: true, ..*request }).ok() } else { None };
        let rates = TurnRates { rates: priced.terms.rates, ordinary: ordinary.map(|priced| priced.terms.rates) };
        if self.rates.get(self.last as usize) == Some(&rates) {
            return Some(self.last);
        }
        let bits = |rates: &Rates| {
            [rates.input, rates.output, rates.cache_read, rates.cache_write, rates.cache_write_1h].map(f64::to_bits)
        };
        let mut key = [0; 10];
        let of_ordinary = rates.ordinary.as_ref().map_or([u64::MAX; 5], bits);
        for (to, from) in key.iter_mut().zip(bits(&rates.rates).into_iter().chain(of_ordinary)) {
            *to = from;
        }
        let next = u32::try_from(self.rates.len()).ok()?;
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.rates.push(rates);
        }
        self.last = number;
        Some(number)
    }
}

rows! {
    /// The columns of responses.
    struct TurnColumns {
        runtime: turns::RUNTIME,
        session: turns::SESSION_ID,
        path: turns::SOURCE_PATH,
        line: turns::LINE,
        number: turns::TURN,
        agent: turns::AGENT,
        agent_id: turns::AGENT_ID,
        is_subagent: turns::IS_SUBAGENT,
        provider: turns::PROVIDER,
        model: turns::MODEL,
        canonical_model: turns::CANONICAL_MODEL,
        time: turns::OCCURRED_AT,
        ended_at: turns::ENDED_AT,
        duration_ms: turns::DURATION_MS,
        latency_ms: turns::LATENCY_MS,
        stop_reason: turns::STOP_REASON,
        calls: turns::TOOL_CALLS,
        service_tier: turns::SERVICE_TIER,
        speed: turns::SPEED,
        cache_miss_reason: turns::CACHE_MISS_REASON,
        input: turns::INPUT_TOKENS,
        output: turns::OUTPUT_TOKENS,
        cache_read: turns::CACHE_READ_TOKENS,
        cache_write: turns::CACHE_WRITE_TOKENS,
        cache_write_1h: turns::CACHE_WRITE_1H_TOKENS,
        cost: turns::COST_USD,
        stored_cost: STORED_COST,
        input_cost: turns::INPUT_COST_USD,
        output_cost: turns::OUTPUT_COST_USD,
        cache_read_cost: turns::CACHE_READ_COST_USD,
        cache_write_cost: turns::CACHE_WRITE_COST_USD,
    }

    /// The columns of calls.
    struct CallColumns {
        runtime: tool_calls::RUNTIME,
        session: tool_calls::SESSION_ID,
        path: tool_calls::SOURCE_PATH,
        line: tool_calls::LINE,
        turn: tool_calls::TURN,
        agent: tool_calls::AGENT,
        is_subagent: tool_calls::IS_SUBAGENT,
        tool: tool_calls::TOOL,
        category: tool_calls::CATEGORY,
        kind: tool_calls::COMMAND_KIND,
        status: tool_calls::STATUS,
        target: tool_calls::TARGET,
        hash: tool_calls::ARGS_HASH,
        time: tool_calls::OCCURRED_AT,
        result_bytes: tool_calls::RESULT_BYTES,
        exit_code: tool_calls::EXIT_CODE,
    }

    /// The columns of events.
    struct EventColumns {
        runtime: events::RUNTIME,
        session: events::SESSION_ID,
        kind: events::KIND,
        turn: events::TURN,
        time: events::OCCURRED_AT,
        is_subagent: events::IS_SUBAGENT,
    }
}

computed_columns! {
    /// The cost of the tables, whatever the choice of `--cost`.
    STORED_COST: Float = "stored_cost_usd";
}

impl TurnColumns {
    /// The tokens by kind.
    fn tokens(&self, row: usize) -> [Option<i64>; KINDS] {
        [self.input(row), self.output(row), self.cache_read(row), self.cache_write(row)]
    }

    /// The parts of the cost by kind of tokens. They are those of the stored cost, which another choice of `--cost` scales.
    fn cost_parts(&self, row: usize) -> Option<[f32; KINDS]> {
        let (cost, stored) = self.cost(row).zip(self.stored_cost(row)).filter(|(_, stored)| *stored > 0.0)?;
        let parts =
            [self.input_cost(row), self.output_cost(row), self.cache_read_cost(row), self.cache_write_cost(row)];
        #[expect(clippy::cast_possible_truncation, reason = "seven digits are enough for a part")]
        let scaled = parts.map(|part| (part.unwrap_or(0.0) * cost / stored) as f32);
        parts.iter().any(Option::is_some).then_some(scaled)
    }

    /// The request, as far as its price depends on it. `start` is the start of its session.
    fn request(&self, row: usize, start: Option<i64>) -> Request<'_> {
        Request {
            provider: self.provider(row),
            model: self.model(row),
            at: self.time(row).or(start.map(Time::from_micros)),
            tokens: Tokens {
                input: self.input(row),
                output: self.output(row),
                cache_read: self.cache_read(row),
                cache_write: self.cache_write(row),
                ..Tokens::UNKNOWN
            },
            service_tier: self.service_tier(row),
            speed: self.speed(row),
            ..Request::default()
        }
    }

    /// A hash of the agent: the requests of one agent share a cache.
    fn thread(&self, row: usize) -> u64 {
        hash_of_agent(self.is_subagent(row), self.agent_id(row), self.agent(row))
    }
}

fn turns(
    tables: &Frames,
    find: Find<'_>,
    choices: Choices<'_>,
    paths: &mut Names,
    models: &mut Names,
) -> PolarsResult<(Sorted<Turn>, Vec<TurnRates>)> {
    let table = tables.table(turns::TABLE).filter(col(turns::GRAIN).eq(lit("turn")));
    let table = table.with_column(col(turns::COST_USD).alias(STORED_COST)).with_columns(choices.cost.columns());
    let mut prices =
        Prices { pricer: Pricer::new(choices.catalog), rates: Vec::new(), numbers: HashMap::default(), last: 0 };
    let turns = Sorted::read(
        table,
        |turns: &TurnColumns, row| {
            let index = find(turns.runtime(row), turns.session(row))?;
            let number = turns.number(row)?;
            let start = choices.starts.get(index).copied().flatten();
            let model = turns.canonical_model(row).or(turns.model(row));
            let turn = Turn {
                number,
                end: end_of(turns.time(row), turns.ended_at(row)),
                took: Count::new(turns.latency_ms(row).or(turns.duration_ms(row))),
                thread: turns.thread(row),
                model: model.map(|model| models.number(model)),
                is_subagent: turns.is_subagent(row),
                is_failed: turns.stop_reason(row) == Some("error"),
                miss: turns.cache_miss_reason(row).map(Miss::of),
                calls: Count::new(turns.calls(row)),
                tokens: turns.tokens(row).map(Count::new),
                write_1h: Count::new(turns.cache_write_1h(row)),
                cost: turns.cost(row),
                parts: turns.cost_parts(row),
                rates: prices.number(&turns.request(row, start)),
                place: place(paths, turns.path(row), turns.line(row)),
            };
            Some((index, turn))
        },
        |turn| Some(turn.number),
    )?;
    Ok((turns, prices.rates))
}

fn place(paths: &mut Names, path: Option<&str>, line: Option<i64>) -> Place {
    Place { path: paths.number(path.unwrap_or_default()), line: Count::new(line) }
}

fn calls(tables: &Frames, turns: &Sorted<Turn>, find: Find<'_>, names: &mut AllNames) -> PolarsResult<Sorted<Call>> {
    let mut meanings = ToolMeanings::default();
    let mut number = 0_usize;
    Sorted::read(
        tables.table(tool_calls::TABLE),
        |calls: &CallColumns, row| {
            let index = find(calls.runtime(row), calls.session(row))?;
            let (status, tool, kind) = (calls.status(row), calls.tool(row).unwrap_or_default(), calls.kind(row));
            let agent = agent_of_call(turns.of(index), calls.turn(row), |turn| (turn.number, turn.thread))
                .unwrap_or_else(|| hash_of_agent(calls.is_subagent(row), None, calls.agent(row)));
            number += 1;
            let poll = meanings.of(tool).polls.then_some(number);
            let is_answer = is_answer(calls.exit_code(row), kind, calls.target(row));
            let call = Call {
                time: calls.time(row).map(Time::micros),
                turn: calls.turn(row),
                tool: names.tools.number(tool),
                purpose: Purpose::of(calls.category(row), kind),
                is_ok: status == Some("ok"),
                is_error: status == Some("error") && !is_answer,
                identity: calls.hash(row).map(|hash| hash_of((agent, tool, hash, poll))),
                result_bytes: Count::new(calls.result_bytes(row)),
                place: place(&mut names.paths, calls.path(row), calls.line(row)),
            };
            Some((index, call))
        },
        |call| call.time,
    )
}

/// Compactions, and repeated requests without the status of an answer: the answer itself was rejected.
fn events(tables: &Frames, find: Find<'_>) -> PolarsResult<Sorted<Event>> {
    let is_rejection = col(events::KIND).eq(lit("retry")).and(col(events::CODE).is_null());
    let table = tables.table(events::TABLE).filter(col(events::KIND).eq(lit("compaction")).or(is_rejection));
    Sorted::read(
        table,
        |events: &EventColumns, row| {
            let index = find(events.runtime(row), events.session(row))?;
            let event = Event {
                is_compaction: events.kind(row) == Some("compaction"),
                is_subagent: events.is_subagent(row),
                turn: events.turn(row),
                time: events.time(row).map(Time::micros),
            };
            Some((index, event))
        },
        |event| event.time,
    )
}
