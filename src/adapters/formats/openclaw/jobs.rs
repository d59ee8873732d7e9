//! Runs of openclaw's jobs, `cron/runs/JOB.jsonl`: one line for each run, in a session of its own (docs/formats/openclaw.md#openclaw-trajectory).

use serde::Deserialize;

use crate::adapters::engine::sessions::SessionsById;
use crate::adapters::engine::{Context, Probe, RecordErrors, RecordKind};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, brief};
use crate::base::time::Time;
use crate::json::fields::{Count, Maybe, Number, Text, When};
use crate::json::from_slice;
use crate::json::lines::Line;
use crate::model::session::{Capabilities, EventKind, ModelTotal, SessionResult, Status, Tokens, Total, TotalKind};

/// The sums count only where no log of the session is present.
const SHOWS: Capabilities = Capabilities::EXPORTED.and(Capabilities::RESULT_ONLY);

/// Whether a record is of a run.
pub(super) fn is_run(probe: &Probe<'_>) -> bool {
    probe.has_all(&["jobId", "action", "ts"]) && !probe.has("type")
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Run<'a> {
    ts: When,
    job_id: Text<'a>,
    action: Text<'a>,
    status: Text<'a>,
    error: Text<'a>,
    session_id: Text<'a>,
    session_key: Text<'a>,
    run_at_ms: When,
    duration_ms: Number,
    model: Text<'a>,
    provider: Text<'a>,
    usage: Maybe<Usage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Usage {
    input_tokens: Count,
    output_tokens: Count,
    /// The size of the last prompt, with what was read from the cache.
    total_tokens: Count,
}

/// The sessions of the runs in a file.
#[derive(Default)]
pub(super) struct Jobs {
    sessions: SessionsById<Job>,
}

struct Job {
    builder: Builder,
    totals: Vec<Total>,
    under_reports: bool,
}

impl Jobs {
    pub(super) fn line(&mut self, context: &Context, line: Line<'_>, damage: &mut RecordErrors) -> RecordKind {
        let Ok(run) = from_slice::<Run<'_>>(line.bytes) else { return RecordKind::Unknown };
        if !run.job_id.is_some() || !run.action.is_some() {
            return RecordKind::Unknown;
        }
        // A job of the main session has no session of its own.
        if let Some(id) = run.session_id.some()
            && run.action.as_str() == "finished"
        {
            let new = || {
                let context = Context { capabilities: SHOWS, ..context.clone() };
                Job { builder: Builder::new(&context, id, line.number), totals: Vec::new(), under_reports: false }
            };
            self.sessions.find_or_add(id, new).run(&run, line.number, damage);
        }
        RecordKind::Known
    }

    pub(super) fn finish(self) -> impl Iterator<Item = SessionResult> {
        self.sessions.into_iter().map(Job::finish)
    }
}

impl Job {
    fn run(&mut self, run: &Run<'_>, line: i64, damage: &mut RecordErrors) {
        let (started_at, ended_at) = (run.run_at_ms.0, run.ts.0);
        self.builder.extend_to(started_at);
        self.builder.extend_to(ended_at);
        self.builder.prompted_by_program();
        let session = &mut self.builder.session;
        session.entrypoint = Some("cron".to_owned());
        session.model = run.model.owned().or_else(|| session.model.take());
        let agent = run.session_key.as_str().strip_prefix("agent:").and_then(|key| key.split(':').next());
        session.agent = agent.map(Into::into).or_else(|| session.agent.take());
        match run.status.as_str() {
            "ok" => self.builder.succeed(),
            "error" => {
                let message = run.error.as_str();
                self.builder.fail(None, message);
                let event = self.builder.event(EventKind::Error, At { line, time: ended_at });
                event.message = run.error.some().map(brief);
            }
            _ => self.builder.session.status = Status::Unknown,
        }
        let Some(usage) = run.usage.get() else { return };
        damage.note_impossible(&[usage.input_tokens, usage.output_tokens, usage.total_tokens]);
        let tokens = Tokens { input: usage.input_tokens.get(), output: usage.output_tokens.get(), ..Tokens::UNKNOWN };
        // What was read from the cache is not stated.
        self.under_reports |= usage.total_tokens.get() > tokens.input;
        let key = format!("job {} {:?}", run.job_id.as_str(), started_at.or(ended_at).map(Time::micros));
        if tokens.total().unwrap_or(0) > 0 && self.totals.iter().all(|total| total.key != key) {
            let (model, provider) = (run.model.owned(), run.provider.owned());
            self.totals.push(Total {
                line,
                key,
                kind: TotalKind::Run,
                occurred_at: ended_at,
                duration_ms: run.duration_ms.rounded(),
                models: vec![ModelTotal { model, tokens, provider, ..ModelTotal::default() }],
                ..Total::default()
            });
        }
    }

    fn finish(self) -> SessionResult {
        let session = self.builder.finish();
        SessionResult { totals: self.totals, under_reports: self.under_reports, ..session }
    }
}
