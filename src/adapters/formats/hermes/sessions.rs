//! Hermes Agent: its database `state.db`, the last view of a session in `session_ID.json`, and transcripts of its gateway
//! (docs/formats/hermes.md#hermes-db). From its source, and from recorded databases and documents; no recorded transcript was at hand.
//!
//! - Only the row of a session contains tokens, as sums over its requests, and since schema 20 a row for each of its models. Input
//!   excludes caches; output includes reasoning.
//! - A session is in up to three files under the same id: the ledger joins them, and only the database has tokens.
//! - `parent_session_id` names the session that started a subagent, or the one before: a session that was compressed goes on under
//!   another id, and so do `/branch` and a reset.
//!
//! # `hermes-db`
//!
//! Hermes Agent's `~/.hermes/state.db`, with its `-wal`. Recognised by the tables `sessions` (with `end_reason`, `billing_provider`,
//! `reasoning_tokens`) and `messages` (with `finish_reason`, `tool_calls`). From descriptions of two databases (schemas 6 and 17) and
//! Hermes' source. Seen: 1 database (10 sessions with 87 calls), and 2 of schema 20
//! (9 sessions). Tables with indexes of the text (`messages_fts`) are not read.
//!
//! | what | from |
//! | --- | --- |
//! | session, parent | `sessions.id`, `parent_session_id` |
//! | entrypoint, cwd, branch | `source`, `cwd`, `git_branch` (since schema 15) |
//! | turns | `api_call_count`, else the number of assistant messages, as a number only. Of several databases, `api_call_count` as the tokens |
//! | tokens | the sums of the session, in a row of grain `session`: `input_tokens` (without caches), `output_tokens` (with reasoning), `cache_read_tokens`, `cache_write_tokens`; `reasoning_tokens`, of which 0 is unknown. With the table `session_model_usage` (since schema 20), a row for each model and provider there: those without a `task` are parts of the sums, and what the sums contain beyond them stays with the session's model; those with a `task` (`compression`, `title_generation`, `vision`, since schema 22) are additional, except `voice_chat`, which the sums contain. Of several databases with the session the largest count, if `started_at` is equal; else they add up: the API server gives the same ids (`api-…`) in all profiles |
//! | model | the one with the most requests in `session_model_usage` without a `task`, else `sessions.model`, which is the last one |
//! | provider | `billing_provider` |
//! | effort | `reasoning_config` in `model_config`: `effort`, or `none` if `enabled` is false; that of the session's start |
//! | cost | `actual_cost_usd` if `cost_status` is `actual`, `estimated_cost_usd` if it is `estimated`; else unknown |
//! | call | `tool_calls`, results by `tool_call_id`; `exit_code` of the result |
//! | call status | `error`: a result that is JSON with `error`, an `exit_code` other than 0, `success` `false` or `status` `error` |
//! | file change | the path of known tools; lines of the texts of an edit |
//! | subagent | a session below this one, by Hermes' own rule: `model_config` has `_delegate_from`, or it has neither `_branched_from` nor `_reset_from`, and this one did not end by `compression`, by `branched` before the other began, or by a reset (`session_reset`, `session_switch`, `idle`, `daily`, `suspended`, `resume_pending_expired`) with the same `session_key` |
//! | user turns | `user` messages; none in scheduled sessions (`cron`) and subagents. Not those with a `display_kind` other than `steer`, which Hermes writes itself (`async_delegation_complete`, `auto_continue`, `hidden`, `model_switch` …), nor the list of tasks after a compaction. Those of sessions with the id `api-…` are distinguished by `started_at` as well |
//! | compaction | a message with `_compressed_summary`, or one that begins as older versions write a summary ("[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted", "[CONTEXT SUMMARY]:"). Without the column, a session in which none is found has an unknown number |
//! | copies | count once: messages of the same time, role, content and calls as one that is `compacted`, or as one of the session before a compression or a branch. Such a session begins with messages of the one before: they are copies in the order of that one, at any time, up to the first other message that is no summary. In place, older versions insert what they keep at the time of the summary |
//! | instructions, tools | `system_prompt`, else the row of `system_prompts` with `system_prompt_hash` (since schema 25); `tool_names` |
//! | status | the last message that was not taken back (`active`): an answer without calls is `success`, "Operation interrupted" in its place is `aborted`, else `incomplete`. `end_reason` is the stop reason and decides nothing: Hermes writes `cron_complete` after a failed run as well |
//!
//! *Unknown*: the tokens of single requests.
//!
//! # `hermes-session`
//!
//! Hermes' `~/.hermes/sessions/session_ID.json`, the messages of the last request of a session. Recognised by `session_id`,
//! `platform`, `session_start`, `last_updated` and `messages`. Seen: 110 files. Read as the messages of `hermes-db`: a session in
//! several of these files counts once, and the database has its tokens. Of a session with the id `api-…`, the prompts and calls are those
//! of the databases if any is present: the messages here have no times. Prompts that a compression copied from the session before
//! are not known as copies here. *Unknown*: tokens, cost, and the times of messages.
//!
//! # `hermes-transcript`
//!
//! Hermes' `~/.hermes/sessions/ID.jsonl`, the transcripts of its gateway. Recognised by a line with `role` `session_meta`. A
//! transcript
//! may begin with a message, as many programs write them: then the file's name (`DATE_TIME_HEX`, `cron_JOB_DATE_TIME`), the directory
//! `.hermes`, or calls with `response_item_id` decide. **From sources.** The session is the name of the file; lines are the messages
//! of `hermes-db`. Times are local and used as UTC.

