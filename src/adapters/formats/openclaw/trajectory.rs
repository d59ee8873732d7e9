//! openclaw's trajectories, `ID.trajectory.jsonl` beside a session's file: the input and the outcome of each run
//! (docs/formats/openclaw.md#openclaw-trajectory).
//!
//! A run lasts from `session.started` to `session.ended`; another attempt is a run with the same id. `usage` is the sum over the
//! run's responses. `model.completed` contains it, and `trace.artifacts` repeats it, as the first may lose it if its snapshot is
//! too large. The sum adds nothing if the session's own file contains the responses. The status `success` only means that the run
//! threw no exception: the snapshot shows whether its last response failed.
//!
//! # `openclaw-trajectory`
//!
//! `ID.trajectory.jsonl` next to a session's file: the input and the outcome of each run. Recognised by `traceSchema`. Seen: 13
//! files. The pointer to a trajectory in another place, and the index `sessions.json`, are `auxiliary`.
//!
//! | what | from |
//! | --- | --- |
//! | session, cwd, model, version | `sessionId`, `workspaceDir`, `modelId` (the last), `harness.version` |
//! | agent, entrypoint | `agentId`, `trigger` of `session.started` |
//! | tokens | `usage` of `model.completed`, repeated by `trace.artifacts`: the sum over a run's responses, in a row of grain `session`. A run is identified by `runId` and its start, as another attempt has the same `runId` |
//! | tool calls | the number of `toolMetas` of each run |
//! | user turns | `prompt.submitted`, once per `runId`, of runs with the trigger `user` whose `sessionKey` is not that of a subagent |
//! | events | `model.fallback_step` (retry; error where the chain is exhausted) |
//! | status | `session.ended`: `success`, unless the last response of the snapshot failed (or the snapshot is missing, and the last response has no tokens and no text); `externalAbort` and `interrupted` are `aborted`, `timedOut` is a timeout; `cleanup` does not change it; else `incomplete` |
//!
//! If the session's own file is read as well, rows and times come from that file: a trajectory adds no tokens if the file contains
//! any, and its end counts only if the file has no later record. *Lower bound*: after `trace.truncated`.
//!
//! `~/.openclaw/cron/runs/JOB.jsonl` has a line for each run of a job, recognised by `jobId` and `action`: `sessionId`, `status` (`ok` or
//! `error`), `error`, `model`, `provider`, and in `usage` the sums of the run (equal to those of the session's log in 12 of 14; in the
//! others the log has fewer). They are a row of grain `session`, which counts only if no other log of the session is present (182 of 203
//! sessions of one installation had none). `total_tokens` is the size of the last prompt: if it is larger than `input_tokens`, a part was
//! read from the cache and is unknown. *Lower bound*: then.

use serde::Deserialize;

use super::jobs;
use super::jobs::Jobs;
use super::session::is_index;
use crate::adapters::engine::sessions::SessionsById;
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::formats::pi::common::Message;
use crate::adapters::formats::pi::counts::Usage;
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, brief};
use crate::adapters::shared::ids::hashed_id;
use crate::adapters::shared::usage;
use crate::base::rows::Rows;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Flag, LazyText, Maybe, Text, When};
use crate::json::lines::Line;
use crate::model::errors::{self, ErrorKind};
use crate::model::places::Place;
use crate::model::session::{
    Capabilities, EventKind, Identity, ModelTotal, SessionResult, Status, Total, TotalKind, add,
};

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "openclaw-trajectory",
    runtime: "openclaw",
    about: "openclaw, trajectories beside its session files",
    tested: Some("2026.9.2"),
    capabilities: Capabilities::USER_TURNS.and(Capabilities::RETRIES).and(Capabilities::RUNS_ONLY),
    places: &[Place::variable("OPENCLAW_STATE_DIR", ".openclaw", "cron/runs")],
    claims: |probe| 4 * u32::from(probe.text("traceSchema") == "openclaw-trajectory" || jobs::is_run(probe)),
    parse: fold::<Trajectory>,
};

/// Whether a document is one of openclaw's files without records of a session: the index `sessions.json`, or the pointer to
/// a trajectory in another place.
pub(crate) fn is_auxiliary(document: &Probe<'_>) -> bool {
    document.text("traceSchema") == "openclaw-trajectory-pointer" || is_index(document)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Record<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    ts: When,
    session_id: Text<'a>,
    session_key: Text<'a>,
    run_id: Text<'a>,
    workspace_dir: Text<'a>,
    model_id: Text<'a>,
    data: Data<'a>,
}

