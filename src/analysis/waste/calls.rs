//! Calls that repeat an earlier one, and calls that failed: the output with which they were made.

use foldhash::{HashMap, HashSet};

use super::cause::Cause;
use super::causes::Causes;
use super::rows::{Call, OUTPUT};

/// Each call has an equal share of the output of its response.
pub(super) fn repeated_and_failed(causes: &mut Causes<'_>) {
    let session = causes.session;
    if !session.shows_calls || !causes.has_parts() {
        return;
    }
    let mut counts: HashMap<i64, f64> = HashMap::default();
    for turn in session.calls.iter().filter_map(|call| call.turn) {
        *counts.entry(turn).or_default() += 1.0;
    }
    // The output of each response before any call takes its share.
    let outputs: Vec<f64> = causes.budgets.iter().map(|it| it.map_or(0.0, |budget| budget.part(OUTPUT))).collect();
    let (repeated, is_known) = repeated(session.calls);
    if is_known {
        causes.know(Cause::RepeatedCall);
    }
    if session.calls.is_empty() || session.calls.iter().any(|call| call.turn.is_some()) {
        causes.know(Cause::FailedCall);
    }
    for (call, is_repeated) in session.calls.iter().zip(repeated) {
        // A test that fails is useful.
        let is_failed = call.is_error && !call.purpose.is_verifying();
        let cause = match (is_repeated, is_failed) {
            (true, _) => Cause::RepeatedCall,
            (false, true) => Cause::FailedCall,
            (false, false) => continue,
        };
        let Some(position) = session.position(call.turn) else { continue };
        let count = call.turn.and_then(|turn| counts.get(&turn)).copied().unwrap_or(1.0);
        let share = outputs.get(position).copied().unwrap_or(0.0) / count;
        if let Some(Some(budget)) = causes.budgets.get_mut(position) {
            let waste = budget.take(OUTPUT, share);
            causes.add(cause, Some(call.tool), waste, None, call.place);
        }
    }
}

/// Whether each call repeats an earlier one of the same agent, with no edit in between, as in docs/behavior.md; and whether that
/// is known.
fn repeated(calls: &[Call]) -> (Vec<bool>, bool) {
    let (mut seen, mut is_known) = (HashSet::default(), calls.is_empty());
    let repeated = calls.iter().map(|call| {
        if call.is_edit() {
            seen.clear();
        }
        call.identity.is_some_and(|identity| {
            is_known |= call.turn.is_some();
            !seen.insert(identity) && !call.is_edit()
        })
    });
    let repeated = repeated.collect();
    (repeated, is_known)
}
