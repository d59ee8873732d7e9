//! Calls of an agent that OpenHands runs by the Agent Client Protocol, such as Claude Code or Codex.

use serde::Deserialize;

use super::conversation::Conversation;
use crate::adapters::shared::at::At;
use crate::adapters::shared::changed_lines::{ChangedLines, Sketch};
use crate::adapters::shared::{changes, subagents, tools};
use crate::json::Raw;
use crate::json::fields::{Flag, Number, Text};
use crate::model::session::Operation;

/// An `ACPToolCallEvent`: one when the call begins, and one when it ends, which repeats what the first one contains.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct CallEvent<'a> {
    tool_call_id: Text<'a>,
    title: Text<'a>,
    status: Text<'a>,
    tool_kind: Text<'a>,
    raw_input: Raw<'a>,
    raw_output: Raw<'a>,
    content: Raw<'a>,
    is_error: Flag,
    parent_tool_call_id: Text<'a>,
}

/// What decides the category where the protocol's kind does not.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Input<'a> {
    subagent_type: Text<'a>,
    todos: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Output {
    exit_code: Number,
}

/// A block of the content. The names are those of Python or those of the protocol.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Block<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    path: Text<'a>,
    #[serde(alias = "oldText")]
    old_text: Text<'a>,
    #[serde(alias = "newText")]
    new_text: Text<'a>,
}

impl Block<'_> {
    /// The text that is replaced; without one, the file is written as a whole.
    fn old(&self) -> Option<&str> {
        self.old_text.0.as_deref()
    }
}

impl Conversation {
    /// Adds an event of a call, or what it adds to a known call.
    pub(super) fn acp_call(&mut self, raw: &[u8], at: At) {
        let event: CallEvent<'_> = Raw(raw).read();
        let Some(id) = event.tool_call_id.some() else { return };
        let is_end = event.is_error.is_true() || matches!(event.status.as_str(), "completed" | "failed");
        // Where each event is a file, another file contains the beginning.
        let begin = At { time: at.time.filter(|_| !(is_end && self.is_part)), ..at };
        let call = self.builder.call(id, tool_name(&event), begin);
        let blocks: Vec<Block<'_>> = event.content.read();
        let diffs: Vec<&Block<'_>> =
            blocks.iter().filter(|it| it.kind.as_str() == "diff" && it.path.some().is_some()).collect();
        self.describe(call, &event, &diffs);
        let arguments = self.builder.arguments(call, event.raw_input);
        if self.builder.session.tool_calls[call].category == "subagent" {
            let row = &self.builder.session.tool_calls[call];
            let begin = At { line: row.line, time: row.occurred_at };
            if let Some(row) = subagents::add(&mut self.builder, id, Some(id), begin) {
                row.agent = arguments.agent();
            }
        }
        if diffs.is_empty() {
            let replaces = Some(Operation::Update);
            changes::add_named_file(&mut self.builder, call, &arguments, event.raw_input, replaces, at);
        } else {
            self.diffs(call, &diffs, at);
        }
        if is_end {
            let exit_code = event.raw_output.read::<Output>().exit_code.whole();
            let content = if event.raw_output.is_empty() { event.content } else { event.raw_output };
            let is_error = event.is_error.is_true() || event.status.as_str() == "failed";
            self.end_call(call, content, exit_code, is_error, at.time);
        }
        if let Some(parent) = event.parent_tool_call_id.some() {
            self.builder.session.tool_calls[call].is_subagent = true;
            self.has_started(parent);
        }
    }

    /// Sets the category of a call, from the protocol's kind and from what the arguments and the content contain.
    fn describe(&mut self, call: usize, event: &CallEvent<'_>, diffs: &[&Block<'_>]) {
        let input: Input<'_> = event.raw_input.read();
        let writes = !diffs.is_empty() && diffs.iter().all(|diff| diff.old().is_none());
        let row = &mut self.builder.session.tool_calls[call];
        let category = match event.tool_kind.as_str() {
            _ if input.subagent_type.some().is_some() => "subagent",
            "edit" if writes => "write",
            "edit" | "delete" | "move" => "edit",
            "execute" => "shell",
            "read" => "read",
            "search" => "search",
            "fetch" => "web",
            "switch_mode" => "plan",
            "think" if !input.todos.is_empty() => "plan",
            _ => return,
        };
        row.category = category.into();
        if let (Some(diff), None) = (diffs.first(), &row.target) {
            row.target = Some(diff.path.as_str().into());
        }
    }

    /// Adds the files that the diffs of a call change. Several diffs of a file are added up.
    fn diffs(&mut self, call: usize, diffs: &[&Block<'_>], at: At) {
        let mut files: Vec<(&str, Option<ChangedLines>)> = Vec::new();
        for diff in diffs {
            let (path, new) = (diff.path.as_str(), diff.new_text.as_str());
            let Some(old) = diff.old() else {
                // It may replace a file that existed.
                let change = self.builder.change(call, path, None, None, at);
                self.builder.sketch(change, Some(Sketch::of_text(new)));
                continue;
            };
            let lines = tools::changed_lines(old, new);
            match files.iter_mut().find(|(known, _)| *known == path) {
                Some((_, sum)) => *sum = sum.take().zip(lines).map(|(sum, lines)| sum.plus(lines)),
                None => files.push((path, lines)),
            }
        }
        for (path, lines) in files {
            self.builder.change(call, path, Some(Operation::Update), lines, at);
        }
    }

    /// The call started a subagent, as another call belongs to it.
    fn has_started(&mut self, parent: &str) {
        let Some(call) = self.builder.call_index(parent) else {
            // The other file has its event.
            self.builder.session.subagents.insert(parent.into());
            return;
        };
        let row = &mut self.builder.session.tool_calls[call];
        row.category = "subagent".into();
        let begin = At { line: row.line, time: row.occurred_at };
        subagents::add(&mut self.builder, parent, Some(parent), begin);
    }
}

/// The name of a tool. The protocol has no names, but a kind, and a title for humans. That of an unknown tool is its name.
fn tool_name<'e>(event: &'e CallEvent<'_>) -> &'e str {
    const LONGEST: usize = 80;
    let title = event.title.as_str();
    let is_name = !title.is_empty() && title.len() <= LONGEST && !title.contains(char::is_whitespace);
    match event.tool_kind.some() {
        Some(kind) if kind != "other" => kind,
        _ if is_name => title,
        _ => "other",
    }
}
