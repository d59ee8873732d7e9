//! The requests of one session.

use std::ops::Add as _;

use crate::analysis::rows::{Purpose, start_of};

/// A response.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Turn {
    pub number: i64,
    pub is_subagent: bool,
    /// Its time, in microseconds since 1970.
    pub time: Option<i64>,
    /// Its end, in microseconds since 1970.
    pub end: Option<i64>,
    /// From the prompt or the last result to the end of the response.
    pub latency_ms: Option<i64>,
    pub total_tokens: Option<i64>,
    pub cost_usd: Option<f64>,
}

/// A tool call.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Call {
    /// The number of the response that made it.
    pub turn: Option<i64>,
    pub is_subagent: bool,
    /// Its time, in microseconds since 1970.
    pub time: Option<i64>,
    pub duration_ms: Option<i64>,
    pub purpose: Purpose,
    /// Whether it succeeded.
    pub is_ok: bool,
    /// Whether it has a result, which the model answers.
    pub has_result: bool,
}

/// A compaction of the context.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Compaction {
    /// The number of its response, if the log states it.
    pub turn: Option<i64>,
    /// Its time, in microseconds since 1970.
    pub time: Option<i64>,
}

impl Compaction {
    /// Whether a response is the summary that the compaction made.
    fn is_of(&self, turn: &Turn) -> bool {
        self.turn == Some(turn.number) || (self.turn.is_none() && self.time.is_some() && self.time == turn.time)
    }
}

/// From a prompt to the next one.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Request {
    /// Responses of the main agent.
    pub steps: i64,
    /// Responses of subagents.
    pub subagent_turns: i64,
    pub calls: i64,
    /// Calls that changed files; `None` if only a call of unknown purpose can be one.
    pub edits: Option<i64>,
    /// From the prompt to the last response or the end of its calls; `None` if the time of the prompt is unknown.
    pub duration_ms: Option<i64>,
    pub tokens: Option<i64>,
    pub cost_usd: Option<f64>,
    /// Whether the last response of the main agent made no call.
    pub is_answered: bool,
}

/// The requests of a session. `turns` and `calls` are sorted by the numbers of responses. A response of the main agent begins a request
/// unless it answers results of calls, or is the summary of a compaction: if the response before it made no call, or none that has a
/// result.
pub(super) fn requests(turns: &[Turn], calls: &[Call], compactions: &[Compaction]) -> Vec<Request> {
    let mut found: Vec<Building> = Vec::new();
    let mut rest = calls;
    let mut has_results = false;
    for turn in turns {
        let before = rest.partition_point(|call| call.turn < Some(turn.number));
        let (_, from) = rest.split_at(before);
        let (own, after) = from.split_at(from.partition_point(|call| call.turn == Some(turn.number)));
        rest = after;
        let is_summary = own.is_empty() && compactions.iter().any(|compaction| compaction.is_of(turn));
        let is_step = !turn.is_subagent && !is_summary;
        if is_step {
            if !has_results {
                found.push(Building::at(turn));
            }
            has_results = own.iter().any(|call| !call.is_subagent && call.has_result);
        }
        // What was before the first response to a prompt belongs to no request.
        if let Some(request) = found.last_mut() {
            request.add(turn, own, is_step);
        }
    }
    found.into_iter().map(Building::finish).collect()
}

/// A request of which not all responses are known yet.
#[derive(Debug, Default)]
struct Building {
    request: Request,
    /// When the human sent the prompt, in microseconds.
    start: Option<i64>,
    /// The last known time.
    end: Option<i64>,
    edits: i64,
    has_unknown_calls: bool,
}

impl Building {
    fn at(turn: &Turn) -> Self {
        Self { start: start_of(turn.end, turn.latency_ms), ..Self::default() }
    }

    fn add(&mut self, turn: &Turn, calls: &[Call], is_step: bool) {
        let Self { request, .. } = self;
        request.steps += i64::from(is_step);
        request.subagent_turns += i64::from(turn.is_subagent);
        request.tokens = request.tokens.into_iter().chain(turn.total_tokens).reduce(i64::saturating_add);
        request.cost_usd = request.cost_usd.into_iter().chain(turn.cost_usd).reduce(f64::add);
        if is_step {
            request.is_answered = calls.is_empty();
        }
        self.end = self.end.max(turn.end);
        for call in calls {
            self.request.calls += 1;
            self.edits += i64::from(call.purpose == Purpose::Edit && call.is_ok);
            self.has_unknown_calls |= call.purpose == Purpose::Unknown;
            let ended = || call.time?.checked_add(call.duration_ms.unwrap_or(0).checked_mul(1000)?);
            self.end = self.end.max(ended());
        }
    }

