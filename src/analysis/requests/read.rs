//! Reads the responses and calls of sessions.

use polars::prelude::*;

use super::request::{Call, Compaction, Turn};
use crate::analysis::rows::{CostBasis, Find, Purpose, Sorted, end_of};
use crate::base::time::Time;
use crate::store::frames::{TypedRows, events, for_each_batch, rows, tool_calls, turns};

rows! {
    /// The columns of responses.
    struct TurnColumns {
        runtime: turns::RUNTIME,
        session: turns::SESSION_ID,
        number: turns::TURN,
        is_subagent: turns::IS_SUBAGENT,
        time: turns::OCCURRED_AT,
        ended_at: turns::ENDED_AT,
        latency_ms: turns::LATENCY_MS,
        total_tokens: turns::TOTAL_TOKENS,
        cost_usd: turns::COST_USD,
    }

    /// The columns of calls.
    struct CallColumns {
        runtime: tool_calls::RUNTIME,
        session: tool_calls::SESSION_ID,
        turn: tool_calls::TURN,
        is_subagent: tool_calls::IS_SUBAGENT,
        time: tool_calls::OCCURRED_AT,
        duration_ms: tool_calls::DURATION_MS,
        category: tool_calls::CATEGORY,
        kind: tool_calls::COMMAND_KIND,
        status: tool_calls::STATUS,
    }

    /// The columns of events.
    struct EventColumns {
        runtime: events::RUNTIME,
        session: events::SESSION_ID,
        turn: events::TURN,
        time: events::OCCURRED_AT,
    }
}

/// The responses, by number.
pub(super) fn turns(table: LazyFrame, cost: CostBasis, find: Find<'_>) -> PolarsResult<Sorted<Turn>> {
    let mut found = Vec::new();
    let table = table.filter(col(turns::GRAIN).eq(lit("turn"))).with_columns(cost.columns());
    for_each_batch(table, |turns: &TurnColumns| {
        for row in 0..turns.height() {
            let Some(index) = find(turns.runtime(row), turns.session(row)) else { continue };
            let Some(number) = turns.number(row) else { continue };
            let turn = Turn {
                number,
                is_subagent: turns.is_subagent(row),
                time: turns.time(row).map(Time::micros),
                end: end_of(turns.time(row), turns.ended_at(row)),
                latency_ms: turns.latency_ms(row),
                total_tokens: turns.total_tokens(row),
                cost_usd: turns.cost_usd(row),
            };
            found.push((index, turn));
        }
        Ok(())
    })?;
    Ok(Sorted::new(found, |turn| Some(turn.number)))
}

/// The calls, by the number of their response. Calls of no response are left out.
pub(super) fn calls(table: LazyFrame, find: Find<'_>) -> PolarsResult<Sorted<Call>> {
    let mut found = Vec::new();
    for_each_batch(table.filter(col(tool_calls::TURN).is_not_null()), |calls: &CallColumns| {
        for row in 0..calls.height() {
            let Some(index) = find(calls.runtime(row), calls.session(row)) else { continue };
            let status = calls.status(row);
            let call = Call {
                turn: calls.turn(row),
                is_subagent: calls.is_subagent(row),
                time: calls.time(row).map(Time::micros),
                duration_ms: calls.duration_ms(row),
                purpose: Purpose::of(calls.category(row), calls.kind(row)),
                is_ok: status == Some("ok"),
                has_result: matches!(status, Some("ok" | "error")),
            };
            found.push((index, call));
        }
        Ok(())
    })?;
    Ok(Sorted::new(found, |call| call.turn))
}

/// The compactions of contexts.
pub(super) fn compactions(table: LazyFrame, find: Find<'_>) -> PolarsResult<Sorted<Compaction>> {
    let mut found = Vec::new();
    for_each_batch(table.filter(col(events::KIND).eq(lit("compaction"))), |events: &EventColumns| {
        for row in 0..events.height() {
            let Some(index) = find(events.runtime(row), events.session(row)) else { continue };
            found.push((index, Compaction { turn: events.turn(row), time: events.time(row).map(Time::micros) }));
        }
        Ok(())
    })?;
    Ok(Sorted::new(found, |compaction| compaction.time))
}
