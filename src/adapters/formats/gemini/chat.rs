//! Gemini CLI's session files, `~/.gemini/tmp/HASH/chats/session-*`: one document, in newer versions JSON Lines with a
//! header and the same messages (docs/formats/gemini.md#gemini-chat). Qwen Code until 0.1 writes the same, with another type of
//! answers (docs/formats/gemini.md#qwen-chat-json).
//!
//! A message is written again under its id as it grows; the last version counts. Input includes cached tokens. It excludes
//! the tokens that tools add to the prompt, and output excludes thoughts, unless the total shows that output includes them.
//! `$set` may repeat or replace the history, and `$rewindTo` removes messages from it: their responses were billed and count.
//!
//! A subagent has a session of its own, `chats/PARENT/ID.jsonl`. A program writes its prompts, and the call of `complete_task` ends it.
//!
//! # `gemini-chat`
//!
//! `~/.gemini/tmp/HASH/chats/session-*`, a document or JSON Lines. Recognised by `sessionId` with `projectHash`, or with `messages`
//! and `startTime`; `type: gemini` with `id`, `timestamp`, `content`; `$set`, `$rewindTo`. Seen: 8 documents; JSON Lines from the
//! source.
//!
//! | what | from |
//! | --- | --- |
//! | session | `sessionId`, else the UUID in the file's name |
//! | cwd | `.project_root` in the directory around `chats`, since February 2026 |
//! | turn | `gemini` messages by `id`, the last version of each: `model`, `tokens` |
//! | tokens | input is `input` minus `cached` plus `tool`; output is `output` plus `thoughts`, unless `total` is `input` + `output`; cache read `cached`; reasoning `thoughts` |
//! | call | `toolCalls`: `status`, `result`, exit code from `Exit Code: N` after the output, an `error` unless it is 0, although the status is `success`; so is a command that a signal or a timeout ended. `displayName` contains the name of an MCP server |
//! | file change | `resultDisplay`: `isNewFile`, `fileDiff`, `diffStat` |
//! | subagent | `agentId` of a call. Its own session is `chats/PARENT/ID.jsonl`, with `kind: subagent` in the header: the directory, or `parentSessionId`, is the parent; its prompts are a program's |
//! | events | `error` messages, "Request cancelled" (abort), refusals |
//! | user turns | user messages without the result of a call, except those that Gemini CLI writes: "Please continue.", "System: Please continue.", "System: Potential loop detected.", the context of hooks, session, editor and directories, the end of plan mode, and commands that the user ran (`!ls`); with the result of a call those with a text "User steering update:". Messages of `$set`, and those that it lists as a history that was written again under new ids, are none |
//! | status | last message, except texts of Gemini CLI that the model reads with the next prompt: an answer without calls `success`, `error`, cancelled `aborted`, else `incomplete`. A subagent whose call of `complete_task` succeeded is a `success` |
//!
//! *Exact*: `total` = input + output + thoughts + tool. If the output includes thoughts (as with other providers in Qwen Code),
//! `total` shows it. Messages that a rewind or a compaction removes from the history were billed and count. Cache writes and cost
//! are not logged. With the text of an `AfterAgent` hook that refuses the end, Gemini CLI asks the model to go on: no member separates
//! it from a prompt, and it counts as one.
//!
//! # `qwen-chat-json`
//!
//! Qwen Code until 0.1, `~/.qwen/tmp/HASH/chats/session-*`: Gemini CLI's document. Recognised by answers of `type` `qwen`. Read as
//! `gemini-chat`.

use self::records::Record;
pub(crate) use self::records::{Display, REFUSALS, end_of_success, exit_code};
use self::session::Chat;
use crate::adapters::engine::document::LineNumbers;
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::shared::ids::hashed_id;
use crate::base::rows::Rows;
use crate::json::Raw;
use crate::json::fields::Maybe;
use crate::json::lines::Line;
use crate::model::places::Place;
use crate::model::session::{Capabilities, SessionResult};

mod prompts;
mod records;
mod rewritten;
mod session;

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "gemini-chat",
    runtime: "gemini",
    about: "Gemini CLI, session files under ~/.gemini/tmp",
    tested: None,
    capabilities: Capabilities::TURNS
        .and(Capabilities::TOOL_CALLS)
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::SUBAGENTS)
        .and(Capabilities::PERMISSION_DENIALS)
        .and(Capabilities::USER_TURNS)
        .and(Capabilities::KEPT_BY_RUNTIME),
    places: &[Place::variable("GEMINI_CLI_HOME", "", ".gemini/tmp")],
    claims,
    parse: fold::<Chats>,
};

