//! One session of Qwen Code while its records are read.

use std::borrow::Cow;

use foldhash::{HashMap, HashMapExt as _, HashSet, HashSetExt as _};

use super::records::{Answer, Part, Record};
use crate::adapters::engine::{Context, RecordErrors};
use crate::adapters::formats::gemini::chat::{REFUSALS, end_of_success, exit_code};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, Last, brief};
use crate::adapters::shared::changed_lines::ChangedLines;
use crate::adapters::shared::usage;
use crate::base::text::{SharedStr, Symbol};
use crate::base::time::Time;
use crate::json::fields::Maybe;
use crate::json::lines::Line;
use crate::model::session::{CallStatus, EventKind, Identity, Operation, SessionResult, Tokens, ToolCall};

/// What the main agent's conversation ends with so far.
#[derive(Debug, PartialEq)]
enum Ending {
    Other,
    Answer,
    /// A `turn_result` of the runtime, or a failed request: the status is set already.
    End,
}

/// A request in the telemetry.
struct Request {
    line: i64,
    uuid: String,
    time: Option<Time>,
    prompt: Option<i64>,
    tokens: Tokens,
    message_id: Option<SharedStr>,
    model: Option<Symbol>,
    duration_ms: Option<i64>,
    agent: Option<Symbol>,
    agent_id: Option<Symbol>,
}

/// A session while its records are read.
pub(super) struct Chat {
    builder: Builder,
    last: Ending,
    /// The main agent's responses, and the size of their prompts.
    responses: Vec<(usize, Option<i64>)>,
    /// The requests in the telemetry.
    requests: Vec<Request>,
    /// The duration and the MCP server of calls in the telemetry, by call id.
    durations: HashMap<String, (Option<i64>, Option<Symbol>)>,
    /// The response to which calls belong.
    turn: Option<usize>,
    /// The number of lines that a call writes to a file, by call.
    written: HashMap<usize, ChangedLines>,
}

impl Chat {
    pub(super) fn new(context: &Context, id: &str, line: i64) -> Self {
        Self {
            builder: Builder::new(context, id, line),
            last: Ending::Other,
            responses: Vec::new(),
            requests: Vec::new(),
            durations: HashMap::new(),
            turn: None,
            written: HashMap::new(),
        }
    }

    pub(super) fn record(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut RecordErrors) {
        self.builder.extend_to(record.timestamp.0);
        let session = &mut self.builder.session;
        session.cwd = session.cwd.take().or_else(|| record.cwd.owned());
        session.git_branch = record.git_branch.owned().or(session.git_branch.take());
        session.runtime_version =
            record.version.owned().filter(|it| it != "unknown").or(session.runtime_version.take());
        session.parent_session_id = session.parent_session_id.take().or_else(|| record.forked_from.session_id.owned());
        if let Some(agent) = record.agent_id.some().filter(|_| record.is_sidechain.is_true()) {
            session.subagents.insert(agent.into());
        }
        match record.kind.as_str() {
            "user" => self.user(record),
            "assistant" => self.assistant(record, line.number, damage),
            "tool_result" => self.result(record, line.number),
            _ => self.system(record, line.number, damage),
        }
        self.builder.name_events(record.uuid.some(), line.bytes);
    }

    fn identity(record: &Record<'_>) -> Identity {
        record.uuid.owned().map_or(Identity::Unique, Identity::Global)
    }

    fn user(&mut self, record: &Record<'_>) {
        if record.is_sidechain.is_true() {
            return;
        }
        self.last = Ending::Other;
        // Timers, notices and goals add user records of other subtypes.
        if matches!(record.subtype.as_str(), "" | "mid_turn_user_message" | "realtime_message") {
            let text: String = record.message.parts.iter().map(|it| it.text.as_str()).collect();
            self.builder.prompt_as(Self::identity(record), Some(&text));
        }
    }

