//! What describes a format: paths from a record to its values.

use serde::Deserialize;

use super::path::Place;
use crate::adapters::engine::Probe;
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::Builder;
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::json::Raw;
use crate::model::session::{CallStatus, Capabilities};

/// A kind of records, or of documents with records.
#[derive(Debug, Clone, Copy)]
pub struct Description {
    /// Paths that each record or document of the format has.
    pub has: &'static [&'static str],
    /// Paths with the text that each record or document has there.
    pub equals: &'static [(&'static str, &'static str)],
    /// The array of records inside of a document. Without it, the record is the line.
    pub records: &'static str,
    /// The id of the session, in the line or document.
    pub session: &'static str,
    /// Where the id comes from.
    pub session_from: SessionFrom,
    /// Facts of the session, in the line or document.
    pub facts: Facts,
    /// Further facts of the session, from the line or document. Only for formats of this program.
    pub own_facts: Option<fn(&Probe<'_>) -> OwnFacts>,
    /// The author of a record. Without it, each record with tokens or a cost is a response.
    pub role: &'static str,
    /// The values of `role` for responses of the model.
    pub responses: &'static [&'static str],
    /// The values of `role` for prompts that a human typed.
    pub prompts: &'static [&'static str],
    /// What the human typed, from the record of a prompt and its text; `None` if a program wrote it. Only for formats of this program.
    pub typed: Option<fn(&Probe<'_>, &str) -> Option<String>>,
    /// The id of a response, and of a prompt.
    pub message_id: &'static str,
    /// Where this id is unique.
    pub message_id_scope: IdScope,
    /// Its model.
    pub model: &'static str,
    /// Its provider.
    pub provider: &'static str,
    /// The time of a record: text, or seconds, milliseconds or microseconds since 1970.
    pub time: &'static str,
    /// How long a response took, in milliseconds.
    pub duration_ms: &'static str,
    /// The same in seconds.
    pub duration_s: &'static str,
    /// Why a response ended.
    pub stop_reason: &'static str,
    /// The text of a record: a string, or blocks with a `text`.
    pub text: &'static str,
    /// Its tokens.
    pub tokens: TokenPaths,
    /// Whether the input of `tokens` and `totals` includes tokens read from a cache and written to one.
    pub input_includes_cache: bool,
    /// Whether their output excludes reasoning.
    pub output_excludes_reasoning: bool,
    /// Its cost in US dollars.
    pub cost: &'static str,
    /// The tokens of the whole session so far, in the line or document. Zeros are unknown.
    pub totals: TokenPaths,
    /// Their cost in US dollars.
    pub total_cost: &'static str,
    /// Whether the records are those of a subagent within the session of another agent.
    pub is_subagent: bool,
    /// The number of records at the beginning of a document that repeat what an earlier version of the runtime logged in another
    /// format. They count only where that log is absent; usage in them is a sum over it. Only for formats of this program.
    pub migrated: Option<fn(&[Raw<'_>]) -> usize>,
    /// What a record, or a document without records, reports of a compaction. Only for formats of this program.
    pub compaction: Option<fn(&Probe<'_>) -> Option<Compaction>>,
    /// What the format can show, but these lines or documents cannot.
    pub lacks: Capabilities,
    /// The categories of tools, for [`category_among`](crate::adapters::shared::tools::category_among).
    pub categories: &'static [(&'static str, &'static str)],
    /// The calls of a response.
    pub calls: Option<Calls>,
    /// Results of calls.
    pub results: Option<Results>,
}

/// Where the id of a message is unique.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IdScope {
    /// In its session: records with the same id are copies.
    #[default]
    Session,
    /// In all sessions: records with the same id and counts are copies.
    Everywhere,
    /// The same, and the id is that of a provider: a record with one is a response, also without counts.
    Provider,
}

/// A compaction of the context.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compaction {
    /// What distinguishes it from others of the session, unless its time does.
    pub key: Option<String>,
    /// What caused it.
    pub trigger: Option<Symbol>,
    /// When it was.
    pub time: Option<Time>,
    /// The tokens of the context before it.
    pub tokens_before: Option<i64>,
}

/// Where a session's id comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionFrom {
    /// From the records. If no record has it, it is a hash of the first one.
    #[default]
    Record,
    /// If no record has it, it is the name of the file without its extensions.
    File,
    /// If no record has it, it is the name of the directory.
    Directory,
    /// It is a hash of the directory's name and the value at `session`. That value is not an id, but all records of the session have it.
    /// An example is the first message, where each request is logged with all messages before it.
    Hash,
}

/// Facts of a session.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// The model, if the responses do not name it.
    pub model: &'static str,
    /// Working directory. Of several lines, the first.
    pub cwd: &'static str,
    /// Version of the runtime.
    pub version: &'static str,
    /// How the runtime was started.
    pub entrypoint: &'static str,
    /// Branch checked out there.
    pub git_branch: &'static str,
    /// The session that started this one.
    pub parent_session: &'static str,
    /// The type of the agent. Only for formats of this program.
    pub agent: &'static str,
    /// When it began.
    pub started_at: &'static str,
    /// When it ended.
    pub ended_at: &'static str,
    /// Exit status of the process.
    pub exit_code: &'static str,
    /// How it ended.
    pub status: &'static str,
    /// The values of `status` for success, for failure, and for an end by the user. Other values are not an end.
    pub success: &'static [&'static str],
    /// See `success`.
    pub error: &'static [&'static str],
    /// See `success`.
    pub aborted: &'static [&'static str],
}

