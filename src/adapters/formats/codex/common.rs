//! Common parts of Codex's logs: usage, running totals, the outcome of an MCP call.
//!
//! `token_count` repeats the thread's running totals; it is a response only if they increase
//! (`docs/accounting.md#identity-of-a-response`).

use std::{iter, mem};

use serde::Deserialize;

use crate::adapters::engine::RecordErrors;
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, brief};
use crate::adapters::shared::changed_lines::ChangedLines;
use crate::adapters::shared::tools;
use crate::adapters::shared::usage::{Included, uncached};
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, LazyText, Maybe, Pairs, Text};
use crate::json::record::{Skip, record};
use crate::model::errors::{self, ErrorKind};
use crate::model::session::{EventKind, Identity, Operation, Tokens, Turn};

record! {
    /// Usage as OpenAI counts it: cached tokens are part of the input, reasoning is part of the output.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub(crate) struct Usage {
        "input_tokens" => pub input_tokens: Count,
        "cached_input_tokens" => pub cached_input_tokens: Count,
        "cache_write_input_tokens" => pub cache_write_input_tokens: Count,
        "output_tokens" => pub output_tokens: Count,
        "reasoning_output_tokens" => pub reasoning_output_tokens: Count,
        "total_tokens" => pub _total_tokens: Skip,
    }
}

impl Usage {
    const fn counts(&self) -> [Count; 5] {
        [
            self.input_tokens,
            self.cached_input_tokens,
            self.cache_write_input_tokens,
            self.output_tokens,
            self.reasoning_output_tokens,
        ]
    }

    /// Whether it is no usage of a response, but an estimate of the size of the context: only `total_tokens` has a value.
    fn is_estimate(&self) -> bool {
        self.counts().into_iter().all(|it| matches!(it, Count::Unknown | Count::Known(0)))
    }

    /// The disjoint counts.
    pub(crate) fn tokens(&self, damage: &mut RecordErrors) -> Tokens {
        damage.note_impossible(&self.counts());
        let cached = self.cached_input_tokens.get();
        let written = self.cache_write_input_tokens.get();
        let prompt = self.input_tokens.get();
        Tokens {
            input: uncached(Included::Always, prompt, cached, written),
            output: self.output_tokens.get(),
            cache_read: cached,
            cache_write: written,
            cache_write_1h: None,
            reasoning: self.reasoning_output_tokens.get(),
        }
    }
}

record! {
    /// The totals of a thread, and the usage of its last response.
    pub(crate) struct Info {
        "total_token_usage" => pub(crate) total_token_usage: Maybe<Usage>,
        "last_token_usage" => pub(crate) last_token_usage: Maybe<Usage>,
        "model_context_window" => pub(crate) model_context_window: Count,
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Duration {
    secs: Count,
    nanos: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Invocation<'a> {
    pub(crate) server: Text<'a>,
    pub(crate) tool: Text<'a>,
    pub(crate) arguments: Raw<'a>,
}

impl Duration {
    /// Whole milliseconds.
    pub(crate) fn milliseconds(&self) -> Option<i64> {
        let secs = self.secs.get()?.checked_mul(1000)?;
        secs.checked_add(self.nanos.get().unwrap_or(0) / 1_000_000)
    }
}

/// The result of an MCP call: `{"Ok":{…,"isError":…}}` or `{"Err":"…"}`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Outcome<'a> {
    #[serde(rename = "Ok")]
    ok: McpOutput,
    #[serde(rename = "Err")]
    err: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct McpOutput {
    is_error: Flag,
}

impl<'a> Outcome<'a> {
    /// The outcome that a bare result states: `{…,"isError":…}`.
    pub(crate) fn of_result(result: Raw<'a>) -> Self {
        Self { ok: result.read(), err: Raw::default() }
    }

