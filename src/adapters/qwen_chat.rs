//! Qwen Code's session files, `~/.qwen/projects/*/chats/*.jsonl`, and those of its subagents,
//! `~/.qwen/projects/*/subagents/SESSION/agent-*.jsonl`.
//!
//! The rules are those of Qwen Code's own writers (0.8.2 and 0.24.4: `ChatRecordingService`, the transcript of agents, the
//! converters of usage). An `assistant` record is one response with its own usage, which is no running total. What is
//! cached is part of the prompt; what was written to a cache is too, and nobody says how much. Thoughts are part of the
//! candidates, except where the total says that they stand beside them (Gemini's models).
//!
//! `ui_telemetry` tells every request again, by the size of its prompt, and also those that no `assistant` record shows:
//! compactions, requests that were made again, and the subagents', which their own files have too. What is left after each
//! response took its telling is billed as well. A branched session begins as a copy with the same record ids.

use std::borrow::Cow;

use foldhash::{HashMap, HashMapExt as _, HashSet, HashSetExt as _};
use serde::Deserialize;

use super::gemini_chat::{Display, REFUSALS, exit_code};
use super::{Adapter, Context, Damage, Fold, Probe, Seen, fold};
use crate::adapters::common::builder::{Builder, Last, brief};
use crate::adapters::common::tools;
use crate::base::rows::Rows;
use crate::base::text::{Shared, Word};
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::lines::Line;
use crate::json::wire::{Count, Flag, Maybe, Number, Text, When};
use crate::model::health::Reason;
use crate::model::session::{CallStatus, EventKind, Identity, Operation, SessionResult, Shows, Tokens};

pub(super) const ADAPTER: Adapter = Adapter {
    id: "qwen-chat",
    runtime: "qwen",
    about: "Qwen Code, session files under ~/.qwen/projects",
    shows: Shows::TURNS
        .and(Shows::TOOL_CALLS)
        .and(Shows::FILE_CHANGES)
        .and(Shows::SUBAGENTS)
        .and(Shows::COMPACTIONS)
        .and(Shows::PERMISSION_DENIALS)
        .and(Shows::USER_TURNS)
        .and(Shows::KEPT_BY_RUNTIME),
    claims,
    parse: fold::<Chats>,
};

