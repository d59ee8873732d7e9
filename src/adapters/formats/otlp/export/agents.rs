//! Spans of the runs of agents. Such a span can state the sum of the requests inside of it: it counts where the file contains no
//! request of its trace with counts, and of agents inside of each other the outermost one counts.

use foldhash::{HashMap, HashSet};

use super::attributes::time_of;
use super::product::Key;
use super::session::Session;
use super::spans::{self, MODELS, PROVIDERS, Record, TOTALS, counts_of, tokens_of};
use crate::adapters::engine::sessions::SessionsById;
use crate::adapters::engine::{Context, RecordErrors};
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::json::fields::Count;
use crate::model::session::{Capabilities, ModelTotal, SessionResult, Tokens, Total, TotalKind};

/// Spans are not nested more deeply.
const DEEPEST: usize = 64;

/// The runs of agents in a file.
#[derive(Default)]
pub(super) struct AgentRuns {
    traces: HashMap<String, Trace>,
    sessions: SessionsById<Session>,
}

/// The spans of a trace, until a request is found.
#[derive(Default)]
struct Trace {
    has_request: bool,
    /// The parents of spans of agents and tools.
    parents: HashMap<String, Option<String>>,
    /// The runs that state counts, by their spans.
    runs: HashMap<String, Run>,
}

/// The run of an agent.
struct Run {
    /// The index of its session.
    session: usize,
    line: i64,
    started_at: Option<Time>,
    ended_at: Option<Time>,
    model: Option<Symbol>,
    provider: Option<Symbol>,
    tokens: Tokens,
}

impl AgentRuns {
    /// Adds a span of any kind. Returns whether it is the run of an agent that states counts.
    pub(super) fn add(
        &mut self,
        record: &Record<'_, '_>,
        context: &Context,
        signal: Capabilities,
        damage: &mut RecordErrors,
    ) -> bool {
        let span = record.span;
        let (Some(trace), Some(id)) = (span.trace_id.some(), span.span_id.some()) else { return false };
        let is_run = spans::is_run(record.attributes);
        if !is_run && !spans::is_of_agent(record.attributes) || spans::has_log_of_requests(span, record.attributes) {
            return false;
        }
        let counts = if is_run { counts_of(record.attributes) } else { [Count::Unknown; 5] };
        let has_counts = counts.iter().any(|it| *it != Count::Unknown);
        let known = self.traces.entry(trace.to_owned()).or_default();
        if known.has_request {
            return has_counts;
        }
        known.parents.insert(id.to_owned(), span.parent_span_id.some().map(str::to_owned));
        if !has_counts {
            return false;
        }
        damage.note_impossible(&counts);
        let tokens = tokens_of(counts, record.attributes.first_count(&TOTALS));
        if tokens.is_all_zero() {
            return true;
        }
        let Some((runtime, session_id)) = spans::session_of(span, record.attributes) else { return false };
        let key = Key { runtime: &runtime, id: &session_id };
        let new = || Session::new(context, &key, signal, record.line.number);
        let session = self.sessions.index_or_add(&key.of_signal(signal), new);
        self.sessions[session].facts(record.attributes);
        let symbol = |names: &[&str]| record.attributes.first_text(names).map(|it| Symbol::new(&it));
        let run = Run {
            session,
            line: record.line.number,
            started_at: time_of(span.start_time_unix_nano),
            ended_at: time_of(span.end_time_unix_nano),
            model: symbol(&MODELS),
            provider: symbol(&PROVIDERS),
            tokens,
        };
        known.runs.entry(id.to_owned()).or_insert(run);
        true
    }

    /// A request with counts is in this trace: the runs around it may state its tokens again.
    pub(super) fn found_request(&mut self, trace: &str) {
        let known = self.traces.entry(trace.to_owned()).or_default();
        *known = Trace { has_request: true, ..Trace::default() };
    }

    /// The sessions of the runs that count, with their sums.
    pub(super) fn finish(self) -> Vec<SessionResult> {
        let mut totals: HashMap<usize, Vec<Total>> = HashMap::default();
        for (name, trace) in self.traces {
            let inner: HashSet<String> = trace.runs.keys().filter(|span| trace.is_inner(span)).cloned().collect();
            for (span, run) in trace.runs.into_iter().filter(|(span, _)| !inner.contains(span)) {
                totals.entry(run.session).or_default().push(run.into_total(&format!("{name} {span}")));
            }
        }
        let with_totals = self.sessions.into_iter().enumerate().filter_map(|(index, mut session)| {
            let mut totals = totals.remove(&index)?;
            totals.sort_by(|a, b| (a.occurred_at, a.line, &a.key).cmp(&(b.occurred_at, b.line, &b.key)));
            for total in &totals {
                session.builder.extend_to(total.started_at);
                session.builder.extend_to(total.occurred_at);
            }
            session.builder.session.totals = totals;
            // A sum may leave out requests, such as those of other agents.
            session.builder.session.under_reports = true;
            Some(session.finish())
        });
        with_totals.collect()
    }
}

impl Trace {
    /// Whether a run is inside of another one. Where the spans between them are in another file, its times show it.
    fn is_inner(&self, span: &str) -> bool {
        let mut around = self.parents.get(span);
        for _ in 0..DEEPEST {
            let Some(parent) = around else { break };
            let Some(parent) = parent else { return false };
            if self.runs.contains_key(parent) {
                return true;
            }
            around = self.parents.get(parent);
        }
        let Some(run) = self.runs.get(span) else { return false };
        self.runs.iter().any(|(other, around)| other != span && run.is_within(around) && !around.is_within(run))
    }
}

impl Run {
    fn is_within(&self, around: &Self) -> bool {
        around.started_at.is_some() && around.started_at <= self.started_at && self.ended_at <= around.ended_at
    }

    fn into_total(self, span: &str) -> Total {
        Total {
            line: self.line,
            key: format!("agent {span}"),
            kind: TotalKind::Run,
            started_at: self.started_at,
            occurred_at: self.ended_at.or(self.started_at),
            duration_ms: self.started_at.zip(self.ended_at).and_then(|(start, end)| end.duration_since(start)),
            models: vec![ModelTotal {
                model: self.model,
                provider: self.provider,
                tokens: self.tokens,
                ..ModelTotal::default()
            }],
            covers_subagents: true,
            ..Total::default()
        }
    }
}
