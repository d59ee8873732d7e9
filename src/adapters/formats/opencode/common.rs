//! What OpenCode's formats share: its stdout, its exports, its storage and its database contain the same messages and parts
//! (docs/formats/opencode.md#opencode-export).
//!
//! A response is one message with one finished step. Both contain the same tokens and cost, so only one of them counts. Input
//! excludes cached tokens. Whether output includes reasoning depends on the version. A cost of 0 is that of a subscription.

use std::mem;

use crate::adapters::engine::{Context, RecordErrors};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, Last, brief, money};
use crate::adapters::shared::tools::Subject;
use crate::adapters::shared::{names, subagents, tools};
use crate::base::text::{SharedStr, Symbol};
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Count, Number, Text};
use crate::model::errors::ErrorKind;
use crate::model::session::{CallStatus, Cost, Event, EventKind, Identity, Tokens, Turn, add};

mod changes;
mod outcome;
mod records;

use self::records::{Cache, OwnInput};
pub(crate) use self::records::{Error, Fork, Info, Message, Metadata, Part, Span, State, StepModel, Usage};

impl Usage {
    /// Input, output, reasoning, and tokens read from and written to the cache.
    pub(crate) fn of_counts([input, output, reasoning, read, write]: [Count; 5]) -> Self {
        Self { total: Count::default(), input, output, reasoning, cache: Cache { read, write } }
    }

    /// The disjoint tokens, if output excludes reasoning.
    pub(crate) fn with_reasoning(&self) -> Tokens {
        Tokens {
            input: self.input.get(),
            output: add(self.output.get(), self.reasoning.get()),
            cache_read: self.cache.read.get(),
            cache_write: self.cache.write.get(),
            cache_write_1h: None,
            reasoning: self.reasoning.get(),
        }
    }

    /// The disjoint tokens. `reasoning_is_inside`: whether output includes reasoning, if `total` does not show it.
    pub(crate) fn tokens(&self, reasoning_is_inside: bool, damage: &mut RecordErrors) -> Tokens {
        damage.note_impossible(&[self.input, self.output, self.reasoning, self.cache.read, self.cache.write]);
        let reasoning = self.reasoning.get();
        let mut tokens = Tokens {
            input: self.input.get(),
            output: self.output.get(),
            cache_read: self.cache.read.get(),
            cache_write: self.cache.write.get(),
            cache_write_1h: None,
            reasoning,
        };
        // `total` decides if it is one of the two possible sums.
        let (sum, extra) = (tokens.total().unwrap_or(0), reasoning.unwrap_or(0));
        let is_inside = match self.total.get() {
            Some(total) if total == sum => true,
            Some(total) if total == sum.saturating_add(extra) => false,
            // Reasoning above the output cannot be a part of it.
            _ => reasoning_is_inside && reasoning <= tokens.output,
        };
        if !is_inside {
            tokens.output = tokens.output.map(|it| it + extra);
        }
        tokens
    }

    /// Whether all counts are 0 or unknown.
    pub(crate) fn is_empty(&self) -> bool {
        let counts = [self.input, self.output, self.reasoning, self.cache.read, self.cache.write];
        counts.into_iter().all(|it| it.get().unwrap_or(0) == 0)
    }
}

/// The runtime of Kilo Code.
pub(crate) const KILO: &str = "kilo";

/// The runtime that wrote the log of a context. Kilo Code since 5 is a fork of `OpenCode`, with the same records in its own
/// directory, and there in `kilo.db`, `kilo-CHANNEL.db` or `opencode-CHANNEL.db`.
pub(crate) fn with_runtime(context: &Context) -> Context {
    let is_its_file = context.file_name.as_ref().is_some_and(|name| name == KILO || name.starts_with("kilo-"));
    // The data directory contains the database, or `storage`.
    let at = context.directories.iter().position(|directory| directory == "storage").map_or(0, |at| at + 1);
    let is_of_fork = is_its_file || context.directories.get(at).is_some_and(|directory| directory == KILO);
    Context { runtime: if is_of_fork { KILO } else { context.runtime }, ..context.clone() }
}

/// Whether output includes reasoning in a version: it does until 1.2. Unreleased builds have the version `0.0.0` or a word.
pub(crate) fn reasoning_is_inside(version: &str) -> bool {
    let mut numbers = version.split('.').map(|it| it.parse::<u32>().ok());
    matches!((numbers.next().flatten(), numbers.next().flatten()), (Some(0), Some(1..)) | (Some(1), Some(0..=2)))
}

/// Whether an id is real: in some exports all ids are replaced by the same word.
pub(crate) fn is_real(id: &str) -> bool {
    id.bytes().any(|it| it.is_ascii_digit())
}

