//! One conversation of Antigravity while its steps are read, in their order.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::{HashMap, HashMapExt as _};
use serde::Deserialize;

use super::arguments::Given;
use super::records::Step;
use super::results;
use crate::adapters::engine::Context;
use crate::adapters::shared::builder::{Builder, Last, brief};
use crate::adapters::shared::changed_lines::ChangedLines;
use crate::adapters::shared::subagents;
use crate::adapters::shared::tools::{self, Subject};
use crate::base::split;
use crate::base::text::Symbol;
use crate::json::Raw;
use crate::json::fields::Text;
use crate::model::session::{CallStatus, EventKind, Identity, Operation, SessionResult};

/// The types of steps that the program writes.
pub(super) fn is_known(kind: &str) -> bool {
    matches!(
        kind,
        "CONVERSATION_HISTORY"
            | "CHECKPOINT"
            | "EPHEMERAL_MESSAGE"
            | "SYSTEM_MESSAGE"
            | "ERROR_MESSAGE"
            | "USER_INPUT"
            | "KNOWLEDGE_ARTIFACTS"
            | "GENERIC"
    )
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct ToolCall<'a> {
    name: Text<'a>,
    args: Raw<'a>,
}

/// A call without its result.
struct Open {
    call: usize,
    /// The file that it changes.
    path: Option<String>,
    /// The lines of a file that it writes.
    written: Option<ChangedLines>,
    /// The types of the agents that it starts.
    agents: Vec<String>,
}

/// A conversation while its steps are read.
pub(super) struct Session {
    builder: Builder,
    model: Option<Symbol>,
    effort: Option<Symbol>,
    /// By the step that is its result if no step is missing.
    open: BTreeMap<i64, Open>,
    /// Calls that run in the background, by the step that is their result.
    background: HashMap<i64, usize>,
    /// The conversations to which it sent messages.
    recipients: BTreeSet<String>,
    has_begun: bool,
    last: Last,
}

impl Session {
    pub(super) fn new(context: &Context, id: String, line: i64) -> Self {
        Self {
            builder: Builder::new(context, id, line),
            model: None,
            effort: None,
            open: BTreeMap::new(),
            background: HashMap::new(),
            recipients: BTreeSet::new(),
            has_begun: false,
            last: Last::Work,
        }
    }

    pub(super) fn step(&mut self, step: &Step) {
        self.builder.extend_to(step.created_at);
        match step.kind.as_str() {
            "USER_INPUT" => self.prompt(step),
            "PLANNER_RESPONSE" => self.response(step),
            "CHECKPOINT" => {
                let event = self.builder.event(EventKind::Compaction, step.at());
                event.key = Some(format!("step {}", step.name).into());
            }
            "SYSTEM_MESSAGE" => self.message(step),
            "ERROR_MESSAGE" => self.error(step),
            "CONVERSATION_HISTORY" | "EPHEMERAL_MESSAGE" | "KNOWLEDGE_ARTIFACTS" => return,
            _ if step.source == "MODEL" => self.result(step),
            _ => return,
        }
        self.has_begun = true;
    }

    fn prompt(&mut self, step: &Step) {
        if let Some((model, effort)) = results::model(&step.content) {
            self.model = Some(model.into());
            self.effort = effort.map(|word| word.as_str().into());
        }
        if step.source == "USER_EXPLICIT" {
            let identity = Identity::Session(format!("prompt {}", step.name).into());
            self.builder.prompt_as(identity, Some(results::request(&step.content)));
        }
        // Calls without results were interrupted.
        self.open.clear();
        self.last = Last::Work;
    }

    fn response(&mut self, step: &Step) {
        let index = self.builder.turn(Identity::Session(format!("step {}", step.name).into()), step.line);
        let turn = &mut self.builder.session.turns[index];
        turn.occurred_at = step.created_at;
        turn.model.clone_from(&self.model);
        turn.effort.clone_from(&self.effort);
        self.builder.set_answer(step.content.trim());
        self.open.clear();
        let calls: Vec<ToolCall<'_>> = Raw(step.tool_calls.as_bytes()).read();
        for (number, call) in (1..).zip(&calls) {
            self.call(step, index, number, call);
        }
        self.last = match step.status.as_str() {
            "CANCELED" | "CANCELLED" | "INTERRUPTED" => Last::Abort,
            "DONE" | "" if calls.is_empty() && !step.content.trim().is_empty() => Last::Answer,
            _ => Last::Work,
        };
    }

