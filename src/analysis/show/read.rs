//! Reads the rows of one session.

use std::collections::HashMap;

use polars::prelude::*;

use super::entry::{Entry, Kind};
use super::find::SessionKey;
use crate::analysis::failures::frame::{FAILURE_CLASS, FAILURE_LINE, FAILURE_PATH, FAILURE_SIGN, failures_among};
use crate::analysis::rows::{CostBasis, Frames, Purpose};
use crate::analysis::shipped;
use crate::base::time::Time;
use crate::store::frames::{
    TypedRows, commit_files, commits, events, file_changes, pull_requests, rows, sessions, tool_calls, turns, verdicts,
};

/// The tables that a timeline needs.
pub const TABLES: &[&str] = &[
    sessions::TABLE,
    turns::TABLE,
    tool_calls::TABLE,
    file_changes::TABLE,
    events::TABLE,
    verdicts::TABLE,
    commits::TABLE,
    commit_files::TABLE,
    pull_requests::TABLE,
];

rows! {
    /// The columns of sessions.
    pub(super) struct SessionColumns {
        id: sessions::SESSION_ID,
        runtime: sessions::RUNTIME,
        runtime_version: sessions::RUNTIME_VERSION,
        format: sessions::FORMAT,
        parent: sessions::PARENT_SESSION_ID,
        root: sessions::ROOT_SESSION_ID,
        agent: sessions::AGENT,
        source_path: sessions::SOURCE_PATH,
        project: sessions::PROJECT,
        cwd: sessions::CWD,
        git_branch: sessions::GIT_BRANCH,
        model: sessions::MODEL,
        models: sessions::MODELS,
        status: sessions::STATUS,
        error_kind: sessions::ERROR_KIND,
        error_message: sessions::ERROR_MESSAGE,
        stop_reason: sessions::STOP_REASON,
        started_at: sessions::STARTED_AT,
        ended_at: sessions::ENDED_AT,
        duration_ms: sessions::DURATION_MS,
        user_turns: sessions::USER_TURNS,
        turns: sessions::TURNS,
        tool_calls: sessions::TOOL_CALLS,
        tool_errors: sessions::TOOL_ERRORS,
        permission_denials: sessions::PERMISSION_DENIALS,
        file_changes: sessions::FILE_CHANGES,
        lines_added: sessions::LINES_ADDED,
        lines_removed: sessions::LINES_REMOVED,
        subagents: sessions::SUBAGENTS,
        compactions: sessions::COMPACTIONS,
        retries: sessions::RETRIES,
        output_tokens: sessions::OUTPUT_TOKENS,
        total_tokens: sessions::TOTAL_TOKENS,
        usage: sessions::USAGE,
        cost_usd: sessions::COST_USD,
        cost_source: sessions::COST_SOURCE,
        inclusive_cost_usd: sessions::INCLUSIVE_COST_USD,
        missing: sessions::MISSING_DESCENDANTS,
        unpriced_tokens: sessions::UNPRICED_TOKENS,
        labels: sessions::LABELS,
        prompt: sessions::PROMPT,
        text: sessions::TEXT,
    }

    /// The columns of responses.
    struct TurnColumns {
        time: turns::OCCURRED_AT,
        turn: turns::TURN,
        grain: turns::GRAIN,
        agent: turns::AGENT,
        is_subagent: turns::IS_SUBAGENT,
        source_path: turns::SOURCE_PATH,
        line: turns::LINE,
        model: turns::MODEL,
        effort: turns::EFFORT,
        stop_reason: turns::STOP_REASON,
        duration_ms: turns::DURATION_MS,
        context_tokens: turns::CONTEXT_TOKENS,
        output_tokens: turns::OUTPUT_TOKENS,
        total_tokens: turns::TOTAL_TOKENS,
        cost_usd: turns::COST_USD,
    }

    /// The columns of calls.
    struct CallColumns {
        time: tool_calls::OCCURRED_AT,
        turn: tool_calls::TURN,
        agent: tool_calls::AGENT,
        is_subagent: tool_calls::IS_SUBAGENT,
        source_path: tool_calls::SOURCE_PATH,
        line: tool_calls::LINE,
        call_id: tool_calls::CALL_ID,
        tool: tool_calls::TOOL,
        category: tool_calls::CATEGORY,
        command_kind: tool_calls::COMMAND_KIND,
        target: tool_calls::TARGET,
        status: tool_calls::STATUS,
        exit_code: tool_calls::EXIT_CODE,
        duration_ms: tool_calls::DURATION_MS,
        result_bytes: tool_calls::RESULT_BYTES,
    }

    /// The columns of changes of files.
    struct ChangeColumns {
        time: file_changes::OCCURRED_AT,
        turn: file_changes::TURN,
        source_path: file_changes::SOURCE_PATH,
        line: file_changes::LINE,
        call_id: file_changes::CALL_ID,
        path: file_changes::PATH,
        operation: file_changes::OPERATION,
        lines_added: file_changes::LINES_ADDED,
        lines_removed: file_changes::LINES_REMOVED,
    }

    /// The columns of events.
    struct EventColumns {
        time: events::OCCURRED_AT,
        turn: events::TURN,
        agent: events::AGENT,
        is_subagent: events::IS_SUBAGENT,
        source_path: events::SOURCE_PATH,
        line: events::LINE,
        call_id: events::CALL_ID,
        kind: events::KIND,
        code: events::CODE,
        message: events::MESSAGE,
        tokens_before: events::TOKENS_BEFORE,
        tokens_after: events::TOKENS_AFTER,
    }

    /// The columns of verdicts.
    pub(super) struct VerdictColumns {
        name: verdicts::NAME,
        passed: verdicts::PASSED,
        score: verdicts::SCORE,
        judge: verdicts::JUDGE,
        message: verdicts::MESSAGE,
    }
}

