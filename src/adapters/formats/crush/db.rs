//! Crush's database `.crush/crush.db` in each project (docs/formats/crush.md#crush-db).
//!
//! - No message has a token count. `prompt_tokens` and `completion_tokens` of a session are those of its last request, and what
//!   they include changed between versions: they are not read.
//! - The cost of a session includes the costs of its subagents' sessions, except of subagents that failed, were cancelled or had no end.
//! - Times are in seconds, though the comments of the schema claim milliseconds.
//! - The subagent of a call `agent` has a session, whose id is that of the call, in newer versions `MESSAGE$$CALL`.
//!
//! Crush uses a migration tool that is also named goose: its table `goose_db_version` has nothing to do with the agent.
//!
//! # `crush-db`
//!
//! Crush's `.crush/crush.db` in each project, with its `-wal`. Recognised by the table `sessions` with `message_count`,
//! `prompt_tokens`, `completion_tokens` and `cost`, and the table `messages` with `parts`. Its table `goose_db_version` belongs to a
//! migration tool, not to goose. Seen: 2 databases of August to October 2025; the columns of 2026 from its source.
//!
//! | what | from |
//! | --- | --- |
//! | session, parent | `sessions.id`, `parent_session_id`: a subagent's session has the id of its call, newer ones `MESSAGE$$CALL` |
//! | cwd | `metadata.working_directory` of the first shell result: no column contains it |
//! | turn | an `assistant` message with text, reasoning or a call: `model`, `provider`, time and stop reason of its `finish` part; without counts |
//! | cost | `sessions.cost` of sessions whose parent is not in the database, in a row of grain `session`: a parent's cost includes its subagents' (source). It is added when a subagent ends, so that one that failed ("Failed to generate response", "error generating"), was cancelled or has no result has a cost of its own. 0 is unknown: free, local and flat-rate models |
//! | call | `tool_call` parts, results by `tool_call_id`; exit code: "Exit code N" at the end of a `bash` result, whose `is_error` is false (16 of 16) |
//! | call status | with `is_error` `denied`: "Permission denied", "User denied permission", "User cancelled this question", "Tool call blocked by hook", "Turn halted by hook"; `cancelled`: "Tool execution canceled by user", "user cancelled assistant tool calling"; `error`: `is_error`, or an exit code other than 0 |
//! | file change | the path of an `edit`, `multiedit` or `write`; lines `additions`, `removals` of the result's metadata |
//! | subagent | each session below this one |
//! | events | `is_summary_message` or `summary_message_id` (compaction), `finish` with `error` or `content_filter` (error), `canceled` (abort), refusals |
//! | user turns | `user` messages with a text, an image or a file, except in subagents. Shell commands of the user (`shell_command` parts) are none |
//! | status | the last `finish` of the model: `end_turn` without calls is `success`, `canceled` and `permission_denied` are `aborted`, as is `end_turn` with a call that was denied (since 2026), `error` and `content_filter` are `error`, else `incomplete` |
//!
//! *Unknown*: all tokens. `prompt_tokens` and `completion_tokens` are those of the last request only, and what they include differs
//! between versions. Times are in seconds.
//!
//! Without a path, only `~/.crush` is searched: the other databases are in the directories of projects.
//! `agentlogs ingest ~/src` finds them, as hidden directories are read, and so does a directory in `logs` of the configuration.

use foldhash::{HashSet, HashSetExt as _};

use self::records::Row;
use self::session::Session;
use crate::adapters::engine::sessions::SessionsById;
use crate::adapters::engine::{Adapter, Context, Fold, RecordErrors, RecordKind, fold};
use crate::adapters::shared::at::At;
use crate::adapters::shared::subagents;
use crate::json::lines::Line;
use crate::model::health::Reason;
use crate::model::places::Place;
use crate::model::session::{Capabilities, SessionResult};
use crate::model::sqlite_schema::Table;