    /// Whether the server failed, or the connection to it.
    pub(crate) fn is_error(&self) -> bool {
        !self.err.is_empty() || self.ok.is_error.is_true()
    }
}

/// The details of an error that Codex names.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ErrorDetails {
    #[serde(alias = "httpStatusCode")]
    http_status_code: Count,
}

/// An error that Codex names: a word, or `{"word":{"http_status_code":…}}`.
pub(crate) struct NamedError {
    pub(crate) name: Option<Symbol>,
    pub(crate) kind: ErrorKind,
    /// Whether it ends a turn. The turn of a request to the client may go on.
    pub(crate) ends_turn: bool,
}

impl NamedError {
    pub(crate) fn of(info: Raw<'_>, message: &str) -> Self {
        let details: Pairs<'_, ErrorDetails> = info.read();
        let (name, status) = match details.0.into_iter().next() {
            Some((name, details)) => (Some(name), details.http_status_code.get()),
            None => (info.len().map(|_| info.text()), None),
        };
        let mut word = name.as_deref().unwrap_or_default().replace('_', "");
        word.make_ascii_lowercase();
        let kind = match word.as_str() {
            "usagelimitexceeded" | "ratelimitexceeded" | "modelcap" => ErrorKind::RateLimit,
            "contextwindowexceeded" => ErrorKind::ContextOverflow,
            "sessionbudgetexceeded" => ErrorKind::Budget,
            "serveroverloaded" | "flexunavailable" => ErrorKind::Overloaded,
            "unauthorized" => ErrorKind::Auth,
            _ => errors::classify(status, message),
        };
        let ends_turn = !matches!(word.as_str(), "threadrollbackfailed" | "activeturnnotsteerable");
        Self { name: name.map(|it| Symbol::new(&brief(&it))), kind, ends_turn }
    }
}

/// Whose totals a log has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counter {
    Thread,
    /// A review, which the log repeats: its first total goes on from the thread's, or begins at 0.
    Review,
    /// A review whose totals began at 0.
    ReviewFromZero,
}

/// The totals of a thread so far.
#[derive(Debug)]
pub(crate) struct Running {
    reached: Tokens,
    counter: Counter,
    /// The totals before reviews that began at 0, until the next total of the thread shows which one it goes on from.
    before_reviews: Vec<Tokens>,
}

impl Default for Running {
    fn default() -> Self {
        Self { reached: Tokens::UNKNOWN, counter: Counter::Thread, before_reviews: Vec::new() }
    }
}

/// Whether all counts of both are equal. Unknown counts are taken as 0.
pub(crate) fn are_equal(one: Tokens, other: Tokens) -> bool {
    one.fits(other) && other.fits(one)
}

/// The tokens between two totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spent {
    /// Tokens of a response that was interrupted before its own count was written: only the total contains it.
    pub(crate) unlogged: Option<Tokens>,
    /// Tokens of the last response.
    pub(crate) response: Tokens,
}

impl Spent {
    const fn in_one_response(whole: Tokens) -> Self {
        Self { unlogged: None, response: whole }
    }

    /// The tokens of all responses.
    pub(crate) fn whole(&self) -> Tokens {
        self.unlogged.map_or(self.response, |it| it.plus(self.response))
    }

    /// As one response, if `response` has all of the tokens. Its own usage may be logged too low.
    #[must_use]
    pub(crate) fn merged_if(self, response: Tokens) -> Self {
        if are_equal(self.whole(), response) { Self::in_one_response(self.whole()) } else { self }
    }
}

impl Running {
    /// The tokens since the last total, if any. `last` is the usage of the last response, as logged.
    pub(crate) fn advance(
        &mut self,
        total: Option<Usage>,
        last: Option<Usage>,
        damage: &mut RecordErrors,
    ) -> Option<Spent> {
        let total = total?.tokens(damage);
        let last = last.filter(|it| !it.is_estimate());
        if self.counter == Counter::Thread && !self.before_reviews.is_empty() {
            if are_equal(total, self.reached) {
                // The review's last total once more.
                return None;
            }
            self.go_on_after_review(total, last.map(|it| it.tokens(&mut RecordErrors::default())));
        }
        let before = self.reached;
        // A total that decreases begins a new count, as does one that is the usage of its last response.
        let is_first = last.is_some_and(|last| last.tokens(&mut RecordErrors::default()) == total) && total != before;
        let restarts = is_first || total.kinds().into_iter().zip(before.kinds()).any(|(new, old)| new < old);
        let mut whole = if restarts { last.map_or(total, |it| it.tokens(damage)) } else { total.minus(before) };
        if whole.reasoning.is_some_and(|count| count < 0) {
            // Only the total of reasoning decreased: that of the last response is known at most.
            whole.reasoning = last.and_then(|last| last.reasoning_output_tokens.get());
        }
        self.reached = total;
        if restarts && self.counter == Counter::Review {
            self.counter = Counter::ReviewFromZero;
            self.before_reviews.push(before);
        }
        if whole.total().unwrap_or(0) <= 0 {
            return None;
        }
        // Any number of responses may precede the first total.
        let last =
            last.filter(|_| !restarts && before != Tokens::UNKNOWN).map(|it| it.tokens(&mut RecordErrors::default()));
        let has_same_kinds = |it: &Tokens| it.kinds().map(|it| it.is_some()) == whole.kinds().map(|it| it.is_some());
        let spent =
            last.filter(has_same_kinds).map(|response| Spent { unlogged: Some(whole.minus(response)), response });
        let is_response = |spent: &Spent| {
            spent.unlogged.is_some_and(|tokens| {
                let counts = [tokens.input, tokens.output, tokens.cache_read, tokens.cache_write, tokens.reasoning];
                // Each response has output. After a search by the provider, the usage of the last one is logged without a part of its input.
                tokens.output > Some(0) && counts.into_iter().flatten().all(|count| count >= 0)
            })
        };
        Some(spent.filter(is_response).unwrap_or(Spent::in_one_response(whole)))
    }

