//! The contents of one log about one session. No I/O, no format's name, no derived numbers.
//!
//! An adapter fills a [`SessionResult`] for each session (or recorded process) in a log. The ledger joins those of one session,
//! removes copies and derives the counters; the result are the [tables](crate::model::tables). A value that a log does not
//! contain is `None`: unknown is never 0.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::base::rows::Rows;
use crate::base::text::{SharedStr, Symbol};
use crate::base::time::Time;
pub use crate::model::attempt::Attempt;
pub use crate::model::call::{CallStatus, CommandKind, FileChange, Operation, ToolCall};
pub use crate::model::capabilities::Capabilities;
pub use crate::model::cost::{Cost, CostParts, NEGLIGIBLE_USD, add_money};
pub use crate::model::delegation::Delegation;
use crate::model::errors::ErrorKind;
pub use crate::model::event::{Event, EventKind};
use crate::model::id_hash::IdHash;
pub use crate::model::identity::Identity;
pub use crate::model::limit::{Limit, RESET_TOLERANCE_MS, WindowKey};
pub use crate::model::offer::{Instructions, Offer};
pub use crate::model::sign::Sign;
pub use crate::model::tokens::{PackedTokens, Tokens, add};
pub use crate::model::total::{AgentTotal, ModelTotal, OwnTokens, RunPlace, Total, TotalKind};
pub use crate::model::turn::{Details, Turn};
use crate::model::unknown::Unread;
pub use crate::model::verdict::{MatchedBy, Verdict, add_verdicts};

/// The contents of one log about one session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionResult {
    /// The runtime's id; `~` and 16 hexadecimal digits of a hash if the log contains no id.
    pub session_id: String,
    /// The agent program that wrote the log.
    pub runtime: Cow<'static, str>,
    /// The adapter's id.
    pub format: Cow<'static, str>,
    /// The line of its first record.
    pub line: i64,
    /// A hash of each record, for formats whose ids restart in each recording. A recording that begins like another one is its
    /// copy; otherwise their calls are different.
    pub recording: Option<Vec<u64>>,
    /// Version of the runtime.
    pub runtime_version: Option<String>,
    /// The session that started this one.
    pub parent_session_id: Option<String>,
    /// The session whose history it repeats at its beginning, used in [`Identity::Thread`].
    pub continues: Option<String>,
    /// The session of another runtime that did the work, whose log bills it.
    pub provider_session_id: Option<String>,
    /// Name of the main agent, if agents have names.
    pub agent: Option<Symbol>,
    /// How the runtime was started.
    pub entrypoint: Option<String>,
    /// Working directory.
    pub cwd: Option<String>,
    /// Branch checked out there.
    pub git_branch: Option<String>,
    /// The repository, as `host/owner/name` of its remote, else the name of its root directory.
    pub repository: Option<String>,
    /// The machine that the log was written on.
    pub host: Option<String>,
    /// The account there whose log it is.
    pub user_name: Option<String>,
    /// The model of the session, used for turns without a model.
    pub model: Option<Symbol>,
    /// How it ended.
    pub status: Status,
    /// The kind of error that ended it.
    pub error_kind: Option<ErrorKind>,
    /// The message of that error.
    pub error_message: Option<SharedStr>,
    /// The stop reason of the main agent's last response, as logged.
    pub stop_reason: Option<Symbol>,
    /// Exit status of the runtime's process.
    pub exit_code: Option<i64>,
    /// Time of the first record.
    pub started_at: Option<Time>,
    /// Time of the last record.
    pub ended_at: Option<Time>,
    /// Duration as logged, in milliseconds, unless it is in [`Self::totals`].
    pub duration_ms: Option<i64>,
    /// Number of turns as logged, unless it is in [`Self::totals`].
    pub stated_turns: Option<i64>,
    /// Prompts that a human typed and that have no identity.
    pub user_turns: Option<i64>,
    /// Identities of prompts that a human typed.
    pub prompts: BTreeSet<Identity>,
    /// Prompts by the ids of their messages, if other files of the session contain which of them a human typed.
    pub prompt_candidates: BTreeMap<String, Identity>,
    /// Ids of messages that a human typed, if other files of the session contain the messages.
    pub typed_message_ids: BTreeSet<String>,
    /// Number of tool calls as logged, if the log does not contain each call.
    pub stated_tool_calls: Option<i64>,
    /// Number of failed tool calls as logged.
    pub stated_tool_errors: Option<i64>,
    /// Lines added and removed as logged, if the log does not contain each change.
    pub stated_lines: Option<(i64, i64)>,
    /// The subagents.
    pub subagents: BTreeSet<Symbol>,
    /// What the format can contain; counters of anything else are NULL.
    pub capabilities: Capabilities,
    /// Whether the log is known to contain less than was billed.
    pub under_reports: bool,
    /// `key=value`, sorted.
    pub labels: BTreeSet<String>,
    /// First text that a human typed, if content is kept.
    pub prompt: Option<String>,
    /// Last text of the assistant, if content is kept.
    pub text: Option<String>,
    /// Billed responses, each once.
    pub turns: Rows<Box<Turn>>,
    /// Tool calls, each once.
    pub tool_calls: Rows<Box<ToolCall>>,
    /// Changed files.
    pub file_changes: Rows<FileChange>,
    /// Other events.
    pub events: Rows<Event>,
    /// Totals in the log, in its order.
    pub totals: Vec<Total>,
    /// States of limits, each of which differs from the one before it in the same window.
    pub limits: Rows<Limit>,
    /// Whether the runtime rounded its counts, or estimated them with a tokenizer of its own.
    pub is_estimated: bool,
    /// Judgements of it.
    pub verdicts: Vec<Verdict>,
    /// The id of the trial that it is a part of: see [`TrialResult`](crate::model::trial::TrialResult).
    pub trial: Option<String>,
    /// Whether it is only the result of the trial, without a log.
    pub is_trial_result: bool,
    /// Why the log may contain more of it than was read.
    pub unread: Option<Unread>,
    /// Whether a program wrote its prompts, so that it may have none that a human typed.
    pub is_prompted_by_program: bool,
    /// Sessions of other programs that ran turns of this one, each with the provider that those turns name. A result that has
    /// them is the entry of an index, without rows.
    pub delegates: Vec<(Symbol, String)>,
    /// What its model was given besides the conversation.
    pub offer: Offer,
    /// Addresses of the pull requests that it made, or that the log links to it.
    pub pull_requests: BTreeSet<SharedStr>,
    /// The id that the session has in a copy of the log that was cut before the record that states [`Self::session_id`].
    pub id_if_cut: Option<String>,
    /// The ids that parts of it have as sessions of their own, in files that this log contains in full. One of them can be its own id.
    pub contains: Vec<String>,
    /// Names of its messages, equal in all copies of them, if responses have no names of their own: they show that two logs are views
    /// of one session, or that one session begins with the history of another one.
    pub messages: BTreeSet<IdHash>,
    /// Whether it is only the history of another session with which a session of this id begins.
    pub is_copied_history: bool,
    /// The requests that an agent of another program answered, in a session that the log does not name.
    pub delegation: Option<Delegation>,
    /// The runs that the log contains, if [`Self::contains`] of another log can name them.
    pub attempts: Vec<Attempt>,
    /// Whether its total began with that of its parent session. The ledger subtracts it, and sets this to false if it can.
    pub inherits_total: bool,
    /// Whether a log of another session contradicts its totals. The ledger finds out.
    pub has_disputed_totals: bool,
    /// Identities of answers that are only counted, because the log has nothing else of their requests.
    pub answers: BTreeSet<Identity>,
}

