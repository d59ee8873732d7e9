//! Kimi Code, the successor of Kimi CLI: `~/.kimi-code/sessions/WORKDIR/SESSION/agents/AGENT/wire.jsonl`, protocol 1.4 and later.
//!
//! Its records have no envelope. `usage.record` of the scope `turn` is one response, and the end of its step (`step.end`) repeats the
//! counts: a step without such a record is a response by itself. A record of the scope `session` is a request outside of a turn, which
//! summarises the conversation (its source: `agent-core/src/agent/compaction/full.ts`). Counts are disjoint.

use foldhash::{HashSet, HashSetExt as _};

pub(super) use self::families::{is_known, is_record};
use self::models::Models;
pub(super) use self::records::Record;
use self::records::{Event, Message, Origin};
use self::retries::Retries;
use self::step::Step;
use super::call_ids::id_of_call;
use super::records::Part;
use crate::adapters::engine::{Context, RecordErrors, RecordKind};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, Last, brief};
use crate::adapters::shared::ids::hashed_id;
use crate::adapters::shared::{subagents, usage};
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Text, TextOrBlocks};
use crate::json::lines::Line;
use crate::model::session::{CallStatus, Capabilities, EventKind, Identity, SessionResult, Tokens};

mod families;
mod models;
mod records;
mod refusal;
mod responses;
mod retries;
mod step;

/// The name of the main agent's directory.
const MAIN: &str = "main";

/// A session's file while it is read.
pub(super) struct Code {
    builder: Builder,
    /// The agent, unless it is the main one.
    agent: Option<Symbol>,
    models: Models,
    effort: Option<Symbol>,
    provider: Option<Symbol>,
    /// The sum of the responses so far, and that since the last prompt and the last sum.
    sums: [Tokens; 3],
    steps: Vec<Step>,
    /// The last response and its counts, if the end of its step has not been read.
    recorded: Option<(usize, Tokens)>,
    /// Calls that the user refused, of which no result has been read.
    refused: Vec<(String, At)>,
    /// Prompts in messages, which the log may contain once more as prompts.
    messages: HashSet<Identity>,
    /// Index of the first call of the step.
    first_call: usize,
    began_at: Option<Time>,
    is_compacted: bool,
    retries: Retries,
    last: Last,
}

impl Code {
    pub(super) fn new(context: &Context, line: Line<'_>) -> Self {
        // The file is `SESSION/agents/AGENT/wire.jsonl`.
        let (agent, id) = match context.directories.as_slice() {
            [agent, agents, session, ..] if agents == "agents" => (Some(agent.as_str()), Some(session.clone())),
            _ => (None, context.directory_id.clone()),
        };
        let id = id.unwrap_or_else(|| hashed_id(line.bytes));
        Self {
            builder: Builder::new(context, id, line.number),
            agent: agent.filter(|agent| *agent != MAIN).map(Symbol::new),
            models: Models::default(),
            effort: None,
            provider: None,
            sums: [Tokens::UNKNOWN; 3],
            steps: Vec::new(),
            recorded: None,
            refused: Vec::new(),
            messages: HashSet::new(),
            first_call: 0,
            began_at: None,
            is_compacted: false,
            retries: Retries::default(),
            last: Last::Work,
        }
    }

