//! OpenCode's database since 1.2, `~/.local/share/opencode/opencode.db`: the messages and parts of an export as rows
//! (docs/formats/opencode.md#opencode-db).
//!
//! The tables are those of `packages/opencode/src/session/session.sql.ts`, later `packages/core/src/session/sql.ts`. The data of
//! a message and of a part is that of the JSON files before 1.2, without the ids, which are columns. The sums in the session's
//! row repeat the messages, until 2.0. An older version, whose output includes reasoning, may have begun the session: `total` shows it, and
//! messages since 2.0 never include it.
//!
//! Since 2.0 new messages are in `session_message`, with their parts inside (`packages/schema/src/session-message.ts`), and
//! their sessions are in `session_v2`. The first start of 2.0 copies the older messages there under the same ids and keeps the
//! old tables: a message in both is read from the old one. Before 2.0 `session_message` was a projection of `message`; it is not
//! read.
//!
//! # `opencode-db`
//!
//! Since 1.2, `~/.local/share/opencode/opencode.db`, of other channels than the released ones `opencode-CHANNEL.db`: tables
//! `session`, `message`, `part`; since 2.0 `session_v2` and `session_message`. Recognised by these tables and their columns. From
//! OpenCode's source. Seen: 1 database (3 sessions with 77 calls).
//!
//! Kilo Code since 5 is a fork of OpenCode with a database of its own, `~/.local/share/kilo/kilo.db` or `kilo-CHANNEL.db`. The
//! records
//! are the same, so the path decides: with a file of that name, or in the data directory `kilo`, sessions of all four formats have
//! the
//! runtime `kilo`. `$KILO_DB` is the path of the database; under another name its sessions have the runtime `opencode`.
//!
//! | what | from |
//! | --- | --- |
//! | session, parent, version, cwd, agent | `id`, `parent_id`, `version`, `directory`, `agent` |
//! | message, part | `data`, as in an export; the ids are columns. A part whose message was deleted counts by itself |
//! | Kilo Code: model, provider | `model` of the `step-finish` part, if the message names a router (`kilo-auto/…`) |
//! | Kilo Code: cost | the `step-finish` parts: Kilo Code adds that of subagents to the cost of the message (`KiloCostPropagation`) |
//! | 2.0: turn | `session_message` of type `assistant`: `model`, `tokens`, `cost`, `finish`; each is one step |
//! | 2.0: call | `content[]` of type `tool`: `state.status`, `input`, `content` or `error`, `metadata` (earlier `structured`), `time` |
//! | 2.0: events | `compaction` (and a turn if it has tokens), `retry`, `error` |
//! | 2.0: user turns | type `user`; not `synthetic`, `skill` |
//! | 2.0: total | `cost` and `tokens_*` of `session_v2`: what is above the messages is a row of grain `session` |
//! | 2.0: fork | `fork_session_id`: the parent |
//! | 2.0: call status | an error `permission.rejected`, "The user declined this tool call" and "The user dismissed this question" are `denied`, "Tool execution interrupted" is `cancelled` (`incomplete` for a subagent); `metadata.timeout` is an `error` |
//! | 2.0: file change | `metadata.files[]` of `edit` and `patch`: `file`, `status`, `additions`, `deletions`; the result of `write` states whether the file is new |
//! | 2.0: skill | the argument `id` of the tool `skill` |
//! | 2.0: status | also `idle`: `succeeded`, `interrupted` (`aborted`), `failed` |
//!
//! The first start of 2.0 copies the older messages under the same ids: each is read once, from the old table. Since 2.0 the sums in the
//! session's row contain titles, compactions and reverted steps, which are in no message; those of a fork begin at 0, with copies of
//! its parent's messages. Before 2.0 they repeat the messages and are not read. Reasoning of older messages as in an export: `total` decides,
//! as an older version may have begun the session. Since 2.0 there is no `total`, and output excludes reasoning.
//! Database, storage and export of one session count once. Sessions that OpenCode deletes remain in the archive.

use foldhash::{HashSet, HashSetExt as _};
use serde::Deserialize;

