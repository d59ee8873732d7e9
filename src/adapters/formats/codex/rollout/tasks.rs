//! Prompts and tasks: a task begins with a prompt, and ends with an answer or an error.

use twox_hash::XxHash3_64;

use super::history::is_imported;
use super::records::{MessageEvent, TaskComplete, TaskStarted};
use super::thread::Thread;
use crate::adapters::formats::codex::common::NamedError;
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::brief;
use crate::base::time::Time;
use crate::json::fields::Maybe;
use crate::json::lines::Line;
use crate::model::errors::ErrorKind;
use crate::model::session::{EventKind, Identity, Status};

/// How the prompts begin with which the extension for VS Code asks for the title of a task, in a thread of its own.
const TITLES: [&str; 2] =
    ["Generate a concise UI title", "You are a helpful assistant. You will be presented with a user prompt"];

/// Whether an automation wrote the prompt, which the app sends at intervals.
fn is_heartbeat(text: &str) -> bool {
    text.trim_start().starts_with("<heartbeat>") && text.contains("<automation_id>")
}

impl Thread {
    /// A prompt, from an event, or from an item with the id `item`. Programs write the prompts of agents that they start.
    pub(super) fn prompted(&mut self, text: &str, item: Option<&str>, time: Option<Time>) {
        self.state.open.asked(time, true);
        self.state.is_waiting = true;
        self.is_program |= self.is_of_extension && TITLES.iter().any(|it| text.starts_with(it));
        if self.is_prompt_of_review(text) {
            self.builder.prompted_by_program();
            return;
        }
        if self.is_program || self.state.is_imported || is_heartbeat(text) {
            self.builder.prompted_by_program();
            return;
        }
        let step = if item.is_some() { 1 } else { -1 };
        let form = self.state.forms.entry(XxHash3_64::oneshot(text.as_bytes())).or_default();
        let is_known = form.signum() == -step;
        *form += step;
        if is_known {
            return;
        }
        let identity = match item.filter(|it| !it.is_empty()) {
            Some(id) => Identity::Thread(self.root.clone(), format!("user {id}").into()),
            None => self.prompt_identity(text),
        };
        self.builder.prompt_as(identity, Some(text).filter(|it| !it.is_empty()));
    }

    /// The identity of a prompt, equal in all copies of it.
    pub(super) fn prompt_identity(&mut self, text: &str) -> Identity {
        self.state.prompts += 1;
        let hash = XxHash3_64::oneshot(text.as_bytes());
        let name = format!("user {} {hash:x}{}", self.state.prompts, self.state.task);
        Identity::Thread(self.root.clone(), name.into())
    }

    pub(super) fn task_started(&mut self, task: &TaskStarted<'_>) {
        self.state.is_imported = is_imported(task.turn_id.as_str());
        if self.state.is_imported {
            return;
        }
        self.state.task.clear();
        if let Some(id) = task.turn_id.some() {
            self.state.task.extend([" ", id]);
        }
        // A number could be that of a task of another thread.
        self.state.has_unique_task = task.turn_id.some().is_some_and(|id| !id.bytes().all(|it| it.is_ascii_digit()));
        self.state.has_task = true;
        self.state.scripts.iter_mut().for_each(|it| it.is_of_task = false);
        self.state.is_waiting = false;
        self.has_ends = true;
        self.state.is_failed = false;
        self.state.forms.clear();
        self.state.first_of_task = Some(self.builder.session.turns.len());
        self.builder.session.status = Status::Incomplete;
        self.state.next.context_window = task.model_context_window.get().or(self.state.next.context_window);
    }

    pub(super) fn task_completed(&mut self, task: &TaskComplete<'_>, line: Line<'_>, time: Option<Time>) {
        if self.state.is_imported {
            return;
        }
        self.has_ends = true;
        let error = match &task.error {
            Maybe::Present(error) => Some(error),
            _ => None,
        };
        if let Some(error) = error
            && !self.state.is_failed
        {
            self.error(error, line, time);
        }
        // Older versions log an error by an event. The task ends after it as well, without an answer.
        let is_answered = error.is_none() && task.last_agent_message.is_some();
        if error.is_none() && !is_answered && self.state.is_waiting && !self.state.is_failed {
            // Codex does not log every error. The request failed that would have answered the prompt or the result.
            self.builder.fail_as(ErrorKind::Other, "");
        } else if !self.state.is_failed || is_answered {
            self.builder.succeed();
        }
        self.task_took(task.duration_ms);
        if self.builder.keeps_text() {
            self.builder.set_answer(task.last_agent_message.as_str());
        }
    }

    pub(super) fn error(&mut self, error: &MessageEvent<'_>, line: Line<'_>, time: Option<Time>) {
        let NamedError { name, kind, ends_turn } = NamedError::of(error.codex_error_info, error.message.as_str());
        if ends_turn {
            (self.has_ends, self.state.is_failed) = (true, true);
            self.builder.fail_as(kind, error.message.as_str());
        }
        let row = self.builder.event(EventKind::Error, At { line: line.number, time });
        row.message = error.message.some().map(brief);
        row.code = name;
    }
}
