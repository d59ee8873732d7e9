//! Errors, compactions, retries and other events of a session.

use serde::{Deserialize, Serialize};

use crate::base::text::{SharedStr, Symbol};
use crate::base::time::Time;

/// Kinds of [`Event`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// An error.
    #[default]
    Error,
    /// The context was compacted.
    Compaction,
    /// A call was refused.
    PermissionDenial,
    /// A request was repeated.
    Retry,
    /// Another agent was started.
    Subagent,
    /// An input or output was checked against a schema.
    Validation,
    /// The user stopped the agent.
    Abort,
}

impl EventKind {
    /// The value in the tables.
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

/// An event besides turns, calls and changes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Event {
    /// The line of its record.
    pub line: i64,
    /// The log's id of the record: equal ids are copies. Without an id, time and message are compared.
    pub key: Option<SharedStr>,
    /// Index of its turn in [`SessionResult::turns`](crate::model::session::SessionResult::turns).
    pub turn: Option<usize>,
    /// The call to which it belongs.
    pub call_id: Option<SharedStr>,
    /// Name or type of the agent.
    pub agent: Option<Symbol>,
    /// Whether that is not the main agent.
    pub is_subagent: bool,
    /// Time of the event.
    pub occurred_at: Option<Time>,
    /// Its kind.
    pub kind: EventKind,
    /// A code whose meaning depends on the kind, such as an HTTP status.
    pub code: Option<Symbol>,
    /// The message in the log.
    pub message: Option<SharedStr>,
    /// Size of the context before a compaction.
    pub tokens_before: Option<i64>,
    /// Size of the context after it.
    pub tokens_after: Option<i64>,
}
