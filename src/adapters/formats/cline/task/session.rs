//! One task of Cline or of its forks while the records of a file are read.

use std::collections::BTreeSet;

use super::records::{HISTORY, Record, Request, ServerName, VIEW, hides_cache_writes};
use crate::adapters::engine::{Context, Fold, RecordErrors, RecordKind};
use crate::adapters::shared::at::At;
use crate::adapters::shared::blocks::Block;
use crate::adapters::shared::builder::{Builder, Last, brief, money};
use crate::adapters::shared::changes;
use crate::adapters::shared::ids::hashed_id;
use crate::base::text::{SharedStr, Symbol};
use crate::base::time::Time;
use crate::json::lines::Line;
use crate::json::{self, Raw};
use crate::model::health::Reason;
use crate::model::session::{CallStatus, Capabilities, Cost, EventKind, Identity, SessionResult};

/// The records of one file of a task.
pub(super) struct Task {
    context: Context,
    session: Option<Session>,
}

/// A session while the records of a file are read.
struct Session {
    builder: Builder,
    runtime: &'static str,
    /// What the records so far can show.
    capabilities: Capabilities,
    /// Time of the first message. With the time of a message, it is the message's identity in every copy of the directory.
    first: Option<Time>,
    models: BTreeSet<Symbol>,
    /// The last `conversationHistoryDeletedRange`.
    deleted: Vec<u8>,
    /// Number of messages so far.
    messages: usize,
    /// Whether the last request has no counts: it was cut, or it failed.
    is_open: bool,
    /// What `ui_messages.json` ends with so far. A question to the user is an answer.
    last: Last,
}

impl Fold for Task {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), session: None }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        let is_view = matches!(record.kind.as_str(), "ask" | "say");
        let is_history = record.kind.some().is_none() && matches!(record.role.as_str(), "user" | "assistant");
        let is_item = !is_view && !is_history && !record.tokens_in.is_empty();
        if !is_view && !is_history && !is_item && record.files_in_context.is_empty() {
            return RecordKind::Unknown;
        }
        let context = &self.context;
        let of_item = || record.id.some().filter(|_| is_item).map(str::to_owned);
        let id = || context.directory_id.clone().or_else(of_item).unwrap_or_else(|| hashed_id(line.bytes));
        let session = self.session.get_or_insert_with(|| Session::new(context, id(), line.number));
        if is_item {
            // Its time is that of the last message, and its counts are sums over the messages.
            let session = &mut session.builder.session;
            session.parent_session_id = record.parent_task_id.some().map(str::to_owned);
            session.cwd = record.workspace.some().map(str::to_owned);
            session.agent = record.mode.owned();
            return RecordKind::Known;
        }
        session.builder.extend_to(record.ts.0);
        session.first = session.first.or(record.ts.0);
        if is_view {
            session.capabilities = session.capabilities.and(VIEW);
            session.view(&record, line.number, damage);
            session.builder.name_events(None, line.bytes);
        } else if is_history {
            session.capabilities = session.capabilities.and(HISTORY);
            session.history(&record, line.number);
        } else {
            session.metadata(&record);
        }
        RecordKind::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.session.map(Session::finish).into_iter().collect()
    }
}

impl Session {
    fn new(context: &Context, id: String, line: i64) -> Self {
        Self {
            builder: Builder::new(context, id, line),
            runtime: context.runtime,
            capabilities: Capabilities::NOTHING,
            first: None,
            models: BTreeSet::new(),
            deleted: Vec::new(),
            messages: 0,
            is_open: false,
            last: Last::Work,
        }
    }

    fn finish(self) -> SessionResult {
        let (mut builder, mut models) = (self.builder, self.models.into_iter());
        builder.session.model = models.next().filter(|_| models.next().is_none());
        builder.session.under_reports |= self.is_open;
        builder.session.capabilities = self.capabilities.and(Capabilities::KEPT_BY_RUNTIME);
        builder.end(self.last);
        builder.finish()
    }

    fn metadata(&mut self, record: &Record<'_>) {
        self.models.extend(record.model_usage.iter().filter_map(|it| it.model_id.owned()));
        if let Some(last) = record.environment_history.last() {
            self.builder.session.runtime_version = last.cline_version.owned();
            self.builder.session.entrypoint = last.host_name.owned();
        }
    }

    fn identity(&self, record: &Record<'_>) -> Identity {
        match self.first.zip(record.ts.0) {
            Some((first, ts)) => {
                Identity::Global(format!("{} {} {}", self.runtime, first.micros(), ts.micros()).into())
            }
            None => Identity::Unique,
        }
    }

