//! Spans: those of Claude Code, and those of the semantic conventions for generative AI, which any program may write.

use std::borrow::Cow;

use super::attributes::{Attributes, time_of};
use super::events::claude::{Sender, Tool};
use super::product::{Product, session_id};
use super::records::Span;
use super::session::{Call, Request, Session};
use crate::adapters::engine::RecordErrors;
use crate::adapters::engine::unknown::contents_of;
use crate::adapters::formats::atif::trajectory::runtime_of;
use crate::adapters::shared::ai_credits::dollars;
use crate::adapters::shared::at::At;
use crate::adapters::shared::usage::{Included, uncached};
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Count, Text};
use crate::json::lines::Line;
use crate::model::health::Reason;
use crate::model::session::{CallStatus, Tokens};

/// A span and what is around it.
pub(super) struct Record<'r, 'a> {
    pub(super) span: &'r Span<'a>,
    pub(super) attributes: Attributes<'r, 'a>,
    pub(super) line: Line<'r>,
}

impl Record<'_, '_> {
    fn times(&self) -> (Option<Time>, Option<Time>) {
        (time_of(self.span.start_time_unix_nano), time_of(self.span.end_time_unix_nano))
    }
}

/// The kinds of spans that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    ClaudeRequest,
    ClaudeTool,
    ClaudeToolExecution,
    /// A request to a model.
    Inference,
    /// The same, without a name of the operation: its counts and its model show it.
    UnnamedInference,
    /// The execution of a tool.
    Tool,
}

impl Kind {
    /// The kind of a span; `None` if it is not of an agent. A span of an agent's whole run may state the sum of its requests:
    /// see `agents`.
    pub(super) fn of(span: &Span<'_>, attributes: Attributes<'_, '_>) -> Option<Self> {
        match span.name.as_str() {
            "claude_code.llm_request" => return Some(Self::ClaudeRequest),
            "claude_code.tool" => return Some(Self::ClaudeTool),
            "claude_code.tool.execution" => return Some(Self::ClaudeToolExecution),
            _ => {}
        }
        match attributes.text("gen_ai.operation.name").as_deref() {
            Some("chat" | "generate_content" | "text_completion" | "embeddings") => Some(Self::Inference),
            Some("execute_tool") => Some(Self::Tool),
            _ if is_of_agent(attributes) || NAMING_SESSIONS.contains(&&*runtime_of_span(span, attributes)) => None,
            _ => {
                let has_counts = counts_of(attributes).iter().any(|it| *it != Count::Unknown);
                (has_counts && attributes.first_text(&MODELS).is_some()).then_some(Self::UnnamedInference)
            }
        }
    }
}

/// Names of the model of a request: those of the conventions, of Vercel's AI SDK and of OpenInference.
pub(super) const MODELS: [&str; 5] =
    ["gen_ai.response.model", "gen_ai.request.model", "ai.response.model", "ai.model.id", "llm.model_name"];

/// Whether a span is of the run of an agent, or of another part of a program, by the name of the operation or by OpenInference's kind.
pub(super) fn is_of_agent(attributes: Attributes<'_, '_>) -> bool {
    let operation = attributes.text("gen_ai.operation.name").unwrap_or_default();
    let kind = attributes.text("openinference.span.kind");
    ["agent", "workflow", "tool", "memory", "retriev"].iter().any(|word| operation.contains(word))
        || kind.is_some_and(|kind| !matches!(kind.as_ref(), "LLM" | "EMBEDDING"))
}

/// Whether a span is of the whole run of an agent.
pub(super) fn is_run(attributes: Attributes<'_, '_>) -> bool {
    match attributes.text("gen_ai.operation.name").as_deref() {
        Some(operation) => matches!(operation, "invoke_agent" | "invoke_workflow"),
        None => matches!(attributes.text("openinference.span.kind").as_deref(), Some("AGENT" | "CHAIN")),
    }
}

