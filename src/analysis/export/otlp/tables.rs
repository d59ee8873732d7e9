//! The columns that spans are made of.

use polars::prelude::*;

use crate::analysis::export::by_session::SessionTables;
use crate::analysis::export::verdicts;
use crate::analysis::rows::Frames;
use crate::store::frames::{rows, sessions, tool_calls, turns};

rows! {
    /// The columns of sessions.
    pub(super) struct Sessions {
        id: sessions::SESSION_ID,
        runtime: sessions::RUNTIME,
        runtime_version: sessions::RUNTIME_VERSION,
        format: sessions::FORMAT,
        status: sessions::STATUS,
        usage: sessions::USAGE,
        error_kind: sessions::ERROR_KIND,
        parent: sessions::PARENT_SESSION_ID,
        agent: sessions::AGENT,
        model: sessions::MODEL,
        project: sessions::PROJECT,
        host: sessions::HOST,
        user: sessions::USER_NAME,
        source_path: sessions::SOURCE_PATH,
        labels: sessions::LABELS,
        started_at: sessions::STARTED_AT,
        ended_at: sessions::ENDED_AT,
        passed: verdicts::PASSED,
        task: verdicts::TASK,
        trial: verdicts::TRIAL,
    }

    /// The columns of turns.
    pub(super) struct Turns {
        runtime: turns::RUNTIME,
        session: turns::SESSION_ID,
        number: turns::TURN,
        grain: turns::GRAIN,
        source_path: turns::SOURCE_PATH,
        line: turns::LINE,
        message_id: turns::MESSAGE_ID,
        request_id: turns::REQUEST_ID,
        time: turns::OCCURRED_AT,
        ended_at: turns::ENDED_AT,
        duration_ms: turns::DURATION_MS,
        agent: turns::AGENT,
        agent_id: turns::AGENT_ID,
        is_subagent: turns::IS_SUBAGENT,
        provider: turns::PROVIDER,
        model: turns::MODEL,
        effort: turns::EFFORT,
        stop_reason: turns::STOP_REASON,
        service_tier: turns::SERVICE_TIER,
        input: turns::INPUT_TOKENS,
        output: turns::OUTPUT_TOKENS,
        cache_read: turns::CACHE_READ_TOKENS,
        cache_write: turns::CACHE_WRITE_TOKENS,
        cache_write_1h: turns::CACHE_WRITE_1H_TOKENS,
        reasoning: turns::REASONING_TOKENS,
        cost: turns::COST_USD,
        cost_source: turns::COST_SOURCE,
    }

    /// The columns of calls.
    pub(super) struct Calls {
        runtime: tool_calls::RUNTIME,
        session: tool_calls::SESSION_ID,
        turn: tool_calls::TURN,
        source_path: tool_calls::SOURCE_PATH,
        line: tool_calls::LINE,
        id: tool_calls::CALL_ID,
        tool: tool_calls::TOOL,
        category: tool_calls::CATEGORY,
        status: tool_calls::STATUS,
        exit_code: tool_calls::EXIT_CODE,
        time: tool_calls::OCCURRED_AT,
        duration_ms: tool_calls::DURATION_MS,
        target: tool_calls::TARGET,
        mcp_server: tool_calls::MCP_SERVER,
        args: tool_calls::ARGS,
        result: tool_calls::RESULT,
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
