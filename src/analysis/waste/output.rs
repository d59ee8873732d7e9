//! Results of tools that later requests read again from the cache.

use std::collections::{BTreeMap, HashMap};

use super::cause::Cause;
use super::rows::{Call, READ};
use super::session::Causes;

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
    let mut of_turns: HashMap<i64, Vec<&Call>> = HashMap::new();
    for call in session.calls {
        if let Some(turn) = call.turn {
            of_turns.entry(turn).or_default().push(call);
        }
    }
    for thread in causes.threads.clone() {
        let mut context: BTreeMap<u32, Carried<'_>> = BTreeMap::new();
        for (index, position) in thread.iter().enumerate() {
            let Some(turn) = session.turns.get(*position) else { continue };
            let at = |index: Option<usize>| index.and_then(|index| session.turns.get(*thread.get(index)?));
            let Some(before) = at(index.checked_sub(1)) else { continue };
            if causes.is_compacted(before, turn) {
                context.clear();
                continue;
            }
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
            let own = of_turns.get(&before.number).map(Vec::as_slice).unwrap_or_default();
            for (tokens, call) in results(own, grown) {
                let carried = context.entry(call.tool).or_default();
                carried.tokens = carried.tokens.saturating_add(tokens);
                if carried.largest.is_none_or(|(largest, _)| tokens > largest) {
                    carried.largest = Some((tokens, call));
                }
            }
        }
    }
}

/// The estimated tokens of the results of calls: together at most the tokens by which the context grew. Images are much smaller
/// than their bytes.
fn results<'a>(calls: &[&'a Call], grown: Option<i64>) -> Vec<(i64, &'a Call)> {
    let estimated = |call: &Call| call.result_bytes.or_zero() / BYTES_PER_TOKEN;
    let sum: i64 = calls.iter().map(|call| estimated(call)).sum();
    let limited = |tokens: i64| match grown {
        Some(grown) if sum > grown => {
            i64::try_from(i128::from(tokens) * i128::from(grown) / i128::from(sum.max(1))).unwrap_or(grown)
        }
        _ => tokens,
    };
    calls.iter().map(|call| (limited(estimated(call)), *call)).collect()
}
