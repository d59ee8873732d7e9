//! One session of Gemini CLI while its messages are read.

use foldhash::{HashSet, HashSetExt as _};

use super::prompts::{Author, prompt_of, without_context_of_hooks};
use super::records::{
    FunctionResponse, REFUSALS, Record, ToolCall, end_of_success, exit_code, result_of, text_of, unmasked,
};
use super::rewritten::Written;
use crate::adapters::engine::{Context, RecordErrors};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, Last, brief};
use crate::adapters::shared::changed_lines::ChangedLines;
use crate::adapters::shared::changes;
use crate::adapters::shared::tools::Arguments;
use crate::adapters::shared::{subagents, usage};
use crate::json::Raw;
use crate::model::errors::ErrorKind;
use crate::model::session::{CallStatus, EventKind, Identity, Operation, SessionResult};

/// The tool with which a subagent hands over its result.
const COMPLETE: &str = "complete_task";

/// What a chat ends with so far.
#[derive(Debug, PartialEq)]
enum Ending {
    Nothing,
    Prompt,
    Answer { id: String, has_calls: bool },
    Error,
    Cancelled,
}

/// A session while its messages are read.
pub(super) struct Chat {
    /// The id that the log states: a subagent's session has the id of its file.
    pub(super) stated_id: String,
    pub(super) builder: Builder,
    pub(super) has_stated_id: bool,
    /// Ids of the messages so far.
    ids: HashSet<String>,
    written: Written,
    last: Ending,
    is_subagent: bool,
    /// Whether it is a subagent that has handed over its result.
    is_complete: bool,
}

impl Chat {
    pub(super) fn new(context: &Context, id: String, has_stated_id: bool, line: i64) -> Self {
        Self {
            stated_id: id.clone(),
            builder: Builder::new(context, id, line),
            has_stated_id,
            ids: HashSet::new(),
            written: Written::default(),
            last: Ending::Nothing,
            is_subagent: false,
            is_complete: false,
        }
    }

    /// Reads from a header, else from the path, whether it is the session of a subagent: `chats/PARENT/ID.jsonl`.
    pub(super) fn set_kind(&mut self, header: &Record<'_>, context: &Context) {
        let directory = match context.directories.as_slice() {
            [parent, chats, ..] if chats == "chats" => Some(parent.clone()),
            _ => None,
        };
        self.is_subagent = match header.session_kind.as_str() {
            "" => directory.is_some(),
            kind => kind == "subagent",
        };
        if !self.is_subagent {
            return;
        }
        let parent = header.parent_session_id.owned().or(directory);
        let session = &mut self.builder.session;
        // Each subagent has a file, named after it.
        if parent.as_ref() == Some(&session.session_id)
            && let Some(name) = &context.file_name
        {
            session.session_id.clone_from(name);
        }
        session.parent_session_id = parent.filter(|parent| *parent != session.session_id);
    }

    /// Adds a message, which is or is in `raw`. `is_history`: whether it repeats or replaces the history.
    pub(super) fn message(
        &mut self,
        message: &Record<'_>,
        raw: Raw<'_>,
        line: i64,
        is_history: bool,
        damage: &mut RecordErrors,
    ) {
        let (id, time) = (message.id.as_str(), message.timestamp.0);
        self.builder.extend_to(time);
        let is_new = id.is_empty() || self.ids.insert(id.to_owned());
        let at = At { line, time };
        match message.kind.as_str() {
            "gemini" | "qwen" => {
                if !is_history {
                    self.written.answer(message);
                }
                self.answer(message, line, is_new, damage);
            }
            _ if !is_new => {}
            "user" => self.user(message, is_history),
            "error" => {
                let text = text_of(message.content).unwrap_or_default();
                self.last = Ending::Error;
                self.builder.fail(None, &text);
                let event = self.builder.event(EventKind::Error, at);
                event.key = message.id.owned();
                event.message = Some(brief(&text));
            }
            "info" => {
                let text = text_of(message.content).unwrap_or_default();
                if matches!(text.trim_end_matches('.'), "Request cancelled" | "User cancelled the request") {
                    self.last = Ending::Cancelled;
                    self.builder.fail_as(ErrorKind::Cancelled, &text);
                    let event = self.builder.event(EventKind::Abort, at);
                    event.key = message.id.owned();
                    event.message = Some(brief(&text));
                }
            }
            "warning" => {}
            kind => damage.unread_role(kind, raw),
        }
    }

