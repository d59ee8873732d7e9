//! Telemetry in OpenTelemetry's protocol as JSON, as the file exporter of its collector writes it
//! (docs/formats/otlp.md#otlp): the events, spans and metrics that runtimes export besides their own logs.
//!
//! A session has up to three results here, one for each signal, because a collector may write each to its own file. The ledger
//! uses the events, else the spans, else the metrics, and none of them beside the session's own log.
//!
//! # `otlp`
//!
//! OpenTelemetry's protocol as JSON: the lines that the file exporter of its collector writes, or one document. Recognised by
//! `resourceLogs`, `resourceSpans` or `resourceMetrics`. From the documentation of Claude Code, the sources of Codex and Gemini
//! CLI, and the semantic conventions for generative AI.
//!
//! | what | Claude Code | Codex | Gemini CLI, Qwen Code | any other program |
//! | --- | --- | --- | --- | --- |
//! | from | events, spans, metrics | events | events, metrics | spans |
//! | session | `session.id` | `conversation.id` | `session.id` | the chat of VS Code, `gen_ai.conversation.id`, `session.id`, else the trace |
//! | runtime | `claude` | `codex` | `gemini`, `qwen` | `service.name` |
//! | turn | `api_request`, else `llm_request` spans, by `request_id`, else time and counts | `sse_event` `response.completed` with counts | `api_response` | spans with the operation `chat`, `generate_content`, `text_completion` or `embeddings`, or with another or none, a model and counts, by `gen_ai.response.id` |
//! | tokens | disjoint | input includes both caches; output includes reasoning | as in [`gemini-chat`](#gemini-chat) | input includes both caches, unless they are larger than it, or the total includes them; older names too, `gen_ai.usage.details.*` of pydantic-ai, `ai.usage.*` of Vercel's AI SDK, `llm.token_count.*` of OpenInference |
//! | cost | `cost_usd` of events, `cost.usage` | | | `github.copilot.nano_aiu` |
//! | effort, speed or tier | `effort`, `speed` | `model_reasoning_effort`, else that of `conversation_starts`; `service_tier` | | |
//! | skill, plugin | `skill.name`, `plugin.name` | | | |
//! | repository, branch, directory | `vcs.repository.url.full`, `vcs.ref.head.name`, the first of `workspace.host_paths`, of a record or its resource | the same | the same | the same |
//! | call | `tool_result`, `tool_decision`; `tool` spans. A tool of an MCP server has the name `mcp_tool`: its server and its own name are in `tool_parameters` | `tool_result`, `tool_decision` | `tool_call` | `execute_tool` spans |
//! | call status | `denied`: decision `reject` | decision `denied`, `abort`, `timed_out` | decision `reject` | `error.type`, or status 2, is an error |
//! | user turns | `user_prompt` without a command | `user_prompt` | `user_prompt` | |
//! | events | `api_error`, `compaction` without `success` `false` | failed requests, retries | `api_error`, `chat_compression`, retries | failed requests |
//!
//! A call belongs to the last request of the main agent before it. No record states how a session ended: the status is `error`
//! if its last request failed, else `unknown`. Arguments of calls, prompts and answers are logged only if the settings of the
//! runtime ask for it. Counters of Codex, and of spans, that the signal does not show are NULL.
//!
//! **Copilot's files** (`~/.copilot/otel/*.jsonl` of the CLI, the setting `outfile` in VS Code) have one span in each line, without
//! the
//! wrapper of an export: plain `attributes`, `startTime` and `endTime` as seconds and nanoseconds. A `chat` span with usage is one
//! request by its `gen_ai.response.id`; one without usage is ignored. A span without `gen_ai.conversation.id` is of the conversation
//! of
//! its trace; an agent that another one runs is a subagent. `github.copilot.nano_aiu` of a request is its cost, as in the
//! [session's own log](#copilot-events); spans of subagents may lack it (github/copilot-cli#4224). These requests have
//! all counts, and fill that log ([requests beside a log](accounting.md#requests-beside-a-log)). Lines of metrics and events repeat them.
//! Spans of VS Code also name the chat, whose [own file](#copilot-chat) states sums of the same requests:
//! `copilot_chat.parent_chat_session_id` of a subagent, else `copilot_chat.chat_session_id`; in a file the chat of a trace is that of all
//! of its spans.
//!
//! A span that does not name its operation is a request of its own unless it is inside of a span that does, or around another request:
//! `ai.generateText` states the sum of its `ai.generateText.doGenerate`. Only requests that are directly inside of each other are known
//! as such. Other spans with counts are in `unknown_records` as `span/NAME`.
//!
//! **Files of Gemini CLI and Qwen Code** (`--telemetry-outfile`) have the log records of the SDK, each over several lines: `hrTime`, and
//! plain `attributes` with `event.name`. They are read as the events above.
//!
//! Spans of a whole run (`invoke_agent`, `invoke_workflow`, OpenInference's `AGENT` and `CHAIN`) may state the sum of its requests. They
//! are read where the file contains no request with counts inside of them: then each outermost one is a total of its session, which is a
//! `lower_bound`, as a sum may leave out requests. The ids of parents show which span is inside of which. If a parent is absent from the
//! file, the times show it. Runs of one session inside of each other count once, also if they are in several files. Requests of the session
//! in other files reduce a total, also those of another trace. If another file contains the requests, or the inner run, under another
//! session, because only one of both names the conversation, they count twice: read such files as one. Other spans of parts of a run are
//! not read, nor are events of the conventions (`gen_ai.client.inference.operation.details`), which repeat a request, nor histograms, which
//! name no session.
//!
//! Metrics are counters of one session: `token.usage` and `cost.usage`. Those of intervals (delta temporality) add up; of
//! running totals since the start of a process (cumulative) the last counts. They give one row of grain `session` for each
//! model.
//!
//! *One of several views*: events are used, else spans, else metrics, and none of them for what any other log of the session
//! shows ([several views of one session](accounting.md#several-views-of-one-session)). Claude Code bills requests for titles
//! and summaries, which its telemetry has and its transcripts lack: they count only if there is telemetry alone.

