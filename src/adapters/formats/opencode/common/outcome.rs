//! How a call of a tool ended, as its state and the texts that `OpenCode` itself writes show it.

use std::borrow::Cow;

use super::records::{Error, Part};
use crate::adapters::shared::blocks::text_of;
use crate::json::Raw;
use crate::model::session::{CallStatus, Operation};

/// The tool that versions before 2.0 run in place of one whose arguments are invalid (`tool/invalid.ts`). It always completes.
pub(super) const INVALID: &str = "invalid";

impl Part<'_> {
    /// How the call ended. `category`: that of its tool.
    pub(super) fn status(&self, category: &str) -> CallStatus {
        let state = &self.state;
        let exit_code = state.metadata.exit.whole();
        match state.status.as_str() {
            // A command that failed is `completed`, too: the tool did its work.
            _ if exit_code.is_some_and(|code| code != 0) => CallStatus::Error,
            "completed" if self.tool.as_str() == INVALID || state.metadata.timeout.is_true() => CallStatus::Error,
            "completed" if category == "shell" && exit_code.is_none() => end_of_command(state.output),
            "completed" => CallStatus::Ok,
            "error" if !was_open(state.error) => CallStatus::Error,
            // A subagent may have worked until the interruption.
            "error" if category != "subagent" => CallStatus::Cancelled,
            _ => CallStatus::Incomplete,
        }
    }
}

/// How a command without an exit code ended: the tool adds to its output that it stopped it, as its time was over or the user wanted it
/// (`tool/shell.ts`, before `tool/bash.ts`).
fn end_of_command(output: Raw<'_>) -> CallStatus {
    let text = text_of(output);
    let text = text.trim_end();
    let ends = ["</shell_metadata>", "</bash_metadata>"];
    let Some(added) = ends.iter().find_map(|end| text.strip_suffix(end)) else { return CallStatus::Ok };
    let added = added.rsplit_once("_metadata>").map_or("", |(_, added)| added);
    let is_stopped = added.contains(" tool terminated command after exceeding timeout ")
        || added.contains("User aborted the command");
    if is_stopped { CallStatus::Cancelled } else { CallStatus::Ok }
}

/// The type of an error, which is empty before 2.0 and in recordings, and its text.
fn stated(error: Raw<'_>) -> (Cow<'_, str>, Cow<'_, str>) {
    let stated: Error<'_> = error.read();
    match stated.kind.0 {
        Some(kind) if !kind.is_empty() => (kind, stated.message.0.unwrap_or_default()),
        _ => (Cow::default(), error.text()),
    }
}

/// Whether the call had no result when the response was interrupted, or when the process was lost: `session/processor.ts` before 2.0;
/// `attempt` in `session/runner/step.ts` and `settleStaleToolCalls`, which adds the name of the tool. The first start of 2.0 gives another
/// type to the errors of older calls.
fn was_open(error: Raw<'_>) -> bool {
    let (_, text) = stated(error);
    text == "Tool execution aborted" || text.starts_with("Tool execution interrupted")
}

/// The text of the error of a call that the user or a rule refused. Since 2.0 an error states its type, but not in recordings; its text may
/// be what the user wrote instead. The type of a call that the user declined is `aborted`, as that of an interrupted one, and a question
/// that is dismissed is declined as well (`isDecline` in `session/runner/step.ts`).
pub(super) fn refusal(error: Raw<'_>) -> Option<Cow<'_, str>> {
    let is_known = |text: &str| {
        text.contains("user rejected permission")
            || text.contains("prevents you from using this specific tool call")
            || text.contains("The user dismissed this question")
            || text.starts_with("The user declined this tool call")
            || text.starts_with("This non-interactive run cannot ask the user for permission")
    };
    let (kind, text) = stated(error);
    let is_refusal = match kind.as_ref() {
        "permission.rejected" => true,
        "" => is_known(&text) || text.starts_with("Permission denied: "),
        // The first start of 2.0 gives another type to the errors of older calls.
        _ => is_known(&text),
    };
    is_refusal.then_some(text)
}

/// What a write did, as its result states it since 2.0 (`tool/plugin/write.ts`). Before, the result was the same for new files.
pub(super) fn written(output: Raw<'_>) -> Option<Operation> {
    let text = text_of(output);
    if text.starts_with("Created file successfully: ") {
        Some(Operation::Create)
    } else if text.starts_with("Wrote file successfully: ") {
        Some(Operation::Update)
    } else {
        None
    }
}
