//! Prompt caches: tokens that were billed again, and writes that no request read.

use super::cause::Cause;
use super::causes::Causes;
use super::rows::{INPUT, Miss, READ, Turn, WRITE};
use crate::analysis::rows::pause_before;
use crate::base::time::{HOUR_MICROS, MINUTE_MICROS};
use crate::prices::maker_of;

/// How long a cache is kept after its last use: five minutes, or an hour if a request paid for that. Source:
/// Anthropic's documentation of prompt caching; OpenAI documents five to ten minutes.
const SHORT_MICROS: i64 = 5 * MINUTE_MICROS;
const LONG_MICROS: i64 = HOUR_MICROS;

/// The fewest tokens that OpenAI caches. Source: OpenAI's documentation of prompt caching.
const LEAST_OF_OPENAI: i64 = 1024;

/// Tokens that the request before had cached, and which were billed again as input or as a cache write.
pub(super) fn lost(causes: &mut Causes<'_>) {
    let session = causes.session;
    for thread in causes.threads.clone() {
        let mut ttl = SHORT_MICROS;
        for (index, position) in thread.iter().enumerate() {
            let Some(turn) = session.turns.get(*position) else { continue };
            if turn.tokens[READ].get().is_none() || causes.budgets.get(*position).is_none_or(Option::is_none) {
                continue;
            }
            // A single request shows that nothing was lost.
            causes.know(Cause::CacheModelSwitch);
            if turn.end.is_some() {
                causes.know(Cause::CacheExpired);
                causes.know(Cause::CacheMissed);
            }
            if turn.miss.is_some() {
                causes.know(Cause::CachePrefixChanged);
            }
            let before = index.checked_sub(1).and_then(|index| session.turns.get(*thread.get(index)?));
            if let Some(before) = before {
                if before.write_1h.or_zero() > 0 {
                    ttl = LONG_MICROS;
                }
                lost_between(causes, before, *position, ttl);
            }
        }
    }
}

/// The tokens that were lost between two requests of an agent.
fn lost_between(causes: &mut Causes<'_>, before: &Turn, position: usize, ttl: i64) {
    let session = causes.session;
    let Some(turn) = session.turns.get(position) else { return };
    let (Some(read_before), Some(read)) = (before.tokens[READ].get(), turn.tokens[READ].get()) else { return };
    let cached = read_before + before.tokens[WRITE].or_zero();
    // A shorter prompt is another prompt, and so is one after a compaction.
    if turn.context().is_none_or(|context| context < cached) || causes.is_compacted(before, turn) {
        return;
    }
    let billed = turn.tokens[INPUT].or_zero() + turn.tokens[WRITE].or_zero();
    let lost = (cached - read).clamp(0, billed);
    // Below its minimum, OpenAI's cache keeps nothing.
    let model = || session.models.text(turn.model?);
    let is_of_openai = || model().and_then(maker_of) == Some("openai");
    if lost < 1 || lost < LEAST_OF_OPENAI && is_of_openai() {
        return;
    }
    let Some(cause) = cause(before, turn, ttl) else { return };
    let Some(Some(budget)) = causes.budgets.get_mut(position) else { return };
    let Some(read_unit) = budget.unit(READ) else { return };
    // Caching requests write what they did not read, so the lost tokens are among these first.
    let written = lost.min(turn.tokens[WRITE].or_zero());
    let waste: f64 = [(WRITE, written), (INPUT, lost - written)]
        .into_iter()
        .filter_map(|(kind, tokens)| {
            let more = budget.unit(kind)? - read_unit;
            Some(budget.take(kind, more * tokens as f64))
        })
        .sum();
    if let Some(rewritten) = causes.rewritten.get_mut(position) {
        *rewritten = written;
    }
    causes.add(cause, None, waste, Some(lost), turn.place);
}

/// Why a cache was lost: as the provider states. Otherwise, one that had expired would have been lost without a switch of models, too.
/// `None` without times.
fn cause(before: &Turn, turn: &Turn, ttl: i64) -> Option<Cause> {
    match turn.miss {
        Some(Miss::OtherModel) => return Some(Cause::CacheModelSwitch),
        Some(Miss::OtherPrefix) => return Some(Cause::CachePrefixChanged),
        Some(Miss::Unknown) | None => {}
    }
    match pause_before(turn.end, turn.took.get(), before.end) {
        Some(pause) if pause > ttl => Some(Cause::CacheExpired),
        _ if before.model != turn.model => Some(Cause::CacheModelSwitch),
        pause => pause.map(|_| Cause::CacheMissed),
    }
}

/// The surcharge for cache writes that no later request of the agent read. The last request of an agent is not a case: every session
/// has one, and it was not known to be the last.
pub(super) fn unused_writes(causes: &mut Causes<'_>) {
    let session = causes.session;
    for thread in causes.threads.clone() {
        // The largest prefix that a later request read.
        let mut read_later = None;
        for position in thread.iter().rev() {
            let Some(turn) = session.turns.get(*position) else { continue };
            let read = turn.tokens[READ].or_zero();
            if let (Some(written), Some(Some(budget))) = (turn.tokens[WRITE].get(), causes.budgets.get_mut(*position)) {
                let read_later = read_later.unwrap_or(i64::MAX);
                let unused = (read + written).saturating_sub(read_later.max(read)).clamp(0, written);
                // Of what was written again, the lost cache is the cause, with the surcharge.
                let rewritten = causes.rewritten.get(*position).copied().unwrap_or(0);
                let unused = unused.min(written - rewritten);
                let surcharge = budget.unit(WRITE).zip(budget.unit(INPUT)).map(|(write, input)| write - input);
                let waste = surcharge.map(|surcharge| budget.take(WRITE, surcharge * unused as f64));
                if let Some(waste) = waste {
                    causes.know(Cause::CacheWriteUnused);
                    causes.add(Cause::CacheWriteUnused, None, waste, Some(unused), turn.place);
                }
            }
            read_later = Some(read.max(read_later.unwrap_or(0)));
        }
    }
}