use super::common::{Fork, Info, Message, Part, Span, Usage, read_part, with_runtime};
use super::conversation::Conversation;
use super::export::SHOWS;
use super::messages_2::{self, Model, Stored, word};
use super::sums::Stated;
use crate::adapters::engine::sessions::SessionsById;
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::shared::builder::{Builder, money};
use crate::json::Raw;
use crate::json::fields::{Count, Number, Text, TextOrBlocks, When};
use crate::json::lines::Line;
use crate::model::health::Reason;
use crate::model::places::Place;
use crate::model::session::{Capabilities, SessionResult};
use crate::model::sqlite_schema::Table;

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "opencode-db",
    runtime: "opencode",
    about: "OpenCode since 1.2, opencode.db",
    tested: Some("1.18.27"),
    capabilities: SHOWS.and(Capabilities::TURNS).and(Capabilities::KEPT_BY_RUNTIME),
    // Other channels than the released ones have databases of their own.
    places: &[
        Place::data("opencode/opencode.db"),
        Place::data("opencode/opencode-*.db"),
        Place::only_variable("OPENCODE_DB", ""),
    ],
    claims,
    parse: fold::<Database>,
};

pub(crate) const SESSION: Table = Table {
    name: "session",
    key: "id",
    needs: &["directory", "version", "time_created"],
    columns: &["parent_id", "directory", "version", "agent", "time_created"],
    order: "id",
    below: &[("session_id", MESSAGE)],
    ..Table::PLAIN
};

const MESSAGE: Table = Table {
    name: "message",
    key: "id",
    needs: &["data", "time_created"],
    columns: &["session_id", "time_created", "data"],
    json: &["data"],
    order: "time_created, id",
    below: &[("message_id", PART)],
    ..Table::PLAIN
};

const PART: Table = Table {
    name: "part",
    key: "id",
    needs: &["data"],
    columns: &["message_id", "session_id", "data"],
    json: &["data"],
    order: "id",
    is_inside: true,
    ..Table::PLAIN
};

pub(crate) const SESSION_2: Table = Table {
    name: "session_v2",
    columns: &[
        "parent_id",
        "fork_session_id",
        "directory",
        "version",
        "agent",
        "model",
        "cost",
        "tokens_input",
        "tokens_output",
        "tokens_reasoning",
        "tokens_cache_read",
        "tokens_cache_write",
        "time_created",
        "time_updated",
    ],
    json: &["model"],
    below: &[("session_id", MESSAGE_2)],
    ..SESSION
};

const MESSAGE_2: Table = Table {
    name: "session_message",
    key: "id",
    needs: &["data", "type", "seq"],
    columns: &["session_id", "type", "time_created", "data"],
    json: &["data"],
    order: "seq, id",
    ..Table::PLAIN
};

fn claims(probe: &Probe<'_>) -> u32 {
    let table = probe.text("table");
    6 * u32::from(match table.as_ref() {
        "session" | "session_v2" => probe.has_all(&["id", "directory", "version"]),
        "message" => probe.has_all(&["session_id", "part"]) && probe.object("data").has("role"),
        "part" => probe.has_all(&["session_id", "message_id"]) && probe.object("data").has("type"),
        "session_message" => probe.has_all(&["session_id", "type", "data"]),
        _ => false,
    })
}

/// A row of any of the tables.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Row<'a> {
    table: Text<'a>,
    id: Text<'a>,
    session_id: Text<'a>,
    message_id: Text<'a>,
    parent_id: Text<'a>,
    directory: Text<'a>,
    version: Text<'a>,
    agent: Text<'a>,
    #[serde(rename = "type")]
    kind: Text<'a>,
    time_created: When,
    data: Raw<'a>,
    part: TextOrBlocks<'a, PartRow<'a>>,
    // since 2.0
    fork_session_id: Text<'a>,
    model: Model<'a>,
    cost: Number,
    tokens_input: Count,
    tokens_output: Count,
    tokens_reasoning: Count,
    tokens_cache_read: Count,
    tokens_cache_write: Count,
    time_updated: When,
}

