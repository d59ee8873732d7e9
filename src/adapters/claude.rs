//! What Claude Code's tools say of their work, wherever it is logged: in its streams, and in those of programs that run it.

use std::borrow::Cow;

use serde::Deserialize;

use crate::builder::Builder;
use crate::json::Raw;
use crate::session::{CallStatus, Operation};
use crate::time::Time;
use crate::tools;
use crate::wire::{Flag, Number, Text};

/// The structured result of a call (`tool_use_result`), whose form depends on the tool.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ToolUseResult<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    duration_ms: Number,
    total_duration_ms: Number,
    interrupted: Flag,
    #[serde(borrow)]
    return_code_interpretation: Text<'a>,
    #[serde(borrow)]
    file_path: Text<'a>,
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(borrow)]
    original_file: Raw<'a>,
    #[serde(borrow)]
    structured_patch: Option<Vec<Hunk<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Hunk<'a> {
    #[serde(borrow)]
    lines: Vec<Text<'a>>,
}

/// A block of a result.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Block<'a> {
    #[serde(borrow)]
    text: Text<'a>,
}

/// How a refused call's result begins.
const DENIALS: [&str; 4] = [
    "Claude requested permissions",
    "The user doesn't want to proceed",
    "This command requires approval",
    "Permission to use",
];

/// What of a call's result stands in the log.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallResult<'a> {
    /// What the model was told: a string or blocks.
    pub(super) content: Raw<'a>,
    /// Whether the log calls it a failure.
    pub(super) is_error: bool,
    /// The structured result.
    pub(super) rich: Raw<'a>,
    /// Where it stands.
    pub(super) line: i64,
    /// When it came.
    pub(super) time: Option<Time>,
}

impl CallResult<'_> {
    /// Takes in the result of a call: how it ended, how long it took, what it did to files. A refusal stands.
    pub(super) fn apply(&self, builder: &mut Builder, call: usize) {
        let rich: ToolUseResult<'_> = self.rich.read();
        let text = first_text(self.content);
        // `returnCodeInterpretation` says that an exit status was no failure: grep found nothing.
        let is_error =
            (self.is_error && rich.return_code_interpretation.some().is_none()) || rich.interrupted.is_true();
        let was_denied = builder.session.tool_calls[call].status == CallStatus::Denied;
        let status = if was_denied { CallStatus::Denied } else { CallStatus::from_error(is_error) };
        builder.result(call, self.content, self.time, status);
        let row = &mut builder.session.tool_calls[call];
        row.duration_ms = rich.duration_ms.rounded().or(rich.total_duration_ms.rounded()).or(row.duration_ms);
        if row.category == "shell" && is_error {
            row.exit_code = text.strip_prefix("Exit code ").and_then(|it| it.split_whitespace().next()?.parse().ok());
        }
        if DENIALS.iter().any(|it| text.starts_with(it)) {
            builder.deny(call, self.line, self.time, Some(&text));
        } else if row.status == CallStatus::Ok && matches!(row.category.as_ref(), "edit" | "write") {
            self.file_change(builder, call, &rich, &text);
        }
    }

    /// What the result of an edit or a write says of the file.
    fn file_change(&self, builder: &mut Builder, call: usize, rich: &ToolUseResult<'_>, text: &str) {
        let target = builder.session.tool_calls[call].target.clone();
        let Some(path) = rich.file_path.owned().or(target) else { return };
        let hunks = rich.structured_patch.as_deref();
        let operation = match rich.kind.as_str() {
            "create" => Some(Operation::Create),
            "update" => Some(Operation::Update),
            // An edit of a file that was not there creates it.
            _ if hunks.is_some() && rich.original_file.0 == b"\"\"" => Some(Operation::Create),
            _ if hunks.is_some() || text.contains("has been updated") => Some(Operation::Update),
            _ if text.starts_with("File created") => Some(Operation::Create),
            _ => None,
        };
        let lines = match hunks {
            _ if rich.kind.as_str() == "create" => Some((tools::line_count(&rich.content.text()), 0)),
            Some(hunks) => Some(tools::diff_lines(hunks.iter().flat_map(|it| &it.lines).map(Text::as_str))),
            None => None,
        };
        builder.change(call, &path, operation, lines, self.line, self.time);
    }
}

/// The text of a result: a string, or the first text among its blocks.
fn first_text(content: Raw<'_>) -> Cow<'_, str> {
    if content.0.first() == Some(&b'[') {
        let blocks: Vec<Block<'_>> = content.read();
        return blocks.into_iter().find_map(|it| it.text.into_inner()).unwrap_or_default();
    }
    content.text()
}

/// Whether a human typed a text. Slash commands, their output, notifications of tasks and interruptions are written as if
/// the user had typed them (accounting B11).
pub(super) fn is_human(text: &str) -> bool {
    const MACHINE: [&str; 7] = [
        "<command-name>",
        "<command-message>",
        "<local-command-",
        "<task-notification>",
        "<system-reminder>",
        "<bash-",
        "[Request interrupted",
    ];
    !MACHINE.iter().any(|it| text.trim_start().starts_with(it))
}