/// Records look like Claude Code's, whose messages have `content` where these have `parts`.
fn claims(probe: &Probe<'_>) -> u32 {
    if !probe.has_all(&["uuid", "sessionId", "timestamp"]) {
        return 0;
    }
    let is_own = match probe.kind() {
        "user" | "assistant" => probe.object("message").has("parts") || probe.has("usageMetadata"),
        "tool_result" => probe.has("toolCallResult") || probe.object("message").has("parts"),
        "system" => probe.has("systemPayload"),
        _ => false,
    };
    5 * u32::from(is_own)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Record<'a> {
    #[serde(borrow)]
    uuid: Text<'a>,
    #[serde(borrow)]
    session_id: Text<'a>,
    timestamp: When,
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    subtype: Text<'a>,
    #[serde(borrow)]
    cwd: Text<'a>,
    #[serde(borrow)]
    version: Text<'a>,
    #[serde(borrow)]
    git_branch: Text<'a>,
    #[serde(borrow)]
    message: Message<'a>,
    #[serde(borrow)]
    model: Text<'a>,
    usage_metadata: Maybe<Usage>,
    context_window_size: Count,
    #[serde(borrow)]
    tool_call_result: Outcome<'a>,
    #[serde(borrow)]
    system_payload: Payload<'a>,
    #[serde(borrow)]
    agent_id: Text<'a>,
    #[serde(borrow)]
    agent_name: Text<'a>,
    is_sidechain: Flag,
    #[serde(borrow)]
    forked_from: Fork<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Fork<'a> {
    #[serde(borrow)]
    session_id: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    parts: Vec<Part<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Part<'a> {
    #[serde(borrow)]
    text: Text<'a>,
    thought: Flag,
    #[serde(borrow)]
    function_call: Maybe<FunctionCall<'a>>,
    #[serde(borrow)]
    function_response: Maybe<FunctionResponse<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FunctionCall<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    args: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FunctionResponse<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    response: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer<'a> {
    #[serde(borrow)]
    output: Text<'a>,
    #[serde(borrow)]
    error: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Usage {
    prompt_token_count: Count,
    candidates_token_count: Count,
    cached_content_token_count: Count,
    thoughts_token_count: Count,
    tool_use_prompt_token_count: Count,
    total_token_count: Count,
}

/// What is known of a call besides what the model is told.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Outcome<'a> {
    #[serde(borrow)]
    call_id: Text<'a>,
    #[serde(borrow)]
    status: Text<'a>,
    #[serde(borrow)]
    error_type: Text<'a>,
    #[serde(borrow)]
    result_display: Display<'a>,
    duration_ms: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Payload<'a> {
    // ui_telemetry
    #[serde(borrow)]
    ui_event: UiEvent<'a>,
    // chat_compression
    info: Compression,
    // parent_session
    #[serde(borrow)]
    parent_session_id: Text<'a>,
    // turn_result
    #[serde(borrow)]
    state: Text<'a>,
    #[serde(borrow)]
    stop_reason: Text<'a>,
    #[serde(borrow)]
    error: TurnError<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TurnError<'a> {
    #[serde(borrow)]
    message: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Compression {
    original_token_count: Count,
    new_token_count: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UiEvent<'a> {
    #[serde(borrow, rename = "event.name")]
    name: Text<'a>,
    #[serde(borrow)]
    model: Text<'a>,
    duration_ms: Number,
    #[serde(borrow)]
    subagent_name: Text<'a>,
    #[serde(borrow)]
    subagent_id: Text<'a>,
    // api_response
    #[serde(borrow)]
    response_id: Text<'a>,
    input_token_count: Count,
    output_token_count: Count,
    cached_content_token_count: Count,
    thoughts_token_count: Count,
    tool_token_count: Count,
    total_token_count: Count,
    // api_error
    status_code: Number,
    #[serde(borrow)]
    error_type: Text<'a>,
    #[serde(borrow)]
    error_message: Text<'a>,
    #[serde(borrow)]
    error: Text<'a>,
    // tool_call
    #[serde(borrow)]
    call_id: Text<'a>,
    #[serde(borrow)]
    mcp_server_name: Text<'a>,
}

impl Usage {
    fn tokens(&self, damage: &mut Damage) -> Tokens {
        let (cached, thoughts, tool) =
            (self.cached_content_token_count, self.thoughts_token_count, self.tool_use_prompt_token_count);
        let (prompt, candidates, total) =
            (self.prompt_token_count, self.candidates_token_count, self.total_token_count);
        damage.refuses(&[prompt, candidates, cached, thoughts, tool, total]);
        let (cached, thoughts, tool) = (cached.get(), thoughts.get(), tool.get().unwrap_or(0));
        let is_beside = |output: i64| {
            let sum = prompt.get().map(|it| it + tool + output + thoughts.unwrap_or(0));
            sum.is_some() && sum == total.get()
        };
        let output = candidates.get().map(|it| if is_beside(it) { it + thoughts.unwrap_or(0) } else { it });
        Tokens {
            // More than the prompt cannot be a part of it.
            input: prompt.get().map(|it| it - cached.filter(|cached| *cached <= it).unwrap_or(0) + tool),
            output,
            cache_read: cached,
            reasoning: thoughts.filter(|it| output.is_some_and(|output| *it <= output)),
            ..Tokens::UNKNOWN
        }
    }
}

impl UiEvent<'_> {
    const fn usage(&self) -> Usage {
        Usage {
            prompt_token_count: self.input_token_count,
            candidates_token_count: self.output_token_count,
            cached_content_token_count: self.cached_content_token_count,
            thoughts_token_count: self.thoughts_token_count,
            tool_use_prompt_token_count: self.tool_token_count,
            total_token_count: self.total_token_count,
        }
    }
}

