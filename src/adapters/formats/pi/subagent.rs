//! Transcripts of the extension pi-subagents: `RUN_AGENT_INDEX_transcript.jsonl`.
//!
//! A record contains a message of pi. The child's session file contains the same messages, under an id that is not in the
//! transcript (ccusage#1698): messages are identified by time and token counts, and belong to the session file. Without that file the
//! child has the name of its transcript. Its prompts come from the agent that started it.
//!
//! # `pi-subagent`
//!
//! Transcripts of the extension pi-subagents, `RUN_AGENT_INDEX_transcript.jsonl`. Recognised by `recordType`, `runId`, `agent` and
//! `ts`. Seen: 4 files.
//!
//! Messages are pi's, read as in `pi-session`, of `recordType` `message`; durations of calls from `tool_start` and `tool_end`.
//! Results have no `details`: the lines of an edit are those of a line diff of its arguments. The session id is the name of the
//! child's files, `runId_agent_childIndex`. The parent is the session whose `details.results[].transcriptPath` contains this name.
//! If the child's session file is read as well, the same messages are in both (by time and counts): then both are one session.
//! Every row belongs to a subagent. User turns are unknown, as the prompts come from the agent that started it. The sums in the
//! parent's log were those of the transcript in 4 of 4. *Lower bound*: after `truncated`.

use foldhash::{HashMap, HashMapExt as _};
use serde::Deserialize;

use super::common::{Agent, Message, SHOWS};
use crate::adapters::engine::sessions::SessionsById;
use crate::adapters::engine::{Adapter, Context, Fold, RecordErrors, RecordKind, fold};
use crate::adapters::shared::at::At;
use crate::adapters::shared::ids::hashed_id;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Text, When};
use crate::json::lines::Line;
use crate::model::session::{Capabilities, SessionResult};

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "pi-subagent",
    runtime: "pi",
    about: "pi, transcripts of the extension pi-subagents",
    tested: None,
    capabilities: SHOWS.without(Capabilities::USER_TURNS),
    places: &[],
    claims: |probe| if probe.has_all(&["recordType", "runId", "agent", "ts"]) { 4 } else { 0 },
    parse: fold::<Transcripts>,
};

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Record<'a> {
    record_type: Text<'a>,
    run_id: Text<'a>,
    agent: Text<'a>,
    child_index: Count,
    cwd: Text<'a>,
    ts: When,
    message: Message<'a>,
    // tool_start, tool_end: without an id, in older versions, they contain nothing that is not in the messages.
    tool_call_id: Text<'a>,
    is_error: Flag,
}

impl Record<'_> {
    /// The name of the child's files.
    fn child(&self) -> Option<String> {
        let is_kept = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '.' | '-');
        let agent: String = self.agent.as_str().chars().map(|it| if is_kept(it) { it } else { '_' }).collect();
        let index = self.child_index.get().map(|it| format!("_{it}")).unwrap_or_default();
        Some(format!("{}_{agent}{index}", self.run_id.some()?))
    }
}

struct Transcripts {
    context: Context,
    children: SessionsById<Child>,
}

struct Child {
    agent: Agent,
    /// Start time of each call.
    started: HashMap<String, Time>,
}

impl Fold for Transcripts {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), children: SessionsById::default() }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        if !matches!(
            record.record_type.as_str(),
            "message" | "tool_start" | "tool_end" | "stdout" | "stderr" | "truncated"
        ) {
            return RecordKind::Unknown;
        }
        let id = record.child().unwrap_or_else(|| match self.children.last() {
            Some(child) => child.agent.builder.session.session_id.clone(),
            None => hashed_id(line.bytes),
        });
        let child = self.children.find_or_add(&id, || {
            let mut agent = Agent::new(&self.context, id.clone(), line.number);
            agent.has_details = false;
            Child { agent, started: HashMap::new() }
        });
        child.record(&record, line, damage);
        RecordKind::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.children.into_iter().map(Child::finish).collect()
    }
}

impl Child {
    fn record(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut RecordErrors) {
        let time = record.ts.0;
        let builder = &mut self.agent.builder;
        builder.extend_to(time);
        let session = &mut builder.session;
        session.agent = session.agent.take().or_else(|| record.agent.owned());
        session.cwd = session.cwd.take().or_else(|| record.cwd.owned());
        let call_id = record.tool_call_id.as_str();
        match record.record_type.as_str() {
            "message" if record.message.role.as_str() != "user" => {
                self.agent.message(&record.message, Raw(line.bytes), At { line: line.number, time }, damage);
            }
            "tool_start" => {
                if let Some(time) = time {
                    self.started.entry(call_id.to_owned()).or_insert(time);
                }
            }
            "tool_end" => {
                let began = self.started.get(call_id);
                if let (Some(call), Some(end), Some(began)) = (builder.call_index(call_id), time, began) {
                    let call = &mut builder.session.tool_calls[call];
                    call.duration_ms = call.duration_ms.get().or(end.duration_since(*began)).into();
                }
            }
            "truncated" => session.under_reports = true,
            _ => {}
        }
    }

    fn finish(self) -> SessionResult {
        let mut session = self.agent.finish_without_end();
        session.model = session.turns.iter().rev().find_map(|it| it.model.clone());
        for turn in &mut session.turns {
            (turn.agent, turn.is_subagent) = (session.agent.clone(), true);
        }
        for call in &mut session.tool_calls {
            (call.agent, call.is_subagent) = (session.agent.clone(), true);
        }
        for event in &mut session.events {
            event.agent = event.agent.take().or_else(|| session.agent.clone());
            event.is_subagent = true;
        }
        session
    }
}
