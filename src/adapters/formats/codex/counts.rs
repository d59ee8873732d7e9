//! Usage and running totals in Codex's logs.
//!
//! `token_count` repeats the thread's running totals; it is a response only if they increase
//! (`docs/accounting.md#identity-of-a-response`).

use std::{iter, mem};

use crate::adapters::engine::RecordErrors;
use crate::adapters::shared::usage::{Included, uncached};
use crate::json::fields::{Count, Maybe};
use crate::json::record::{Skip, record};
use crate::model::session::Tokens;

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

    /// Whether it is not usage of a response, but an estimate of the size of the context: only `total_tokens` has a value.
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