use self::agents::AgentRuns;
use self::attributes::Attributes;
use self::event_record::Record;
use self::file_exporter::Spans;
use self::metrics::{Counter, Sums};
use self::product::{Key, METRICS, Product, session_id};
use self::records::{Export, LogRecord, ResourceLogs, ResourceMetrics, ResourceSpans};
use self::session::Session;
use crate::adapters::engine::sessions::Sessions;
use crate::adapters::engine::{Adapter, Context, Fold, RecordErrors, RecordKind, fold};
use crate::json::lines::Line;
use crate::model::session::{Capabilities, SessionResult};

mod agents;
mod attributes;
mod event_record;
mod events;
mod file_exporter;
mod metrics;
mod nested;
mod plain_log;
mod product;
mod records;
mod session;
mod span_tree;
mod spans;

const EVENTS: Capabilities = Capabilities::TURNS
    .and(Capabilities::TOOL_CALLS)
    .and(Capabilities::COMPACTIONS)
    .and(Capabilities::PERMISSION_DENIALS)
    .and(Capabilities::USER_TURNS)
    .and(Capabilities::EXPORTED);

const SPANS: Capabilities =
    Capabilities::TURNS.and(Capabilities::TOOL_CALLS).and(Capabilities::EXPORTED).and(Capabilities::TRACED);

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "otlp",
    runtime: "otlp",
    about: "OpenTelemetry of agents, as a collector writes it to a file (from sources)",
    tested: None,
    capabilities: EVENTS,
    places: &[],
    claims: |probe| {
        let is_export = ["resourceLogs", "resourceSpans", "resourceMetrics"].iter().any(|key| probe.has(key));
        8 * u32::from(is_export) + file_exporter::claims(probe) + plain_log::claims(probe)
    },
    parse: fold::<Exports>,
};

/// One signal of one session.
enum State {
    Log(Box<Session>),
    Sums(Box<Sums>),
}

struct Exports {
    context: Context,
    sessions: Sessions<State>,
    agents: AgentRuns,
    spans: Spans,
}

impl Fold for Exports {
    type Record<'a> = Export<'a>;

    fn new(context: &Context) -> Self {
        Self {
            context: context.clone(),
            sessions: Sessions::new(),
            agents: AgentRuns::default(),
            spans: Spans::default(),
        }
    }

    fn record(&mut self, line: Line<'_>, record: Export<'_>, damage: &mut RecordErrors) -> RecordKind {
        let mut is_known = false;
        for logs in &record.resource_logs.blocks {
            is_known |= self.logs(logs, line, damage);
        }
        for spans in &record.resource_spans.blocks {
            is_known |= self.spans(spans, line, damage);
        }
        for metrics in &record.resource_metrics.blocks {
            is_known |= self.metrics(metrics, line, damage);
        }
        // A record of a file exporter is not an export.
        if is_known || self.plain_log(line, damage) { RecordKind::Known } else { self.spans.line(line, damage) }
    }

    fn close_idle(&mut self, line: i64, keep_open: &foldhash::HashSet<String>) -> Vec<SessionResult> {
        self.sessions.close_idle(line, keep_open, State::finish)
    }

    fn closed_too_early(&self) -> foldhash::HashSet<String> {
        self.sessions.closed_too_early()
    }

    fn finish(self) -> Vec<SessionResult> {
        let sessions = self.sessions.finish(State::finish);
        sessions.into_iter().chain(self.agents.finish()).chain(self.spans.finish(&self.context)).collect()
    }
}

