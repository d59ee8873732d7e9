//! One session of Hermes while its rows or messages are read.

use serde::Deserialize;
use twox_hash::XxHash3_64;

use super::copies::Copies;
use super::records::{ModelConfig, Record};
use super::spent::Spent;
use crate::adapters::engine::{Context, RecordErrors};
use crate::adapters::shared::at::At;
use crate::adapters::shared::blocks::text_of;
use crate::adapters::shared::builder::{Builder, Last};
use crate::adapters::shared::changes;
use crate::adapters::shared::chat_completions::ToolCall;
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Flag, Number, Text};
use crate::model::health::Reason;
use crate::model::session::{CallStatus, Capabilities, EventKind, Identity, Operation, SessionResult, Total};

/// What a tool returns, if it returns JSON.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Outcome<'a> {
    error: Raw<'a>,
    exit_code: Number,
    success: Flag,
    status: Text<'a>,
}

/// What a session is to its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    /// The parent started it.
    Subagent,
    /// It goes on where the parent ended, with some of its messages.
    Continuation,
    /// It begins with the messages of the parent.
    Branch,
    /// It is the next conversation of the same chat, and begins with nothing.
    Reset,
}

/// How the parent of a session ended if the session is the next one of the chat, besides [`ModelConfig::reset_from`].
const RESETS: [&str; 6] = ["session_reset", "session_switch", "idle", "daily", "suspended", "resume_pending_expired"];

/// How texts begin that older versions of Hermes log as those of the user.
const SUMMARIES: [&str; 2] =
    ["[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted", "[CONTEXT SUMMARY]:"];
const PRESERVED_TASKS: &str = "[Your active task list was preserved across context compression]";

/// How the ids begin that the API server makes of the first prompt: they are equal in all profiles.
const OF_API_SERVER: &str = "api-";

/// A session while its rows or messages are read.
pub(super) struct Session {
    pub(super) builder: Builder,
    pub(super) is_subagent: bool,
    pub(super) copies: Copies,
    /// What it is to its parent, if its row states that.
    stated: Option<Relation>,
    /// The chat that it belongs to.
    chat: Option<String>,
    end: Option<Time>,
    /// Whether the program itself wrote the prompts.
    is_scheduled: bool,
    /// Whether a document contains it.
    is_document: bool,
    /// The number of answers.
    answers: i64,
    last_line: i64,
    start: Option<Time>,
    spent: Spent,
    last: Last,
}

