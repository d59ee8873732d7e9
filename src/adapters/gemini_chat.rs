//! Gemini CLI's session files, `~/.gemini/tmp/HASH/chats/session-*`: one document, in newer versions JSON Lines with a
//! header and the same messages (docs/formats.md#gemini-chat). Qwen Code until 0.1 writes the same, with another type of
//! answers (docs/formats.md#qwen-chat-json).
//!
//! A message is written again under its id as it grows; the last version counts. Input includes cached tokens. It excludes
//! the tokens that tools add to the prompt, and output excludes thoughts, unless the total shows that output includes them.
//! `$set` may repeat or replace the history, and `$rewindTo` removes messages from it: their responses were billed and count.

use std::borrow::Cow;

use foldhash::{HashSet, HashSetExt as _};
use serde::Deserialize;

use super::document::Places;
use super::{Adapter, Context, Damage, Fold, Probe, Seen, fold, hashed_id};
use crate::adapters::common::builder::{Builder, Last, brief};
use crate::adapters::common::tools::{self, Arguments};
use crate::adapters::common::{subagents, usage};
use crate::base::rows::Rows;
use crate::json::Raw;
use crate::json::lines::Line;
use crate::json::wire::{Count, Flag, Maybe, Text, When};
use crate::model::errors::ErrorKind;
use crate::model::session::{CallStatus, EventKind, Identity, Operation, SessionResult, Shows, Tokens};

pub(super) const ADAPTER: Adapter = Adapter {
    id: "gemini-chat",
    runtime: "gemini",
    about: "Gemini CLI, session files under ~/.gemini/tmp",
    shows: Shows::TURNS
        .and(Shows::TOOL_CALLS)
        .and(Shows::FILE_CHANGES)
        .and(Shows::SUBAGENTS)
        .and(Shows::PERMISSION_DENIALS)
        .and(Shows::USER_TURNS)
        .and(Shows::KEPT_BY_RUNTIME),
    claims,
    parse: fold::<Chats>,
};

/// Qwen Code, a fork of Gemini CLI. Until 0.1 its files differ only in the type of an answer.
pub(super) const QWEN: Adapter = Adapter {
    id: "qwen-chat-json",
    runtime: "qwen",
    about: "Qwen Code until 0.1, session files under ~/.qwen/tmp",
    shows: ADAPTER.shows,
    claims: |probe| {
        let is_answered = ["\"type\":\"qwen\"", "\"type\": \"qwen\""].iter().any(|it| has(probe.raw("messages"), it));
        2 * claims(probe) * u32::from(is_answered)
    },
    parse: fold::<Chats>,
};

fn has(raw: Raw<'_>, word: &str) -> bool {
    memchr::memmem::find(raw.0, word.as_bytes()).is_some()
}

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

/// A document, a header, a message or a change of what was written before.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Record<'a> {
    #[serde(borrow)]
    session_id: Text<'a>,
    #[serde(borrow)]
    project_hash: Text<'a>,
    start_time: When,
    last_updated: When,
    /// Not parsed, as each one's line is needed.
    #[serde(borrow)]
    messages: Option<Vec<Raw<'a>>>,
    #[serde(borrow, rename = "$set")]
    set: Maybe<Set<'a>>,
    #[serde(borrow, rename = "$rewindTo")]
    rewind_to: Text<'a>,
    // a message
    #[serde(borrow)]
    id: Text<'a>,
    timestamp: When,
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    /// A string or parts.
    #[serde(borrow)]
    content: Raw<'a>,
    /// The prompt as it was typed, before the content of files was added.
    #[serde(borrow)]
    display_content: Raw<'a>,
    tokens: Maybe<Counts>,
    #[serde(borrow)]
    model: Text<'a>,
    #[serde(borrow)]
    tool_calls: Vec<ToolCall<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Set<'a> {
    #[serde(borrow)]
    session_id: Text<'a>,
    last_updated: When,
    #[serde(borrow)]
    messages: Vec<Raw<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Counts {
    input: Count,
    output: Count,
    cached: Count,
    thoughts: Count,
    tool: Count,
    total: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ToolCall<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    args: Raw<'a>,
    #[serde(borrow)]
    result: Raw<'a>,
    #[serde(borrow)]
    status: Text<'a>,
    timestamp: When,
    #[serde(borrow)]
    result_display: Display<'a>,
    /// The agent that the call ran.
    #[serde(borrow)]
    agent_id: Text<'a>,
}

