//! Session files of pi, versions 1, 3 and 4, and of its fork oh-my-pi. Those of openclaw, which adds rows of its own, are in
//! `openclaw`.
//!
//! Entries are a tree. Abandoned branches were billed as well, so all entries count. Forks and snapshots repeat entries: a response is
//! identified by its time and token counts, and the ledger counts it once (`docs/accounting.md#copies-resumes-and-forks`). The
//! summary of a compaction or of a branch that was left is a response, if it has a usage of its own.
//!
//! # `pi-session`
//!
//! `~/.pi/agent/sessions/--CWD--/*.jsonl`, also oh-my-pi's. Recognised by `type` `message`, `model_change`, `compaction` … with
//! `timestamp`, or a header `session` with `id`, `timestamp`, `cwd`; version 4, which programs on pi-agent-core's harness write, also by
//! a `kind` `header`, `record`, `lane` or `fact`. Seen: 18 files, versions 1 and 3.
//!
//! | what | from |
//! | --- | --- |
//! | session, parent, cwd | header `id`; `parentSession` or `branchedFrom` (the id in the file's name), `parentSessionId` of version 4; `cwd` |
//! | turn | each entry with `role: assistant`; `provider`, `responseId`, `stopReason` of the message. `model`: the one that answered (`responseModel`, oh-my-pi: `upstreamModel`), else the requested `model`. A message of version 1 without a model has that of the last `model_change`, else the header's (`provider`, `modelId`). `occurred_at`: the entry's own `timestamp`, the time of the complete answer. `duration_ms`: `duration`, else this time minus the message's `timestamp`, the time of the request |
//! | tokens | `usage.input`, `output`, `cacheRead`, `cacheWrite` (its 1-hour part is `cacheWrite1h`); `reasoning` or `reasoningTokens` |
//! | cost | `usage.cost.total`, with its four parts |
//! | compaction | a `compaction` entry: event with `tokensBefore` and `tokensAfter`, and a turn if it has a `usage` of its own |
//! | other requests | a `usage` entry, such as one that keeps the cache (`cache_warm`), a `model_usage` of oh-my-pi (*source*), and the `usage` of a tool's result, are a turn each |
//! | ledger of version 4 | a record `usage` is a turn, unless an entry repeats it: the one that `entryId` names, for its last `attempt` (*source*: `session/types.ts` of pi-agent-core). Without a model it has that of the conversation; of a tool, a hook or a correction NULL |
//! | branch | a `branch_summary` (`/tree`) is a turn if it has a `usage`; no event |
//! | effort | `thinkingLevel` of the message, else of the last `thinking_level_change`, or the header's |
//! | call | `toolCall` blocks, from the entry's `timestamp` to that of the result; result `toolResult` with `isError`, `details.exitCode`, else "Command exited with code N"; an exit code other than 0 is an `error`, and "Operation aborted" `cancelled`. Calls that a call made are in `nestedCalls` of its result |
//! | file change | the call's path; lines of `details.diff`; of a write, the lines of its `content` are `lines_added`, and `lines_removed` is NULL: the log does not show whether the file existed |
//! | subagent | `details.results[].transcriptPath`: the transcript of a child that pi-subagents ran |
//! | user turns | entries with `role: user`, except of oh-my-pi those of its agents (`attribution` `agent`, or `synthetic`) |
//! | offers | entries with `role: system`, since 0.86: `content` and `sections` are instructions, `toolsAdded` are tools; in version 4 also `activeToolNames` |
//! | events | `stopReason` `error` or `aborted`, compactions |
//! | status | the last response: `error`, `aborted`, `success` if it stopped by itself (`stop`, `length`, `end_turn`) and none of its calls is open, else `incomplete` |
//!
//! *Exact*: `totalTokens` is the sum of the four counts in 3,732 of 3,732 entries, `cost.total` is the sum of its parts in 4,185 of
//! 4,185. All branches of the tree count, as they were billed. A response that failed without tokens is an event, not a turn,
//! and one without tokens that the provider will give later (`deferred`) is neither.
//! *Not included*: a child that an extension starts is a session of its own, with its own file or transcript (`pi-subagent`); its
//! sum in the parent's `details.results[].usage` is not counted. A child's file may not contain its parent (1 of 1 seen of
//! pi-subagents): then the parent is only known if the transcript is read as well.