struct Chats {
    context: Context,
    sessions: Rows<Chat>,
}

impl Fold for Chats {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: *context, sessions: Rows::default() }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut Damage) -> Seen {
        if !matches!(record.kind.as_str(), "user" | "assistant" | "tool_result" | "system") {
            return Seen::Unknown;
        }
        let Some(id) = record.session_id.some() else { return Seen::Unknown };
        let index = self.sessions.iter().rposition(|it| it.builder.session.session_id == id).unwrap_or_else(|| {
            self.sessions.push(Chat::new(&self.context, id, line.number));
            self.sessions.len() - 1
        });
        self.sessions[index].record(&record, line, damage);
        Seen::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.sessions.into_iter().map(Chat::finish).collect()
    }
}

/// What the main agent's conversation ends with, as far as it was read.
#[derive(Debug, PartialEq)]
enum Ending {
    Other,
    Answer,
    /// The runtime's own word on a prompt, or a failed request.
    End,
}

/// A request as the telemetry tells it.
struct Telling {
    line: i64,
    uuid: String,
    time: Option<Time>,
    prompt: Option<i64>,
    tokens: Tokens,
    message_id: Option<Shared>,
    model: Option<Word>,
    duration_ms: Option<i64>,
    agent: Option<Word>,
    agent_id: Option<Word>,
}

struct Chat {
    builder: Builder,
    last: Ending,
    /// The main agent's responses, and the size of their prompt.
    prompts: Vec<(usize, Option<i64>)>,
    tellings: Vec<Telling>,
    durations: HashMap<String, (Option<i64>, Option<Word>)>,
    /// The response that calls belong to.
    turn: Option<usize>,
    /// Lines of the files that calls write, by call.
    written: HashMap<usize, i64>,
}

impl Chat {
    fn new(context: &Context, id: &str, line: i64) -> Self {
        Self {
            builder: Builder::new(context, id, line),
            last: Ending::Other,
            prompts: Vec::new(),
            tellings: Vec::new(),
            durations: HashMap::new(),
            turn: None,
            written: HashMap::new(),
        }
    }

    fn record(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut Damage) {
        self.builder.saw(record.timestamp.0);
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
        // Other kinds are put in by timers, notices and goals.
        if matches!(record.subtype.as_str(), "" | "mid_turn_user_message" | "realtime_message") {
            let text: String = record.message.parts.iter().map(|it| it.text.as_str()).collect();
            self.builder.prompt_as(Self::identity(record), Some(&text));
        }
    }