    fn view(&mut self, record: &Record<'_>, line: i64, damage: &mut RecordErrors) {
        let (time, text) = (record.ts.0, record.text.as_str());
        let is_first = self.messages == 0;
        self.messages += 1;
        if record.partial.is_true() {
            self.last = Last::Work;
            return;
        }
        let at = At { line, time };
        // Cline removes messages from the history that it sends to the model.
        if !record.deleted_range.is_empty() && record.deleted_range.0 != self.deleted {
            record.deleted_range.0.clone_into(&mut self.deleted);
            self.builder.event(EventKind::Compaction, at);
        }
        match (record.say.as_str(), record.ask.as_str()) {
            ("api_req_started", _) => self.request(record, line, damage),
            ("subagent_usage" | "deleted_api_reqs", _) => self.sum_of_requests(record, line, damage),
            ("condense_context", _) => {
                let event = self.builder.event(EventKind::Compaction, at);
                event.tokens_before = record.condense.prev_context_tokens.get();
                event.tokens_after = record.condense.new_context_tokens.get();
                if let Some(total) = money(record.condense.cost, damage).filter(|it| *it > 0.0) {
                    let turn = self.turn(record, line);
                    self.builder.session.turns[turn].cost = Some(Cost::of(total));
                }
            }
            ("sliding_window_truncation", _) => {
                let event = self.builder.event(EventKind::Compaction, at);
                event.tokens_before = record.truncation.prev_context_tokens.get();
                event.tokens_after = record.truncation.new_context_tokens.get();
            }
            ("api_req_retried" | "api_req_retry_delayed" | "error_retry", _) => {
                self.builder.event(EventKind::Retry, at).message = Some(brief(text));
            }
            ("task" | "user_feedback", _) => {
                self.builder.prompt_as(self.identity(record), Some(text));
                self.last = Last::Work;
            }
            // Older versions have no type for the task: it is the first message.
            ("text", _) if is_first => self.builder.prompt_as(self.identity(record), Some(text)),
            ("text", _) => {
                self.builder.set_answer(text);
                self.last = Last::Answer;
            }
            ("completion_result", _) => {
                self.builder.set_answer(text);
                self.last = Last::Answer;
            }
            (
                _,
                "completion_result" | "resume_completed_task" | "followup" | "plan_mode_respond" | "act_mode_respond",
            ) => {
                self.last = Last::Answer;
            }
            ("error", _) | (_, "api_req_failed" | "mistake_limit_reached") => {
                let event = self.builder.event(EventKind::Error, at);
                event.code = record.ask.owned();
                event.message = Some(brief(text));
                if record.ask.some().is_some() {
                    self.is_open = false;
                    self.builder.fail(None, text);
                    self.last = Last::Error;
                }
            }
            (_, "tool" | "command" | "use_mcp_server" | "browser_action_launch") | ("tool" | "command", _) => {
                self.last = Last::Work;
            }
            // The text of some types is JSON.
            (say, _) if text.starts_with('{') && say != "task" => {
                damage.unread_counts(&format!("say/{say}"), Raw(text.as_bytes()));
            }
            _ => {}
        }
    }

    fn turn(&mut self, record: &Record<'_>, line: i64) -> usize {
        let index = self.builder.turn(self.identity(record), line);
        let turn = &mut self.builder.session.turns[index];
        turn.occurred_at = record.ts.0;
        turn.model = record.model_info.model_id.owned();
        turn.provider = record.model_info.provider_id.owned();
        index
    }