    fn user(&mut self, message: &Record<'_>, is_history: bool) {
        let prompt = prompt_of(message.content);
        let author = prompt.as_ref().map(|(_, author)| *author);
        if author != Some(Author::Context) {
            self.last = Ending::Prompt;
        }
        // The messages with which a compaction replaces the history were not typed.
        if is_history {
            return;
        }
        let id = message.id.as_str();
        let mut identity = None;
        match prompt {
            Some((text, Author::Human)) if !self.is_subagent => {
                let unique = if id.is_empty() { Identity::Unique } else { Identity::Session(id.into()) };
                let displayed = text_of(message.display_content).filter(|it| !it.is_empty());
                let typed = displayed.as_deref().map_or(text.as_ref(), without_context_of_hooks);
                self.builder.prompt_as(unique.clone(), Some(typed));
                identity = Some(unique);
            }
            Some((_, Author::Program)) if !self.is_subagent => self.builder.prompted_by_program(),
            _ => {}
        }
        self.written.user(message, identity);
    }

    /// Reads which messages the history consists of now. Copies of earlier messages in it are not prompts.
    pub(super) fn set_history(&mut self, messages: &[Raw<'_>], line: i64, damage: &mut RecordErrors) {
        for copy in self.written.take_copies(messages) {
            let session = &mut self.builder.session;
            session.prompts.remove(&copy);
            if session.prompts.is_empty() {
                session.prompt = None;
            }
        }
        for raw in messages {
            self.message(&raw.read(), *raw, line, true, damage);
        }
    }

    fn answer(&mut self, message: &Record<'_>, line: i64, is_new: bool, damage: &mut RecordErrors) {
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
            self.builder.set_answer(&text);
        }
        for call in &message.tool_calls {
            self.is_complete |= self.is_subagent && call.name.as_str() == COMPLETE && call.status.as_str() == "success";
            self.call(call, turn, line);
        }
    }

    fn call(&mut self, logged: &ToolCall<'_>, turn: Option<usize>, line: i64) {
        // The only time of a call is that of its record, which is written after the call.
        let time = logged.timestamp.0;
        let at = At { line, time };
        let call = self.builder.call_of(turn, logged.id.as_str(), logged.name.as_str(), logged.args, at);
        if let Some(server) = logged.mcp_server() {
            self.builder.mcp(call, Some(server));
        }
        let arguments = self.builder.arguments(call, logged.args);
        let (result, FunctionResponse { response, .. }) = result_of(logged);
        let (output, error) = (response.output.as_str(), response.error.as_str());
        let shown = unmasked(output);
        if shown.is_some() && self.builder.session.tool_calls[call].result_bytes.get().is_some() {
            return;
        }
        let output = shown.unwrap_or(output);
        let text = if error.is_empty() { output } else { error };
        let is_refused = REFUSALS.iter().any(|refusal| text.contains(refusal));
        let status = match logged.status.as_str() {
            "success" => end_of_success(&self.builder.session.tool_calls[call].category, output),
            "error" => CallStatus::Error,
            "cancelled" => CallStatus::Cancelled,
            // Still running.
            _ => CallStatus::Incomplete,
        };
        self.builder.result(call, result, None, status);
        if is_refused && matches!(logged.status.as_str(), "error" | "cancelled") {
            self.builder.deny(call, at, Some(text));
        }
        let row = &mut self.builder.session.tool_calls[call];
        match row.category.as_ref() {
            "shell" => row.exit_code = exit_code(output).into(),
            "edit" | "write" => self.change(call, logged, &arguments, output, line),
            _ => {}
        }
        if let Some(agent) = logged.agent_id.some() {
            self.builder.session.tool_calls[call].category = "subagent".into();
            if let Some(event) = subagents::add(&mut self.builder, agent, logged.id.some(), at) {
                event.turn = turn;
            }
        }
    }

    fn change(&mut self, call: usize, logged: &ToolCall<'_>, arguments: &Arguments<'_>, output: &str, line: i64) {
        let Some(file) = arguments.file() else { return };
        let operation = logged.result_display.operation(output);
        let written = || {
            let text = arguments.written().filter(|_| operation == Some(Operation::Create))?;
            Some(ChangedLines::written(text))
        };
        let lines = logged.result_display.lines().or_else(written);
        let lines = lines.map(|it| it.or_sketch(|| changes::sketch_in_arguments(arguments, logged.args)));
        self.builder.change(call, file, operation, lines, At { line, time: logged.timestamp.0 });
    }

    /// The format has no end record: a chat is a success if its last answer has no calls, a subagent's if it handed over its result.
    pub(super) fn finish(mut self) -> SessionResult {
        self.builder.end(match self.last {
            Ending::Answer { has_calls: false, .. } => Last::Answer,
            Ending::Error => Last::Error,
            Ending::Cancelled => Last::Abort,
            _ if self.is_complete => Last::Answer,
            Ending::Nothing | Ending::Prompt | Ending::Answer { .. } => Last::Work,
        });
        self.builder.finish()
    }
}