    fn assistant(&mut self, record: &Record<'_>, line: i64, damage: &mut Damage) {
        let is_subagent = record.is_sidechain.is_true();
        let usage = match &record.usage_metadata {
            Maybe::Present(usage) => Some(usage),
            Maybe::Absent => None,
            Maybe::Wrong => {
                damage.note(Reason::NoUsage);
                None
            }
        };
        // A subagent's calls stand in records of their own, which name no model.
        if usage.is_some() || record.model.some().is_some() {
            let known = self.builder.session.turns.len();
            let index = self.builder.turn(Self::identity(record), line);
            if index == known && !is_subagent {
                let prompt = usage.and_then(|it| it.prompt_token_count.get());
                self.prompts.push((index, prompt));
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
            if let Maybe::Present(it) = &part.function_call {
                has_calls = true;
                let id =
                    it.id.some().map_or_else(|| Cow::Owned(format!("{} {at}", record.uuid.as_str())), Cow::Borrowed);
                let call = self.builder.call(&id, it.name.as_str(), line, record.timestamp.0);
                if let Some(text) = self.builder.arguments(call, it.args).written() {
                    self.written.insert(call, tools::line_count(text));
                }
                let row = &mut self.builder.session.tool_calls[call];
                row.turn = self.turn.into();
                row.is_subagent = is_subagent;
                row.agent = record.agent_name.owned().filter(|_| is_subagent);
            }
        }
        if !is_subagent {
            self.last = if has_calls { Ending::Other } else { Ending::Answer };
            let said = |it: &&Part<'_>| !it.thought.is_true();
            let text: String = record.message.parts.iter().filter(said).map(|it| it.text.as_str()).collect();
            self.builder.say(&text);
        }
    }

    fn result(&mut self, record: &Record<'_>, line: i64) {
        let (outcome, time) = (&record.tool_call_result, record.timestamp.0);
        let response = record.message.parts.iter().find_map(|it| it.function_response.get());
        let name = response.map_or("", |it| it.name.as_str());
        let id = outcome.call_id.some().or_else(|| response.and_then(|it| it.id.some())).unwrap_or_default();
        let is_open = |it: &crate::model::session::ToolCall| it.tool == name && it.status == CallStatus::Incomplete;
        let Some(call) = self
            .builder
            .call_index(id)
            .or_else(|| self.builder.session.tool_calls.iter().position(|it| is_open(it)).filter(|_| id.is_empty()))
            .or_else(|| (!id.is_empty()).then(|| self.builder.call(id, name, line, None)))
        else {
            return;
        };
        let raw = response.map(|it| it.response).unwrap_or_default();
        let answer: Answer<'_> = raw.read();
        let (output, error) = (answer.output.as_str(), answer.error.as_str());
        let status = match outcome.status.as_str() {
            "success" => CallStatus::Ok,
            "error" => CallStatus::Error,
            "cancelled" => CallStatus::Incomplete,
            // A subagent's results say nothing more.
            _ => CallStatus::from_error(!error.is_empty()),
        };
        self.builder.result(call, raw, time, status);
        let is_refused =
            outcome.error_type.as_str() == "execution_denied" || REFUSALS.iter().any(|it| error.contains(it));
        if is_refused && status != CallStatus::Ok {
            self.builder.deny(call, line, time, Some(error));
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
                    let written = || self.written.get(&call).filter(|_| is_new).map(|it| (*it, 0));
                    self.builder.change(call, &file, operation, display.lines().or_else(written), line, time);
                }
            }
            _ => {}
        }
    }

    fn system(&mut self, record: &Record<'_>, line: i64, damage: &mut Damage) {
        let (payload, time) = (&record.system_payload, record.timestamp.0);
        match record.subtype.as_str() {
            "ui_telemetry" => self.telemetry(record, line, damage),
            "chat_compression" => {
                let event = self.builder.event(EventKind::Compaction, line, time);
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

    fn telemetry(&mut self, record: &Record<'_>, line: i64, damage: &mut Damage) {
        let (it, time) = (&record.system_payload.ui_event, record.timestamp.0);
        let duration_ms = it.duration_ms.rounded();
        match it.name.as_str() {
            "qwen-code.api_response" => self.tellings.push(Telling {
                line,
                uuid: record.uuid.as_str().to_owned(),
                time,
                prompt: it.input_token_count.get(),
                tokens: it.usage().tokens(damage),
                message_id: it.response_id.owned(),
                model: it.model.owned(),
                duration_ms,
                agent: it.subagent_name.owned(),
                agent_id: it.subagent_id.owned(),
            }),
            "qwen-code.api_error" => {
                let words = it.error_message.some().or_else(|| it.error.some()).unwrap_or_default();
                let is_subagent = it.subagent_name.some().is_some();
                if !is_subagent {
                    self.last = Ending::End;
                    self.builder.fail(it.status_code.whole(), words);
                }
                let event = self.builder.event(EventKind::Error, line, time);
                event.code = it.error_type.owned();
                event.message = Some(brief(words));
                event.is_subagent = is_subagent;
                event.agent = it.subagent_name.owned();
            }
            "qwen-code.tool_call" => {
                if let Some(id) = it.call_id.owned() {
                    self.durations.insert(id, (duration_ms, it.mcp_server_name.owned()));
                }
            }
            _ => {}
        }
    }

    /// Each response takes the telling of its own prompt; what is left are responses that no other record shows.
    fn take_tellings(&mut self) {
        let mut seen = HashSet::new();
        let mut tellings: HashMap<Option<i64>, Vec<Telling>> = HashMap::new();
        let mut left: Vec<Telling> = Vec::new();
        for it in std::mem::take(&mut self.tellings) {
            if !it.uuid.is_empty() && !seen.insert(it.uuid.clone()) {
                continue;
            }
            let is_main = it.agent.is_none() && it.agent_id.is_none();
            if is_main { tellings.entry(it.prompt).or_default().push(it) } else { left.push(it) }
        }
        for (index, prompt) in std::mem::take(&mut self.prompts) {
            let turn = &mut self.builder.session.turns[index];
            let Some(of_prompt) = tellings.get_mut(&prompt) else { continue };
            // A request that failed and was made again has the same prompt. The telling stands before its response.
            let rank = |it: &Telling| (it.tokens == turn.tokens.get(), it.line < turn.line, it.line);
            let Some(at) = of_prompt.iter().enumerate().max_by_key(|it| rank(it.1)).map(|it| it.0) else { continue };
            let it = of_prompt.remove(at);
            turn.duration_ms = it.duration_ms.into();
            turn.message_id = it.message_id;
            if it.line < turn.line && !it.uuid.is_empty() {
                // In a copy that was cut in between, the telling is all that is known of the response.
                turn.identity = Identity::Global(it.uuid.into());
            }
        }
        left.extend(tellings.into_values().flatten());
        left.sort_by_key(|it| it.line);
        for it in left {
            if it.tokens.total().unwrap_or(0) == 0 {
                continue;
            }
            let identity = if it.uuid.is_empty() { Identity::Unique } else { Identity::Global(it.uuid.into()) };
            let index = self.builder.turn(identity, it.line);
            let turn = &mut self.builder.session.turns[index];
            turn.is_subagent = it.agent.is_some() || it.agent_id.is_some();
            turn.is_echo = turn.is_subagent;
            (turn.message_id, turn.model, turn.duration_ms) = (it.message_id, it.model, it.duration_ms.into());
            (turn.agent, turn.agent_id) = (it.agent, it.agent_id);
            (turn.occurred_at, turn.tokens) = (it.time, it.tokens.into());
        }
    }

    /// The format has no end record: a chat ended well if the last answer wanted nothing more.
    fn finish(mut self) -> SessionResult {
        self.take_tellings();
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
    use crate::adapters::common::builder::Content;
    use crate::adapters::{Hints, parse};
    use crate::model::session::{Identity, SessionResult};

    fn telling(uuid: &str, prompt: i64, output: i64) -> String {
        let event = format!(
            r#"{{"event.name":"qwen-code.api_response","model":"m","input_token_count":{prompt},"output_token_count":{output}}}"#
        );
        format!(
            r#"{{"uuid":"{uuid}","sessionId":"s","timestamp":"2026-10-06T08:00:01Z","type":"system","subtype":"ui_telemetry","systemPayload":{{"uiEvent":{event}}}}}"#
        )
    }

    fn read(lines: &[String]) -> SessionResult {
        parse(lines.join("\n").as_bytes(), Hints::default(), Content::None).sessions.swap_remove(0)
    }

    /// Of two requests with one prompt the response is the one that it tells the same of; the other was billed as well. A
    /// log that is cut before the response tells the same two.
    #[test]
    fn a_request_that_was_made_again_is_two_responses() {
        let answer = r#"{"uuid":"a","sessionId":"s","timestamp":"2026-10-06T08:00:02Z","type":"assistant","model":"m","message":{"role":"model","parts":[{"text":"x"}]},"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":5}}"#;
        let log = [telling("t1", 9, 2), telling("t2", 9, 5), answer.to_owned()];
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