impl Info<'_> {
    /// Starts a session with these facts.
    pub(crate) fn begin(&self, context: &Context, id: impl Into<String>, line: i64) -> Builder {
        let mut builder = Builder::new(context, id, line);
        self.fill(&mut builder);
        builder
    }

    /// Fills in the facts. They may change long after the last response, so only their start is a time of the session.
    pub(crate) fn fill(&self, builder: &mut Builder) {
        builder.extend_to(self.time.start());
        let session = &mut builder.session;
        session.runtime_version = self.version.owned();
        session.cwd = self.directory.owned();
        session.agent = self.agent.owned();
        let parent_id = self.parent_id.some().or(self.fork.session_id.some());
        session.parent_session_id = parent_id.filter(|it| is_real(it) && *it != session.session_id).map(str::to_owned);
    }
}

/// The tokens and the cost of a response, as its message or one of its steps states them.
pub(crate) struct Bill<'a> {
    pub(crate) usage: &'a Usage,
    pub(crate) cost: Number,
    pub(crate) stop_reason: &'a Text<'a>,
    /// The model that a step names in place of the message's.
    pub(crate) model: Option<&'a StepModel<'a>>,
}

impl<'a> Message<'a> {
    /// The time of the answer, else of the request.
    pub(crate) fn time(&self) -> Option<Time> {
        self.time.end().or(self.time.start())
    }

    /// The agent that answers; `mode` in older versions.
    pub(crate) fn agent(&self) -> Option<Symbol> {
        self.agent.owned().or_else(|| self.mode.owned())
    }

    /// The bill of a message that is one response. Until 1.0 only its step contains the stop reason.
    pub(crate) fn bill<'b>(&'b self, usage: &'b Usage, step: Option<&'b Part<'a>>) -> Bill<'b> {
        let reason = step.map(|step| &step.reason).filter(|_| self.finish.some().is_none());
        let model = step.and_then(Part::routed_model);
        Bill { usage, cost: self.cost, stop_reason: reason.unwrap_or(&self.finish), model }
    }

    /// A fork copies messages under new ids, and exports may mask ids, but neither changes the time and the counts.
    fn identity(&self, usage: &Usage) -> Identity {
        let id = self.id.as_str();
        match self.time.start() {
            Some(time) => {
                let counts = [usage.input, usage.output, usage.reasoning, usage.cache.read, usage.cache.write];
                Identity::Global(format!("opencode {} {:?}", time.micros(), counts.map(Count::get)).into())
            }
            None if is_real(id) => Identity::Session(id.into()),
            None => Identity::Unique,
        }
    }

    /// Adds a response.
    pub(crate) fn turn(
        &self,
        builder: &mut Builder,
        bill: &Bill<'_>,
        line: i64,
        tokens: Tokens,
        damage: &mut RecordErrors,
    ) -> usize {
        let index = builder.turn(self.identity(bill.usage), line);
        let is_unknown = bill.usage.is_empty();
        let stop_reason = bill.stop_reason.owned();
        // The time of a response with calls includes that of the tools.
        let duration_ms = match (self.time.start(), self.time.end()) {
            (Some(start), Some(end)) if stop_reason.as_ref().is_some_and(|it| it != "tool-calls") => {
                end.duration_since(start)
            }
            _ => None,
        };
        let turn = &mut builder.session.turns[index];
        **turn = Turn {
            line: turn.line,
            identity: mem::take(&mut turn.identity),
            message_id: self.id.some().filter(|it| is_real(it)).map(SharedStr::from),
            agent: self.agent(),
            provider: bill.model.and_then(|it| it.provider_id.owned()).or_else(|| self.provider_id.owned()),
            model: bill.model.and_then(|it| it.model_id.owned()).or_else(|| self.model_id.owned()),
            effort: self.variant.owned(),
            occurred_at: self.time(),
            duration_ms: duration_ms.into(),
            stop_reason,
            tokens: if is_unknown { Tokens::UNKNOWN } else { tokens }.into(),
            // Without counts, a cost of 0 is unknown too.
            cost: money(bill.cost, damage).filter(|it| *it > 0.0 || !is_unknown).map(Cost::of),
            ..Turn::default()
        };
        index
    }

    /// Sets the status of the session after this message. `ends`: whether a message without a stop reason ended by itself.
    /// `is_open`: whether one of its calls has no result.
    pub(crate) fn end(&self, builder: &mut Builder, ends: bool, is_open: bool, line: i64) {
        if self.error.name.is_some() {
            self.error.end(builder, At { line, time: self.time() });
            return;
        }
        // A summary is not an answer to a prompt.
        if self.summary.is_true() {
            return;
        }
        builder.session.stop_reason = self.finish.owned().or_else(|| builder.session.stop_reason.take());
        if self.finish.as_str() == FAILED {
            builder.fail(None, "");
            return;
        }
        let ended = match self.finish.as_str() {
            "" => ends && self.time.end().is_some(),
            reason => is_last(reason),
        };
        builder.end(if ended && !is_open { Last::Answer } else { Last::Work });
    }

