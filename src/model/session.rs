//! The rows: what one log tells of one session. No I/O, no format's name, no derived numbers.
//!
//! An adapter fills a [`SessionResult`] for each session (or recorded process) that it finds in a log. The
//! [`crate::ledger`] joins those of one session, removes copies and derives the counters; only then are they the tables
//! of the contract. Whatever a log does not say stays `None`: unknown is never 0.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, IntoDeserializer as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::base::known::Known;
use crate::base::rows::Rows;
use crate::base::text::{LONGEST, Shared, Word};
use crate::base::time::Time;
use crate::model::errors::ErrorKind;
use crate::model::name::Name;

/// What one log tells of one session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionResult {
    /// The runtime's own id; `~` and 16 hexadecimal digits of a hash where the log names none.
    pub session_id: String,
    /// The agent program that wrote the log.
    pub runtime: Cow<'static, str>,
    /// The adapter's id.
    pub format: Cow<'static, str>,
    /// The line of its first record.
    pub line: i64,
    /// For formats whose ids begin anew in each recording: a hash of each record. A recording that begins as another one
    /// is its copy; else their calls are different ones.
    pub recording: Option<Vec<u64>>,
    /// Version of the runtime.
    pub runtime_version: Option<String>,
    /// The session that started this one.
    pub parent_session_id: Option<String>,
    /// The session whose history it repeats at its beginning, and whose names it uses in [`Identity::Thread`].
    pub continues: Option<String>,
    /// The session of another runtime that did the work, whose log bills it.
    pub provider_session_id: Option<String>,
    /// Name of the main agent, where agents have names.
    pub agent: Option<Word>,
    /// How the runtime was started.
    pub entrypoint: Option<String>,
    /// Working directory.
    pub cwd: Option<String>,
    /// Branch checked out there.
    pub git_branch: Option<String>,
    /// The model that the log states for the session; it stands where no turn names one.
    pub model: Option<Word>,
    /// How it ended.
    pub status: Status,
    /// What kind of error ended it.
    pub error_kind: Option<ErrorKind>,
    /// The error's own words.
    pub error_message: Option<Shared>,
    /// The runtime's word for why the last main response stopped.
    pub stop_reason: Option<Word>,
    /// Exit status of the runtime's process.
    pub exit_code: Option<i64>,
    /// Time of the first record.
    pub started_at: Option<Time>,
    /// Time of the last record.
    pub ended_at: Option<Time>,
    /// Duration as logged, in milliseconds, where it stands outside of [`Self::totals`].
    pub duration_ms: Option<i64>,
    /// Number of turns as logged, where it stands outside of [`Self::totals`].
    pub stated_turns: Option<i64>,
    /// Prompts that a human typed and the log does not name.
    pub user_turns: Option<i64>,
    /// Prompts that a human typed, by the names that copies of them share.
    pub prompts: BTreeSet<Identity>,
    /// Prompts by the names of their messages, of a log whose other files tell which of them a human typed.
    pub asked: BTreeMap<String, Identity>,
    /// Names of messages that hold what a human typed, where other files tell of the messages.
    pub said: BTreeSet<String>,
    /// Tool calls as the log counts them, where it does not show them one by one.
    pub stated_tool_calls: Option<i64>,
    /// The failed ones among them.
    pub stated_tool_errors: Option<i64>,
    /// Lines added and removed as the log counts them, where it does not show the changes.
    pub stated_lines: Option<(i64, i64)>,
    /// The agents that ran besides the main one.
    pub subagents: BTreeSet<Word>,
    /// What the format can show; a counter of what it cannot is NULL.
    pub shows: Shows,
    /// Whether the log is known to hold less than was billed.
    pub under_reports: bool,
    /// `key=value`, sorted.
    pub labels: BTreeSet<String>,
    /// First text that a human typed, where content is kept.
    pub prompt: Option<String>,
    /// Last text of the assistant, where content is kept.
    pub text: Option<String>,
    /// Billed responses, each once.
    pub turns: Rows<Box<Turn>>,
    /// Tool calls, each once.
    pub tool_calls: Rows<Box<ToolCall>>,
    /// Changed files.
    pub file_changes: Rows<FileChange>,
    /// What else happened.
    pub events: Rows<Event>,
    /// Totals that the log states, in its order.
    pub totals: Vec<Total>,
}