    /// The last total.
    pub(crate) const fn reached(&self) -> Tokens {
        self.reached
    }

    /// The next totals may be those of a review: until its end, a total that begins again is not the thread's.
    pub(crate) const fn begin_review(&mut self) {
        self.counter = Counter::Review;
    }

    /// The next total is the thread's.
    pub(crate) const fn end_review(&mut self) {
        self.counter = Counter::Thread;
    }

    /// Finds the total that the thread goes on from. In the same process it is the one before the review. A process that resumes the
    /// thread begins with the last total in the log, which is the review's (`last_token_info_from_rollout`). The next total without its
    /// last response is equal to one of them, or it is above it by responses that were not logged: then the nearest one counts.
    fn go_on_after_review(&mut self, total: Tokens, last: Option<Tokens>) {
        let mut known = mem::take(&mut self.before_reviews);
        let of_thread = known.first().copied().unwrap_or(self.reached);
        known.push(self.reached);
        let start = last.map_or(total, |last| total.minus(last));
        let is_repeated = known.iter().any(|it| are_equal(*it, total));
        let nearest = known.into_iter().filter(|it| it.fits(start)).min_by_key(|it| start.minus(*it).total());
        self.reached = if is_repeated { total } else { nearest.unwrap_or(of_thread) };
    }

    /// The total is that of another log, which has its tokens.
    pub(crate) fn reach(&mut self, total: Option<Usage>) {
        if let Some(total) = total {
            self.reached = total.tokens(&mut RecordErrors::default());
            self.before_reviews.clear();
        }
    }

    /// Continues the count of another thread, whose total was the first total minus the last response. `recorded` is the usage of that
    /// response by a record of its own: `last` may be lower.
    pub(crate) fn begin(&mut self, total: Option<Usage>, last: Option<Usage>, recorded: Option<Tokens>) {
        let unread = &mut RecordErrors::default();
        if self.counter == Counter::Thread
            && let (Some(total), Some(last)) = (total, last)
        {
            let last = last.tokens(unread);
            let start = total.tokens(unread).minus(recorded.filter(|it| last.fits(*it)).unwrap_or(last));
            let known = iter::once(&mut self.reached).chain(&mut self.before_reviews);
            known.filter(|it| **it == Tokens::UNKNOWN).for_each(|it| *it = start);
        }
    }
}

/// Attributes of the next response, from the records before it.
#[derive(Debug, Default)]
pub(crate) struct Next {
    pub(crate) model: Option<Symbol>,
    pub(crate) effort: Option<Symbol>,
    pub(crate) service_tier: Option<Symbol>,
    pub(crate) provider: Option<Symbol>,
    pub(crate) context_window: Option<i64>,
    pub(crate) total: Running,
    /// Calls since the last response, made by the next one.
    pub(crate) calls: Vec<usize>,
    /// The number of these calls before an interruption. If the response before it was not logged, it made them.
    pub(crate) interrupted: usize,
}

/// Where and when a response was counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted {
    pub(crate) window: Option<i64>,
    pub(crate) line: i64,
    pub(crate) time: Option<Time>,
}

impl Next {
    /// The next response made the call, if no earlier one did.
    pub(crate) fn made(&mut self, call: usize) {
        if !self.calls.contains(&call) {
            self.calls.push(call);
        }
    }

