//! The adapter: which logs are rollouts, and how their records are dispatched.

use twox_hash::XxHash3_64;

use super::records::{Compacted, Meta, Payload, Record};
use super::state::State;
use super::thread::Thread;
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::shared::ids::hashed_id;
use crate::adapters::shared::repository::of_remote;
use crate::json;
use crate::json::lines::Line;
use crate::model::places::Place;
use crate::model::session::{Capabilities, SessionResult};

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "codex-rollout",
    runtime: "codex",
    about: "Codex, rollouts under ~/.codex/sessions",
    tested: Some("0.153.4"),
    capabilities: Capabilities::TOOL_CALLS
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::SUBAGENTS)
        .and(Capabilities::COMPACTIONS)
        .and(Capabilities::PERMISSION_DENIALS)
        .and(Capabilities::USER_TURNS)
        .and(Capabilities::KEPT_BY_RUNTIME),
    places: &[
        Place::variable("CODEX_HOME", ".codex", "sessions"),
        Place::variable("CODEX_HOME", ".codex", "archived_sessions"),
    ],
    claims,
    parse: fold::<Rollout>,
};

fn claims(probe: &Probe<'_>) -> u32 {
    match probe.kind() {
        "session_meta" | "turn_context" | "response_item" | "event_msg" | "compacted" | "token_usage_record"
            if probe.has("payload") =>
        {
            2
        }
        // Before the envelope.
        "" if probe.has_all(&["id", "timestamp", "instructions"]) || probe.has("record_type") => 2,
        "function_call" | "function_call_output" if probe.has("call_id") => 2,
        _ => 0,
    }
}

/// The fold over a rollout, which contains one thread.
pub(super) struct Rollout {
    context: Context,
    thread: Option<Thread>,
}

impl Fold for Rollout {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), thread: None }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        let is_header = record.kind.some().is_none() && record.id.is_some();
        let meta: Option<Meta<'_>> = match &record.payload {
            Payload::Other(payload) if record.kind.as_str() == "session_meta" => Some(payload.read()),
            _ => None,
        };
        let id = if is_header { record.id.owned() } else { meta.as_ref().and_then(|meta| meta.id.owned()) };
        let context = &self.context;
        let thread = self.thread.get_or_insert_with(|| {
            let named = id.clone().or_else(|| context.file_id.clone());
            Thread::new(context, named.unwrap_or_else(|| hashed_id(line.bytes)), line)
        });
        // A resume has its own time.
        if id.is_some() && thread.first == XxHash3_64::oneshot(line.bytes) {
            thread.state = State::default();
        }
        let time = record.timestamp.0;
        thread.builder.saw(time);
        if is_header {
            thread.builder.session.git_branch = record.git.branch.owned();
            thread.builder.session.repository = of_remote(record.git.repository_url.as_str());
            return RecordKind::Known;
        }
        if let Some(meta) = meta {
            thread.meta(&meta);
            return RecordKind::Known;
        }
        if thread.is_copied(record.ordinal.get()) {
            return thread.copied(record);
        }
        match (record.kind.as_str(), record.payload) {
            ("turn_context", Payload::Other(payload)) => thread.turn_context(&payload.read()),
            ("event_msg", Payload::Wrong) => return RecordKind::Unknown,
            ("event_msg", event) if !matches!(event, Payload::Absent) => {
                return thread.event(event, line, time, damage);
            }
            ("response_item", Payload::Wrong) => return RecordKind::Unknown,
            ("response_item", item) if !matches!(item, Payload::Absent) => return thread.item(item, line, time),
            ("token_usage_record", Payload::Other(payload)) => thread.recorded(&payload.read(), line, time, damage),
            ("compacted", payload) => {
                thread.compacted(line, time);
                if let Payload::Other(payload) = payload {
                    let compacted: Compacted<'_> = payload.read();
                    thread.compacted_by(compacted.compaction_response_id.some());
                }
            }
            ("guardian_assessment", Payload::Other(payload)) => thread.assessed(&payload.read(), line, time),
            (
                "inter_agent_communication"
                | "inter_agent_communication_metadata"
                | "world_state"
                | "security_risk_score"
                | "realtime_item"
                | "guardian_assessment",
                _,
            ) => {}
            ("", _) if record.record_type.is_some() => {}
            // Before the envelope, items were records.
            (_, Payload::Absent) => {
                let item: Payload<'_> = json::from_slice(line.bytes).unwrap_or_default();
                return thread.item(item, line, time);
            }
            _ => return RecordKind::Unknown,
        }
        RecordKind::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.thread.map(Thread::finish).into_iter().collect()
    }
}
