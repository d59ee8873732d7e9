//! Tool calls of a thread, their results and the events that end them.

use std::borrow::Cow;

use super::code_mode::{Part, texts};
use super::completed::{EXEC_COMMAND, Reported, USER_SHELL, command_in};
use super::records::{Arguments, Assessment, Call, CallOutput, ExecEnd, McpEnd, Output, PatchEnd};
use super::shell_output::{
    PATCH, RISK, ShellEnd, ShellHead, cell, head_of_output, head_of_shell, is_abort, is_failure, is_refusal,
    text_of_client,
};
use super::thread::{APPLY_PATCH, Logged, Thread, WAIT, WRITE_STDIN};
use crate::adapters::formats::codex::common::Outcome;
use crate::adapters::shared::at::At;
use crate::base::split::lines;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Number, Text};
use crate::json::lines::Line;
use crate::model::session::CallStatus;

impl Thread {
    pub(super) fn call(&mut self, item: &Call<'_>, tool: &str, arguments: Raw<'_>, at: At) -> usize {
        let call = self.builder.call_of(None, item.call_id.as_str(), tool, arguments, at);
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
        let tool = &self.builder.session.tool_calls[call].tool;
        let (is_input, is_wait) = (tool == WRITE_STDIN, tool == WAIT);
        let has_patch = text.contains(PATCH);
        if !is_input && !is_wait && !has_patch {
            return;
        }
        let own: Arguments<'_> = Raw(text.as_bytes()).read();
        if is_input && !own.session_id.is_empty() {
            self.continues(call, own.session_id.text().into_owned());
        } else if is_wait && !own.cell_id.is_empty() {
            self.continues(call, cell(&own.cell_id.text()));
        }
        // A patch may be the input of a shell command.
        let words: Vec<Text<'_>> = own.command.read();
        let command = own.command.text();
        let texts = [own.cmd.some(), Some(command.as_ref())].into_iter().flatten();
        if let Some(patch) = words.iter().filter_map(Text::some).chain(texts).find(|it| it.contains(PATCH)) {
            self.builder.patch(call, patch, At { line: line.number, time });
        }
    }

    /// The call writes to a shell, or waits for a script. Its target is that of the call that started it.
    fn continues(&mut self, call: usize, shell: String) {
        let began = self.state.shells.get(&shell).copied();
        let target = began.and_then(|it| self.builder.session.tool_calls[it].target.clone());
        self.builder.session.tool_calls[call].target = target;
        self.state.inputs.insert(call, shell);
    }

