//! Spans of requests inside of each other: several libraries can describe one request, each with a span of its own, and a span around
//! several requests can state their sum. The conventions name the operation of a span. Where a span has none, its place decides: it is
//! no request of its own inside of a named one, nor around another request.

use foldhash::{HashMap, HashSet, HashSetExt as _};

use super::records::Span;
use crate::model::session::SessionResult;

/// Requests are not nested more deeply.
const DEEPEST: usize = 16;

/// The requests of a session by the names of their spans.
#[derive(Debug, Default)]
pub(super) struct NestedRequests {
    by_span: HashMap<String, Request>,
}

#[derive(Debug)]
struct Request {
    turn: usize,
    parent: Option<String>,
    /// Whether the span names its operation.
    is_named: bool,
}

impl NestedRequests {
    pub(super) fn add(&mut self, span: &Span<'_>, turn: usize, is_named: bool) {
        let name = |id: &str| format!("{} {id}", span.trace_id.as_str());
        let Some(id) = span.span_id.some() else { return };
        let parent = span.parent_span_id.some().map(name);
        self.by_span.insert(name(id), Request { turn, parent, is_named });
    }

    /// For each turn that is not a request of its own, the turn of the request.
    fn repeated(&self) -> HashMap<usize, usize> {
        let mut repeated = HashMap::default();
        for request in self.by_span.values() {
            let next = |inner: &&Request| self.by_span.get(inner.parent.as_ref()?);
            let around: Vec<&Request> = std::iter::successors(next(&request), |it| next(it)).take(DEEPEST).collect();
            if !request.is_named
                && let Some(named) = around.iter().find(|it| it.is_named)
            {
                repeated.insert(request.turn, named.turn);
                continue;
            }
            for outer in around.into_iter().filter(|it| !it.is_named) {
                // Of several requests inside of a span, the first one has its calls.
                let inner = repeated.entry(outer.turn).or_insert(request.turn);
                *inner = request.turn.min(*inner);
            }
        }
        repeated.retain(|turn, request| turn != request);
        repeated
    }

    /// Removes what is not a request of its own. Its calls and events are those of the request.
    pub(super) fn remove_repeated(&self, session: &mut SessionResult) {
        if self.by_span.values().all(|request| request.is_named) {
            return;
        }
        let repeated = self.repeated();
        let removed: HashSet<usize> = repeated.keys().copied().collect();
        if removed.is_empty() {
            return;
        }
        let request_of = |mut turn: usize| {
            let mut seen = HashSet::new();
            while let Some(next) = repeated.get(&turn).filter(|_| seen.insert(turn)) {
                turn = *next;
            }
            turn - removed.iter().filter(|it| **it < turn).count()
        };
        let calls = session.tool_calls.iter_mut().map(|call| &mut call.turn);
        for turn in calls.chain(session.events.iter_mut().map(|event| &mut event.turn)) {
            *turn = turn.map(request_of);
        }
        let mut index = 0..;
        session.turns.retain(|_| index.next().is_none_or(|index| !removed.contains(&index)));
    }
}
