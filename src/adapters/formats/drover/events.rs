//! drover's `HarnessEvent`s, one on each line (docs/formats/drover.md#drover-events).
//!
//! A `usage` event is one request, not a running total. Its input excludes cached tokens; versions that do not log cache
//! counts leave them unknown. A child run writes a log of its own, under its own run id.
//!
//! # `drover-events`
//!
//! drover's `HarnessEvent`s. Recognised by `runId` and one of drover's `kind`s, without `type`. No public recording was found;
//! from drover's source (`packages/core/src/events.ts`).
//!
//! | what | from |
//! | --- | --- |
//! | session, agent | `runId`, `agentId` of `run_start` |
//! | turn | each `usage` event; it is one request, not a running total: `inputTokens` (without cache), `outputTokens`, `cacheReadTokens`, `cacheWriteTokens`, `costUsd`; model and effort of the last `llm_call` |
//! | call | `tool_call_start`, `tool_call_end`: `isError`, `durationMs` |
//! | file change | the path of an edit or a write; of an edit the lines of its arguments (for 64 of 64 calls, the numbers of the diff that pi logged) |
//! | events | `compaction`, `subagent_start` (the child is a session of its own), `input_validated`, `output_validated`, `output_retry` (retry), `error`, a cancelled end |
//! | status | `run_end`: `success`; `paused` is `incomplete`; `cancelled` is `aborted`; `quota`, `max_turns` and others `error` |
//!
//! *Exact*. Versions before 8912a93 do not log cache counts, which are then unknown.

use foldhash::{HashMap, HashMapExt as _};
use serde::Deserialize;

use crate::adapters::engine::sessions::{Sessions, streaming_sessions};
use crate::adapters::engine::{Adapter, Context, Fold, RecordErrors, RecordKind, fold};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, brief, money};
use crate::adapters::shared::changes;
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Maybe, Number, Text, When};
use crate::json::lines::Line;
use crate::model::errors::ErrorKind;
use crate::model::health::Reason;
use crate::model::session::{
    CallStatus, Capabilities, Cost, EventKind, Identity, Operation, SessionResult, Status, Tokens,
};

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "drover-events",
    runtime: "drover",
    about: "drover, HarnessEvents",
    tested: None,
    capabilities: Capabilities::TOOL_CALLS
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::SUBAGENTS)
        .and(Capabilities::COMPACTIONS)
        .and(Capabilities::RETRIES),
    places: &[],
    claims: |probe| 2 * u32::from(probe.has("runId") && !probe.has("type") && is_known(&probe.text("kind"))),
    parse: fold::<Events>,
};

fn is_known(kind: &str) -> bool {
    matches!(
        kind,
        "run_start"
            | "run_end"
            | "input_validated"
            | "output_validated"
            | "output_retry"
            | "turn_start"
            | "llm_call"
            | "thinking"
            | "assistant_text"
            | "tool_call_start"
            | "tool_call_end"
            | "usage"
            | "compaction"
            | "subagent_start"
            | "subagent_end"
            | "memory_written"
            | "memory_recalled"
            | "prompt_rendered"
            | "error"
    )
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Record<'a> {
    kind: Text<'a>,
    run_id: Text<'a>,
    ts: When,
    turn: Count,
    agent_id: Text<'a>,
    text: Text<'a>,
    status: Text<'a>,
    // llm_call
    model_name: Text<'a>,
    reasoning: Raw<'a>,
    usage: Maybe<Usage>,
    // tool_call_*
    tool_use_id: Text<'a>,
    tool_name: Text<'a>,
    input: Raw<'a>,
    result: Outcome<'a>,
    duration_ms: Number,
    // compaction
    trigger: Text<'a>,
    before_tokens: Count,
    after_tokens: Count,
    // subagent_*
    child_run_id: Text<'a>,
    // output_retry, error
    reason: Text<'a>,
    tag: Text<'a>,
    message: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Usage {
    input_tokens: Count,
    output_tokens: Count,
    cache_read_tokens: Count,
    cache_write_tokens: Count,
    cost_usd: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Outcome<'a> {
    content: Raw<'a>,
    is_error: Flag,
}

struct Events {
    context: Context,
    sessions: Sessions<Run>,
}

struct Run {
    builder: Builder,
    model: Option<Symbol>,
    effort: Option<Symbol>,
    /// The turn number that the log gives to each call.
    turn_of_call: Vec<(usize, i64)>,
    /// The first response of each turn number.
    turns: HashMap<i64, usize>,
    /// The last error: the reason if the run failed.
    error: Option<(ErrorKind, String)>,
}

impl Fold for Events {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), sessions: Sessions::new() }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        let (true, Some(id)) = (is_known(record.kind.as_str()), record.run_id.some()) else {
            return RecordKind::Unknown;
        };
        let new = || Run {
            builder: Builder::new(&self.context, id, line.number),
            model: None,
            effort: None,
            turn_of_call: Vec::new(),
            turns: HashMap::new(),
            error: None,
        };
        if let Some(run) = self.sessions.get(id, line.number, new) {
            run.record(&record, line, damage);
            run.builder.name_events(None, line.bytes);
        }
        RecordKind::Known
    }

    streaming_sessions!(Run::finish);
}

