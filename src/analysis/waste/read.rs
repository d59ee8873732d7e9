//! Reads the rows that the causes need, in batches, and sorts them by session.

use std::collections::BTreeSet;

use foldhash::HashMap;
use polars::prelude::*;

use super::rows::{Call, Count, Event, Place, Turn, TurnRates};
use crate::adapters::shared::tools::polls;
use crate::analysis::behaviour::{Find, Purpose, SessionRows, Sorted, agent_of_call, is_answer};
use crate::analysis::reports::Cost;
use crate::analysis::reports::tables::{Frames, for_each_batch, hash_of, physical};
use crate::base::text::SharedStr;
use crate::base::time::Time;
use crate::model::session::Tokens;
use crate::prices::{Catalog, Pricer, Rates, Request};

/// Texts as numbers: in rows, of which there are millions, they take less memory.
#[derive(Debug, Default)]
pub(super) struct Names {
    numbers: HashMap<SharedStr, u32>,
    names: Vec<SharedStr>,
}

impl Names {
    /// The number of a text.
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        let name = SharedStr::from(name);
        self.numbers.insert(name.clone(), number);
        self.names.push(name);
        number
    }

    /// The texts, in the order of their numbers.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(SharedStr::as_str)
    }
}

/// The names of all tools, and the paths of all logs.
#[derive(Debug, Default)]
pub(super) struct AllNames {
    pub tools: Names,
    pub paths: Names,
}

/// The rows of some sessions.
#[derive(Default)]
pub(super) struct Read {
    pub turns: Sorted<Turn>,
    pub calls: Sorted<Call>,
    pub events: Sorted<Event>,
    pub rates: Vec<TurnRates>,
}

impl SessionRows for Read {
    fn sessions(&self) -> BTreeSet<usize> {
        self.turns.sessions().chain(self.calls.sessions()).chain(self.events.sessions()).collect()
    }
}

/// Reads the rows of sessions, and adds their names to `names`. `starts` are the starts of sessions, in microseconds: the times of
/// responses without one.
pub(super) fn read(
    tables: &Frames,
    find: Find<'_>,
    starts: &[Option<i64>],
    cost: Cost,
    catalog: &Catalog,
    names: &mut AllNames,
) -> PolarsResult<Read> {
    let (turns, rates) = turns(tables, find, starts, cost, catalog, &mut names.paths)?;
    let calls = calls(tables, &turns, find, names)?;
    let events = events(tables, find)?;
    Ok(Read { turns, calls, events, rates })
}

/// The prices of responses, each once.
struct Prices<'c> {
    pricer: Pricer<'c>,
    rates: Vec<TurnRates>,
    numbers: HashMap<[u64; 10], u32>,
}

impl Prices<'_> {
    /// The number of the prices of a request; `None` if it has no price.
    fn number(&mut self, request: &Request<'_>) -> Option<u32> {
        let priced = self.pricer.price(request).ok()?;
        let is_long = priced.terms.long_context.is_some();
        let ordinary = if is_long { self.pricer.price(&Request { is_sum: true, ..*request }).ok() } else { None };
        let rates = TurnRates { rates: priced.terms.rates, ordinary: ordinary.map(|priced| priced.terms.rates) };
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
        Some(number)
    }
}

fn turns(
    tables: &Frames,
    find: Find<'_>,
    starts: &[Option<i64>],
    cost: Cost,
    catalog: &Catalog,
    paths: &mut Names,
) -> PolarsResult<(Sorted<Turn>, Vec<TurnRates>)> {
    const TEXTS: [&str; 11] = [
        "runtime",
        "session_id",
        "source_path",
        "agent",
        "agent_id",
        "provider",
        "model",
        "canonical_model",
        "service_tier",
        "speed",
        "stop_reason",
    ];
    const WHOLES: [&str; 10] = [
        "turn",
        "line",
        "occurred_at",
        "duration_ms",
        "tool_calls",
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "cache_write_1h_tokens",
    ];
    const FLOATS: [&str; 6] = [
        "cost_usd",
        "stored_cost_usd",
        "input_cost_usd",
        "output_cost_usd",
        "cache_read_cost_usd",
        "cache_write_cost_usd",
    ];
    let rows = tables.table("turns").filter(col("grain").eq(lit("turn")));
    let rows = rows.with_column(col("cost_usd").alias("stored_cost_usd")).with_columns(cost.columns());
    let rows = physical(rows, &[&TEXTS[..], &["is_subagent"], &WHOLES, &FLOATS].concat());
    let mut prices = Prices { pricer: Pricer::new(catalog), rates: Vec::new(), numbers: HashMap::default() };
    let mut models = Names::default();
    let mut found: Vec<(usize, Turn)> = Vec::new();
    for_each_batch(rows, |batch| {
        let [runtime, session, path, agent, agent_id, provider, model, canonical, tier, speed, stop] =
            batch.texts(TEXTS)?;
        let [number, line, time, duration, calls, input, output, read, write, write_1h] = batch.wholes(WHOLES)?;
        let [cost, stored, of_input, of_output, of_read, of_write] = batch.floats(FLOATS)?;
        let is_subagent = batch.flag("is_subagent")?;
        found.reserve(batch.height());
        for row in 0..batch.height() {
            let Some(index) = find(runtime.get(row), session.get(row)) else { continue };
            let Some(number) = number.get(row) else { continue };
            let is_subagent = is_subagent.get(row).unwrap_or(false);
            let tokens = [input, output, read, write].map(|column| column.get(row));
            let start = starts.get(index).copied().flatten();
            let request = Request {
                provider: provider.get(row),
                model: model.get(row),
                at: time.get(row).or(start).map(Time::from_micros),
                tokens: Tokens {
                    input: input.get(row),
                    output: output.get(row),
                    cache_read: read.get(row),
                    cache_write: write.get(row),
                    ..Tokens::UNKNOWN
                },
                service_tier: tier.get(row),
                speed: speed.get(row),
                ..Request::default()
            };
            // The parts are those of the stored cost, which another choice of --cost scales.
            let scale = cost.get(row).zip(stored.get(row)).filter(|(_, stored)| *stored > 0.0);
            let parts = [of_input, of_output, of_read, of_write].map(|column| column.get(row));
            let parts = scale.filter(|_| parts.iter().any(Option::is_some)).map(|(cost, stored)| {
                #[expect(clippy::cast_possible_truncation, reason = "seven digits are enough for a part")]
                parts.map(|part| (part.unwrap_or(0.0) * cost / stored) as f32)
            });
            let thread = hash_of((is_subagent, is_subagent.then(|| agent_id.get(row).or(agent.get(row)))));
            let turn = Turn {
                number,
                time: time.get(row),
                duration: Count::new(duration.get(row)),
                thread,
                model: canonical.get(row).or(model.get(row)).map(|model| models.number(model)),
                is_subagent,
                is_of_openai: canonical.get(row).or(model.get(row)).is_some_and(is_of_openai),
                is_failed: stop.get(row) == Some("error"),
                calls: Count::new(calls.get(row)),
                tokens: tokens.map(Count::new),
                write_1h: Count::new(write_1h.get(row)),
                cost: cost.get(row),
                parts,
                rates: prices.number(&request),
                place: place(paths, path.get(row), line.get(row)),
            };
            found.push((index, turn));
        }
        Ok(())
    })?;
    Ok((Sorted::new(found, |turn| Some(turn.number)), prices.rates))
}

