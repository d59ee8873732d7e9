//! A session as metrics: how many tokens its responses have and how long they took, by the conventions for generative AI, and sums of
//! tokens and dollars with the totals of the archive.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::span::{Attribute, Attributes, nanoseconds};
use super::tables::Tables;
use crate::analysis::export::by_session::key_of;
use crate::base::time::Time;
use crate::model::session::{add, add_money};

/// The bounds of buckets that the conventions advise for tokens.
const TOKEN_BOUNDS: [f64; 14] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1024.0,
    4096.0,
    16384.0,
    65536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];
/// The same for seconds.
const SECOND_BOUNDS: [f64; 14] =
    [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/// The points are those of one session: no earlier ones are part of them.
const DELTA: u8 = 1;

/// A metric.
#[derive(Debug, Serialize)]
pub(super) struct Metric {
    name: &'static str,
    description: &'static str,
    unit: &'static str,
    #[serde(flatten)]
    data: Data,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
enum Data {
    #[serde(rename_all = "camelCase")]
    Histogram { data_points: Vec<HistogramPoint>, aggregation_temporality: u8 },
    #[serde(rename_all = "camelCase")]
    Sum { data_points: Vec<Point>, aggregation_temporality: u8, is_monotonic: bool },
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct HistogramPoint {
    attributes: Vec<Attribute>,
    #[serde(flatten)]
    times: Times,
    count: String,
    sum: f64,
    min: f64,
    max: f64,
    bucket_counts: Vec<String>,
    explicit_bounds: &'static [f64],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Point {
    attributes: Vec<Attribute>,
    #[serde(flatten)]
    times: Times,
    #[serde(flatten)]
    value: BTreeMap<&'static str, Value>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Times {
    start_time_unix_nano: String,
    time_unix_nano: String,
}

/// What the points of a session are separated by: the provider and the model.
type Models = (Option<String>, Option<String>);

/// The kinds of tokens of [`Sums`], as `agentlogs.token.type` names them.
const KINDS: [&str; 4] = ["input", "output", "cache_read", "cache_write"];

/// The observations and the sums of a model.
#[derive(Debug, Default)]
struct Sums {
    /// Whole prompts of responses, as the conventions define input.
    input: Vec<f64>,
    output: Vec<f64>,
    seconds: Vec<f64>,
    /// All tokens by kind, also those of totals without responses.
    tokens: [Option<i64>; 4],
    cost: Option<f64>,
}

/// The metrics of a session; `None` if it has no known time, which each point needs.
pub(super) fn metrics(tables: &Tables, row: usize) -> Option<Vec<Metric>> {
    let sessions = &tables.sessions;
    let key = key_of(sessions.runtime(row), sessions.id(row));
    let mut models: BTreeMap<Models, Sums> = BTreeMap::new();
    let (mut first, mut last) = (sessions.started_at(row), sessions.ended_at(row));
    for turn in tables.turns_of.of(&key) {
        let turns = &tables.turns;
        first = first.into_iter().chain(turns.time(turn)).min();
        last = last.max(turns.time(turn)).max(turns.ended_at(turn));
        let owned = |text: Option<&str>| text.map(str::to_owned);
        models.entry((owned(turns.provider(turn)), owned(turns.model(turn)))).or_default().add(tables, turn);
    }
    let times = times(first.or(last)?, last.or(first)?);
    Some(points(&models, &times))
}

fn times(first: Time, last: Time) -> Times {
    Times { start_time_unix_nano: nanoseconds(Some(first)), time_unix_nano: nanoseconds(Some(last)) }
}

impl Sums {
    fn add(&mut self, tables: &Tables, row: usize) {
        let turns = &tables.turns;
        let kinds = [turns.input(row), turns.output(row), turns.cache_read(row), turns.cache_write(row)];
        for (sum, count) in self.tokens.iter_mut().zip(kinds) {
            *sum = add(*sum, count);
        }
        self.cost = add_money(self.cost, turns.cost(row));
        // A total of a session is not an operation.
        if turns.grain(row) != Some("turn") {
            return;
        }
        let [input, output, cache_read, cache_write] = kinds;
        let prompt = input.map(|input| input as f64 + cache_read.unwrap_or(0) as f64 + cache_write.unwrap_or(0) as f64);
        self.input.extend(prompt);
        self.output.extend(output.map(|output| output as f64));
        self.seconds.extend(turns.duration_ms(row).map(|duration| duration as f64 / 1000.0));
    }
}

/// The metrics that have a point.
fn points(models: &BTreeMap<Models, Sums>, times: &Times) -> Vec<Metric> {
    let (mut usage, mut durations, mut tokens, mut costs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (names, sums) in models {
        let of_operation = |more: &[(&str, &str)]| {
            let mut attributes = named(names);
            attributes.text("gen_ai.operation.name", Some("chat"));
            for (name, value) in more {
                attributes.text(name, Some(value));
            }
            attributes.0
        };
        for (kind, counts) in [("input", &sums.input), ("output", &sums.output)] {
            let attributes = of_operation(&[("gen_ai.token.type", kind)]);
            usage.extend(histogram(attributes, times, counts, &TOKEN_BOUNDS));
        }
        durations.extend(histogram(of_operation(&[]), times, &sums.seconds, &SECOND_BOUNDS));
        for (kind, count) in KINDS.iter().zip(sums.tokens) {
            let Some(count) = count else { continue };
            let mut attributes = named(names);
            attributes.text("agentlogs.token.type", Some(kind));
            let value = BTreeMap::from([("asInt", json!(count.to_string()))]);
            tokens.push(Point { attributes: attributes.0, times: times.clone(), value });
        }
        costs.extend(sums.cost.filter(|cost| cost.is_finite()).map(|cost| Point {
            attributes: named(names).0,
            times: times.clone(),
            value: BTreeMap::from([("asDouble", json!(cost))]),
        }));
    }
    let histogram = |data_points| Data::Histogram { data_points, aggregation_temporality: DELTA };
    let sum = |data_points| Data::Sum { data_points, aggregation_temporality: DELTA, is_monotonic: true };
    let metric = |name, description, unit, data| Metric { name, description, unit, data };
    let metrics = [
        (usage.is_empty(), metric("gen_ai.client.token.usage", "Tokens of responses", "{token}", histogram(usage))),
        (
            durations.is_empty(),
            metric("gen_ai.client.operation.duration", "Durations of responses", "s", histogram(durations)),
        ),
        (tokens.is_empty(), metric("agentlogs.tokens", "Tokens by disjoint kinds", "{token}", sum(tokens))),
        (costs.is_empty(), metric("agentlogs.cost", "Cost in US dollars", "{USD}", sum(costs))),
    ];
    metrics.into_iter().filter(|(is_empty, _)| !is_empty).map(|(_, metric)| metric).collect()
}

fn named((provider, model): &Models) -> Attributes {
    let mut attributes = Attributes::default();
    attributes
        .text("gen_ai.provider.name", provider.as_deref())
        .text("gen_ai.request.model", model.as_deref())
        .text("gen_ai.response.model", model.as_deref());
    attributes
}

/// The point of observations; `None` if there are none.
fn histogram(
    attributes: Vec<Attribute>,
    times: &Times,
    values: &[f64],
    bounds: &'static [f64],
) -> Option<HistogramPoint> {
    let min = values.iter().copied().reduce(f64::min)?;
    let max = values.iter().copied().reduce(f64::max)?;
    let mut counts = vec![0_u64; bounds.len() + 1];
    for value in values {
        // A bound belongs to the bucket below it.
        if let Some(count) = counts.get_mut(bounds.partition_point(|bound| bound < value)) {
            *count += 1;
        }
    }
    Some(HistogramPoint {
        attributes,
        times: times.clone(),
        count: values.len().to_string(),
        sum: values.iter().sum(),
        min,
        max,
        bucket_counts: counts.iter().map(ToString::to_string).collect(),
        explicit_bounds: bounds,
    })
}
