//! OpenCode's database since 1.2, `~/.local/share/opencode/opencode.db`: the messages and parts of an export as rows
//! (docs/formats/opencode.md#opencode-db).
//!
//! The tables are those of `packages/opencode/src/session/session.sql.ts`, later `packages/core/src/session/sql.ts`. The data of
//! a message and of a part is that of the JSON files before 1.2, without the ids, which are columns. The sums in the session's
//! row repeat the messages. An older version, whose output includes reasoning, may have begun the session: `total` shows it.
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
//! runtime `kilo`.
//!
//! | what | from |
//! | --- | --- |
//! | session, parent, version, cwd, agent | `id`, `parent_id`, `version`, `directory`, `agent` |
//! | message, part | `data`, as in an export; the ids are columns. A part whose message was deleted counts by itself |
//! | 2.0: turn | `session_message` of type `assistant`: `model`, `tokens`, `cost`, `finish`; each is one step |
//! | 2.0: call | `content[]` of type `tool`: `state.status`, `input`, `content` or `error`, `metadata` (earlier `structured`), `time` |
//! | 2.0: events | `compaction` (and a turn if it has tokens), `retry`, `error` |
//! | 2.0: user turns | type `user`; not `synthetic`, `skill` |
//! | 2.0: status | also `idle`: `succeeded`, `interrupted` (`aborted`), `failed` |
//!
//! The first start of 2.0 copies the older messages under the same ids: each is read once, from the old table. Sums in the
//! session's row repeat the messages. Reasoning as in an export: `total` decides, as an older version may have begun the session.
//! Database, storage and export of one session count once. Sessions that OpenCode deletes remain in the archive.

use foldhash::{HashSet, HashSetExt as _};
use serde::Deserialize;

use super::common::{Error, ErrorData, Info, Message, Metadata, Part, Span, State, go_on, read_part, with_runtime};
use super::export::{Conversation, SHOWS};
use crate::adapters::engine::sessions::SessionsById;
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::Builder;
use crate::json::Raw;
use crate::json::fields::{Maybe, Number, Text, TextOrBlocks, When};
use crate::json::lines::Line;
use crate::model::health::Reason;
use crate::model::places::Place;
use crate::model::session::{Capabilities, EventKind, SessionResult};
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
    json: &[],
    order: "id",
    below: &[("session_id", MESSAGE)],
    is_inside: false,
    is_optional: false,
};

const MESSAGE: Table = Table {
    name: "message",
    key: "id",
    needs: &["data", "time_created"],
    columns: &["session_id", "time_created", "data"],
    json: &["data"],
    order: "time_created, id",
    below: &[("message_id", PART)],
    is_inside: false,
    is_optional: false,
};

const PART: Table = Table {
    name: "part",
    key: "id",
    needs: &["data"],
    columns: &["message_id", "session_id", "data"],
    json: &["data"],
    order: "id",
    below: &[],
    is_inside: true,
    is_optional: false,
};

pub(crate) const SESSION_2: Table = Table { name: "session_v2", below: &[("session_id", MESSAGE_2)], ..SESSION };

const MESSAGE_2: Table = Table {
    name: "session_message",
    key: "id",
    needs: &["data", "type", "seq"],
    columns: &["session_id", "type", "time_created", "data"],
    json: &["data"],
    order: "seq, id",
    below: &[],
    is_inside: false,
    is_optional: false,
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
}

/// A part below its message.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct PartRow<'a> {
    id: Text<'a>,
    data: Raw<'a>,
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
        let is_object = row.data.0.first() == Some(&b'{');
        match row.table.as_str() {
            "session" | "session_v2" => {
                self.begin(row, number);
                return RecordKind::Known;
            }
            _ if !is_object => damage.note(Reason::NotAnObject),
            // The same message again: rows that were appended twice, or the copy that 2.0 makes.
            _ if !self.seen.insert(row.id.as_str().to_owned()) => {}
            "message" => {
                let mut message: Message<'_> = row.data.read();
                message.id = row.id;
                if row.part.blocks.iter().any(|it| it.data.0.first() != Some(&b'{')) {
                    damage.note(Reason::NotAnObject);
                }
                let parts = row.part.blocks.into_iter();
                let parts: Vec<_> =
                    parts.map(|block| (number, part(block.id, message.id.clone(), block.data, damage))).collect();
                self.session(row.session_id.as_str(), number).message(&message, number, &parts, damage);
            }
            // A part whose message was deleted: its response counts.
            "part" => {
                let role = word("assistant");
                let message = Message { id: row.message_id, role, ..Message::default() };
                let parts = [(number, part(row.id, message.id.clone(), row.data, damage))];
                self.session(row.session_id.as_str(), number).message(&message, number, &parts, damage);
            }
            "session_message" => {
                return message_2(self.session(row.session_id.as_str(), number), row, number, damage);
            }
            _ => return RecordKind::Unknown,
        }
        RecordKind::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.sessions.into_iter().map(|it| it.builder.finish()).collect()
    }
}

impl Database {
    fn begin(&mut self, row: Row<'_>, line: i64) {
        let info = Info {
            id: row.id,
            parent_id: row.parent_id,
            directory: row.directory,
            version: row.version,
            agent: row.agent,
            time: Span { created: row.time_created, ..Span::default() },
        };
        let id = info.id.as_str();
        // The copy of an older session contains nothing new.
        self.sessions.find_or_add(id, || Conversation::new(info.begin(&self.context, id, line), &info));
    }

    /// The session of that id. Its row may have been deleted.
    fn session(&mut self, id: &str, line: i64) -> &mut Conversation {
        let new = || Conversation::new(Builder::new(&self.context, id, line), &Info::default());
        self.sessions.find_or_add(id, new)
    }
}

