//! Tool calls of a thread, their results and the events that end them.

use std::borrow::Cow;

use super::records::{Arguments, Call, CallOutput, ExecEnd, McpEnd, Output, PatchEnd};
use super::shell_output::{PATCH, ShellEnd, ShellHead, head_of_output, head_of_shell, is_failure, is_refusal};
use super::thread::{Thread, WRITE_STDIN};
use crate::adapters::codex::Outcome;
use crate::adapters::common::tools;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Number, Text};
use crate::json::lines::Line;
use crate::model::session::{CallStatus, Operation};

impl Thread {
    pub(super) fn call(&mut self, item: &Call<'_>, tool: &str, line: Line<'_>, time: Option<Time>) -> usize {
        let call = self.builder.call(item.call_id.as_str(), tool, line.number, time);
        if let Some(server) = item.namespace.some().and_then(|it| it.strip_prefix("mcp__")) {
            self.builder.mcp(call, server.split("__").next().filter(|it| !it.is_empty()));
        }
        self.state.next.made(call);
        call
    }

    /// Arguments are JSON in a string.
    pub(super) fn arguments(&mut self, call: usize, raw: Raw<'_>, text: &str, line: Line<'_>, time: Option<Time>) {
        self.builder.arguments(call, Raw(text.as_bytes()));
        self.builder.arguments_as_logged(call, raw);
        let is_input = self.builder.session.tool_calls[call].tool == WRITE_STDIN;
        let has_patch = text.contains(PATCH);
        if !is_input && !has_patch {
            return;
        }
        let own: Arguments<'_> = Raw(text.as_bytes()).read();
        if is_input && !own.session_id.is_empty() {
            let shell = own.session_id.text().into_owned();
            let began = self.state.shells.get(&shell).copied();
            let target = began.and_then(|it| self.builder.session.tool_calls[it].target.clone());
            self.builder.session.tool_calls[call].target = target;
            self.state.inputs.insert(call, shell);
        }
        // A patch may be the input of a shell command.
        let words: Vec<Text<'_>> = own.command.read();
        let command = own.command.text();
        let texts = [own.cmd.some(), Some(command.as_ref())].into_iter().flatten();
        if let Some(patch) = words.iter().filter_map(Text::some).chain(texts).find(|it| it.contains(PATCH)) {
            self.builder.patch(call, patch, line.number, time);
        }
    }

    pub(super) fn output(&mut self, item: &CallOutput<'_>, line: Line<'_>, time: Option<Time>) {
        let Some(call) = self.builder.call_index(item.call_id.as_str()) else { return };
        let known = self.builder.session.tool_calls[call].status;
        // A list contains images and other parts. The call succeeded.
        let is_list = item.output.0.first() == Some(&b'[');
        // Of a command's output only the header that the client adds is used.
        let is_read = !is_list && known != CallStatus::Denied;
        let mut head = if is_read { head_of_shell(item.output) } else { ShellHead::default() };
        let text = if is_list || head.end.is_some() { Cow::Borrowed("") } else { head_of_output(item.output) };
        let own: Output = if text.starts_with('{') { Raw(text.as_bytes()).read() } else { Output::default() };
        if head.end.is_none() {
            head = ShellHead::of_lines(tools::lines(&text).map(str::as_bytes)).0;
        }
        let end = head.end.or_else(|| own.metadata.exit_code.whole().map(ShellEnd::Exited));
        let status = match &end {
            // Known from an event.
            _ if known != CallStatus::Incomplete => known,
            // The command is running: another call gets its end. A call that wrote to it has succeeded.
            Some(ShellEnd::Runs(_)) if self.state.inputs.contains_key(&call) => CallStatus::Ok,
            Some(ShellEnd::Runs(_)) => CallStatus::Incomplete,
            Some(ShellEnd::Exited(_)) if self.state.inputs.contains_key(&call) => CallStatus::Ok,
            Some(ShellEnd::Exited(code)) => CallStatus::from_error(*code != 0),
            None if is_refusal(&text) => CallStatus::Denied,
            None => CallStatus::from_error(own.success.0 == Some(false) || is_failure(&text)),
        };
        self.builder.result(call, item.output, time, status);
        if status == CallStatus::Denied {
            self.builder.deny(call, line.number, time, Some(&text));
        }
        let row = &mut self.builder.session.tool_calls[call];
        let logged = own.metadata.duration_seconds.0.or(head.wall_seconds).map(|seconds| seconds * 1000.0);
        // The wall time of a running command only covers the time until its first output.
        if !(status == CallStatus::Incomplete && matches!(end, Some(ShellEnd::Runs(_)))) {
            row.duration_ms = row.duration_ms.get().or(Number(logged).rounded()).into();
        }
        match end {
            Some(ShellEnd::Runs(shell)) => {
                if status == CallStatus::Incomplete {
                    row.ended_at = None;
                }
                self.state.shells.entry(shell).or_insert(call);
            }
            Some(ShellEnd::Exited(code)) => {
                // The command of the shell ended, whichever call observed it.
                let began = self.state.inputs.get(&call).and_then(|it| self.state.shells.remove(it));
                if began.is_some() || !self.state.inputs.contains_key(&call) {
                    let row = &mut self.builder.session.tool_calls[began.unwrap_or(call)];
                    row.exit_code = Some(code).into();
                    if began.is_some() {
                        row.status = CallStatus::from_error(code != 0);
                        row.ended_at = time;
                    }
                }
            }
            None => {}
        }
    }