mod records;
mod session;

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "crush-db",
    runtime: "crush",
    about: "Crush, .crush/crush.db of a project",
    tested: None,
    capabilities: Capabilities::TURNS
        .and(Capabilities::TOOL_CALLS)
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::SUBAGENTS)
        .and(Capabilities::COMPACTIONS)
        .and(Capabilities::PERMISSION_DENIALS)
        .and(Capabilities::USER_TURNS)
        .and(Capabilities::KEPT_BY_RUNTIME),
    // Each project has its own database; this is that of the home directory.
    places: &[Place::home(".crush")],
    claims: |probe| {
        6 * u32::from(match probe.text("table").as_ref() {
            "sessions" => probe.has_all(&["message_count", "prompt_tokens", "completion_tokens", "cost"]),
            "messages" => probe.has_all(&["session_id", "role", "parts"]),
            _ => false,
        })
    },
    parse: fold::<Database>,
};

pub(crate) const SESSIONS: Table = Table {
    name: "sessions",
    key: "id",
    needs: &["message_count", "prompt_tokens", "completion_tokens", "cost"],
    columns: &[
        "parent_session_id",
        "message_count",
        "prompt_tokens",
        "completion_tokens",
        "cost",
        "created_at",
        "updated_at",
        "summary_message_id",
    ],
    order: "created_at, id",
    below: &[("session_id", MESSAGES)],
    ..Table::PLAIN
};

const MESSAGES: Table = Table {
    name: "messages",
    key: "id",
    needs: &["role", "parts", "created_at"],
    columns: &[
        "session_id",
        "role",
        "parts",
        "model",
        "provider",
        "created_at",
        "updated_at",
        "finished_at",
        "is_summary_message",
    ],
    json: &["parts"],
    // Several messages are written in one second.
    order: "created_at, rowid",
    ..Table::PLAIN
};

struct Database {
    context: Context,
    sessions: SessionsById<Session>,
    /// The ids of the rows so far.
    seen: HashSet<String>,
}

impl Fold for Database {
    type Record<'a> = Row<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), sessions: SessionsById::default(), seen: HashSet::new() }
    }

    fn record(&mut self, line: Line<'_>, row: Row<'_>, damage: &mut RecordErrors) -> RecordKind {
        let table = row.table.as_str();
        // The same row again: the recorded rows were appended to the file twice.
        if !self.seen.insert(format!("{table} {}", row.id.as_str())) {
            return RecordKind::Known;
        }
        match table {
            "sessions" => {
                let session = self.session(row.id.as_str(), line.number);
                session.facts(&row, line.number, damage);
            }
            "messages" if !row.parts.is_list() => damage.note(Reason::NotAnObject),
            "messages" => self.session(row.session_id.as_str(), line.number).message(&row, line.number),
            _ => return RecordKind::Unknown,
        }
        RecordKind::Known
    }

    fn finish(mut self) -> Vec<SessionResult> {
        for index in 0..self.sessions.len() {
            let child = &self.sessions[index];
            let (id, line) = (child.builder.session.session_id.clone(), child.builder.session.line);
            let time = child.builder.session.started_at;
            let Some(parent) = child.builder.session.parent_session_id.as_ref() else { continue };
            let Some(parent) = self.sessions.find(parent) else { continue };
            let call = id.rsplit_once("$$").map_or(id.as_str(), |(_, call)| call);
            self.sessions[index].is_in_parent = self.sessions[parent].includes_cost_of(call);
            let builder = &mut self.sessions[parent].builder;
            let call = builder.call_index(call).map(|_| call);
            subagents::add(builder, &id, call, At { line, time });
        }
        self.sessions.into_iter().map(Session::finish).collect()
    }
}

impl Database {
    fn session(&mut self, id: &str, line: i64) -> &mut Session {
        self.sessions.find_or_add(id, || Session::new(&self.context, id, line))
    }
}
