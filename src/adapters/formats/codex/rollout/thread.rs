//! A thread: its state, its messages and tasks.

use memchr::memmem;
use twox_hash::XxHash3_64;

use super::items::Block;
use super::records::{Message, Payload, TurnContext};
use super::shell_output::command_of;
use super::state::{EXEC, State};
use crate::adapters::engine::{Context, RecordErrors, RecordKind};
use crate::adapters::formats::codex::common::aborted;
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, brief};
use crate::base::text::{SharedStr, Symbol};
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::TextOrBlocks;
use crate::json::lines::Line;
use crate::model::session::{EventKind, Identity, SessionResult, Status};

/// The tool that writes to a running command.
pub(super) const WRITE_STDIN: &str = "write_stdin";

/// The tool that applies a patch.
pub(super) const APPLY_PATCH: &str = "apply_patch";

/// The tool that waits for a running script.
pub(super) const WAIT: &str = "wait";

/// When an item was logged, and when it began.
#[derive(Debug, Clone, Copy)]
pub(super) struct Logged {
    pub(super) at: At,
    pub(super) start: Option<Time>,
}

impl Logged {
    /// An event without a start of its own.
    pub(super) const fn at_once(line: Line<'_>, time: Option<Time>) -> Self {
        Self { at: At { line: line.number, time }, start: time }
    }
}

/// A thread while its records are read.
pub(super) struct Thread {
    pub(super) builder: Builder,
    /// Hash of the first record. If that is repeated, the whole recording is.
    pub(super) first: u64,
    /// The thread that the first records come from: this one, or the one from which it was forked.
    pub(super) root: SharedStr,
    pub(super) state: State,
    /// The first record that is its own, by its number. Those before it are copies of another thread's.
    pub(super) own_from: Option<i64>,
    /// Whether a program writes its prompts.
    pub(super) is_program: bool,
    /// Whether another thread started it with a copy of its own records.
    pub(super) is_forked_agent: bool,
    /// Whether it is a review that another thread started.
    pub(super) is_review: bool,
    /// Whether an editor's extension runs it besides the threads of the user.
    pub(super) is_of_extension: bool,
    /// The role of an agent that another one started.
    pub(super) role: Option<Symbol>,
    /// Prompts, for versions without events.
    pub(super) typed: Vec<(Identity, String)>,
    pub(super) has_events: bool,
    pub(super) has_ends: bool,
}

impl Thread {
    pub(super) fn new(context: &Context, id: String, line: Line<'_>) -> Self {
        Self {
            first: XxHash3_64::oneshot(line.bytes),
            root: id.as_str().into(),
            builder: Builder::new(context, id, line.number),
            state: State::default(),
            own_from: None,
            is_program: false,
            is_forked_agent: false,
            is_review: false,
            is_of_extension: false,
            role: None,
            typed: Vec::new(),
            has_events: false,
            has_ends: false,
        }
    }

    pub(super) fn turn_context(&mut self, context: &TurnContext<'_>) {
        self.state.next.model = context.model.owned().or_else(|| self.state.next.model.take());
        self.state.next.effort = context.effort.owned();
        let session = &mut self.builder.session;
        session.cwd = session.cwd.take().or_else(|| context.cwd.owned());
        session.model.clone_from(&self.state.next.model);
    }

    pub(super) fn event(
        &mut self,
        event: &Payload<'_>,
        line: Line<'_>,
        time: Option<Time>,
        damage: &mut RecordErrors,
    ) -> RecordKind {
        self.has_events = true;
        let at = At { line: line.number, time };
        match event {
            Payload::TokenCount(it) => {
                self.limits(it.rate_limits, line, time);
                self.token_count(&it.info, line, time, damage);
            }
            Payload::UserMessage(it) => self.prompted(it.message.as_str(), None, time),
            Payload::AgentMessage(it) => {
                self.state.is_waiting = false;
                if self.builder.keeps_text() {
                    self.builder.set_answer(it.message.as_str());
                }
            }
            Payload::TaskStarted(it) => self.task_started(it),
            Payload::TaskComplete(it) => self.task_completed(it, line, time),
            Payload::TurnAborted(it) => {
                self.has_ends = true;
                self.state.next.interrupt();
                aborted(&mut self.builder, &it.reason, at);
            }
            Payload::Error(it) => self.error(it, line, time),
            Payload::StreamError(it) => {
                self.builder.event(EventKind::Retry, at).message = it.message.some().map(brief);
            }
            // The event contains all settings: without a tier the standard one applies.
            Payload::ThreadSettings(it) => self.state.next.service_tier = it.thread_settings.service_tier.owned(),
            Payload::ContextCompacted => self.compacted(line, time),
            Payload::ReviewBegin => self.review_begins(time),
            Payload::ReviewEnd => self.review_ends(),
            Payload::PatchEnd(it) => self.patch_end(it, line, time),
            Payload::ExecEnd(it) => self.exec_end(it, line, time),
            Payload::McpEnd(it) => self.mcp_end(it, line, time),
            Payload::WebSearchEnd(it) => self.searched(it.call_id.as_str(), it.query, line, time),
            Payload::ItemCompleted(it) => return self.completed(it, line, time),
            Payload::Assessment(it) => self.assessed(it, line, time),
            Payload::SubagentActivity(it) => self.activity(it, Logged::at_once(line, time)),
            Payload::SpawnEnd(it) => {
                if let Some(child) = it.new_thread_id.some() {
                    self.spawned(child, it.call_id.as_str(), at);
                }
            }
            Payload::UnreadEvent => {}
            _ => return RecordKind::Unknown,
        }
        RecordKind::Known
    }