/// How a session ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The format does not say.
    #[default]
    Unknown,
    /// The log ends without an end.
    Incomplete,
    /// The user stopped it.
    Aborted,
    /// It failed.
    Error,
    /// It did its work.
    Success,
}

impl Status {
    /// The contract's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Incomplete => "incomplete",
            Self::Aborted => "aborted",
            Self::Error => "error",
            Self::Success => "success",
        }
    }

    /// Whether the log has an end.
    pub const fn is_end(self) -> bool {
        matches!(self, Self::Aborted | Self::Error | Self::Success)
    }
}

/// What a format can show at all. A set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Shows(u16);

/// A number for programs, words for people.
impl Serialize for Shows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const WORDS: [(Shows, &str); 13] = [
            (Shows::TURNS, "turns"),
            (Shows::TOOL_CALLS, "tool_calls"),
            (Shows::FILE_CHANGES, "file_changes"),
            (Shows::SUBAGENTS, "subagents"),
            (Shows::COMPACTIONS, "compactions"),
            (Shows::RETRIES, "retries"),
            (Shows::PERMISSION_DENIALS, "permission_denials"),
            (Shows::WEB_SEARCHES, "web_searches"),
            (Shows::USER_TURNS, "user_turns"),
            (Shows::KEPT_BY_RUNTIME, "kept_by_runtime"),
            (Shows::RUNS_ONLY, "runs_only"),
            (Shows::RESULT_ONLY, "result_only"),
            (Shows::CONVERTED, "converted"),
        ];
        if serializer.is_human_readable() {
            serializer.collect_seq(WORDS.iter().filter(|(it, _)| self.has(*it)).map(|(_, word)| word))
        } else {
            serializer.serialize_u16(self.0)
        }
    }
}

impl Shows {
    /// Nothing but totals.
    pub const NOTHING: Self = Self(0);
    /// Tool calls and their results.
    pub const TOOL_CALLS: Self = Self(1);
    /// Changed files.
    pub const FILE_CHANGES: Self = Self(2);
    /// Agents besides the main one.
    pub const SUBAGENTS: Self = Self(4);
    /// Compactions of the context.
    pub const COMPACTIONS: Self = Self(8);
    /// Requests that were made again.
    pub const RETRIES: Self = Self(16);
    /// Calls that the user or a rule refused.
    pub const PERMISSION_DENIALS: Self = Self(32);
    /// Searches that the provider ran.
    pub const WEB_SEARCHES: Self = Self(64);
    /// What a human typed.
    pub const USER_TURNS: Self = Self(128);
    /// It is the file that the runtime itself keeps: its rows are richer than those of a recording.
    pub const KEPT_BY_RUNTIME: Self = Self(256);
    /// It sums up runs whose responses the file that the runtime keeps shows.
    pub const RUNS_ONLY: Self = Self(512);
    /// It states the result of a run, without the responses.
    pub const RESULT_ONLY: Self = Self(1024);
    /// Another program converted it from a log of the session: it adds nothing to that log.
    pub const CONVERTED: Self = Self(2048);
    /// Each response of the model.
    pub const TURNS: Self = Self(4096);

    /// Both together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// This one without the other.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether all of `other` is in this set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Token counts, disjoint: see the contract. `None` is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Tokens {
    /// Prompt tokens that no cache gave and none took.
    pub input: Option<i64>,
    /// Generated tokens, reasoning included.
    pub output: Option<i64>,
    /// Prompt tokens read from a cache.
    pub cache_read: Option<i64>,
    /// Prompt tokens written to a cache.
    pub cache_write: Option<i64>,
    /// The part of `cache_write` that is kept for an hour.
    pub cache_write_1h: Option<i64>,
    /// The part of `output` that was reasoning.
    pub reasoning: Option<i64>,
}