fn word(word: &'static str) -> Text<'static> {
    Text(Some(word.into()))
}

fn part<'a>(id: Text<'a>, message_id: Text<'a>, data: Raw<'a>, damage: &mut RecordErrors) -> Part<'a> {
    Part { id, message_id, ..read_part(data, damage) }
}

/// A message since 2.0.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Message2<'a> {
    time: Span,
    // user
    text: Text<'a>,
    // assistant
    agent: Text<'a>,
    model: Model<'a>,
    content: TextOrBlocks<'a, Content2<'a>>,
    finish: Text<'a>,
    cost: Number,
    tokens: Raw<'a>,
    error: Maybe<Error2<'a>>,
    retry: Maybe<Retry<'a>>,
    // compaction
    status: Text<'a>,
    reason: Text<'a>,
    // idle
    outcome: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Model<'a> {
    id: Text<'a>,
    #[serde(rename = "providerID")]
    provider_id: Text<'a>,
    variant: Text<'a>,
}

/// A content block of an assistant's message.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Content2<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    text: Text<'a>,
    // tool
    id: Text<'a>,
    name: Text<'a>,
    state: State2<'a>,
    time: Time2,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct State2<'a> {
    status: Text<'a>,
    input: Raw<'a>,
    content: Raw<'a>,
    error: Raw<'a>,
    metadata: Raw<'a>,
    /// The older name of `metadata`.
    structured: Raw<'a>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Time2 {
    created: When,
    ran: When,
    completed: When,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Error2<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    message: Text<'a>,
    status: Number,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Retry<'a> {
    at: When,
    error: Error2<'a>,
}

impl<'a> Error2<'a> {
    fn into_error(self) -> Error<'a> {
        let data = ErrorData { status_code: self.status, ..ErrorData::default() };
        Error { name: self.kind, message: self.message, data }
    }
}

impl<'a> Content2<'a> {
    fn into_part(self, message_id: &Text<'a>) -> Part<'a> {
        let Self { kind, text, id, name, state, time } = self;
        let metadata = if state.metadata.is_empty() { state.structured } else { state.metadata };
        let start = if time.ran.0.is_some() { time.ran } else { time.created };
        Part {
            message_id: message_id.clone(),
            kind,
            text,
            call_id: id,
            tool: name,
            state: State {
                status: state.status,
                input: state.input,
                output: state.content,
                error: state.error,
                metadata: metadata.read::<Metadata<'_>>(),
                time: Span { start, end: time.completed, ..Span::default() },
            },
            ..Part::default()
        }
    }
}

/// Adds a message since 2.0, as the messages and parts before it.
fn message_2(session: &mut Conversation, row: Row<'_>, line: i64, damage: &mut RecordErrors) -> RecordKind {
    let data: Message2<'_> = row.data.read();
    let mut message = Message {
        id: row.id,
        role: word("assistant"),
        time: data.time,
        model_id: data.model.id,
        provider_id: data.model.provider_id,
        variant: data.model.variant,
        agent: data.agent,
        cost: data.cost,
        tokens: read_usage(data.tokens),
        finish: data.finish,
        ..Message::default()
    };
    let marker = |kind: &'static str| (line, Part { kind: word(kind), ..Part::default() });
    match row.kind.as_str() {
        "user" => {
            message.role = word("user");
            let said = Part { kind: word("text"), text: data.text, ..Part::default() };
            session.message(&message, line, &[(line, said)], damage);
        }
        "assistant" => {
            let mut parts = vec![marker("step-start")];
            parts.extend(data.content.blocks.into_iter().map(|it| (line, it.into_part(&message.id))));
            if let Maybe::Present(retry) = data.retry {
                let time = Span { start: retry.at, ..Span::default() };
                let error = retry.error.into_error();
                parts.push((line, Part { kind: word("retry"), time, error, ..Part::default() }));
            }
            if let Some(reason) = message.finish.owned::<String>() {
                // Each of these messages is one finished step.
                let tokens = read_usage(data.tokens);
                let kind = word("step-finish");
                parts.push((
                    line,
                    Part { kind, reason: Text(Some(reason.into())), cost: data.cost, tokens, ..Part::default() },
                ));
            }
            if let Maybe::Present(error) = data.error {
                message.error = error.into_error();
            }
            session.message(&message, line, &parts, damage);
        }
        "compaction" => {
            let builder = &mut session.builder;
            builder.extend_to(data.time.start());
            let event = builder.event(EventKind::Compaction, At { line, time: data.time.start() });
            event.code = data.reason.owned();
            event.key = message.id.some().map(|it| format!("compaction {it}").into());
            if data.status.as_str() != "running" && message.tokens != Maybe::Absent {
                session.bill(&message, line, damage);
            }
        }
        // The session is idle, until a later message continues it.
        "idle" => {
            let builder = &mut session.builder;
            builder.extend_to(data.time.start());
            match data.outcome.as_str() {
                "succeeded" => builder.succeed(),
                "interrupted" => builder.abort(""),
                "failed" if !builder.session.status.is_end() => builder.fail(None, ""),
                _ => {}
            }
        }
        "synthetic" | "skill" => {
            session.builder.extend_to(data.time.start());
            go_on(&mut session.builder);
        }
        "system" | "shell" | "agent-switched" | "model-switched" | "location-switched" => {
            session.builder.extend_to(data.time.start());
        }
        _ => return RecordKind::Unknown,
    }
    RecordKind::Known
}

fn read_usage(tokens: Raw<'_>) -> Maybe<super::common::Usage> {
    if tokens.is_empty() { Maybe::Absent } else { crate::json::from_slice(tokens.0).unwrap_or(Maybe::Wrong) }
}