use foldhash::{HashMap, HashMapExt as _, HashSet, HashSetExt as _};

use self::records::Record;
use self::session::{Relation, Session};
use crate::adapters::engine::document::LineNumbers;
use crate::adapters::engine::sessions::SessionsById;
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::shared::at::At;
use crate::adapters::shared::ids::hashed_id;
use crate::adapters::shared::subagents;
use crate::json::Raw;
use crate::json::lines::Line;
use crate::model::places::Place;
use crate::model::session::{Capabilities, SessionResult};
use crate::model::sqlite_schema::Table;

mod copies;
mod records;
mod session;
mod spent;

const SHOWS: Capabilities = Capabilities::TOOL_CALLS
    .and(Capabilities::FILE_CHANGES)
    .and(Capabilities::USER_TURNS)
    .and(Capabilities::KEPT_BY_RUNTIME);

pub(crate) const DATABASE: Adapter = Adapter {
    id: "hermes-db",
    runtime: "hermes",
    about: "Hermes Agent, state.db",
    tested: None,
    capabilities: SHOWS.and(Capabilities::SUBAGENTS),
    places: &[Place::variable("HERMES_HOME", ".hermes", "state.db"), Place::home(".hermes/profiles")],
    claims: |probe| {
        6 * u32::from(match probe.text("table").as_ref() {
            "sessions" => probe.has_all(&["end_reason", "billing_provider", "reasoning_tokens"]),
            "messages" => probe.has_all(&["session_id", "role", "finish_reason", "tool_calls"]),
            _ => false,
        })
    },
    parse: fold::<Hermes>,
};

pub(crate) const SESSION: Adapter = Adapter {
    id: "hermes-session",
    runtime: "hermes",
    about: "Hermes Agent, sessions/session_ID.json",
    tested: None,
    capabilities: SHOWS,
    places: &[Place::variable("HERMES_HOME", ".hermes", "sessions")],
    claims: |probe| {
        let is_own = probe.has_all(&["session_id", "platform", "session_start", "last_updated"]);
        6 * u32::from(is_own && probe.is_list("messages"))
    },
    parse: fold::<Hermes>,
};

pub(crate) const TRANSCRIPT: Adapter = Adapter {
    id: "hermes-transcript",
    runtime: "hermes",
    about: "Hermes Agent, sessions/ID.jsonl of its gateway (from sources)",
    tested: None,
    capabilities: SHOWS,
    places: SESSION.places,
    claims: claims_transcript,
    parse: fold::<Hermes>,
};