/// Whether the runtime logs requests apart from spans of runs, so that these only repeat them.
pub(super) fn has_log_of_requests(span: &Span<'_>, attributes: Attributes<'_, '_>) -> bool {
    let runtime = runtime_of_span(span, attributes);
    runtime == "copilot" || NAMING_SESSIONS.contains(&&*runtime)
}

/// Notes a span that is not read and has token counts. Returns whether it has.
pub(super) fn note_unread_counts(span: &Span<'_>, attributes: Attributes<'_, '_>, damage: &mut RecordErrors) -> bool {
    let raw = span.attributes.raw;
    let is_read_elsewhere = || NAMING_SESSIONS.contains(&&*runtime_of_span(span, attributes));
    if is_of_agent(attributes) || !contents_of(raw.0).has_counts || is_read_elsewhere() {
        return false;
    }
    // A name can contain a path.
    let name = span.name.as_str();
    let name = if name.contains('/') { "*" } else { name };
    damage.unread_counts(&format!("span/{name}"), raw);
    true
}

/// The runtime and the id of a span's session. A trace of a program that does not name sessions is one session; the runtimes
/// that name them also write traces that are a part of a session.
pub(super) fn session_of<'a>(
    span: &Span<'a>,
    attributes: Attributes<'_, 'a>,
) -> Option<(Cow<'static, str>, Cow<'a, str>)> {
    let runtime = runtime_of_span(span, attributes);
    let id = session_id(attributes).map(Cow::Owned);
    let trace = || span.trace_id.owned::<String>().map(Cow::Owned).filter(|_| !NAMING_SESSIONS.contains(&&*runtime));
    let id = id.or_else(trace)?;
    Some((runtime, id))
}

/// The runtimes whose telemetry names sessions and has records of its own for requests.
const NAMING_SESSIONS: [&str; 4] = ["claude", "codex", "gemini", "qwen"];