/// Qwen Code, a fork of Gemini CLI. Until 0.1 its files differ only in the type of an answer.
pub(crate) const QWEN: Adapter = Adapter {
    id: "qwen-chat-json",
    runtime: "qwen",
    about: "Qwen Code until 0.1, session files under ~/.qwen/tmp",
    tested: None,
    capabilities: ADAPTER.capabilities,
    places: &[Place::home(".qwen/tmp")],
    claims: |probe| {
        let is_answered =
            ["\"type\":\"qwen\"", "\"type\": \"qwen\""].iter().any(|it| probe.raw("messages").contains(it));
        2 * claims(probe) * u32::from(is_answered)
    },
    parse: fold::<Chats>,
};

fn claims(probe: &Probe<'_>) -> u32 {
    const SET: [&str; 5] = ["lastUpdated", "messages", "sessionId", "summary", "directories"];
    if probe.has("sessionId") && !probe.has("type") {
        let is_header = probe.has("projectHash") || (probe.has("messages") && probe.has("startTime"));
        return 5 * u32::from(is_header);
    }
    let set = probe.object("$set");
    if SET.iter().any(|it| set.has(it)) || !probe.text("$rewindTo").is_empty() {
        return 3;
    }
    // Messages of other types are the same in many formats.
    let is_answer = probe.kind() == "gemini" && probe.has_all(&["id", "timestamp", "content"]);
    4 * u32::from(is_answer)
}

struct Chats {
    context: Context,
    sessions: Rows<Chat>,
    /// Index of the session of the last record.
    current: usize,
}

impl Fold for Chats {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), sessions: Rows::default(), current: 0 }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        let has_message = is_message(record.kind.as_str());
        let is_header = record.session_id.some().is_some()
            && (record.project_hash.is_some() || record.start_time.0.is_some() || record.messages.is_some());
        let is_change = record.set.get().is_some() || record.rewind_to.is_some();
        if !has_message && !is_header && !is_change {
            return RecordKind::Unknown;
        }
        let stated_id = record.session_id.some().filter(|_| is_header && !has_message);
        if stated_id.is_some() || self.sessions.is_empty() {
            self.current = self.session(stated_id, line);
        }
        let chat = &mut self.sessions[self.current];
        if is_header && !has_message {
            chat.set_kind(&record, &self.context);
        }
        chat.builder.extend_to(record.start_time.0);
        chat.builder.extend_to(record.last_updated.0);
        if has_message {
            chat.message(&record, Raw(line.bytes), line.number, false, damage);
        }
        let mut line_numbers = LineNumbers::new(line);
        for raw in record.messages.into_iter().flatten() {
            chat.message(&raw.read(), raw, line_numbers.line_of(raw), false, damage);
        }
        if let Maybe::Present(set) = record.set {
            chat.builder.extend_to(set.last_updated.0);
            if let Some(id) = set.session_id.owned().filter(|_| !chat.has_stated_id) {
                chat.builder.session.session_id = id;
            }
            if !set.messages.is_empty() {
                chat.set_history(&set.messages, line.number, damage);
            }
        }
        RecordKind::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.sessions.into_iter().map(Chat::finish).collect()
    }
}

impl Chats {
    /// The index of the session of that id; without one, of the id in the file's name.
    fn session(&mut self, stated_id: Option<&str>, line: Line<'_>) -> usize {
        let fallback = || self.context.file_id.clone().unwrap_or_else(|| hashed_id(line.bytes));
        let id = stated_id.map_or_else(fallback, str::to_owned);
        let known = self.sessions.iter().position(|chat| chat.stated_id == id || chat.builder.session.session_id == id);
        known.unwrap_or_else(|| {
            self.sessions.push(Chat::new(&self.context, id, stated_id.is_some(), line.number));
            self.sessions.len() - 1
        })
    }
}

fn is_message(kind: &str) -> bool {
    matches!(kind, "user" | "gemini" | "qwen" | "info" | "warning" | "error")
}

#[cfg(test)]
mod tests {
    use super::records::{end_of_success, exit_code};
    use super::*;
    use crate::adapters::engine::Hints;
    use crate::adapters::parse;
    use crate::adapters::shared::builder::Retention;
    use crate::model::errors::ErrorKind;
    use crate::model::session::{CallStatus, Status};

    fn read(lines: &[&str]) -> SessionResult {
        let header = r#"{"sessionId":"s","projectHash":"h","startTime":"2026-10-02T08:00:00Z"}"#;
        let log = [&[header], lines].concat().join("\n");
        parse(log.as_bytes(), Hints::default(), Retention::Text).sessions.swap_remove(0)
    }

    const PROMPT: &str =
        r#"{"id":"u","timestamp":"2026-10-02T08:00:01Z","type":"user","content":[{"text":"Fix "},{"text":"it."}]}"#;
    const ANSWER: &str = r#"{"id":"a","timestamp":"2026-10-02T08:00:02Z","type":"gemini","content":"Done.","model":"m","tokens":{"input":100,"output":9,"cached":40,"thoughts":3,"tool":7,"total":119}}"#;

