//! The rows of one session, as far as the measures need them.

use crate::analysis::rows::Purpose;

/// A session with its rows in order.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Session<'a> {
    /// Its start, in microseconds since 1970.
    pub started_at: Option<i64>,
    /// Whether its format shows tool calls.
    pub shows_calls: bool,
    /// Whether its format shows changed files.
    pub shows_changes: bool,
    /// Its calls, by time.
    pub calls: &'a [Call],
    /// Its responses, by number.
    pub turns: &'a [Turn],
    /// The changes of its files, by time.
    pub changes: &'a [Change],
}

/// A tool call.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Call {
    /// Its time, in microseconds since 1970.
    pub time: Option<i64>,
    pub duration_ms: Option<i64>,
    /// The number of the response that made it.
    pub turn: Option<i64>,
    pub is_subagent: bool,
    pub status: Status,
    pub purpose: Purpose,
    /// Whether its result states that tests failed.
    pub failed_tests: bool,
    /// Whether it waits for an answer of the human.
    pub asks_human: bool,
    /// Whether its error is an answer: `grep` found nothing.
    pub is_answer: bool,
    /// Whether it changed only what no test checks: documents.
    pub needs_no_check: bool,
    /// A hash of its agent, tool and arguments; `None` if the log does not show the arguments.
    pub identity: Option<u64>,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Status {
    #[default]
    Ok,
    Error,
    Denied,
    Incomplete,
    Cancelled,
}

impl Status {
    /// The status of a call by its name in the tables.
    pub(super) fn of(name: Option<&str>) -> Self {
        match name {
            Some("ok") => Self::Ok,
            Some("error") => Self::Error,
            Some("denied") => Self::Denied,
            Some("cancelled") => Self::Cancelled,
            _ => Self::Incomplete,
        }
    }
}

impl Call {
    /// Whether it changed files.
    pub(super) fn is_edit(&self) -> bool {
        self.purpose == Purpose::Edit && self.status == Status::Ok
    }

    /// Whether it changed files that tests can check.
    pub(super) fn needs_check(&self) -> bool {
        self.is_edit() && !self.needs_no_check
    }

    /// Whether it ran to its end.
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.status, Status::Ok | Status::Error)
    }
}

/// A response.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Turn {
    pub number: i64,
    pub is_subagent: bool,
    /// A hash of its agent.
    pub agent: u64,
    /// Its time, in microseconds since 1970.
    pub time: Option<i64>,
    /// Its end, if the log shows it apart from `time`.
    pub ended_at: Option<i64>,
    pub duration_ms: Option<i64>,
    /// From the prompt or the last result to the end of the response.
    pub latency_ms: Option<i64>,
    pub context_tokens: Option<i64>,
    /// The part of the context that was read from a cache.
    pub cache_read_tokens: Option<i64>,
    pub output_tokens: Option<i64>,
    pub total_tokens: Option<i64>,
}

impl Turn {
    /// When it ended, in microseconds since 1970.
    pub(super) fn end(&self) -> Option<i64> {
        self.ended_at.or(self.time)
    }
}

/// A change of a file.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Change {
    /// Its time, in microseconds since 1970.
    pub time: Option<i64>,
    /// A hash of its path.
    pub path: u64,
    /// Whether the file was deleted.
    pub is_deletion: bool,
    pub lines_added: Option<i64>,
    pub lines_removed: Option<i64>,
}
