//! Counters of tokens and cost, which are all that a runtime exports if only metrics are collected.

use std::collections::BTreeMap;

use super::attributes::{Attributes, time_of};
use super::product::{Key, METRICS};
use super::records::Point;
use crate::adapters::engine::{Context, RecordErrors};
use crate::adapters::shared::builder::Builder;
use crate::adapters::shared::usage::{Included, uncached};
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::json::fields::{Count, Number};
use crate::model::health::Reason;
use crate::model::session::{ModelTotal, SessionResult, Status, Tokens, Total, TotalKind};

/// What a metric counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Measure {
    Tokens,
    Cost,
}

impl Measure {
    /// The measure of a metric, by its name without the product's.
    pub(super) fn of(name: &str) -> Option<Self> {
        match name {
            "token.usage" => Some(Self::Tokens),
            "cost.usage" => Some(Self::Cost),
            _ => None,
        }
    }
}

/// A counter of a metric.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counter {
    pub(super) measure: Measure,
    /// Whether it counts from the start of the process, or of each interval.
    pub(super) is_cumulative: bool,
}

/// A kind of tokens, as the runtimes name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Input,
    Output,
    CacheRead,
    CacheWrite,
    /// Cached tokens that input includes.
    CachedInput,
    /// Reasoning that output excludes.
    Thoughts,
    /// Tokens of tools, a part of the prompt that input excludes.
    Tool,
    Cost,
}

impl Kind {
    fn of(measure: Measure, name: &str) -> Option<Self> {
        Some(match (measure, name) {
            (Measure::Cost, _) => Self::Cost,
            (Measure::Tokens, "input") => Self::Input,
            (Measure::Tokens, "output") => Self::Output,
            (Measure::Tokens, "cacheRead") => Self::CacheRead,
            (Measure::Tokens, "cacheCreation") => Self::CacheWrite,
            (Measure::Tokens, "cache") => Self::CachedInput,
            (Measure::Tokens, "thought") => Self::Thoughts,
            (Measure::Tokens, "tool") => Self::Tool,
            (Measure::Tokens, _) => return None,
        })
    }
}

/// The last value of one counter.
struct Value {
    line: i64,
    time: Option<Time>,
    model: Option<Symbol>,
    kind: Kind,
    value: f64,
}

/// The counters of one session.
pub(super) struct Sums {
    builder: Builder,
    /// By what they count from: the start of the process, or of the interval; and by all attributes.
    values: BTreeMap<(String, String), Value>,
}

impl Sums {
    pub(super) fn new(context: &Context, key: &Key<'_>, line: i64) -> Self {
        let mut builder = Builder::new(context, key.id, line);
        builder.session.runtime = key.runtime.to_owned().into();
        builder.session.capabilities = METRICS;
        Self { builder, values: BTreeMap::new() }
    }

    /// Adds the value of a counter.
    pub(super) fn add(
        &mut self,
        counter: Counter,
        point: &Point<'_>,
        attributes: Attributes<'_, '_>,
        line: i64,
        damage: &mut RecordErrors,
    ) {
        let Counter { measure, is_cumulative } = counter;
        let kind = attributes.text("type");
        let Some(kind) = Kind::of(measure, kind.as_deref().unwrap_or_default()) else { return };
        let value = Number(point.value());
        let is_count = value.whole().is_some_and(|it| matches!(Count::from(it), Count::Known(_)));
        let Some(number) = value.money().filter(|_| measure == Measure::Cost || is_count) else {
            damage.note(Reason::BadNumber);
            return;
        };
        let (start, time) = (time_of(point.start_time_unix_nano), time_of(point.time_unix_nano));
        self.builder.extend_to(start);
        self.builder.extend_to(time);
        let micros = |time: Option<Time>| time.map_or(0, Time::micros);
        let since = if is_cumulative {
            format!("since {}", micros(start))
        } else {
            format!("{} to {}", micros(start), micros(time))
        };
        let name = format!("{measure:?} {}", attributes.name());
        let model = attributes.text("model").map(|it| Symbol::new(&it));
        let new = Value { line, time, model, kind, value: number };
        let known = self.values.entry((since, name)).or_insert(new);
        if number > known.value {
            known.value = number;
        }
        (known.line, known.time) = (known.line.max(line), known.time.max(time));
    }

    pub(super) fn finish(mut self) -> SessionResult {
        let mut totals: Vec<Total> = Vec::new();
        for ((since, _), value) in &self.values {
            if totals.last().is_none_or(|total| total.key != *since) {
                totals.push(Total {
                    key: since.clone(),
                    kind: TotalKind::Process,
                    covers_subagents: true,
                    is_of_new_process: true,
                    ..Total::default()
                });
            }
            if let Some(total) = totals.last_mut() {
                add_to(total, value);
            }
        }
        for model in totals.iter_mut().flat_map(|total| &mut total.models) {
            // Input includes the cached tokens where both are known.
            let includes_cached =
                self.values.values().any(|it| it.kind == Kind::CachedInput && it.model == model.model);
            if includes_cached {
                let Tokens { input, cache_read, .. } = model.tokens;
                model.tokens.input = uncached(Included::Always, input, cache_read, None);
            }
        }
        totals.sort_by_key(|total| (total.occurred_at, total.line));
        let session = &mut self.builder.session;
        session.totals = totals;
        session.status = Status::Unknown;
        self.builder.finish()
    }
}

/// Adds a counter to the total of its interval or process.
fn add_to(total: &mut Total, value: &Value) {
    total.line = total.line.max(value.line);
    total.occurred_at = total.occurred_at.max(value.time);
    if total.models.iter().all(|it| it.model != value.model) {
        total.models.push(ModelTotal { model: value.model.clone(), ..ModelTotal::default() });
    }
    let Some(model) = total.models.iter_mut().find(|it| it.model == value.model) else { return };
    let count = Number(Some(value.value)).rounded();
    let more = match value.kind {
        Kind::Cost => {
            model.cost = Some(model.cost.unwrap_or(0.0) + value.value);
            return;
        }
        Kind::Input | Kind::Tool => Tokens { input: count, ..Tokens::UNKNOWN },
        Kind::Output => Tokens { output: count, ..Tokens::UNKNOWN },
        Kind::Thoughts => Tokens { output: count, reasoning: count, ..Tokens::UNKNOWN },
        Kind::CacheRead | Kind::CachedInput => Tokens { cache_read: count, ..Tokens::UNKNOWN },
        Kind::CacheWrite => Tokens { cache_write: count, ..Tokens::UNKNOWN },
    };
    model.tokens = model.tokens.plus(more);
}
