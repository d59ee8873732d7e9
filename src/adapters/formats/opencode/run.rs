//! OpenCode's recorded stdout, `opencode run --format json` (docs/formats/opencode.md#opencode-run).
//!
//! One finished step is one response. The stream contains no model, no directory and no child sessions. The process may exit
//! before it has written the last `step_finish`.
//!
//! # `opencode-run`
//!
//! Recorded `opencode run --format json`. Recognised by `sessionID` with `type` `step_start`, `step_finish`, `tool_use`, `text`,
//! `reasoning`, `error`, `done`. Seen: 3 files.
//!
//! | what | from |
//! | --- | --- |
//! | session | `sessionID` |
//! | turn | `step_finish`: `part.tokens`, `cost`, `reason`, `timestamp`; reasoning is added to output unless `total` shows that output includes it or, without `total`, the step is older than 2026 |
//! | call, file change, subagent | `tool_use`, as in an export; since 2.0 `id` is that of the call, and the exit code is in `state.metadata.metadata` |
//! | status | `step_finish` with another reason than `tool-calls` and `unknown`: `success`; `error`: `error` or `aborted`; else `incomplete` |
//!
//! *Lower bound* unless it ended: the process may exit before the last `step_finish` (1 of 3). *Unknown*: model, directory, user
//! turns. Child sessions are not logged in this stream.

use serde::Deserialize;

use super::common::{Error, FAILED, Part, is_last, with_runtime};
use crate::adapters::engine::sessions::{Sessions, streaming_sessions};
use crate::adapters::engine::{Adapter, Context, Fold, RecordErrors, RecordKind, fold};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, money};
use crate::adapters::shared::usage;
use crate::base::time::Time;
use crate::json::fields::{Text, When};
use crate::json::lines::Line;
use crate::model::session::{Capabilities, Cost, Identity, SessionResult, Status};

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "opencode-run",
    runtime: "opencode",
    about: "OpenCode, opencode run --format json",
    tested: None,
    capabilities: Capabilities::TOOL_CALLS
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::SUBAGENTS)
        .and(Capabilities::PERMISSION_DENIALS),
    places: &[],
    claims: |probe| {
        let is_event =
            matches!(probe.kind(), "step_start" | "step_finish" | "tool_use" | "text" | "reasoning" | "error" | "done");
        2 * u32::from(is_event && probe.has("sessionID"))
    },
    parse: fold::<Run>,
};

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Record<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    timestamp: When,
    #[serde(rename = "sessionID")]
    session_id: Text<'a>,
    part: Part<'a>,
    error: Error<'a>,
}

struct Run {
    context: Context,
    sessions: Sessions<Session>,
}

struct Session {
    builder: Builder,
    /// Calls since the last finished step.
    open_calls: Vec<usize>,
}

impl Fold for Run {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: with_runtime(context), sessions: Sessions::new() }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        let record = Record { part: record.part.of_recording(), error: record.error.named(), ..record };
        let kind = record.kind.as_str();
        if !matches!(kind, "step_start" | "step_finish" | "tool_use" | "text" | "reasoning" | "error" | "done") {
            return RecordKind::Unknown;
        }
        let Some(id) = record.session_id.some() else { return RecordKind::Unknown };
        let new = || Session { builder: Builder::new(&self.context, id, line.number), open_calls: Vec::new() };
        let Some(session) = self.sessions.get(id, line.number, new) else { return RecordKind::Known };
        session.builder.extend_to(record.timestamp.0);
        match kind {
            "step_start" => session.builder.session.status = Status::Incomplete,
            "step_finish" => session.step_finish(&record, line, damage),
            "tool_use" => session.tool_use(&record.part, line),
            "text" => session.builder.set_answer(record.part.text.as_str()),
            "error" => record.error.end(&mut session.builder, At { line: line.number, time: record.timestamp.0 }),
            _ => {}
        }
        RecordKind::Known
    }

    streaming_sessions!(Session::finish);
}

