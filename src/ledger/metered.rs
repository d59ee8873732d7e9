//! Requests with all of their counts, which a runtime writes beside logs that leave counts out: the responses of the other logs get
//! the names of their requests, so that the merge joins them. See docs/accounting.md#requests-beside-a-log.

use foldhash::{HashMap, HashSet, HashSetExt as _};

use super::part::SessionPart;
use super::renumber::NewIndexes;
use crate::base::rows::Rows;
use crate::base::text::SharedStr;
use crate::base::time::Time;
use crate::model::session::{Capabilities, Identity, NEGLIGIBLE_USD, SessionResult, Tokens, Total, TotalKind, Turn};

/// Two logs name the times of one response at most so many milliseconds apart.
const SAME_TIME_MS: i64 = 60_000;

/// Joins the responses of a session with its requests, if a log has them.
pub(super) fn join_metered(parts: &mut [SessionPart]) {
    remove_repeated_durations(parts);
    let is_metered = |part: &SessionPart| part.session.capabilities.has(Capabilities::METERED);
    if !parts.iter().any(is_metered) {
        return;
    }
    let mut requests = Requests::default();
    for part in parts.iter_mut().filter(|part| is_metered(part)) {
        requests.name(&mut part.session.turns);
        requests.add(&part.session.turns);
    }
    let is_exported = |part: &SessionPart| {
        let capabilities = part.session.capabilities;
        capabilities.has(Capabilities::EXPORTED) || capabilities.has(Capabilities::CONVERTED)
    };
    let is_log = |part: &&mut SessionPart| !is_metered(part) && !is_exported(part);
    let mut has_all = true;
    for part in parts.iter_mut().filter(is_log) {
        // Sums of runs do not show whether each of their requests is known.
        let has_runs = part.session.totals.iter().any(|total| total.kind == TotalKind::Run);
        has_all &= requests.name(&mut part.session.turns) && !has_runs;
    }
    let shows_calls =
        parts.iter().any(|part| !is_metered(part) && part.session.capabilities.has(Capabilities::TOOL_CALLS));
    if shows_calls {
        parts.iter_mut().filter(|part| is_metered(part)).for_each(|part| remove_calls(&mut part.session));
    }
    for part in parts.iter_mut().filter(is_log) {
        requests.remove_paid(&mut part.session.totals);
    }
    if has_all && !requests.all.is_empty() {
        let sum = requests.sum();
        for part in parts.iter_mut().filter(is_log) {
            part.session.under_reports = false;
            remove_smaller_totals(&mut part.session.totals, sum);
        }
    }
}

/// The requests so far, each once.
#[derive(Default)]
struct Requests {
    all: Rows<Request>,
    by_identity: HashMap<Identity, usize>,
    /// By the provider's ids.
    by_id: HashMap<SharedStr, usize>,
    /// The requests with a time, in its order.
    by_time: Vec<(Time, usize)>,
    /// Those without.
    undated: Vec<usize>,
}

struct Request {
    identity: Identity,
    occurred_at: Option<Time>,
    tokens: Tokens,
    cost: Option<f64>,
}

impl Requests {
    fn add(&mut self, turns: &Rows<Box<Turn>>) {
        for turn in turns.iter().filter(|turn| turn.identity != Identity::Unique) {
            let index = self.all.len();
            if self.by_identity.contains_key(&turn.identity) {
                continue;
            }
            self.by_identity.insert(turn.identity.clone(), index);
            for id in [&turn.message_id, &turn.request_id].into_iter().flatten() {
                self.by_id.entry(id.clone()).or_insert(index);
            }
            let request = Request {
                identity: turn.identity.clone(),
                occurred_at: turn.occurred_at,
                tokens: turn.tokens.get(),
                cost: turn.cost.as_deref().map(|cost| cost.total),
            };
            match request.occurred_at {
                Some(time) => self.by_time.push((time, index)),
                None => self.undated.push(index),
            }
            self.all.push(request);
        }
        self.by_time.sort_unstable();
    }

    /// Gives the responses of a log the names of their requests: by their ids, else by the counts that they have, in the order of
    /// time. Returns whether each has a request.
    fn name(&self, turns: &mut Rows<Box<Turn>>) -> bool {
        let mut taken = HashSet::new();
        let mut others = Vec::new();
        for (index, turn) in turns.iter().enumerate() {
            let ids = [&turn.message_id, &turn.request_id].into_iter().flatten();
            let known = self.by_identity.get(&turn.identity);
            match known.or_else(|| ids.into_iter().find_map(|id| self.by_id.get(id))) {
                Some(request) if taken.insert(*request) => others.push((index, Some(*request))),
                _ => others.push((index, None)),
            }
        }
        let mut has_all = true;
        for (index, named) in others {
            let turn = &mut turns[index];
            let request = named.or_else(|| {
                let request = self.like(turn, &taken)?;
                taken.insert(request);
                Some(request)
            });
            match request {
                Some(request) => turn.identity = self.all[request].identity.clone(),
                None => has_all = false,
            }
        }
        has_all
    }

    /// The request with the counts that a response has, and the nearest time.
    fn like(&self, turn: &Turn, taken: &HashSet<usize>) -> Option<usize> {
        let tokens = turn.tokens.get();
        let distance = |request: &Request| match (request.occurred_at, turn.occurred_at) {
            (Some(a), Some(b)) => a.since(b).abs(),
            _ => 0,
        };
        let is_like = |index: &usize| {
            let request = &self.all[*index];
            let mut kinds = tokens.kinds().into_iter().zip(request.tokens.kinds());
            !taken.contains(index) && kinds.all(|(known, all)| known.is_none() || all.is_none() || known == all)
        };
        let Some(time) = turn.occurred_at else { return (0..self.all.len()).find(is_like) };
        let start = self.by_time.partition_point(|(other, _)| time.since(*other) > SAME_TIME_MS);
        let near = self.by_time.iter().skip(start).take_while(|(other, _)| other.since(time) <= SAME_TIME_MS);
        let indexes = near.map(|(_, index)| *index).chain(self.undated.iter().copied());
        indexes.filter(is_like).min_by_key(|index| (distance(&self.all[*index]), *index))
    }