/// Whether OpenAI made a model.
fn is_of_openai(model: &str) -> bool {
    ["gpt-", "chatgpt-", "codex-", "o1", "o3", "o4"].iter().any(|start| model.starts_with(start))
}

fn place(paths: &mut Names, path: Option<&str>, line: Option<i64>) -> Place {
    Place { path: paths.number(path.unwrap_or_default()), line: Count::new(line) }
}

fn calls(tables: &Frames, turns: &Sorted<Turn>, find: Find<'_>, names: &mut AllNames) -> PolarsResult<Sorted<Call>> {
    const TEXTS: [&str; 10] = [
        "runtime",
        "session_id",
        "source_path",
        "category",
        "command_kind",
        "status",
        "agent",
        "tool",
        "args_hash",
        "target",
    ];
    const WHOLES: [&str; 5] = ["turn", "line", "occurred_at", "result_bytes", "exit_code"];
    let rows = physical(tables.table("tool_calls"), &[&TEXTS[..], &["is_subagent"], &WHOLES].concat());
    let mut found: Vec<(usize, Call)> = Vec::new();
    for_each_batch(rows, |batch| {
        let [runtime, session, path, category, kind, status, agent, tool, hash, target] = batch.texts(TEXTS)?;
        let [turn, line, time, result_bytes, exit_code] = batch.wholes(WHOLES)?;
        let is_subagent = batch.flag("is_subagent")?;
        for row in 0..batch.height() {
            let Some(index) = find(runtime.get(row), session.get(row)) else { continue };
            let (status, tool) = (status.get(row), tool.get(row).unwrap_or_default());
            let agent = agent_of_call(turns.of(index), turn.get(row), |turn| (turn.number, turn.thread))
                .unwrap_or_else(|| hash_of((is_subagent.get(row), agent.get(row))));
            // Each poll is a call of its own.
            let poll = polls(tool).then_some(found.len());
            let identity = hash.get(row).map(|hash| hash_of((agent, tool, hash, poll)));
            let is_answer = is_answer(exit_code.get(row), kind.get(row), target.get(row));
            let call = Call {
                time: time.get(row),
                turn: turn.get(row),
                tool: names.tools.number(tool),
                purpose: Purpose::of(category.get(row), kind.get(row)),
                is_ok: status == Some("ok"),
                is_error: status == Some("error") && !is_answer,
                identity,
                result_bytes: Count::new(result_bytes.get(row)),
                place: place(&mut names.paths, path.get(row), line.get(row)),
            };
            found.push((index, call));
        }
        Ok(())
    })?;
    Ok(Sorted::new(found, |call| call.time))
}

/// Compactions, and repeated requests without the status of an answer: the answer itself was rejected.
fn events(tables: &Frames, find: Find<'_>) -> PolarsResult<Sorted<Event>> {
    const TEXTS: [&str; 3] = ["runtime", "session_id", "kind"];
    const WHOLES: [&str; 2] = ["turn", "occurred_at"];
    let is_rejection = col("kind").eq(lit("retry")).and(col("code").is_null());
    let rows = tables.table("events").filter(col("kind").eq(lit("compaction")).or(is_rejection));
    let rows = physical(rows, &[&TEXTS[..], &["is_subagent"], &WHOLES].concat());
    let mut found: Vec<(usize, Event)> = Vec::new();
    for_each_batch(rows, |batch| {
        let [runtime, session, kind] = batch.texts(TEXTS)?;
        let [turn, time] = batch.wholes(WHOLES)?;
        let is_subagent = batch.flag("is_subagent")?;
        for row in 0..batch.height() {
            let Some(index) = find(runtime.get(row), session.get(row)) else { continue };
            let event = Event {
                is_compaction: kind.get(row) == Some("compaction"),
                is_subagent: is_subagent.get(row).unwrap_or(false),
                turn: turn.get(row),
                time: time.get(row),
            };
            found.push((index, event));
        }
        Ok(())
    })?;
    Ok(Sorted::new(found, |event| event.time))
}