impl Session {
    pub(super) fn new(context: &Context, id: &str, line: i64) -> Self {
        Self {
            builder: Builder::new(context, id, line),
            is_subagent: false,
            copies: Copies::new(),
            stated: None,
            chat: None,
            end: None,
            is_scheduled: id.starts_with("cron_"),
            is_document: false,
            answers: 0,
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
        self.builder.offer_tools(row.tool_names);
        self.is_scheduled |= row.source.as_str() == "cron";
        self.chat = row.session_key.owned();
        self.end = row.ended_at.0;
        let (stated, parent) = row.model_config.get().and_then(stated_relation).unzip();
        self.stated = stated;
        self.is_subagent = stated == Some(Relation::Subagent);
        let session = &mut self.builder.session;
        session.parent_session_id = row.parent_session_id.owned().or_else(|| parent.flatten());
        session.entrypoint = row.source.owned();
        session.cwd = row.cwd.owned();
        session.git_branch = row.git_branch.owned();
        session.stop_reason = row.end_reason.owned();
        session.model = row.model.owned().filter(|model: &Symbol| model != "null");
        self.start = row.started_at.0;
        self.spent.set_sums(row, damage);
        self.last_line = line;
    }

    /// What the session is to `parent`, by the rules with which Hermes lists sessions.
    pub(super) fn relation(&self, parent: &Self) -> Relation {
        let end = parent.builder.session.stop_reason.as_deref().unwrap_or_default();
        match self.stated {
            Some(stated) => stated,
            None if end == "compression" => Relation::Continuation,
            None if end == "branched" && self.start >= parent.end => Relation::Branch,
            None if RESETS.contains(&end) && self.chat.is_some() && self.chat == parent.chat => Relation::Reset,
            None => Relation::Subagent,
        }
    }

    /// Adds what was spent with one model.
    pub(super) fn model_usage(&mut self, row: &Record<'_>, line: i64, damage: &mut RecordErrors) {
        self.spent.add(row, damage);
        self.last_line = line;
    }

    /// Fills in the facts of a document.
    pub(super) fn document(&mut self, document: &Record<'_>) {
        self.is_document = true;
        self.builder.extend_to(document.session_start.0);
        self.builder.extend_to(document.last_updated.0);
        self.is_scheduled |= document.platform.as_str() == "cron";
        let session = &mut self.builder.session;
        session.model = document.model.owned().filter(|model: &Symbol| model != "null");
        session.entrypoint = document.platform.owned();
        self.builder.instructions(document.system_prompt.as_str());
        self.builder.offer_tools(document.tools);
    }

    pub(super) fn message(&mut self, message: &Record<'_>, line: i64, damage: &mut RecordErrors) {
        let calls = message.tool_calls;
        if !calls.is_empty() && !calls.is_list() && calls.0 != b"\"\"" {
            damage.note(Reason::NotAnObject);
        }
        let at = At { line, time: message.timestamp.0 };
        let is_summary = is_summary(message);
        let is_copy = self.copies.add(message, is_summary);
        self.last_line = line;
        if !message.compressed_summary.is_empty() {
            // Older schemas do not mark summaries.
            let session = &mut self.builder.session;
            session.capabilities = session.capabilities.and(Capabilities::COMPACTIONS);
        }
        if !is_copy {
            self.builder.extend_to(at.time);
        }
        if is_summary {
            if !is_copy {
                self.compaction(message, at);
            }
            return;
        }
        if !is_copy {
            self.new_message(message, at);
        }
        // What was taken back was billed, but it is not how the session ended. Of copies, the original was taken back.
        if message.active.0 != Some(0.0) {
            self.go_on(message);
        }
    }

    /// Adds what a message contains that is not a copy.
    fn new_message(&mut self, message: &Record<'_>, at: At) {
        match message.role.as_str() {
            "user" if self.is_scheduled || !is_typed(message) => self.builder.prompted_by_program(),
            "user" => {
                let identity = prompt_identity(self.copies.add_prompt(message));
                self.builder.prompt_as(identity, Some(&text_of(message.content)));
            }
            "assistant" if is_interruption(message) => {}
            "assistant" => {
                self.answers += 1;
                let calls: Vec<ToolCall<'_>> = message.tool_calls.read();
                for call in &calls {
                    self.call(call, at);
                }
            }
            "tool" => self.result(message, at.time),
            _ => {}
        }
    }

    /// Updates how the session ends.
    fn go_on(&mut self, message: &Record<'_>) {
        self.last = match message.role.as_str() {
            // They inform of a change, and ask for nothing.
            "user" if matches!(message.display_kind.as_str(), "model_switch" | "personality_switch") => self.last,
            "user" | "tool" => Last::Work,
            // The program writes this in place of an answer.
            "assistant" if is_interruption(message) => Last::Abort,
            "assistant" => {
                let text = text_of(message.content);
                self.builder.set_answer(&text);
                // Some providers state `stop` beside calls.
                let has_calls = message.tool_calls.is_list() && message.tool_calls.0 != b"[]";
                let is_cut = message.finish_reason.as_str() == "length";
                if has_calls || is_cut || text.is_empty() { Last::Work } else { Last::Answer }
            }
            _ => self.last,
        };
    }

    /// Adds the compaction of a summary, which can be in several files of the session.
    fn compaction(&mut self, summary: &Record<'_>, at: At) {
        let text = text_of(summary.content);
        let event = self.builder.event(EventKind::Compaction, at);
        event.key = Some(format!("hermes {:016x}", XxHash3_64::oneshot(text.as_bytes())).into());
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
        let requests = self.spent.requests();
        session.model = self.spent.main_model().or_else(|| session.model.take());
        let (models, cost) = self.spent.into_models();
        if models.is_empty() || requests.is_none() {
            // A copy that was cut has the sums, and fewer answers.
            session.stated_turns = requests.or(Some(self.answers).filter(|count| *count > 0));
        }
        if !models.is_empty() {
            // Copies of a database have equal rows or grown ones. Sessions of several profiles can have one id, but not one start.
            let start = self.start.map_or(0, Time::micros);
            session.totals.push(Total {
                line: self.last_line,
                key: format!("sums {start}"),
                turns: requests,
                cost,
                models,
                covers_subagents: true,
                ..Total::default()
            });
        }
        let (prompts, kept) = self.copies.prompts();
        for number in kept..prompts {
            session.prompts.remove(&prompt_identity(number + 1));
        }
        if session.session_id.starts_with(OF_API_SERVER) {
            if let Some(start) = self.start {
                let of_profile = |number: usize| format!("prompt {} of {}", number + 1, start.micros());
                session.prompts = (0..kept).map(|number| Identity::Session(of_profile(number).into())).collect();
            }
            if self.is_document {
                // Its prompts have no times, which distinguish those of several profiles.
                session.capabilities = session.capabilities.and(Capabilities::ABRIDGED);
            }
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

/// The relation to the parent that the settings of a session state, and the parent. That of a subagent may be deleted.
fn stated_relation(config: &ModelConfig<'_>) -> Option<(Relation, Option<String>)> {
    const DELETED: &str = "__orphaned__";
    let stated = [
        (&config.delegate_from, Relation::Subagent),
        (&config.branched_from, Relation::Branch),
        (&config.reset_from, Relation::Reset),
    ];
    let (parent, relation) = stated.into_iter().find(|(parent, _)| parent.some().is_some())?;
    Some((relation, parent.owned().filter(|parent: &String| parent != DELETED)))
}

/// The identity of a prompt, by its number among the prompts of the session.
fn prompt_identity(number: usize) -> Identity {
    Identity::Session(format!("prompt {number}").into())
}

/// Whether a message is the summary of a compaction: it is marked, or begins as older versions write it.
fn is_summary(message: &Record<'_>) -> bool {
    let is_marked = matches!(message.compressed_summary.0, b"1" | b"true");
    let may_be_one = matches!(message.role.as_str(), "user" | "assistant" | "system");
    let begins_so = || {
        let head = message.content.head(128);
        SUMMARIES.iter().any(|summary| head.starts_with(summary))
    };
    may_be_one && (is_marked || begins_so())
}

/// Whether the user typed a prompt: of what Hermes marks, only a correction while the agent works.
fn is_typed(prompt: &Record<'_>) -> bool {
    matches!(prompt.display_kind.as_str(), "" | "steer") && !prompt.content.head(128).starts_with(PRESERVED_TASKS)
}

/// Whether a message states that the user interrupted the run.
fn is_interruption(message: &Record<'_>) -> bool {
    let text = || text_of(message.content);
    message.finish_reason.some().is_none()
        && message.tool_calls.is_empty()
        && text().starts_with("Operation interrupted")
}
