//! goose: its database `sessions.db`, and the session files before it.
//!
//! Read in `crates/goose/src/session/session_manager.rs` (schemas 1 to 10), `legacy.rs` and `storage.rs`, and for schemas 14
//! and 15 in the pull requests 9752 and 10172 that made them. A session's row has the tokens of
//! all its requests in sum (`accumulated_*`); those without the prefix are of the last request only, and the sums are missing
//! before April 2025. Since schema 15 `usage_ledger` has a row for each request; what the sums hold beyond them is from
//! before it (goose carries it forward as a row of its own, which repeats it). Input includes what was cached, whose part
//! is known since schema 14: before, all of it counts as input. What `total` holds beyond input and output is reasoning.
//!
//! A session file is one line with the same sums, then a message a line; its name is the session's id. goose imports the
//! files into the database and leaves them: the sums are named by the session and its first message, so they count once.
//! The ids are a day and a number, known on one machine only.

use foldhash::{HashMap, HashMapExt as _, HashSet, HashSetExt as _};
use serde::Deserialize;

use super::{Adapter, Context, Damage, Fold, Probe, Seen, counts_name, fold, hashed_id};
use crate::adapters::common::builder::Builder;
use crate::adapters::common::tools;
use crate::base::rows::Rows;
use crate::base::text::Word;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::lines::Line;
use crate::json::wire::{Content, Count, Flag, Maybe, Number, Text, When};
use crate::model::health::Reason;
use crate::model::session::{
    CallStatus, Cost, EventKind, Identity, ModelTotal, Operation, SessionResult, Shows, Status, Tokens, Total, Turn,
};
use crate::model::sqlite_schema::Table;

const SHOWS: Shows = Shows::TOOL_CALLS
    .and(Shows::FILE_CHANGES)
    .and(Shows::PERMISSION_DENIALS)
    .and(Shows::USER_TURNS)
    .and(Shows::KEPT_BY_RUNTIME);

pub(super) const DATABASE: Adapter = Adapter {
    id: "goose-db",
    runtime: "goose",
    about: "goose, sessions.db",
    shows: SHOWS,
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

pub(super) const SESSION: Adapter = Adapter {
    id: "goose-session",
    runtime: "goose",
    about: "goose before its database, sessions/*.jsonl",
    shows: SHOWS,
    claims: |probe| {
        let is_head = probe.has_all(&["description", "message_count"]) && probe.has("total_tokens");
        let is_message = probe.has_all(&["role", "created", "content"]) && is_content(probe);
        5 * u32::from(is_head) + 3 * u32::from(is_message)
    },
    parse: fold::<Goose>,
};

/// Messages of other programs have the same keys, but no content in camel case.
fn is_content(probe: &Probe<'_>) -> bool {
    let blocks: Content<'_, Block<'_>> = probe.raw("content").read();
    let is_own = |it: &Block<'_>| {
        matches!(it.kind.as_str(), "text" | "image" | "thinking" | "toolRequest" | "toolResponse" | "redactedThinking")
    };
    !probe.has("type") && blocks.text.is_none() && !blocks.blocks.is_empty() && blocks.blocks.iter().all(is_own)
}

pub(super) const SESSIONS: Table = Table {
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
    is_inside: false,
    is_optional: false,
};

const MESSAGES: Table = Table {
    name: "messages",
    key: "id",
    needs: &["role", "content_json", "created_timestamp"],
    columns: &["session_id", "message_id", "role", "content_json", "created_timestamp", "metadata_json"],
    json: &["content_json", "metadata_json"],
    order: "created_timestamp, id",
    below: &[],
    is_inside: false,
    is_optional: false,
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
    json: &[],
    order: "id",
    below: &[],
    is_inside: false,
    is_optional: true,
};