impl Tokens {
    /// No known count.
    pub const UNKNOWN: Self =
        Self { input: None, output: None, cache_read: None, cache_write: None, cache_write_1h: None, reasoning: None };

    /// The four disjoint kinds.
    pub const fn kinds(self) -> [Option<i64>; 4] {
        [self.input, self.output, self.cache_read, self.cache_write]
    }

    /// Sum of the known kinds; `None` only if none is known.
    pub const fn total(self) -> Option<i64> {
        add(add(add(self.input, self.output), self.cache_read), self.cache_write)
    }

    /// Input, cache read and cache write: the size of the request.
    pub const fn context(self) -> Option<i64> {
        add(add(self.input, self.cache_read), self.cache_write)
    }

    /// Whether every known count is 0 and at least one is known.
    pub fn is_all_zero(self) -> bool {
        self.total() == Some(0)
    }

    /// Each count by `join`.
    #[must_use]
    pub fn zip(self, other: Self, join: impl Fn(Option<i64>, Option<i64>) -> Option<i64>) -> Self {
        Self {
            input: join(self.input, other.input),
            output: join(self.output, other.output),
            cache_read: join(self.cache_read, other.cache_read),
            cache_write: join(self.cache_write, other.cache_write),
            cache_write_1h: join(self.cache_write_1h, other.cache_write_1h),
            reasoning: join(self.reasoning, other.reasoning),
        }
    }

    /// The larger of each count. Copies of one response only ever grow (accounting B2).
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        self.zip(other, Ord::max)
    }

    /// The sum of each count, unknown only where both are.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.zip(other, add)
    }

    /// What is left of each known count, negative where `other` is larger.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        self.zip(other, |a, b| a.map(|a| a - b.unwrap_or(0)))
    }
}

/// [`Tokens`] of a row, in half the memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PackedTokens([Known<i64>; 6]);

impl PackedTokens {
    /// The counts.
    pub fn get(self) -> Tokens {
        let [input, output, cache_read, cache_write, cache_write_1h, reasoning] = self.0.map(Known::get);
        Tokens { input, output, cache_read, cache_write, cache_write_1h, reasoning }
    }
}

impl From<Tokens> for PackedTokens {
    fn from(it: Tokens) -> Self {
        Self([it.input, it.output, it.cache_read, it.cache_write, it.cache_write_1h, it.reasoning].map(Known::from))
    }
}

impl Serialize for PackedTokens {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.get().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PackedTokens {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Tokens::deserialize(deserializer).map(Self::from)
    }
}

/// The sum of two counts, unknown only where both are.
pub const fn add(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (one, None) | (None, one) => one,
    }
}

/// The sum of two amounts of money, unknown only where both are.
pub const fn add_money(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (one, None) | (None, one) => one,
    }
}

/// Money in US dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cost {
    /// The whole.
    pub total: f64,
    /// Its parts, where the log gives them.
    pub parts: Option<CostParts>,
}

impl Cost {
    /// One of which only the whole is known, as a row holds it.
    pub fn of(total: f64) -> Box<Self> {
        Box::new(Self { total, parts: None })
    }
}

/// The parts of a cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CostParts {
    /// For [`Tokens::input`].
    pub input: f64,
    /// For [`Tokens::output`].
    pub output: f64,
    /// For [`Tokens::cache_read`].
    pub cache_read: f64,
    /// For [`Tokens::cache_write`].
    pub cache_write: f64,
    /// For web searches.
    pub web_search: f64,
}

impl CostParts {
    /// The sum of the parts.
    pub fn total(self) -> f64 {
        self.input + self.output + self.cache_read + self.cache_write + self.web_search
    }

    /// Part by part.
    #[must_use]
    pub fn zip(self, other: Self, of: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            input: of(self.input, other.input),
            output: of(self.output, other.output),
            cache_read: of(self.cache_read, other.cache_read),
            cache_write: of(self.cache_write, other.cache_write),
            web_search: of(self.web_search, other.web_search),
        }
    }

    /// Parts of another total in the same proportions; none if there are no proportions.
    pub fn scaled_to(self, total: f64) -> Option<Self> {
        let sum = self.total();
        // Parts that already are its are kept to the last digit.
        if (sum - total).abs() <= 1e-12 {
            return Some(self);
        }
        (sum > 0.0).then(|| self.zip(self, |it, _| it * total / sum))
    }
}

