//! How much of the prompts was read from a cache, and how often tokens were processed again. The definitions are those of `TraceLab`,
//! <https://arxiv.org/abs/2606.30560>, applied to each agent of a session.

use foldhash::HashMap;

use super::rows::{Call, Turn};
use crate::analysis::rows::pause_before;
use crate::base::time::{HOUR_MICROS, MINUTE_MICROS};

/// The pauses up to which providers keep a cache: by default, and for the higher price.
const SHORT_CACHE_MICROS: i64 = 5 * MINUTE_MICROS;
const LONG_CACHE_MICROS: i64 = HOUR_MICROS;

/// A call above this duration is a long one.
const LONG_MS: i64 = 60_000;

/// The tokens of prompts after the first of each agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Prefill {
    /// Tokens that were not read from a cache.
    pub appended: i64,
    /// Tokens that are new: those by which the context grew, less the response before.
    pub fresh: i64,
}

/// The tokens of prompts by the pause before them, in the order of the pauses: up to five minutes, up to an hour, and longer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Hits {
    /// All tokens of the prompts; `None` without such a pause.
    pub prompt: [Option<i64>; 3],
    /// Those that were read from a cache.
    pub cached: [Option<i64>; 3],
}

/// The response of an agent before another one.
struct Before {
    context: Option<i64>,
    output: Option<i64>,
    /// When it or its last call ended.
    end: Option<i64>,
}

/// The tokens of a session; `None` without a response after another one whose counts are known. `turns` are sorted by number.
pub(super) fn prefill(turns: &[Turn], calls: &[Call]) -> (Option<Prefill>, Hits) {
    let mut ends: HashMap<i64, i64> = HashMap::default();
    for call in calls {
        let end = || call.time?.checked_add(call.duration_ms.unwrap_or(0).checked_mul(1000)?);
        if let Some((turn, end)) = call.turn.zip(end()) {
            let known = ends.entry(turn).or_insert(end);
            *known = end.max(*known);
        }
    }
    let mut last: HashMap<u64, Before> = HashMap::default();
    let (mut sums, mut hits) = (None, Hits::default());
    for turn in turns {
        let end = turn.end().max(ends.get(&turn.number).copied());
        let own = Before { context: turn.context_tokens, output: turn.output_tokens, end };
        let Some(before) = last.insert(turn.agent, own) else { continue };
        let Some((context, cached)) =
            turn.context_tokens.zip(turn.cache_read_tokens).filter(|(context, _)| *context > 0)
        else {
            continue;
        };
        if let Some((known, output)) = before.context.zip(before.output) {
            let sums = sums.get_or_insert(Prefill::default());
            let grown = context.saturating_sub(known).max(0);
            sums.appended = sums.appended.saturating_add(context.saturating_sub(cached).max(0));
            sums.fresh = sums.fresh.saturating_add(grown).saturating_sub(output);
        }
        if let Some(pause) = pause(turn, &before) {
            let range = usize::from(pause > SHORT_CACHE_MICROS) + usize::from(pause > LONG_CACHE_MICROS);
            for (sums, tokens) in [(&mut hits.prompt, context), (&mut hits.cached, cached)] {
                if let Some(sum) = sums.get_mut(range) {
                    *sum = Some(sum.unwrap_or(0).saturating_add(tokens));
                }
            }
        }
    }
    (sums, hits)
}

/// The time without a response or a call of the agent before a response, in microseconds. The time that the response took is not a pause.
fn pause(turn: &Turn, before: &Before) -> Option<i64> {
    let pause = pause_before(turn.end(), turn.latency_ms.or(turn.duration_ms), before.end)?;
    // A response may begin before the last call has ended.
    Some(pause.max(0))
}

/// The sum of the durations of calls, and the part of it in calls of at least a minute; `None` if no duration is known.
pub(super) fn call_times(calls: &[Call]) -> Option<(i64, i64)> {
    let durations = calls.iter().filter_map(|call| call.duration_ms).filter(|duration| *duration >= 0);
    durations.fold(None, |sums, duration| {
        let (all, long) = sums.unwrap_or((0_i64, 0_i64));
        let is_long = duration >= LONG_MS;
        Some((all.saturating_add(duration), long.saturating_add(if is_long { duration } else { 0 })))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(number: i64, second: i64, context: i64, cached: i64, output: i64) -> Turn {
        Turn {
            number,
            time: Some(second * 1_000_000),
            context_tokens: Some(context),
            cache_read_tokens: Some(cached),
            output_tokens: Some(output),
            ..Turn::default()
        }
    }

    #[test]
    fn tokens_are_new_or_processed_again() {
        let turns = [
            turn(1, 10, 1000, 0, 50),
            // 250 more than before, of which 50 are the response; 300 were not in the cache.
            turn(2, 20, 1250, 950, 100),
            // The cache was lost: 1400 again, although only 50 are new.
            turn(3, 2000, 1400, 0, 20),
        ];
        let (prefill, hits) = prefill(&turns, &[]);
        assert_eq!(prefill, Some(Prefill { appended: 300 + 1400, fresh: 200 + 50 }));
        assert_eq!(hits.prompt, [Some(1250), Some(1400), None]);
        assert_eq!(hits.cached, [Some(950), Some(0), None]);
    }

    /// Each agent has its own context, and a pause begins when the last call has ended.
    #[test]
    fn agents_and_calls_are_apart() {
        let other = Turn { agent: 7, ..turn(2, 15, 500, 0, 10) };
        let turns = [turn(1, 10, 1000, 0, 0), other, Turn { latency_ms: Some(1000), ..turn(3, 620, 1100, 1000, 0) }];
        let call = Call { turn: Some(1), time: Some(10_000_000), duration_ms: Some(600_000), ..Call::default() };
        let (sums, hits) = prefill(&turns, &[call]);
        assert_eq!(sums, Some(Prefill { appended: 100, fresh: 100 }));
        // Without the call the pause is above five minutes.
        assert_eq!(hits.prompt, [Some(1100), None, None]);
        assert_eq!(prefill(&turns, &[]).1.prompt, [None, Some(1100), None]);
        assert_eq!(call_times(&[call, Call { duration_ms: Some(400), ..call }]), Some((600_400, 600_000)));
    }

    #[test]
    fn unknown_values_are_no_zeros() {
        let unknown = Turn { cache_read_tokens: None, ..turn(2, 20, 1250, 0, 100) };
        assert_eq!(prefill(&[turn(1, 10, 1000, 0, 50), unknown], &[]), (None, Hits::default()));
        let undated = Turn { time: None, ..turn(2, 0, 1250, 950, 0) };
        let (sums, hits) = prefill(&[turn(1, 10, 1000, 0, 50), undated], &[]);
        assert_eq!((sums, hits), (Some(Prefill { appended: 300, fresh: 200 }), Hits::default()));
        assert_eq!(call_times(&[Call::default()]), None);
    }
}