use serde::Deserialize;

use super::common::{Agent, Message, SHOWS, identity, session_of_path};
use super::counts::Usage;
use super::ledger::{Request, is_known_record, is_of_format_4};
use crate::adapters::engine::sessions::{Sessions, streaming_sessions};
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::brief;
use crate::adapters::shared::ids::hashed_id;
use crate::adapters::shared::usage;
use crate::json::fields::{Count, Maybe, Text, When};
use crate::json::lines::Line;
use crate::json::record::{Skip, record};
use crate::json::{self, Raw};
use crate::model::places::Place;
use crate::model::session::{Capabilities, EventKind};

pub(crate) const PI: Adapter = Adapter {
    id: "pi-session",
    runtime: "pi",
    about: "pi and oh-my-pi, session files under ~/.pi/agent/sessions",
    tested: None,
    capabilities: SHOWS.and(Capabilities::KEPT_BY_RUNTIME),
    places: &[Place::variable("PI_CODING_AGENT_DIR", ".pi/agent", "sessions"), Place::home(".omp/agent/sessions")],
    claims: |probe| if is_entry(probe) || is_of_format_4(probe) { 2 } else { 0 },
    parse: fold::<Log>,
};

/// Whether a record is an entry of a session file, which may contain only the header.
pub(crate) fn is_entry(probe: &Probe<'_>) -> bool {
    match probe.kind() {
        "session" => probe.has_all(&["id", "timestamp", "cwd"]) && !probe.has("payload"),
        "message" => probe.has("message") && probe.has("timestamp"),
        "model_change"
        | "thinking_level_change"
        | "compaction"
        | "branch_summary"
        | "custom"
        | "custom_message"
        | "label"
        | "session_info" => probe.has("timestamp"),
        "usage" => probe.has_all(&["timestamp", "usage", "provider"]),
        _ => false,
    }
}

/// The first line of oh-my-pi's files, before the header.
const TITLE: &str = "title";

/// Whether entries of this type are known, besides the header.
pub(crate) fn is_known(kind: &str) -> bool {
    const KINDS: [&str; 25] = [
        "message",
        "model_change",
        "thinking_level_change",
        "compaction",
        "branch_summary",
        "custom",
        "custom_message",
        "label",
        "session_info",
        "usage",
        // What the model sees of an earlier entry, since 0.86.
        "context_edit",
        // The tools of version 4.
        "active_tools_change",
        // openclaw: where a conversation was begun anew, and the entry that the user went to.
        "reset",
        "leaf",
        // oh-my-pi, from its sources: requests beside the conversation, and facts of the program.
        "model_usage",
        TITLE,
        "title_change",
        "service_tier_change",
        "mode_change",
        "session_init",
        "ttsr_injection",
        "mcp_tool_selection",
        "discovered_builtin_tool_selection",
        "credential_pin",
        "reset_boundary",
    ];
    KINDS.contains(&kind)
}

record! {
    pub(crate) struct Record<'a> {
        // What a line of format 4 contains; another word in the usage entries of format 3
        "kind" => line_kind: Text<'a>,
        "type" => pub(crate) kind: Text<'a>,
        "id" => id: Text<'a>,
        "parentId" => _parent_id: Skip,
        "timestamp" => timestamp: When,
        "message" => message: Message<'a>,
        // session
        "cwd" => cwd: Text<'a>,
        "parentSession" => parent_session: Text<'a>,
        "branchedFrom" => branched_from: Text<'a>,
        "modelId" => model_id: Text<'a>,
        // thinking_level_change, and the header of version 1
        "thinkingLevel" => thinking_level: Text<'a>,
        // usage, model_change, and the header of version 1
        "provider" => provider: Text<'a>,
        "model" => model: Text<'a>,
        "role" => role: Text<'a>,
        // compaction
        "firstKeptEntryId" => first_kept_entry_id: Text<'a>,
        "tokensBefore" => tokens_before: Count,
        "tokensAfter" => tokens_after: Count,
        "usage" => usage: Raw<'a>,
        // custom
        "customType" => custom_type: Text<'a>,
        "data" => data: Raw<'a>,
        // The header of version 4
        "createdAt" => created_at: When,
        "parentSessionId" => parent_session_id: Text<'a>,
        "legacyParentSessionPath" => legacy_parent_session_path: Text<'a>,
        // A request in the ledger of version 4
        "cause" => cause: Text<'a>,
        "entryId" => entry_id: Text<'a>,
        "attempt" => attempt: Count,
        // active_tools_change
        "activeToolNames" => active_tool_names: Raw<'a>,
    }
}

