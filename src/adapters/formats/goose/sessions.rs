//! goose: its database `sessions.db`, and the session files that it wrote before it had one (docs/formats/goose.md#goose-db).
//!
//! The rules are those of goose's source: `crates/goose/src/session/session_manager.rs` (schemas 1 to 10), `legacy.rs`,
//! `storage.rs`, and the pull requests 9752 and 10172, which made schemas 14 and 15.
//!
//! - The row of a session contains sums over all of its requests (`accumulated_*`). The columns without this prefix are those
//!   of the last request. Sessions from before April 2025 have no sums.
//! - Since schema 15 each request has a row in `usage_ledger`. The rest of the sums is from before that schema. goose repeats
//!   this rest in a ledger row of its own, which is skipped.
//! - Input includes cached tokens. Since schema 14 their number is known; before, all of them count as input. The part of
//!   `total` beyond input and output is reasoning.
//! - A session file has the same sums on its first line, then one message on each line. Its name is the session's id. goose
//!   imports these files into the database and keeps them, so the identity of the sums is the session and the time of its
//!   first message: sums in both places count once. Session ids are a day and a number, unique on one machine only.
//! - `copy_session` copies the messages of a session, `import_session` also the sums of an export, or those of a log of Claude Code,
//!   Codex or pi (`import_formats`). The messages keep their times, which are before the creation of the new session.
//! - Some providers run agents of other programs, which keep logs of their own (`providers.rs`).
//!
//! # `goose-db`
//!
//! goose's `sessions.db`: tables `sessions`, `messages`, and since schema 15 `usage_ledger`. Recognised by these tables and their
//! columns. From goose's source (schemas 1 to 10) and the pull requests that made schemas 14 and 15.
//!
//! | what | from |
//! | --- | --- |
//! | session, parent, cwd | `id`, `parent_session_id`, `working_dir` |
//! | model, provider | `model_config_json.model_name`, `provider_name` |
//! | turn | each row of `usage_ledger`, except `carried_forward` rows, which repeat a part of the sums: `model`, `cost` |
//! | total | `accumulated_*` and `accumulated_cost` of the session; the part beyond the turns is a row of grain `session` |
//! | tokens | `input_tokens` minus both caches (known since schema 14; before, all of it counts as input), `output_tokens`; the part of `total_tokens` beyond both is reasoning, less the caches that the input does not include |
//! | call | `toolRequest`, `toolResponse` in `content_json`: `status`, `isError`; the extension before `__` is its MCP server; the category is `mcp` unless the tool is a common one |
//! | exit code | `structuredContent.exit_code` of a shell result, or "Command exited with code N" at its end |
//! | call status | `denied`: "The user has declined to run this tool", "This tool call was denied before execution", "the tool call was skipped in goose chat mode"; `cancelled`: "Tool call cancelled by user", "Interrupted by the user to make a correction" |
//! | file change | the path of an edit or a write; of an edit the lines of `old_str` and `new_str`, or of `before` and `after`; a write that answers "Created PATH (N lines)" creates N lines |
//! | events | `is_compaction`, `conversationCompacted`; answers that begin with "Ran into this error" or "Network error:" (error); refusals |
//! | user turns | user messages with text or an image, except results, messages hidden from the user and goose's requests for the `final_output` of a recipe; none in a `sub_agent` |
//! | status | the last message: an answer without calls is `success`; an error as above is `error`, and so is "I've reached the maximum number of actions" (`max_turns`); a cancelled call, or goose's question after it, is `aborted`; else `incomplete` |
//!
//! Messages from before `created_at` are a [copied history](accounting.md#copied-histories). The sums of a session without an answer of
//! its own are those of the imported session, and so is the part of the sums beyond the rows of the ledger. But if the user asked again
//! after an answer and before the first row, the session went on before schema 15, and requests of its own have no row: its sums are its
//! own, as those of a duplicated session begin at 0. So the sums of a session that was imported and continued before schema 15 contain
//! those of its original again. Sums that goose added up from the lines of another program's log are an `estimate`: it counts the lines of
//! one response of Claude Code as several. The ids that it gives to such messages are like those of a session with the id of the import.
//!
//! *Lower bound*: sessions from before April 2025, which have no sums: only the last request is known. Sessions whose provider is an
//! agent of another program (`claude-code`, `codex`, `gemini-cli`, `cursor-agent`, and `claude-acp`, `codex-acp`, `copilot-acp`, `amp-acp`,
//! `pi-acp`, `cursor-acp`): goose gets a part of the counts, and the [agent's own log](accounting.md#programs-that-run-another-agent)
//! has all of them. As ids are a day and a number, the identity of the sums is the session and the time of its first message.
//!
//! # `goose-session`
//!
//! goose before its database, `sessions/ID.jsonl`: one line with the same sums, then one message on each line. Recognised by
//! `description`, `message_count` and `total_tokens`; messages by their camel-case blocks. Read as `goose-db`; the session is the
//! file's name. goose imports these files and keeps them: a session in both counts once.
//!
//! `goose session export --format json` is one document with the session's row, and its messages as `conversation`. Recognised by
//! `id`
//! and `working_dir` with sums. In newer versions (1.46) the sums are in the objects `usage` and `accumulated_usage`
//! (`cache_read_input_tokens`, `cache_write_input_tokens`), before as in the database. The session in the database counts once.