    /// The user stopped the agent.
    pub(crate) const fn interrupt(&mut self) {
        self.interrupted = self.calls.len();
    }

    /// Adds a turn for each response in `spent`. `identity` returns its identity, from the total that it reached and its calls.
    /// Returns the index of the last turn.
    pub(crate) fn add(
        &mut self,
        builder: &mut Builder,
        spent: Spent,
        counted: Counted,
        identity: impl Fn(&Builder, Tokens, &[usize]) -> Identity,
    ) -> usize {
        let mut calls = mem::take(&mut self.calls);
        let reached = self.total.reached();
        if let Some(tokens) = spent.unlogged {
            let rest = calls.split_off(self.interrupted.min(calls.len()));
            let identity = identity(builder, reached.minus(spent.response), &calls);
            self.response(builder, identity, tokens, counted, &mem::replace(&mut calls, rest));
        }
        self.interrupted = 0;
        let identity = identity(builder, reached, &calls);
        self.response(builder, identity, spent.response, counted, &calls)
    }

    fn response(
        &self,
        builder: &mut Builder,
        identity: Identity,
        tokens: Tokens,
        counted: Counted,
        calls: &[usize],
    ) -> usize {
        let index = builder.turn(identity, counted.line);
        self.describe(&mut builder.session.turns[index], tokens, counted);
        made_by(builder, index, calls.iter().copied());
        index
    }

    /// Sets what is known of a response when it is counted.
    pub(crate) fn describe(&self, turn: &mut Turn, tokens: Tokens, counted: Counted) {
        turn.tokens = tokens.into();
        turn.model.clone_from(&self.model);
        turn.provider.clone_from(&self.provider);
        turn.effort.clone_from(&self.effort);
        turn.service_tier.clone_from(&self.service_tier);
        turn.occurred_at = counted.time;
        turn.context_window = counted.window.or(self.context_window).into();
    }
}

/// The response `turn` made the calls, as far as no earlier one did.
pub(crate) fn made_by(builder: &mut Builder, turn: usize, calls: impl Iterator<Item = usize>) {
    for call in calls {
        let made_by = &mut builder.session.tool_calls[call].turn;
        *made_by = made_by.unwrap_or(turn).into();
    }
}

/// The task was stopped: by the user, by another task, or because the budget is used up.
pub(crate) fn aborted(builder: &mut Builder, reason: &Text<'_>, at: At) {
    if reason.as_str() == "budget_limited" {
        builder.fail_as(ErrorKind::Budget, reason.as_str());
        builder.event(EventKind::Error, at).code = reason.owned();
    } else {
        builder.abort(reason.as_str());
        builder.event(EventKind::Abort, at).message = reason.owned();
    }
}

/// The change of a file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Edit<'a> {
    /// The operation, if it is not the key of the object.
    #[serde(rename = "type")]
    pub(crate) kind: Text<'a>,
    content: LazyText<'a>,
    unified_diff: LazyText<'a>,
    move_path: Text<'a>,
}

