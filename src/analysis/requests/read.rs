//! Reads the responses and calls of sessions.

use polars::prelude::*;

use super::request::{Call, Compaction, Turn};
use crate::analysis::rows::{CostBasis, Find, Purpose, Sorted, end_of};
use crate::base::time::Time;
use crate::store::frames::{events, rows, tool_calls, turns};

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
    let table = table.filter(col(turns::GRAIN).eq(lit("turn"))).with_columns(cost.columns());
    Sorted::read(
        table,
        |turns: &TurnColumns, row| {
            let index = find(turns.runtime(row), turns.session(row))?;
            let number = turns.number(row)?;
            let turn = Turn {
                number,
                is_subagent: turns.is_subagent(row),
                time: turns.time(row).map(Time::micros),
                end: end_of(turns.time(row), turns.ended_at(row)),
                latency_ms: turns.latency_ms(row),
                total_tokens: turns.total_tokens(row),
                cost_usd: turns.cost_usd(row),
            };
            Some((index, turn))
        },
        |turn| Some(turn.number),
    )
}

/// The calls, by the number of their response. Calls of no response are left out.
pub(super) fn calls(table: LazyFrame, find: Find<'_>) -> PolarsResult<Sorted<Call>> {
    Sorted::read(
        table.filter(col(tool_calls::TURN).is_not_null()),
        |calls: &CallColumns, row| {
            let index = find(calls.runtime(row), calls.session(row))?;
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
            Some((index, call))
        },
        |call| call.turn,
    )
}

/// The compactions of contexts.
pub(super) fn compactions(table: LazyFrame, find: Find<'_>) -> PolarsResult<Sorted<Compaction>> {
    Sorted::read(
        table.filter(col(events::KIND).eq(lit("compaction"))),
        |events: &EventColumns, row| {
            let index = find(events.runtime(row), events.session(row))?;
            Some((index, Compaction { turn: events.turn(row), time: events.time(row).map(Time::micros) }))
        },
        |compaction| compaction.time,
    )
}