rows! {
    /// The columns of failures.
    struct FailureColumns {
        class: FAILURE_CLASS,
        sign: FAILURE_SIGN,
        path: FAILURE_PATH,
        line: FAILURE_LINE,
    }
}

/// Reads the rows of one session.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub tables: &'a Frames,
    pub session: &'a SessionKey,
    /// The choice of `--cost`.
    pub cost: CostBasis,
}

impl Reader<'_> {
    /// The rows of a table that belong to the session; `key` is the column with its id.
    pub(super) fn rows(self, table: &str, key: &str) -> LazyFrame {
        let is_of_runtime = col(turns::RUNTIME).eq(lit(self.session.runtime.as_str()));
        self.tables.table(table).filter(col(key).eq(lit(self.session.id.as_str())).and(is_of_runtime))
    }

    /// The row of the session, if it exists.
    pub(super) fn session(self) -> PolarsResult<SessionColumns> {
        self.sessions(sessions::SESSION_ID)
    }

    fn sessions(self, key: &str) -> PolarsResult<SessionColumns> {
        let rows = self.rows(sessions::TABLE, key).with_columns(self.cost.columns());
        // The costs of trees are those of the default.
        let inclusive = if self.cost == CostBasis::Auto { col(sessions::INCLUSIVE_COST_USD) } else { lit(NULL) };
        let inclusive = inclusive.cast(DataType::Float64).alias(sessions::INCLUSIVE_COST_USD);
        SessionColumns::read(rows.with_column(inclusive))
    }

    /// The verdicts on it.
    pub(super) fn verdicts(self) -> PolarsResult<VerdictColumns> {
        VerdictColumns::read(self.rows(verdicts::TABLE, verdicts::SESSION_ID))
    }

    /// The commits and pull requests that it worked on, if repositories were scanned.
    pub(super) fn shipped(self) -> PolarsResult<Option<String>> {
        shipped::of_session(self.rows(sessions::TABLE, sessions::SESSION_ID), self.tables)
    }

    /// Why it failed, if it did: its class, what shows it, and where.
    /// `log` is the file of the session.
    pub(super) fn failure(self, log: Option<&str>) -> PolarsResult<Option<String>> {
        let is_of_runtime = col(turns::RUNTIME).eq(lit(self.session.runtime.as_str()));
        let is_this = col(turns::SESSION_ID).eq(lit(self.session.id.as_str())).and(is_of_runtime);
        let mut found = failures_among(self.tables, &is_this)?.collect()?;
        found.rechunk_mut();
        let failure = FailureColumns::of(&found)?;
        if found.height() == 0 {
            return Ok(None);
        }
        let place = match (failure.path(0), failure.line(0)) {
            (path, Some(line)) if path == log => Some(format!(", line {line}")),
            (Some(path), Some(line)) => Some(format!(", {path}:{line}")),
            (Some(path), None) if Some(path) != log => Some(format!(", {path}")),
            _ => None,
        };
        let (class, sign) = (failure.class(0).unwrap_or_default(), failure.sign(0).unwrap_or_default());
        Ok(Some(format!("{class}: {sign}{}", place.unwrap_or_default())))
    }

    /// The responses, and the totals that the log contains only in sum.
    pub(super) fn turns(self) -> PolarsResult<Vec<Entry>> {
        let rows = self.rows(turns::TABLE, turns::SESSION_ID).with_columns(self.cost.columns());
        let turns = TurnColumns::read(rows)?;
        let entry = |row| Entry {
            kind: if turns.grain(row) == Some("turn") { Kind::Turn } else { Kind::Total },
            time: turns.time(row).map(Time::micros),
            turn: turns.turn(row),
            agent: owned(turns.agent(row)),
            is_subagent: turns.is_subagent(row),
            source_path: owned(turns.source_path(row)),
            line: turns.line(row),
            name: owned(turns.model(row)),
            detail: owned(turns.effort(row)),
            status: owned(turns.stop_reason(row)),
            duration_ms: turns.duration_ms(row),
            context_tokens: turns.context_tokens(row),
            output_tokens: turns.output_tokens(row),
            total_tokens: turns.total_tokens(row),
            cost_usd: turns.cost_usd(row),
            ..Entry::default()
        };
        Ok((0..turns.height()).map(entry).collect())
    }

    /// The calls.
    pub(super) fn calls(self) -> PolarsResult<Vec<Entry>> {
        let calls = CallColumns::read(self.rows(tool_calls::TABLE, tool_calls::SESSION_ID))?;
        let entry = |row| Entry {
            kind: Kind::Call,
            time: calls.time(row).map(Time::micros),
            turn: calls.turn(row),
            agent: owned(calls.agent(row)),
            is_subagent: calls.is_subagent(row),
            source_path: owned(calls.source_path(row)),
            line: calls.line(row),
            name: owned(calls.tool(row)),
            detail: owned(calls.target(row)),
            purpose: Some(Purpose::of(calls.category(row), calls.command_kind(row))),
            command_kind: owned(calls.command_kind(row)),
            status: owned(calls.status(row)),
            exit_code: calls.exit_code(row),
            duration_ms: calls.duration_ms(row),
            result_bytes: calls.result_bytes(row),
            call_id: owned(calls.call_id(row)),
            ..Entry::default()
        };
        Ok((0..calls.height()).map(entry).collect())
    }

    /// The changes of files. Whether a subagent made one follows from its call.
    pub(super) fn changes(self, calls: &[Entry]) -> PolarsResult<Vec<Entry>> {
        // Call ids repeat where an export masks them: those of one response are the same call.
        let by_id: HashMap<(Option<i64>, &str), &Entry> =
            calls.iter().filter_map(|call| Some(((call.turn, call.call_id.as_deref()?), call))).collect();
        let changes = ChangeColumns::read(self.rows(file_changes::TABLE, file_changes::SESSION_ID))?;
        let entry = |row| {
            let call = changes.call_id(row).and_then(|id| by_id.get(&(changes.turn(row), id)));
            Entry {
                kind: Kind::Edit,
                time: changes.time(row).map(Time::micros),
                turn: changes.turn(row),
                source_path: owned(changes.source_path(row)),
                line: changes.line(row),
                name: owned(changes.path(row)),
                status: owned(changes.operation(row)),
                purpose: Some(Purpose::Edit),
                lines_added: changes.lines_added(row),
                lines_removed: changes.lines_removed(row),
                agent: call.and_then(|call| call.agent.clone()),
                is_subagent: call.is_some_and(|call| call.is_subagent),
                call_id: owned(changes.call_id(row)),
                ..Entry::default()
            }
        };
        Ok((0..changes.height()).map(entry).collect())
    }

    /// The other events.
    pub(super) fn events(self) -> PolarsResult<Vec<Entry>> {
        let events = EventColumns::read(self.rows(events::TABLE, events::SESSION_ID))?;
        let entry = |row| Entry {
            kind: kind_of_event(events.kind(row)),
            time: events.time(row).map(Time::micros),
            turn: events.turn(row),
            agent: owned(events.agent(row)),
            is_subagent: events.is_subagent(row),
            source_path: owned(events.source_path(row)),
            line: events.line(row),
            name: owned(events.code(row)),
            detail: owned(events.message(row)),
            tokens_before: events.tokens_before(row),
            tokens_after: events.tokens_after(row),
            call_id: owned(events.call_id(row)),
            ..Entry::default()
        };
        Ok((0..events.height()).map(entry).collect())
    }

    /// The sessions that this one started, at their start.
    pub(super) fn children(self) -> PolarsResult<Vec<Entry>> {
        let children = self.sessions(sessions::PARENT_SESSION_ID)?;
        Ok((0..children.height()).map(|row| session_entry(&children, row, Kind::Child)).collect())
    }
}