    /// Whether the `task` tool wrote it: subagents have no todo list.
    pub(crate) fn is_of_task(&self) -> bool {
        self.tools.todowrite.0 == Some(false)
    }

    /// Adds the message as a prompt that a human typed.
    pub(crate) fn prompt(&self, builder: &mut Builder, text: Option<&str>) {
        builder.prompt_as(self.prompt_identity(), text);
    }

    /// The identity of a prompt, which is the same in forks and exports.
    pub(crate) fn prompt_identity(&self) -> Identity {
        match self.time.start() {
            Some(time) => Identity::Global(format!("opencode user {}", time.micros()).into()),
            None => Identity::Unique,
        }
    }
}

/// The stop reason of a response that failed, if nothing else states the error.
pub(crate) const FAILED: &str = "error";

/// Whether the agent stops after a response with this stop reason.
pub(crate) fn is_last(reason: &str) -> bool {
    !matches!(reason, "" | "tool-calls" | "unknown")
}

/// The session goes on: an earlier end is removed.
pub(crate) fn go_on(builder: &mut Builder) {
    builder.end(Last::Work);
}

impl<'a> Part<'a> {
    /// The bill of a finished step.
    pub(crate) fn bill<'b>(&'b self, usage: &'b Usage) -> Bill<'b> {
        Bill { usage, cost: self.cost, stop_reason: &self.reason, model: self.routed_model() }
    }

    /// The model to which Kilo Code's router sent the request of a step.
    pub(crate) fn routed_model(&self) -> Option<&StepModel<'a>> {
        Some(&self.model).filter(|model| model.model_id.some().is_some())
    }
}

impl Part<'_> {
    /// A part of a recording with the members of an older one. Since 2.0 `id` is that of the call, and the tool's metadata are inside of
    /// others.
    pub(crate) fn of_recording(mut self) -> Self {
        let metadata = &self.state.metadata;
        let inside = if self.part_id.is_some() { metadata.metadata } else { metadata.structured };
        if !inside.is_empty() {
            self.state.metadata = inside.read();
        }
        if self.part_id.is_some() {
            self.call_id = mem::replace(&mut self.id, mem::take(&mut self.part_id));
        }
        self
    }

    /// Whether it is a text of a human or of the model.
    pub(crate) fn is_said(&self) -> bool {
        self.kind.as_str() == "text" && !self.synthetic.is_true() && !self.ignored.is_true()
    }

    /// Whether it is a part of a prompt that gets an answer.
    pub(crate) fn is_asked(&self) -> bool {
        !self.ignored.is_true() && self.kind.as_str() != "compaction"
    }

    /// Adds a tool call. Returns its index.
    pub(crate) fn call(&self, builder: &mut Builder, line: i64) -> usize {
        let state = &self.state;
        let (start, end) = (state.time.start(), state.time.end());
        if let Some(call) = builder.call_index(self.call_id.as_str())
            && builder.session.tool_calls[call].occurred_at != start
        {
            // Another call with a masked id.
            builder.forget_calls();
        }
        let at = At { line, time: start };
        let own = || state.input.read::<OwnInput<'_>>();
        let invalid = (self.tool.as_str() == outcome::INVALID).then(own);
        let tool = invalid.as_ref().and_then(|it| it.tool.some()).unwrap_or(self.tool.as_str());
        let category = tools::category(tool);
        let call = builder.call(self.call_id.as_str(), tool, at);
        let arguments = builder.arguments(call, state.input);
        // Since 2.0 a skill is named by its id.
        let skill = || own().id.some().and_then(names::name);
        if tool == "skill"
            && builder.session.tool_calls[call].skill.is_none()
            && let Some(skill) = skill()
        {
            let target = Some(SharedStr::from(&*skill));
            builder.set_subject(call, Subject { target, skill: Some(skill), ..Subject::default() });
        }
        let status = self.status(category);
        let output = if state.output.is_empty() { state.error } else { state.output };
        builder.result(call, output, end, status);
        let row = &mut builder.session.tool_calls[call];
        // Some models use the same ids in each response.
        row.message_id = self.message_id.some().filter(|it| is_real(it)).map(SharedStr::from);
        row.exit_code = state.metadata.exit.whole().into();
        let refusal = outcome::refusal(state.error).filter(|_| status == CallStatus::Error);
        self.changes(builder, call, category, &arguments, at);
        if let Some(text) = refusal {
            builder.deny(call, At { line, time: end }, Some(&text));
        }
        if let Some(child) = state.metadata.session_id.some().or(state.metadata.session_id_2.some())
            && category == "subagent"
            && let Some(event) = subagents::add(builder, child, self.call_id.some(), at)
        {
            event.agent = arguments.agent().or_else(|| own().agent.owned());
        }
        call
    }

    /// Adds a retried request.
    pub(crate) fn retry(&self, builder: &mut Builder, line: i64) {
        let event = builder.event(EventKind::Retry, At { line, time: self.time.start() });
        event.code = self.error.data.status_code.whole().map(|it| it.to_string().into());
        event.message = Some(brief(self.error.text())).filter(|it| !it.is_empty());
    }

    /// Adds a compaction, which is a part of a prompt that the program wrote.
    pub(crate) fn compaction(&self, builder: &mut Builder, at: At) {
        let event = compaction(builder, self.message_id.as_str(), at);
        event.code = self.auto.0.map(|it| if it { "auto" } else { "manual" }.into());
    }
}