    fn call(&mut self, step: &Step, turn: usize, number: i64, made: &ToolCall<'_>) {
        let given: Given<'_> = made.args.read();
        let mcp = given.mcp().filter(|_| made.name.as_str() == "call_mcp_tool");
        let tool = mcp.as_ref().map_or(made.name.as_str(), |(_, tool)| tool);
        let call = self.builder.call(&format!("{}.{number}", step.name), tool, step.at());
        let row = &mut self.builder.session.tool_calls[call];
        row.turn = Some(turn);
        if let Some((server, _)) = &mcp {
            self.builder.mcp(call, server.as_deref());
        } else if let Some(category) = tools::category_among(CATEGORIES, tool, None) {
            row.category = category.into();
        }
        self.builder.arguments(call, made.args);
        let path = given.path();
        let category = self.builder.session.tool_calls[call].category.clone();
        let subject = match category.as_ref() {
            "shell" => given.command().map(|command| tools::shell_command(&command).into()).unwrap_or_default(),
            "web" => Subject { target: given.url().and_then(|url| tools::host(&url)), ..Subject::default() },
            _ => Subject { target: path.as_deref().map(Into::into), ..Subject::default() },
        };
        self.builder.set_subject(call, subject);
        if self.builder.session.cwd.is_none() {
            self.builder.session.cwd = given.directory().map(Into::into);
        }
        self.recipients.extend(given.recipient().map(Into::into).filter(|_| tool == "send_message"));
        let is_change = matches!(category.as_ref(), "edit" | "write");
        let path = path.filter(|_| is_change);
        if let Some(path) = &path {
            let operation = (category == "edit").then_some(Operation::Update);
            self.builder.change(call, path, operation, given.edited_lines(), step.at());
        }
        let agents = if category == "subagent" { given.agents() } else { Vec::new() };
        let written = given.written_lines();
        self.open.insert(step.place.saturating_add(number), Open { call, path, written, agents });
    }

    /// The call whose result a step is: by its place, else the first open one.
    fn take_open(&mut self, place: i64) -> Option<Open> {
        self.open.remove(&place).or_else(|| self.open.pop_first().map(|(_, open)| open))
    }

    fn result(&mut self, step: &Step) {
        self.last = Last::Work;
        // A result without its call makes no row.
        let Some(open) = self.take_open(step.place) else { return };
        let call = open.call;
        let body = results::body(&step.content);
        let (started_at, ended_at) = results::times(&step.content);
        let is_shell = self.builder.session.tool_calls[call].category == "shell";
        let exit_code = step.exit_code.or_else(|| results::exit_code(body).filter(|_| is_shell));
        let is_error = step.status == "ERROR"
            || !step.error.is_empty()
            || exit_code.is_some_and(|code| code != 0)
            || body.starts_with("Encountered error in step execution");
        let status = match step.status.as_str() {
            "CANCELED" | "CANCELLED" | "INTERRUPTED" => CallStatus::Cancelled,
            "DONE" | "ERROR" | "" => CallStatus::from_error(is_error),
            _ if results::is_background(body) => CallStatus::Ok,
            _ => CallStatus::Incomplete,
        };
        if results::is_background(body) {
            self.background.insert(step.place, call);
        }
        let raw = Raw(step.content.as_bytes());
        self.builder.result(call, raw, ended_at.or(step.created_at), status);
        let row = &mut self.builder.session.tool_calls[call];
        row.result_bytes = step.content_bytes.into();
        row.exit_code = exit_code.into();
        row.duration_ms = started_at.zip(ended_at).and_then(|(start, end)| end.duration_since(start)).into();
        let refusal = if step.error.is_empty() { body } else { &step.error };
        if is_error && results::is_refusal(refusal) {
            self.builder.deny(call, step.at(), Some(refusal));
        }
        self.change(&open, body, step);
        for (number, id) in results::conversations(body).enumerate() {
            self.subagent(&open, number, id, step);
        }
    }

