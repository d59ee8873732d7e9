//! Chats of GitHub Copilot in VS Code: one document a chat, and since 2026 a log of changes to it
//! (docs/formats/copilot.md#copilot-chat).
//!
//! The rules are those of VS Code's source: `chatModel.ts`, `chatService.ts`, `chatSessionOperationLog.ts` and
//! `objectMutationLog.ts`. A line of the log sets, appends to, or deletes a value at a path of the document. A request consists of
//! several calls of models, of which a chat states sums: the credits, and the tokens of the output ([`usage`]).
//!
//! # `copilot-chat`
//!
//! GitHub Copilot Chat in VS Code and its relatives: `workspaceStorage/*/chatSessions/` and
//! `globalStorage/emptyWindowChatSessions/`, `ID.json`, since 2026 `ID.jsonl`. Recognised by `sessionId` with `requests` and
//! `responderUsername`; a log of changes by `kind` 0 to 3 with `v` or a path `k`. From VS Code's source. The lines of a log set
//! (`kind` 1), append to an array or cut it (2), or delete (3) a value of the document on the first line (0).
//!
//! | what | from |
//! | --- | --- |
//! | session | `sessionId` |
//! | cwd, branch, repository | `workingDirectory`, `repoData.localBranch`, `repoData.remoteUrl`, in newest versions |
//! | model | `modelId` of the last request |
//! | cost, output | `copilotCredits` of a request, a cent each, and `completionTokens`: a row of grain `session` for each request with credits |
//! | call | `toolInvocationSerialized` parts of a response: `toolId`, `toolCallId`; arguments only where `resultDetails.input` or `commandLine` contains them |
//! | call status | `denied`: `isConfirmed` is `false`, or its `type` 0 or 5; `error`: `resultDetails.isError`, or an exit code other than 0 |
//! | subagent | calls whose `toolSpecificData` is a `subagent`; calls with `subAgentInvocationId` are those of one |
//! | events | requests with `errorDetails` (error), cancelled requests (abort), refusals |
//! | user turns | `requests` without a `confirmation`, by `requestId` |
//! | status | the last request: `modelState` 1 is `success`, 2 `aborted`, 3 or `errorDetails` `error`, else `incomplete` |
//!
//! *Lower bound*: the tokens. `completionTokens` is the sum over the calls of a request (`ChatResponseModel`), without those of its
//! subagents; `promptTokens` is that of the last call, and is not used. So input and caches are unknown, and the cost, which includes
//! subagents (`toolSpecificData.credits` is a part of it), is the reported one. *Unknown*: turns, and tokens and cost of requests
//! without `copilotCredits`: older versions, in which `completionTokens` may be that of one call, and requests that are not billed in
//! credits. `sessionCopilotCredits` and `modelTotals` are not used: agents that have logs of their own, such as Copilot CLI, state
//! them, and VS Code does not keep the chats of these here.
//!
//! Requests that the user took back were billed and count, as far as the log of changes has them. A fork of a chat begins with copies
//! of its requests under new ids, with the time at which it was made: they are neither billed nor prompts. If the first chat was
//! deleted, their cost is lost. Spans of the same chat have each call ([`otlp`](#otlp)): they count, and the chat's sums only
//! as far as they are more.

#![cfg_attr(not(test), expect(clippy::indexing_slicing, reason = "a member of a JSON value that is absent is null"))]

use foldhash::{HashMap, HashMapExt as _};
use serde_json::Value;

use self::changes::{apply, removes_requests_from};
use self::usage::{Billed, note_impossible, time_of};
use crate::adapters::engine::{Adapter, Context, Fold, RecordErrors, RecordKind, fold};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, Last, brief};
use crate::adapters::shared::repository::of_remote;
use crate::adapters::shared::{file_uri, subagents};
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::lines::Line;
use crate::model::errors::{ErrorKind, classify};
use crate::model::places::Place;
use crate::model::session::{CallStatus, Capabilities, EventKind, Identity, SessionResult};

