//! Tool calls and the files that they changed.

use serde::{Deserialize, Serialize};

use crate::base::compact_option::CompactOption;
use crate::base::text::{SharedStr, Symbol};
use crate::base::time::Time;
use crate::model::sign::Sign;

/// How a tool call ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// Without a result.
    #[default]
    Incomplete,
    /// It failed.
    Error,
    /// The user or a rule refused it.
    Denied,
    /// It succeeded.
    Ok,
    /// It never ran, because another call failed or the user interrupted the response. It is not an error.
    Cancelled,
}

impl CallStatus {
    /// The value in the tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Incomplete => "incomplete",
            Self::Error => "error",
            Self::Denied => "denied",
            Self::Ok => "ok",
            Self::Cancelled => "cancelled",
        }
    }

    /// `ok` or `error`.
    pub const fn from_error(is_error: bool) -> Self {
        if is_error { Self::Error } else { Self::Ok }
    }
}

/// The purpose of a shell command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandKind {
    /// Runs tests.
    Test,
    /// Compiles, or makes a package.
    Build,
    /// Checks code without running it: linters, type checkers, formatters that only check.
    Lint,
    /// Formats code.
    Format,
    /// Runs any other program, or continues one that runs.
    Run,
    /// Installs or updates programs or libraries.
    Install,
    /// Version control, and the command lines of its servers.
    Vcs,
    /// Finds files, or lines in them.
    Search,
    /// Prints files, or the state of the machine.
    Read,
    /// Changes files.
    Edit,
    /// Exchanges data with other machines.
    Network,
    /// None of these: `echo`, `sleep`, `kill`.
    Other,
}

impl CommandKind {
    /// The value in the tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Build => "build",
            Self::Lint => "lint",
            Self::Format => "format",
            Self::Run => "run",
            Self::Install => "install",
            Self::Vcs => "vcs",
            Self::Search => "search",
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Network => "network",
            Self::Other => "other",
        }
    }
}

/// One tool call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolCall {
    /// The line of its first record.
    pub line: i64,
    /// Index of its turn in [`SessionResult::turns`](crate::model::session::SessionResult::turns).
    pub turn: Option<usize>,
    /// The message that contains the call, if call ids are unique only within a message. Its turn may be in another file.
    pub message_id: Option<SharedStr>,
    /// The runtime's id of the call.
    pub call_id: SharedStr,
    /// Name or type of the agent that made the call.
    pub agent: Option<Symbol>,
    /// Whether that is not the main agent.
    pub is_subagent: bool,
    /// The runtime's name of the tool.
    pub tool: Symbol,
    /// The category of the tool, the same for all runtimes.
    pub category: Symbol,
    /// The MCP server that provides the tool.
    pub mcp_server: Option<Symbol>,
    /// Time of the call.
    pub occurred_at: Option<Time>,
    /// Time of its result.
    pub ended_at: Option<Time>,
    /// Duration as logged, in milliseconds.
    pub duration_ms: CompactOption,
    /// How it ended.
    pub status: CallStatus,
    /// Exit status of a shell command.
    pub exit_code: CompactOption,
    /// Length of its arguments in the log, in bytes.
    pub args_bytes: CompactOption,
    /// Length of its result in the log, in bytes.
    pub result_bytes: CompactOption,
    /// The file, command or query that it was about.
    pub target: Option<SharedStr>,
    /// Its arguments, if content is kept.
    pub args: Option<SharedStr>,
    /// Its result, if content is kept.
    pub result: Option<SharedStr>,
    /// XXH3-64 of its arguments as logged, byte for byte; the bits of an unsigned number.
    pub args_hash: CompactOption,
    /// The purpose of a call of the category `shell`.
    pub command_kind: Option<CommandKind>,
    /// Of a command that ran tests: whether its result states that some failed. `None` if it does not state it.
    pub result_failed_tests: Option<bool>,
    /// The skill that the call loads, whether or not it succeeded.
    pub skill: Option<Symbol>,
    /// A sign that the session's result should not be trusted; the one that proves most.
    pub sign: Option<Sign>,
    /// The beginnings of the hashes of commits that the call printed as made, or as the new place of a branch, separated by spaces.
    /// Empty for a call that made commits and printed none.
    pub commits: Option<SharedStr>,
}

/// The operation on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// The file is new.
    Create,
    /// The content changed.
    Update,
    /// The file was deleted.
    Delete,
    /// The file was renamed.
    Move,
}

impl Operation {
    /// The value in the tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Move => "move",
        }
    }

    /// The operation that a word of a log means.
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
    /// The line of its record.
    pub line: i64,
    /// Index of the call in [`SessionResult::tool_calls`](crate::model::session::SessionResult::tool_calls).
    pub call: Option<usize>,
    /// Time of the change.
    pub occurred_at: Option<Time>,
    /// Path of the file, as in the call.
    pub path: SharedStr,
    /// The operation, if the log distinguishes a new file from an existing one.
    pub operation: Option<Operation>,
    /// Lines added.
    pub lines_added: Option<i64>,
    /// Lines removed.
    pub lines_removed: Option<i64>,
    /// The smallest hashes of the added lines, as text: see `base::line_sketch`.
    pub line_sketch: Option<SharedStr>,
}