/// The data of any record: each type uses some of the fields.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Data<'a> {
    // session.started
    trigger: Text<'a>,
    agent_id: Text<'a>,
    // trace.metadata
    harness: Harness<'a>,
    // context.compiled
    system_prompt: LazyText<'a>,
    tools: Raw<'a>,
    // prompt.submitted
    prompt: Text<'a>,
    // model.completed, trace.artifacts
    usage: Maybe<Usage>,
    prompt_cache: PromptCache,
    assistant_texts: Vec<Text<'a>>,
    messages_snapshot: Raw<'a>,
    tool_metas: Raw<'a>,
    // session.ended
    status: Text<'a>,
    prompt_error: Text<'a>,
    terminal_error: Text<'a>,
    reason: Text<'a>,
    external_abort: Flag,
    timed_out: Flag,
    // model.fallback_step
    fallback_step_from_failure_reason: Text<'a>,
    fallback_step_from_failure_detail: Text<'a>,
    fallback_step_final_outcome: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Harness<'a> {
    version: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PromptCache {
    last_call_usage: Maybe<Usage>,
}

struct Trajectory {
    context: Context,
    sessions: SessionsById<Session>,
    jobs: Jobs,
}

struct Session {
    builder: Builder,
    runs: Rows<Run>,
}

/// One attempt at one prompt.
struct Run {
    id: String,
    /// The run's id and its start, which are the same in every copy.
    key: String,
    is_of_human: bool,
    tools: Option<i64>,
    total: Option<Total>,
    /// The error message of its last response, if that failed.
    failure: Option<String>,
}

impl Fold for Trajectory {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), sessions: SessionsById::default(), jobs: Jobs::default() }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        if !record.kind.is_some() {
            return self.jobs.line(&self.context, line, damage);
        }
        if !matches!(
            record.kind.as_str(),
            "session.started"
                | "trace.metadata"
                | "context.compiled"
                | "prompt.submitted"
                | "model.completed"
                | "trace.artifacts"
                | "session.ended"
                | "model.fallback_step"
                | "trace.truncated"
        ) {
            return RecordKind::Unknown;
        }
        let id = record.session_id.owned().unwrap_or_else(|| match self.sessions.last() {
            Some(session) => session.builder.session.session_id.clone(),
            None => self.context.file_id.clone().unwrap_or_else(|| hashed_id(line.bytes)),
        });
        let new = || Session { builder: Builder::new(&self.context, &id, line.number), runs: Rows::default() };
        self.sessions.find_or_add(&id, new).record(&record, line.number, damage);
        RecordKind::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.sessions.into_iter().map(Session::finish).chain(self.jobs.finish()).collect()
    }
}

impl Session {
    fn record(&mut self, record: &Record<'_>, line: i64, damage: &mut RecordErrors) {
        let (data, time) = (&record.data, record.ts.0);
        self.builder.extend_to(time);
        let session = &mut self.builder.session;
        session.cwd = session.cwd.take().or_else(|| record.workspace_dir.owned());
        session.model = record.model_id.owned().or_else(|| session.model.take());
        match record.kind.as_str() {
            "trace.truncated" => session.under_reports = true,
            "model.fallback_step" => self.fallback(data, At { line, time: record.ts.0 }),
            kind => {
                let index = self.run(record, kind == "session.started");
                match kind {
                    "session.started" => self.started(index, record),
                    "trace.metadata" => {
                        let version = &mut self.builder.session.runtime_version;
                        *version = data.harness.version.owned().or_else(|| version.take());
                    }
                    "context.compiled" => {
                        // Each run has them again, and the log has no responses.
                        if self.builder.session.offer.instructions.is_none() {
                            self.builder.instructions(data.system_prompt.as_str());
                        }
                        self.builder.offer_tools(data.tools);
                    }
                    "prompt.submitted" => self.prompted(index, data),
                    "model.completed" | "trace.artifacts" => self.completed(index, record, line, damage),
                    "session.ended" => self.ended(index, data),
                    _ => {}
                }
            }
        }
    }

    /// The run of a record: the last run with its id. A start begins a new run, unless it is a copy.
    fn run(&mut self, record: &Record<'_>, is_start: bool) -> usize {
        let id = record.run_id.as_str();
        let key = format!("{id} {:?}", record.ts.0.map(Time::micros));
        let known = self.runs.iter().rposition(|it| if is_start { it.key == key } else { it.id == id });
        known.unwrap_or_else(|| {
            self.runs.push(Run { id: id.to_owned(), key, is_of_human: false, tools: None, total: None, failure: None });
            self.runs.len() - 1
        })
    }