    pub(super) fn record(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut RecordErrors) -> RecordKind {
        let (number, time) = (line.number, record.time.0);
        self.builder.extend_to(time);
        let at = At { line: number, time };
        if self.builder.session.subagents.is_empty()
            && let Some(agent) = self.agent.clone()
        {
            subagents::add(&mut self.builder, &agent, None, at);
        }
        match record.kind.as_str() {
            "config.update" | "profile.bind" => self.settings(record),
            "llm.request" => {
                self.settings(record);
                if self.retries.request(record) {
                    let is_subagent = self.agent.is_some();
                    self.builder.event(EventKind::Retry, at).is_subagent = is_subagent;
                }
            }
            "turn.prompt" | "turn.steer" => self.prompt(&record.input, &record.origin, time),
            "context.append_message" => self.message(&record.message, time),
            "context.append_loop_event" => self.event(&record.event, at, damage),
            "usage.record" => self.usage(record, number, damage),
            "full_compaction.begin" => self.is_compacted = false,
            "full_compaction.complete" | "context.apply_compaction" => self.compaction(record, number),
            "turn.step.retrying" => {
                self.retries.stated();
                let is_subagent = self.agent.is_some();
                let event = self.builder.event(EventKind::Retry, at);
                event.is_subagent = is_subagent;
                event.code = record.status_code.whole().map(|code| code.to_string().into());
                event.message = record.error_message.some().map(brief);
            }
            "permission.record_approval_result" => {
                if record.result.get().is_some_and(|result| result.decision.as_str() == "rejected") {
                    self.refused.push((self.call_id(&record.tool_call_id), at));
                }
            }
            // The user removed a prompt that waited: the turn goes on.
            "turn.cancel" if record.target.as_str() == "queued" => {}
            "turn.cancel" | "prompt.aborted" => self.aborted(at),
            "turn.ended" => self.ended(record, number),
            kind if is_known(kind) => {}
            _ => return RecordKind::Unknown,
        }
        self.builder.name_events(None, line.bytes);
        RecordKind::Known
    }

    fn settings(&mut self, record: &Record<'_>) {
        self.models.settings(record);
        self.effort = record.thinking_effort.owned().or(self.effort.take());
        self.provider = record.provider.owned().or(self.provider.take());
        let session = &mut self.builder.session;
        let disclosed = || record.environment_disclosure.get().and_then(|it| it.cwd.owned());
        session.cwd = session.cwd.take().or_else(|| record.cwd.owned()).or_else(disclosed);
    }

    /// Whether a record may be of a prompt that a human typed: other agents get theirs from a program.
    fn is_typed(&self, origin: &Origin<'_>) -> bool {
        self.agent.is_none() && origin.is_user()
    }

    fn prompt(&mut self, input: &TextOrBlocks<'_, Part<'_>>, origin: &Origin<'_>, time: Option<Time>) {
        self.last = Last::Work;
        self.sums[1] = Tokens::UNKNOWN;
        if self.is_typed(origin) {
            self.builder.prompt_as(identity_of_prompt(time), Some(&input.joined(|it| it.text.as_str())));
        }
    }

    fn message(&mut self, message: &Message<'_>, time: Option<Time>) {
        if message.role.as_str() == "user" && self.is_typed(&message.origin) {
            self.messages.insert(identity_of_prompt(time));
        }
    }

    fn event(&mut self, event: &Event<'_>, at: At, damage: &mut RecordErrors) {
        match event.kind.as_str() {
            "step.begin" => {
                self.last = Last::Work;
                self.recorded = None;
                self.add_step_of_zeros();
                self.first_call = self.builder.session.tool_calls.len();
                self.began_at = at.time;
            }
            "content.part" if self.agent.is_none() => self.builder.set_answer(event.part.text.as_str()),
            "tool.call" => {
                let id = self.call_id(&event.tool_call_id);
                // An object, or JSON as a string.
                let text = event.args.text();
                let is_text = event.args.is_string();
                let arguments = if is_text { Raw(text.as_bytes()) } else { event.args };
                // Newer versions write the usage of a response before its calls.
                let turn = self.recorded.map(|(turn, _)| turn);
                let call = self.builder.call_of(turn, &id, event.name.as_str(), arguments, at);
                self.builder.arguments(call, arguments);
                let row = &mut self.builder.session.tool_calls[call];
                row.is_subagent = self.agent.is_some();
            }
            "tool.result" => self.result(event, at),
            "step.end" => self.step(event, at, damage),
            _ => {}
        }
    }

    fn call_id(&self, id: &Text<'_>) -> String {
        id_of_call(self.agent.as_deref(), id)
    }