    /// Adds what a result states about the file that its call changes.
    fn change(&mut self, open: &Open, body: &str, step: &Step) {
        let Some(path) = &open.path else { return };
        let is_new = body.starts_with("Created file");
        let lines = if is_new {
            open.written
        } else {
            let diffs = results::diffs(body).map(|diff| tools::diff_lines(split::lines(diff)));
            diffs.reduce(ChangedLines::plus)
        };
        self.builder.change(open.call, path, is_new.then_some(Operation::Create), lines, step.at());
    }

    fn subagent(&mut self, open: &Open, number: usize, id: &str, step: &Step) {
        let call = &self.builder.session.tool_calls[open.call];
        if call.category != "subagent" {
            return;
        }
        let call_id = call.call_id.clone();
        if let Some(event) = subagents::add(&mut self.builder, id, Some(&call_id), step.at()) {
            event.key = Some(format!("subagent {id}").into());
            event.agent = open.agents.get(number).filter(|name| !name.is_empty()).map(|name| name.as_str().into());
        }
    }

    /// A message of a task that ended, or of another conversation.
    fn message(&mut self, step: &Step) {
        if let Some((place, result)) = results::finished_task(&step.content)
            && let Some(call) = self.background.remove(&place)
        {
            let exit_code = results::exit_code(result);
            let row = &mut self.builder.session.tool_calls[call];
            row.exit_code = exit_code.or(row.exit_code.get()).into();
            if exit_code.is_some_and(|code| code != 0) {
                row.status = CallStatus::Error;
            }
            return;
        }
        // A conversation that begins with a message has no prompt: its sender started it.
        if !self.has_begun {
            self.builder.session.parent_session_id = results::sender(&step.content).map(str::to_owned);
        }
    }

    /// An error of a call that is open, else of the conversation.
    fn error(&mut self, step: &Step) {
        let message = results::body(&step.content);
        if let Some(open) = self.take_open(step.place) {
            let raw = Raw(step.content.as_bytes());
            self.builder.result(open.call, raw, step.created_at, CallStatus::Error);
            self.builder.session.tool_calls[open.call].result_bytes = step.content_bytes.into();
            if results::is_refusal(message) {
                self.builder.deny(open.call, step.at(), Some(message));
            }
            self.last = Last::Work;
            return;
        }
        self.builder.fail(None, message);
        let event = self.builder.event(EventKind::Error, step.at());
        event.key = Some(format!("step {}", step.name).into());
        event.message = Some(brief(message));
        self.last = Last::Error;
    }

    pub(super) fn finish(mut self) -> SessionResult {
        let session = &mut self.builder.session;
        session.model = self.model;
        // A subagent reports to the conversation that started it.
        let own = |id: &&String| session.subagents.contains(&Symbol::new(id));
        let parent = self.recipients.iter().find(|id| results::is_conversation(id) && !own(id));
        session.parent_session_id = session.parent_session_id.take().or_else(|| parent.cloned());
        if session.parent_session_id.is_some() {
            // Its prompts are written by that conversation.
            session.prompts.clear();
        }
        self.builder.end(self.last);
        self.builder.finish()
    }
}

/// The categories of tools that other runtimes do not have.
const CATEGORIES: &[(&str, &str)] = &[
    ("browser_*", "web"),
    ("browser_subagent", "subagent"),
    ("command_status", "shell"),
    ("find_by_name", "search"),
    ("invoke_subagent", "subagent"),
    ("list_resources", "search"),
    ("multi_replace_file_content", "edit"),
    ("open_browser_url", "web"),
    ("read_resource", "read"),
    ("read_terminal", "shell"),
    ("read_url_content", "web"),
    ("replace_file_content", "edit"),
    ("search_in_file", "search"),
    ("send_command_input", "shell"),
    ("task_boundary", "plan"),
    ("view_code_item", "read"),
    ("view_content_chunk", "read"),
    ("view_file", "read"),
    ("view_file_outline", "read"),
];