impl Record<'_> {
    /// Whether this is the first record of a session.
    fn is_header(&self) -> bool {
        self.kind.as_str() == "session" || (self.line_kind.as_str() == "header" && self.id.is_some())
    }

    /// Whether this is an entry of a known type, or a request in the ledger of format 4.
    fn is_known(&self) -> bool {
        if self.line_kind.as_str() == "record" { self.kind.as_str() == "usage" } else { is_known(self.kind.as_str()) }
    }

    /// Whether this is a record of format 4 about the work between entries, which changes no count.
    fn is_of_work(&self) -> bool {
        match self.line_kind.as_str() {
            "record" => is_known_record(self.kind.as_str()),
            "lane" | "fact" => true,
            _ => false,
        }
    }
}

/// The data of openclaw's `openclaw:prompt-error`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Data<'a> {
    error: Text<'a>,
}

/// Sessions while their entries are read.
pub(crate) struct Log {
    pub(crate) context: Context,
    pub(crate) sessions: Sessions<Agent>,
}

impl Fold for Log {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), sessions: Sessions::new() }
    }

    fn line(&mut self, line: Line<'_>, damage: &mut RecordErrors) -> Result<RecordKind, json::Error> {
        let mut record = Record::default();
        json::read_into(line.bytes, &mut record)?;
        Ok(self.see(line, &record, damage))
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        self.see(line, &record, damage)
    }

    streaming_sessions!(Agent::finish_without_end);
}

impl Log {
    /// Adds an entry to the session of the last header.
    pub(crate) fn see(&mut self, line: Line<'_>, record: &Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        if record.is_header() {
            let id = record.id.owned().unwrap_or_else(|| hashed_id(line.bytes));
            self.header(&id, record, line);
            return RecordKind::Known;
        }
        if record.kind.as_str() == TITLE || record.is_of_work() {
            return RecordKind::Known;
        }
        if !record.is_known() {
            return RecordKind::Unknown;
        }
        if self.sessions.is_empty() {
            // Without its header the file is identified by its name.
            let id = self.context.file_id.clone().unwrap_or_else(|| hashed_id(line.bytes));
            self.sessions.get(&id, line.number, || Agent::new(&self.context, id.clone(), line.number));
        }
        let Some(agent) = self.sessions.current(line.number) else { return RecordKind::Known };
        entry(agent, record, line, damage);
        RecordKind::Known
    }

    /// Adds an entry to the session `id`.
    pub(crate) fn see_of(
        &mut self,
        id: &str,
        line: Line<'_>,
        record: &Record<'_>,
        damage: &mut RecordErrors,
    ) -> RecordKind {
        match record.kind.as_str() {
            "session" => self.header(id, record, line),
            kind if is_known(kind) => {
                let new = || Agent::new(&self.context, id, line.number);
                let Some(agent) = self.sessions.get(id, line.number, new) else { return RecordKind::Known };
                entry(agent, record, line, damage);
            }
            _ => return RecordKind::Unknown,
        }
        RecordKind::Known
    }

    fn header(&mut self, id: &str, record: &Record<'_>, line: Line<'_>) {
        let new = || Agent::new(&self.context, id, line.number);
        let Some(agent) = self.sessions.get(id, line.number, new) else { return };
        agent.builder.extend_to(record.timestamp.0.or(record.created_at.0));
        agent.effort = record.thinking_level.owned();
        agent.set_model(record.provider.some(), record.model_id.some());
        let session = &mut agent.builder.session;
        session.cwd = record.cwd.owned().or_else(|| session.cwd.take());
        session.model = record.model_id.owned().or_else(|| session.model.take());
        let files = [&record.parent_session, &record.branched_from, &record.legacy_parent_session_path];
        let parent = files.iter().find_map(|it| it.some()).map(session_of_path);
        session.parent_session_id = record.parent_session_id.some().map(str::to_owned).or(parent);
    }
}

