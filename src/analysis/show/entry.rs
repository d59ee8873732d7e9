//! A line of a timeline.

use crate::analysis::rows::Purpose;

/// What an entry is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// The session itself.
    #[default]
    Session,
    /// A response.
    Turn,
    /// What the log contains only in sum.
    Total,
    Call,
    /// A change of a file.
    Edit,
    /// A session that this one started.
    Child,
    Error,
    Compaction,
    Denial,
    Retry,
    Subagent,
    Validation,
    Abort,
}

impl Kind {
    /// The word in the output.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Turn => "turn",
            Self::Total => "total",
            Self::Call => "call",
            Self::Edit => "edit",
            Self::Child => "child",
            Self::Error => "error",
            Self::Compaction => "compaction",
            Self::Denial => "permission_denial",
            Self::Retry => "retry",
            Self::Subagent => "subagent",
            Self::Validation => "validation",
            Self::Abort => "abort",
        }
    }
}

/// What the agent does for some responses in a row: see docs/reports.md#phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Explore,
    Edit,
    Verify,
    /// Calls for other purposes.
    Other,
    /// Responses without calls.
    Answer,
}

impl Phase {
    /// The word in the output.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Explore => "explore",
            Self::Edit => "edit",
            Self::Verify => "verify",
            Self::Other => "other",
            Self::Answer => "answer",
        }
    }

    pub(super) const fn of(purpose: Purpose) -> Self {
        match purpose {
            Purpose::Explore => Self::Explore,
            Purpose::Edit => Self::Edit,
            Purpose::Test | Purpose::Check => Self::Verify,
            Purpose::Other | Purpose::Unknown => Self::Other,
        }
    }

    /// Of the calls of one response, those with the highest rank decide.
    pub(super) const fn rank(self) -> u8 {
        match self {
            Self::Edit => 4,
            Self::Verify => 3,
            Self::Explore => 2,
            Self::Other => 1,
            Self::Answer => 0,
        }
    }
}

/// A line of the timeline. What an entry does not have is `None`.
#[derive(Debug, Clone, Default)]
pub(super) struct Entry {
    pub kind: Kind,
    /// Microseconds since 1970.
    pub time: Option<i64>,
    /// The number of the response that it is, or belongs to.
    pub turn: Option<i64>,
    pub agent: Option<String>,
    pub is_subagent: bool,
    pub phase: Option<Phase>,
    /// Of a response the model, of a call the tool, of a change the path, of an event its code, of a session its id.
    pub name: Option<String>,
    /// Of a call its target, of a response the effort, of an event the message, of a session the model.
    pub detail: Option<String>,
    pub command_kind: Option<String>,
    pub purpose: Option<Purpose>,
    /// Of a response the stop reason, of a change the operation.
    pub status: Option<String>,
    pub exit_code: Option<i64>,
    pub duration_ms: Option<i64>,
    pub context_tokens: Option<i64>,
    pub output_tokens: Option<i64>,
    pub total_tokens: Option<i64>,
    pub tokens_before: Option<i64>,
    pub tokens_after: Option<i64>,
    pub result_bytes: Option<i64>,
    pub cost_usd: Option<f64>,
    /// Of a session, with its descendants.
    pub inclusive_cost_usd: Option<f64>,
    pub lines_added: Option<i64>,
    pub lines_removed: Option<i64>,
    pub call_id: Option<String>,
    pub source_path: Option<String>,
    pub line: Option<i64>,
}

impl Entry {
    /// What a call and its changes have in common: the response and the id of the call.
    pub(super) fn call_key(&self) -> Option<(Option<i64>, &str)> {
        Some((self.turn, self.call_id.as_deref()?))
    }

    /// Whether a call names the file that was changed as its target.
    pub(super) fn names_file_of(&self, change: &Self) -> bool {
        let path = change.name.as_deref().unwrap_or_default();
        let target = self.detail.as_deref().unwrap_or_default();
        path == target || (!target.is_empty() && path.ends_with(&format!("/{target}")))
    }
}
