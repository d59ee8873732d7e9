//! The result of a call: its status, duration, exit code and changed files.

use serde::Deserialize;

use super::records::{Block, Usage};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::Builder;
use crate::adapters::shared::changed_lines::ChangedLines;
use crate::adapters::shared::denials;
use crate::adapters::shared::tools::{self, Arguments, ToolArguments};
use crate::json::Raw;
use crate::json::fields::{Count, Flag, LazyText, Maybe, Number, Text};
use crate::model::session::{CallStatus, Operation};

/// The structured result of a call (`tool_use_result`). Its members depend on the tool.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct ToolUseResult<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    duration_ms: Number,
    total_duration_ms: Number,
    /// Of a web search, in seconds.
    duration_seconds: Number,
    interrupted: Flag,
    return_code_interpretation: Text<'a>,
    file_path: Text<'a>,
    content: Raw<'a>,
    original_file: Raw<'a>,
    structured_patch: Option<Vec<Hunk<'a>>>,
    // of a call that runs a subagent
    pub(crate) agent_id: Text<'a>,
    pub(crate) usage: Maybe<Usage<'a>>,
    pub(crate) total_tool_use_count: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Hunk<'a> {
    lines: Vec<Text<'a>>,
}

/// How the result of a call begins that never ran: a parallel call failed, or the user interrupted the response.
const CANCELLATIONS: [&str; 4] = [
    "Sibling tool call errored",
    "Cancelled: parallel tool call",
    "[Request interrupted by user",
    "Interrupted by user",
];

/// How a call ended is in the first bytes of its result.
const HEAD: usize = 256;

/// Why calls of a record were not executed, as newer versions state it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum NotRun<'a> {
    /// The record does not state it: the texts of the results decide.
    #[default]
    Unstated,
    /// The kind for all results of the record (`toolDenialKind`).
    All(&'a str),
    /// The kinds by call (`tool_result_meta`).
    ByCall(&'a [ResultMeta<'a>]),
}

/// What a stream states about a result besides its content.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct ResultMeta<'a> {
    id: Text<'a>,
    non_execution_kind: Text<'a>,
}

impl<'a> NotRun<'a> {
    /// The kind of a call; empty if it is not stated.
    pub(super) fn of(self, call_id: &str) -> &'a str {
        match self {
            Self::Unstated => "",
            Self::All(kind) => kind,
            Self::ByCall(results) => {
                results.iter().find(|it| it.id.as_str() == call_id).map_or("", |it| it.non_execution_kind.as_str())
            }
        }
    }
}

/// The status that follows from a stated kind. `None` for a kind that is not known.
fn status_of(kind: &str) -> Option<CallStatus> {
    match kind {
        "user-rejected" | "permission-rule" => Some(CallStatus::Denied),
        // `automode-blocked`, `automode-unavailable`, `automode-parsing-error`: the classifier of auto mode allowed nothing.
        kind if kind.starts_with("automode-") => Some(CallStatus::Denied),
        "interrupted" | "cancelled" => Some(CallStatus::Cancelled),
        _ => None,
    }
}

/// The result of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallResult<'a, 'r> {
    /// The result for the model: a string or blocks.
    pub(crate) content: Raw<'a>,
    /// Whether the log marks it as a failure.
    pub(crate) is_error: bool,
    /// The structured result.
    pub(crate) rich: Option<&'r ToolUseResult<'a>>,
    /// Why the call was not executed; empty if the log does not state it.
    pub(crate) not_run: &'r str,
    /// The line of its record, and its time.
    pub(crate) at: At,
}