/// Reads a part, and notes one of an unknown type.
pub(crate) fn read_part<'a>(raw: Raw<'a>, damage: &mut RecordErrors) -> Part<'a> {
    const KNOWN: [&str; 13] = [
        "",
        "text",
        "reasoning",
        "tool",
        "step-start",
        "step-finish",
        "patch",
        "snapshot",
        "agent",
        "file",
        "subtask",
        "compaction",
        "retry",
    ];
    let part: Part<'a> = raw.read();
    if !KNOWN.contains(&part.kind.as_str()) {
        damage.unknown_part("part", raw);
    }
    part
}

/// Adds a compaction. Its identity is the prompt that requested it: the summary refers to the same prompt.
pub(crate) fn compaction<'a>(builder: &'a mut Builder, prompt: &str, at: At) -> &'a mut Event {
    let event = builder.event(EventKind::Compaction, at);
    event.key = is_real(prompt).then(|| format!("compaction {prompt}").into());
    event
}

impl Error<'_> {
    /// An error since 2.0 with the members of an older one.
    pub(crate) fn named(mut self) -> Self {
        if !self.name.is_some() {
            self.name = self.kind.clone();
            self.data.status_code = self.status;
        }
        self
    }

    fn text(&self) -> &str {
        self.data.message.some().or(self.message.some()).unwrap_or(self.name.as_str())
    }

    /// Whether the user stopped the response.
    pub(crate) fn is_abort(&self) -> bool {
        matches!(self.name.as_str(), "MessageAbortedError" | "aborted" | "interrupted")
    }

    /// Ends the session with this error.
    pub(crate) fn end(&self, builder: &mut Builder, at: At) {
        let message = self.text();
        if self.is_abort() {
            builder.abort(message);
        } else {
            match self.name.as_str() {
                "ProviderAuthError" | "provider.auth" => builder.fail_as(ErrorKind::Auth, message),
                "ContextOverflowError" => builder.fail_as(ErrorKind::ContextOverflow, message),
                "provider.rate-limit" => builder.fail_as(ErrorKind::RateLimit, message),
                "provider.quota" => builder.fail_as(ErrorKind::Billing, message),
                _ => builder.fail(self.data.status_code.whole(), message),
            }
        }
        let event = builder.event(if self.is_abort() { EventKind::Abort } else { EventKind::Error }, at);
        event.code = self.name.owned();
        event.message = Some(brief(message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    /// Until 1.2 output includes reasoning. `total` decides, then which count is larger, then the version.
    #[test]
    fn reasoning_counts_once() {
        for (usage, default, output) in [
            (r#"{"total":1600,"input":1000,"output":100,"reasoning":20,"cache":{"read":500,"write":0}}"#, false, 100),
            (r#"{"total":1620,"input":1000,"output":100,"reasoning":20,"cache":{"read":500,"write":0}}"#, true, 120),
            (r#"{"total":7,"input":1000,"output":100,"reasoning":20,"cache":{"read":500}}"#, true, 100),
            (r#"{"input":1000,"output":100,"reasoning":20}"#, false, 120),
            (r#"{"input":1000,"output":100,"reasoning":300}"#, true, 400),
        ] {
            let usage: Usage = json::from_slice(usage.as_bytes()).unwrap();
            let tokens = usage.tokens(default, &mut RecordErrors::default());
            assert_eq!((tokens.output, tokens.input), (Some(output), Some(1000)), "{usage:?}");
        }
        for (version, inside) in
            [("1.2.16", true), ("0.15.3", true), ("1.3.0", false), ("2.0", false), ("0.0.0-dev", false), ("", false)]
        {
            assert_eq!(reasoning_is_inside(version), inside, "{version}");
        }
    }
}