    fn result(&mut self, event: &Event<'_>, at: At) {
        let id = self.call_id(&event.tool_call_id);
        let Some(call) = self.builder.call_index(&id) else { return };
        let (output, is_error) = (event.result.output, event.result.is_error.is_true());
        let refused = self.refused.iter().position(|(refused, _)| *refused == id);
        let is_refused = refused.map(|index| self.refused.remove(index)).is_some();
        let end = if is_error { refusal::how_it_ended(&output.text()) } else { CallStatus::Ok };
        self.builder.result(call, output, at.time, end);
        if is_refused || end == CallStatus::Denied {
            self.builder.deny(call, at, Some(&output.text()));
        }
    }

    fn step(&mut self, event: &Event<'_>, at: At, damage: &mut RecordErrors) {
        let has_calls = self.builder.session.tool_calls.len() > self.first_call;
        let ended = match event.finish_reason.as_str() {
            "" => !has_calls,
            reason => !reason.contains("tool"),
        };
        self.last = if ended { Last::Answer } else { Last::Work };
        if self.agent.is_none() {
            self.builder.session.stop_reason = event.finish_reason.owned().or(self.builder.session.stop_reason.take());
        }
        let Some(usage) = usage::present(&event.usage, damage) else { return };
        let tokens = usage.tokens(damage);
        let has_failed =
            matches!(event.finish_reason.as_str(), "error" | "failed" | "cancelled" | "aborted" | "interrupted");
        let recorded = self.recorded.take().map(|(_, recorded)| recorded);
        let is_recorded = recorded.is_some_and(|recorded| tokens.is_none_or(|tokens| tokens == recorded));
        // Counts that are all 0 are unknown, unless the request failed.
        if !is_recorded && (tokens.is_some() || !has_failed) {
            let span = self.span();
            self.steps.push(Step { uuid: event.uuid.owned(), at, tokens, span });
        }
    }

    fn compaction(&mut self, record: &Record<'_>, line: i64) {
        if self.is_compacted && record.kind.as_str() == "context.apply_compaction" {
            self.is_compacted = false;
            return;
        }
        self.is_compacted = record.kind.as_str() == "full_compaction.complete";
        let is_subagent = self.agent.is_some();
        let event = self.builder.event(EventKind::Compaction, At { line, time: record.time.0 });
        event.is_subagent = is_subagent;
        event.tokens_before = record.tokens_before.get();
        event.tokens_after = record.tokens_after.get();
    }

    fn aborted(&mut self, at: At) {
        if self.agent.is_none() && self.last != Last::Abort {
            self.last = Last::Abort;
            self.builder.event(EventKind::Abort, at);
        }
    }

    fn ended(&mut self, record: &Record<'_>, line: i64) {
        let at = At { line, time: record.time.0 };
        match record.reason.as_str() {
            "cancelled" | "aborted" | "interrupted" => self.aborted(at),
            "failed" | "error" if self.agent.is_none() => {
                self.last = Last::Error;
                let failure = record.error.get();
                let status = failure.and_then(|it| it.details.get()?.status_code.whole());
                let name = failure.and_then(|it| it.code.some());
                let message = failure.and_then(|it| it.message.some()).or_else(|| record.error_message.some());
                let status = status.or_else(|| record.status_code.whole());
                self.builder.fail_named(status, name.unwrap_or_default(), message.unwrap_or_default());
                let event = self.builder.event(EventKind::Error, at);
                event.code = name.map(Into::into);
                event.message = message.map(brief);
            }
            _ => {}
        }
    }

    pub(super) fn finish(mut self) -> SessionResult {
        self.add_steps();
        if self.builder.session.prompts.is_empty() {
            self.builder.session.prompts.extend(self.messages);
        }
        for (id, at) in self.refused {
            if let Some(call) = self.builder.call_index(&id) {
                self.builder.deny(call, at, None);
            }
        }
        if !self.retries.are_complete() {
            let session = &mut self.builder.session;
            session.capabilities = session.capabilities.without(Capabilities::RETRIES);
        }
        match self.agent {
            // The end of another agent is not that of the session.
            Some(_) => self.builder.session.status = crate::model::session::Status::Unknown,
            None => self.builder.end(self.last),
        }
        self.builder.finish()
    }
}

