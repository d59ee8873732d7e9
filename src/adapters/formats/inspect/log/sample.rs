//! One sample of Inspect AI while its events are read.

use foldhash::{HashSet, HashSetExt as _};
use serde::Deserialize;

use super::events::{Event, Message, Output, ToolError, text_of};
use super::records::{Eval, FailedAttempt, SampleRecord};
use super::scores;
use crate::adapters::engine::document::LineNumbers;
use crate::adapters::engine::{Context, RecordErrors};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, brief, money};
use crate::adapters::shared::ids::hashed_id;
use crate::adapters::shared::{changes, repository, subagents, usage};
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Number, Text};
use crate::model::errors::ErrorKind;
use crate::model::session::{CallStatus, Cost, EventKind, Identity, Operation, SessionResult, Tokens};
use crate::model::verdict::Verdict;

/// Retries of one request that become events.
const MAX_RETRIES: i64 = 100;

/// The errors of requests that were cancelled: by the operator, by a limit, or because the evaluation was stopped.
const CANCELLED: [&str; 3] = ["Cancelled by operator", "Cancelled by limit", "Cancelled by system"];

/// What the tool for files does.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Editor<'a> {
    command: Text<'a>,
}

/// A sample while its events are read.
pub(super) struct Sample<'a> {
    record: SampleRecord<'a>,
    builder: Builder,
    /// Spans of scorers, and those below them.
    scorers: HashSet<String>,
    /// The depth of steps of scorers, in versions before spans.
    scoring_steps: usize,
    /// The number of requests so far.
    requests: usize,
    /// The last turn of the main agent.
    turn: Option<usize>,
}