/// Which response a turn is. Turns of equal identity are copies of one response.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Identity {
    /// The log names none: this response is like no other.
    #[default]
    Unique,
    /// Known within its session.
    Session(Name),
    /// Known everywhere, as the provider's ids are.
    Global(Name),
    /// Known within a thread, and in the threads that go on from it: its id, and the name.
    Thread(Shared, Name),
}

impl Identity {
    /// The identity that is known everywhere.
    pub const fn global(&self) -> Option<Name> {
        if let Self::Global(name) = self { Some(*name) } else { None }
    }
}

/// Identities, each with its kind.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Identity")]
enum WithKind {
    Unique,
    Session(Name),
    Global(Name),
    Thread(Shared, Name),
}

/// Most are known everywhere: of those the name stands alone, but where people read it.
impl Serialize for Identity {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unique if !serializer.is_human_readable() => serializer.serialize_unit(),
            Self::Global(name) if !serializer.is_human_readable() => name.serialize(serializer),
            _ => WithKind::serialize(self, serializer),
        }
    }
}

/// Also as earlier versions kept them, each with its kind.
impl<'de> Deserialize<'de> for Identity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Identity;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an identity")
            }

            fn visit_unit<E>(self) -> Result<Identity, E> {
                Ok(Identity::Unique)
            }

            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Identity, E> {
                Name::of_bytes(bytes).map(Identity::Global).ok_or_else(|| E::invalid_length(bytes.len(), &self))
            }

            fn visit_str<E: de::Error>(self, kind: &str) -> Result<Identity, E> {
                WithKind::deserialize(kind.into_deserializer())
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Identity, A::Error> {
                WithKind::deserialize(MapAccessDeserializer::new(map))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// One billed response.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Turn {
    /// Where it was first read.
    pub line: i64,
    /// Which response it is.
    pub identity: Identity,
    /// The provider's id of the response.
    pub message_id: Option<Shared>,
    /// The provider's id of the request.
    pub request_id: Option<Shared>,
    /// Name or type of the agent that asked.
    pub agent: Option<Word>,
    /// Id of that agent within the session.
    pub agent_id: Option<Word>,
    /// Whether another agent than the main one asked.
    pub is_subagent: bool,
    /// Provider, as logged.
    pub provider: Option<Word>,
    /// Model, as logged.
    pub model: Option<Word>,
    /// Reasoning effort or thinking level, as logged.
    pub effort: Option<Word>,
    /// When it was answered.
    pub occurred_at: Option<Time>,
    /// How long that took.
    pub duration_ms: Known<i64>,
    /// Why it stopped, in the runtime's words.
    pub stop_reason: Option<Word>,
    /// Service tier, as logged.
    pub service_tier: Option<Word>,
    /// Speed, as logged.
    pub speed: Option<Word>,
    /// Where it was computed, as logged: some regions cost more. The tables have no column for it.
    pub inference_geo: Option<Word>,
    /// Size of the model's context window.
    pub context_window: Known<i64>,
    /// What it cost in tokens.
    pub tokens: PackedTokens,
    /// Searches that the provider ran for it.
    pub web_searches: Known<i64>,
    /// What the log says it cost.
    pub cost: Option<Box<Cost>>,
    /// Whether only its caller tells of it: where another turn has the same prompt, it is that one.
    pub is_echo: bool,
    /// Whether its agent answered before, as its caller says.
    pub has_predecessors: bool,
    /// Whether the process that asked was killed before it told a total: later ones do not hold the response.
    pub is_of_killed: bool,
}

/// How a tool call ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// A start without an end.
    #[default]
    Incomplete,
    /// It failed.
    Error,
    /// The user or a rule refused it.
    Denied,
    /// It did its work.
    Ok,
}

impl CallStatus {
    /// The contract's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Incomplete => "incomplete",
            Self::Error => "error",
            Self::Denied => "denied",
            Self::Ok => "ok",
        }
    }

    /// `ok` or `error`.
    pub const fn from_error(is_error: bool) -> Self {
        if is_error { Self::Error } else { Self::Ok }
    }
}