/// A row of any table, or a line of a session file.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Record<'a> {
    #[serde(borrow)]
    table: Text<'a>,
    /// A number, but of sessions.
    #[serde(borrow)]
    id: Raw<'a>,
    #[serde(borrow)]
    session_id: Text<'a>,
    // sessions, and the first line of a file
    #[serde(borrow)]
    session_type: Text<'a>,
    #[serde(borrow)]
    parent_session_id: Text<'a>,
    #[serde(borrow)]
    working_dir: Text<'a>,
    created_at: When,
    #[serde(borrow)]
    provider_name: Text<'a>,
    #[serde(borrow)]
    model_config_json: Maybe<ModelConfig<'a>>,
    message_count: Count,
    accumulated_total_tokens: Count,
    accumulated_input_tokens: Count,
    accumulated_output_tokens: Count,
    accumulated_cache_read_tokens: Count,
    accumulated_cache_write_tokens: Count,
    accumulated_cost: Number,
    // sessions and usage_ledger
    total_tokens: Count,
    input_tokens: Count,
    output_tokens: Count,
    cache_read_tokens: Count,
    cache_write_tokens: Count,
    #[serde(borrow)]
    model: Text<'a>,
    cost: Number,
    #[serde(borrow)]
    cost_source: Text<'a>,
    is_compaction: Number,
    created_timestamp: When,
    // messages
    #[serde(borrow)]
    role: Text<'a>,
    #[serde(borrow)]
    message_id: Text<'a>,
    #[serde(borrow)]
    content_json: Raw<'a>,
    metadata_json: Maybe<Metadata>,
    // messages of a file
    created: When,
    #[serde(borrow)]
    content: Raw<'a>,
    metadata: Maybe<Metadata>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct ModelConfig<'a> {
    #[serde(borrow)]
    model_name: Text<'a>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metadata {
    user_visible: Flag,
}

/// A piece of a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    text: Text<'a>,
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    tool_call: Outcome<'a>,
    #[serde(borrow)]
    tool_result: Outcome<'a>,
}

/// What went well has a value.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Outcome<'a> {
    #[serde(borrow)]
    status: Text<'a>,
    #[serde(borrow)]
    value: Raw<'a>,
    #[serde(borrow)]
    error: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Call<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    arguments: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ToolResult {
    is_error: Flag,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Editor<'a> {
    #[serde(borrow)]
    command: Text<'a>,
}

/// The counts of one request, or of all.
#[derive(Debug, Clone, Copy)]
struct Usage {
    total: Count,
    input: Count,
    output: Count,
    cache_read: Count,
    cache_write: Count,
}

impl Usage {
    fn tokens(self, damage: &mut Damage) -> Tokens {
        damage.refuses(&[self.total, self.input, self.output, self.cache_read, self.cache_write]);
        let (cache_read, cache_write) = (self.cache_read.get(), self.cache_write.get());
        let cached = cache_read.unwrap_or(0) + cache_write.unwrap_or(0);
        let input = self.input.get();
        let sum = input.unwrap_or(0) + self.output.get().unwrap_or(0);
        let reasoning = self.total.get().map(|it| it - sum).filter(|it| *it > 0 && input.is_some());
        let output = self.output.get().map(|it| it + reasoning.unwrap_or(0));
        let tokens = Tokens {
            // A cache that is larger than the input cannot be a part of it.
            input: input.map(|it| if it >= cached { it - cached } else { it }),
            output,
            cache_read,
            cache_write,
            cache_write_1h: None,
            reasoning,
        };
        if tokens.is_all_zero() { Tokens::UNKNOWN } else { tokens }
    }
}

struct Goose {
    context: Context,
    sessions: Rows<Session>,
    places: HashMap<String, usize>,
    seen: HashSet<String>,
}

struct Session {
    builder: Builder,
    /// Where its row stands, and the last row of it.
    line: i64,
    end: i64,
    is_subagent: bool,
    provider: Option<Word>,
    /// The sums, and what is said to have cost.
    whole: (Tokens, Option<f64>),
    /// The last request, where there are no sums.
    last: Tokens,
    /// The time of the first message, which names the sums.
    first: Option<Time>,
}

impl Fold for Goose {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: *context, sessions: Rows::default(), places: HashMap::new(), seen: HashSet::new() }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut Damage) -> Seen {
        let table = record.table.as_str();
        // Rows that were appended to themselves.
        if !table.is_empty() && !self.seen.insert(format!("{table} {}", record.id.text())) {
            return Seen::Known;
        }
        match table {
            "sessions" => {
                let id = record.id.text();
                self.session(&id, line.number).facts(&record, damage);
            }
            "messages" => {
                let name = record.message_id.owned().unwrap_or_else(|| record.id.text().into_owned());
                let is_hidden = hides(&record.metadata_json);
                let session = self.session(record.session_id.as_str(), line.number);
                session.message(
                    &record,
                    record.created_timestamp.0,
                    record.content_json,
                    &name,
                    is_hidden,
                    line,
                    damage,
                );
            }
            "usage_ledger" => self.session(record.session_id.as_str(), line.number).request(&record, line, damage),
            "" if record.message_count != Count::Unknown => {
                let id = self.file_id(line);
                self.session(&id, line.number).facts(&record, damage);
            }
            "" if !record.role.as_str().is_empty() => {
                let id = self.file_id(line);
                let name = if record.id.is_empty() { hashed_id(line.bytes) } else { record.id.text().into_owned() };
                if self.seen.insert(name.clone()) {
                    let is_hidden = hides(&record.metadata);
                    let session = self.session(&id, line.number);
                    session.message(&record, record.created.0, record.content, &name, is_hidden, line, damage);
                }
            }
            _ => return Seen::Unknown,
        }
        Seen::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.sessions.into_iter().map(Session::finish).collect()
    }
}