impl<'a> Sample<'a> {
    /// A sample. `eval` is that of the document, if it contains the sample.
    pub(super) fn new(context: &Context, record: SampleRecord<'a>, eval: Option<&Eval<'_>>, line: i64) -> Self {
        #[derive(Debug, Default, Deserialize)]
        #[serde(default, bound(deserialize = "'de: 'a"))]
        struct Timed<'a> {
            timestamp: Text<'a>,
        }
        let sample = record.id.text();
        let epoch = record.epoch.rounded().unwrap_or(1);
        let id = record.uuid.owned().unwrap_or_else(|| {
            // The same for `.eval` and the document that was converted from it.
            let first: Timed<'_> = record.events().first().map(|event| event.read()).unwrap_or_default();
            let time = first.timestamp.some().map(str::to_owned);
            let time = time.unwrap_or_else(|| evaluation(eval, context, record.input));
            hashed_id(format!("{time} {sample} {epoch}").as_bytes())
        });
        let mut builder = Builder::new(context, id, line);
        let labels = &mut builder.session.labels;
        labels.insert(format!("sample={sample}"));
        labels.insert(format!("epoch={epoch}"));
        // As in results of other evaluation programs.
        labels.insert(format!("attempt={epoch}"));
        // The archive is named by its time, its task and the id of the task.
        let archive = context.archive_name.as_deref().and_then(|name| name.split_once('_')?.1.rsplit_once('_'));
        labels.extend(archive.map(|(task, _)| format!("task={task}")));
        Self { record, builder, scorers: HashSet::new(), scoring_steps: 0, requests: 0, turn: None }
    }

    /// Reads the sample. `eval` and `status` are those of the document, if it contains the sample.
    pub(super) fn read(
        mut self,
        eval: Option<&Eval<'_>>,
        status: &str,
        line_numbers: &mut LineNumbers<'_>,
        damage: &mut RecordErrors,
    ) -> SessionResult {
        let session = &mut self.builder.session;
        if let Some(eval) = eval {
            session.model = eval.model.owned();
            session.runtime_version = eval.packages.inspect_ai.owned();
            let origin = eval.revision.get().and_then(|revision| revision.origin.some());
            session.repository = origin.and_then(repository::of_remote);
            session.labels.retain(|label| !label.starts_with("task="));
            session.labels.extend(eval.task.some().map(|task| format!("task={task}")));
        }
        session.duration_ms = Number(self.record.total_time.0.map(|seconds| seconds * 1000.0)).rounded();
        self.builder.extend_to(self.record.started_at.0);
        self.builder.extend_to(self.record.completed_at.0);
        let prompt = text_of(self.record.input);
        self.builder.prompt_as(Identity::Session("input".into()), Some(prompt.as_str()));
        // Lines are found in the order of the document, where the attempts that failed come last.
        let events: Vec<_> = self.record.events().into_iter().map(|raw| (raw, line_numbers.line_of(raw))).collect();
        let attempts = self.record.failed_attempts().into_iter().map(|raw| (raw, line_numbers.line_of(raw)));
        for (raw, line) in attempts.collect::<Vec<_>>() {
            self.failed_attempt(raw, line, damage);
        }
        for (raw, line) in events {
            self.event(raw, line, false, damage);
        }
        self.judge();
        self.end(status);
        self.builder.finish()
    }

    /// Adds the verdicts of the scorers: the task is the sample, the trial its epoch.
    fn judge(&mut self) {
        let record = &self.record;
        let task = self.builder.session.labels.iter().find_map(|label| label.strip_prefix("task="));
        let sample = record.id.text().into_owned();
        let of_sample = Verdict {
            task: Some(task.map_or_else(|| sample.clone(), |task| format!("{task}/{sample}"))),
            trial: Some(record.epoch.rounded().unwrap_or(1).to_string()),
            judged_at: record.completed_at.0,
            ..Verdict::default()
        };
        self.builder.session.verdicts = scores::verdicts(record.scores, &of_sample);
    }

    /// Adds an attempt that failed, and that another one follows.
    fn failed_attempt(&mut self, raw: Raw<'a>, line: i64, damage: &mut RecordErrors) {
        let attempt: FailedAttempt<'a> = raw.read();
        let events: Vec<Raw<'a>> = attempt.events.read();
        let time = events.last().and_then(|raw| raw.read::<Event<'_>>().timestamp.0);
        for raw in events {
            self.event(raw, line, false, damage);
        }
        self.scoring_steps = 0;
        // Its earlier requests are not kept.
        self.builder.session.under_reports = true;
        self.builder.event(EventKind::Retry, At { line, time }).message = attempt.message.some().map(brief);
        self.builder.name_events(None, raw.0);
    }

    fn event(&mut self, raw: Raw<'a>, line: i64, is_nested: bool, damage: &mut RecordErrors) {
        let event: Event<'a> = raw.read();
        let time = event.timestamp.0;
        self.builder.extend_to(time);
        self.builder.extend_to(event.completed.0);
        let at = At { line, time };
        match event.event.as_str() {
            "span_begin" => {
                let is_below = self.scorers.contains(event.parent_id.as_str());
                if event.kind.as_str() == "scorer" || is_below {
                    self.scorers.insert(event.id.as_str().to_owned());
                }
            }
            "step" if event.kind.as_str() == "scorer" => {
                self.scoring_steps = match event.action.as_str() {
                    "begin" => self.scoring_steps + 1,
                    _ => self.scoring_steps.saturating_sub(1),
                };
            }
            "model" => self.request(&event, line, is_nested, damage),
            "tool" => self.tool(&event, line),
            "compaction" => {
                let row = self.builder.event(EventKind::Compaction, at);
                row.tokens_before = event.tokens_before.get();
                row.tokens_after = event.tokens_after.get();
            }
            // That of a limit is a `sample_limit` as well.
            "interrupt" if matches!(event.source.as_str(), "user_cancel" | "system") => {
                self.builder.event(EventKind::Abort, at).message = event.source.owned();
            }
            "sample_limit" => {
                let row = self.builder.event(EventKind::Error, at);
                row.code = event.kind.owned();
                row.message = event.message.some().map(brief);
            }
            _ => {}
        }
        self.builder.name_events(None, raw.0);
        let inner: Vec<Raw<'a>> = event.events.read();
        for raw in inner {
            self.event(raw, line, true, damage);
        }
    }

    /// The instructions and the tools of a request. A text that is stored as an attachment is left out.
    fn offered(&mut self, event: &Event<'a>) {
        let mut messages: Vec<Message<'_>> = event.input.read();
        if messages.is_empty() {
            messages = self.record.messages_in(event.input_refs);
        }
        for message in messages.iter().filter(|message| message.role.as_str() == "system") {
            self.builder.instructions(&text_of(message.content));
        }
        self.builder.offer_tools(event.tools);
    }

    fn request(&mut self, event: &Event<'a>, line: i64, is_nested: bool, damage: &mut RecordErrors) {
        let time = event.timestamp.0;
        let is_scorer =
            self.scoring_steps > 0 || self.scorers.contains(event.span_id.as_str()) || event.role.as_str() == "grader";
        if !is_scorer && self.builder.takes_instructions() {
            self.offered(event);
        }
        let at = At { line, time };
        for _ in 0..event.retries.get().unwrap_or(0).min(MAX_RETRIES) {
            self.builder.event(EventKind::Retry, at);
        }
        self.requests += 1;
        let no_output = Output::default();
        let output = event.output.get().unwrap_or(&no_output);
        let usage = usage::present(&output.usage, damage);
        let tokens = usage.map_or(Tokens::UNKNOWN, |usage| usage.tokens(damage));
        let error = event.error.text();
        let error = if event.error.is_empty() { output.error.as_str() } else { &error };
        if !error.is_empty() && tokens.total().is_none() {
            if CANCELLED.contains(&error) {
                // It may have been billed.
                self.builder.session.under_reports = true;
            } else {
                self.builder.event(EventKind::Error, at).message = Some(brief(error));
            }
            return;
        }
        let choice = output.choices.first();
        if event.cache.as_str() != "read" && (usage.is_some() || choice.is_some()) {
            let of_session = || Identity::Session(format!("{:?} #{}", time.map(Time::micros), self.requests).into());
            // The log of an evaluation that was run again contains requests of the samples that failed before.
            let of_event = event.uuid.some().map(|uuid| Identity::Global(format!("inspect {uuid}").into()));
            let index = self.builder.turn(of_event.unwrap_or_else(of_session), line);
            let cost = usage.and_then(|usage| money(usage.total_cost, damage));
            let turn = &mut self.builder.session.turns[index];
            turn.model = event.served_by();
            turn.effort = event.effort();
            turn.occurred_at = event.completed.0.or(time);
            turn.duration_ms = milliseconds(event).into();
            turn.message_id = choice.and_then(|choice| choice.message.id.owned());
            turn.stop_reason = choice.and_then(|choice| choice.stop_reason.owned());
            turn.tokens = tokens.into();
            turn.cost = cost.map(Cost::of);
            turn.is_subagent = is_scorer || is_nested;
            turn.agent = if is_scorer { Some("scorer".into()) } else { None };
            if !turn.is_subagent {
                self.builder.session.stop_reason.clone_from(&turn.stop_reason);
                self.turn = Some(index);
            }
        }
        if let Some(choice) = choice.filter(|_| !is_scorer) {
            // The event has the time at which the request was sent.
            self.answer(&choice.message, At { time: event.completed.0.or(time), ..at });
        }
    }

    fn answer(&mut self, message: &Message<'a>, at: At) {
        if message.role.as_str() == "assistant" {
            self.builder.set_answer(&text_of(message.content));
        }
        for call in message.tool_calls.iter().flatten() {
            let (id, tool) = (call.id.as_str(), call.function.as_str());
            let known = self.builder.session.tool_calls.len();
            let index = self.builder.call_of(self.turn, id, tool, call.arguments, at);
            if index == known {
                self.describe(index, tool, call.arguments, at);
            }
        }
    }

    /// Adds what follows from the arguments of a new call.
    fn describe(&mut self, call: usize, tool: &str, arguments: Raw<'_>, at: At) {
        let row = &mut self.builder.session.tool_calls[call];
        row.category = match tool {
            "text_editor" => match arguments.read::<Editor<'_>>().command.as_str() {
                "view" => "read".into(),
                "create" => "write".into(),
                _ => "edit".into(),
            },
            "python" | "bash_session" => "shell".into(),
            _ if tool.starts_with("web_browser") => "web".into(),
            _ if tool.starts_with("transfer_to_") => "subagent".into(),
            _ => row.category.clone(),
        };
        let read = self.builder.arguments(call, arguments);
        changes::add_named_file(&mut self.builder, call, &read, arguments, Some(Operation::Update), at);
    }

    fn tool(&mut self, event: &Event<'a>, line: i64) {
        let time = event.timestamp.0;
        let at = At { line, time };
        let (id, tool) = (event.id.as_str(), event.function.as_str());
        let call = if let Some(known) = self.builder.call_index(id) {
            let row = &mut self.builder.session.tool_calls[known];
            row.occurred_at = time.or(row.occurred_at);
            known
        } else {
            let call = self.builder.call_of(self.turn, id, tool, event.arguments, at);
            self.describe(call, tool, event.arguments, at);
            call
        };
        if let Some(agent) = event.agent.some() {
            subagents::add(&mut self.builder, agent, event.id.some(), at);
        }
        if event.pending.is_true() {
            return;
        }
        let error: ToolError<'_> = event.error.read();
        let is_error = error.kind.some().is_some() || error.message.some().is_some();
        self.builder.result(call, event.result, event.completed.0, CallStatus::from_error(is_error));
        self.builder.session.tool_calls[call].duration_ms = milliseconds(event).into();
        if error.kind.as_str() == "approval" {
            self.builder.deny(call, at, error.message.some());
        }
    }

    fn end(&mut self, status: &str) {
        let record = &self.record;
        if let Some(error) = record.error.get() {
            self.builder.fail(None, error.message.as_str());
        } else if let Some(limit) = record.limit.get() {
            let kind = limit.kind.as_str();
            match kind {
                "operator" => self.builder.abort(""),
                "message" | "turn" => self.builder.fail_as(ErrorKind::MaxTurns, kind),
                "token" | "cost" => self.builder.fail_as(ErrorKind::Budget, kind),
                "time" | "working" => self.builder.fail_as(ErrorKind::Timeout, kind),
                "context" => self.builder.fail_as(ErrorKind::ContextOverflow, kind),
                _ => self.builder.fail_as(ErrorKind::Other, kind),
            }
        } else {
            // A sample is written when it ends. Only an evaluation that was stopped contains others.
            let is_scored = record.scores.0.len() > 2 || record.completed_at.0.is_some();
            match status {
                "cancelled" if !is_scored => self.builder.abort(""),
                "started" if !is_scored => {}
                _ => self.builder.succeed(),
            }
        }
    }
}

/// A name of the evaluation of a sample that has no event: its time and the id of its task, as in the name of its log. Of a sample
/// for itself, its input.
fn evaluation(eval: Option<&Eval<'_>>, context: &Context, input: Raw<'_>) -> String {
    if let Some(eval) = eval {
        let in_name = |text: &str| text.replace(['_', '/', ':', '+'], "-");
        return format!("{} {}", in_name(eval.created.as_str()), in_name(eval.task_id.as_str()));
    }
    let of_archive = || {
        let (created, rest) = context.archive_name.as_deref()?.split_once('_')?;
        Some(format!("{created} {}", rest.rsplit_once('_')?.1))
    };
    of_archive().unwrap_or_else(|| input.text().into_owned())
}

/// The duration of a request or a call.
fn milliseconds(event: &Event<'_>) -> Option<i64> {
    let logged = Number(event.working_time.0.map(|seconds| seconds * 1000.0)).rounded();
    logged.or_else(|| Some(event.completed.0?.since(event.timestamp.0?)).filter(|duration| *duration >= 0))
}
