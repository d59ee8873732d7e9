//! The records of Gemini CLI.

use std::borrow::Cow;

use serde::Deserialize;

use crate::adapters::formats::gemini::counts::Counts;
use crate::adapters::shared::changed_lines::ChangedLines;
use crate::adapters::shared::tools;
use crate::base::split;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Maybe, Text, When};
use crate::model::session::{CallStatus, Operation};

/// A document, a header, a message or a change of what was written before.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Record<'a> {
    pub(super) session_id: Text<'a>,
    pub(super) project_hash: Text<'a>,
    /// Of a header: `main` or `subagent`.
    #[serde(rename = "kind")]
    pub(super) session_kind: Text<'a>,
    pub(super) parent_session_id: Text<'a>,
    pub(super) start_time: When,
    pub(super) last_updated: When,
    /// Not parsed, as each one's line is needed.
    pub(super) messages: Option<Vec<Raw<'a>>>,
    #[serde(rename = "$set")]
    pub(super) set: Maybe<Set<'a>>,
    #[serde(rename = "$rewindTo")]
    pub(super) rewind_to: Text<'a>,
    // a message
    pub(super) id: Text<'a>,
    pub(super) timestamp: When,
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    /// A string or parts.
    pub(super) content: Raw<'a>,
    /// The prompt as it was typed, before the content of files was added.
    pub(super) display_content: Raw<'a>,
    pub(super) tokens: Maybe<Counts>,
    pub(super) model: Text<'a>,
    pub(super) tool_calls: Vec<ToolCall<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Set<'a> {
    pub(super) session_id: Text<'a>,
    pub(super) last_updated: When,
    pub(super) messages: Vec<Raw<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct ToolCall<'a> {
    pub(super) id: Text<'a>,
    pub(super) name: Text<'a>,
    /// With the name of the server, if the tool is one of an MCP server.
    pub(super) display_name: Text<'a>,
    pub(super) args: Raw<'a>,
    pub(super) result: Raw<'a>,
    pub(super) status: Text<'a>,
    pub(super) timestamp: When,
    pub(super) result_display: Display<'a>,
    /// The agent that the call ran.
    pub(super) agent_id: Text<'a>,
}

impl ToolCall<'_> {
    /// The MCP server of the tool: `DiscoveredMCPTool` in `tools/mcp-tool.ts`.
    pub(super) fn mcp_server(&self) -> Option<&str> {
        let (_, server) = self.display_name.as_str().strip_suffix(" MCP Server)")?.split_once(" (")?;
        Some(server)
    }
}

/// What the user sees of an edit; for other calls it is a text.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct Display<'a> {
    pub(super) file_diff: Text<'a>,
    /// Whether Qwen Code replaced a long diff by a remark.
    pub(super) file_diff_truncated: Flag,
    pub(super) is_new_file: Flag,
    pub(super) diff_stat: Maybe<DiffStat>,
}