/// One tool call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolCall {
    /// Where it was first read.
    pub line: i64,
    /// Index of its turn in [`SessionResult::turns`].
    pub turn: Known<usize>,
    /// The message that holds the call, where call ids are known within their message only. Its turn may stand in another
    /// file.
    pub message_id: Option<Shared>,
    /// The runtime's id of the call.
    pub call_id: Shared,
    /// Name or type of the agent that called.
    pub agent: Option<Word>,
    /// Whether that was another agent than the main one.
    pub is_subagent: bool,
    /// The runtime's own name of the tool.
    pub tool: Word,
    /// The common word for its job.
    pub category: Word,
    /// The MCP server that offers it.
    pub mcp_server: Option<Word>,
    /// When it was called.
    pub occurred_at: Option<Time>,
    /// When its result came.
    pub ended_at: Option<Time>,
    /// How long it took, as logged.
    pub duration_ms: Known<i64>,
    /// How it ended.
    pub status: CallStatus,
    /// Exit status of a shell command.
    pub exit_code: Known<i64>,
    /// Length of its arguments in the log, in bytes.
    pub args_bytes: Known<i64>,
    /// Length of its result in the log, in bytes.
    pub result_bytes: Known<i64>,
    /// What it worked on.
    pub target: Option<Shared>,
    /// Its arguments, where content is kept.
    pub args: Option<Shared>,
    /// Its result, where content is kept.
    pub result: Option<Shared>,
}

impl SessionResult {
    /// How many bytes its texts have, and what stands in the totals, about, but for words that rows share.
    pub fn text_bytes(&self) -> usize {
        let text = |it: &Option<Shared>| it.as_ref().map_or(0, Shared::len);
        let own = |it: &Word| if it.len() > LONGEST { it.len() } else { 0 };
        let word = |it: &Option<Word>| it.as_ref().map_or(0, own);
        let own_texts =
            [&self.prompt, &self.text, &self.cwd, &self.git_branch, &self.entrypoint, &self.runtime_version];
        let names = self.labels.iter().chain(&self.said).chain(self.asked.keys()).chain([&self.session_id]);
        let mut bytes: usize = own_texts.into_iter().flatten().chain(names).map(String::len).sum();
        bytes += self.subagents.iter().map(own).sum::<usize>();
        for it in &self.totals {
            bytes += it.key.len() + it.models.len() * size_of::<ModelTotal>();
            bytes += it.models.iter().map(|it| word(&it.model)).sum::<usize>();
        }
        for it in &self.turns {
            bytes += text(&it.message_id) + text(&it.request_id);
            bytes += word(&it.agent) + word(&it.agent_id) + word(&it.provider) + word(&it.model) + word(&it.effort);
            bytes += word(&it.stop_reason) + word(&it.service_tier) + word(&it.speed) + word(&it.inference_geo);
        }
        for it in &self.tool_calls {
            bytes += it.call_id.len() + text(&it.message_id) + text(&it.target) + text(&it.args) + text(&it.result);
            bytes += own(&it.tool) + own(&it.category) + word(&it.agent) + word(&it.mcp_server);
        }
        for it in &self.events {
            bytes += text(&it.key) + text(&it.call_id) + text(&it.message) + word(&it.agent) + word(&it.code);
        }
        bytes + self.file_changes.iter().map(|it| it.path.len()).sum::<usize>()
    }
}

/// What was done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// It is new.
    Create,
    /// It has other content.
    Update,
    /// It is gone.
    Delete,
    /// It has another name.
    Move,
}

impl Operation {
    /// The contract's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Move => "move",
        }
    }

    /// The word of a log.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "add" | "added" | "create" | "created" => Some(Self::Create),
            "update" | "updated" | "modify" | "modified" | "edit" => Some(Self::Update),
            "delete" | "deleted" | "remove" | "removed" => Some(Self::Delete),
            "move" | "moved" | "rename" | "renamed" => Some(Self::Move),
            _ => None,
        }
    }
}