fn runtime_of_span(span: &Span<'_>, attributes: Attributes<'_, '_>) -> Cow<'static, str> {
    let service = attributes.shared_text("service.name");
    let product = Product::of(span.name.as_str()).map(|(product, _)| product.runtime);
    let runtime = match product {
        Some(runtime) => Cow::Borrowed(runtime),
        None => runtime_of(&Text(service), super::product::RUNTIME),
    };
    match runtime.as_ref() {
        name if name.starts_with("codex") => Cow::Borrowed("codex"),
        "github-copilot" => Cow::Borrowed("copilot"),
        _ => runtime,
    }
}

/// Adds one span to its session. Returns whether it is a request with counts.
pub(super) fn add(session: &mut Session, kind: Kind, record: &Record<'_, '_>, damage: &mut RecordErrors) -> bool {
    let mut is_counted = false;
    let (start, end) = record.times();
    session.builder.extend_to(start);
    session.builder.extend_to(end);
    session.facts(record.attributes);
    match kind {
        Kind::ClaudeRequest => claude_request(session, record, damage),
        Kind::Inference | Kind::UnnamedInference => {
            if let Some(turn) = inference(session, record, damage) {
                is_counted = true;
                session.nested.add(record.span, turn, kind == Kind::Inference);
            }
        }
        Kind::ClaudeTool => claude_tool(session, record),
        Kind::ClaudeToolExecution => {
            let status = CallStatus::from_error(record.attributes.flag("success") == Some(false));
            let id = record.attributes.first_text(&["tool_use_id", "gen_ai.tool.call.id"]);
            session.executions.extend(id.map(|id| (id.into_owned(), status)));
        }
        Kind::Tool => tool(session, record),
    }
    session.builder.name_events(record.span.span_id.some(), record.line.bytes);
    is_counted
}

fn claude_request(session: &mut Session, record: &Record<'_, '_>, damage: &mut RecordErrors) {
    let attributes = record.attributes;
    let (_, end) = record.times();
    if attributes.flag("success") == Some(false) {
        let message = attributes.text("error");
        let code = attributes.count("status_code").get();
        session.failure(code, message.as_deref().unwrap_or_default(), At { line: record.line.number, time: end });
        return;
    }
    let counts = ["input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens"];
    let counts = counts.map(|key| attributes.count(key));
    damage.note_impossible(&counts);
    if counts.iter().all(|it| *it == Count::Unknown) {
        damage.note(Reason::NoUsage);
        return;
    }
    let [input, output, cache_read, cache_write] = counts.map(Count::get);
    let Sender { agent, is_subagent, is_main } = Sender::of(attributes);
    let request = Request {
        id: attributes.text("request_id"),
        time: end,
        model: attributes.text("model"),
        provider: attributes.text("gen_ai.system"),
        effort: attributes.text("effort"),
        speed: attributes.text("speed"),
        stop_reason: attributes.text("stop_reason"),
        tokens: Tokens { input, output, cache_read, cache_write, ..Tokens::UNKNOWN },
        duration_ms: attributes.number("duration_ms").rounded(),
        agent,
        agent_id: attributes.text("agent_id"),
        is_subagent,
        is_main,
        ..Request::default()
    };
    session.request(&request, record.line.number);
}

/// Returns the index of the turn, if the request was answered.
fn inference(session: &mut Session, record: &Record<'_, '_>, damage: &mut RecordErrors) -> Option<usize> {
    let attributes = record.attributes;
    let (start, end) = record.times();
    let counts = counts_of(attributes);
    damage.note_impossible(&counts);
    if counts.iter().all(|it| *it == Count::Unknown) {
        if let Some(message) = error_of(record) {
            let at = At { line: record.line.number, time: end };
            session.failure(attributes.count("http.response.status_code").get(), &message, at);
        } else {
            damage.note(Reason::NoUsage);
        }
        return None;
    }
    if session.builder.takes_instructions() {
        session.builder.instructions(&attributes.text("gen_ai.system_instructions").unwrap_or_default());
        let tools = attributes.text("gen_ai.tool.definitions").unwrap_or_default();
        session.builder.offer_tools(Raw(tools.as_bytes()));
    }
    let id = attributes.first_text(&["gen_ai.response.id", "ai.response.id"]);
    let span = record.span;
    let tokens = tokens_of(counts, attributes.first_count(&TOTALS));
    let request = Request {
        id: id.or_else(|| {
            span.span_id.owned::<String>().map(|id| Cow::Owned(format!("{} {id}", span.trace_id.as_str())))
        }),
        time: end,
        model: attributes.first_text(&MODELS),
        provider: attributes.first_text(&PROVIDERS),
        effort: attributes.first_text(&EFFORTS),
        stop_reason: attributes
            .first_of_array("gen_ai.response.finish_reasons")
            .or_else(|| attributes.text("ai.response.finishReason")),
        tokens: Tokens { cache_write_1h: attributes.count(CACHE_WRITE_1H).get(), ..tokens },
        duration_ms: start.zip(end).and_then(|(start, end)| end.duration_since(start)),
        cost: dollars(attributes.number("github.copilot.nano_aiu"), damage),
        is_main: true,
        ..Request::default()
    };
    compaction(session, record, &request);
    Some(session.request(&request, record.line.number))
}

/// Adds what the provider spent to compact the conversation before it answered, which the counts of the request leave out (tracing of
/// Anthropic's SDK for TypeScript).
fn compaction(session: &mut Session, record: &Record<'_, '_>, request: &Request<'_>) {
    let counts =
        ["input", "output"].map(|kind| record.attributes.count(&format!("anthropic.usage.compaction.{kind}_tokens")));
    let [input, output] = counts.map(Count::get);
    if input.is_none() && output.is_none() {
        return;
    }
    let id = request.id.as_ref().map(|id| Cow::Owned(format!("{id} compaction")));
    let compaction = Request {
        id,
        time: request.time,
        model: request.model.clone(),
        provider: request.provider.clone(),
        tokens: Tokens { input, output, ..Tokens::UNKNOWN },
        ..Request::default()
    };
    session.request(&compaction, record.line.number);
}

/// The cache writes of a request that live for an hour.
const CACHE_WRITE_1H: &str = "anthropic.usage.cache_creation.ephemeral_1h_input_tokens";

/// The reasoning effort of a request.
pub(super) const EFFORTS: [&str; 3] =
    ["gen_ai.request.reasoning.level", "gen_ai.request.reasoning_effort", "github.copilot.reasoning_effort"];

pub(super) const PROVIDERS: [&str; 4] = ["gen_ai.provider.name", "gen_ai.system", "ai.model.provider", "llm.provider"];

pub(super) const TOTALS: [&str; 4] =
    ["gen_ai.usage.total_tokens", "llm.usage.total_tokens", "ai.usage.totalTokens", "llm.token_count.total"];

/// The names of the counts of a request: input, output, cache reads, cache writes, reasoning.
pub(super) const COUNT_NAMES: [&[&str]; 5] = [
    &[
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.prompt_tokens",
        "ai.usage.inputTokens",
        "ai.usage.promptTokens",
        "llm.token_count.prompt",
    ],
    &[
        "gen_ai.usage.output_tokens",
        "gen_ai.usage.completion_tokens",
        "ai.usage.outputTokens",
        "ai.usage.completionTokens",
        "llm.token_count.completion",
    ],
    &[
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_read_input_tokens",
        "gen_ai.usage.cache_read_tokens",
        "gen_ai.usage.cached_input_tokens",
        "gen_ai.usage.cached_tokens",
        "gen_ai.usage.input_tokens.cached",
        "gen_ai.usage.details.cache_read_tokens",
        "gen_ai.usage.details.cache_read_input_tokens",
        "gen_ai.usage.details.cached_tokens",
        "gen_ai.usage.details.cached_input_tokens",
        "gen_ai.usage.details.cached_content_tokens",
        "gen_ai.usage.details.prompt_cache_hit_tokens",
        "ai.usage.cachedInputTokens",
        "ai.usage.inputTokenDetails.cacheReadTokens",
        "llm.token_count.prompt_details.cache_read",
    ],
    &[
        "gen_ai.usage.cache_creation.input_tokens",
        "gen_ai.usage.cache_creation_input_tokens",
        "gen_ai.usage.cache_write.input_tokens",
        "gen_ai.usage.cache_write_tokens",
        "gen_ai.usage.cache_creation_tokens",
        "gen_ai.usage.input_tokens.cache_write",
        "gen_ai.usage.details.cache_write_tokens",
        "gen_ai.usage.details.cache_creation_tokens",
        "gen_ai.usage.details.cache_creation_input_tokens",
        "ai.usage.inputTokenDetails.cacheWriteTokens",
        "llm.token_count.prompt_details.cache_write",
    ],
    &[
        "gen_ai.usage.reasoning.output_tokens",
        "gen_ai.usage.reasoning_tokens",
        "gen_ai.usage.output_tokens.reasoning",
        "gen_ai.usage.details.reasoning_tokens",
        "gen_ai.usage.details.thinking_tokens",
        "gen_ai.usage.details.thoughts_tokens",
        "ai.usage.reasoningTokens",
        "ai.usage.outputTokenDetails.reasoningTokens",
        "llm.token_count.completion_details.reasoning",
    ],
];

/// Input, output, cache reads, cache writes and reasoning of a request, under their present names, else under older ones.
pub(super) fn counts_of(attributes: Attributes<'_, '_>) -> [Count; 5] {
    COUNT_NAMES.map(|names| attributes.first_count(names))
}

/// By the conventions, input includes both caches, and output includes reasoning. Some programs exclude them: the caches are then larger
/// than the input, or the total includes them besides input and output.
pub(super) fn tokens_of(counts: [Count; 5], total: Count) -> Tokens {
    let [input, output, cache_read, cache_write, reasoning] = counts.map(Count::get);
    let cached = cache_read.unwrap_or(0) + cache_write.unwrap_or(0);
    let sum = input.unwrap_or(0) + output.unwrap_or(0);
    let thoughts = reasoning.unwrap_or(0);
    let adds = |more: i64| more > 0 && total.get() == Some(sum + more);
    let total_adds_both = cached > 0 && thoughts > 0 && adds(cached + thoughts);
    let total_adds_cached = total_adds_both || cached > 0 && adds(cached);
    let total_adds_reasoning = total_adds_both || !total_adds_cached && adds(thoughts);
    Tokens {
        input: if total_adds_cached { input } else { uncached(Included::IfTheyFit, input, cache_read, cache_write) },
        output: if total_adds_reasoning { output.map(|it| it + thoughts) } else { output },
        cache_read,
        cache_write,
        reasoning,
        ..Tokens::UNKNOWN
    }
}

/// The message of a span that ended with an error.
fn error_of(record: &Record<'_, '_>) -> Option<String> {
    let kind = record.attributes.text("error.type");
    let status = &record.span.status;
    let message = status.message.owned().or_else(|| kind.as_deref().map(str::to_owned));
    (status.is_error() || kind.is_some()).then(|| message.unwrap_or_default())
}

/// A call without an id is that of its span.
fn tool(session: &mut Session, record: &Record<'_, '_>) {
    let attributes = record.attributes;
    let (start, end) = record.times();
    let call = Call {
        id: attributes.text("gen_ai.tool.call.id").or_else(|| record.span.span_id.owned::<String>().map(Cow::Owned)),
        tool: attributes.text("gen_ai.tool.name").unwrap_or_default(),
        mcp_server: None,
        time: end,
        arguments: attributes.text("gen_ai.tool.call.arguments"),
        args_bytes: None,
        result: attributes.text("gen_ai.tool.call.result"),
        result_bytes: None,
        duration_ms: start.zip(end).and_then(|(start, end)| end.duration_since(start)),
        is_error: error_of(record).is_some(),
    };
    session.call(&call, record.line.number);
}

/// A call of Claude Code. The span of its execution, which ends before, has the result; a refused call has none.
fn claude_tool(session: &mut Session, record: &Record<'_, '_>) {
    let attributes = record.attributes;
    let (start, end) = record.times();
    let id = attributes.first_text(&["tool_use_id", "gen_ai.tool.call.id"]);
    let tool = Tool::of(attributes);
    let index = session.call_index(id.as_deref(), &tool.name, At { line: record.line.number, time: start });
    tool.describe(&mut session.builder, index);
    let execution = id.as_deref().and_then(|id| session.executions.remove(id));
    let builder = &mut session.builder;
    if let Some(command) = attributes.text("full_command") {
        builder.only_command(index, &command);
    }
    let call = &mut builder.session.tool_calls[index];
    call.target = call.target.take().or_else(|| attributes.text("file_path").as_deref().map(Into::into));
    call.duration_ms = start.zip(end).and_then(|(start, end)| end.duration_since(start)).into();
    if let Some(status) = execution {
        builder.result(index, Raw::default(), end, status);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The total shows whether output includes reasoning, and input the caches.
    #[test]
    fn the_total_shows_what_the_counts_include() {
        let known = |counts: [i64; 4]| counts.map(Count::Known);
        for (counts, total, expected) in [
            ([1000, 100, 0, 60], Some(1160), [1000, 160, 0, 60]),
            ([1000, 100, 0, 60], Some(1100), [1000, 100, 0, 60]),
            ([1000, 100, 0, 60], None, [1000, 100, 0, 60]),
            ([1000, 100, 400, 60], Some(1160), [600, 160, 400, 60]),
            ([1000, 100, 400, 60], Some(1560), [1000, 160, 400, 60]),
            ([1000, 100, 400, 60], Some(1500), [1000, 100, 400, 60]),
            ([1000, 100, 60, 60], Some(1160), [1000, 100, 60, 60]),
        ] {
            let [input, output, read, reasoning] = known(counts);
            let total = total.map_or(Count::Unknown, Count::Known);
            let tokens = tokens_of([input, output, read, Count::Known(0), reasoning], total);
            let found = [tokens.input, tokens.output, tokens.cache_read, tokens.reasoning];
            assert_eq!(found, expected.map(Some), "{counts:?} {total:?}");
        }
    }
}