fn hides(metadata: &Maybe<Metadata>) -> bool {
    metadata.get().is_some_and(|it| it.user_visible.0 == Some(false))
}

impl Goose {
    /// The session of a file, which holds one.
    fn file_id(&self, line: Line<'_>) -> String {
        let known = self.sessions.first().map(|it| it.builder.session.session_id.clone());
        let name = || self.context.file_name.map(|it| it.as_str().to_owned());
        known.or_else(name).unwrap_or_else(|| hashed_id(line.bytes))
    }

    fn session(&mut self, id: &str, line: i64) -> &mut Session {
        let index = self.places.get(id).copied().unwrap_or_else(|| {
            self.places.insert(id.to_owned(), self.sessions.len());
            self.sessions.push(Session {
                builder: Builder::new(&self.context, id, line),
                line,
                end: line,
                is_subagent: false,
                provider: None,
                whole: (Tokens::UNKNOWN, None),
                last: Tokens::UNKNOWN,
                first: None,
            });
            self.sessions.len() - 1
        });
        let session = &mut self.sessions[index];
        session.end = line;
        session
    }
}

impl Session {
    fn facts(&mut self, record: &Record<'_>, damage: &mut Damage) {
        self.is_subagent = record.session_type.as_str() == "sub_agent";
        self.provider = record.provider_name.owned();
        self.builder.saw(record.created_at.0);
        let session = &mut self.builder.session;
        session.cwd = record.working_dir.owned();
        session.parent_session_id = record.parent_session_id.owned();
        session.model = record.model_config_json.get().and_then(|it| it.model_name.owned());
        let whole = Usage {
            total: record.accumulated_total_tokens,
            input: record.accumulated_input_tokens,
            output: record.accumulated_output_tokens,
            cache_read: record.accumulated_cache_read_tokens,
            cache_write: record.accumulated_cache_write_tokens,
        };
        self.whole = (whole.tokens(damage), record.accumulated_cost.money());
        self.last = usage(record).tokens(damage);
    }

    /// One request, with its bill.
    fn request(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut Damage) {
        // What the sums tell.
        if record.cost_source.as_str() == "carried_forward" {
            return;
        }
        let tokens = usage(record).tokens(damage);
        let time = record.created_timestamp.0;
        let row = record.id.text();
        self.builder.saw(time);
        if record.is_compaction.0 == Some(1.0) {
            let event = self.builder.event(EventKind::Compaction, line.number, time);
            event.key = Some(format!("compaction {row} {:?}", time.map(Time::micros)).into());
        }
        // The same row of another machine's session of that id is another one.
        let identity = Identity::Session(format!("{row} {:?} {}", time.map(Time::micros), counts_name(tokens)).into());
        let index = self.builder.turn(identity, line.number);
        let turn = &mut self.builder.session.turns[index];
        turn.model = record.model.owned();
        turn.provider.clone_from(&self.provider);
        turn.occurred_at = time;
        turn.tokens = tokens.into();
        turn.cost = record.cost.money().map(Cost::of);
    }

    #[expect(clippy::too_many_arguments, reason = "a row and a line name the same things differently")]
    fn message(
        &mut self,
        record: &Record<'_>,
        time: Option<Time>,
        content: Raw<'_>,
        name: &str,
        is_hidden: bool,
        line: Line<'_>,
        damage: &mut Damage,
    ) {
        if content.0.first() != Some(&b'[') {
            damage.note(Reason::NotAnObject);
            return;
        }
        self.first = self.first.or(time);
        self.builder.saw(time);
        let content: Content<'_, Block<'_>> = content.read();
        let blocks = content.blocks;
        let of_kind = |kind: &'static str| blocks.iter().filter(move |it| it.kind.as_str() == kind);
        for block in of_kind("toolResponse") {
            self.result(block, line.number, time);
        }
        match record.role.as_str() {
            "user" => {
                self.builder.session.status = Status::Incomplete;
                let said = of_kind("text").next();
                let is_answer = of_kind("toolResponse").next().is_some();
                let is_asked = said.is_some() || of_kind("image").next().is_some();
                if is_asked && !is_answer && !is_hidden && !self.is_subagent {
                    // A message that is imported gets another id.
                    let text = said.map_or("", |it| it.text.as_str());
                    let identity = hashed_id(format!("{:?} {text}", time.map(Time::micros)).as_bytes());
                    let identity = Identity::Session(identity.into());
                    self.builder.prompt_as(identity, said.and_then(|it| it.text.some()));
                }
            }
            "assistant" => {
                for block in of_kind("toolRequest") {
                    self.call(block, line.number, time);
                }
                let text = of_kind("text").filter_map(|it| it.text.some()).next_back();
                if let Some(text) = text {
                    if ["Ran into this error", "Network error:"].iter().any(|it| text.starts_with(it)) {
                        self.builder.fail(None, text);
                        self.builder.event(EventKind::Error, line.number, time).message =
                            Some(crate::adapters::common::builder::brief(text));
                        return;
                    }
                    self.builder.say(text);
                }
                if of_kind("toolRequest").next().is_some() {
                    self.builder.session.status = Status::Incomplete;
                } else if text.is_some() {
                    self.builder.succeed();
                }
                for _ in of_kind("conversationCompacted") {
                    let event = self.builder.event(EventKind::Compaction, line.number, time);
                    event.key = Some(format!("compaction {name}").into());
                }
            }
            _ => {}
        }
    }