mod changes;
mod usage;

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "copilot-chat",
    runtime: "copilot-chat",
    about: "GitHub Copilot Chat in VS Code, chatSessions/*.json and *.jsonl (from sources)",
    tested: None,
    capabilities: Capabilities::TOOL_CALLS
        .and(Capabilities::SUBAGENTS)
        .and(Capabilities::PERMISSION_DENIALS)
        .and(Capabilities::USER_TURNS)
        .and(Capabilities::KEPT_BY_RUNTIME),
    places: &[Place::extension("emptyWindowChatSessions"), Place::workspace("chatSessions")],
    claims: |probe| {
        let is_document = probe.has_all(&["sessionId", "requests", "responderUsername"]);
        let first = probe.object("v");
        let is_first = probe.raw("kind").0 == b"0" && first.has_all(&["sessionId", "requests", "version"]);
        let is_change = matches!(probe.raw("kind").0, b"1" | b"2" | b"3") && probe.is_list("k");
        6 * u32::from(is_document || is_first) + 3 * u32::from(is_change)
    },
    parse: fold::<Chats>,
};

struct Chats {
    context: Context,
    /// The documents, in their order.
    documents: Vec<Document>,
    /// The index of the document that the next change belongs to.
    current: usize,
}

/// A chat while its changes are read.
struct Document {
    state: Value,
    line: i64,
    /// The line of each request, by its id.
    lines: HashMap<String, i64>,
    /// What requests cost that are no longer in the document.
    removed: Vec<Billed>,
}

impl Fold for Chats {
    type Record<'a> = Raw<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), documents: Vec::new(), current: 0 }
    }

    fn record(&mut self, line: Line<'_>, record: Raw<'_>, damage: &mut RecordErrors) -> RecordKind {
        let Ok(mut record) = serde_json::from_slice::<Value>(record.0) else { return RecordKind::Unknown };
        note_impossible(&record, damage);
        let document = if record["requests"].is_array() { Some(record.take()) } else { None };
        let is_first = record["kind"] == 0;
        let document = document.or_else(|| record.get_mut("v").filter(|_| is_first).map(Value::take));
        match document {
            Some(state) if state["sessionId"].is_string() && state["requests"].is_array() => {
                // The log is written again from its beginning when it has become long.
                let known = self.documents.iter().position(|it| it.state["sessionId"] == state["sessionId"]);
                self.current = known.unwrap_or(self.documents.len());
                match self.documents.get_mut(self.current) {
                    Some(document) => document.state = state,
                    None => self.documents.push(Document {
                        state,
                        line: line.number,
                        lines: HashMap::new(),
                        removed: Vec::new(),
                    }),
                }
            }
            Some(_) => return RecordKind::Unknown,
            None => {
                let Some(document) = self.documents.get_mut(self.current) else { return RecordKind::Unknown };
                document.note_removed(&record);
                if !apply(&mut document.state, record) {
                    return RecordKind::Unknown;
                }
            }
        }
        if let Some(document) = self.documents.get_mut(self.current) {
            document.note_lines(line.number);
        }
        RecordKind::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        let context = &self.context;
        self.documents.into_iter().map(|document| Chat::read(context, document)).collect()
    }
}

impl Document {
    /// Notes the line of requests that it adds.
    fn note_lines(&mut self, line: i64) {
        let requests = self.state["requests"].as_array().into_iter().flatten();
        // New requests are at the end.
        for id in requests.rev().map_while(|request| request["requestId"].as_str()) {
            if self.lines.contains_key(id) {
                return;
            }
            self.lines.insert(id.to_owned(), line);
        }
    }

    /// Notes the cost of the requests that a change removes.
    fn note_removed(&mut self, change: &Value) {
        let Some(first) = removes_requests_from(change) else { return };
        let requests = self.state["requests"].as_array().into_iter().flatten().enumerate().skip(first);
        let billed = requests.filter_map(|(index, request)| self.billed(index, request)).collect::<Vec<_>>();
        self.removed.extend(billed);
    }

    /// What the request at `index` cost, if it is not a copy.
    fn billed(&self, index: usize, request: &Value) -> Option<Billed> {
        Billed::of(request, self.line_of(request)).filter(|_| !self.is_copied(index, request))
    }

    fn line_of(&self, request: &Value) -> i64 {
        request["requestId"].as_str().and_then(|id| self.lines.get(id)).copied().unwrap_or(self.line)
    }