    pub(super) fn output(&mut self, item: &CallOutput<'_>, line: Line<'_>, time: Option<Time>) {
        let Some(call) = self.builder.call_index(item.call_id.as_str()) else { return };
        let known = self.builder.session.tool_calls[call].status;
        let is_input = self.state.inputs.contains_key(&call);
        // A list contains images and other parts. A header is in its first text.
        let is_list = item.output.is_list();
        let parts: Vec<Part<'_>> = if is_list { item.output.read() } else { Vec::new() };
        let first = if is_list { parts.first().map_or(Raw::default(), |it| it.text) } else { item.output };
        // Of a command's output only the header that the client adds is used.
        let mut head = self.head_of_call(call, first);
        if known == CallStatus::Denied {
            if matches!(head.end, Some(ShellEnd::Scripted { .. })) {
                self.script_is_over(call);
            }
            head = ShellHead::default();
        }
        let has_end = self.output_has_end(call);
        // Without a header, the call of a list succeeded.
        let is_read = !is_list && known != CallStatus::Denied && head.end.is_none();
        let text = if is_read { head_of_output(first) } else { Cow::Borrowed("") };
        let own: Output = if text.starts_with('{') { Raw(text.as_bytes()).read() } else { Output::default() };
        if head.end.is_none() && has_end {
            head = ShellHead::of_lines(lines(&text).map(str::as_bytes), false).0;
        }
        let stated = || own.metadata.exit_code.whole().filter(|_| has_end).map(ShellEnd::Exited);
        let end = head.end.or_else(stated);
        // The call of the shell or script that ended, whichever call observed it.
        let began = match &end {
            Some(ShellEnd::Exited(_) | ShellEnd::Scripted { .. }) => {
                self.state.inputs.get(&call).and_then(|it| self.state.shells.remove(it))
            }
            _ => None,
        };
        let is_aborted = known != CallStatus::Denied && end.is_none() && is_abort(first);
        let script = match end {
            Some(ShellEnd::Scripted { is_failed }) => {
                let all = if is_list { texts(&parts) } else { vec![item.output.text()] };
                Some(self.script_end(began.unwrap_or(call), is_failed, &all))
            }
            _ => None,
        };
        let status = match &end {
            // The event of a command that the user stopped states that it failed.
            _ if is_aborted && known != CallStatus::Ok => CallStatus::Cancelled,
            // Known from an event.
            _ if known != CallStatus::Incomplete => known,
            // A call that wrote to a command, or waited for a script, has succeeded: the other call gets the end.
            Some(_) if is_input => CallStatus::Ok,
            Some(ShellEnd::Runs(_)) => CallStatus::Incomplete,
            Some(ShellEnd::Exited(code)) => CallStatus::from_error(*code != 0),
            Some(ShellEnd::Scripted { .. }) => script.map_or(CallStatus::Ok, |it| it.status),
            None if is_refusal(text_of_client(&text)) => CallStatus::Denied,
            None => CallStatus::from_error(own.success.0 == Some(false) || is_failure(&text)),
        };
        self.builder.result(call, item.output, time, status);
        let at = At { line: line.number, time };
        if status == CallStatus::Denied {
            let text = if script.is_some() { RISK } else { &text };
            self.builder.deny(call, at, Some(text));
        }
        let row = &mut self.builder.session.tool_calls[call];
        let logged = own.metadata.duration_seconds.0.or(head.wall_seconds).map(|seconds| seconds * 1000.0);
        // The wall time of a running command only covers the time until its first output.
        if is_input || !matches!(end, Some(ShellEnd::Runs(_))) {
            row.duration_ms = row.duration_ms.get().or(Number(logged).rounded()).into();
        }
        match end {
            Some(ShellEnd::Runs(shell)) => {
                if status == CallStatus::Incomplete {
                    row.ended_at = None;
                }
                self.state.shells.entry(shell).or_insert(call);
            }
            Some(ShellEnd::Exited(code)) if began.is_some() || !is_input => {
                self.command_ended(began, call, CallStatus::from_error(code != 0), Some(code), at);
            }
            Some(ShellEnd::Scripted { .. }) if began.is_some() || !is_input => {
                if let Some(script) = script {
                    self.command_ended(began, call, script.status, script.exit_code, at);
                }
            }
            _ => {}
        }
    }

    /// Whether the client puts before the output how the call ended. Another tool can return the same text as its own result.
    fn output_has_end(&self, call: usize) -> bool {
        let row = &self.builder.session.tool_calls[call];
        let is_run = row.category == "shell" || row.category == "edit" && row.tool == APPLY_PATCH;
        is_run || self.state.inputs.contains_key(&call) || self.is_script(call)
    }

    /// The header of an output. That of a tool that runs no command has only a time.
    fn head_of_call(&self, call: usize, output: Raw<'_>) -> ShellHead {
        if !self.output_has_end(call) {
            return ShellHead { end: None, ..head_of_shell(output, false) };
        }
        head_of_shell(output, self.state.inputs.contains_key(&call) || self.is_script(call))
    }

    /// The command or script of the call `began` ended, if another call observed it, else that of `call`. What an event stated of
    /// them remains.
    fn command_ended(&mut self, began: Option<usize>, call: usize, status: CallStatus, exit_code: Option<i64>, at: At) {
        let row = &mut self.builder.session.tool_calls[began.unwrap_or(call)];
        row.exit_code = row.exit_code.get().or(exit_code).into();
        let Some(began) = began else { return };
        row.ended_at = at.time;
        if row.status != CallStatus::Incomplete {
            return;
        }
        row.status = status;
        if status == CallStatus::Denied {
            self.builder.deny(began, at, Some(RISK));
        }
    }