/// A part below its message.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct PartRow<'a> {
    id: Text<'a>,
    data: Raw<'a>,
}

impl Row<'_> {
    fn sums(&self, damage: &mut RecordErrors) -> Stated {
        let counts = [
            self.tokens_input,
            self.tokens_output,
            self.tokens_reasoning,
            self.tokens_cache_read,
            self.tokens_cache_write,
        ];
        damage.note_impossible(&counts);
        Stated {
            tokens: Usage::of_counts(counts).with_reasoning(),
            cost: money(self.cost, damage),
            created: self.time_created.0,
            updated: self.time_updated.0,
            is_fork: self.fork_session_id.is_some(),
            model: self.model.id.owned(),
        }
    }
}

struct Database {
    context: Context,
    sessions: SessionsById<Conversation>,
    /// The ids of the messages so far. The rows of the older tables come first.
    seen: HashSet<String>,
}

impl Fold for Database {
    type Record<'a> = Row<'a>;

    fn new(context: &Context) -> Self {
        Self { context: with_runtime(context), sessions: SessionsById::default(), seen: HashSet::new() }
    }

    fn record(&mut self, line: Line<'_>, row: Row<'_>, damage: &mut RecordErrors) -> RecordKind {
        let number = line.number;
        let is_object = row.data.is_object();
        match row.table.as_str() {
            "session" | "session_v2" => {
                self.begin(row, number, damage);
                return RecordKind::Known;
            }
            _ if !is_object => damage.note(Reason::NotAnObject),
            // The same message again: rows that were appended twice, or the copy that 2.0 makes.
            _ if !self.seen.insert(row.id.as_str().to_owned()) => {}
            "message" => {
                let mut message: Message<'_> = row.data.read();
                message.id = row.id;
                if row.part.blocks.iter().any(|it| !it.data.is_object()) {
                    damage.note(Reason::NotAnObject);
                }
                let parts = row.part.blocks.into_iter();
                let parts: Vec<_> =
                    parts.map(|block| (number, part(block.id, message.id.clone(), block.data, damage))).collect();
                self.session(row.session_id.as_str(), number).message(&message, row.data, number, &parts, damage);
            }
            // A part whose message was deleted: its response counts.
            "part" => {
                let role = word("assistant");
                let message = Message { id: row.message_id, role, ..Message::default() };
                let parts = [(number, part(row.id, message.id.clone(), row.data, damage))];
                self.session(row.session_id.as_str(), number).message(&message, row.data, number, &parts, damage);
            }
            "session_message" => {
                let stored = Stored { id: row.id, kind: row.kind, data: row.data };
                let session = self.session(row.session_id.as_str(), number);
                return messages_2::add(session, stored, number, damage);
            }
            _ => return RecordKind::Unknown,
        }
        RecordKind::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.sessions.into_iter().map(Conversation::finish).collect()
    }
}

impl Database {
    fn begin(&mut self, row: Row<'_>, line: i64, damage: &mut RecordErrors) {
        let sums = (row.table.as_str() == "session_v2").then(|| row.sums(damage));
        let info = Info {
            id: row.id,
            parent_id: row.parent_id,
            directory: row.directory,
            version: row.version,
            agent: row.agent,
            time: Span { created: row.time_created, ..Span::default() },
            fork: Fork { session_id: row.fork_session_id },
        };
        let id = info.id.as_str();
        // The copy of an older session contains nothing new but the sums.
        let new = || Conversation::new(info.begin(&self.context, id, line), &info);
        let session = self.sessions.find_or_add(id, new);
        if let Some(sums) = sums {
            session.sums.state(sums);
        }
    }

    /// The session of that id. Its row may have been deleted.
    fn session(&mut self, id: &str, line: i64) -> &mut Conversation {
        let new = || Conversation::new(Builder::new(&self.context, id, line), &Info::default());
        self.sessions.find_or_add(id, new)
    }
}

fn part<'a>(id: Text<'a>, message_id: Text<'a>, data: Raw<'a>, damage: &mut RecordErrors) -> Part<'a> {
    Part { id, message_id, ..read_part(data, damage) }
}