    pub(super) fn item(&mut self, item: &Payload<'_>, line: Line<'_>, time: Option<Time>) -> RecordKind {
        let at = At { line: line.number, time };
        self.time_of_item(item, time);
        match item {
            Payload::Message(it) => self.message(it),
            Payload::FunctionCall(it) => {
                let call = self.call(it, it.name.as_str(), it.arguments, at);
                let tool = &self.builder.session.tool_calls[call];
                let is_command = tool.category == "shell" && tool.tool != WRITE_STDIN;
                match if is_command { command_of(it.arguments) } else { None } {
                    Some(command) => self.builder.command(call, it.arguments, &command),
                    None => self.arguments(call, it.arguments, &it.arguments.text(), line, time),
                }
            }
            Payload::CustomToolCall(it) => {
                let call = self.call(it, it.name.as_str(), it.input, at);
                let input = it.input.text();
                self.builder.arguments(call, it.input);
                match it.name.as_str() {
                    EXEC => self.script(call, &input, at),
                    _ => self.builder.patch(call, &input, at),
                }
            }
            Payload::LocalShellCall(it) => {
                let call = self.call(it, "local_shell", it.action, at);
                self.builder.arguments(call, it.action);
            }
            Payload::ToolSearchCall(it) => {
                let call = self.call(it, "tool_search", it.arguments, at);
                self.builder.arguments(call, it.arguments);
            }
            Payload::WebSearchCall(it) => {
                self.state.searches -= 1;
                if self.state.searches < 0 {
                    // The id does not contain the line, which noise before it would change.
                    let calls = self.builder.session.tool_calls.len();
                    let id = it.id.owned().unwrap_or_else(|| format!("web_search_{}", calls + 1));
                    self.search(&id, it.action, line, time);
                }
            }
            Payload::CallOutput(it) => self.output(it, line, time),
            // The second is the message of another agent.
            Payload::UnreadItem | Payload::AgentMessage(_) => {}
            _ => return RecordKind::Unknown,
        }
        RecordKind::Known
    }

    pub(super) fn message(&mut self, item: &Message<'_>) {
        if self.builder.takes_instructions() && matches!(item.role.as_str(), "user" | "developer") {
            self.offered(item.content);
        }
        let is_read = match item.role.as_str() {
            "assistant" => self.builder.keeps_text(),
            "user" => !self.has_events && !self.is_program,
            _ => false,
        };
        if !is_read {
            return;
        }
        let content: TextOrBlocks<'_, Block<'_>> = item.content.read();
        let text = || content.blocks.iter().find_map(|it| it.text.some()).unwrap_or_default();
        match item.role.as_str() {
            "assistant" => self.builder.set_answer(text()),
            // Instructions and descriptions of the environment also have the user's role.
            "user" if !text().trim_start().starts_with(['<', '#']) => {
                let identity = self.prompt_identity(text());
                self.typed.push((identity, text().to_owned()));
            }
            _ => {}
        }
    }

    /// What a message before the first response contains besides a prompt: instruction files, and the list of skills. The
    /// program's other messages describe the environment, which differs in each session.
    fn offered(&mut self, content: Raw<'_>) {
        let content: TextOrBlocks<'_, Block<'_>> = content.read();
        for text in content.blocks.iter().filter_map(|it| it.text.some()) {
            if text.starts_with("<skills_instructions>") {
                // After the list come rules for skills, also as a list.
                let list = split_once(text, "### Available skills").map_or(text, |(_, list)| list);
                self.builder.offer_skills_in_text(split_once(list, "\n### ").map_or(list, |(list, _)| list));
            } else if text.starts_with("# AGENTS.md instructions") || text.starts_with("<user_instructions>") {
                // The line before them contains the directory.
                let start = memmem::find(text.as_bytes(), b"<INSTRUCTIONS>").unwrap_or_default();
                self.builder.instructions(text.get(start..).unwrap_or_default());
            }
        }
    }

    pub(super) fn finish(mut self) -> SessionResult {
        self.add_uncounted();
        for (identity, text) in self.typed {
            if !self.has_events {
                self.builder.prompt_as(identity, Some(&text));
            }
        }
        if !self.has_ends {
            self.builder.session.status = Status::Unknown;
        }
        let session = &mut self.builder.session;
        session.is_prompted_by_program |= self.is_program;
        if let Some(role) = self.role {
            for turn in &mut session.turns {
                turn.details_mut().agent_type = Some(role.clone());
            }
            session.agent = Some(role);
        }
        session.continues = (*self.root != *session.session_id).then(|| self.root.to_string());
        self.builder.finish()
    }
}

/// As [`str::split_once`], which is slow in a long text.
fn split_once<'t>(text: &'t str, separator: &str) -> Option<(&'t str, &'t str)> {
    let at = memmem::find(text.as_bytes(), separator.as_bytes())?;
    Some((text.get(..at)?, text.get(at + separator.len()..)?))
}
