//! GitHub Copilot CLI's `events.jsonl`, in `~/.copilot/session-state/ID/`, the same events as `copilot -p --output-format json` prints
//! them, and its store `~/.copilot/session-store.db` (docs/formats/copilot.md#copilot-events).
//!
//! A message contains only its output tokens. All other counts are in `session.shutdown`: its input includes cache reads and
//! cache writes, its output includes reasoning. The counts of a process that resumes a session begin at 0, or go on from those of the
//! process before ([`session`]). The totals of the session are running totals over its processes, as the ledger expects. A recording ends with a
//! `result`, which alone names the session. The store has each request with all of its counts: see `store`.
//!
//! # `copilot-events`
//!
//! `~/.copilot/session-state/ID/events.jsonl`, the output of `copilot -p --output-format json`, and `~/.copilot/session-store.db`.
//! Recognised by `data`, `id`, `timestamp`, `parentId` and a type such as `session.start`; the tables of the store by their columns.
//! Seen: 12 files, 1.0.64 to 1.0.68, and 40 recordings.
//!
//! | what | from |
//! | --- | --- |
//! | session, version, cwd, branch | `session.start`: `sessionId`, `copilotVersion`, `context.cwd`, `branch` |
//! | turn | `assistant.message`, one per `apiCallId`: `model`, `outputTokens`; no other counts are logged for a response. Programs that use Copilot's SDK record `assistant.usage`, too: all counts, `copilotUsage`, effort and duration of a request, as a row of the store |
//! | phase | `assistant.fusion_phase_completed` and `_failed` of HydraFusion: a turn if the process was killed, `conversationScope` is `review` and `requestCount` 1. Totals contain the others, or messages are their answers. `session.fusion_completed` repeats them |
//! | total | `session.shutdown.modelMetrics` by model: `inputTokens` minus both caches, `outputTokens`, `cacheReadTokens`, `cacheWriteTokens`, `reasoningTokens`; several shutdowns add up, unless the later one contains the earlier one |
//! | cost | AI credits of a cent each, if above 0: `totalNanoAiu`, billionths of a credit, of `session.shutdown` and its `modelMetrics`, and of the last `session.usage_checkpoint` of a process that was killed, in the session's own log |
//! | compaction | `session.compaction_complete`, and a turn if it has `compactionTokensUsed`. The total of its process may leave it out: then the outputs of the messages alone add up to the total's output, and the turn counts beside the total |
//! | model | of the message, else of `session.model_change`, `session.tools_updated` or `session.start`; of a subagent `subagent.started` or `subagent.configured`, which has its effort |
//! | call | `toolRequests`, `tool.execution_start` and `_complete`; exit code from the result or `exited with exit code N`, an `error` unless it is 0, although `success` is `true` |
//! | file change | `create`, `edit`, patches; lines from `detailedContent`, else the arguments |
//! | subagent | `agentId`, `parentToolCallId`, `subagent.started`; their part of the total: `session.shutdown.agentMetrics` by id and model, in newest versions |
//! | events | `session.error`, `subagent.failed`, `abort` (an error if its `reason` is `autopilot_credit_limit`), refused permissions, compactions |
//! | user turns | `user.message` that no skill, agent or autopilot wrote |
//! | status | `abort`: `aborted`, or `error` at the limit of credits; `session.error`: `error`, except of the `errorType` `mcp` (a server did not start) and `model` (the list of models could not be loaded), which end no turn (9 of 9); then `session.shutdown`: `success`, or `error` by its `shutdownType`; without it `incomplete` |
//!
//! *Exact*: sessions in which every process wrote its shutdown. *Lower bound*: for a process without one (2 of 12 sessions;
//! github/copilot-cli#3994) only output is known. The shutdown of a later process does not include it, so its messages are added to
//! the total. *Unknown*: a shutdown whose counts are all 0 (3 of 10).
//!
//! Evidence that input includes the caches: PanAchy/copilot-arewecooked#45, getagentseal/codeburn#684. Until about 1.0.67 the counts
//! of each process begin at 0 (PanAchy/copilot-arewecooked#45, github/copilot-cli#3994). In 1.0.80 they contain those of the processes
//! before (getagentseal/codeburn#946: the last of three is the sum of the store's rows). So from 1.0.68 on, a shutdown contains the one
//! before if no count of a model is smaller, and its output is at least that of the one before plus the output of the messages since
//! ([restored totals](accounting.md#restored-totals)).
//!
//! 1 AI credit is $0.01 (docs.github.com, usage-based billing since June 2026: a budget of $10 covers 1,000 credits), and 10⁹
//! nano-AIU (github/copilot-sdk; jayparikh/agentviz#108; in openclaw/openclaw#100097 a million input tokens cost 5·10¹¹, $5). A 0 is
//! that of a plan that is not billed in credits: the cost is computed. The sum in the log never falls from one process to the next where
//! it has checkpoints (codeburn#946: 19 of 19 sessions). Premium requests are no dollars.
//!
//! **A recording** has the same events and ephemeral ones, without `session.start`. Its last record, `result`, names the session:
//! `sessionId`, `exitCode` (0 is `success`, any other `error`), `usage.sessionDurationMs`, `usage.totalApiDurationMs` and
//! `usage.codeChanges`. A record after it begins another recording. Messages of newer versions have no `outputTokens`: their tokens
//! are unknown. The session's own log has the same ids, and both count once, as do a recording and a copy that was cut before its end.
//!
//! **The store** has each request since 1.0.71: a row of `assistant_usage_events`, with `model`, `input_tokens` minus both caches,
//! `output_tokens`, `cache_read_tokens`, `cache_write_tokens`, `reasoning_tokens`, `total_nano_aiu`, `duration_ms`, `finish_reason`, and
//! `agent_id` or `parent_tool_call_id` of a subagent; `cwd`, `branch` and `repository` are in `sessions`. Its rows are the responses of the log
//! with the
//! same `api_call_id`, and have what the log leaves out ([requests beside a log](accounting.md#requests-beside-a-log)).

use twox_hash::XxHash3_64;

use self::records::{RESULT, Record};
use self::session::Session;
use self::store::Store;
pub(crate) use self::store::{SESSIONS, USAGE};
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::shared::builder::Builder;
use crate::adapters::shared::ids::hashed_id;
use crate::base::rows::Rows;
use crate::json::lines::Line;
use crate::model::places::Place;
use crate::model::session::{Capabilities, SessionResult};

mod credits;
mod records;
mod session;
mod store;

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
                self.sessions.push(Session::new(
                    &self.context,
                    Builder::new(&self.context, id, line.number),
                    stated_id.is_none(),
                ));
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
        sessions.into_iter().flat_map(Session::finish).chain(self.store.finish()).collect()
    }
}