    fn assistant(&mut self, record: &Record<'_>, line: i64, damage: &mut RecordErrors) {
        let is_subagent = record.is_sidechain.is_true();
        let usage = usage::present(&record.usage_metadata, damage);
        // A subagent's calls are in records of their own, without a model.
        if usage.is_some() || record.model.some().is_some() {
            let known = self.builder.session.turns.len();
            let index = self.builder.turn(Self::identity(record), line);
            if index == known && !is_subagent {
                let prompt = usage.and_then(|it| it.prompt_token_count.get());
                self.responses.push((index, prompt));
            }
            let turn = &mut self.builder.session.turns[index];
            turn.model = record.model.owned();
            turn.occurred_at = record.timestamp.0;
            turn.context_window = record.context_window_size.get().filter(|it| *it > 0).into();
            turn.is_subagent = is_subagent;
            if is_subagent {
                (turn.agent, turn.agent_id) = (record.agent_name.owned(), record.agent_id.owned());
            }
            if let Some(tokens) = usage.map(|it| it.tokens(damage)).filter(|it| !it.is_all_zero()) {
                turn.tokens = tokens.into();
            }
            self.turn = Some(index);
        }
        let mut has_calls = false;
        for (at, part) in record.message.parts.iter().enumerate() {
            if let Maybe::Present(function) = &part.function_call {
                has_calls = true;
                let own_id = || Cow::Owned(format!("{} {at}", record.uuid.as_str()));
                let id = function.id.some().map_or_else(own_id, Cow::Borrowed);
                let at = At { line, time: record.timestamp.0 };
                let call = self.builder.call_of(self.turn, &id, function.name.as_str(), function.args, at);
                if let Some(text) = self.builder.arguments(call, function.args).written() {
                    self.written.insert(call, ChangedLines::written(text));
                }
                let row = &mut self.builder.session.tool_calls[call];
                row.turn = self.turn;
                row.is_subagent = is_subagent;
                row.agent = record.agent_name.owned().filter(|_| is_subagent);
            }
        }
        if !is_subagent {
            self.last = if has_calls { Ending::Other } else { Ending::Answer };
            let is_answer = |part: &&Part<'_>| !part.thought.is_true();
            let text: String = record.message.parts.iter().filter(is_answer).map(|it| it.text.as_str()).collect();
            self.builder.set_answer(&text);
        }
    }

    fn result(&mut self, record: &Record<'_>, line: i64) {
        let (outcome, time) = (&record.tool_call_result, record.timestamp.0);
        let response = record.message.parts.iter().find_map(|it| it.function_response.get());
        let name = response.map_or("", |it| it.name.as_str());
        let id = outcome.call_id.some().or_else(|| response.and_then(|it| it.id.some())).unwrap_or_default();
        let is_open = |call: &ToolCall| call.tool == name && call.status == CallStatus::Incomplete;
        let call = self.builder.call_index(id).or_else(|| match id {
            "" => self.builder.session.tool_calls.iter().position(|call| is_open(call)),
            id => Some(self.builder.call(id, name, At { line, time: None })),
        });
        let Some(call) = call else { return };
        let raw = response.map(|it| it.response).unwrap_or_default();
        let answer: Answer<'_> = raw.read();
        let (output, error) = (answer.output.as_str(), answer.error.as_str());
        let status = match outcome.status.as_str() {
            "success" => end_of_success(&self.builder.session.tool_calls[call].category, output),
            "error" => CallStatus::Error,
            "cancelled" => CallStatus::Cancelled,
            // A subagent's results have no status.
            _ => CallStatus::from_error(!error.is_empty()),
        };
        self.builder.result(call, raw, time, status);
        let is_refused =
            outcome.error_type.as_str() == "execution_denied" || REFUSALS.iter().any(|refusal| error.contains(refusal));
        let at = At { line, time };
        if is_refused && status != CallStatus::Ok {
            self.builder.deny(call, at, Some(error));
        }
        let row = &mut self.builder.session.tool_calls[call];
        row.duration_ms = outcome.duration_ms.rounded().or(row.duration_ms.get()).into();
        match row.category.as_ref() {
            "shell" => row.exit_code = exit_code(output).into(),
            "edit" | "write" => {
                if let Some(file) = row.target.clone() {
                    let display = &outcome.result_display;
                    let operation = display.operation(output).or(Some(Operation::Update));
                    let is_new = operation == Some(Operation::Create);
                    let written = || self.written.get(&call).filter(|_| is_new).copied();
                    self.builder.change(call, &file, operation, display.lines().or_else(written), at);
                }
            }
            _ => {}
        }
    }

