//! Code mode: a call of `exec` is a script that calls tools.
//!
//! The call is one row, with what its script runs: the log reports calls within a script by items and events with ids of their own,
//! which begin with `exec-`. They describe the call of the script, and are no rows (`docs/accounting.md`). An item or event of another
//! id that no call has is of the script of the task that runs and calls this tool: calls without a script are logged before their items.

use std::borrow::Cow;

use serde::Deserialize;

use super::script::Script;
use super::shell_output::{ShellHead, is_refusal, is_rejection};
use super::state::Called;
use super::thread::Thread;
use crate::adapters::shared::at::At;
use crate::adapters::shared::tools::{self, Subject};
use crate::base::split::lines;
use crate::json::Raw;
use crate::json::fields::Number;
use crate::model::session::{CallStatus, CommandKind};

/// The maximum number of scripts of a session whose results are awaited: later reports are of the last scripts.
const MAX_SCRIPTS: usize = 64;

/// The prefix of the ids of calls in a script.
const NESTED: &str = "exec-";

impl Called {
    /// Whether its text calls this tool, or one of the same kind. The names of MCP tools begin with those of their servers.
    fn may_call(&self, tool: &str) -> bool {
        let is_shell = tools::category(tool) == "shell";
        let is_it = |own: &String| {
            own == tool
                || is_shell && tools::category(own) == "shell"
                || own.strip_suffix(tool).is_some_and(|server| server.ends_with("__"))
        };
        self.tools.is_empty() || self.tools.iter().any(is_it)
    }
}

/// How a script ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScriptEnd {
    pub(super) status: CallStatus,
    pub(super) exit_code: Option<i64>,
}

/// A part of an output.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Part<'a> {
    pub(super) text: Raw<'a>,
}

/// The result of a command, which a script may print.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Printed {
    exit_code: Number,
}

impl Thread {
    /// Adds what the script of a call runs.
    pub(super) fn script(&mut self, call: usize, source: &str, at: At) {
        if self.script_of(call).is_some() {
            return;
        }
        let script = Script::read(source);
        let category = script.category();
        self.builder.session.tool_calls[call].category = category.into();
        if category == "mcp" {
            self.builder.mcp(call, script.server());
        }
        let commands: Vec<_> = script.commands().map(str::to_owned).collect();
        match category {
            "shell" if commands.is_empty() => {
                let continues = script.calls.iter().any(|it| tools::continues_command(&it.tool));
                let command_kind = continues.then_some(CommandKind::Run);
                self.builder.set_subject(call, Subject { command_kind, ..Subject::default() });
            }
            "shell" => self.builder.only_command(call, &commands.join("\n")),
            _ => {
                let target = script.path().map(Into::into);
                self.builder.set_subject(call, Subject { target, ..Subject::default() });
            }
        }
        for patch in &script.patches {
            self.builder.patch(call, patch, at);
        }
        let scripts = &mut self.state.scripts;
        if scripts.len() == MAX_SCRIPTS {
            scripts.remove(scripts.iter().position(|it| it.is_over).unwrap_or(0));
        }
        let tools = script.calls.into_iter().map(|it| it.tool).collect();
        scripts.push(Called {
            call,
            tools,
            commands,
            reported: String::new(),
            reports: 0,
            is_over: false,
            is_of_task: true,
        });
    }

    fn script_of(&mut self, call: usize) -> Option<&mut Called> {
        self.state.scripts.iter_mut().rfind(|it| it.call == call)
    }

    pub(super) fn script_is_over(&mut self, call: usize) {
        if let Some(script) = self.script_of(call) {
            script.is_over = true;
        }
    }

    pub(super) fn is_script(&self, call: usize) -> bool {
        self.state.scripts.iter().any(|it| it.call == call)
    }

    /// Whether a script made the call of this id, by its form.
    pub(super) fn is_of_script(&self, id: &str) -> bool {
        id.starts_with(NESTED) && !self.state.scripts.is_empty()
    }

    /// The call of the script that made the call `id`, which is that of no other call: the one that contains its command, else the
    /// first that runs, else the last one whose command was not reported, which may still run. An id of another form is only of a
    /// script that calls this tool, as far as its text shows it.
    pub(super) fn script_that_made(&self, id: &str, tool: Option<&str>, command: Option<&str>) -> Option<usize> {
        let scripts = &self.state.scripts;
        let contains = |it: &&Called| {
            it.reports < it.commands.len()
                && command.is_some_and(|command| it.commands.iter().any(|own| own == command))
        };
        if !id.starts_with(NESTED) {
            let may_call = |it: &&Called| tool.is_none_or(|tool| it.may_call(tool));
            let running =
                || scripts.iter().filter(|it| !it.is_over && it.is_of_task && !id.is_empty()).filter(may_call);
            return running().find(contains).or_else(|| running().next()).map(|it| it.call);
        }
        let script = scripts
            .iter()
            .filter(|it| !it.is_over)
            .find(contains)
            .or_else(|| scripts.iter().rev().filter(|it| it.is_over).find(contains))
            .or_else(|| scripts.iter().find(|it| !it.is_over))
            .or_else(|| scripts.last());
        script.map(|it| it.call)
    }

