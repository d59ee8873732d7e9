//! One session of Crush while its rows are read.

use foldhash::{HashSet, HashSetExt as _};

use super::records::{Data, Metadata, Part, Row};
use crate::adapters::engine::{Context, RecordErrors};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, Last, brief, money};
use crate::adapters::shared::changes;
use crate::json::Raw;
use crate::model::session::{CallStatus, EventKind, Identity, ModelTotal, Operation, SessionResult, Total};

/// Results of calls that the user refused, in any case of letters.
const REFUSALS: [&str; 3] = ["Permission denied", "User denied permission", "User cancelled this question"];

/// How results begin of calls that a hook of the user refused.
const REFUSALS_BY_HOOKS: [&str; 2] = ["Tool call blocked by hook.", "Turn halted by hook."];

/// Results of calls that had none when the user cancelled the answer.
const CANCELLATIONS: [&str; 2] = ["Tool execution canceled by user", "Error: user cancelled assistant tool calling"];

/// How results begin of subagents that failed.
const FAILED_SUBAGENTS: [&str; 2] = ["Failed to generate response", "error generating "];

/// A session while its rows are read.
pub(super) struct Session {
    pub(super) builder: Builder,
    /// Whether the database contains the session that started this one, and its cost includes this one's.
    pub(super) is_in_parent: bool,
    cost: Option<f64>,
    /// The ids of calls whose subagents' costs are not in this one: Crush adds a cost when the subagent ends without an error.
    without_cost: HashSet<String>,
    /// Whether the last message of the model has calls, but Crush does not go on after them.
    is_stopped: bool,
    /// The line of the last row.
    last_line: i64,
    /// The message that summarises the session, which versions before 2026 mark only here.
    summary: Option<String>,
    last: Last,
}

impl Session {
    pub(super) fn new(context: &Context, id: &str, line: i64) -> Self {
        Self {
            builder: Builder::new(context, id, line),
            is_in_parent: false,
            cost: None,
            without_cost: HashSet::new(),
            is_stopped: false,
            last_line: line,
            summary: None,
            last: Last::Work,
        }
    }

    /// Whether the cost of this session includes that of the subagent of a call.
    pub(super) fn includes_cost_of(&self, call: &str) -> bool {
        !self.without_cost.contains(call)
    }

    /// Fills in the row of the session.
    pub(super) fn facts(&mut self, row: &Row<'_>, line: i64, damage: &mut RecordErrors) {
        self.builder.extend_to(row.created_at.0);
        self.builder.session.parent_session_id = row.parent_session_id.owned();
        self.cost = money(row.cost, damage);
        self.summary = row.summary_message_id.owned();
        self.last_line = line;
    }

    pub(super) fn message(&mut self, row: &Row<'_>, line: i64) {
        self.last_line = line;
        let time = row.created_at.0;
        self.builder.extend_to(time);
        let parts: Vec<Part<'_>> = row.parts.read();
        match row.role.as_str() {
            "user" => self.user(row, &parts),
            "assistant" => self.assistant(row, &parts, line),
            "tool" => {
                for part in parts.iter().filter(|part| part.kind.as_str() == "tool_result") {
                    self.result(&part.data, At { line, time });
                }
            }
            _ => {}
        }
    }

