//! Reads the columns that the measures need.

use polars::prelude::*;

use super::rows::{Call, Change, Status, Turn};
use crate::analysis::rows::{
    Find, Purpose, Sorted, ToolMeanings, agent_of_call, hash_of, hash_of_agent, is_answer, needs_no_check,
};
use crate::base::time::Time;
use crate::store::frames::{file_changes, rows, tool_calls, turns};

rows! {
    /// The columns of calls.
    struct CallColumns {
        runtime: tool_calls::RUNTIME,
        session: tool_calls::SESSION_ID,
        category: tool_calls::CATEGORY,
        kind: tool_calls::COMMAND_KIND,
        status: tool_calls::STATUS,
        agent: tool_calls::AGENT,
        tool: tool_calls::TOOL,
        hash: tool_calls::ARGS_HASH,
        target: tool_calls::TARGET,
        time: tool_calls::OCCURRED_AT,
        duration_ms: tool_calls::DURATION_MS,
        turn: tool_calls::TURN,
        exit_code: tool_calls::EXIT_CODE,
        is_subagent: tool_calls::IS_SUBAGENT,
        failed_tests: tool_calls::RESULT_FAILED_TESTS,
    }

    /// The columns of responses.
    struct TurnColumns {
        runtime: turns::RUNTIME,
        session: turns::SESSION_ID,
        agent: turns::AGENT,
        agent_id: turns::AGENT_ID,
        is_subagent: turns::IS_SUBAGENT,
        number: turns::TURN,
        time: turns::OCCURRED_AT,
        ended_at: turns::ENDED_AT,
        duration_ms: turns::DURATION_MS,
        latency_ms: turns::LATENCY_MS,
        context_tokens: turns::CONTEXT_TOKENS,
        cache_read_tokens: turns::CACHE_READ_TOKENS,
        output_tokens: turns::OUTPUT_TOKENS,
        total_tokens: turns::TOTAL_TOKENS,
    }

    /// The columns of changes of files.
    struct ChangeColumns {
        runtime: file_changes::RUNTIME,
        session: file_changes::SESSION_ID,
        path: file_changes::PATH,
        operation: file_changes::OPERATION,
        time: file_changes::OCCURRED_AT,
        lines_added: file_changes::LINES_ADDED,
        lines_removed: file_changes::LINES_REMOVED,
    }
}

/// The calls.
pub(super) fn calls(table: LazyFrame, turns: &Sorted<Turn>, find: Find<'_>) -> PolarsResult<Sorted<Call>> {
    let mut meanings = ToolMeanings::default();
    let mut number = 0_usize;
    Sorted::read(
        table,
        |calls: &CallColumns, row| {
            let index = find(calls.runtime(row), calls.session(row))?;
            let (name, category, kind) = (calls.tool(row).unwrap_or_default(), calls.category(row), calls.kind(row));
            let (is_subagent, target) = (calls.is_subagent(row), calls.target(row));
            let agent = agent_of_call(turns.of(index), calls.turn(row), |turn| (turn.number, turn.agent))
                .unwrap_or_else(|| hash_of_agent(is_subagent, None, calls.agent(row)));
            let meaning = meanings.of(name);
            number += 1;
            let poll = meaning.polls.then_some(number);
            let call = Call {
                time: calls.time(row).map(Time::micros),
                duration_ms: calls.duration_ms(row),
                turn: calls.turn(row),
                is_subagent,
                status: Status::of(calls.status(row)),
                purpose: Purpose::of(category, kind),
                failed_tests: calls.failed_tests(row) == Some(true),
                asks_human: meaning.asks_human,
                is_answer: is_answer(calls.exit_code(row), kind, target),
                needs_no_check: needs_no_check(category == Some("shell"), target),
                identity: calls.hash(row).map(|hash| hash_of((agent, name, hash, poll))),
            };
            Some((index, call))
        },
        |call| call.time,
    )
}

/// The responses.
pub(super) fn turns(table: LazyFrame, find: Find<'_>) -> PolarsResult<Sorted<Turn>> {
    Sorted::read(
        table.filter(col(turns::GRAIN).eq(lit("turn"))),
        |turns: &TurnColumns, row| {
            let index = find(turns.runtime(row), turns.session(row))?;
            let number = turns.number(row)?;
            let is_subagent = turns.is_subagent(row);
            let turn = Turn {
                number,
                is_subagent,
                agent: hash_of_agent(is_subagent, turns.agent_id(row), turns.agent(row)),
                time: turns.time(row).map(Time::micros),
                ended_at: turns.ended_at(row).map(Time::micros),
                duration_ms: turns.duration_ms(row),
                latency_ms: turns.latency_ms(row),
                context_tokens: turns.context_tokens(row),
                cache_read_tokens: turns.cache_read_tokens(row),
                output_tokens: turns.output_tokens(row),
                total_tokens: turns.total_tokens(row),
            };
            Some((index, turn))
        },
        |turn| Some(turn.number),
    )
}

/// The changes of files.
pub(super) fn changes(table: LazyFrame, find: Find<'_>) -> PolarsResult<Sorted<Change>> {
    Sorted::read(
        table,
        |changes: &ChangeColumns, row| {
            let index = find(changes.runtime(row), changes.session(row))?;
            let change = Change {
                time: changes.time(row).map(Time::micros),
                path: hash_of(changes.path(row)),
                is_deletion: changes.operation(row) == Some("delete"),
                lines_added: changes.lines_added(row),
                lines_removed: changes.lines_removed(row),
            };
            Some((index, change))
        },
        |change| change.time,
    )
}