use foldhash::{HashSet, HashSetExt as _};

use self::session::Session;
use super::records::{Message, Record, is_content, is_hidden};
use crate::adapters::engine::document::LineNumbers;
use crate::adapters::engine::sessions::SessionsById;
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::shared::ids::hashed_id;
use crate::json::Raw;
use crate::json::fields::Count;
use crate::json::lines::Line;
use crate::model::places::Place;
use crate::model::session::{Capabilities, SessionResult};
use crate::model::sqlite_schema::Table;

mod providers;
mod session;

const SHOWS: Capabilities = Capabilities::TOOL_CALLS
    .and(Capabilities::FILE_CHANGES)
    .and(Capabilities::PERMISSION_DENIALS)
    .and(Capabilities::USER_TURNS)
    .and(Capabilities::KEPT_BY_RUNTIME);

pub(crate) const DATABASE: Adapter = Adapter {
    id: "goose-db",
    runtime: "goose",
    about: "goose, sessions.db",
    tested: None,
    capabilities: SHOWS,
    places: &[
        Place::data("goose/sessions"),
        Place::only_variable("GOOSE_PATH_ROOT", "data/sessions"),
        Place::application("Block/goose/data/sessions"),
    ],
    claims: |probe| {
        5 * u32::from(match probe.text("table").as_ref() {
            "sessions" => probe.has_all(&["id", "working_dir", "accumulated_total_tokens"]),
            "messages" => probe.has_all(&["session_id", "content_json", "created_timestamp"]),
            "usage_ledger" => probe.has_all(&["session_id", "created_timestamp", "total_tokens"]),
            _ => false,
        })
    },
    parse: fold::<Goose>,
};

pub(crate) const SESSION: Adapter = Adapter {
    id: "goose-session",
    runtime: "goose",
    about: "goose before its database, sessions/*.jsonl, and its exports",
    tested: None,
    capabilities: SHOWS,
    places: DATABASE.places,
    claims: |probe| {
        let is_head = probe.has_all(&["description", "message_count"]) && probe.has("total_tokens");
        let is_message = probe.has_all(&["role", "created", "content"]) && !probe.has("type") && is_content(probe);
        5 * u32::from(is_head) + 3 * u32::from(is_message) + 6 * u32::from(is_export(probe))
    },
    parse: fold::<Goose>,
};

/// Whether a document is an exported session.
fn is_export(probe: &Probe<'_>) -> bool {
    let has_sums = || probe.object("accumulated_usage").has("input_tokens") || probe.has("accumulated_total_tokens");
    let is_own = || has_sums() || probe.has_all(&["extension_data", "message_count"]);
    probe.has_all(&["id", "working_dir"]) && !probe.has("table") && is_own()
}

pub(crate) const SESSIONS: Table = Table {
    name: "sessions",
    key: "id",
    needs: &["working_dir", "accumulated_total_tokens"],
    columns: &[
        "session_type",
        "parent_session_id",
        "working_dir",
        "created_at",
        "provider_name",
        "model_config_json",
        "total_tokens",
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "accumulated_total_tokens",
        "accumulated_input_tokens",
        "accumulated_output_tokens",
        "accumulated_cache_read_tokens",
        "accumulated_cache_write_tokens",
        "accumulated_cost",
    ],
    json: &["model_config_json"],
    order: "id",
    below: &[("session_id", MESSAGES), ("session_id", LEDGER)],
    ..Table::PLAIN
};

