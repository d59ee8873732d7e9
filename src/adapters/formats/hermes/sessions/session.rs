//! One session of Hermes while its rows or messages are read.

use serde::Deserialize;

use super::records::Record;
use super::spent::Spent;
use crate::adapters::engine::{Context, RecordErrors};
use crate::adapters::shared::at::At;
use crate::adapters::shared::blocks::TextBlock;
use crate::adapters::shared::builder::{Builder, Last};
use crate::adapters::shared::changes;
use crate::adapters::shared::chat_completions::ToolCall;
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Flag, Number, Text, TextOrBlocks};
use crate::model::session::{CallStatus, Identity, Operation, SessionResult, Total};

/// What a tool returns, if it returns JSON.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Outcome<'a> {
    error: Raw<'a>,
    exit_code: Number,
    success: Flag,
    status: Text<'a>,
}

/// A session while its rows or messages are read.
pub(super) struct Session {
    pub(super) builder: Builder,
    /// Whether it goes on under another id.
    pub(super) is_compressed: bool,
    pub(super) is_subagent: bool,
    /// Whether the program itself wrote the prompts.
    is_scheduled: bool,
    /// The number of answers and of prompts.
    answers: i64,
    prompts: usize,
    last_line: i64,
    start: Option<Time>,
    spent: Spent,
    last: Last,
}

impl Session {
    pub(super) fn new(context: &Context, id: &str, line: i64) -> Self {
        Self {
            builder: Builder::new(context, id, line),
            is_compressed: false,
            is_subagent: false,
            is_scheduled: id.starts_with("cron_"),
            answers: 0,
            prompts: 0,
            last_line: line,
            start: None,
            spent: Spent::default(),
            last: Last::Work,
        }
    }

    /// Fills in the row of the session.
    pub(super) fn row(&mut self, row: &Record<'_>, line: i64, damage: &mut RecordErrors) {
        self.builder.extend_to(row.started_at.0);
        self.builder.instructions(row.system_prompt.as_str());
        self.is_compressed = row.end_reason.as_str() == "compression";
        self.is_scheduled |= row.source.as_str() == "cron";
        let session = &mut self.builder.session;
        session.parent_session_id = row.parent_session_id.owned();
        session.entrypoint = row.source.owned();
        session.cwd = row.cwd.owned();
        session.git_branch = row.git_branch.owned();
        session.stop_reason = row.end_reason.owned();
        session.model = row.model.owned().filter(|model: &Symbol| model != "null");
        self.start = row.started_at.0;
        self.spent.set_sums(row, damage);
        self.last_line = line;
    }

    /// Adds what was spent with one model.
    pub(super) fn model_usage(&mut self, row: &Record<'_>, line: i64, damage: &mut RecordErrors) {
        self.spent.add(row, damage);
        self.last_line = line;
    }

    /// Fills in the facts of a document.
    pub(super) fn document(&mut self, document: &Record<'_>) {
        self.builder.extend_to(document.session_start.0);
        self.builder.extend_to(document.last_updated.0);
        self.is_scheduled |= document.platform.as_str() == "cron";
        let session = &mut self.builder.session;
        session.model = document.model.owned().filter(|model: &Symbol| model != "null");
        session.entrypoint = document.platform.owned();
        self.builder.instructions(document.system_prompt.as_str());
        self.builder.offer_tools(document.tools);
    }