/// A transcript need not begin with `session_meta`, and its other lines are messages as many programs write them: the name of the
/// file, its directory, or an id that no other program writes decides.
fn claims_transcript(probe: &Probe<'_>) -> u32 {
    let role = probe.text("role");
    if probe.has("table") || probe.has("type") {
        return 0;
    }
    if role == "session_meta" {
        return 6;
    }
    if !matches!(role.as_ref(), "user" | "assistant" | "tool" | "system") || !probe.has("content") {
        return 0;
    }
    let has_own_ids = || memchr::memmem::find(probe.raw("tool_calls").0, b"\"response_item_id\"").is_some();
    4 * u32::from(is_name_of_session(probe.path()) || has_own_ids())
}

/// Whether a log is in Hermes' directory, or has the name of one of its sessions: `DATE_TIME_HEX`, or `cron_JOB_DATE_TIME`.
fn is_name_of_session(path: &str) -> bool {
    let mut parts = path.rsplit(['/', '\\']);
    let name = parts.next().unwrap_or_default().split('.').next().unwrap_or_default();
    let is_number = |word: &str, length| word.len() == length && word.bytes().all(|it| it.is_ascii_digit());
    let words: Vec<&str> = name.split('_').collect();
    let is_session = match words[..] {
        [date, time, id] => {
            is_number(date, 8) && is_number(time, 6) && id.len() >= 6 && id.bytes().all(|it| it.is_ascii_hexdigit())
        }
        ["cron", _, date, time] => is_number(date, 8) && is_number(time, 6),
        _ => false,
    };
    is_session || parts.any(|directory| directory == ".hermes")
}

pub(crate) const SESSIONS: Table = Table {
    name: "sessions",
    key: "id",
    needs: &["source", "end_reason", "billing_provider", "reasoning_tokens"],
    columns: &[
        "source",
        "model",
        "parent_session_id",
        "session_key",
        "started_at",
        "ended_at",
        "end_reason",
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "reasoning_tokens",
        "billing_provider",
        "estimated_cost_usd",
        "actual_cost_usd",
        "cost_status",
        "api_call_count",
        "cwd",
        "git_branch",
        "system_prompt",
        "system_prompt_hash",
        "tool_names",
        "model_config",
    ],
    json: &["model_config", "tool_names"],
    order: "started_at, id",
    below: &[("session_id", MESSAGES), ("session_id", MODEL_USAGE)],
    ..Table::PLAIN
};

const MESSAGES: Table = Table {
    name: "messages",
    key: "id",
    needs: &["role", "content", "finish_reason", "tool_calls"],
    columns: &[
        "session_id",
        "role",
        "content",
        "tool_call_id",
        "tool_calls",
        "tool_name",
        "timestamp",
        "finish_reason",
        "active",
        "compacted",
        "_compressed_summary",
        "display_kind",
    ],
    json: &["tool_calls"],
    order: "timestamp, id",
    ..Table::PLAIN
};

/// The system prompts by their hashes, since schema 25. They follow the sessions.
pub(crate) const SYSTEM_PROMPTS: Table = Table {
    name: "system_prompts",
    key: "hash",
    needs: &["prompt"],
    columns: &["prompt"],
    order: "hash",
    is_optional: true,
    ..Table::PLAIN
};

/// What a session spent with each model, since schema 20.
const MODEL_USAGE: Table = Table {
    name: "session_model_usage",
    key: "session_id",
    needs: &["model", "billing_provider", "input_tokens", "output_tokens"],
    columns: &[
        "model",
        "billing_provider",
        "billing_base_url",
        "billing_mode",
        "task",
        "api_call_count",
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "reasoning_tokens",
        "estimated_cost_usd",
        "actual_cost_usd",
        "cost_status",
    ],
    order: "rowid",
    is_optional: true,
    ..Table::PLAIN
};