impl Display<'_> {
    /// Whether the file is new: by the flag, else by the result that the model gets.
    pub(crate) fn operation(&self, output: &str) -> Option<Operation> {
        const CREATED: [&str; 2] = ["Successfully created", "Created new file"];
        const UPDATED: [&str; 2] = ["Successfully", "The file: "];
        match self.is_new_file.0 {
            Some(true) => Some(Operation::Create),
            Some(false) => Some(Operation::Update),
            None if CREATED.iter().any(|it| output.starts_with(it)) => Some(Operation::Create),
            None => UPDATED.iter().any(|it| output.starts_with(it)).then_some(Operation::Update),
        }
    }

    /// Lines added and removed.
    pub(crate) fn lines(&self) -> Option<ChangedLines> {
        let diff = self.file_diff.some().filter(|_| !self.file_diff_truncated.is_true());
        let stat = || {
            let stat = self.diff_stat.get()?;
            let sum = |model: Count, user: Count| Some(model.get()? + user.get().unwrap_or(0));
            let added = sum(stat.model_added_lines, stat.user_added_lines);
            added.zip(sum(stat.model_removed_lines, stat.user_removed_lines)).map(ChangedLines::counted)
        };
        diff.map(|it| tools::diff_lines(split::lines(it))).or_else(stat)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct DiffStat {
    pub(super) model_added_lines: Count,
    pub(super) model_removed_lines: Count,
    pub(super) user_added_lines: Count,
    pub(super) user_removed_lines: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Part<'a> {
    pub(super) text: Text<'a>,
    pub(super) function_response: Maybe<FunctionResponse<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct FunctionResponse<'a> {
    /// The call that it is of.
    pub(super) id: Text<'a>,
    pub(super) response: Answer<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Answer<'a> {
    pub(super) output: Text<'a>,
    pub(super) error: Text<'a>,
}

/// The text of a content; `None` if it contains the result of a call.
pub(super) fn text_of(content: Raw<'_>) -> Option<Cow<'_, str>> {
    if content.is_string() {
        return Some(content.text());
    }
    let parts = parts_of(content);
    if parts.iter().any(|it| it.function_response.get().is_some()) {
        return None;
    }
    Some(Cow::Owned(parts.iter().map(|it| it.text.as_str()).collect()))
}

pub(super) fn parts_of(content: Raw<'_>) -> Vec<Part<'_>> {
    // A single part may be written without a list.
    if content.is_object() { vec![content.read()] } else { content.read() }
}

/// The result of a call, and the response in it. After the history was rewritten, each call of an answer has the results of all of them.
pub(super) fn result_of<'a>(call: &ToolCall<'a>) -> (Raw<'a>, FunctionResponse<'a>) {
    let parts: Vec<Raw<'a>> = call.result.read();
    let response = |raw: Raw<'a>| match raw.read::<Part<'a>>().function_response {
        Maybe::Present(response) => Some((raw, response)),
        Maybe::Absent | Maybe::Wrong => None,
    };
    let mut responses: Vec<_> = parts.into_iter().filter_map(response).collect();
    let own = responses.iter().position(|(_, response)| response.id.as_str() == call.id.as_str());
    match own.filter(|_| responses.len() > 1) {
        Some(own) => responses.swap_remove(own),
        None => (call.result, responses.into_iter().next().map(|(_, response)| response).unwrap_or_default()),
    }
}

/// What is left of an output that Gemini CLI has removed from its history, where the removed one was too long for the model.
pub(super) fn unmasked(output: &str) -> Option<&str> {
    let text = output.strip_prefix("<tool_output_masked>\n")?;
    Some(text.rsplit_once("\n\nOutput too large. Full output available at: ").map_or(text, |(shown, _)| shown))
}

/// The texts of a refusal, by the user, a rule or a hook. Other calls are cancelled because the user stopped the whole answer.
pub(crate) const REFUSALS: [&str; 6] = [
    "User did not allow tool call",
    "User denied execution",
    "denied by policy",
    // Without a terminal, the user cannot be asked.
    "requires user confirmation, which is not supported in non-interactive mode",
    // A hook that runs before the tool.
    "Tool execution blocked: ",
    "Agent execution stopped by hook: ",
];

/// The exit code in the result that the model gets of a command: after the output, and before other facts of the process.
pub(crate) fn exit_code(output: &str) -> Option<i64> {
    let line = output.lines().rev().find(|line| !is_added(line))?;
    line.strip_prefix("Exit Code: ")?.trim().parse().ok()
}

/// Whether a line of the output of a command is one that the tool adds after the exit code.
fn is_added(line: &str) -> bool {
    const ADDED: [&str; 3] = ["Signal: ", "Background PIDs: ", "Process Group PGID: "];
    line.trim().is_empty() || ADDED.iter().any(|it| line.starts_with(it))
}

/// How a call ended that the program describes as a success: a command may have been stopped (`shell.ts` of Gemini CLI and Qwen Code).
pub(crate) fn end_of_success(category: &str, output: &str) -> CallStatus {
    const TIMEOUTS: [&str; 2] =
        ["Command was automatically cancelled because it exceeded the timeout", "Command timed out after "];
    let is_number = |text: &str| text != "0" && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_killed = |line: &str| {
        line.strip_prefix("Signal: ").map(str::trim).is_some_and(|it| is_number(it) || it.starts_with("SIG"))
    };
    if category != "shell" {
        CallStatus::Ok
    } else if TIMEOUTS.iter().any(|text| output.starts_with(text))
        || output.lines().rev().take_while(|line| is_added(line)).any(is_killed)
    {
        CallStatus::Error
    } else if output.starts_with("Command was cancelled by user before it could complete") {
        CallStatus::Cancelled
    } else {
        CallStatus::Ok
    }
}