    /// Adds a turn for the sum of several requests.
    fn sum_of_requests(&mut self, record: &Record<'_>, line: i64, damage: &mut RecordErrors) {
        let Ok(request) = json::from_slice::<Request<'_>>(record.text.as_str().as_bytes()) else {
            return damage.note(Reason::NoUsage);
        };
        let index = self.turn(record, line);
        let turn = &mut self.builder.session.turns[index];
        turn.is_subagent = record.say.as_str() == "subagent_usage";
        turn.tokens = request.tokens(false, damage).into();
        turn.cost = money(request.cost, damage).map(Cost::of);
    }

    fn request(&mut self, record: &Record<'_>, line: i64, damage: &mut RecordErrors) {
        let time = record.ts.0;
        self.last = Last::Work;
        self.builder.session.under_reports |= self.is_open;
        self.is_open = false;
        let Ok(request) = json::from_slice::<Request<'_>>(record.text.as_str().as_bytes()) else {
            damage.note(Reason::NoUsage);
            self.builder.session.under_reports = true;
            return;
        };
        let includes_cached = request.includes_cached(self.runtime, record.model_info.provider_id.as_str(), time);
        let mut tokens = request.tokens(includes_cached, damage);
        if self.runtime == "cline" && hides_cache_writes(&record.model_info) && tokens.cache_write == Some(0) {
            tokens.cache_write = None;
            self.builder.session.under_reports = true;
        }
        let is_cut = request.cancel_reason.some().is_some();
        let has_counts = request.tokens_in.get().is_some() || request.tokens_out.get().is_some();
        if tokens.total().is_some() || has_counts && !is_cut {
            let turn = self.turn(record, line);
            let turn = &mut self.builder.session.turns[turn];
            turn.tokens = tokens.into();
            turn.cost = money(request.cost, damage).map(Cost::of);
            turn.stop_reason = request.cancel_reason.owned();
        } else {
            // Its tokens are unknown, unless a later record shows that it failed.
            self.is_open = true;
        }
        let at = At { line, time };
        match request.cancel_reason.as_str() {
            "" => {}
            "user_cancelled" => {
                self.builder.event(EventKind::Abort, at);
                self.last = Last::Abort;
            }
            reason => {
                let words = request.streaming_failed_message.as_str();
                self.builder.fail(None, words);
                self.last = Last::Error;
                let event = self.builder.event(EventKind::Error, at);
                event.code = Some(reason.into());
                event.message = Some(brief(words));
            }
        }
    }

    fn history(&mut self, record: &Record<'_>, line: i64) {
        let (at, message) = (At { line, time: record.ts.0 }, self.messages);
        self.messages += 1;
        let is_user = record.role.as_str() == "user";
        let mut blocks = record.content.blocks.iter().enumerate().peekable();
        while let Some((number, block)) = blocks.next() {
            match block.kind.as_str() {
                "tool_use" => {
                    let call = self.builder.call_of(None, block.id.as_str(), block.name.as_str(), block.input, at);
                    let arguments = self.builder.arguments(call, block.input);
                    let row = &mut self.builder.session.tool_calls[call];
                    // It ends the task. Only an answer of the user would be logged as its result.
                    if row.tool == "attempt_completion" {
                        row.status = CallStatus::Ok;
                    }
                    row.mcp_server = block.input.read::<ServerName<'_>>().server_name.owned().or(row.mcp_server.take());
                    match arguments.patch() {
                        Some(patch) if row.category == "edit" && patch.contains("*** Begin Patch") => {
                            self.builder.patch(call, patch, at);
                        }
                        _ => changes::add_named_file(&mut self.builder, call, &arguments, block.input, None, at),
                    }
                }
                "tool_result" => {
                    if let Some(call) = self.builder.call_index(block.tool_use_id.as_str()) {
                        result(&mut self.builder, call, block.content, block.is_error.is_true(), at);
                    }
                }
                "text" if is_user && block.text.as_str().starts_with("<environment_details>") => {
                    self.environment(block.text.as_str());
                }
                "text" if is_user => {
                    let Some((tool, target)) = described_call(block.text.as_str()) else { continue };
                    let call = self.builder.call(&format!("{message}.{number}"), tool, at);
                    set_target(&mut self.builder, call, target, at);
                    let text = blocks.next_if(|(_, it)| it.kind.as_str() == "text").map(|(_, it)| it.text.as_str());
                    let quoted = text.and_then(|it| serde_json::to_string(it).ok()).unwrap_or_default();
                    result(&mut self.builder, call, Raw(quoted.as_bytes()), false, at);
                }
                _ => {}
            }
        }
    }

    /// Reads the description of the environment that each prompt contains for the model.
    fn environment(&mut self, text: &str) {
        let between = |start: &str, end: &str| {
            let (_, rest) = text.split_once(start)?;
            rest.split_once(end).map(|(it, _)| it.trim()).filter(|it| !it.is_empty())
        };
        self.models.extend(between("<model>", "</model>").map(Symbol::new));
        let cwd = || {
            between("# Current Working Directory (", ") Files")
                .or_else(|| between("# Current Workspace Directory (", ") Files"))
                .filter(|it| it.contains(['/', '\\']))
        };
        let session = &mut self.builder.session;
        session.cwd = session.cwd.take().or_else(|| cwd().map(str::to_owned));
        session.agent = between("<slug>", "</slug>").map(Symbol::new).or(session.agent.take());
    }
}