impl Run {
    fn record(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut RecordErrors) {
        let (time, number) = (record.ts.0, line.number);
        let builder = &mut self.builder;
        builder.extend_to(time);
        let at = At { line: number, time };
        match record.kind.as_str() {
            "run_start" => {
                builder.session.agent = record.agent_id.owned();
                builder.session.status = Status::Incomplete;
            }
            "llm_call" => {
                self.model = record.model_name.owned();
                // A string, or an object of the provider.
                self.effort = (!record.reasoning.is_empty()).then(|| record.reasoning.text().into());
            }
            "assistant_text" => builder.set_answer(record.text.as_str()),
            "usage" => self.usage(record, line, damage),
            "tool_call_start" => {
                let (id, tool) = (record.tool_use_id.as_str(), record.tool_name.as_str());
                let call = builder.call_of(None, id, tool, record.input, at);
                if let Some(turn) = record.turn.get() {
                    self.turn_of_call.push((call, turn));
                }
                let arguments = builder.arguments(call, record.input);
                let operation = Some(Operation::Update);
                changes::add_named_file(builder, call, &arguments, record.input, operation, at);
            }
            "tool_call_end" => {
                let untimed = At { time: None, ..at };
                let call = builder.call(record.tool_use_id.as_str(), record.tool_name.as_str(), untimed);
                let status = CallStatus::from_error(record.result.is_error.is_true());
                builder.result(call, record.result.content, time, status);
                builder.session.tool_calls[call].duration_ms = record.duration_ms.rounded().into();
            }
            "compaction" => {
                let event = builder.event(EventKind::Compaction, at);
                event.code = record.trigger.owned();
                event.tokens_before = record.before_tokens.get();
                event.tokens_after = record.after_tokens.get();
            }
            "subagent_start" => {
                builder.session.subagents.insert(record.child_run_id.as_str().into());
                let event = builder.event(EventKind::Subagent, at);
                event.code = record.child_run_id.owned();
                event.agent = record.agent_id.owned();
            }
            "input_validated" => builder.event(EventKind::Validation, at).code = Some("input".into()),
            "output_validated" => builder.event(EventKind::Validation, at).code = Some("output".into()),
            "output_retry" => builder.event(EventKind::Retry, at).message = record.reason.some().map(brief),
            "error" => {
                let message = record.message.some().unwrap_or(record.tag.as_str());
                self.error = Some((crate::model::errors::classify(None, message), message.to_owned()));
                let event = builder.event(EventKind::Error, at);
                event.code = record.tag.owned();
                event.message = Some(brief(message));
            }
            "run_end" => self.end(record, line),
            _ => {}
        }
    }

    fn usage(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut RecordErrors) {
        let Some(usage) = record.usage.get() else {
            damage.note(Reason::NoUsage);
            return;
        };
        let counts = [usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens];
        if !damage.note_impossible(&counts) && counts.iter().all(|it| it.get().is_none()) {
            damage.note(Reason::NoUsage);
        }
        let [input, output, cache_read, cache_write] = counts.map(Count::get);
        let cost = money(usage.cost_usd, damage);
        // A log may contain the run twice: time, turn and counts are the identity of a response.
        let key = format!("{:?} {:?} {input:?} {output:?}", record.ts.0.map(Time::micros), record.turn.get());
        let index = self.builder.turn(Identity::Session(key.into()), line.number);
        let turn = &mut self.builder.session.turns[index];
        turn.tokens = Tokens { input, output, cache_read, cache_write, ..Tokens::UNKNOWN }.into();
        turn.model.clone_from(&self.model);
        turn.effort.clone_from(&self.effort);
        turn.agent.clone_from(&self.builder.session.agent);
        turn.occurred_at = record.ts.0;
        turn.cost = cost.map(Cost::of);
        if let Some(number) = record.turn.get() {
            self.turns.entry(number).or_insert(index);
        }
    }

    fn end(&mut self, record: &Record<'_>, line: Line<'_>) {
        let status = record.status.as_str();
        let (kind, message) = self.error.take().unzip();
        let message = message.as_deref().unwrap_or(status);
        match status {
            "success" => self.builder.succeed(),
            "paused" => self.builder.session.status = Status::Incomplete,
            "quota" => self.builder.fail_as(ErrorKind::Budget, message),
            "max_turns" => self.builder.fail_as(ErrorKind::MaxTurns, message),
            "cancelled" => {
                self.builder.abort(message);
                self.builder.event(EventKind::Abort, At { line: line.number, time: record.ts.0 });
            }
            _ => self.builder.fail_as(kind.unwrap_or(ErrorKind::Other), message),
        }
        self.builder.session.stop_reason = record.status.owned();
    }

    fn finish(mut self) -> SessionResult {
        for (call, number) in self.turn_of_call {
            self.builder.session.tool_calls[call].turn = self.turns.get(&number).copied();
        }
        self.builder.session.model = self.model;
        self.builder.finish()
    }
}

#[cfg(test)]
mod tests {
    use crate::adapters::engine::Hints;
    use crate::adapters::parse;
    use crate::adapters::shared::builder::Retention;

    #[test]
    fn an_edit_has_the_lines_of_its_arguments() {
        let log = [
            r#"{"kind":"run_start","runId":"r","agentId":"a","ts":1790594430000}"#,
            r#"{"kind":"tool_call_start","runId":"r","turn":1,"toolUseId":"c","toolName":"edit","input":{"path":"/a","edits":[{"oldText":"x\ny","newText":"x\nz\ny"}]},"ts":1790594430507}"#,
            r#"{"kind":"tool_call_end","runId":"r","turn":1,"toolUseId":"c","toolName":"edit","result":{"content":"ok"},"ts":1790594430515}"#,
        ];
        let session = parse(log.join("\n").as_bytes(), Hints::default(), Retention::None).sessions.swap_remove(0);
        let change = &session.file_changes[0];
        assert_eq!((change.lines_added, change.lines_removed), (Some(1), Some(0)));
    }
}