/// A session as an entry.
pub(super) fn session_entry(sessions: &SessionColumns, row: usize, kind: Kind) -> Entry {
    Entry {
        kind,
        time: sessions.started_at(row).map(Time::micros),
        agent: owned(sessions.agent(row)),
        name: owned(sessions.id(row)),
        detail: owned(sessions.model(row)),
        status: owned(sessions.status(row)),
        duration_ms: sessions.duration_ms(row),
        output_tokens: sessions.output_tokens(row),
        total_tokens: sessions.total_tokens(row),
        cost_usd: sessions.cost_usd(row),
        inclusive_cost_usd: sessions.inclusive_cost_usd(row),
        lines_added: sessions.lines_added(row),
        lines_removed: sessions.lines_removed(row),
        source_path: owned(sessions.source_path(row)),
        ..Entry::default()
    }
}

fn kind_of_event(kind: Option<&str>) -> Kind {
    match kind {
        Some("compaction") => Kind::Compaction,
        Some("permission_denial") => Kind::Denial,
        Some("retry") => Kind::Retry,
        Some("subagent") => Kind::Subagent,
        Some("validation") => Kind::Validation,
        Some("abort") => Kind::Abort,
        _ => Kind::Error,
    }
}

fn owned(text: Option<&str>) -> Option<String> {
    text.map(str::to_owned)
}