    /// Whether the request at `index` is a copy of one in the chat that this one is a fork of: all copies have the time at which the
    /// fork was made, plus their index in milliseconds.
    fn is_copied(&self, index: usize, request: &Value) -> bool {
        let made = self.state["creationDate"].as_i64();
        let time = made.and_then(|made| made.checked_add(i64::try_from(index).ok()?));
        let completed = request["modelState"]["completedAt"].as_i64();
        time.is_some() && request["timestamp"].as_i64() == time && completed == time
    }
}

/// A chat that becomes a session.
struct Chat {
    builder: Builder,
}

/// A text, or Markdown with a text inside.
fn text_of(value: &Value) -> Option<&str> {
    value.as_str().or_else(|| value["value"].as_str())
}

impl Chat {
    fn read(context: &Context, document: Document) -> SessionResult {
        let state = &document.state;
        let id = state["sessionId"].as_str().unwrap_or_default();
        let mut chat = Self { builder: Builder::new(context, id, document.line) };
        chat.place(state);
        chat.builder.extend_to(time_of(&state["creationDate"]));
        let mut billed = Vec::new();
        for (index, request) in state["requests"].as_array().into_iter().flatten().enumerate() {
            chat.request(request, document.line_of(request), document.is_copied(index, request));
            billed.extend(document.billed(index, request));
        }
        billed.extend(document.removed.into_iter().rev());
        usage::add(&mut chat.builder.session, billed);
        chat.builder.finish()
    }

    /// Where the chat took place, as newest versions state it.
    fn place(&mut self, state: &Value) {
        let (session, repository) = (&mut self.builder.session, &state["repoData"]);
        session.cwd = state["workingDirectory"].as_str().and_then(file_uri::path);
        session.git_branch = repository["localBranch"].as_str().map(str::to_owned);
        session.repository = repository["remoteUrl"].as_str().and_then(of_remote);
    }

    fn request(&mut self, request: &Value, line: i64, is_copied: bool) {
        let id = request["requestId"].as_str().unwrap_or_default();
        let time = time_of(&request["timestamp"]);
        self.builder.extend_to(time);
        if let Some(model) = request["modelId"].as_str() {
            self.builder.session.model = Some(Symbol::new(model));
        }
        // A click on a button is not a prompt.
        if !id.is_empty() && request["confirmation"].is_null() && !is_copied {
            let message = &request["message"];
            let text = message.as_str().or_else(|| message["text"].as_str());
            self.builder.prompt_as(Identity::Session(id.into()), text);
        }
        let mut answer = String::new();
        let at = At { line, time };
        for part in request["response"].as_array().into_iter().flatten() {
            match part["kind"].as_str() {
                Some("toolInvocationSerialized") => self.call(part, at),
                None | Some("markdownContent") => answer.push_str(text_of(part).unwrap_or_default()),
                Some(_) => {}
            }
        }
        self.builder.set_answer(&answer);
        self.end(request, id, at);
    }

    /// The end of a request is that of the session, until another one follows.
    fn end(&mut self, request: &Value, id: &str, at: At) {
        let (result, state) = (&request["result"], &request["modelState"]);
        let elapsed = result["timings"]["totalElapsed"].as_i64().filter(|ms| (0..1_000_000_000).contains(ms));
        let ended_at =
            time_of(&state["completedAt"]).or_else(|| Some(Time::from_micros(at.time?.micros() + elapsed? * 1000)));
        self.builder.extend_to(ended_at);
        let builder = &mut self.builder;
        let state = state["value"].as_i64().or_else(|| state.as_i64());
        let error = &result["errorDetails"];
        let message = error["message"].as_str().unwrap_or_default();
        builder.session.error_kind = None;
        builder.session.error_message = None;
        match state {
            Some(2) => self.abort(id, At { time: ended_at, ..at }),
            None if request["isCanceled"] == true => self.abort(id, At { time: ended_at, ..at }),
            _ if error.is_object() || state == Some(3) => {
                let kind = classify(None, error["code"].as_str().unwrap_or(message));
                let kind = if kind == ErrorKind::Other { classify(None, message) } else { kind };
                builder.fail_as(kind, message);
                let event = builder.event(EventKind::Error, At { time: ended_at.or(at.time), ..at });
                event.key = Some(id.into());
                event.code = error["code"].as_str().map(Symbol::new);
                event.message = Some(brief(message));
            }
            Some(1) => builder.succeed(),
            None if result.is_object() => builder.succeed(),
            _ => builder.end(Last::Work),
        }
    }