    pub(super) fn exec_end(&mut self, event: &ExecEnd<'_>) {
        let Some(call) = self.builder.call_index(event.call_id.as_str()) else { return };
        let row = &mut self.builder.session.tool_calls[call];
        row.exit_code = event.exit_code.whole().or(row.exit_code.get()).into();
        row.duration_ms = event.duration.milliseconds().or(row.duration_ms.get()).into();
        if event.status.as_str() == "declined" {
            row.status = CallStatus::Denied;
        } else if let Some(code) = row.exit_code.get() {
            row.status = CallStatus::from_error(code != 0);
        }
    }

    pub(super) fn mcp_end(&mut self, event: &McpEnd<'_>, line: Line<'_>, time: Option<Time>) {
        let call = self.builder.call(event.call_id.as_str(), event.invocation.tool.as_str(), line.number, time);
        self.state.next.made(call);
        let outcome: Outcome<'_> = event.result.read();
        self.builder.mcp(call, event.invocation.server.some());
        let row = &mut self.builder.session.tool_calls[call];
        row.duration_ms = event.duration.milliseconds().into();
        row.status = CallStatus::from_error(outcome.is_error());
        if row.args_bytes.get().is_none() {
            self.builder.arguments(call, event.invocation.arguments);
        }
    }

    /// The event contains absolute paths, the patch those that the model wrote.
    pub(super) fn patch_end(&mut self, event: &PatchEnd<'_>, line: Line<'_>, time: Option<Time>) {
        let call = self.builder.call(event.call_id.as_str(), "apply_patch", line.number, time);
        self.state.next.made(call);
        self.builder.session.tool_calls[call].status = CallStatus::from_error(event.success.0 == Some(false));
        if !event.changes.0.is_empty() && !self.state.stated_changes.contains(&call) {
            self.state.stated_changes.push(call);
            self.builder.forget_changes(call);
        }
        for (path, edit) in &event.changes.0 {
            let operation = Operation::from_word(edit.kind.as_str());
            edit.change(&mut self.builder, call, path, operation, line.number, time);
        }
    }

    /// A search by the provider, which has no result.
    pub(super) fn search(&mut self, id: &str, query: Raw<'_>, line: Line<'_>, time: Option<Time>) {
        let call = self.builder.call(id, "web_search", line.number, time);
        self.builder.arguments(call, query);
        self.builder.session.tool_calls[call].status = CallStatus::Ok;
        self.state.next.made(call);
    }
}

#[cfg(test)]
mod tests {
    use crate::adapters::common::builder::Retention;
    use crate::adapters::{Hints, parse};
    use crate::model::session::SessionResult;

    fn read(records: &[(u32, &str, &str)]) -> SessionResult {
        let line = |(second, kind, payload): &(u32, &str, &str)| {
            format!(r#"{{"timestamp":"2026-01-02T03:04:{second:02}Z","type":"{kind}","payload":{payload}}}"#)
        };
        let log: Vec<_> = records.iter().map(line).collect();
        parse(log.join("\n").as_bytes(), Hints::default(), Retention::None).sessions.swap_remove(0)
    }

    /// A command ends in its first output, or in that of a later call, which has a wall time of its own.
    #[test]
    fn wall_times_are_durations() {
        let session = read(&[
            (0, "session_meta", r#"{"id":"t"}"#),
            (
                1,
                "response_item",
                r#"{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"make\"}","call_id":"a"}"#,
            ),
            (
                9,
                "response_item",
                r#"{"type":"function_call_output","call_id":"a","output":"Chunk ID: 1\nWall time: 1.5004 seconds\nProcess exited with code 0\nOutput:\n"}"#,
            ),
            (
                10,
                "response_item",
                r#"{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"sleep 20\"}","call_id":"b"}"#,
            ),
            (
                20,
                "response_item",
                r#"{"type":"function_call_output","call_id":"b","output":"Chunk ID: 2\nWall time: 10.0 seconds\nProcess running with session ID 7\nOutput:\n"}"#,
            ),
            (
                22,
                "response_item",
                r#"{"type":"function_call","name":"write_stdin","arguments":"{\"session_id\":7}","call_id":"c"}"#,
            ),
            (
                30,
                "response_item",
                r#"{"type":"function_call_output","call_id":"c","output":"Chunk ID: 3\nWall time: 8.0 seconds\nProcess exited with code 0\nOutput:\n"}"#,
            ),
            (
                31,
                "response_item",
                r#"{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"sleep 99\"}","call_id":"d"}"#,
            ),
            (
                41,
                "response_item",
                r#"{"type":"function_call_output","call_id":"d","output":"Chunk ID: 4\nWall time: 10.0 seconds\nProcess running with session ID 8\nOutput:\n"}"#,
            ),
        ]);
        let durations: Vec<_> = session
            .tool_calls
            .iter()
            .map(|call| {
                let between = || Some(call.ended_at?.since(call.occurred_at?));
                call.duration_ms.get().or_else(between)
            })
            .collect();
        assert_eq!(durations, [Some(1500), Some(20_000), Some(8000), None]);
    }

    #[test]
    fn lines_of_a_deleted_file_are_removed() {
        let session = read(&[
            (0, "session_meta", r#"{"id":"t"}"#),
            (
                1,
                "event_msg",
                r#"{"type":"patch_apply_end","call_id":"a","success":true,"changes":{"/a":{"type":"delete","content":"x\ny\n"}}}"#,
            ),
        ]);
        let change = &session.file_changes[0];
        assert_eq!((change.lines_added, change.lines_removed), (Some(0), Some(2)));
    }
}