/// What the user sees of an edit; for other calls it is a text.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Display<'a> {
    #[serde(borrow)]
    file_diff: Text<'a>,
    /// Whether Qwen Code replaced a long diff by a remark.
    file_diff_truncated: Flag,
    is_new_file: Flag,
    diff_stat: Maybe<DiffStat>,
}

impl Display<'_> {
    /// Whether the file is new: by the flag, else by the result that the model gets.
    pub(super) fn operation(&self, output: &str) -> Option<Operation> {
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
    pub(super) fn lines(&self) -> Option<(i64, i64)> {
        let diff = self.file_diff.some().filter(|_| !self.file_diff_truncated.is_true());
        let stat = || {
            let stat = self.diff_stat.get()?;
            let sum = |model: Count, user: Count| Some(model.get()? + user.get().unwrap_or(0));
            let added = sum(stat.model_added_lines, stat.user_added_lines);
            added.zip(sum(stat.model_removed_lines, stat.user_removed_lines))
        };
        diff.map(|it| tools::diff_lines(tools::lines(it))).or_else(stat)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DiffStat {
    model_added_lines: Count,
    model_removed_lines: Count,
    user_added_lines: Count,
    user_removed_lines: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Part<'a> {
    #[serde(borrow)]
    text: Text<'a>,
    #[serde(borrow)]
    function_response: Maybe<FunctionResponse<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FunctionResponse<'a> {
    #[serde(borrow)]
    response: Answer<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer<'a> {
    #[serde(borrow)]
    output: Text<'a>,
    #[serde(borrow)]
    error: Text<'a>,
}

impl Counts {
    fn tokens(&self, damage: &mut Damage) -> Tokens {
        damage.refuses(&[self.input, self.output, self.cached, self.thoughts, self.tool]);
        let (cached, thoughts) = (self.cached.get(), self.thoughts.get());
        // With other providers, Qwen Code logs their counts, whose output includes the thoughts.
        let sum = self.input.get().zip(self.output.get()).map(|(input, output)| input + output);
        let beside = thoughts.filter(|_| sum.is_none() || sum != self.total.get());
        Tokens {
            input: self.input.get().map(|it| (it - cached.unwrap_or(0)).max(0) + self.tool.get().unwrap_or(0)),
            output: self.output.get().map(|it| it + beside.unwrap_or(0)),
            cache_read: cached,
            reasoning: thoughts,
            ..Tokens::UNKNOWN
        }
    }
}

/// The text of a content; `None` if it contains the result of a call.
fn text_of(content: Raw<'_>) -> Option<Cow<'_, str>> {
    if content.0.first() == Some(&b'"') {
        return Some(content.text());
    }
    // A single part may be written without a list.
    let parts: Vec<Part<'_>> = if content.0.first() == Some(&b'{') { vec![content.read()] } else { content.read() };
    if parts.iter().any(|it| it.function_response.get().is_some()) {
        return None;
    }
    Some(Cow::Owned(parts.iter().map(|it| it.text.as_str()).collect()))
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
        Self { context: *context, sessions: Rows::default(), current: 0 }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut Damage) -> Seen {
        let is_message = is_message(record.kind.as_str());
        let is_header = record.session_id.some().is_some()
            && (record.project_hash.is_some() || record.start_time.0.is_some() || record.messages.is_some());
        let is_change = record.set.get().is_some() || record.rewind_to.is_some();
        if !is_message && !is_header && !is_change {
            return Seen::Unknown;
        }
        let stated_id = record.session_id.some().filter(|_| is_header && !is_message);
        if stated_id.is_some() || self.sessions.is_empty() {
            self.current = self.session(stated_id, line);
        }
        let chat = &mut self.sessions[self.current];
        chat.builder.saw(record.start_time.0);
        chat.builder.saw(record.last_updated.0);
        if is_message {
            chat.message(&record, line.number, false, damage);
        }
        let mut places = Places::new(line);
        for raw in record.messages.into_iter().flatten() {
            chat.message(&raw.read(), places.line_of(raw), false, damage);
        }
        if let Maybe::Present(set) = record.set {
            chat.builder.saw(set.last_updated.0);
            if let Some(id) = set.session_id.owned().filter(|_| !chat.has_stated_id) {
                chat.builder.session.session_id = id;
            }
            for raw in set.messages {
                chat.message(&raw.read(), line.number, true, damage);
            }
        }
        Seen::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.sessions.into_iter().map(Chat::finish).collect()
    }
}

impl Chats {
    /// The index of the session of that id; without one, of the id in the file's name.
    fn session(&mut self, stated_id: Option<&str>, line: Line<'_>) -> usize {
        let fallback = || self.context.file_id.map_or_else(|| hashed_id(line.bytes), |id| id.to_string());
        let id = stated_id.map_or_else(fallback, str::to_owned);
        let known = self.sessions.iter().position(|chat| chat.builder.session.session_id == id);
        known.unwrap_or_else(|| {
            self.sessions.push(Chat {
                builder: Builder::new(&self.context, id, line.number),
                has_stated_id: stated_id.is_some(),
                ids: HashSet::new(),
                last: Ending::Nothing,
            });
            self.sessions.len() - 1
        })
    }
}

fn is_message(kind: &str) -> bool {
    matches!(kind, "user" | "gemini" | "qwen" | "info" | "warning" | "error")
}

/// What a chat ends with so far.
#[derive(Debug, PartialEq)]
enum Ending {
    Nothing,
    Prompt,
    Answer { id: String, has_calls: bool },
    Error,
    Cancelled,
}

struct Chat {
    builder: Builder,
    has_stated_id: bool,
    /// Ids of the messages so far.
    ids: HashSet<String>,
    last: Ending,
}

impl Chat {
    fn message(&mut self, message: &Record<'_>, line: i64, is_history: bool, damage: &mut Damage) {
        let (id, time) = (message.id.as_str(), message.timestamp.0);
        self.builder.saw(time);
        let is_new = id.is_empty() || self.ids.insert(id.to_owned());
        match message.kind.as_str() {
            "gemini" | "qwen" => self.answer(message, line, is_new, damage),
            _ if !is_new => {}
            "user" => {
                self.last = Ending::Prompt;
                // The messages with which a compaction replaces the history were not typed.
                if !is_history && let Some(text) = text_of(message.content).filter(|it| !it.is_empty()) {
                    let identity = if id.is_empty() { Identity::Unique } else { Identity::Session(id.into()) };
                    let typed = text_of(message.display_content).filter(|it| !it.is_empty()).unwrap_or(text);
                    self.builder.prompt_as(identity, Some(&typed));
                }
            }
            "error" => {
                let text = text_of(message.content).unwrap_or_default();
                self.last = Ending::Error;
                self.builder.fail(None, &text);
                let event = self.builder.event(EventKind::Error, line, time);
                event.key = message.id.owned();
                event.message = Some(brief(&text));
            }
            "info" => {
                let text = text_of(message.content).unwrap_or_default();
                if matches!(text.trim_end_matches('.'), "Request cancelled" | "User cancelled the request") {
                    self.last = Ending::Cancelled;
                    self.builder.fail_as(ErrorKind::Cancelled, &text);
                    let event = self.builder.event(EventKind::Abort, line, time);
                    event.key = message.id.owned();
                    event.message = Some(brief(&text));
                }
            }
            _ => {}
        }
    }

    fn answer(&mut self, message: &Record<'_>, line: i64, is_new: bool, damage: &mut Damage) {
        let (id, time) = (message.id.as_str(), message.timestamp.0);
        let has_calls = !message.tool_calls.is_empty();
        if is_new || matches!(&self.last, Ending::Answer { id: last, .. } if last == id) {
            self.last = Ending::Answer { id: id.to_owned(), has_calls };
        }
        let tokens = usage::present(&message.tokens, damage).map(|counts| counts.tokens(damage));
        // Answers that the runtime itself adds, such as the answer to a summary, have no model.
        let turn = (tokens.is_some() || message.model.some().is_some()).then(|| {
            let identity = if id.is_empty() { Identity::Unique } else { Identity::Session(id.into()) };
            let index = self.builder.turn(identity, line);
            let turn = &mut self.builder.session.turns[index];
            turn.message_id = message.id.owned();
            turn.occurred_at = turn.occurred_at.or(time);
            turn.model = message.model.owned().or(turn.model.take());
            if let Some(tokens) = tokens.filter(|tokens| !tokens.is_all_zero()) {
                turn.tokens = tokens.into();
            }
            index
        });
        if let Some(text) = text_of(message.content) {
            self.builder.say(&text);
        }
        for call in &message.tool_calls {
            self.call(call, turn, line);
        }
    }

    fn call(&mut self, logged: &ToolCall<'_>, turn: Option<usize>, line: i64) {
        // The only time of a call is that of its record, which is written after the call.
        let time = logged.timestamp.0;
        let call = self.builder.call(logged.id.as_str(), logged.name.as_str(), line, time);
        self.builder.session.tool_calls[call].turn = turn.into();
        let arguments = self.builder.arguments(call, logged.args);
        let parts: Vec<Part<'_>> = logged.result.read();
        let response = parts.iter().find_map(|part| part.function_response.get()).map(|it| &it.response);
        let (output, error) = response.map_or(("", ""), |it| (it.output.as_str(), it.error.as_str()));
        let text = if error.is_empty() { output } else { error };
        let is_refused = REFUSALS.iter().any(|refusal| text.contains(refusal));
        let status = match logged.status.as_str() {
            "success" => CallStatus::Ok,
            "error" => CallStatus::Error,
            // Cancelled, or still running.
            _ => CallStatus::Incomplete,
        };
        self.builder.result(call, logged.result, None, status);
        if is_refused && matches!(logged.status.as_str(), "error" | "cancelled") {
            self.builder.deny(call, line, time, Some(text));
        }
        let row = &mut self.builder.session.tool_calls[call];
        match row.category.as_ref() {
            "shell" => row.exit_code = exit_code(output).into(),
            "edit" | "write" => self.change(call, logged, &arguments, output, line),
            _ => {}
        }
        if let Some(agent) = logged.agent_id.some() {
            self.builder.session.tool_calls[call].category = "subagent".into();
            if let Some(event) = subagents::add(&mut self.builder, agent, logged.id.some(), line, time) {
                event.turn = turn;
            }
        }
    }

    fn change(&mut self, call: usize, logged: &ToolCall<'_>, arguments: &Arguments<'_>, output: &str, line: i64) {
        let Some(file) = arguments.file() else { return };
        let operation = logged.result_display.operation(output);
        let written = || {
            let text = arguments.written().filter(|_| operation == Some(Operation::Create))?;
            Some((tools::line_count(text), 0))
        };
        let lines = logged.result_display.lines().or_else(written);
        self.builder.change(call, file, operation, lines, line, logged.timestamp.0);
    }

    /// The format has no end record: a chat is a success if its last answer has no calls.
    fn finish(mut self) -> SessionResult {
        self.builder.end(match self.last {
            Ending::Answer { has_calls: false, .. } => Last::Answer,
            Ending::Error => Last::Error,
            Ending::Cancelled => Last::Abort,
            Ending::Nothing | Ending::Prompt | Ending::Answer { .. } => Last::Work,
        });
        self.builder.finish()
    }
}

/// The texts of a refusal, by the user or by a rule. Other calls are cancelled because the user stopped the whole answer.
pub(super) const REFUSALS: [&str; 3] = ["User did not allow tool call", "User denied execution", "denied by policy"];

/// The exit code in the result that the model gets of a command.
pub(super) fn exit_code(output: &str) -> Option<i64> {
    output.lines().rev().find_map(|it| it.strip_prefix("Exit Code: "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::common::builder::Content;
    use crate::adapters::{Hints, parse};
    use crate::model::session::Status;

    fn read(lines: &[&str]) -> SessionResult {
        let header = r#"{"sessionId":"s","projectHash":"h","startTime":"2026-10-02T08:00:00Z"}"#;
        let log = [&[header], lines].concat().join("\n");
        parse(log.as_bytes(), Hints::default(), Content::Text).sessions.swap_remove(0)
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
    fn the_last_message_says_how_it_ended() {
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
    }

    #[test]
    fn a_file_without_its_header_gets_the_id_of_later_records() {
        let log = [PROMPT, ANSWER, r#"{"$set":{"sessionId":"later","lastUpdated":"2026-10-02T08:00:09Z"}}"#].join("\n");
        let hints = Hints { path: "/chats/0b7d3c58-7d2e-4c39-9f6a-1f2b3c4d5e6f.jsonl", ..Hints::default() };
        let id = |log: &str, hints| parse(log.as_bytes(), hints, Content::None).sessions.swap_remove(0).session_id;
        assert_eq!(id(&log, hints), "later");
        assert_eq!(id(ANSWER, hints), "0b7d3c58-7d2e-4c39-9f6a-1f2b3c4d5e6f");
        assert!(id(ANSWER, Hints::default()).starts_with('~'));
    }

    #[test]
    fn exit_codes_are_in_the_output() {
        assert_eq!(exit_code("Command: x\nOutput: Exit Code: 3\nExit Code: 1\nSignal: (none)"), Some(1));
        assert_eq!(exit_code("Exit Code: (none)"), None);
    }
}
