//! Results of tools that later requests read again from the cache.

use std::collections::BTreeMap;

use super::cause::Cause;
use super::causes::Causes;
use super::rows::{Call, READ};

/// Bytes of a token, for results whose tokens are not logged.
const BYTES_PER_TOKEN: i64 = 4;

/// Tokens of a tool's results that are in the context.
#[derive(Debug, Clone, Copy, Default)]
struct Carried<'a> {
    tokens: i64,
    /// The largest result.
    largest: Option<(i64, &'a Call)>,
}

/// The results of calls, from the second request after them on: the first one needs them.
pub(super) fn carried(causes: &mut Causes<'_>) {
    let session = causes.session;
    let has_bytes = session.calls.iter().any(|call| call.turn.is_some() && call.result_bytes.get().is_some());
    let has_reads = session.turns.iter().any(|turn| turn.tokens[READ].get().is_some());
    if !session.shows_calls || !(has_bytes || session.calls.is_empty()) || !has_reads || !causes.has_parts() {
        return;
    }
    causes.know(Cause::OutputCarried);
    // The calls of each response together, in their order.
    let mut of_turns: Vec<&Call> = session.calls.iter().filter(|call| call.turn.is_some()).collect();
    of_turns.sort_by_key(|call| call.turn);
    for thread in causes.threads.clone() {
        let mut context: BTreeMap<u32, Carried<'_>> = BTreeMap::new();
        // The context of the first request since the last compaction.
        let mut start: Option<i64> = None;
        for (index, position) in thread.iter().enumerate() {
            let Some(turn) = session.turns.get(*position) else { continue };
            let at = |index: Option<usize>| index.and_then(|index| session.turns.get(*thread.get(index)?));
            let Some(before) = at(index.checked_sub(1)) else {
                start = turn.context();
                continue;
            };
            if causes.is_compacted(before, turn) {
                context.clear();
                start = turn.context();
                continue;
            }
            start = start.or(before.context()).or(turn.context());
            shrink(&mut context, before.context(), turn.context(), start);
            let tokens: i64 = context.values().map(|carried| carried.tokens).sum();
            let read = tokens.min(turn.tokens[READ].or_zero());
            if let Some(Some(budget)) = causes.budgets.get_mut(*position)
                && tokens > 0
                && let Some(unit) = budget.unit(READ)
            {
                let waste = budget.take(READ, unit * read as f64);
                for (tool, carried) in &context {
                    let share = carried.tokens as f64 / tokens as f64;
                    let place = carried.largest.map_or(turn.place, |(_, call)| call.place);
                    #[expect(clippy::cast_possible_truncation, reason = "at most the tokens of a request")]
                    let own = (read as f64 * share) as i64;
                    causes.add(Cause::OutputCarried, Some(*tool), waste * share, Some(own), place);
                }
            }
            // The request after this one reads the results of the response before.
            let grown = turn.context().zip(before.context()).map(|(now, before)| (now - before).max(0));
            for (tokens, call) in results(calls_of(&of_turns, before.number), grown) {
                let carried = context.entry(call.tool).or_default();
                carried.tokens = carried.tokens.saturating_add(tokens);
                if carried.largest.is_none_or(|(largest, _)| tokens > largest) {
                    carried.largest = Some((tokens, call));
                }
            }
        }
    }
}

/// The calls of a response, of calls in the order of their responses.
fn calls_of<'c, 'a>(calls: &'c [&'a Call], turn: i64) -> &'c [&'a Call] {
    let start = calls.partition_point(|call| call.turn < Some(turn));
    let own = calls.get(start..).unwrap_or_default();
    let count = own.iter().take_while(|call| call.turn == Some(turn)).count();
    own.get(..count).unwrap_or_default()
}

/// Results that a smaller context no longer contains: they become fewer as the context does, and are never more than it grew since
/// its start.
fn shrink(carried: &mut BTreeMap<u32, Carried<'_>>, before: Option<i64>, now: Option<i64>, start: Option<i64>) {
    let (Some(now), Some(start)) = (now, start) else { return };
    let sum = carried.values().fold(0, |sum: i64, it| sum.saturating_add(it.tokens));
    let most = before.filter(|before| now < *before).map_or(sum, |before| scaled(sum, now, before));
    let most = most.min((now - start).max(0));
    if most < sum {
        for carried in carried.values_mut() {
            carried.tokens = scaled(carried.tokens, most, sum);
        }
    }
}

/// `tokens * part / whole`, rounded down.
fn scaled(tokens: i64, part: i64, whole: i64) -> i64 {
    i64::try_from(i128::from(tokens) * i128::from(part) / i128::from(whole.max(1))).unwrap_or(part)
}

/// The estimated tokens of the results of calls: together at most the tokens by which the context grew. Images are much smaller
/// than their bytes.
fn results<'a>(calls: &[&'a Call], grown: Option<i64>) -> Vec<(i64, &'a Call)> {
    let estimated = |call: &Call| call.result_bytes.or_zero() / BYTES_PER_TOKEN;
    let sum: i64 = calls.iter().map(|call| estimated(call)).sum();
    let limited = |tokens: i64| match grown {
        Some(grown) if sum > grown => scaled(tokens, grown, sum),
        _ => tokens,
    };
    calls.iter().map(|call| (limited(estimated(call)), *call)).collect()
}