/// Facts of a session that no path finds.
#[derive(Debug, Clone, Default)]
pub struct OwnFacts {
    /// The name of the repository.
    pub repository: Option<String>,
    /// The provider of the model that `facts` name.
    pub provider: Option<Symbol>,
    /// The reasoning effort of that model.
    pub effort: Option<Symbol>,
}

/// Counts of tokens.
#[derive(Debug, Clone, Copy)]
pub struct TokenPaths {
    /// Of the prompt.
    pub input: &'static str,
    /// Of the answer.
    pub output: &'static str,
    /// Read from a cache.
    pub cache_read: &'static str,
    /// Written to a cache.
    pub cache_write: &'static str,
    /// Of reasoning.
    pub reasoning: &'static str,
}

/// The calls of a response, in an array of its record.
#[derive(Debug, Clone, Copy)]
pub struct Calls {
    /// The array.
    pub list: &'static str,
    /// A path in an element and its text, if not all elements are calls.
    pub only: Option<(&'static str, &'static str)>,
    /// In an element: its id.
    pub id: &'static str,
    /// In an element: the tool.
    pub name: &'static str,
    /// In an element: the arguments, as an object or as JSON in a string.
    pub arguments: &'static str,
    /// The form of the arguments that archives contain, if it is another one than in the log. Only for formats of this program.
    pub arguments_form: Option<fn(Raw<'_>) -> String>,
    /// Adds what the arguments of a call contain under names of the format's own. Only for formats of this program.
    pub own_arguments: Option<fn(&mut Builder, usize, Raw<'_>, At)>,
    /// Tools whose call ends the session as an answer does.
    pub ends: &'static [&'static str],
}

/// Results of calls: records of their own, or elements of an array.
#[derive(Debug, Clone, Copy)]
pub struct Results {
    /// The values of `role` for records that are results.
    pub roles: &'static [&'static str],
    /// The array in any record.
    pub list: &'static str,
    /// A path in an element and its text, if not all elements are results.
    pub only: Option<(&'static str, &'static str)>,
    /// In an element or record: the id of the call.
    pub call: &'static str,
    /// In an element or record: what the tool returned.
    pub content: &'static str,
    /// In an element or record: the tool. Then a result whose call is not in the file adds the call. In a list of `at_end`, it may be in
    /// another element with the same id.
    pub name: &'static str,
    /// In an element or record: `true` if the call failed.
    pub error: &'static str,
    /// How a call of a tool ended, from what it returned. Only for formats of this program.
    pub outcome: Option<fn(&str, Raw<'_>) -> Outcome>,
    /// Whether only the elements at the end of `list` are results: the list is that of a request, and contains earlier results too.
    pub at_end: bool,
}

/// How a call ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Its status. Without one, `error` decides.
    pub status: Option<CallStatus>,
    /// Why it was refused.
    pub denial: Option<String>,
    /// The exit status of its command.
    pub exit_code: Option<i64>,
}

impl Facts {
    /// No fact.
    pub const NONE: Self = Self {
        model: "",
        cwd: "",
        version: "",
        entrypoint: "",
        git_branch: "",
        parent_session: "",
        agent: "",
        started_at: "",
        ended_at: "",
        exit_code: "",
        status: "",
        success: &[],
        error: &[],
        aborted: &[],
    };
}

impl TokenPaths {
    /// No count.
    pub const NONE: Self = Self { input: "", output: "", cache_read: "", cache_write: "", reasoning: "" };
}

impl Calls {
    /// No call.
    pub const NONE: Self = Self {
        list: "",
        only: None,
        id: "",
        name: "",
        arguments: "",
        arguments_form: None,
        own_arguments: None,
        ends: &[],
    };
}

impl Results {
    /// No result.
    pub const NONE: Self = Self {
        roles: &[],
        list: "",
        only: None,
        call: "",
        content: "",
        name: "",
        error: "",
        outcome: None,
        at_end: false,
    };
}

impl Description {
    /// A description of nothing.
    pub const NOTHING: Self = Self {
        has: &[],
        equals: &[],
        records: "",
        session: "",
        session_from: SessionFrom::Record,
        facts: Facts::NONE,
        own_facts: None,
        role: "",
        responses: &[],
        prompts: &[],
        typed: None,
        message_id: "",
        message_id_scope: IdScope::Session,
        model: "",
        provider: "",
        time: "",
        duration_ms: "",
        duration_s: "",
        stop_reason: "",
        text: "",
        tokens: TokenPaths::NONE,
        input_includes_cache: false,
        output_excludes_reasoning: false,
        cost: "",
        totals: TokenPaths::NONE,
        total_cost: "",
        is_subagent: false,
        migrated: None,
        compaction: None,
        lacks: Capabilities::NOTHING,
        categories: &[],
        calls: None,
        results: None,
    };

    /// Whether a line or document is of the format. A description without a condition matches nothing.
    pub(crate) fn matches(&self, record: &Probe<'_>) -> bool {
        let has_condition = !self.has.is_empty() || !self.equals.is_empty();
        let place = Place::of(record);
        has_condition
            && self.has.iter().all(|path| !place.raw(path).is_empty())
            && self.equals.iter().all(|(path, value)| place.text(path).as_deref() == Some(*value))
    }

    /// The weight with which the format claims a record: the more conditions, the more.
    pub(crate) fn weight(&self, record: &Probe<'_>) -> u32 {
        let conditions = u32::try_from(self.has.len() + self.equals.len()).unwrap_or(u32::MAX);
        if self.matches(record) { conditions.saturating_mul(3).min(12) } else { 0 }
    }
}
