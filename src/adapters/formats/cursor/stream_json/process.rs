//! One process of Cursor CLI while its records are read.

use std::borrow::Cow;

use super::records::{Failure, Outcome, OwnArguments, Record, ToolCall};
use crate::adapters::engine::RecordErrors;
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, brief};
use crate::adapters::shared::changed_lines::ChangedLines;
use crate::adapters::shared::ids::hashed_id;
use crate::adapters::shared::tools::{self, Arguments};
use crate::adapters::shared::{subagents, usage};
use crate::base::split;
use crate::json::Raw;
use crate::json::fields::Count;
use crate::json::lines::Line;
use crate::model::session::{CallStatus, EventKind, Identity, ModelTotal, Operation, Tokens, Total, TotalKind};

/// A process while its records are read.
pub(super) struct Process {
    pub(super) builder: Builder,
    /// The number of the attempt that connects again.
    pub(super) reconnection: Option<i64>,
}

/// Outcomes of calls that did their work, beside `success`: those of `await`, `recordScreen`, `askQuestion` and `switchMode`.
const DONE: [&str; 8] =
    ["complete", "registered", "approved", "async", "stillRunning", "startSuccess", "saveSuccess", "discardSuccess"];

impl Process {
    pub(super) fn record(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut RecordErrors) {
        let time = record.timestamp_ms.0;
        self.builder.extend_to(time);
        match record.kind.as_str() {
            "system" => {
                let session = &mut self.builder.session;
                session.model = record.model.owned().or(session.model.take());
                session.cwd = record.cwd.owned().or(session.cwd.take());
            }
            "user" => self.builder.prompt(Some(&record.message.content.joined(|it| it.text.as_str()))),
            // Deltas, which have a time and no response id, are skipped: their text is logged again as a whole.
            "assistant" if record.model_call_id.is_some() || time.is_none() => {
                self.turn(record, line);
                self.builder.set_answer(&record.message.content.joined(|it| it.text.as_str()));
            }
            "tool_call" => self.tool_call(record, line),
            "connection" | "retry" => self.retry(record, At { line: line.number, time }),
            "result" => self.result(record, line, damage),
            "error" => {
                let message = message_of(record.error);
                self.builder.fail(None, &message);
                self.builder.event(EventKind::Error, At { line: line.number, time }).message = Some(brief(&message));
            }
            _ => {}
        }
    }

    /// An attempt connects again, then starts its request again: both are one retry.
    fn retry(&mut self, record: &Record<'_>, at: At) {
        let attempt = record.attempt.whole();
        let is_new = match (record.kind.as_str(), record.subtype.as_str()) {
            ("connection", "reconnecting") => {
                self.reconnection = attempt;
                true
            }
            ("retry", "starting") => {
                let known = self.reconnection.take();
                known.is_none() || known != attempt
            }
            _ => false,
        };
        if is_new {
            self.builder.event(EventKind::Retry, at);
        }
    }

    /// The response to which a record belongs; the last response of a process has no id.
    fn turn(&mut self, record: &Record<'_>, line: Line<'_>) -> usize {
        let identity = record.model_call_id.owned().map_or(Identity::Unique, Identity::Session);
        let index = self.builder.turn(identity, line.number);
        let model = self.builder.session.model.clone();
        let turn = &mut self.builder.session.turns[index];
        turn.occurred_at = turn.occurred_at.or(record.timestamp_ms.0);
        turn.model = turn.model.take().or(model);
        index
    }

    fn tool_call(&mut self, record: &Record<'_>, line: Line<'_>) {
        let time = record.timestamp_ms.0;
        let is_tool = |member: &&(Cow<'_, str>, Raw<'_>)| member.1.is_object();
        let Some((key, raw)) = record.tool_call.0.iter().find(is_tool) else { return };
        let inner: ToolCall<'_> = raw.read();
        let text = inner.arguments.text();
        let args = if inner.args.is_empty() { Raw(text.as_bytes()) } else { inner.args };
        let own: OwnArguments<'_> = args.read();
        let category = category(key);
        let tool = match category {
            "mcp" => own.name.some().or(own.tool_name.some()).unwrap_or(key),
            _ => inner.name.some().unwrap_or(key),
        };
        let inner_id = || record.tool_call.0.iter().find(|(key, _)| key == "toolCallId");
        let id = record.call_id.owned().or_else(|| inner_id().map(|(_, id)| id.text().into_owned()));
        let id = id.unwrap_or_default();
        let at = At { line: line.number, time };
        let turn = record.model_call_id.is_some().then(|| self.turn(record, line));
        let call = match record.subtype.as_str() {
            "started" => self.builder.call_of(turn, &id, tool, args, at),
            _ => self.builder.call(&id, tool, at),
        };
        let row = &mut self.builder.session.tool_calls[call];
        row.category = category.into();
        row.mcp_server = own.provider_identifier.owned().or_else(|| own.server_identifier.owned());
        row.turn = turn.or(row.turn);
        let arguments = self.builder.arguments(call, args);
        if category == "subagent"
            && let Some(event) = subagents::add(&mut self.builder, &id, Some(&id), at)
        {
            event.agent = own.agent();
        }
        if record.subtype.as_str() == "completed" {
            self.call_result(call, key, &inner, &arguments, at);
        }
    }