/// The tool and its target, from the first line of a result in text form: `[read_file for 'a.ts'] Result:`.
fn described_call(text: &str) -> Option<(&str, Option<&str>)> {
    let inner = text.strip_prefix('[')?.strip_suffix("] Result:")?;
    let (tool, target) = match inner.split_once(" for '") {
        Some((tool, target)) => (tool, target.strip_suffix('\'')),
        None => (inner, None),
    };
    let is_name = !tool.is_empty() && tool.bytes().all(|it| it.is_ascii_lowercase() || it == b'_');
    is_name.then_some((tool, target))
}

/// Sets the target of a call that is described in text form.
fn set_target(builder: &mut Builder, call: usize, target: Option<&str>, at: At) {
    let row = &mut builder.session.tool_calls[call];
    match row.category.as_ref() {
        "shell" => target.into_iter().for_each(|command| builder.only_command(call, command)),
        "read" => row.target = target.map(SharedStr::from),
        "edit" | "write" => {
            row.target = target.map(SharedStr::from);
            if let Some(path) = target {
                builder.change(call, path, None, None, at);
            }
        }
        "mcp" => row.mcp_server = target.map(Symbol::new),
        _ => {}
    }
}

fn result(builder: &mut Builder, call: usize, raw: Raw<'_>, is_error: bool, at: At) {
    const DENIED: [&str; 2] = ["The user denied this operation", "{\"status\":\"denied\""];
    const FAILED: [&str; 2] = ["The tool execution failed", "{\"status\":\"error\""];
    let text = match raw.0.first() {
        Some(b'[') => {
            let blocks: Vec<Block<'_>> = raw.read();
            blocks.iter().map(|it| it.text.as_str()).collect()
        }
        _ => raw.text(),
    };
    let begins = |words: &[&str]| words.iter().any(|it| text.starts_with(it));
    builder.result(call, raw, at.time, CallStatus::from_error(is_error || begins(&FAILED)));
    let row = &mut builder.session.tool_calls[call];
    if row.category == "shell" {
        row.exit_code = exit_code(&text).or(row.exit_code.get()).into();
    }
    if begins(&DENIED) {
        builder.deny(call, at, Some(&text));
    }
}

/// The exit code in the result of a command. Roo Code writes it before the output, or before what it stored of that
/// (`ExecuteCommandTool.ts` of 3.52.1), Cline since February 2026 at the beginning (`CommandOrchestrator.ts`).
fn exit_code(text: &str) -> Option<i64> {
    // What the user wrote when approving the command precedes the result.
    let text = match text.strip_prefix("{\"status\":\"approved\"") {
        Some(rest) => rest.split_once("\n\n")?.1,
        None => text,
    };
    if text.starts_with("Command executed successfully (exit code 0).") {
        return Some(0);
    }
    if let Some(rest) = text.strip_prefix("Command failed with exit code ") {
        return rest.lines().next()?.strip_suffix('.')?.parse().ok();
    }
    let (head, _) = text.strip_prefix("Command executed in ")?.split_once("\nOutput")?;
    let (_, code) = head.rsplit_once("Exit code: ")?;
    code.trim_end().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_precedes_the_output() {
        let failed = "Command execution was not successful, inspect the cause and adjust as needed.\nExit code: 2";
        for (text, code) in [
            (
                format!("Command executed in terminal within working directory '/w'. {failed}\nOutput:\nExit code: 7"),
                Some(2),
            ),
            ("Command executed in terminal within working directory '/w'. Exit code: 0\nOutput:\n".to_owned(), Some(0)),
            (
                format!("Command executed in '/w'. {failed}\n\nOutput (12.0KB) persisted. Artifact ID: cmd-1.txt"),
                Some(2),
            ),
            (
                format!(
                    "{{\"status\":\"approved\",\"feedback\":\"ok\"}}\n\nCommand executed in '/w'. {failed}\nOutput:\n"
                ),
                Some(2),
            ),
            ("Command executed in '/w'. Exit code: <undefined, notify user>\nOutput:\nExit code: 1".to_owned(), None),
            ("Command executed in '/w'. Process terminated by signal SIGKILL\nOutput:\n".to_owned(), None),
            ("Command executed successfully (exit code 0).\nOutput:\nok".to_owned(), Some(0)),
            ("Command failed with exit code 3.\nOutput:\nx".to_owned(), Some(3)),
            ("Command executed.\nOutput:\nExit code: 1".to_owned(), None),
            ("{\"status\":\"approved\"}".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(exit_code(&text), code, "{text}");
        }
    }
}
