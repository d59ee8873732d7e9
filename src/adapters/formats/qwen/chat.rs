//! Qwen Code's session files, `~/.qwen/projects/*/chats/*.jsonl`, and those of its subagents,
//! `~/.qwen/projects/*/subagents/SESSION/agent-*.jsonl` (docs/formats.md#qwen-chat).
//!
//! The rules are those of Qwen Code's source (0.8.2 and 0.24.4: `ChatRecordingService`, the transcripts of agents, the
//! conversion of usage). An `assistant` record is one response with its own usage, which is no running total. The prompt
//! includes cached tokens and cache writes; the number of writes is not logged. Candidates include thoughts, unless the total
//! shows that they exclude them (Gemini's models).
//!
//! `ui_telemetry` logs every request again. It also logs requests without an `assistant` record: compactions, retried requests,
//! and those of subagents, which are in the subagents' own files as well. Each response is matched with the telemetry of a
//! request with the same prompt size; the other requests count as responses of their own. A branched session begins as a copy
//! with the same record ids.

use serde::Deserialize;

use self::session::Chat;
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::formats::gemini::chat::Display;
use crate::base::rows::Rows;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Maybe, Number, Text, When};
use crate::json::lines::Line;
use crate::model::places::Place;
use crate::model::session::{Capabilities, SessionResult, Tokens};

mod session;

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "qwen-chat",
    runtime: "qwen",
    about: "Qwen Code, session files under ~/.qwen/projects",
    tested: Some("0.24.4"),
    capabilities: Capabilities::TURNS
        .and(Capabilities::TOOL_CALLS)
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::SUBAGENTS)
        .and(Capabilities::COMPACTIONS)
        .and(Capabilities::PERMISSION_DENIALS)
        .and(Capabilities::USER_TURNS)
        .and(Capabilities::KEPT_BY_RUNTIME),
    places: &[Place::home(".qwen/projects")],
    claims,
    parse: fold::<Chats>,
};

/// Records resemble those of Claude Code, whose messages have `content` instead of `parts`.
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

/// The outcome of a call, besides the result that the model gets.
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
    fn tokens(&self, damage: &mut RecordErrors) -> Tokens {
        let (cached, thoughts, tool) =
            (self.cached_content_token_count, self.thoughts_token_count, self.tool_use_prompt_token_count);
        let (prompt, candidates, total) =
            (self.prompt_token_count, self.candidates_token_count, self.total_token_count);
        damage.refuses(&[prompt, candidates, cached, thoughts, tool, total]);
        let (cached, thoughts, tool) = (cached.get(), thoughts.get(), tool.get().unwrap_or(0));
        let excludes_thoughts = |output: i64| {
            let sum = prompt.get().map(|it| it + tool + output + thoughts.unwrap_or(0));
            sum.is_some() && sum == total.get()
        };
        let output = candidates.get().map(|it| if excludes_thoughts(it) { it + thoughts.unwrap_or(0) } else { it });
        Tokens {
            // A cached count above the prompt cannot be a part of it.
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
        Self { context: context.clone(), sessions: Rows::default() }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        if !matches!(record.kind.as_str(), "user" | "assistant" | "tool_result" | "system") {
            return RecordKind::Unknown;
        }
        let Some(id) = record.session_id.some() else { return RecordKind::Unknown };
        let index = self.sessions.iter().rposition(|chat| chat.id() == id).unwrap_or_else(|| {
            self.sessions.push(Chat::new(&self.context, id, line.number));
            self.sessions.len() - 1
        });
        self.sessions[index].record(&record, line, damage);
        RecordKind::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.sessions.into_iter().map(Chat::finish).collect()
    }
}
