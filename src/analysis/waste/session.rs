//! The waste of one session by cause: see docs/waste.md.

use foldhash::HashSet;

use super::cause::Cause;
use super::causes::{Causes, Finding};
use super::rows::{OUTPUT, Session};
use super::{cache, calls, output};

/// The waste of a session: at least one finding for each cause.
pub(super) fn findings(session: Session<'_>) -> Vec<Finding> {
    let mut causes = Causes::new(session);
    if causes.has_cost() {
        retries(&mut causes);
        cache::lost(&mut causes);
        premium_context(&mut causes);
        calls::repeated_and_failed(&mut causes);
        cache::unused_writes(&mut causes);
        after_last_edit(&mut causes);
        output::carried(&mut causes);
    }
    causes.findings()
}

/// Responses that ended in an error or were rejected, and after which the same agent got another one.
fn retries(causes: &mut Causes<'_>) {
    let session = causes.session;
    if !session.shows_retries {
        return;
    }
    causes.know(Cause::Retry);
    // After a second prompt, a retry can be about the answer to it.
    let has_one_prompt = session.user_turns.is_none_or(|prompts| prompts <= 1);
    let rejections = session.events.iter().filter(|event| !event.is_compaction && has_one_prompt);
    let rejected: HashSet<i64> = rejections.filter_map(|event| session.turn_of(event)).collect();
    for thread in causes.threads.clone() {
        let Some((_, followed)) = thread.split_last() else { continue };
        for position in followed {
            let Some(turn) = session.turns.get(*position) else { continue };
            let is_rejected = turn.calls.get() == Some(0) && rejected.contains(&turn.number);
            if !(turn.is_failed || is_rejected) {
                continue;
            }
            if let Some(Some(budget)) = causes.budgets.get_mut(*position) {
                let waste = budget.take_all();
                let tokens = turn.context().map(|context| context.saturating_add(turn.tokens[OUTPUT].or_zero()));
                causes.add(Cause::Retry, None, waste, tokens, turn.place);
            }
        }
    }
}

/// The surcharge for long prompts.
fn premium_context(causes: &mut Causes<'_>) {
    for (position, turn) in causes.session.turns.iter().enumerate() {
        let Some(Some(budget)) = causes.budgets.get_mut(position) else { continue };
        let (Some(context), Some(waste)) = (turn.context(), budget.take_surcharge()) else { continue };
        causes.know(Cause::PremiumContext);
        causes.add(Cause::PremiumContext, None, waste, Some(context), turn.place);
    }
}

/// Everything after the last edit of a session that failed.
fn after_last_edit(causes: &mut Causes<'_>) {
    let session = causes.session;
    match session.failed {
        None => return,
        Some(false) => {
            causes.know(Cause::AfterLastEdit);
            return;
        }
        Some(true) if !session.shows_calls => return,
        Some(true) => {}
    }
    let last = session.calls.iter().rev().find(|call| call.is_edit());
    let Some(last) = last else {
        // Without an edit, it is unknown which response was the last useful one.
        return;
    };
    let Some(last_turn) = last.turn else { return };
    causes.know(Cause::AfterLastEdit);
    // Checks of the edits are useful, whatever their result.
    let verifying = session.calls.iter().filter(|call| call.purpose.is_verifying());
    let verifying: HashSet<i64> = verifying.filter_map(|call| call.turn).collect();
    for (position, turn) in session.turns.iter().enumerate() {
        if turn.number > last_turn
            && !verifying.contains(&turn.number)
            && let Some(Some(budget)) = causes.budgets.get_mut(position)
        {
            let waste = budget.take_all();
            causes.add(Cause::AfterLastEdit, None, waste, None, turn.place);
        }
    }
}