    pub(super) fn message(&mut self, message: &Record<'_>, line: i64) {
        let time = message.timestamp.0;
        self.builder.extend_to(time);
        self.last_line = line;
        // What was taken back was billed, but it is not how the session ended.
        let is_active = message.active.0 != Some(0.0);
        match message.role.as_str() {
            "user" => {
                self.prompts += 1;
                if self.is_scheduled {
                    self.builder.prompted_by_program();
                } else {
                    let identity = Identity::Session(format!("prompt {}", self.prompts).into());
                    self.builder.prompt_as(identity, Some(&text_of(message.content)));
                }
                self.last = if is_active { Last::Work } else { self.last };
            }
            // The program writes this in place of an answer.
            "assistant" if is_interruption(message) => {
                self.last = if is_active { Last::Abort } else { self.last };
            }
            "assistant" => {
                self.answers += 1;
                let text = text_of(message.content);
                let calls: Vec<ToolCall<'_>> = message.tool_calls.read();
                for call in &calls {
                    self.call(call, At { line, time });
                }
                if is_active {
                    self.builder.set_answer(&text);
                    // Some providers state `stop` beside calls.
                    self.last = if calls.is_empty() && !text.is_empty() { Last::Answer } else { Last::Work };
                    if message.finish_reason.as_str() == "length" {
                        self.last = Last::Work;
                    }
                }
            }
            "tool" => {
                self.result(message, time);
                self.last = if is_active { Last::Work } else { self.last };
            }
            _ => {}
        }
    }

    fn call(&mut self, made: &ToolCall<'_>, at: At) {
        let tool = made.function.name.as_str();
        let text = made.function.arguments.text();
        let raw = Raw(text.as_bytes());
        let call = self.builder.call_of(None, made.id.as_str(), tool, raw, at);
        let row = &mut self.builder.session.tool_calls[call];
        match tool {
            "terminal" | "execute_code" => row.category = "shell".into(),
            "delegate_task" => row.category = "subagent".into(),
            "todo" => row.category = "plan".into(),
            "web_extract" => row.category = "web".into(),
            _ if tool.starts_with("browser_") => row.category = "web".into(),
            _ => {}
        }
        let arguments = self.builder.arguments(call, raw);
        self.builder.session.tool_calls[call].args_bytes = made.function.arguments.len().into();
        changes::add_named_file(&mut self.builder, call, &arguments, raw, Some(Operation::Update), at);
    }

    fn result(&mut self, message: &Record<'_>, time: Option<Time>) {
        // A result without its call makes no row.
        let Some(call) = self.builder.call_index(message.tool_call_id.as_str()) else { return };
        let text = message.content.text();
        let outcome: Outcome<'_> = if text.starts_with('{') { Raw(text.as_bytes()).read() } else { Outcome::default() };
        let exit_code = outcome.exit_code.whole();
        let has_error = !outcome.error.is_empty() && !matches!(outcome.error.0, b"\"\"" | b"false");
        let is_error = has_error
            || exit_code.is_some_and(|code| code != 0)
            || outcome.success.0 == Some(false)
            || outcome.status.as_str() == "error";
        self.builder.result(call, message.content, time, CallStatus::from_error(is_error));
        self.builder.session.tool_calls[call].exit_code = exit_code.into();
    }

    pub(super) fn finish(mut self) -> SessionResult {
        let session = &mut self.builder.session;
        session.stated_turns = self.spent.requests().or(Some(self.answers).filter(|count| *count > 0));
        session.model = self.spent.main_model().or_else(|| session.model.take());
        let (models, cost) = self.spent.into_models();
        if !models.is_empty() {
            // Copies of a database have equal rows or grown ones. Sessions of several profiles can have one id, but not one start.
            let start = self.start.map_or(0, Time::micros);
            session.totals.push(Total {
                line: self.last_line,
                key: format!("sums {start}"),
                cost,
                models,
                covers_subagents: true,
                ..Total::default()
            });
        }
        if self.is_subagent {
            // Its prompts are written by the session that started it.
            session.prompts.clear();
            session.user_turns = None;
        }
        self.builder.end(self.last);
        self.builder.finish()
    }
}

/// Whether a message states that the user interrupted the run.
fn is_interruption(message: &Record<'_>) -> bool {
    let text = || text_of(message.content);
    message.finish_reason.some().is_none()
        && message.tool_calls.is_empty()
        && text().starts_with("Operation interrupted")
}

/// A string, or the texts of blocks.
fn text_of(content: Raw<'_>) -> String {
    let content: TextOrBlocks<'_, TextBlock<'_>> = content.read();
    content.joined(|block| block.text.as_str())
}