/// Days since 1970.
const FIRST_DAY_OF_2026: i32 = 20_454;

impl Session {
    fn finish(self) -> SessionResult {
        let mut session = self.builder.finish();
        // The end of the last step may be missing.
        session.under_reports = session.status == Status::Incomplete;
        session
    }

    fn step_finish(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut RecordErrors) {
        let (part, time) = (&record.part, record.timestamp.0);
        // In some published logs all ids are replaced by the same word: the time distinguishes the steps.
        let identity = Identity::Session(format!("{} {:?}", part.id.as_str(), time.map(Time::micros)).into());
        let index = self.builder.turn(identity, line.number);
        let turn = &mut self.builder.session.turns[index];
        if let Some(usage) = usage::present(&part.tokens, damage) {
            // Recordings state no version: those before 2026 are of versions whose output includes reasoning.
            let is_inside = time.is_some_and(|time| time.day() < FIRST_DAY_OF_2026);
            let tokens = usage.tokens(is_inside, damage);
            if !tokens.is_all_zero() {
                turn.tokens = tokens.into();
            }
        }
        turn.message_id = part.message_id.owned();
        turn.occurred_at = time;
        turn.stop_reason = part.reason.owned();
        if let Some(model) = part.routed_model() {
            (turn.provider, turn.model) = (model.provider_id.owned(), model.model_id.owned());
        }
        turn.cost = money(part.cost, damage).map(Cost::of);
        for call in self.open_calls.drain(..) {
            self.builder.session.tool_calls[call].turn = Some(index);
        }
        self.builder.session.stop_reason = part.reason.owned();
        // Some versions log no reason. A step without calls is the last.
        if part.reason.as_str() == FAILED {
            // The record of the error, if there is one, states its kind.
            if self.builder.session.status != Status::Error {
                self.builder.fail(None, "");
            }
        } else if part.reason.as_str().is_empty() || is_last(part.reason.as_str()) {
            self.builder.succeed();
        }
    }

    fn tool_use(&mut self, part: &Part<'_>, line: Line<'_>) {
        let call = part.call(&mut self.builder, line.number);
        self.open_calls.push(call);
    }
}

#[cfg(test)]
mod tests {
    use crate::adapters::engine::Hints;
    use crate::adapters::parse;
    use crate::adapters::shared::builder::Retention;
    use crate::model::session::Status;

    /// A step of a day in milliseconds, with 100 tokens of output and 30 of reasoning.
    fn step(time: i64, reason: &str) -> String {
        let tokens = r#"{"input":10,"output":100,"reasoning":30,"cache":{"read":0,"write":0}}"#;
        format!(
            r#"{{"type":"step_finish","timestamp":{time},"sessionID":"ses_1","part":{{"id":"p","messageID":"m","sessionID":"ses_1","type":"step-finish","reason":"{reason}","cost":0.1,"tokens":{tokens}}}}}"#
        )
    }

    #[test]
    fn steps_before_2026_include_reasoning_in_their_output() {
        for (time, output) in [(1_767_225_599_000, 100), (1_767_225_600_000, 130)] {
            let session =
                parse(step(time, "stop").as_bytes(), Hints::default(), Retention::None).sessions.swap_remove(0);
            assert_eq!(session.turns[0].tokens.get().output, Some(output));
        }
    }

    #[test]
    fn a_step_without_a_reason_is_the_last() {
        for (reason, status) in [
            ("stop", Status::Success),
            ("", Status::Success),
            ("tool-calls", Status::Incomplete),
            ("unknown", Status::Incomplete),
        ] {
            let log = step(1_767_225_600_000, reason);
            let start = r#"{"type":"step_start","timestamp":1767225600000,"sessionID":"ses_1","part":{"id":"s"}}"#;
            let log = format!("{start}\n{log}");
            let session = parse(log.as_bytes(), Hints::default(), Retention::None).sessions.swap_remove(0);
            assert_eq!(session.status, status, "{reason}");
        }
    }
}
