//! Items of a thread. An item and a response item of the same id are the same call.

use super::items::{ActivityItem, CollaborationItem, CommandItem, Item, ItemCompleted, ToolItem};
use super::script::command_of_words;
use super::thread::{APPLY_PATCH, Logged, Thread};
use crate::adapters::engine::RecordKind;
use crate::adapters::formats::codex::common::{Edit, Outcome};
use crate::adapters::shared::at::At;
use crate::adapters::shared::subagents;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Count, Pairs, Text};
use crate::json::lines::Line;
use crate::model::session::{CallStatus, Operation};

/// The tool that runs a command.
pub(super) const EXEC_COMMAND: &str = "exec_command";

/// The source of a command that the user ran.
pub(super) const USER_SHELL: &str = "user_shell";

/// The call that an item reports.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reported {
    pub(super) call: usize,
    /// Whether a script made it, whose call this is.
    pub(super) is_nested: bool,
    /// Whether only the item contains it.
    is_new: bool,
}

impl Reported {
    /// A call that a script made.
    pub(super) const fn nested(call: usize) -> Self {
        Self { call, is_nested: true, is_new: false }
    }
}

impl Thread {
    pub(super) fn completed(&mut self, event: &ItemCompleted<'_>, line: Line<'_>, time: Option<Time>) -> RecordKind {
        let at = At { line: line.number, time };
        let logged = Logged { at, start: started_at(event.started_at_ms).or(time) };
        self.state.is_waiting &= matches!(event.item, Item::UserMessage(_));
        match &event.item {
            Item::UserMessage(it) => self.prompted(&it.text(), Some(it.id.as_str()), time),
            Item::AgentMessage(it) => {
                if self.builder.keeps_text() {
                    self.builder.set_answer(&it.text());
                }
            }
            Item::Command(it) => self.command_item(it, logged),
            Item::FileChange(it) => {
                let reported = self.reported(it.id.as_str(), APPLY_PATCH, None, logged);
                self.changed(reported, &it.changes, it.status.as_str(), logged);
            }
            Item::McpCall(it) => self.tool_item(it, logged),
            Item::DynamicCall(it) => self.tool_item(it, logged),
            Item::Collaboration(it) => self.collaboration(it, logged),
            Item::SubagentActivity(it) => self.activity(it, logged),
            Item::WebSearch(it) => self.searched(it.id.as_str(), it.query, line, time),
            Item::Extension(it) => match it.kind.as_str() {
                "web.search" => self.searched(it.id.as_str(), it.query, line, time),
                "clock.sleep" | "image_gen.generation" => {}
                _ => return RecordKind::Unknown,
            },
            Item::Compaction => self.compacted(line, time),
            Item::Unread => {}
            Item::Absent | Item::Wrong | Item::Other(_) => return RecordKind::Unknown,
        }
        RecordKind::Known
    }

    /// The call that an item or an event with the id `id` reports: the one of that id, else the script that made it, else a new one.
    pub(super) fn reported(&mut self, id: &str, tool: &str, command: Option<&str>, logged: Logged) -> Reported {
        if let Some(call) = self.builder.call_index(id) {
            return Reported { call, is_nested: false, is_new: false };
        }
        if let Some(call) = self.script_that_made(id, Some(tool), command) {
            return Reported::nested(call);
        }
        let call = self.builder.call(id, tool, At { time: logged.start, ..logged.at });
        self.state.next.made(call);
        Reported { call, is_nested: false, is_new: true }
    }

    fn command_item(&mut self, item: &CommandItem<'_>, logged: Logged) {
        // The user's own command, which the agent did not call.
        if item.source.as_str() == USER_SHELL {
            return;
        }
        let command = command_in(item.command);
        let reported = self.reported(item.id.as_str(), EXEC_COMMAND, command.as_deref(), logged);
        let exit_code = item.exit_code.whole();
        if reported.is_nested {
            self.script_ran(reported.call, command.as_deref(), exit_code);
        } else if reported.is_new {
            self.builder.command(reported.call, item.command, command.as_deref().unwrap_or_default());
            self.builder.result(reported.call, item.aggregated_output, logged.at.time, CallStatus::Incomplete);
        }
        let is_failed = item.status.as_str() == "failed" || exit_code.is_some_and(|it| it != 0);
        let row = &mut self.builder.session.tool_calls[reported.call];
        if !reported.is_nested {
            row.exit_code = exit_code.or(row.exit_code.get()).into();
            row.duration_ms = item.duration.milliseconds().or(row.duration_ms.get()).into();
        }
        let is_over = !matches!(item.status.as_str(), "in_progress" | "inProgress");
        self.ended(reported, is_over.then(|| status(item.status.as_str(), is_failed)), logged);
    }