    fn call(&mut self, block: &Block<'_>, line: i64, time: Option<Time>) {
        let call: Call<'_> = block.tool_call.value.read();
        let index = self.builder.call(block.id.as_str(), call.name.as_str(), line, time);
        let row = &mut self.builder.session.tool_calls[index];
        // Every tool is an extension's; those that come with goose do what other runtimes' own tools do.
        let (extension, tool) = call.name.as_str().split_once("__").unwrap_or(("", call.name.as_str()));
        let category = match tool {
            "text_editor" => match call.arguments.read::<Editor<'_>>().command.as_str() {
                "view" => "read",
                "write" => "write",
                _ => "edit",
            },
            _ => tools::category(tool),
        };
        let is_mcp = category == "other" && !extension.is_empty();
        row.category = Word::new(if is_mcp { "mcp" } else { category });
        row.mcp_server = Some(extension).filter(|it| !it.is_empty()).map(Word::new);
        if block.tool_call.status.as_str() == "error" {
            // The model's call could not be read.
            self.builder.result(index, block.tool_call.error, time, CallStatus::Error);
            return;
        }
        let arguments = self.builder.arguments(index, call.arguments);
        if let ("edit" | "write", Some(file)) = (category, arguments.file()) {
            let operation = (category == "edit").then_some(Operation::Update);
            self.builder.change(index, file, operation, None, line, time);
        }
    }

    fn result(&mut self, block: &Block<'_>, line: i64, time: Option<Time>) {
        let Some(index) = self.builder.call_index(block.id.as_str()) else { return };
        let outcome = &block.tool_result;
        let is_error = outcome.status.as_str() == "error" || outcome.value.read::<ToolResult>().is_error.is_true();
        let output = if outcome.value.is_empty() { outcome.error } else { outcome.value };
        self.builder.result(index, output, time, CallStatus::from_error(is_error));
        let text = output.text();
        let is_refused = |it: &&str| text.contains(it);
        if ["The user has declined to run this tool", "This tool call was denied before execution"]
            .iter()
            .any(is_refused)
        {
            self.builder.deny(index, line, time, None);
        }
    }

    fn finish(self) -> SessionResult {
        let Self { builder, line, end, whole: (tokens, cost), last, first, provider, .. } = self;
        let mut session = builder.finish();
        if tokens.total().is_some() {
            let total = |first: Option<Time>| Total {
                // It holds the requests behind the session's row as well.
                line: if session.turns.is_empty() { line } else { end },
                key: format!("goose {} {:?}", session.session_id, first.map(Time::micros)),
                cost,
                models: vec![ModelTotal { tokens, cost, ..ModelTotal::default() }],
                covers_subagents: true,
                ..Total::default()
            };
            let mut totals = vec![total(first)];
            if session.format == SESSION.id && first.is_some() {
                // A copy of the file that was cut after its first line knows no message to name the sums by.
                totals.insert(0, total(None));
            }
            session.totals = totals;
        } else if session.turns.is_empty() && last.total().is_some() {
            session.under_reports = true;
            session.turns.push(Box::new(Turn {
                line,
                identity: Identity::Session("last".into()),
                provider,
                model: session.model.clone(),
                occurred_at: session.ended_at,
                tokens: last.into(),
                ..Turn::default()
            }));
        }
        session
    }
}

fn usage(record: &Record<'_>) -> Usage {
    Usage {
        total: record.total_tokens,
        input: record.input_tokens,
        output: record.output_tokens,
        cache_read: record.cache_read_tokens,
        cache_write: record.cache_write_tokens,
    }
}