/// The state of a database or a file.
struct Hermes {
    context: Context,
    sessions: SessionsById<Session>,
    /// The rows so far.
    seen: HashSet<String>,
    /// The sessions whose system prompt is a row that follows, by its hash.
    waiting: HashMap<String, Vec<usize>>,
}

impl Fold for Hermes {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self {
            context: context.clone(),
            sessions: SessionsById::default(),
            seen: HashSet::new(),
            waiting: HashMap::new(),
        }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        let table = record.table.as_str();
        // The same row again: rows or lines were appended twice.
        let name = match table {
            "" => hashed_id(line.bytes),
            "session_model_usage" => record.name_of_model_usage(),
            "system_prompts" => format!("{table} {}", record.hash.as_str()),
            _ => format!("{table} {}", record.id.text()),
        };
        if !self.seen.insert(name) {
            return RecordKind::Known;
        }
        match table {
            "sessions" => {
                let index = self.index(&record.id.text(), line.number);
                self.sessions[index].row(&record, line.number, damage);
                self.begin_with_copies(index);
                if let Some(hash) = record.system_prompt_hash.owned()
                    && record.system_prompt.as_str().is_empty()
                {
                    self.waiting.entry(hash).or_default().push(index);
                }
            }
            "system_prompts" => {
                for index in self.waiting.remove(record.hash.as_str()).unwrap_or_default() {
                    self.sessions[index].builder.instructions(record.prompt.as_str());
                }
            }
            "messages" => self.session(record.session_id.as_str(), line.number).message(&record, line.number, damage),
            "session_model_usage" => {
                let session = self.session(record.session_id.as_str(), line.number);
                session.model_usage(&record, line.number, damage);
            }
            "" if record.messages.is_list() && record.session_id.some().is_some() => {
                let session = self.session(record.session_id.as_str(), line.number);
                session.document(&record);
                let messages: Vec<Raw<'_>> = record.messages.read();
                let mut line_numbers = LineNumbers::new(line);
                for raw in messages {
                    let number = line_numbers.line_of(raw);
                    session.message(&raw.read(), number, damage);
                }
            }
            "" if record.role.some().is_some() => {
                let first = self.sessions.first().map(|session| session.builder.session.session_id.clone());
                let id = first.or_else(|| self.context.file_name.clone()).unwrap_or_else(|| hashed_id(line.bytes));
                self.session(&id, line.number).message(&record, line.number, damage);
            }
            _ => return RecordKind::Unknown,
        }
        RecordKind::Known
    }

    fn finish(mut self) -> Vec<SessionResult> {
        for index in 0..self.sessions.len() {
            let child = &self.sessions[index].builder.session;
            let (id, line, time) = (child.session_id.clone(), child.line, child.started_at);
            let Some((parent, Relation::Subagent)) = self.parent(index) else { continue };
            self.sessions[index].is_subagent = true;
            subagents::add(&mut self.sessions[parent].builder, &id, None, At { line, time });
        }
        self.sessions.into_iter().map(Session::finish).collect()
    }
}

impl Hermes {
    fn session(&mut self, id: &str, line: i64) -> &mut Session {
        let index = self.index(id, line);
        &mut self.sessions[index]
    }

    fn index(&mut self, id: &str, line: i64) -> usize {
        self.sessions.index_or_add(id, || Session::new(&self.context, id, line))
    }

    /// The parent of a session in the same database, and what the session is to it.
    fn parent(&self, index: usize) -> Option<(usize, Relation)> {
        let session = &self.sessions[index];
        let parent = self.sessions.find(session.builder.session.parent_session_id.as_deref()?)?;
        (parent != index).then(|| (parent, session.relation(&self.sessions[parent])))
    }

    /// Prepares a session that begins with messages of its parent, whose rows are before those of the session.
    fn begin_with_copies(&mut self, index: usize) {
        if let Some((parent, Relation::Continuation | Relation::Branch)) = self.parent(index) {
            let before = self.sessions[parent].copies.messages().to_vec();
            self.sessions[index].copies.begin_with(before);
        }
    }
}