    fn user(&mut self, row: &Row<'_>, parts: &[Part<'_>]) {
        // What the user typed into the shell (`!ls`) is a message too. The model reads it with the next prompt.
        if !parts.iter().any(|part| matches!(part.kind.as_str(), "text" | "image_url" | "binary")) {
            return;
        }
        self.last = Last::Work;
        // The prompt of a subagent is written by its parent.
        if self.builder.session.parent_session_id.is_none() {
            let text = parts.iter().find(|part| part.kind.as_str() == "text");
            let identity = Identity::Global(row.id.as_str().into());
            self.builder.prompt_as(identity, text.and_then(|part| part.data.text.some()));
        }
    }

    fn assistant(&mut self, row: &Row<'_>, parts: &[Part<'_>], line: i64) {
        let of_kind = |kind: &'static str| parts.iter().filter(move |part| part.kind.as_str() == kind);
        let finish = of_kind("finish").next_back().map(|part| &part.data);
        let ended = finish.and_then(|data| data.time.0).or(row.finished_at.0).or(row.created_at.0);
        self.builder.extend_to(ended);
        let text = of_kind("text").filter_map(|part| part.data.text.some()).next_back();
        let has_calls = of_kind("tool_call").next().is_some();
        let has_content = text.is_some() || has_calls || of_kind("reasoning").next().is_some();
        let mut turn = None;
        if has_content {
            let index = self.builder.turn(Identity::Global(row.id.as_str().into()), line);
            let new = &mut self.builder.session.turns[index];
            new.message_id = row.id.owned();
            new.model = row.model.owned();
            new.provider = row.provider.owned();
            new.occurred_at = ended;
            new.stop_reason = finish.and_then(|data| data.reason.owned());
            self.builder.session.stop_reason = finish.and_then(|data| data.reason.owned());
            turn = Some(index);
        }
        for part in of_kind("tool_call") {
            self.call(&part.data, turn, At { line, time: row.created_at.0 });
        }
        self.builder.set_answer(text.unwrap_or_default());
        let is_summary = row.is_summary_message.0 == Some(1.0) || self.summary.as_deref() == row.id.some();
        if is_summary {
            let event = self.builder.event(EventKind::Compaction, At { line, time: ended });
            event.key = Some(format!("compaction {}", row.id.as_str()).into());
        }
        self.end(finish, row, has_calls, line);
    }

    /// What a message of the model ends with.
    fn end(&mut self, finish: Option<&Data<'_>>, row: &Row<'_>, has_calls: bool, line: i64) {
        let Some(finish) = finish else {
            self.last = Last::Work;
            return;
        };
        let time = finish.time.0.or(row.created_at.0);
        let at = At { line, time };
        self.is_stopped = has_calls && finish.reason.as_str() == "end_turn";
        self.last = match finish.reason.as_str() {
            "end_turn" | "stop" if !has_calls => Last::Answer,
            "canceled" | "permission_denied" => Last::Abort,
            "error" | "content_filter" => {
                let message = match (finish.message.as_str(), finish.details.as_str()) {
                    (message, "") => message.to_owned(),
                    (message, details) => format!("{message}: {details}"),
                };
                self.builder.fail(None, &message);
                let event = self.builder.event(EventKind::Error, at);
                event.key = Some(format!("error {}", row.id.as_str()).into());
                event.code = Some(finish.reason.as_str().into());
                event.message = Some(brief(&message));
                Last::Error
            }
            _ => Last::Work,
        };
        if finish.reason.as_str() == "canceled" {
            let event = self.builder.event(EventKind::Abort, at);
            event.key = Some(format!("abort {}", row.id.as_str()).into());
        }
    }

    fn call(&mut self, data: &Data<'_>, turn: Option<usize>, at: At) {
        let text = data.input.text();
        let raw = Raw(text.as_bytes());
        let call = self.builder.call_of(turn, data.id.as_str(), data.name.as_str(), raw, at);
        let arguments = self.builder.arguments(call, raw);
        let row = &mut self.builder.session.tool_calls[call];
        row.args_bytes = data.input.len().into();
        self.without_cost.extend(data.id.owned());
        changes::add_named_file(&mut self.builder, call, &arguments, raw, Some(Operation::Update), at);
    }

    fn result(&mut self, data: &Data<'_>, at: At) {
        let Some(call) = self.builder.call_index(data.tool_call_id.as_str()) else { return };
        let metadata = data.metadata.text();
        let metadata: Metadata<'_> = Raw(metadata.as_bytes()).read();
        if self.builder.session.cwd.is_none() {
            self.builder.session.cwd = metadata.working_directory.owned();
        }
        let text = data.content.text();
        let is_shell = self.builder.session.tool_calls[call].category == "shell";
        let exit_code = if is_shell { exit_code(&text) } else { None };
        let is_error = data.is_error.is_true() || exit_code.is_some_and(|code| code != 0);
        let is_cancelled = data.is_error.is_true() && CANCELLATIONS.contains(&text.trim());
        let status = if is_cancelled { CallStatus::Cancelled } else { CallStatus::from_error(is_error) };
        self.builder.result(call, data.content, at.time, status);
        let row = &mut self.builder.session.tool_calls[call];
        row.exit_code = exit_code.into();
        let span = metadata.start_time.0.zip(metadata.end_time.0);
        row.duration_ms = span.and_then(|(start, end)| crate::json::fields::Number(Some(end - start)).rounded()).into();
        if data.is_error.is_true() && is_refusal(text.trim()) {
            self.builder.deny(call, at, Some(&text));
            if self.is_stopped {
                self.last = Last::Abort;
            }
        }
        let has_failed = FAILED_SUBAGENTS.iter().any(|start| text.starts_with(start));
        if !(is_cancelled || data.is_error.is_true() && has_failed) {
            self.without_cost.remove(data.tool_call_id.as_str());
        }
        if let (Some(added), Some(removed)) = (metadata.additions.rounded(), metadata.removals.rounded()) {
            let changes = self.builder.session.file_changes.iter_mut();
            for change in changes.filter(|change| change.call == Some(call)) {
                (change.lines_added, change.lines_removed) = (Some(added), Some(removed));
            }
        }
    }

    pub(super) fn finish(mut self) -> SessionResult {
        self.builder.end(self.last);
        let cost = self.cost.filter(|cost| *cost > 0.0 && !self.is_in_parent);
        if let Some(cost) = cost {
            // The cost is not divided by model.
            let turns = &self.builder.session.turns;
            let first = turns.first().and_then(|turn| turn.model.clone());
            let model = first.filter(|model| turns.iter().all(|turn| turn.model.as_ref() == Some(model)));
            self.builder.session.totals.push(Total {
                line: self.last_line,
                key: format!("crush {}", self.builder.session.session_id),
                cost: Some(cost),
                models: vec![ModelTotal { model, cost: Some(cost), ..ModelTotal::default() }],
                covers_subagents: true,
                ..Total::default()
            });
        }
        self.builder.finish()
    }
}

fn is_refusal(text: &str) -> bool {
    REFUSALS.iter().any(|words| text.eq_ignore_ascii_case(words))
        || REFUSALS_BY_HOOKS.iter().any(|start| text.starts_with(start))
}

/// The exit status that a shell command's result ends with, before the working directory.
fn exit_code(text: &str) -> Option<i64> {
    let (_, after) = text.rsplit_once("\nExit code ")?;
    let (code, rest) = after.split_once('\n').unwrap_or((after, ""));
    let rest = rest.trim();
    let is_end = rest.is_empty() || rest.starts_with("<cwd>");
    code.trim().parse().ok().filter(|_| is_end)
}
