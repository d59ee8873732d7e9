//! The messages of a session, or of the history that it copied, while they are read.

use std::mem;

use super::own_texts;
use super::records::{Block, Call, Editor, Message, ToolResult};
use crate::adapters::engine::{Context, RecordErrors};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, Last, brief};
use crate::adapters::shared::ids::hashed_id;
use crate::adapters::shared::{changes, tools};
use crate::base::text::Symbol;
use crate::base::time::{SECOND_MICROS, Time};
use crate::json::fields::TextOrBlocks;
use crate::model::errors::ErrorKind;
use crate::model::health::Reason;
use crate::model::id_hash::IdHash;
use crate::model::session::{CallStatus, EventKind, Identity, Operation, SessionResult};

/// A conversation while its messages are read.
pub(super) struct Part {
    pub(super) builder: Builder,
    pub(super) is_subagent: bool,
    /// Whether there is a message of the model.
    pub(super) has_answers: bool,
    /// The time of the first message: a part of the identity of the sums.
    pub(super) first_message: Option<Time>,
    /// What the conversation ends with.
    pub(super) last: Last,
    /// Whether goose gave ids to the model's messages, as it does when it imports them without any.
    pub(super) has_given_ids: bool,
    /// The times of the user's messages, without results.
    pub(super) asked_at: Vec<Time>,
    /// The first prompt after a message of the model: the request before it was complete.
    pub(super) next_prompt: Option<Time>,
    answer: Answer,
}

impl Part {
    pub(super) fn new(context: &Context, id: &str, line: i64) -> Self {
        Self {
            builder: Builder::new(context, id, line),
            is_subagent: false,
            has_answers: false,
            first_message: None,
            last: Last::Work,
            has_given_ids: false,
            asked_at: Vec::new(),
            next_prompt: None,
            answer: Answer::default(),
        }
    }

    pub(super) fn message(&mut self, message: &Message<'_>, line: i64, damage: &mut RecordErrors) {
        if !message.content.is_list() {
            damage.note(Reason::NotAnObject);
            return;
        }
        let time = message.time;
        self.first_message = self.first_message.or(time);
        self.builder.extend_to(time);
        if message.has_stored_id {
            self.name(message);
        }
        let content: TextOrBlocks<'_, Block<'_>> = message.content.read();
        match message.role {
            "user" => self.user(message, &content.blocks),
            "assistant" => self.assistant(message, &content.blocks, line),
            _ => {}
        }
        for block in content.blocks.iter().filter(|block| block.kind.as_str() == "toolResponse") {
            self.result(block, At { line, time });
        }
    }

    /// Adds the name of a message. Some ids are unique in one database only, so that the time is a part of it.
    fn name(&mut self, message: &Message<'_>) {
        let session = &mut self.builder.session;
        let rest = message.id.strip_prefix("msg_").and_then(|rest| rest.strip_prefix(session.session_id.as_str()));
        self.has_given_ids |= rest.is_some_and(|rest| rest.starts_with('_')) && message.role == "assistant";
        let seconds = message.time.map(|time| time.micros() / SECOND_MICROS);
        session.messages.insert(IdHash::new(&format!("goose {} {seconds:?}", message.id)));
    }

