//! GitHub Copilot CLI's `events.jsonl`, in `~/.copilot/session-state/ID/`, the same events as `copilot -p --output-format json` prints
//! them, and its store `~/.copilot/session-store.db` (docs/formats.md#copilot-events).
//!
//! A message contains only its output tokens. All other counts are in `session.shutdown`: its input includes cache reads and
//! cache writes, its output includes reasoning. The counts of a process that resumes a session begin at 0, so several
//! shutdowns add up. The totals of the session are running totals over its processes, as the ledger expects. A recording ends with a
//! `result`, which alone names the session. The store has each request with all of its counts: see `store`.

use serde::Deserialize;
use twox_hash::XxHash3_64;

use self::session::Session;
use self::store::Store;
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::shared::builder::Builder;
use crate::adapters::shared::ids::hashed_id;
use crate::base::rows::Rows;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Maybe, Number, Pairs, Text, When};
use crate::json::lines::Line;
use crate::model::places::Place;
use crate::model::session::{Capabilities, SessionResult, Tokens};

mod session;
mod store;

pub(crate) use self::store::{SESSIONS, USAGE};

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "copilot-events",
    runtime: "copilot",
    about: "GitHub Copilot CLI, events.jsonl and session-store.db under ~/.copilot, copilot -p --output-format json",
    tested: Some("1.0.71"),
    capabilities: Capabilities::TURNS
        .and(Capabilities::TOOL_CALLS)
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::SUBAGENTS)
        .and(Capabilities::COMPACTIONS)
        .and(Capabilities::PERMISSION_DENIALS)
        .and(Capabilities::USER_TURNS)
        .and(Capabilities::KEPT_BY_RUNTIME),
    places: &[
        Place::variable("COPILOT_HOME", ".copilot", "session-state"),
        Place::variable("COPILOT_HOME", ".copilot", "session-store.db"),
        // Spans, if the user lets it write them to a file: `otlp` reads them.
        Place::variable("COPILOT_HOME", ".copilot", "otel"),
        Place::only_variable("COPILOT_OTEL_FILE_EXPORTER_PATH", ""),
        Place::state(".copilot/session-state"),
    ],
    claims,
    parse: fold::<Events>,
};

fn claims(probe: &Probe<'_>) -> u32 {
    let is_event = probe.has_all(&["data", "id", "timestamp", "parentId"]) && is_known(probe.kind());
    let is_result = probe.kind() == RESULT && probe.has_all(&["sessionId", "exitCode", "usage"]) && !probe.has("data");
    3 * u32::from(is_event || is_result || store::is_row(probe))
}

/// The last record of a recording, which has no `data`.
const RESULT: &str = "result";

/// Whether the runtime writes events of this family. The members of a family change with every version.
fn is_known(kind: &str) -> bool {
    const FAMILIES: [&str; 14] = [
        "session",
        "assistant",
        "user",
        "tool",
        "hook",
        "system",
        "permission",
        "subagent",
        "skill",
        "model",
        "user_input",
        "elicitation",
        "command",
        "tool_search",
    ];
    kind == "abort" || kind.split_once('.').is_some_and(|(family, _)| FAMILIES.contains(&family))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Record<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    id: Text<'a>,
    timestamp: When,
    /// The id of a subagent.
    #[serde(borrow)]
    agent_id: Text<'a>,
    #[serde(borrow)]
    data: Data<'a>,
    // result
    #[serde(borrow)]
    session_id: Text<'a>,
    exit_code: Number,
    usage: Maybe<RunUsage>,
}

impl Record<'_> {
    /// Whether it is the last record of a recording. Other runtimes have records of this type, too.
    fn is_result(&self) -> bool {
        self.kind.as_str() == RESULT && (self.session_id.is_some() || self.exit_code.0.is_some())
    }
}