    fn finish(self) -> Request {
        let duration = self.end.zip(self.start).map(|(end, start)| end.saturating_sub(start) / 1000);
        Request {
            duration_ms: duration.filter(|duration| *duration >= 0),
            edits: (self.edits > 0 || !self.has_unknown_calls).then_some(self.edits),
            ..self.request
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(number: i64, second: i64) -> Turn {
        Turn {
            number,
            time: Some(second * 1_000_000),
            end: Some(second * 1_000_000),
            latency_ms: Some(2000),
            total_tokens: Some(100),
            cost_usd: Some(0.5),
            ..Turn::default()
        }
    }

    fn call(turn: i64, second: i64, purpose: Purpose) -> Call {
        let time = Some(second * 1_000_000);
        let duration_ms = Some(1000);
        Call { turn: Some(turn), time, duration_ms, purpose, is_ok: true, has_result: true, ..Call::default() }
    }

    #[test]
    fn a_request_ends_with_an_answer() {
        let turns = [turn(1, 10), Turn { is_subagent: true, ..turn(2, 15) }, turn(3, 20), turn(4, 90)];
        let calls = [
            call(1, 10, Purpose::Explore),
            call(1, 11, Purpose::Edit),
            Call { is_subagent: true, ..call(2, 15, Purpose::Edit) },
        ];
        let first = Request {
            steps: 2,
            subagent_turns: 1,
            calls: 3,
            edits: Some(2),
            duration_ms: Some(12_000),
            tokens: Some(300),
            cost_usd: Some(1.5),
            is_answered: true,
        };
        let second = Request {
            steps: 1,
            edits: Some(0),
            duration_ms: Some(2000),
            tokens: Some(100),
            cost_usd: Some(0.5),
            is_answered: true,
            ..Request::default()
        };
        assert_eq!(requests(&turns, &calls, &[]), [first, second]);
    }

    /// After a refused or interrupted call, the human writes the next prompt.
    #[test]
    fn a_response_without_results_ends_a_request() {
        let refused = Call { is_ok: false, has_result: false, ..call(1, 10, Purpose::Edit) };
        let turns = [turn(1, 10), turn(2, 30), turn(3, 40)];
        let failed = Call { is_ok: false, ..call(2, 30, Purpose::Edit) };
        let requests = requests(&turns, &[refused, failed], &[]);
        let shown: Vec<_> = requests.iter().map(|it| (it.steps, it.calls, it.edits, it.is_answered)).collect();
        assert_eq!(shown, [(1, 1, Some(0), false), (2, 1, Some(0), true)]);
    }

    /// The summary of a compaction belongs to the request before it.
    #[test]
    fn a_compaction_is_no_request() {
        let turns = [turn(1, 10), turn(2, 20), turn(3, 40)];
        let found = |compaction| {
            let requests = requests(&turns, &[], &[compaction]);
            requests.iter().map(|it| (it.steps, it.tokens)).collect::<Vec<_>>()
        };
        let expected = [(1, Some(200)), (1, Some(100))];
        assert_eq!(found(Compaction { turn: Some(2), time: None }), expected);
        assert_eq!(found(Compaction { turn: None, time: Some(20_000_000) }), expected);
        assert_eq!(found(Compaction::default()).len(), 3);
    }

    #[test]
    fn unknown_values_are_no_zeros() {
        let unknown =
            Turn { time: None, end: None, latency_ms: None, total_tokens: None, cost_usd: None, ..turn(1, 0) };
        let open = [Call { purpose: Purpose::Unknown, has_result: false, ..call(1, 0, Purpose::Unknown) }];
        let expected = Request { steps: 1, calls: 1, ..Request::default() };
        assert_eq!(requests(&[unknown], &open, &[]), [expected]);
        assert_eq!(requests(&[], &[], &[]), []);
        // No time of the prompt is known.
        assert_eq!(requests(&[Turn { latency_ms: None, ..turn(1, 5) }], &[], &[])[0].duration_ms, None);
    }
}