    fn call_result(&mut self, call: usize, key: &str, inner: &ToolCall<'_>, arguments: &Arguments<'_>, at: At) {
        let is_outcome = |member: &&(Cow<'_, str>, Raw<'_>)| member.1.is_object();
        let (name, raw) = inner
            .result
            .0
            .iter()
            .find(is_outcome)
            .map_or(("success", Raw::default()), |(name, raw)| (name.as_ref(), *raw));
        let outcome: Outcome<'_> = raw.read();
        let row = &mut self.builder.session.tool_calls[call];
        row.exit_code = outcome.exit_code.whole().into();
        row.duration_ms = outcome.execution_time.rounded().into();
        let has_failed = outcome.is_error.is_true() || row.exit_code.get().is_some_and(|it| it != 0);
        // A permission of the file system is an error; of a command or an MCP call it is a refusal.
        let is_refused =
            name == "rejected" || (name == "permissionDenied" && matches!(row.category.as_ref(), "shell" | "mcp"));
        let is_done = name == "success" || DONE.contains(&name);
        let is_edit = matches!(row.category.as_ref(), "edit" | "write");
        self.builder.result(call, raw, at.time, CallStatus::from_error(!is_done || has_failed));
        if is_refused {
            self.builder.deny(call, at, outcome.reason.some());
        } else if let Some(path) = outcome.path.some().or(arguments.file()).filter(|_| is_edit) {
            let diff = outcome.diff_string.as_str();
            let before = outcome.before_full_file_content.0.as_deref();
            let operation = if key == "deleteToolCall" {
                Some(Operation::Delete)
            } else if outcome.lines_created != Count::Unknown || before == Some("") || diff.contains("--- /dev/null") {
                Some(Operation::Create)
            } else {
                before.map(|_| Operation::Update)
            };
            let counted = outcome.lines_added.get().zip(outcome.lines_removed.get());
            let counted = counted.or_else(|| outcome.lines_created.get().map(|created| (created, 0)));
            let shown = || outcome.diff_string.some().map(|diff| tools::diff_lines(split::lines(diff)));
            let counted = counted.map(ChangedLines::counted);
            let lines = counted.map(|lines| lines.or_sketch(|| shown()?.sketch)).or_else(shown);
            self.builder.change(call, path, operation, lines, at);
        }
    }

    fn result(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut RecordErrors) {
        let mut models = Vec::new();
        let mut is_minimum = false;
        if let Some(usage) = usage::present(&record.usage, damage) {
            let time = self.builder.session.ended_at;
            let tokens = usage.tokens(time, damage);
            is_minimum = usage.is_ambiguous(time);
            if tokens != Tokens::UNKNOWN {
                let model = self.builder.session.model.clone();
                models.push(ModelTotal { model, tokens, ..ModelTotal::default() });
            }
        }
        self.builder.session.totals.push(Total {
            line: line.number,
            key: record.request_id.owned().unwrap_or_else(|| hashed_id(line.bytes)),
            kind: TotalKind::Process,
            occurred_at: record.timestamp_ms.0,
            duration_ms: record.duration_ms.rounded(),
            api_duration_ms: record.duration_api_ms.rounded(),
            models,
            covers_subagents: true,
            is_minimum,
            ..Total::default()
        });
        self.builder.set_answer(record.result.as_str());
        if record.subtype.as_str() == "success" && !record.is_error.is_true() {
            self.builder.succeed();
            return;
        }
        let stated = message_of(record.error);
        let message = if stated.is_empty() { record.result.as_str() } else { &stated };
        self.builder.fail(None, message);
        let event = self.builder.event(EventKind::Error, At { line: line.number, time: record.timestamp_ms.0 });
        event.code = record.subtype.owned();
        event.message = Some(brief(message));
    }
}

/// The message of an error: a string, or the `message` of an object.
fn message_of(error: Raw<'_>) -> Cow<'_, str> {
    if error.is_string() {
        return error.text();
    }
    error.read::<Failure<'_>>().message.into_inner().unwrap_or_default()
}

/// The category of a tool. The runtime's names end in `ToolCall`.
fn category(key: &str) -> &'static str {
    let name = key.strip_suffix("ToolCall").unwrap_or(key);
    match name {
        "mcp" => "mcp",
        "delete" | "editNotebook" => "edit",
        "semSearch" => "search",
        "todo" | "readTodos" | "createPlan" => "plan",
        "writeShellStdin" | "awaitShell" => "shell",
        _ => tools::category(name),
    }
}
