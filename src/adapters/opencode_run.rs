//! OpenCode's recorded stdout, `opencode run --format json`.
//!
//! One finished step is one response. The stream names no model and no folder, shows no child session, and the process may
//! exit before the last `step_finish` is written (accounting B17 to B19).

use serde::Deserialize;

use super::opencode::{Error, Part};
use super::{Adapter, Context, Damage, Fold, Seen, fold};
use crate::adapters::common::builder::Builder;
use crate::base::rows::Rows;
use crate::base::time::Time;
use crate::json::lines::Line;
use crate::json::wire::{Maybe, Text, When};
use crate::model::health::Reason;
use crate::model::session::{Cost, Identity, SessionResult, Shows, Status};

pub(super) const ADAPTER: Adapter = Adapter {
    id: "opencode-run",
    runtime: "opencode",
    about: "OpenCode, opencode run --format json",
    shows: Shows::TOOL_CALLS.and(Shows::FILE_CHANGES).and(Shows::SUBAGENTS).and(Shows::PERMISSION_DENIALS),
    claims: |probe| {
        let is_event =
            matches!(probe.kind(), "step_start" | "step_finish" | "tool_use" | "text" | "reasoning" | "error" | "done");
        2 * u32::from(is_event && probe.has("sessionID"))
    },
    parse: fold::<Run>,
};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Record<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    timestamp: When,
    #[serde(borrow, rename = "sessionID")]
    session_id: Text<'a>,
    #[serde(borrow)]
    part: Part<'a>,
    #[serde(borrow)]
    error: Error<'a>,
}

struct Run {
    context: Context,
    sessions: Rows<Session>,
}

struct Session {
    builder: Builder,
    /// Calls since the last finished step.
    open_calls: Vec<usize>,
}

impl Fold for Run {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: *context, sessions: Rows::default() }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut Damage) -> Seen {
        let kind = record.kind.as_str();
        if !matches!(kind, "step_start" | "step_finish" | "tool_use" | "text" | "reasoning" | "error" | "done") {
            return Seen::Unknown;
        }
        let Some(id) = record.session_id.some() else { return Seen::Unknown };
        let index = self.sessions.iter().rposition(|it| it.builder.session.session_id == id).unwrap_or_else(|| {
            let builder = Builder::new(&self.context, id, line.number);
            self.sessions.push(Session { builder, open_calls: Vec::new() });
            self.sessions.len() - 1
        });
        let session = &mut self.sessions[index];
        session.builder.saw(record.timestamp.0);
        match kind {
            "step_start" => session.builder.session.status = Status::Incomplete,
            "step_finish" => session.step_finish(&record, line, damage),
            "tool_use" => session.tool_use(&record.part, line),
            "text" => session.builder.say(record.part.text.as_str()),
            "error" => record.error.end(&mut session.builder, line.number, record.timestamp.0),
            _ => {}
        }
        Seen::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.sessions
            .into_iter()
            .map(|it| {
                let mut session = it.builder.finish();
                // A step may have begun whose end was never written.
                session.under_reports = session.status == Status::Incomplete;
                session
            })
            .collect()
    }
}

impl Session {
    fn step_finish(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut Damage) {
        let (part, time) = (&record.part, record.timestamp.0);
        // Exports exist in which every id is masked by the same word: the time tells the steps apart.
        let identity = Identity::Session(format!("{} {:?}", part.id.as_str(), time.map(Time::micros)).into());
        let index = self.builder.turn(identity, line.number);
        let turn = &mut self.builder.session.turns[index];
        match &part.tokens {
            Maybe::Absent => {}
            Maybe::Wrong => damage.note(Reason::NoUsage),
            Maybe::Present(usage) => {
                let tokens = usage.tokens(false, damage);
                if !tokens.is_all_zero() {
                    turn.tokens = tokens.into();
                }
            }
        }
        turn.message_id = part.message_id.owned();
        turn.occurred_at = time;
        turn.stop_reason = part.reason.owned();
        turn.cost = part.cost.money().map(Cost::of);
        for call in self.open_calls.drain(..) {
            self.builder.session.tool_calls[call].turn = index.into();
        }
        self.builder.session.stop_reason = part.reason.owned();
        // Some versions leave the reason out; a step that does not go on to tools is the last.
        if part.reason.as_str() != "tool-calls" {
            self.builder.succeed();
        }
    }

    fn tool_use(&mut self, part: &Part<'_>, line: Line<'_>) {
        let call = part.call(&mut self.builder, line.number);
        self.open_calls.push(call);
    }
}