fn identity_of_prompt(time: Option<Time>) -> Identity {
    time.map_or(Identity::Unique, |time| Identity::Global(format!("kimi {}", time.micros()).into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::engine::Hints;
    use crate::adapters::parse;
    use crate::model::retention::Retention;
    use crate::model::session::Status;

    const SESSION: &str = "session_01c917ae-f708-5490-a290-1103233b4cb6";

    fn record(second: i64, kind: &str, members: &str) -> String {
        format!(r#"{{"type":"{kind}",{members},"time":{}}}"#, 1_791_446_400_000 + second * 1000)
    }

    fn usage(second: i64, scope: &str, input: i64) -> String {
        let members = format!(
            r#""model":"k","usage":{{"inputOther":{input},"output":{input},"inputCacheRead":{input},"inputCacheCreation":0}}{scope}"#
        );
        record(second, "usage.record", &members)
    }

    const TURN: &str = r#","usageScope":"turn""#;
    const SESSION_SCOPE: &str = r#","usageScope":"session""#;

    fn event(second: i64, members: &str) -> String {
        record(second, "context.append_loop_event", &format!(r#""event":{{{members}}}"#))
    }

    fn begin(second: i64) -> String {
        event(second, r#""type":"step.begin""#)
    }

    fn call(second: i64, id: &str) -> String {
        event(second, &format!(r#""type":"tool.call","toolCallId":"{id}","name":"Bash","args":{{}}"#))
    }

    fn step(second: i64, input: i64) -> String {
        let usage = format!(
            r#""usage":{{"inputOther":{input},"output":{input},"inputCacheRead":{input},"inputCacheCreation":0}}"#
        );
        event(second, &format!(r#""type":"step.end","uuid":"u{second}",{usage}"#))
    }

    fn read(agent: &str, records: &[String]) -> SessionResult {
        let header = r#"{"type":"metadata","protocol_version":"1.5","created_at":1791446400000}"#.to_owned();
        let path = format!("/sessions/wd_work/{SESSION}/agents/{agent}/wire.jsonl");
        let log = [&[header], records].concat().join("\n");
        parse(log.as_bytes(), Hints { path: &path, ..Hints::default() }, Retention::None).sessions.swap_remove(0)
    }

    fn inputs(session: &SessionResult) -> Vec<Option<i64>> {
        session.turns.iter().map(|turn| turn.tokens.get().input).collect()
    }

    /// The end of a step and its record are one response, in either order; each of them may be absent.
    #[test]
    fn a_response_counts_once() {
        for (records, expected) in [
            (
                vec![step(1, 7), usage(1, TURN, 7), step(2, 7), usage(2, TURN, 7), usage(3, SESSION_SCOPE, 14)],
                vec![7, 7],
            ),
            (
                vec![usage(1, TURN, 7), step(2, 7), event(3, r#""type":"step.begin""#), usage(4, "", 9), step(5, 9)],
                vec![7, 9],
            ),
            (vec![step(1, 7), step(2, 9)], vec![7, 9]),
            (vec![step(1, 7), step(2, 9), usage(2, TURN, 9)], vec![7, 9]),
            // A record of the sum of two steps.
            (vec![step(1, 7), step(2, 9), usage(2, TURN, 16)], vec![7, 9]),
            (vec![usage(1, TURN, 7), usage(2, TURN, 9)], vec![7, 9]),
        ] {
            let session = read("main", &records);
            let expected: Vec<_> = expected.into_iter().map(Some).collect();
            assert_eq!(inputs(&session), expected, "{records:?}");
            assert!(!session.under_reports);
        }
    }

    #[test]
    fn a_step_without_counts_is_a_response() {
        let session = read("main", &[step(1, 0), usage(1, TURN, 0), step(2, 7), usage(2, TURN, 7)]);
        assert_eq!(inputs(&session), [None, Some(7)]);
        for (records, expected) in [
            // A record states the usage of the step, before or after its end.
            (vec![begin(1), usage(2, TURN, 7), step(3, 0)], vec![Some(7)]),
            (vec![begin(1), step(2, 0), usage(2, TURN, 7)], vec![Some(7)]),
            // A late record of an earlier step, and the record of a sum.
            (vec![step(1, 7), begin(2), step(3, 0), usage(4, TURN, 7)], vec![Some(7), None]),
            (vec![step(1, 7), step(2, 9), step(3, 0), usage(4, TURN, 16)], vec![Some(7), Some(9), None]),
            // The record of the next step is not its own.
            (vec![begin(1), step(2, 0), begin(3), usage(4, TURN, 7), step(5, 7)], vec![None, Some(7)]),
        ] {
            assert_eq!(inputs(&read("main", &records)), expected, "{records:?}");
        }
    }

    #[test]
    fn calls_of_steps_without_records_are_of_their_steps() {
        for second_count in [9, 0] {
            let records = [begin(1), call(2, "a"), step(4, 7), begin(5), call(6, "b"), step(9, second_count)];
            let session = read("main", &records);
            let turns: Vec<_> = session.tool_calls.iter().map(|call| call.turn).collect();
            let durations: Vec<_> = session.turns.iter().map(|turn| turn.duration_ms.get()).collect();
            assert_eq!((turns, durations), (vec![Some(0), Some(1)], vec![Some(3000), Some(4000)]));
        }
    }

    /// The summary of a compaction. Descriptions of the format state that the record can repeat a sum.
    #[test]
    fn a_request_outside_of_turns_is_a_response() {
        let call = event(3, r#""type":"tool.call","toolCallId":"c1","name":"Bash","args":{}"#);
        let records =
            [usage(1, SESSION_SCOPE, 50), event(2, r#""type":"step.begin""#), call, usage(4, SESSION_SCOPE, 60)];
        let records = [&records[..], &[step(5, 7), usage(5, TURN, 7), usage(6, SESSION_SCOPE, 7)]].concat();
        let session = read("main", &records);
        assert_eq!(inputs(&session), [Some(50), Some(60), Some(7)]);
        assert_eq!((session.tool_calls[0].turn, session.under_reports), (Some(2), false));
    }

    /// Newer versions write the usage of a response before its calls.
    #[test]
    fn calls_after_their_usage_are_of_that_response() {
        let first = [begin(1), usage(2, TURN, 7), call(3, "a"), call(3, "b"), step(4, 7)];
        let records = [&first[..], &[begin(5), usage(6, TURN, 9), call(7, "c"), step(8, 9)]].concat();
        let session = read("main", &records);
        let turns: Vec<_> = session.tool_calls.iter().map(|call| call.turn).collect();
        assert_eq!((inputs(&session), turns), (vec![Some(7), Some(9)], vec![Some(0), Some(0), Some(1)]));
    }

    #[test]
    fn prompts_of_the_main_agent_are_typed() {
        let prompt = record(1, "turn.prompt", r#""input":[{"type":"text","text":"Go."}],"origin":{"kind":"user"}"#);
        let message = r#""message":{"role":"user","content":"Go.","origin":{"kind":"user"}}"#;
        let message = record(1, "context.append_message", message);
        let other = record(2, "turn.prompt", r#""input":"Wake up.","origin":{"kind":"cron"}"#);
        let records = [prompt, message.clone(), other, step(3, 7)];
        let session = read("main", &records);
        assert_eq!((session.session_id.as_str(), session.prompts.len(), session.status), (SESSION, 1, Status::Success));
        assert_eq!(read("main", &[message, step(3, 7)]).prompts.len(), 1);
        let agent = read("agent-1", &records);
        assert_eq!((agent.prompts.len(), agent.subagents.len(), agent.turns[0].is_subagent), (0, 1, true));
    }

    #[test]
    fn calls_have_their_results() {
        let call = r#""type":"tool.call","toolCallId":"c1","name":"Bash","args":"{\"command\":\"ls\"}""#;
        let result = r#""type":"tool.result","toolCallId":"c1","result":{"output":"x","isError":true}"#;
        let records =
            [event(1, r#""type":"step.begin""#), event(2, call), event(3, result), step(4, 7), usage(4, TURN, 7)];
        let session = read("main", &records);
        let call = &session.tool_calls[0];
        assert_eq!((call.target.as_deref(), call.status, call.turn), (Some("ls"), CallStatus::Error, Some(0)));
        assert_eq!(session.status, Status::Incomplete);
    }
}