/// One changed file of one call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileChange {
    /// Where it was read.
    pub line: i64,
    /// Index of the call in [`SessionResult::tool_calls`].
    pub call: Option<usize>,
    /// When.
    pub occurred_at: Option<Time>,
    /// The file, as the call names it.
    pub path: Shared,
    /// What was done to it, where the log tells a new file from an old one.
    pub operation: Option<Operation>,
    /// Lines added.
    pub lines_added: Option<i64>,
    /// Lines removed.
    pub lines_removed: Option<i64>,
}

/// Kinds of [`Event`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// Something failed.
    #[default]
    Error,
    /// The context was made smaller.
    Compaction,
    /// A call was refused.
    PermissionDenial,
    /// A request was made again.
    Retry,
    /// Another agent was started.
    Subagent,
    /// An input or output was checked against a schema.
    Validation,
    /// The user stopped it.
    Abort,
}

impl EventKind {
    /// The contract's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Compaction => "compaction",
            Self::PermissionDenial => "permission_denial",
            Self::Retry => "retry",
            Self::Subagent => "subagent",
            Self::Validation => "validation",
            Self::Abort => "abort",
        }
    }
}

/// What else happened.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Event {
    /// Where it was read.
    pub line: i64,
    /// The log's own id of the record: equal ids are copies. Without one, the time and the words decide.
    pub key: Option<Shared>,
    /// Index of its turn in [`SessionResult::turns`].
    pub turn: Option<usize>,
    /// The call that it belongs to.
    pub call_id: Option<Shared>,
    /// Name or type of the agent.
    pub agent: Option<Word>,
    /// Whether that was another agent than the main one.
    pub is_subagent: bool,
    /// When.
    pub occurred_at: Option<Time>,
    /// What.
    pub kind: EventKind,
    /// See the contract: it depends on the kind.
    pub code: Option<Word>,
    /// The log's words.
    pub message: Option<Shared>,
    /// Size of the context before a compaction.
    pub tokens_before: Option<i64>,
    /// Size of the context after it.
    pub tokens_after: Option<i64>,
}

/// How the totals of one session relate to each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TotalKind {
    /// Running totals of a process: within one recording the last stands until a count falls, which begins another
    /// process; processes add (accounting B6).
    #[default]
    Process,
    /// Running totals of a thread, over processes: of two, one that is nowhere smaller holds the other (accounting B16).
    Thread,
    /// What one run spent: runs add, each once by its key. Where the file that the runtime keeps shows the session's
    /// responses, they tell nothing ("Found by checking", 7).
    Run,
}

/// A total that the log states.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Total {
    /// Where it was read.
    pub line: i64,
    /// Equal keys are copies of one record.
    pub key: String,
    /// How it relates to the other totals.
    pub kind: TotalKind,
    /// When.
    pub occurred_at: Option<Time>,
    /// Duration of what it closes, in milliseconds.
    pub duration_ms: Option<i64>,
    /// The part of it that was spent waiting for the provider.
    pub api_duration_ms: Option<i64>,
    /// Number of turns as stated.
    pub turns: Option<i64>,
    /// The whole reported cost.
    pub cost: Option<f64>,
    /// By model.
    pub models: Vec<ModelTotal>,
    /// Whether subagents' responses are in it.
    pub covers_subagents: bool,
    /// Whether it surely begins another process, though no count falls.
    pub is_of_new_process: bool,
}

/// One model's part of a [`Total`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelTotal {
    /// The model as the total names it.
    pub model: Option<Word>,
    /// Its tokens.
    pub tokens: Tokens,
    /// Its web searches.
    pub web_searches: Option<i64>,
    /// Its reported cost.
    pub cost: Option<f64>,
    /// Size of its context window.
    pub context_window: Option<i64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// There are as many in memory as all logs that belong together have: what is a field more, all of them pay.
    #[test]
    fn rows_are_small() {
        assert!(size_of::<Turn>() <= 224, "{}", size_of::<Turn>());
        assert!(size_of::<ToolCall>() <= 160, "{}", size_of::<ToolCall>());
    }
}