    fn started(&mut self, index: usize, record: &Record<'_>) {
        let session = &mut self.builder.session;
        session.status = Status::Incomplete;
        session.agent = session.agent.take().or_else(|| record.data.agent_id.owned());
        session.entrypoint = session.entrypoint.take().or_else(|| record.data.trigger.owned());
        // The trigger of a subagent is another agent, not a user.
        let is_subagent = record.session_key.as_str().contains(":subagent:");
        self.runs[index].is_of_human = record.data.trigger.as_str() == "user" && !is_subagent;
    }

    fn prompted(&mut self, index: usize, data: &Data<'_>) {
        let run = &self.runs[index];
        self.builder.session.is_prompted_by_program |= !run.is_of_human;
        if run.is_of_human {
            // Further attempts have the same prompt.
            self.builder.prompt_as(Identity::Session(format!("run {}", run.id).into()), data.prompt.some());
        }
    }

    fn completed(&mut self, index: usize, record: &Record<'_>, line: i64, damage: &mut RecordErrors) {
        let (data, run) = (&record.data, &mut self.runs[index]);
        if !data.tool_metas.is_empty() {
            let metas: Vec<Raw<'_>> = data.tool_metas.read();
            run.tools = i64::try_from(metas.len()).ok();
        }
        let tokens = usage::present(&data.usage, damage).map(|usage| usage.tokens(damage));
        if let Some(tokens) = tokens.filter(|tokens| tokens.total().unwrap_or(0) > 0) {
            let model = record.model_id.owned();
            run.total = Some(Total {
                line,
                key: run.key.clone(),
                kind: TotalKind::Run,
                occurred_at: record.ts.0,
                models: vec![ModelTotal { model, tokens, ..ModelTotal::default() }],
                covers_subagents: false,
                ..Total::default()
            });
        }
        if let Some(response) = last_response(data.messages_snapshot) {
            let is_failure = matches!(response.stop_reason.as_str(), "error" | "aborted");
            run.failure = is_failure.then(|| response.error_message.as_str().to_owned());
        } else if data.assistant_texts.is_empty() && last_call_was_empty(data) {
            // The snapshot is missing. A last response without tokens and without text did not succeed.
            run.failure = run.failure.take().or_else(|| Some(String::new()));
        }
        if let Some(text) = data.assistant_texts.last() {
            self.builder.set_answer(text.as_str());
        }
    }

    fn ended(&mut self, index: usize, data: &Data<'_>) {
        let error = data.prompt_error.some().or(data.terminal_error.some()).or(data.reason.some()).unwrap_or_default();
        match data.status.as_str() {
            "success" => match &self.runs[index].failure {
                Some(failure) => self.builder.fail(None, failure),
                None => self.builder.succeed(),
            },
            _ if data.external_abort.is_true() => self.builder.abort(error),
            "interrupted" if data.timed_out.is_true() => self.builder.fail_as(ErrorKind::Timeout, error),
            "interrupted" => self.builder.abort(error),
            "error" if data.timed_out.is_true() => self.builder.fail_as(ErrorKind::Timeout, error),
            "error" => self.builder.fail(None, error),
            // `cleanup` does not show the outcome.
            _ => {}
        }
    }

    /// A model failed. openclaw tries another one, or none is left.
    fn fallback(&mut self, data: &Data<'_>, at: At) {
        let message = data.fallback_step_from_failure_detail.as_str();
        let reason = data.fallback_step_from_failure_reason.as_str();
        let is_last = data.fallback_step_final_outcome.as_str() == "chain_exhausted";
        if is_last {
            self.builder.fail_as(errors::classify(None, &format!("{reason}: {message}")), message);
        }
        let kind = if is_last { EventKind::Error } else { EventKind::Retry };
        let event = self.builder.event(kind, at);
        event.code = data.fallback_step_from_failure_reason.owned();
        event.message = data.fallback_step_from_failure_detail.some().map(brief);
    }

    fn finish(self) -> SessionResult {
        let mut session = self.builder.finish();
        session.stated_tool_calls = self.runs.iter().fold(None, |sum, it| add(sum, it.tools));
        session.totals = self.runs.into_iter().filter_map(|it| it.total).collect();
        session
    }
}

/// The last response of a snapshot.
fn last_response(snapshot: Raw<'_>) -> Option<Message<'_>> {
    let messages: Vec<Raw<'_>> = snapshot.read();
    messages.into_iter().rev().map(Raw::read).find(|it: &Message<'_>| it.role.as_str() == "assistant")
}

/// Whether the last response of a run has 0 tokens.
fn last_call_was_empty(data: &Data<'_>) -> bool {
    let ignored = &mut RecordErrors::default();
    data.prompt_cache.last_call_usage.get().is_some_and(|usage| usage.tokens(ignored).is_all_zero())
}