fn entry(agent: &mut Agent, record: &Record<'_>, line: Line<'_>, damage: &mut RecordErrors) {
    let time = record.timestamp.0;
    agent.builder.extend_to(time);
    let at = At { line: line.number, time };
    match record.line_kind.as_str() {
        "record" => return request_of_ledger(agent, record, at, damage),
        "entry" if !record.usage.is_empty() || record.message.has_usage() => {
            record.id.owned().into_iter().for_each(|id| agent.ledger.add_entry(id));
        }
        _ => {}
    }
    match record.kind.as_str() {
        "message" => agent.message(&record.message, Raw(line.bytes), at, damage),
        "thinking_level_change" => agent.effort = record.thinking_level.owned(),
        "active_tools_change" => agent.builder.offer_tools(record.active_tool_names),
        "model_change" => {
            // oh-my-pi has models for other tasks as well, and joins a provider and a model.
            let joined = record.model.some().filter(|_| matches!(record.role.as_str(), "" | "default"));
            let (provider, model) = joined.and_then(|it| it.split_once('/')).unzip();
            agent.set_model(record.provider.some().or(provider), record.model_id.some().or(model));
        }
        "compaction" => {
            let event = agent.builder.event(EventKind::Compaction, at);
            event.key = time.map(|it| format!("pi {}", it.micros()).into());
            event.tokens_before = record.tokens_before.get();
            event.tokens_after = record.tokens_after.get();
            summary(agent, record, line.number, damage);
        }
        // The summary of a branch that the user left.
        "branch_summary" => summary(agent, record, line.number, damage),
        "usage" | "model_usage" => request(agent, record, line.number, damage),
        "custom" if record.custom_type.as_str() == "openclaw:prompt-error" => {
            let data: Data<'_> = record.data.read();
            let message = data.error.as_str();
            agent.builder.fail(None, message);
            let event = agent.builder.event(EventKind::Error, at);
            event.key = time.map(|it| format!("pi {}", it.micros()).into());
            event.code = Some("prompt-error".into());
            event.message = Some(brief(message));
        }
        // Extensions write these.
        "custom" => damage.unread_counts(&format!("custom/{}", record.custom_type.as_str()), record.data),
        _ => {}
    }
}

/// Adds the response that wrote a summary, if the entry has its usage.
fn summary(agent: &mut Agent, record: &Record<'_>, line: i64, damage: &mut RecordErrors) {
    let at = At { line, time: record.timestamp.0 };
    agent.summary(record.usage, record.first_kept_entry_id.as_str(), at, damage);
}

/// Adds a request outside of the conversation, such as one that keeps the cache: each entry `usage` was billed, whatever its `kind`.
pub(crate) fn request(agent: &mut Agent, record: &Record<'_>, line: i64, damage: &mut RecordErrors) {
    let time = record.timestamp.0;
    if let Some(index) = agent.spent(record.usage, At { line, time }, |tokens| identity(time, tokens), damage) {
        let turn = &mut agent.builder.session.turns[index];
        turn.provider = record.provider.owned();
        turn.model = record.model.owned();
    }
}

/// Keeps a request of the ledger until all entries are known.
fn request_of_ledger(agent: &mut Agent, record: &Record<'_>, at: At, damage: &mut RecordErrors) {
    let stated = record.usage.read::<Maybe<Usage>>();
    let Some(usage) = usage::present(&stated, damage) else { return };
    // What tools, hooks and corrections add may be of another model.
    let is_of_model = matches!(record.cause.as_str(), "assistant" | "compaction" | "branch_summary" | "deferred_fetch");
    agent.ledger.add_request(Request {
        at,
        entry: record.entry_id.owned().filter(|_| record.cause.as_str() != "adjustment"),
        attempt: record.attempt.get(),
        tokens: usage.tokens(damage),
        cost: usage.cost(damage).map(Box::new),
        provider: agent.provider.clone().filter(|_| is_of_model),
        model: agent.model.clone().filter(|_| is_of_model),
    });
}