impl State {
    fn finish(self) -> SessionResult {
        match self {
            Self::Log(session) => session.finish(),
            Self::Sums(sums) => sums.finish(),
        }
    }
}

impl Exports {
    /// The events or the spans of a session.
    fn session(&mut self, key: &Key<'_>, signal: Capabilities, line: Line<'_>) -> Option<&mut Session> {
        let new = || State::Log(Box::new(Session::new(&self.context, key, signal, line.number)));
        match self.sessions.get(&key.of_signal(signal), line.number, new)? {
            State::Log(session) => Some(session),
            State::Sums(_) => None,
        }
    }

    /// Whether the record is an event of an agent, or a span beside such events.
    fn plain_log(&mut self, line: Line<'_>, damage: &mut RecordErrors) -> bool {
        let event = match plain_log::read(line.bytes) {
            plain_log::Found::Event(event) => event,
            plain_log::Found::Other => return true,
            plain_log::Found::Nothing => return false,
        };
        let attributes = Attributes { own: &event.attributes, resource: &event.resource };
        // A program that writes such a file writes all of its telemetry to it, so that another record has the request.
        self.event(&LogRecord::default(), attributes, line, damage) || events::is_request(attributes)
    }

    /// Whether the record is an event of an agent, or repeats one.
    fn event(
        &mut self,
        record: &LogRecord<'_>,
        attributes: Attributes<'_, '_>,
        line: Line<'_>,
        damage: &mut RecordErrors,
    ) -> bool {
        let Some((product, name)) = events::name_of(record, attributes) else {
            return events::repeats_request(attributes);
        };
        let Some(id) = session_id(attributes) else { return false };
        let key = Key { runtime: product.runtime, id: &id };
        if let Some(session) = self.session(&key, EVENTS, line) {
            events::add(session, product, &name, &Record { record, attributes, line }, damage);
        }
        true
    }

    /// Whether there is an event of an agent.
    fn logs(&mut self, logs: &ResourceLogs<'_>, line: Line<'_>, damage: &mut RecordErrors) -> bool {
        let resource = &logs.resource.attributes.blocks;
        let mut is_known = false;
        for record in logs.scope_logs.blocks.iter().flat_map(|scope| &scope.log_records.blocks) {
            let attributes = Attributes { own: &record.attributes.blocks, resource };
            is_known |= self.event(record, attributes, line, damage);
        }
        is_known
    }

    /// Whether there is a span of an agent.
    fn spans(&mut self, spans: &ResourceSpans<'_>, line: Line<'_>, damage: &mut RecordErrors) -> bool {
        let resource = &spans.resource.attributes.blocks;
        let mut is_known = false;
        for span in spans.scope_spans.blocks.iter().flat_map(|scope| &scope.spans.blocks) {
            let attributes = Attributes { own: &span.attributes.value.blocks, resource };
            let record = spans::Record { span, attributes, line };
            is_known |= self.agents.add(&record, &self.context, SPANS, damage);
            let Some(kind) = spans::Kind::of(span, attributes) else {
                is_known |= spans::note_unread_counts(span, attributes, damage);
                continue;
            };
            let Some((runtime, id)) = spans::session_of(span, attributes) else { continue };
            is_known = true;
            let key = Key { runtime: &runtime, id: &id };
            let Some(session) = self.session(&key, SPANS, line) else { continue };
            if spans::add(session, kind, &record, damage) {
                self.agents.found_request(span);
            }
        }
        is_known
    }

    /// Whether there is a metric of an agent.
    fn metrics(&mut self, metrics: &ResourceMetrics<'_>, line: Line<'_>, damage: &mut RecordErrors) -> bool {
        let resource = &metrics.resource.attributes.blocks;
        let mut is_known = false;
        for metric in metrics.scope_metrics.blocks.iter().flat_map(|scope| &scope.metrics.blocks) {
            let Some((product, name)) = Product::of(metric.name.as_str()) else { continue };
            is_known = true;
            let Some(measure) = metrics::Measure::of(name) else { continue };
            for point in &metric.sum.data_points.blocks {
                let attributes = Attributes { own: &point.attributes.blocks, resource };
                let Some(id) = session_id(attributes) else { continue };
                let key = Key { runtime: product.runtime, id: &id };
                let new = || State::Sums(Box::new(Sums::new(&self.context, &key, line.number)));
                let state = self.sessions.get(&key.of_signal(METRICS), line.number, new);
                if let Some(State::Sums(sums)) = state {
                    let counter = Counter { measure, is_cumulative: metric.sum.is_cumulative() };
                    sums.add(counter, point, attributes, line.number, damage);
                }
            }
        }
        is_known
    }
}