    fn sum(&self) -> Tokens {
        self.all.iter().map(|request| request.tokens).sum()
    }

    /// Removes the cost of totals that the requests have. One without tokens would be a row beside them: what it has more than they
    /// remains, unless a request without a cost may be a part of it.
    fn remove_paid(&self, totals: &mut [Total]) {
        let paid: f64 = self.all.iter().filter_map(|request| request.cost).sum();
        let have_all_costs = self.all.iter().all(|request| request.cost.is_some());
        // Sums of runs are compared with all requests together, when the rows of the session are made.
        for total in totals.iter_mut().filter(|total| total.kind != TotalKind::Run) {
            let Some(cost) = total.cost else { continue };
            if cost <= paid + NEGLIGIBLE_USD {
                total.remove_cost();
            } else if !total.has_tokens() {
                total.cost = have_all_costs.then_some(cost - paid);
            }
        }
    }
}

/// Removes the calls of a log of requests: another log has them with more.
fn remove_calls(session: &mut SessionResult) {
    let calls = NewIndexes::after_removal(&mut session.tool_calls, |_| false);
    session.file_changes.retain_mut(|change| calls.update(&mut change.call));
}

/// Removes the counts of totals that do not contain all of the requests. A larger total contains more than they do.
fn remove_smaller_totals(totals: &mut [Total], sum: Tokens) {
    for total in totals {
        let mut kinds = total.tokens().kinds().into_iter().zip(sum.kinds());
        if kinds.any(|(stated, sum)| stated.is_some() && stated < sum) {
            total.models = Vec::new();
            total.cost = None;
        }
    }
}

/// A recording states the time that a process waited for the provider, as the total of the runtime's own log does: it counts once.
fn remove_repeated_durations(parts: &mut [SessionPart]) {
    let is_bare = |total: &Total| total.models.is_empty() && total.cost.is_none() && total.api_duration_ms.is_some();
    let totals = || parts.iter().flat_map(|part| &part.session.totals);
    if parts.len() < 2 || !totals().any(is_bare) {
        return;
    }
    let stated: HashSet<i64> = totals().filter(|total| !is_bare(total)).filter_map(|it| it.api_duration_ms).collect();
    for total in parts.iter_mut().flat_map(|part| &mut part.session.totals) {
        if is_bare(total) && total.api_duration_ms.is_some_and(|it| stated.contains(&it)) {
            total.api_duration_ms = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::ModelTotal;

    fn turn(name: &str, second: i64, kinds: [Option<i64>; 4]) -> Box<Turn> {
        let [input, output, cache_read, cache_write] = kinds;
        Box::new(Turn {
            identity: if name.is_empty() { Identity::Unique } else { Identity::Session(name.into()) },
            message_id: Some(name.into()).filter(|_| !name.is_empty()),
            occurred_at: Some(Time::from_micros(second * 1_000_000)),
            tokens: Tokens { input, output, cache_read, cache_write, ..Tokens::UNKNOWN }.into(),
            ..Turn::default()
        })
    }

    fn part(capabilities: Capabilities, turns: impl IntoIterator<Item = Box<Turn>>) -> SessionPart {
        let turns = turns.into_iter().collect();
        let session = SessionResult { capabilities, turns, under_reports: true, ..SessionResult::default() };
        SessionPart::new(0, session)
    }

    fn names(part: &SessionPart) -> Vec<&Identity> {
        part.session.turns.iter().map(|turn| &turn.identity).collect()
    }

    /// A response is found by its id, else by the counts that it has at nearly the same time.
    #[test]
    fn responses_get_the_names_of_their_requests() {
        let all = |output| [Some(1), Some(output), Some(2), Some(3)];
        let only = |output| [None, Some(output), None, None];
        let requests = vec![turn("a", 1, all(5)), turn("b", 2, all(7)), turn("c", 3, all(5)), turn("d", 999, all(9))];
        let log = vec![turn("a", 1, only(4)), turn("x", 3, only(5)), turn("y", 2, only(7)), turn("z", 4, only(9))];
        let mut parts = [part(Capabilities::TURNS, log), part(Capabilities::METERED, requests)];
        join_metered(&mut parts);
        let name = |name: &str| Identity::Session(name.into());
        assert_eq!(names(&parts[0]), [&name("a"), &name("c"), &name("b"), &name("z")]);
        // The last one has no request.
        assert!(parts[0].session.under_reports);
    }

    #[test]
    fn a_log_whose_responses_all_have_requests_is_complete() {
        let all = [Some(1), Some(5), Some(2), Some(3)];
        let all_of =
            |count| Tokens { input: Some(count), cache_read: Some(count), cache_write: Some(count), ..Tokens::UNKNOWN };
        for (stated, is_kept) in [(9, true), (4, false)] {
            let mut log = part(Capabilities::TURNS, vec![turn("a", 1, [None; 4])]);
            let tokens = Tokens { output: Some(stated), ..all_of(9) };
            let models = vec![ModelTotal { tokens, ..ModelTotal::default() }];
            log.session.totals = vec![Total { models, ..Total::default() }];
            let mut parts = [log, part(Capabilities::METERED, vec![turn("a", 1, all)])];
            join_metered(&mut parts);
            assert!(!parts[0].session.under_reports);
            assert_eq!(!parts[0].session.totals[0].models.is_empty(), is_kept);
        }
    }
}
