//! Spans of the runs of agents. Such a span can state the sum of the requests inside of it: it counts where the file contains no
//! request with counts inside of it, and of agents inside of each other the outermost one counts.

use foldhash::{HashMap, HashSet};

use super::attributes::time_of;
use super::product::Key;
use super::records::Span;
use super::session::Session;
use super::span_tree::SpanTree;
use super::spans::{self, MODELS, PROVIDERS, Record, TOTALS, counts_of, tokens_of};
use crate::adapters::engine::sessions::SessionsById;
use crate::adapters::engine::{Context, RecordErrors};
use crate::base::text::Symbol;
use crate::json::fields::Count;
use crate::model::id_hash::IdHash;
use crate::model::session::{Capabilities, ModelTotal, SessionResult, Total, TotalKind};

/// The runs of agents in a file.
#[derive(Default)]
pub(super) struct AgentRuns {
    traces: HashMap<String, Trace>,
    tree: SpanTree,
    sessions: SessionsById<Session>,
}

/// The spans of a trace that have counts.
#[derive(Default)]
struct Trace {
    /// The runs by their spans.
    runs: HashMap<IdHash, Run>,
    /// The requests, each as a total that has only its times.
    requests: Vec<(IdHash, Total)>,
}

/// The run of an agent.
struct Run {
    /// The index of its session.
    session: usize,
    total: Total,
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
        let name = self.tree.add(trace, id, span.parent_span_id.some());
        if !spans::is_run(record.attributes) || spans::has_log_of_requests(span, record.attributes) {
            return false;
        }
        let counts = counts_of(record.attributes);
        if counts.iter().all(|it| *it == Count::Unknown) {
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
        let (times, ended_at) = (times_of(span), time_of(span.end_time_unix_nano));
        let total = Total {
            line: record.line.number,
            key: format!("agent {trace} {id}"),
            kind: TotalKind::Run,
            duration_ms: times.started_at.zip(ended_at).and_then(|(start, end)| end.duration_since(start)),
            models: vec![ModelTotal {
                model: symbol(&MODELS),
                provider: symbol(&PROVIDERS),
                tokens,
                ..ModelTotal::default()
            }],
            covers_subagents: true,
            // A sum may leave out requests, such as those of other agents.
            is_minimum: true,
            ..times
        };
        self.traces.entry(trace.to_owned()).or_default().runs.entry(name).or_insert(Run { session, total });
        true
    }

    /// A request with counts is in this file: the runs around it may state its tokens again.
    pub(super) fn found_request(&mut self, span: &Span<'_>) {
        let (Some(trace), Some(id)) = (span.trace_id.some(), span.span_id.some()) else { return };
        let request = (SpanTree::name(trace, id), times_of(span));
        self.traces.entry(trace.to_owned()).or_default().requests.push(request);
    }

    /// The sessions of the runs that count, with their sums.
    pub(super) fn finish(self) -> Vec<SessionResult> {
        let mut totals: HashMap<usize, Vec<Total>> = HashMap::default();
        for (name, trace) in self.traces {
            for run in trace.counted(&name, &self.tree) {
                totals.entry(run.session).or_default().push(run.total);
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
            Some(session.finish())
        });
        with_totals.collect()
    }
}

/// A total without tokens that has the times of a span.
fn times_of(span: &Span<'_>) -> Total {
    let started_at = time_of(span.start_time_unix_nano);
    Total { started_at, occurred_at: time_of(span.end_time_unix_nano).or(started_at), ..Total::default() }
}

impl Trace {
    /// The runs without a request inside of them, less those that are inside of another such run.
    fn counted(self, name: &str, tree: &SpanTree) -> Vec<Run> {
        let mut runs = self.runs;
        for (span, run) in &mut runs {
            run.total.place = Some(tree.place(name, *span));
        }
        for (span, request) in self.requests {
            if runs.is_empty() {
                break;
            }
            let place = tree.place(name, span);
            for around in &place.around {
                runs.remove(around);
            }
            if place.is_open {
                let request = Total { place: Some(place), ..request };
                runs.retain(|_, run| !request.is_inside_of(&run.total));
            }
        }
        let is_inner = |total: &Total| {
            let is_open = total.place.as_ref().is_some_and(|place| place.is_open);
            let mut around = total.place.iter().flat_map(|place| &place.around);
            around.any(|span| runs.contains_key(span))
                || is_open && runs.values().any(|outer| total.is_inside_of(&outer.total))
        };
        let inner: HashSet<IdHash> =
            runs.iter().filter(|(_, run)| is_inner(&run.total)).map(|(span, _)| *span).collect();
        runs.into_iter().filter(|(span, _)| !inner.contains(span)).map(|(_, run)| run).collect()
    }
}