impl Edit<'_> {
    /// Adds the change of the file at `path`.
    pub(crate) fn change(&self, builder: &mut Builder, call: usize, path: &str, operation: Option<Operation>, at: At) {
        let (path, operation) = match self.move_path.some() {
            Some(path) => (path, Some(Operation::Move)),
            None => (path, operation),
        };
        let lines = match operation {
            Some(Operation::Create) if self.content.is_some() => Some(tools::written_lines_in(&self.content)),
            Some(Operation::Delete) if self.content.is_some() => {
                let removed = tools::written_lines_in(&self.content).added;
                Some(ChangedLines { removed, ..ChangedLines::none() })
            }
            _ => (!self.unified_diff.escaped().is_empty()).then(|| tools::diff_lines_in(&self.unified_diff)),
        };
        builder.change(call, path, operation, lines, at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;
    use crate::json::lines::Line;
    use crate::model::health::Health;

    fn usage(input: i64, output: i64, reasoning: i64) -> Option<Usage> {
        let usage =
            format!(r#"{{"input_tokens":{input},"output_tokens":{output},"reasoning_output_tokens":{reasoning}}}"#);
        json::from_slice(usage.as_bytes()).ok()
    }

    /// Only the total of reasoning decreases.
    #[test]
    fn reasoning_is_never_negative() {
        let mut running = Running::default();
        let mut spent = |total, last| {
            let spent = running.advance(total, last, &mut RecordErrors::default()).unwrap();
            (spent.response.output, spent.response.reasoning)
        };
        assert_eq!(spent(usage(1000, 200, 150), usage(1000, 200, 150)), (Some(200), Some(150)));
        assert_eq!(spent(usage(2000, 300, 20), usage(1000, 100, 20)), (Some(100), Some(20)));
        assert_eq!(spent(usage(3000, 400, 10), None), (Some(100), None));
    }

    /// The totals of a review begin at 0, or continue the thread's, and those of the thread go on after it.
    #[test]
    fn the_total_of_a_thread_goes_on_after_a_review() {
        let sum = |running: &mut Running, counts: &[(i64, i64)]| -> i64 {
            let mut spent =
                |(total, last)| running.advance(usage(total, 1, 0), usage(last, 1, 0), &mut RecordErrors::default());
            counts.iter().filter_map(|count| spent(*count)?.whole().input).sum()
        };
        for (of_review, expected) in [(&[(3, 3), (18, 15)][..], 18), (&[(1003, 3), (1018, 15)], 18), (&[], 0)] {
            let mut running = Running::default();
            assert_eq!(sum(&mut running, &[(900, 900), (1000, 100)]), 1000);
            running.begin_review();
            assert_eq!(sum(&mut running, of_review), expected, "{of_review:?}");
            running.end_review();
            let next = if running.reached().input == Some(1018) { 1218 } else { 1200 };
            assert_eq!(sum(&mut running, &[(next - 200, 100), (next, 200)]), 200, "{of_review:?}");
        }
        // A review that begins a log.
        let mut running = Running::default();
        running.begin_review();
        assert_eq!(sum(&mut running, &[(3, 3), (18, 15)]), 18);
        running.end_review();
        assert_eq!(sum(&mut running, &[(900, 900), (1000, 100)]), 1000);
    }

    /// A thread of 1,000 tokens after reviews, in the same process or in one that resumed it.
    #[test]
    fn a_process_that_resumes_a_thread_goes_on_from_the_last_total() {
        type Counts<'a> = &'a [(i64, i64)];
        let sum = |running: &mut Running, counts: Counts<'_>| -> i64 {
            let mut spent = |(total, last)| {
                running.advance(usage(total, total, 0), usage(last, last, 0), &mut RecordErrors::default())
            };
            counts.iter().filter_map(|count| spent(*count)?.whole().input).sum()
        };
        let (long, short, second): (Counts<'_>, Counts<'_>, Counts<'_>) =
            (&[(30_000, 30_000), (70_000, 40_000)], &[(30, 30), (700, 670)], &[(50, 50), (5000, 4950)]);
        let cases: [(&str, &[Counts<'_>], Counts<'_>, i64); 8] = [
            ("the same process", &[long], &[(1200, 200)], 200),
            ("the total before the review again", &[long], &[(1000, 100), (1200, 200)], 200),
            ("the total of the review again", &[long], &[(70_000, 40_000), (1200, 200)], 200),
            ("resumed", &[long], &[(70_200, 200)], 200),
            ("resumed, with the total of the review again", &[long], &[(70_000, 40_000), (70_200, 200)], 200),
            ("resumed after a review that was shorter than the thread", &[short], &[(900, 200)], 200),
            ("resumed between two reviews", &[long, second], &[(70_200, 200)], 200),
            ("resumed, with a response that was not logged", &[long], &[(70_500, 200)], 500),
        ];
        for (name, reviews, after, expected) in cases {
            let mut running = Running::default();
            assert_eq!(sum(&mut running, &[(900, 900), (1000, 100)]), 1000);
            for review in reviews {
                running.begin_review();
                assert_eq!(sum(&mut running, review), review.last().unwrap().0, "{name}");
                running.end_review();
            }
            assert_eq!(sum(&mut running, after), expected, "{name}");
        }
    }

    #[test]
    fn each_impossible_count_is_noted() {
        for usage in [usage(-1, 1, 1), usage(1, -1, 1), usage(1, 1, -1)] {
            let (mut damage, mut health) = (RecordErrors::default(), Health::default());
            usage.unwrap().tokens(&mut damage);
            damage.move_to(&mut health, Line { number: 1, bytes: b"{}" });
            assert_eq!(health.rejects.len(), 1, "{usage:?}");
        }
    }
}