    fn system(&mut self, record: &Record<'_>, line: i64, damage: &mut RecordErrors) {
        let (payload, time) = (&record.system_payload, record.timestamp.0);
        match record.subtype.as_str() {
            "ui_telemetry" => self.telemetry(record, line, damage),
            "chat_compression" => {
                let event = self.builder.event(EventKind::Compaction, At { line, time });
                event.is_subagent = record.is_sidechain.is_true();
                event.agent = record.agent_name.owned().filter(|_| event.is_subagent);
                event.tokens_before = payload.info.original_token_count.get();
                event.tokens_after = payload.info.new_token_count.get();
            }
            "parent_session" => {
                if let Some(parent) = payload.parent_session_id.owned() {
                    self.builder.session.parent_session_id = Some(parent);
                }
            }
            "turn_result" => {
                self.builder.session.stop_reason = payload.stop_reason.owned();
                self.last = Ending::End;
                match payload.state.as_str() {
                    "completed" => self.builder.succeed(),
                    "cancelled" => self.builder.abort(""),
                    "error" => self.builder.fail(None, payload.error.message.as_str()),
                    _ => self.last = Ending::Other,
                }
            }
            _ => {}
        }
    }

    fn telemetry(&mut self, record: &Record<'_>, line: i64, damage: &mut RecordErrors) {
        let (event, time) = (&record.system_payload.ui_event, record.timestamp.0);
        let duration_ms = event.duration_ms.rounded();
        match event.name.as_str() {
            "qwen-code.api_response" => self.requests.push(Request {
                line,
                uuid: record.uuid.as_str().to_owned(),
                time,
                prompt: event.input_token_count.get(),
                tokens: event.usage().tokens(damage),
                message_id: event.response_id.owned(),
                model: event.model.owned(),
                duration_ms,
                agent: event.subagent_name.owned(),
                agent_id: event.subagent_id.owned(),
            }),
            "qwen-code.api_error" => {
                let message = event.error_message.some().or_else(|| event.error.some()).unwrap_or_default();
                let is_subagent = event.subagent_name.some().is_some();
                if !is_subagent {
                    self.last = Ending::End;
                    self.builder.fail_named(event.status_code.whole(), event.error_type.as_str(), message);
                }
                let row = self.builder.event(EventKind::Error, At { line, time });
                row.code = event.error_type.owned();
                row.message = Some(brief(message));
                row.is_subagent = is_subagent;
                row.agent = event.subagent_name.owned();
            }
            "qwen-code.tool_call" => {
                if let Some(id) = event.call_id.owned() {
                    self.durations.insert(id, (duration_ms, event.mcp_server_name.owned()));
                }
            }
            _ => {}
        }
    }

    /// Matches each response with a request of the telemetry that has the same prompt size, and adds the other requests as
    /// responses.
    fn match_requests(&mut self) {
        let mut seen = HashSet::new();
        let mut by_prompt: HashMap<Option<i64>, Vec<Request>> = HashMap::new();
        let mut others: Vec<Request> = Vec::new();
        for request in std::mem::take(&mut self.requests) {
            let is_copy = !request.uuid.is_empty() && !seen.insert(request.uuid.clone());
            if is_copy {
                continue;
            }
            let is_main = request.agent.is_none() && request.agent_id.is_none();
            if is_main { by_prompt.entry(request.prompt).or_default().push(request) } else { others.push(request) }
        }
        for (index, prompt) in std::mem::take(&mut self.responses) {
            let turn = &mut self.builder.session.turns[index];
            let Some(requests) = by_prompt.get_mut(&prompt) else { continue };
            // A retried request has the same prompt. The telemetry of a request is written before its response.
            let rank =
                |request: &Request| (request.tokens == turn.tokens.get(), request.line < turn.line, request.line);
            let best = requests.iter().enumerate().max_by_key(|(_, request)| rank(request)).map(|(best, _)| best);
            let Some(best) = best else { continue };
            let request = requests.remove(best);
            turn.duration_ms = request.duration_ms.into();
            turn.message_id = request.message_id;
            if request.line < turn.line && !request.uuid.is_empty() {
                // In a copy that was cut between the two records, the telemetry is the only record of the response.
                turn.identity = Identity::Global(request.uuid.into());
            }
        }
        others.extend(by_prompt.into_values().flatten());
        others.sort_by_key(|request| request.line);
        for request in others {
            if request.tokens.total().unwrap_or(0) > 0 {
                self.add_response(request);
            }
        }
    }