    /// A command of a script ended.
    pub(super) fn script_ran(&mut self, call: usize, command: Option<&str>, exit_code: Option<i64>) {
        /// More commands do not change what a script is for.
        const MOST_BYTES: usize = 1 << 14;
        let row = &mut self.builder.session.tool_calls[call];
        row.category = "shell".into();
        // The first failure is that of the script.
        if row.exit_code.get().is_none_or(|known| known == 0) {
            row.exit_code = exit_code.or(row.exit_code.get()).into();
        }
        let Some(script) = self.state.scripts.iter_mut().rfind(|it| it.call == call) else { return };
        script.reports += 1;
        if script.reported.len() >= MOST_BYTES {
            return;
        }
        if let Some(command) = command {
            script.reported.push_str(command);
            script.reported.push('\n');
        }
        // The text of a script may contain commands that did not run, but until all are reported it is more complete.
        if script.reports >= script.commands.len() && !script.reported.is_empty() {
            self.builder.only_command(call, &script.reported);
        }
    }

    /// How the script of a call ended, from its output and from the commands that were reported.
    pub(super) fn script_end(&mut self, call: usize, is_failed: bool, texts: &[Cow<'_, str>]) -> ScriptEnd {
        let is_reported = self.script_of(call).is_some_and(|script| {
            script.is_over = true;
            script.reports > 0
        });
        let row = &self.builder.session.tool_calls[call];
        let printed = || {
            let codes: Vec<_> = texts.iter().filter_map(|text| printed_exit_code(text)).collect();
            codes.iter().find(|code| **code != 0).or(codes.first()).copied()
        };
        let exit_code = if is_reported { row.exit_code.get() } else { printed() };
        let is_denied = texts.iter().any(|text| is_rejection(text) || is_failed && is_refusal(text));
        let status = match row.status {
            CallStatus::Incomplete if is_denied => CallStatus::Denied,
            CallStatus::Incomplete => CallStatus::from_error(is_failed || exit_code.is_some_and(|code| code != 0)),
            known => known,
        };
        ScriptEnd { status, exit_code }
    }
}

/// The exit code in a printed result: in the header of its output, or as a member.
fn printed_exit_code(text: &str) -> Option<i64> {
    const TRUNCATED: &str = "Warning: truncated output";
    /// The member is one of the first, before the output.
    const MEMBER: &str = "\"exit_code\":";
    let text = if text.starts_with(TRUNCATED) { text.split_once("\n\n")?.1 } else { text };
    if let Some(code) = ShellHead::of_lines(lines(text).map(str::as_bytes), false).0.exit_code() {
        return Some(code);
    }
    if text.starts_with('[') {
        let results: Vec<Printed> = Raw(text.as_bytes()).read();
        let codes: Vec<_> = results.iter().filter_map(|it| it.exit_code.whole()).collect();
        return codes.iter().find(|code| **code != 0).or(codes.first()).copied();
    }
    if !text.starts_with('{') || !text.contains(MEMBER) {
        return None;
    }
    let printed: Printed = Raw(text.as_bytes()).read();
    printed.exit_code.whole().or_else(|| {
        // The rest of it may be cut.
        let head = text.split("\"output\"").next()?;
        let after = head.split_once(MEMBER)?.1.trim_start();
        let end = after.find(|it: char| !it.is_ascii_digit() && it != '-').unwrap_or(after.len());
        after.get(..end)?.parse().ok()
    })
}

/// The texts of an output.
pub(super) fn texts<'a>(parts: &[Part<'a>]) -> Vec<Cow<'a, str>> {
    parts.iter().filter(|it| !it.text.is_empty()).map(|it| it.text.text()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_results_have_exit_codes() {
        for (text, code) in [
            (r#"{"chunk_id":"1","exit_code":3,"output":"x"}"#, Some(3)),
            (r#"{"chunk_id":"1","exit_code":3,"output":"x…12 tokens truncated"#, Some(3)),
            (r#"{"output":"\"exit_code\":7","exit_code":0}"#, Some(0)),
            (r#"{"output":"{\"exit_code\":7}"#, None),
            (r#"[{"exit_code":0},{"exit_code":2},{"exit_code":1}]"#, Some(2)),
            (
                "Warning: truncated output (original token count: 9)\nTotal output lines: 1\n\n{\"exit_code\":1,\"out",
                Some(1),
            ),
            ("Chunk ID: a\nWall time: 0.1 seconds\nProcess exited with code 4\nOutput:\nx", Some(4)),
            ("exit_code: 4", None),
            (r#"{"exit_code":null}"#, None),
            ("", None),
        ] {
            assert_eq!(printed_exit_code(text), code, "{text}");
        }
    }
}