/// What a recording states of its process.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RunUsage {
    total_api_duration_ms: Number,
    session_duration_ms: Number,
    code_changes: CodeChanges,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Data<'a> {
    // session.start, session.resume, session.model_change
    #[serde(borrow)]
    session_id: Text<'a>,
    #[serde(borrow)]
    copilot_version: Text<'a>,
    #[serde(borrow)]
    context: Checkout<'a>,
    #[serde(borrow)]
    selected_model: Text<'a>,
    #[serde(borrow)]
    new_model: Text<'a>,
    #[serde(borrow)]
    reasoning_effort: Text<'a>,
    #[serde(borrow)]
    detached_from_spawning_parent_session_id: Text<'a>,
    // user.message
    #[serde(borrow)]
    source: Text<'a>,
    is_autopilot_continuation: Flag,
    // user.message, assistant.message
    #[serde(borrow)]
    content: Text<'a>,
    #[serde(borrow)]
    model: Text<'a>,
    #[serde(borrow)]
    message_id: Text<'a>,
    #[serde(borrow)]
    api_call_id: Text<'a>,
    #[serde(borrow)]
    request_id: Text<'a>,
    output_tokens: Count,
    #[serde(borrow)]
    tool_requests: Vec<Request<'a>>,
    /// In older versions: the call that started the agent of the message.
    #[serde(borrow)]
    parent_tool_call_id: Text<'a>,
    // tool.execution_start, tool.execution_complete, permission.completed, subagent.started
    #[serde(borrow)]
    tool_call_id: Text<'a>,
    #[serde(borrow)]
    tool_name: Text<'a>,
    #[serde(borrow)]
    mcp_server_name: Text<'a>,
    #[serde(borrow)]
    arguments: Raw<'a>,
    success: Flag,
    #[serde(borrow)]
    result: Outcome<'a>,
    /// An object, or a string.
    #[serde(borrow)]
    error: Raw<'a>,
    // permission.requested
    #[serde(borrow)]
    permission_request: PermissionRequest<'a>,
    // subagent.started, subagent.selected
    #[serde(borrow)]
    agent_name: Text<'a>,
    // session.compaction_complete
    #[serde(borrow)]
    trigger: Text<'a>,
    pre_compaction_tokens: Count,
    post_compaction_tokens: Count,
    #[serde(borrow)]
    compaction_tokens_used: Maybe<CompactionUsage<'a>>,
    // session.error
    #[serde(borrow)]
    error_type: Text<'a>,
    #[serde(borrow)]
    error_code: Text<'a>,
    #[serde(borrow)]
    message: Text<'a>,
    status_code: Number,
    // abort
    #[serde(borrow)]
    reason: Text<'a>,
    // session.shutdown
    #[serde(borrow)]
    shutdown_type: Text<'a>,
    #[serde(borrow)]
    error_reason: Text<'a>,
    #[serde(borrow)]
    current_model: Text<'a>,
    total_api_duration_ms: Number,
    code_changes: CodeChanges,
    #[serde(borrow)]
    model_metrics: Maybe<Pairs<'a, Metric>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Checkout<'a> {
    #[serde(borrow)]
    cwd: Text<'a>,
    #[serde(borrow)]
    branch: Text<'a>,
    #[serde(borrow)]
    git_root: Text<'a>,
    /// `owner/name`.
    #[serde(borrow)]
    repository: Text<'a>,
    #[serde(borrow)]
    repository_host: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Request<'a> {
    #[serde(borrow)]
    tool_call_id: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    arguments: Raw<'a>,
    #[serde(borrow)]
    mcp_server_name: Text<'a>,
}

/// The result of a call; that of a permission request has a kind.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Outcome<'a> {
    #[serde(borrow)]
    content: Raw<'a>,
    /// What the user sees; of an edit its diff.
    #[serde(borrow)]
    detailed_content: Text<'a>,
    contents: Vec<Block>,
    #[serde(borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    feedback: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Block {
    exit_code: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Failure<'a> {
    #[serde(borrow)]
    message: Raw<'a>,
    #[serde(borrow)]
    code: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PermissionRequest<'a> {
    #[serde(borrow)]
    tool_call_id: Text<'a>,
}