    /// Adds the changes of an item or an event, which contain absolute paths; a patch contains those that the model wrote.
    pub(super) fn changed(&mut self, reported: Reported, changes: &Pairs<'_, Edit<'_>>, status: &str, logged: Logged) {
        let Pairs(changes) = changes;
        if !changes.is_empty() && self.state.stated_changes.insert(reported.call) {
            self.builder.forget_changes(reported.call);
        }
        for (path, edit) in changes {
            self.add_change(reported.call, path, edit, logged);
        }
        self.ended(reported, Some(self::status(status, false)), logged);
    }

    fn add_change(&mut self, call: usize, path: &str, edit: &Edit<'_>, logged: Logged) {
        let operation = Operation::from_word(edit.kind.as_str());
        edit.change(&mut self.builder, call, path, operation, logged.at);
    }

    fn tool_item(&mut self, item: &ToolItem<'_>, logged: Logged) {
        let reported = self.reported(item.id.as_str(), item.tool.as_str(), None, logged);
        if let Some(server) = item.server.some() {
            self.asked_server(reported, server);
        }
        let output = [item.result, item.content_items, item.error].into_iter().find(|it| !it.is_empty());
        if reported.is_new {
            self.builder.arguments(reported.call, item.arguments);
            self.builder.result(reported.call, output.unwrap_or_default(), logged.at.time, CallStatus::Incomplete);
        }
        if !reported.is_nested {
            let row = &mut self.builder.session.tool_calls[reported.call];
            row.duration_ms = item.duration.milliseconds().or(row.duration_ms.get()).into();
        }
        let is_failed =
            !item.error.is_empty() || item.success.0 == Some(false) || Outcome::of_result(item.result).is_error();
        self.ended(reported, Some(status(item.status.as_str(), is_failed)), logged);
    }

    /// The call goes to an MCP server. A script that also runs commands stays a shell call.
    pub(super) fn asked_server(&mut self, reported: Reported, server: &str) {
        if !reported.is_nested || self.builder.session.tool_calls[reported.call].category != "shell" {
            self.builder.mcp(reported.call, Some(server));
        }
    }

    fn collaboration(&mut self, item: &CollaborationItem<'_>, logged: Logged) {
        let reported = self.reported(item.id.as_str(), item.tool.as_str(), None, logged);
        if reported.is_new {
            self.builder.session.tool_calls[reported.call].category = "subagent".into();
        }
        if matches!(item.tool.as_str(), "spawnAgent" | "spawn_agent") {
            for child in item.receiver_thread_ids.iter().filter_map(Text::some) {
                self.spawned(child, item.id.as_str(), logged.at);
            }
        }
        self.ended(reported, Some(status(item.status.as_str(), false)), logged);
    }

    /// An agent can be started, addressed or interrupted; only a start makes it a subagent of this thread.
    pub(super) fn activity(&mut self, item: &ActivityItem<'_>, logged: Logged) {
        if item.kind.as_str() == "started"
            && let Some(child) = item.agent_thread_id.some()
        {
            self.spawned(child, item.call_id(), logged.at);
        }
    }

    pub(super) fn spawned(&mut self, child: &str, call_id: &str, at: At) {
        subagents::add(&mut self.builder, child, Some(call_id).filter(|id| !id.is_empty()), at);
    }

    /// How a reported call ended. A script fails with a call that it made, but succeeds only by itself.
    pub(super) fn ended(&mut self, reported: Reported, status: Option<CallStatus>, logged: Logged) {
        let Some(status) = status else { return };
        let row = &mut self.builder.session.tool_calls[reported.call];
        match status {
            CallStatus::Denied => self.builder.deny(reported.call, logged.at, None),
            _ if matches!(row.status, CallStatus::Denied | CallStatus::Cancelled) => {}
            CallStatus::Error => row.status = CallStatus::Error,
            other if !reported.is_nested => row.status = other,
            _ => {}
        }
    }
}

/// The status that an item states.
fn status(word: &str, is_failed: bool) -> CallStatus {
    match word {
        "declined" => CallStatus::Denied,
        "failed" => CallStatus::Error,
        "interrupted" => CallStatus::Cancelled,
        _ => CallStatus::from_error(is_failed),
    }
}

fn started_at(milliseconds: Count) -> Option<Time> {
    milliseconds.get()?.checked_mul(1000).map(Time::from_micros)
}

/// The command in an item: a list of words.
pub(super) fn command_in(command: Raw<'_>) -> Option<String> {
    if !command.is_list() {
        return Some(command.text().into_owned()).filter(|_| !command.is_empty());
    }
    let words: Vec<Text<'_>> = command.read();
    command_of_words(&words.iter().map(Text::as_str).collect::<Vec<_>>())
}