/// How a session ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not known from the format.
    #[default]
    Unknown,
    /// The log does not contain the end.
    Incomplete,
    /// The user stopped it.
    Aborted,
    /// It failed.
    Error,
    /// It succeeded.
    Success,
}

impl Status {
    /// The value in the tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Incomplete => "incomplete",
            Self::Aborted => "aborted",
            Self::Error => "error",
            Self::Success => "success",
        }
    }

    /// Whether the log contains the end.
    pub const fn is_end(self) -> bool {
        matches!(self, Self::Aborted | Self::Error | Self::Success)
    }
}

impl SessionResult {
    /// Whether a response has counts of tokens.
    pub fn has_counted_turns(&self) -> bool {
        self.turns.iter().any(|turn| turn.tokens.get().total().is_some())
    }

    /// Whether a response or a total has counts of tokens.
    pub fn has_tokens(&self) -> bool {
        self.has_counted_turns() || self.totals.iter().any(Total::has_tokens)
    }

    /// The model of all responses, if it is the same.
    pub fn only_model(&self) -> Option<Symbol> {
        let first = self.turns.iter().find_map(|turn| turn.model.clone())?;
        self.turns.iter().all(|turn| turn.model.as_ref() == Some(&first)).then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory contains all rows of related logs at once: each field counts.
    #[test]
    fn rows_are_small() {
        assert!(size_of::<Turn>() <= 240, "{}", size_of::<Turn>());
        assert!(size_of::<ToolCall>() <= 176, "{}", size_of::<ToolCall>());
    }
}