    fn user(&mut self, message: &Message<'_>, blocks: &[Block<'_>]) {
        self.last = Last::Work;
        let find = |kind: &str| blocks.iter().find(|block| block.kind.as_str() == kind);
        let text_block = find("text");
        let text = text_block.map_or("", |block| block.text.as_str());
        let is_result = find("toolResponse").is_some();
        if !is_result {
            self.asked_at.extend(message.time);
        }
        let is_typed = (text_block.is_some() || find("image").is_some()) && !is_result;
        if is_typed && !message.is_hidden && !self.is_subagent && !own_texts::is_prompt(text) {
            if self.has_answers {
                self.next_prompt = self.next_prompt.or(message.time);
            }
            // An imported message gets another id: time and text are its identity.
            let identity = hashed_id(format!("{:?} {text}", message.time.map(Time::micros)).as_bytes());
            let identity = Identity::Session(identity.into());
            self.builder.prompt_as(identity, text_block.and_then(|block| block.text.some()));
        }
    }

    fn assistant(&mut self, message: &Message<'_>, blocks: &[Block<'_>], line: i64) {
        let time = message.time;
        let of_kind = |kind: &'static str| blocks.iter().filter(move |block| block.kind.as_str() == kind);
        let at = At { line, time };
        for block in of_kind("toolRequest") {
            self.call(block, at);
        }
        for _ in of_kind("conversationCompacted") {
            let event = self.builder.event(EventKind::Compaction, at);
            event.key = Some(format!("compaction {}", message.id).into());
        }
        let text = of_kind("text").filter_map(|block| block.text.some()).next_back();
        if let Some(text) = text {
            let mut answer = mem::take(&mut self.answer);
            answer.add(message.id, text);
            let is_from_model = self.answer(&answer.text, at);
            self.answer = answer;
            if !is_from_model {
                return;
            }
        }
        self.has_answers = true;
        if of_kind("toolRequest").next().is_some() {
            self.last = Last::Work;
        } else if text.is_some() {
            self.last = Last::Answer;
        }
    }

    /// Adds the text of an answer. Returns whether it is the model's, and not one of those that goose writes itself.
    fn answer(&mut self, text: &str, at: At) -> bool {
        if own_texts::is_error(text) {
            self.builder.fail(None, text);
            self.last = Last::Error;
            self.builder.event(EventKind::Error, at).message = Some(brief(text));
        } else if text.starts_with(own_texts::MOST_TURNS) {
            self.builder.fail_as(ErrorKind::MaxTurns, own_texts::MOST_TURNS);
            self.last = Last::Error;
        } else if own_texts::is_asked_after_interruption(text) {
            // goose asks the same after an error.
            if self.last != Last::Error {
                self.last = Last::Abort;
            }
        } else {
            self.builder.set_answer(text);
            return true;
        }
        false
    }

    fn call(&mut self, block: &Block<'_>, at: At) {
        let call: Call<'_> = block.tool_call.value.read();
        let index = self.builder.call_of(None, block.id.as_str(), call.name.as_str(), call.arguments, at);
        let row = &mut self.builder.session.tool_calls[index];
        // Every tool belongs to an extension. Those of goose's own extensions get the categories of other runtimes' tools.
        let (extension, tool) = call.name.as_str().split_once("__").unwrap_or(("", call.name.as_str()));
        let category = match tool {
            "text_editor" => match call.arguments.read::<Editor<'_>>().command.as_str() {
                "view" => "read",
                "write" => "write",
                _ => "edit",
            },
            "delegate" => "subagent",
            _ => tools::category(tool),
        };
        let is_mcp = category == "other" && !extension.is_empty();
        row.category = Symbol::new(if is_mcp { "mcp" } else { category });
        row.mcp_server = Some(extension).filter(|it| !it.is_empty()).map(Symbol::new);
        if block.tool_call.status.as_str() == "error" {
            // The call that the model wrote was invalid.
            self.builder.result(index, block.tool_call.error, at.time, CallStatus::Error);
            return;
        }
        let arguments = self.builder.arguments(index, call.arguments);
        let operation = Some(Operation::Update);
        changes::add_named_file(&mut self.builder, index, &arguments, call.arguments, operation, at);
        let edit: Editor<'_> = call.arguments.read();
        if let (Some(path), Some((before, after))) =
            (arguments.file(), edit.before.0.as_deref().zip(edit.after.0.as_deref()))
            && category == "edit"
        {
            self.builder.change(index, path, operation, tools::changed_lines(before, after), at);
        }
    }

    fn result(&mut self, block: &Block<'_>, at: At) {
        let Some(index) = self.builder.call_index(block.id.as_str()) else { return };
        let outcome = &block.tool_result;
        let result: ToolResult<'_> = outcome.value.read();
        let is_error = outcome.status.as_str() == "error" || result.is_error.is_true();
        let output = if outcome.value.is_empty() { outcome.error } else { outcome.value };
        let text = output.text();
        let is_cancelled = is_error && own_texts::is_cancelled(&text);
        let status = if is_cancelled { CallStatus::Cancelled } else { CallStatus::from_error(is_error) };
        self.builder.result(index, output, at.time, status);
        let call = &mut self.builder.session.tool_calls[index];
        if call.category == "shell" {
            call.exit_code = result.exit_code().into();
        }
        let is_write = call.category == "write";
        if is_cancelled {
            self.last = Last::Abort;
        } else if is_error && text.contains(own_texts::UNCAUGHT_ERROR) {
            self.builder.fail(None, own_texts::UNCAUGHT_ERROR);
            self.last = Last::Error;
        } else if own_texts::is_refused(&text) {
            self.builder.deny(index, at, None);
        } else if let Some((operation, lines)) = result.written().filter(|_| is_write && !is_error) {
            let changes = &mut self.builder.session.file_changes;
            for change in changes.iter_mut().filter(|change| change.call == Some(index)) {
                change.operation = Some(operation);
                if operation == Operation::Create {
                    (change.lines_added, change.lines_removed) = (Some(lines), Some(0));
                }
            }
        }
    }

    pub(super) fn finish(mut self) -> SessionResult {
        self.builder.end(self.last);
        self.builder.finish()
    }
}

/// The last answer. A recording contains parts of it, which have its id.
#[derive(Default)]
struct Answer {
    id: String,
    text: String,
}

impl Answer {
    fn add(&mut self, id: &str, text: &str) {
        if self.id != id {
            self.text.clear();
            id.clone_into(&mut self.id);
        }
        self.text.push_str(text);
    }
}