/// Arguments of edits that the common arguments do not include.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct EditArguments<'a> {
    /// The command of the tool `str_replace_editor`.
    #[serde(borrow)]
    command: Text<'a>,
    #[serde(borrow)]
    file_text: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metric {
    requests: Requests,
    usage: Maybe<Usage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Requests {
    count: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Usage {
    input_tokens: Count,
    output_tokens: Count,
    cache_read_tokens: Count,
    cache_write_tokens: Count,
    reasoning_tokens: Count,
}

/// The usage of the response that summarises the conversation, under the names of newer and of older versions.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct CompactionUsage<'a> {
    #[serde(borrow)]
    model: Text<'a>,
    input_tokens: Count,
    output_tokens: Count,
    cache_read_tokens: Count,
    cache_write_tokens: Count,
    input: Count,
    output: Count,
    cached_input: Count,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct CodeChanges {
    lines_added: Count,
    lines_removed: Count,
}

impl<'a> Data<'a> {
    /// The call of a `tool.execution_start`.
    fn request(&self) -> Request<'a> {
        Request {
            tool_call_id: self.tool_call_id.clone(),
            name: self.tool_name.clone(),
            arguments: self.arguments,
            mcp_server_name: self.mcp_server_name.clone(),
        }
    }
}

impl Usage {
    /// The disjoint tokens: the input includes cache reads and cache writes. If all counts are 0, the provider stated none.
    fn tokens(&self, damage: &mut RecordErrors) -> Tokens {
        let (read, write) = (self.cache_read_tokens, self.cache_write_tokens);
        damage.refuses(&[self.input_tokens, self.output_tokens, read, write, self.reasoning_tokens]);
        let cached = read.get().unwrap_or(0) + write.get().unwrap_or(0);
        let tokens = Tokens {
            input: self.input_tokens.get().map(|it| (it - cached).max(0)),
            output: self.output_tokens.get(),
            cache_read: read.get(),
            cache_write: write.get(),
            cache_write_1h: None,
            reasoning: self.reasoning_tokens.get(),
        };
        if tokens.is_all_zero() { Tokens::UNKNOWN } else { tokens }
    }
}

impl CompactionUsage<'_> {
    fn tokens(&self, damage: &mut RecordErrors) -> Tokens {
        let first = |newer: Count, older: Count| if newer == Count::Unknown { older } else { newer };
        let usage = Usage {
            input_tokens: first(self.input_tokens, self.input),
            output_tokens: first(self.output_tokens, self.output),
            cache_read_tokens: first(self.cache_read_tokens, self.cached_input),
            cache_write_tokens: self.cache_write_tokens,
            reasoning_tokens: Count::Unknown,
        };
        usage.tokens(damage)
    }
}

struct Events {
    context: Context,
    sessions: Rows<Session>,
    /// Index of the session of the last record.
    current: usize,
    store: Store,
}

impl Fold for Events {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), sessions: Rows::default(), current: 0, store: Store::new(context) }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        let is_result = record.is_result();
        if !is_result && !is_known(record.kind.as_str()) {
            return self.store.line(line, damage);
        }
        let stated_id = record.data.session_id.some().filter(|_| record.kind.as_str() == "session.start");
        let has_ended = !self.sessions.is_empty() && self.sessions[self.current].has_result;
        if stated_id.is_some() || self.sessions.is_empty() || has_ended && !is_result {
            let fallback = || self.context.file_id.clone().unwrap_or_else(|| hashed_id(line.bytes));
            let id = stated_id.map_or_else(fallback, str::to_owned);
            let known = self.sessions.iter().position(|session| {
                !session.has_result && stated_id.is_some() && session.builder.session.session_id == id
            });
            self.current = known.unwrap_or_else(|| {
                self.sessions.push(Session::new(Builder::new(&self.context, id, line.number)));
                self.sessions.len() - 1
            });
        }
        let session = &mut self.sessions[self.current];
        // Every record has an id and a time: an equal line is a copy.
        if session.seen.insert(XxHash3_64::oneshot(line.bytes)) {
            if is_result {
                session.result(&record, line, damage);
            } else {
                session.record(&record, line, damage);
            }
        }
        RecordKind::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        let mut sessions = self.sessions;
        if sessions.len() > 1 {
            // Records about the process may follow the result of a recording.
            sessions.retain(|session| !session.is_empty());
        }
        sessions.into_iter().map(Session::finish).chain(self.store.finish()).collect()
    }
}