    fn abort(&mut self, id: &str, at: At) {
        self.builder.abort("");
        self.builder.event(EventKind::Abort, at).key = Some(id.into());
    }

    fn call(&mut self, part: &Value, at: At) {
        let (Some(id), Some(tool)) = (part["toolCallId"].as_str(), part["toolId"].as_str()) else { return };
        let builder = &mut self.builder;
        let details = &part["resultDetails"];
        let input = details["input"].as_str().unwrap_or_default();
        let call = builder.call_of(None, id, tool, Raw(input.as_bytes()), at);
        if part["source"]["type"] == "mcp" {
            builder.mcp(call, part["source"]["label"].as_str());
        }
        if !input.is_empty() {
            builder.arguments(call, Raw(input.as_bytes()));
        }
        let data = &part["toolSpecificData"];
        let exit_code = data["terminalCommandState"]["exitCode"].as_i64();
        match data["kind"].as_str() {
            Some("terminal") => {
                builder.session.tool_calls[call].category = "shell".into();
                let line = &data["commandLine"];
                let command = [&line["original"], &line["toolEdited"], &data["command"]];
                if let Some(command) = command.into_iter().find_map(Value::as_str) {
                    builder.only_command(call, command);
                }
                let row = &mut builder.session.tool_calls[call];
                row.exit_code = exit_code.into();
                row.duration_ms = data["terminalCommandState"]["duration"].as_i64().filter(|ms| *ms >= 0).into();
            }
            Some("subagent") => {
                builder.session.tool_calls[call].category = "subagent".into();
                if let Some(event) = subagents::add(builder, id, Some(id), at) {
                    event.agent = data["agentName"].as_str().map(Symbol::new);
                }
            }
            _ => {}
        }
        builder.session.tool_calls[call].is_subagent = part["subAgentInvocationId"].is_string();
        // `isConfirmed`: `false`, or the kind of a refusal (0) or of a skipped call (5).
        let confirmed = &part["isConfirmed"];
        if *confirmed == false || matches!(confirmed["type"].as_i64(), Some(0 | 5)) {
            builder.deny(call, at, None);
        } else if part["isComplete"] == true {
            let is_error = details["isError"] == true || exit_code.is_some_and(|code| code != 0);
            builder.result(call, Raw::default(), None, CallStatus::from_error(is_error));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::adapters::engine::Hints;
    use crate::adapters::parse;
    use crate::model::retention::Retention;
    use crate::model::session::{SessionResult, Status};

    fn read(log: &str) -> SessionResult {
        let mut parsed = parse(log.as_bytes(), Hints::default(), Retention::Text);
        assert_eq!((parsed.format, parsed.sessions.len()), (Some("copilot-chat"), 1), "{log}");
        parsed.sessions.swap_remove(0)
    }

    fn with_state(state: &str) -> Status {
        let request = format!(
            r#"{{"requestId":"r1","timestamp":1792400400000,"message":{{"text":"Go"}},"response":[],{state}}}"#
        );
        read(&format!(r#"{{"version":3,"sessionId":"s","responderUsername":"GitHub Copilot","requests":[{request}]}}"#))
            .status
    }

    #[test]
    fn the_last_request_decides_how_a_chat_ended() {
        assert_eq!(with_state(r#""modelState":{"value":1,"completedAt":1792400409000}"#), Status::Success);
        assert_eq!(with_state(r#""modelState":{"value":2}"#), Status::Aborted);
        assert_eq!(with_state(r#""modelState":{"value":3}"#), Status::Error);
        assert_eq!(with_state(r#""modelState":{"value":0}"#), Status::Incomplete);
        assert_eq!(with_state(r#""isCanceled":true,"result":{}"#), Status::Aborted);
        assert_eq!(with_state(r#""result":{"errorDetails":{"message":"rate limit"}}"#), Status::Error);
        assert_eq!(with_state(r#""result":{"timings":{"totalElapsed":900}}"#), Status::Success);
        assert_eq!(with_state(r#""vote":1"#), Status::Incomplete);
    }
}