    /// Adds the response of a request that has no other record.
    fn add_response(&mut self, request: Request) {
        let identity = if request.uuid.is_empty() { Identity::Unique } else { Identity::Global(request.uuid.into()) };
        let index = self.builder.turn(identity, request.line);
        let turn = &mut self.builder.session.turns[index];
        turn.is_subagent = request.agent.is_some() || request.agent_id.is_some();
        turn.is_echo = turn.is_subagent;
        turn.message_id = request.message_id;
        turn.model = request.model;
        turn.duration_ms = request.duration_ms.into();
        turn.agent = request.agent;
        turn.agent_id = request.agent_id;
        turn.occurred_at = request.time;
        turn.tokens = request.tokens.into();
    }

    /// The format has no end record: a chat is a success if its last answer has no calls.
    pub(super) fn finish(mut self) -> SessionResult {
        self.match_requests();
        for call in &mut self.builder.session.tool_calls {
            if let Some((duration_ms, server)) = self.durations.remove(call.call_id.as_str()) {
                call.duration_ms = call.duration_ms.get().or(duration_ms).into();
                if server.is_some() {
                    call.category = "mcp".into();
                    call.mcp_server = server;
                }
            }
        }
        match self.last {
            Ending::Answer => self.builder.end(Last::Answer),
            Ending::End => {}
            Ending::Other => self.builder.end(Last::Work),
        }
        self.builder.finish()
    }
}

#[cfg(test)]
mod tests {
    use crate::adapters::engine::Hints;
    use crate::adapters::parse;
    use crate::adapters::shared::builder::Retention;
    use crate::model::session::{Identity, SessionResult};

    fn request(uuid: &str, prompt: i64, output: i64) -> String {
        let event = format!(
            r#"{{"event.name":"qwen-code.api_response","model":"m","input_token_count":{prompt},"output_token_count":{output}}}"#
        );
        format!(
            r#"{{"uuid":"{uuid}","sessionId":"s","timestamp":"2026-10-06T08:00:01Z","type":"system","subtype":"ui_telemetry","systemPayload":{{"uiEvent":{event}}}}}"#
        )
    }

    fn read(lines: &[String]) -> SessionResult {
        parse(lines.join("\n").as_bytes(), Hints::default(), Retention::None).sessions.swap_remove(0)
    }

    /// Of two requests with the same prompt, the one with the tokens of the response is its request; the other was billed as
    /// well. A log that was cut before the response contains the same two responses.
    #[test]
    fn a_request_that_was_made_again_is_two_responses() {
        let answer = r#"{"uuid":"a","sessionId":"s","timestamp":"2026-10-06T08:00:02Z","type":"assistant","model":"m","message":{"role":"model","parts":[{"text":"x"}]},"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":5}}"#;
        let log = [request("t1", 9, 2), request("t2", 9, 5), answer.to_owned()];
        let responses = |log: &[String]| {
            let mut turns: Vec<_> =
                read(log).turns.into_iter().map(|it| (it.identity, it.tokens.get().output)).collect();
            turns.sort();
            turns
        };
        let global = |id: &str| Identity::Global(id.into());
        assert_eq!(responses(&log), [(global("t1"), Some(2)), (global("t2"), Some(5))]);
        assert_eq!(responses(&log[..2]), responses(&log));
    }
}
