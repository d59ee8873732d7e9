//! The rows of one session, as far as its class depends on them.

use crate::analysis::rows::Purpose;
use crate::base::text::SharedStr;

/// Where a row is in the logs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub path: SharedStr,
    pub line: Option<i64>,
}

/// A tool call.
#[derive(Debug, Clone, Default)]
pub(super) struct Call {
    /// Its time, in microseconds since 1970.
    pub time: Option<i64>,
    pub tool: SharedStr,
    pub purpose: Purpose,
    /// Whether it is a command of a shell.
    pub is_command: bool,
    /// Whether it ran a program that is neither a test nor a build nor a linter: often the agent's own check.
    pub is_run: bool,
    /// Whether it searches the web, plans or asks, and so neither reads nor changes the files of the task.
    pub is_remote: bool,
    pub ending: Ending,
    /// Whether it wrote a file that only reproduces the problem: no change of the task's files.
    pub is_scratch: bool,
    /// Whether it changed only what no test checks: documents.
    pub needs_no_check: bool,
    /// A hash of its agent, tool and arguments; `None` if the log does not show the arguments.
    pub identity: Option<u64>,
    pub place: Place,
}

/// How a call ended, as far as it matters here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Ending {
    #[default]
    Good,
    /// It failed, or it was a test that failed.
    Bad,
    /// It was not permitted.
    Denied,
    /// It never ran or has no result.
    Open,
}

impl Call {
    /// Whether it changed files of the task.
    pub(super) fn is_edit(&self) -> bool {
        self.purpose == Purpose::Edit && self.ending == Ending::Good && !self.is_scratch
    }

    /// Whether it can have changed something other than by an edit: a command that ran.
    pub(super) fn is_work(&self) -> bool {
        self.is_command && self.purpose == Purpose::Other && self.ending == Ending::Good
    }

    /// Whether it ran to its end.
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.ending, Ending::Good | Ending::Bad)
    }

    /// Whether it is a test, a build or a lint that ran to its end.
    pub(super) fn is_check(&self) -> bool {
        self.purpose.is_verifying() && self.has_ended()
    }
}

/// An error or an abort.
#[derive(Debug, Clone, Default)]
pub(super) struct Event {
    /// Its time, in microseconds since 1970.
    pub time: Option<i64>,
    pub is_abort: bool,
    pub code: Option<String>,
    pub message: String,
    pub place: Place,
}

/// A response of the main agent.
#[derive(Debug, Clone, Default)]
pub(super) struct Turn {
    pub number: i64,
    /// Its time, in microseconds since 1970.
    pub time: Option<i64>,
    /// Output without reasoning.
    pub visible_tokens: Option<i64>,
    pub place: Place,
}

/// A session that failed, with its rows.
#[derive(Debug, Clone, Default)]
pub(super) struct Session<'a> {
    pub status: Status,
    /// Whether its trial was judged and did not pass.
    pub is_judged_wrong: bool,
    pub error_kind: Option<&'a str>,
    pub error_message: Option<&'a str>,
    /// The exception that the result of the trial names.
    pub exception: Option<&'a str>,
    /// The exit status of the runtime's process.
    pub exit_code: Option<i64>,
    /// Whether its format shows tool calls.
    pub shows_calls: bool,
    /// By time.
    pub calls: &'a [Call],
    /// By time.
    pub events: &'a [Event],
    /// By number.
    pub turns: &'a [Turn],
    pub path: SharedStr,
}

/// How the log of a session ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Status {
    Success,
    Error,
    Aborted,
    Incomplete,
    #[default]
    Unknown,
}

impl Status {
    /// The status by its name in the tables.
    pub(super) fn of(name: Option<&str>) -> Self {
        match name {
            Some("success") => Self::Success,
            Some("error") => Self::Error,
            Some("aborted") => Self::Aborted,
            Some("incomplete") => Self::Incomplete,
            _ => Self::Unknown,
        }
    }
}
