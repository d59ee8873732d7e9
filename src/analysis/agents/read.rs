//! Reads the rows that runs of subagents are made of.

use polars::prelude::*;

use super::run::{Agent, Call, Start, Turn};
use crate::analysis::rows::{CostBasis, Find, Sorted, hash_of};
use crate::base::time::Time;
use crate::store::frames::{events, rows, tool_calls, turns};

rows! {
    /// The columns of responses.
    struct TurnColumns {
        runtime: turns::RUNTIME,
        session: turns::SESSION_ID,
        number: turns::TURN,
        agent: turns::AGENT,
        agent_id: turns::AGENT_ID,
        is_subagent: turns::IS_SUBAGENT,
        time: turns::OCCURRED_AT,
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
        id: tool_calls::CALL_ID,
        category: tool_calls::CATEGORY,
        target: tool_calls::TARGET,
        result_bytes: tool_calls::RESULT_BYTES,
    }

    /// The columns of events.
    struct EventColumns {
        runtime: events::RUNTIME,
        session: events::SESSION_ID,
        code: events::CODE,
        agent: events::AGENT,
        call_id: events::CALL_ID,
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
            let owned = |text: Option<&str>| text.map(str::to_owned);
            let agent = || Agent { id: owned(turns.agent_id(row)), name: owned(turns.agent(row)) };
            let turn = Turn {
                number: turns.number(row).unwrap_or_default(),
                agent: turns.is_subagent(row).then(agent),
                time: turns.time(row).map(Time::micros),
                total_tokens: turns.total_tokens(row),
                cost_usd: turns.cost_usd(row),
            };
            Some((index, turn))
        },
        |turn| Some(turn.number),
    )
}

/// The calls, by time.
pub(super) fn calls(table: LazyFrame, find: Find<'_>) -> PolarsResult<Sorted<Call>> {
    Sorted::read(
        table,
        |calls: &CallColumns, row| {
            let index = find(calls.runtime(row), calls.session(row))?;
            let is_read = calls.category(row) == Some("read");
            let call = Call {
                turn: calls.turn(row),
                is_subagent: calls.is_subagent(row),
                time: calls.time(row).map(Time::micros),
                id: calls.id(row).map(hash_of),
                is_start: calls.category(row) == Some("subagent"),
                read: calls.target(row).filter(|_| is_read).map(hash_of),
                result_bytes: calls.result_bytes(row),
            };
            Some((index, call))
        },
        |call| call.time,
    )
}

/// The starts of subagents.
pub(super) fn starts(table: LazyFrame, find: Find<'_>) -> PolarsResult<Sorted<Start>> {
    Sorted::read(
        table.filter(col(events::KIND).eq(lit("subagent"))),
        |events: &EventColumns, row| {
            let index = find(events.runtime(row), events.session(row))?;
            let agent_id = events.code(row);
            let start = Start {
                session: agent_id.and_then(|id| find(events.runtime(row), Some(id))),
                agent_id: agent_id.map(str::to_owned),
                name: events.agent(row).map(str::to_owned),
                call_id: events.call_id(row).map(hash_of),
                time: events.time(row).map(Time::micros),
            };
            Some((index, start))
        },
        |start| start.time,
    )
}