    #[test]
    fn history_that_is_written_again_counts_once() {
        let set = format!(
            r#"{{"$set":{{"messages":[{{"id":"x","type":"user","content":"<summary>"}},{{"id":"y","type":"gemini","content":"Got it."}},{ANSWER}]}}}}"#
        );
        let session = read(&[PROMPT, ANSWER, r#"{"$rewindTo":"a"}"#, &set]);
        assert_eq!((session.turns.len(), session.prompts.len()), (1, 1));
        assert_eq!(session.turns[0].tokens.get().kinds(), [Some(67), Some(12), Some(40), None]);
        assert_eq!((session.prompt.as_deref(), session.status), (Some("Fix it."), Status::Success));
    }

    #[test]
    fn the_last_message_states_the_end() {
        let with_call = |status: &str| {
            let result = r#"[{"functionResponse":{"response":{"error":"[Operation Cancelled] Reason: User did not allow tool call"}}}]"#;
            let call = format!(
                r#"{{"id":"c","name":"run_shell_command","args":{{"command":"ls"}},"status":"{status}","result":{result}}}"#
            );
            ANSWER.replacen("\"Done.\"", &format!("\"\",\"toolCalls\":[{call}]"), 1)
        };
        let info = r#"{"id":"i","timestamp":"2026-10-02T08:00:03Z","type":"info","content":"Request cancelled."}"#;
        let error = r#"{"id":"e","timestamp":"2026-10-02T08:00:03Z","type":"error","content":"[API Error: 429 Too Many Requests]"}"#;
        let status = |lines: &[&str]| read(lines).status;
        assert_eq!(status(&[PROMPT, ANSWER]), Status::Success);
        assert_eq!(status(&[PROMPT]), Status::Incomplete);
        assert_eq!(status(&[PROMPT, ANSWER, info]), Status::Aborted);
        assert_eq!(
            (status(&[PROMPT, error]), read(&[PROMPT, error]).error_kind),
            (Status::Error, Some(ErrorKind::RateLimit))
        );
        assert_eq!(status(&[error, PROMPT, ANSWER]), Status::Success);
        let refused = read(&[PROMPT, &with_call("cancelled")]);
        assert_eq!((refused.status, refused.tool_calls[0].status), (Status::Incomplete, CallStatus::Denied));
        assert_eq!(read(&[&with_call("executing")]).tool_calls[0].status, CallStatus::Incomplete);
        let unasked = with_call("error").replace(
            "User did not allow tool call",
            "Tool execution for \\\"Shell\\\" requires user confirmation, which is not supported in non-interactive mode.",
        );
        assert_eq!(read(&[PROMPT, &unasked]).tool_calls[0].status, CallStatus::Denied);
    }

    #[test]
    fn a_file_without_its_header_gets_the_id_of_later_records() {
        let log = [PROMPT, ANSWER, r#"{"$set":{"sessionId":"later","lastUpdated":"2026-10-02T08:00:09Z"}}"#].join("\n");
        let hints = Hints { path: "/chats/0b7d3c58-7d2e-4c39-9f6a-1f2b3c4d5e6f.jsonl", ..Hints::default() };
        let id = |log: &str, hints| parse(log.as_bytes(), hints, Retention::None).sessions.swap_remove(0).session_id;
        assert_eq!(id(&log, hints), "later");
        assert_eq!(id(ANSWER, hints), "0b7d3c58-7d2e-4c39-9f6a-1f2b3c4d5e6f");
        assert!(id(ANSWER, Hints::default()).starts_with('~'));
    }

    /// A subagent has a session of its own with a parent. A program writes its prompts, and a call ends it.
    #[test]
    fn a_subagent_is_a_session_with_a_parent() {
        let read = |header: &str, path: &str, status: &str| {
            let call = format!(r#"{{"id":"c","name":"complete_task","args":{{}},"status":"{status}","result":[]}}"#);
            let answer = ANSWER.replacen("\"Done.\"", &format!("\"\",\"toolCalls\":[{call}]"), 1);
            let log = [header, PROMPT, &answer].join("\n");
            let hints = Hints { path, ..Hints::default() };
            parse(log.as_bytes(), hints, Retention::None).sessions.swap_remove(0)
        };
        let stated = r#"{"sessionId":"child","projectHash":"h","startTime":"2026-10-02T08:00:00Z","kind":"subagent"}"#;
        let path = "/tmp/h/chats/0b7d3c58-7d2e-4c39-9f6a-1f2b3c4d5e6f/child.jsonl";
        let session = read(stated, path, "success");
        assert_eq!(session.parent_session_id.as_deref(), Some("0b7d3c58-7d2e-4c39-9f6a-1f2b3c4d5e6f"));
        assert_eq!((session.session_id.as_str(), session.prompts.len(), session.status), ("child", 0, Status::Success));
        assert_eq!(read(stated, path, "error").status, Status::Incomplete);
        // The header has the parent's id, or no kind: the path shows both.
        let unnamed =
            stated.replace("child", "0b7d3c58-7d2e-4c39-9f6a-1f2b3c4d5e6f").replace(r#","kind":"subagent""#, "");
        let session = read(&unnamed, path, "success");
        assert_eq!((session.session_id.as_str(), session.parent_session_id.is_some()), ("child", true));
        let main = stated.replace("subagent", "main");
        let session = read(&main, "/tmp/h/chats/session-1.jsonl", "success");
        assert_eq!((session.parent_session_id, session.prompts.len(), session.status), (None, 1, Status::Incomplete));
    }

    #[test]
    fn a_command_that_was_stopped_failed() {
        for (output, expected) in [
            ("Output: x\nExit Code: 0\nSignal: (none)", CallStatus::Ok),
            ("Output: x\nExit Code: 0\nSignal: 0\nBackground PIDs: (none)", CallStatus::Ok),
            ("Output: Signal: x\nProcess Group PGID: 7", CallStatus::Ok),
            ("Output: (empty)\nSignal: SIGKILL", CallStatus::Error),
            ("Output: (empty)\nExit Code: (none)\nSignal: 15\nProcess Group PGID: 7", CallStatus::Error),
            (
                "Command was automatically cancelled because it exceeded the timeout of 5.0 minutes without output. There was no output \
                 before it was cancelled.",
                CallStatus::Error,
            ),
            ("Command timed out after 120000ms before it could complete.", CallStatus::Error),
            ("Command was cancelled by user before it could complete.", CallStatus::Cancelled),
        ] {
            assert_eq!(end_of_success("shell", output), expected, "{output}");
        }
    }

    #[test]
    fn exit_codes_are_in_the_output() {
        assert_eq!(exit_code("Command: x\nOutput: Exit Code: 3\nExit Code: 1\nSignal: (none)"), Some(1));
        assert_eq!(exit_code("Exit Code: (none)"), None);
        let later = "Signal: (none)\nBackground PIDs: (none)\nProcess Group PGID: 9\n";
        assert_eq!(exit_code(&format!("Output: x\nExit Code: 2\n{later}")), Some(2));
        // What a command printed.
        assert_eq!(exit_code(&format!("Output: job 7\nExit Code: 5\nbye\n{later}")), None);
    }

    /// A prompt that is cancelled makes Gemini CLI write its history again: each call then has the results of all calls of its answer, and
    /// outputs that were too long are cut.
    #[test]
    fn calls_keep_their_results_when_the_history_is_rewritten() {
        let calls_of = |second: &str| {
            let response = |id: &str, output: &str| {
                format!(
                    r#"{{"functionResponse":{{"id":"{id}","name":"run_shell_command","response":{{"output":"{output}"}}}}}}"#
                )
            };
            let (first, failed) = (response("c1", "Output: a"), response("c2", r"Output: failed\nExit Code: 2"));
            let answer = |first: &str, second: &str| {
                let call = |id: &str, result: &str| {
                    format!(
                        r#"{{"id":"{id}","name":"run_shell_command","args":{{"command":"make"}},"result":[{result}],"status":"success"}}"#
                    )
                };
                let calls = [call("c1", first), call("c2", second)].join(",");
                ANSWER.replacen("\"Done.\"", &format!("\"\",\"toolCalls\":[{calls}]"), 1)
            };
            let both = format!("{first},{second}", second = response("c2", second));
            let history = format!(r#"{{"$set":{{"messages":[{PROMPT},{}]}}}}"#, answer(&both, &both));
            let session = read(&[PROMPT, &answer(&first, &failed), &history]);
            let calls = session.tool_calls.iter();
            calls.map(|call| (call.status, call.exit_code.get(), call.result_bytes.get())).collect::<Vec<_>>()
        };
        let calls = calls_of(r"Output: failed\nExit Code: 2");
        let [(CallStatus::Ok, None, Some(_)), (CallStatus::Error, Some(2), Some(bytes))] = calls[..] else {
            panic!("{calls:?}")
        };
        let masked = r"<tool_output_masked>\nOutput: failed\nExit Code: 2\n\nOutput too large. Full output available at: /t\n</tool_output_masked>";
        for masked in [masked, r"<tool_output_masked>\n[Tool result masked]\n</tool_output_masked>"] {
            assert_eq!(calls_of(masked)[1], (CallStatus::Error, Some(2), Some(bytes + 2)), "{masked}");
        }
    }
}
