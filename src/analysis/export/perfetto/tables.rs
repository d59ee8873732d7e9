//! The columns that events are made of.

use polars::prelude::*;

use crate::analysis::export::by_session::SessionTables;
use crate::analysis::export::verdicts;
use crate::analysis::rows::{Frames, end_of};
use crate::store::frames::{rows, sessions, tool_calls, turns};

rows! {
    /// The columns of sessions.
    pub(super) struct Sessions {
        id: sessions::SESSION_ID,
        runtime: sessions::RUNTIME,
        project: sessions::PROJECT,
        agent: sessions::AGENT,
        parent: sessions::PARENT_SESSION_ID,
        started_at: sessions::STARTED_AT,
        ended_at: sessions::ENDED_AT,
        passed: verdicts::PASSED,
        task: verdicts::TASK,
    }

    /// The columns of turns.
    pub(super) struct Turns {
        runtime: turns::RUNTIME,
        session: turns::SESSION_ID,
        number: turns::TURN,
        grain: turns::GRAIN,
        line: turns::LINE,
        time: turns::OCCURRED_AT,
        ended_at: turns::ENDED_AT,
        duration_ms: turns::DURATION_MS,
        latency_ms: turns::LATENCY_MS,
        agent: turns::AGENT,
        agent_id: turns::AGENT_ID,
        is_subagent: turns::IS_SUBAGENT,
        model: turns::MODEL,
        effort: turns::EFFORT,
        stop_reason: turns::STOP_REASON,
        context_tokens: turns::CONTEXT_TOKENS,
        input: turns::INPUT_TOKENS,
        output: turns::OUTPUT_TOKENS,
        cache_read: turns::CACHE_READ_TOKENS,
        cache_write: turns::CACHE_WRITE_TOKENS,
        total_tokens: turns::TOTAL_TOKENS,
        cost: turns::COST_USD,
    }

    /// The columns of calls.
    pub(super) struct Calls {
        runtime: tool_calls::RUNTIME,
        session: tool_calls::SESSION_ID,
        turn: tool_calls::TURN,
        line: tool_calls::LINE,
        agent: tool_calls::AGENT,
        is_subagent: tool_calls::IS_SUBAGENT,
        tool: tool_calls::TOOL,
        category: tool_calls::CATEGORY,
        status: tool_calls::STATUS,
        exit_code: tool_calls::EXIT_CODE,
        time: tool_calls::OCCURRED_AT,
        duration_ms: tool_calls::DURATION_MS,
        target: tool_calls::TARGET,
        args: tool_calls::ARGS,
        result: tool_calls::RESULT,
    }
}

impl Turns {
    /// The end of a response, in microseconds since 1970.
    pub(super) fn end(&self, row: usize) -> Option<i64> {
        end_of(self.time(row), self.ended_at(row))
    }
}

/// The tables, with the rows of each session.
pub(super) type Tables = SessionTables<Sessions, Turns, Calls>;

impl Tables {
    pub(super) fn read(tables: &Frames) -> PolarsResult<Self> {
        Self::read_by(
            tables,
            |turns, row| (turns.runtime(row), turns.session(row)),
            |calls, row| (calls.runtime(row), calls.session(row)),
        )
    }
}