impl CallResult<'_, '_> {
    /// Adds the result to its call: status, duration, changed files. A refused call stays refused.
    pub(crate) fn apply(&self, builder: &mut Builder, call: usize) {
        let none = ToolUseResult::default();
        let rich = self.rich.unwrap_or(&none);
        let text = first_text(self.content);
        let head = text.head(HEAD);
        // With `returnCodeInterpretation` the exit status is not a failure: grep found nothing.
        let is_error =
            (self.is_error && rich.return_code_interpretation.some().is_none()) || rich.interrupted.is_true();
        let was_denied = builder.session.tool_calls[call].status == CallStatus::Denied;
        let status = if was_denied { CallStatus::Denied } else { self.status(is_error, &head) };
        // A subagent may have worked until the interruption.
        let is_agent = builder.session.tool_calls[call].category == "subagent";
        let status = if is_agent && status == CallStatus::Cancelled { CallStatus::Incomplete } else { status };
        builder.result(call, self.content, self.at.time, status);
        let row = &mut builder.session.tool_calls[call];
        let from_seconds = || Number(rich.duration_seconds.0.map(|seconds| seconds * 1000.0)).rounded();
        let logged = rich.duration_ms.rounded().or(rich.total_duration_ms.rounded()).or_else(from_seconds);
        row.duration_ms = logged.or(row.duration_ms.get()).into();
        if row.category == "shell" && is_error {
            row.exit_code =
                head.strip_prefix("Exit code ").and_then(|it| it.split_whitespace().next()?.parse().ok()).into();
        }
        if status == CallStatus::Denied {
            builder.deny(call, self.at, Some(text.as_str()));
        } else if status == CallStatus::Ok && matches!(row.category.as_ref(), "edit" | "write") {
            self.file_change(builder, call, rich, &text);
        }
    }

    /// The status of the call: as stated, else as its text begins.
    fn status(&self, is_error: bool, head: &str) -> CallStatus {
        let head = head.strip_prefix("<tool_use_error>").unwrap_or(head);
        if let Some(stated) = status_of(self.not_run) {
            stated
        } else if is_error && CANCELLATIONS.iter().any(|start| head.starts_with(start)) {
            CallStatus::Cancelled
        } else if is_error && denials::begins_with_one_of(head, denials::CLAUDE_CODE) {
            CallStatus::Denied
        } else {
            CallStatus::from_error(is_error)
        }
    }

    /// Adds the file change of an edit or a write.
    fn file_change(&self, builder: &mut Builder, call: usize, rich: &ToolUseResult<'_>, text: &LazyText<'_>) {
        let row = &builder.session.tool_calls[call];
        let (target, is_write) = (row.target.clone(), row.category == "write");
        let Some(path) = rich.file_path.owned().or(target) else { return };
        let hunks = rich.structured_patch.as_deref();
        let operation = match rich.kind.as_str() {
            "create" => Some(Operation::Create),
            "update" => Some(Operation::Update),
            // An edit of a missing file creates it.
            _ if hunks.is_some() && rich.original_file.0 == b"\"\"" => Some(Operation::Create),
            _ if hunks.is_some() || text.as_str().contains("has been updated") => Some(Operation::Update),
            _ if text.as_str().starts_with("File created") => Some(Operation::Create),
            _ => None,
        };
        let lines = match hunks {
            _ if rich.kind.as_str() == "create" => Some(ChangedLines::written(&rich.content.text())),
            Some(hunks) => Some(tools::diff_lines(hunks.iter().flat_map(|it| &it.lines).map(Text::as_str))),
            None => None,
        };
        let change = builder.change(call, &path, operation, lines, self.at);
        if is_write && lines.is_none() && operation != Some(Operation::Create) {
            // All lines of the content were written. The lines that it replaced are not known.
            builder.session.file_changes[change].lines_removed = None;
        }
    }
}

/// Lines added and removed, as the arguments of an edit or of a write show them.
pub(super) fn lines_of(arguments: &ToolArguments<'_>) -> Option<ChangedLines> {
    let written = || arguments.value.as_deref().and_then(Arguments::written_lines);
    tools::lines_in_arguments(arguments.raw).or_else(written)
}

/// The text of a result: a string, or its first text block.
fn first_text(content: Raw<'_>) -> LazyText<'_> {
    if content.is_list() {
        let blocks: Vec<Block<'_>> = content.read();
        return blocks.into_iter().map(|it| it.text).find(LazyText::is_some).unwrap_or_default();
    }
    LazyText::of(content)
}
