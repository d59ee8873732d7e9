//! The store of Copilot CLI, `~/.copilot/session-store.db`: since 1.0.71 each request of each session is a row of
//! `assistant_usage_events`, with all of its counts.
//!
//! Input includes both caches; `api_call_id` is that of the message in the session's own log. Rows of sessions whose logs were deleted
//! remain.

use serde::Deserialize;

use super::records::Usage;
use crate::adapters::engine::sessions::SessionsById;
use crate::adapters::engine::{Context, Probe, RecordErrors, RecordKind};
use crate::adapters::shared::ai_credits::dollars;
use crate::adapters::shared::builder::Builder;
use crate::adapters::shared::repository::of_remote;
use crate::json::fields::{Count, Number, Text, When};
use crate::json::lines::Line;
use crate::json::{self, Raw};
use crate::model::session::{Capabilities, Cost, Identity, SessionResult, Status};
use crate::model::sqlite_schema::Table;

/// Each request.
pub(crate) const USAGE: Table = Table {
    name: "assistant_usage_events",
    key: "id",
    needs: &["session_id", "input_tokens", "output_tokens"],
    columns: &[
        "session_id",
        "model",
        "copilot_usage_model",
        "reasoning_effort",
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "reasoning_tokens",
        "total_nano_aiu",
        "duration_ms",
        "finish_reason",
        "api_call_id",
        "agent_id",
        "parent_tool_call_id",
        "created_at",
    ],
    order: "id",
    ..Table::PLAIN
};

/// Where the sessions ran.
pub(crate) const SESSIONS: Table = Table {
    name: "sessions",
    needs: &["cwd", "repository", "branch", "host_type"],
    columns: &["cwd", "repository", "branch", "host_type"],
    ..USAGE
};

/// Whether a record is a row of the store.
pub(super) fn is_row(probe: &Probe<'_>) -> bool {
    match probe.text("table").as_ref() {
        "assistant_usage_events" => probe.has_all(&["id", "session_id", "input_tokens"]),
        "sessions" => probe.has_all(&["id", "cwd", "repository", "branch", "host_type"]),
        _ => false,
    }
}

/// A row of either table.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Row<'a> {
    table: Text<'a>,
    /// A number, of a session a string.
    id: Raw<'a>,
    // assistant_usage_events
    session_id: Text<'a>,
    model: Text<'a>,
    copilot_usage_model: Text<'a>,
    reasoning_effort: Text<'a>,
    input_tokens: Count,
    output_tokens: Count,
    cache_read_tokens: Count,
    cache_write_tokens: Count,
    reasoning_tokens: Count,
    total_nano_aiu: Number,
    duration_ms: Number,
    finish_reason: Text<'a>,
    api_call_id: Text<'a>,
    agent_id: Text<'a>,
    parent_tool_call_id: Text<'a>,
    created_at: When,
    // sessions
    cwd: Text<'a>,
    repository: Text<'a>,
    branch: Text<'a>,
}

/// The context of sessions that consist of requests with all of their counts.
pub(super) fn metered(context: &Context) -> Context {
    let capabilities = Capabilities::TURNS.and(Capabilities::KEPT_BY_RUNTIME).and(Capabilities::METERED);
    Context { capabilities, ..context.clone() }
}

/// The sessions that have requests.
pub(super) struct Store {
    context: Context,
    sessions: SessionsById<Builder>,
}

impl Store {
    pub(super) fn new(context: &Context) -> Self {
        Self { context: metered(context), sessions: SessionsById::default() }
    }

    /// Adds a line that is not an event, if it is a row.
    pub(super) fn line(&mut self, line: Line<'_>, damage: &mut RecordErrors) -> RecordKind {
        json::from_slice::<Row<'_>>(line.bytes).map_or(RecordKind::Unknown, |row| self.row(&row, line.number, damage))
    }

    /// Adds a row. Those of the requests come first.
    fn row(&mut self, row: &Row<'_>, line: i64, damage: &mut RecordErrors) -> RecordKind {
        match row.table.as_str() {
            "assistant_usage_events" if row.session_id.is_some() => self.request(row, line, damage),
            "assistant_usage_events" => {}
            "sessions" => self.place(row),
            _ => return RecordKind::Unknown,
        }
        RecordKind::Known
    }

    fn request(&mut self, row: &Row<'_>, line: i64, damage: &mut RecordErrors) {
        let usage = Usage {
            input_tokens: row.input_tokens,
            output_tokens: row.output_tokens,
            cache_read_tokens: row.cache_read_tokens,
            cache_write_tokens: row.cache_write_tokens,
            reasoning_tokens: row.reasoning_tokens,
        };
        let tokens = usage.tokens(damage);
        let cost = dollars(row.total_nano_aiu, damage);
        let id = row.session_id.as_str();
        let builder = self.sessions.find_or_add(id, || Builder::new(&self.context, id, line));
        builder.extend_to(row.created_at.0);
        let named = || Identity::Session(format!("request {}", row.id.text()).into());
        let identity = row.api_call_id.some().map_or_else(named, |id| Identity::Session(id.into()));
        let index = builder.turn(identity, line);
        let turn = &mut builder.session.turns[index];
        turn.tokens = turn.tokens.get().max(tokens).into();
        turn.cost = cost.map(Cost::of).or(turn.cost.take());
        turn.message_id = row.api_call_id.owned();
        turn.model = row.model.owned().or_else(|| row.copilot_usage_model.owned());
        turn.effort = row.reasoning_effort.owned();
        turn.duration_ms = row.duration_ms.rounded().into();
        turn.stop_reason = row.finish_reason.owned();
        turn.occurred_at = row.created_at.0;
        turn.agent_id = row.agent_id.owned().or_else(|| row.parent_tool_call_id.owned());
        turn.is_subagent = turn.agent_id.is_some();
    }

    fn place(&mut self, row: &Row<'_>) {
        let Some(index) = self.sessions.find(&row.id.text()) else { return };
        let session = &mut self.sessions[index].session;
        session.cwd = row.cwd.owned();
        session.git_branch = row.branch.owned();
        session.repository = row.repository.some().and_then(|name| of_remote(&format!("https://github.com/{name}")));
    }

    pub(super) fn finish(self) -> impl Iterator<Item = SessionResult> {
        // No row states how a session ended.
        self.sessions.into_iter().map(|builder| SessionResult { status: Status::Unknown, ..builder.finish() })
    }
}