    /// The guardian did not allow a call.
    pub(super) fn assessed(&mut self, assessment: &Assessment<'_>, line: Line<'_>, time: Option<Time>) {
        if assessment.status.as_str() != "denied" {
            return;
        }
        let id = assessment.target_item_id.as_str();
        if let Some(call) = self.builder.call_index(id).or_else(|| self.script_that_made(id, None, None)) {
            self.builder.deny(call, At { line: line.number, time }, Some(RISK));
        }
    }

    pub(super) fn exec_end(&mut self, event: &ExecEnd<'_>, line: Line<'_>, time: Option<Time>) {
        if event.source.as_str() == USER_SHELL {
            return;
        }
        let id = event.call_id.as_str();
        let Some(call) = self.builder.call_index(id) else {
            let command = command_in(event.command);
            if let Some(call) = self.script_that_made(id, Some(EXEC_COMMAND), command.as_deref()) {
                self.script_ran(call, command.as_deref(), event.exit_code.whole());
                let is_failed = event.exit_code.whole().is_some_and(|code| code != 0);
                let logged = Logged::at_once(line, time);
                self.ended(Reported::nested(call), Some(CallStatus::from_error(is_failed)), logged);
            }
            return;
        };
        let row = &mut self.builder.session.tool_calls[call];
        row.exit_code = event.exit_code.whole().or(row.exit_code.get()).into();
        row.duration_ms = event.duration.milliseconds().or(row.duration_ms.get()).into();
        if event.status.as_str() == "declined" {
            row.status = CallStatus::Denied;
        } else if let Some(code) = row.exit_code.get()
            && row.status != CallStatus::Cancelled
        {
            row.status = CallStatus::from_error(code != 0);
        }
    }

    pub(super) fn mcp_end(&mut self, event: &McpEnd<'_>, line: Line<'_>, time: Option<Time>) {
        let logged = Logged::at_once(line, time);
        let reported = self.reported(event.call_id.as_str(), event.invocation.tool.as_str(), None, logged);
        let outcome: Outcome<'_> = event.result.read();
        self.asked_server(reported, event.invocation.server.as_str());
        if !reported.is_nested {
            self.state.next.made(reported.call);
            let row = &mut self.builder.session.tool_calls[reported.call];
            row.duration_ms = event.duration.milliseconds().into();
            if row.args_bytes.get().is_none() {
                self.builder.arguments(reported.call, event.invocation.arguments);
            }
        }
        self.ended(reported, Some(CallStatus::from_error(outcome.is_error())), logged);
    }

    pub(super) fn patch_end(&mut self, event: &PatchEnd<'_>, line: Line<'_>, time: Option<Time>) {
        let logged = Logged::at_once(line, time);
        let reported = self.reported(event.call_id.as_str(), APPLY_PATCH, None, logged);
        if !reported.is_nested {
            self.state.next.made(reported.call);
        }
        let is_failed = event.success.0 == Some(false) && event.status.as_str() != "declined";
        let status = if is_failed { "failed" } else { event.status.as_str() };
        self.changed(reported, &event.changes, status, logged);
    }

    /// A search that an event or an item reports. A response item may report it as well, without its id.
    pub(super) fn searched(&mut self, id: &str, query: Raw<'_>, line: Line<'_>, time: Option<Time>) {
        if self.is_of_script(id) || !id.is_empty() && !self.state.searched.insert(id.to_owned()) {
            return;
        }
        self.state.searches += 1;
        if self.state.searches > 0 {
            self.search(id, query, line, time);
        }
    }

    /// A search by the provider, which has no result.
    pub(super) fn search(&mut self, id: &str, query: Raw<'_>, line: Line<'_>, time: Option<Time>) {
        let call = self.builder.call(id, "web_search", At { line: line.number, time });
        self.builder.arguments(call, query);
        self.builder.session.tool_calls[call].status = CallStatus::Ok;
        self.state.next.made(call);
    }
}

#[cfg(test)]
mod tests {
    use crate::adapters::engine::Hints;
    use crate::adapters::parse;
    use crate::adapters::shared::builder::Retention;
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