const MESSAGES: Table = Table {
    name: "messages",
    key: "id",
    needs: &["role", "content_json", "created_timestamp"],
    columns: &["session_id", "message_id", "role", "content_json", "created_timestamp", "metadata_json"],
    json: &["content_json", "metadata_json"],
    order: "created_timestamp, id",
    ..Table::PLAIN
};

const LEDGER: Table = Table {
    name: "usage_ledger",
    key: "id",
    needs: &["created_timestamp", "total_tokens"],
    columns: &[
        "session_id",
        "created_timestamp",
        "model",
        "input_tokens",
        "output_tokens",
        "total_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "cost",
        "cost_source",
        "is_compaction",
    ],
    order: "id",
    is_optional: true,
    ..Table::PLAIN
};

/// The state of a database or of a session file.
struct Goose {
    context: Context,
    sessions: SessionsById<Session>,
    /// Rows and messages so far.
    seen: HashSet<String>,
}

impl Fold for Goose {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), sessions: SessionsById::default(), seen: HashSet::new() }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        let table = record.table.as_str();
        // The same row again: the recorded rows were appended to the file twice.
        if !table.is_empty() && !self.seen.insert(format!("{table} {}", record.id.text())) {
            return RecordKind::Known;
        }
        match table {
            "sessions" => {
                let id = record.id.text();
                self.session(&id, line.number).facts(&record, damage);
            }
            "messages" => {
                let id = record.message_id.owned().unwrap_or_else(|| record.id.text().into_owned());
                let message = Message {
                    id: &id,
                    has_stored_id: record.message_id.some().is_some(),
                    role: record.role.as_str(),
                    time: record.created_timestamp.0,
                    content: record.content_json,
                    is_hidden: is_hidden(&record.metadata_json),
                };
                self.session(record.session_id.as_str(), line.number).message(&message, line.number, damage);
            }
            "usage_ledger" => {
                self.session(record.session_id.as_str(), line.number).request(&record, line.number, damage);
            }
            "" if !record.id.is_empty() && record.working_dir.some().is_some() => self.export(&record, line, damage),
            "" if record.message_count != Count::Unknown => {
                let id = self.file_id(line);
                self.session(&id, line.number).facts(&record, damage);
            }
            "" if !record.role.as_str().is_empty() => {
                let session_id = self.file_id(line);
                self.message(&session_id, &record, line.bytes, line.number, damage);
            }
            _ => return RecordKind::Unknown,
        }
        RecordKind::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.sessions.into_iter().flat_map(Session::finish).collect()
    }
}

impl Goose {
    /// Adds an exported session.
    fn export(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut RecordErrors) {
        let id = record.id.text();
        let session = self.session(&id, line.number);
        session.is_export = true;
        session.facts(record, damage);
        let mut line_numbers = LineNumbers::new(line);
        for raw in record.conversation.read::<Vec<Raw<'_>>>() {
            self.message(&id, &raw.read(), raw.0, line_numbers.line_of(raw), damage);
        }
    }

    /// Adds a message of a session file or of an export, `bytes`.
    fn message(&mut self, session: &str, record: &Record<'_>, bytes: &[u8], line: i64, damage: &mut RecordErrors) {
        let id = if record.id.is_empty() { hashed_id(bytes) } else { record.id.text().into_owned() };
        if self.seen.insert(format!("{session} {id}")) {
            let message = Message {
                id: &id,
                has_stored_id: !record.id.is_empty(),
                role: record.role.as_str(),
                time: record.created.0,
                content: record.content,
                is_hidden: is_hidden(&record.metadata),
            };
            self.session(session, line).message(&message, line, damage);
        }
    }

    /// The session id of a session file, which contains one session.
    fn file_id(&self, line: Line<'_>) -> String {
        let known = self.sessions.first().map(|session| session.id().to_owned());
        let name = || self.context.file_name.clone();
        known.or_else(name).unwrap_or_else(|| hashed_id(line.bytes))
    }

    fn session(&mut self, id: &str, line: i64) -> &mut Session {
        let session = self.sessions.find_or_add(id, || Session::new(&self.context, id, line));
        session.last_line = line;
        session
    }
}
