//! Messages of pi, in its event stream, its session files, and those of openclaw.
//!
//! An assistant message is one billed response with its final usage; `totalTokens` is input + output + cacheRead +
//! cacheWrite, and the parts of the cost add up to its total. Forks, snapshots and recordings repeat messages: a response is
//! identified by its time and token counts, which are equal in all copies (`docs/accounting.md#copies-resumes-and-forks`).

use std::borrow::Cow;
use std::mem;

use serde::Deserialize;

use super::approvals::{Approvals, is_needed};
use super::counts::Usage;
use super::ledger::Ledger;
use super::openclaw_prompts::is_typed;
use crate::adapters::engine::{Context, RecordErrors};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, Last, brief};
use crate::adapters::shared::ids::push_counts_name;
use crate::adapters::shared::tools;
use crate::adapters::shared::tools::{Arguments, ToolArguments};
use crate::adapters::shared::usage;
use crate::base::split::base_name;
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::json::fields::{Flag, LazyText, Maybe, Number, Pairs, Text, TextOrBlocks, When};
use crate::json::record::{Skip, record};
use crate::json::{Raw, WithRaw};
use crate::model::session::{CallStatus, Capabilities, EventKind, Identity, Operation, SessionResult, Status, Tokens};

/// The facts that logs of pi's messages contain. Only the event stream contains retries.
pub(crate) const SHOWS: Capabilities = Capabilities::TURNS
    .and(Capabilities::TOOL_CALLS)
    .and(Capabilities::FILE_CHANGES)
    .and(Capabilities::COMPACTIONS)
    .and(Capabilities::USER_TURNS);

record! {
    /// A message of any role: a response has `provider` to `usage`, a tool's result `toolCallId` to `isError`.
    pub(crate) struct Message<'a> {
        "role" => pub(crate) role: Text<'a>,
        "toolCallId" => tool_call_id: Text<'a>,
        "toolName" => _tool_name: Skip,
        "content" => content: WithRaw<'a, TextOrBlocks<'a, Block<'a>>>,
        "api" => _api: Skip,
        "provider" => provider: Text<'a>,
        "model" => model: Text<'a>,
        // The model that answered, if it is not the requested one: pi's, and oh-my-pi's
        "responseModel" => response_model: Text<'a>,
        "upstreamModel" => upstream_model: Text<'a>,
        "thinkingLevel" => thinking_level: Text<'a>,
        "usage" => usage: Maybe<Box<Usage>>,
        "stopReason" => pub(crate) stop_reason: Text<'a>,
        "details" => details: Details<'a>,
        "isError" => is_error: Flag,
        "timestamp" => timestamp: When,
        "responseId" => response_id: Text<'a>,
        "rawStopReason" => _raw_stop_reason: Skip,
        "errorMessage" => pub(crate) error_message: Text<'a>,
        "duration" => duration: Number,
        "provenance" => provenance: Provenance<'a>,
        "nestedCalls" => nested: Nested<'a>,
        // Who wrote a prompt of oh-my-pi
        "attribution" => attribution: Text<'a>,
        "synthetic" => is_synthetic: Flag,
        // system
        "sections" => sections: Raw<'a>,
        "toolsAdded" => tools_added: Raw<'a>,
    }
}

impl Message<'_> {
    pub(super) const fn has_usage(&self) -> bool {
        matches!(self.usage, Maybe::Present(_))
    }
}

/// The calls that a call made itself, such as a script.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Nested<'a> {
    calls: Vec<NestedCall<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct NestedCall<'a> {
    id: Text<'a>,
    name: Text<'a>,
    arguments: Raw<'a>,
    status: Text<'a>,
    duration_ms: Number,
    error: Raw<'a>,
}

record! {
    struct Block<'a> {
        "type" => kind: Text<'a>,
        "text" => text: LazyText<'a>,
        "textSignature" => _text_signature: Skip,
        "thinking" => _thinking: Skip,
        "thinkingSignature" => _thinking_signature: Skip,
        "id" => id: Text<'a>,
        "name" => name: Text<'a>,
        "arguments" => arguments: ToolArguments<'a>,
    }
}

/// Who sent a prompt to openclaw.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Provenance<'a> {
    kind: Text<'a>,
}

/// The structured result of a tool.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct Details<'a> {
    diff: LazyText<'a>,
    exit_code: Number,
    duration_ms: Number,
    /// What openclaw's tools state in place of `isError`.
    status: Text<'a>,
    approval_id: Text<'a>,
    /// Agents that an extension ran for the call.
    results: Raw<'a>,
}

/// The run of one of those agents.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct ChildRun<'a> {
    agent: Text<'a>,
    transcript_path: Text<'a>,
}

/// The name of a child run, from the file name of its transcript: see `pi_subagent`.
fn child_of_path(path: &str) -> Option<&str> {
    base_name(path).strip_suffix("_transcript.jsonl")
}

/// The identity of a response, equal in all copies of its message.
pub(crate) fn identity(time: Option<Time>, tokens: Tokens) -> Identity {
    let Some(time) = time else { return Identity::Unique };
    let mut name = String::with_capacity(96);
    name.push_str("pi ");
    name.push_str(itoa::Buffer::new().format(time.micros()));
    name.push(' ');
    push_counts_name(&mut name, tokens);
    Identity::Global(name.into())
}

/// A session while its messages are read.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) builder: Builder,
    /// The thinking level that was set last.
    pub(crate) effort: Option<Symbol>,
    /// Whether results contain `details`, with the changes of an edit.
    pub(crate) has_details: bool,
    /// The turn of the last response.
    last: Option<usize>,
    /// The model of the conversation, which writes summaries, and the responses that name no model.
    pub(super) model: Option<Symbol>,
    /// Commands of openclaw that wait for an approval.
    approvals: Approvals,
    /// Its provider.
    pub(super) provider: Option<Symbol>,
    pub(super) ledger: Ledger,
}

impl Agent {
    pub(crate) fn new(context: &Context, id: impl Into<String>, line: i64) -> Self {
        Self {
            builder: Builder::new(context, id, line),
            effort: None,
            has_details: true,
            last: None,
            model: None,
            approvals: Approvals::default(),
            provider: None,
            ledger: Ledger::default(),
        }
    }

    /// The conversation goes on with this model, unless a record of it names none.
    pub(super) fn set_model(&mut self, provider: Option<&str>, model: Option<&str>) {
        if model.is_some() {
            (self.provider, self.model) = (provider.map(Symbol::new), model.map(Symbol::new));
        }
    }

    /// Adds a message of any role, which is or is in `raw`. `at` has the time of its record; records of the event stream have none.
    pub(crate) fn message(&mut self, message: &Message<'_>, raw: Raw<'_>, at: At, damage: &mut RecordErrors) {
        match message.role.as_str() {
            "assistant" => self.assistant(message, at, damage),
            "toolResult" => self.tool_result(message, at, damage),
            "user" => {
                self.builder.asked(None, message.timestamp.0.or(at.time));
                self.user(message);
            }
            "system" => self.offered(message),
            role => damage.unread_role(role, raw),
        }
    }

    fn assistant(&mut self, message: &Message<'_>, logged: At, damage: &mut RecordErrors) {
        // Copies for delivery, not responses.
        if message.provider.as_str() == "openclaw" {
            return;
        }
        // The time of a message is that of its request. The time of its record is that of the answer, when its calls begin.
        let requested = message.timestamp.0;
        let answered = At { time: logged.time.or(requested), ..logged };
        self.builder.extend_to(requested);
        let tokens = usage::present(&message.usage, damage).map_or(Tokens::UNKNOWN, |usage| usage.tokens(damage));
        let is_empty = tokens.total().unwrap_or(0) == 0;
        let stop = message.stop_reason.as_str();
        let stop_reason: Option<Symbol> = message.stop_reason.owned();
        if stop_reason.is_some() {
            self.builder.session.stop_reason.clone_from(&stop_reason);
        }
        self.ending(stop, message, answered);
        // A request that failed before it cost anything is not a turn, though it may have begun a call. The response of a deferred one
        // follows in another message.
        let is_turn = !(is_empty && matches!(stop, "error" | "aborted" | "deferred"));
        let index = is_turn.then(|| self.builder.turn(identity(requested, tokens), logged.line));
        if let Some(index) = index {
            self.last = Some(index);
            let turn = &mut self.builder.session.turns[index];
            if !is_empty {
                turn.tokens = tokens.into();
            }
            turn.message_id = message.response_id.owned();
            if message.model.is_some() {
                (self.provider, self.model) = (message.provider.owned(), message.model.owned());
            }
            turn.provider = message.provider.owned().or_else(|| self.provider.clone());
            // The usage is billed at the price of the model that answered.
            let answering = message.response_model.owned().or_else(|| message.upstream_model.owned());
            turn.model = answering.or_else(|| self.model.clone());
            turn.effort = message.thinking_level.owned().or_else(|| self.effort.clone());
            turn.occurred_at = answered.time;
            let between = || logged.time?.duration_since(requested?);
            turn.duration_ms = message.duration.rounded().or_else(between).into();
            turn.stop_reason = stop_reason;
            turn.cost = message.usage.get().and_then(|it| it.cost(damage)).map(Box::new);
        }
        if let Some(index) = index {
            // Only the time of a record is that of an answer.
            self.builder.answered(index, None, logged.time);
        }
        let content = &message.content.value;
        for block in content.blocks.iter().filter(|it| it.kind.as_str() == "toolCall") {
            let (id, tool) = (block.id.as_str(), block.name.as_str());
            let call = self.builder.call_of(index, id, tool, block.arguments.raw, answered);
            let arguments = self.builder.arguments_read_with_call(call, &block.arguments);
            let category = self.builder.session.tool_calls[call].category.clone();
            if let Some(file) = arguments.and_then(Arguments::file)
                && matches!(&*category, "edit" | "write")
            {
                // A write does not contain whether the file existed, nor how many lines it removed.
                let operation = (category == "edit").then_some(Operation::Update);
                let written = arguments.and_then(Arguments::written_lines).filter(|_| category == "write");
                let lines = if self.has_details { None } else { tools::lines_in_arguments(block.arguments.raw) };
                let change = self.builder.change(call, file, operation, lines, answered);
                if let Some(written) = written {
                    self.builder.session.file_changes[change].lines_added = Some(written.added);
                    self.builder.sketch(change, written.sketch);
                }
            }
        }
        if is_turn
            && self.builder.keeps_text()
            && let Some(text) = said(content)
        {
            self.builder.set_answer(&text);
        }
    }

    /// Updates the status of the run: `stopReason` is the only sign of a failure.
    fn ending(&mut self, stop: &str, message: &Message<'_>, answered: At) {
        let words = message.error_message.as_str();
        let kind = match stop {
            "error" => {
                self.builder.fail(None, words);
                EventKind::Error
            }
            "aborted" => {
                self.builder.abort(words);
                EventKind::Abort
            }
            _ => return self.builder.succeed(),
        };
        let event = self.builder.event(kind, answered);
        event.key = message.timestamp.0.map(|it| format!("pi {}", it.micros()).into());
        event.message = message.error_message.some().map(brief);
        event.code = message.error_message.some().and_then(status_in);
    }

    fn tool_result(&mut self, message: &Message<'_>, logged: At, damage: &mut RecordErrors) {
        let time = message.timestamp.0;
        self.builder.extend_to(time);
        self.builder.asked(None, time);
        // What the tool asked of a model. Children that an extension ran have logs of their own.
        if message.details.results.is_empty()
            && let Some(usage) = usage::present(&message.usage, damage)
            && let Some(index) = self.add_spent(
                usage,
                At { time: logged.time.or(time), ..logged },
                |tokens| identity(time, tokens),
                damage,
            )
        {
            let turn = &mut self.builder.session.turns[index];
            turn.provider = message.provider.owned();
            turn.model = message.model.owned();
        }
        let Some(call) = self.builder.call_index(message.tool_call_id.as_str()) else { return };
        for nested in &message.nested.calls {
            self.nested_call(call, nested, logged.line);
        }
        let is_open = self.builder.session.tool_calls[call].status == CallStatus::Incomplete;
        if is_open || self.approvals.contains(call) {
            self.outcome(call, message.content.raw, &message.details, message.is_error, At { time, ..logged });
        }
        // Without times of records the call has the time of its request, and a duration would include the response.
        if logged.time.is_some() {
            let row = &mut self.builder.session.tool_calls[call];
            row.ended_at = row.ended_at.or(time);
        }
    }

    /// Adds a call that another one made. The event stream has it as a call of its own, with the same id.
    fn nested_call(&mut self, parent: usize, nested: &NestedCall<'_>, line: i64) {
        let (turn, began) =
            (self.builder.session.tool_calls[parent].turn, self.builder.session.tool_calls[parent].occurred_at);
        let call = self.builder.call(nested.id.as_str(), nested.name.as_str(), At { line, time: began });
        let row = &mut self.builder.session.tool_calls[call];
        row.turn = row.turn.or(turn);
        if row.status != CallStatus::Incomplete {
            return;
        }
        self.builder.arguments(call, nested.arguments);
        let is_error = match nested.status.as_str() {
            "ok" => false,
            "error" => true,
            // It was not finished.
            _ => return,
        };
        self.outcome(call, nested.error, &Details::default(), Flag(Some(is_error)), At { line, time: None });
        self.builder.session.tool_calls[call].duration_ms = nested.duration_ms.rounded().into();
    }

    /// Adds the result of a call.
    pub(crate) fn outcome(&mut self, call: usize, content: Raw<'_>, details: &Details<'_>, is_error: Flag, at: At) {
        // The details of pi's own tools and of its extensions have other meanings.
        let stated = Some(details.status.as_str()).filter(|_| self.builder.session.runtime == "openclaw");
        if stated.is_some_and(is_needed) {
            self.builder.result(call, content, None, CallStatus::Denied);
            let text = said(&content.read()).map(Cow::into_owned).unwrap_or_default();
            self.approvals.add(call, details.approval_id.owned(), text, at);
            return;
        }
        self.approvals.remove(call);
        let has_stated_failure = stated.is_some_and(|status| matches!(status, "error" | "failed" | "forbidden"));
        let is_error = is_error.is_true() || has_stated_failure;
        let status =
            if is_error && never_began(content) { CallStatus::Cancelled } else { CallStatus::from_error(is_error) };
        self.builder.result(call, content, None, status);
        let row = &mut self.builder.session.tool_calls[call];
        row.duration_ms = details.duration_ms.rounded().or(row.duration_ms.get()).into();
        row.exit_code = details.exit_code.whole().or(row.exit_code.get()).into();
        if row.category == "shell" && row.exit_code.get().is_none() && is_error {
            row.exit_code = exit_code_in(&content.text()).into();
        }
        if let (false, Some(path)) = (details.diff.escaped().is_empty(), row.target.clone()) {
            let lines = tools::numbered_diff_lines_in(&details.diff);
            self.builder.change(call, &path, None, Some(lines), At { time: None, ..at });
        }
        let runs: Vec<ChildRun<'_>> = details.results.read();
        for run in runs {
            let Some(child) = run.transcript_path.some().and_then(child_of_path) else { continue };
            let call_id = self.builder.session.tool_calls[call].call_id.clone();
            self.builder.session.subagents.insert(child.into());
            let event = self.builder.event(EventKind::Subagent, at);
            event.key = Some(format!("pi {child}").into());
            event.code = Some(child.into());
            event.agent = run.agent.owned();
            event.call_id = Some(call_id);
        }
    }

    /// The session of a log without an end record.
    pub(crate) fn finish_without_end(mut self) -> SessionResult {
        self.deny_waiting();
        self.add_requests_of_ledger();
        let stop_reason = self.builder.session.stop_reason.as_deref();
        let ended_by_itself = matches!(stop_reason, Some("stop" | "length" | "end_turn"));
        if self.builder.session.status == Status::Success {
            let last = self.last.map_or(Last::Work, |turn| self.builder.last_response(turn, ended_by_itself));
            self.builder.end(last);
        }
        self.builder.finish()
    }

    /// Denies the calls that were not approved.
    pub(super) fn deny_waiting(&mut self) {
        mem::take(&mut self.approvals).deny(&mut self.builder);
    }

    /// Adds a part of the system prompt: pi writes one at the start, and changes of it later.
    fn offered(&mut self, message: &Message<'_>) {
        if self.builder.takes_instructions() {
            self.builder.instructions(&said(&message.content.value).unwrap_or_default());
            let sections: Pairs<'_, Text<'_>> = message.sections.read();
            sections.0.iter().for_each(|(_, text)| self.builder.instructions(text.as_str()));
        }
        self.builder.offer_tools(message.tools_added);
    }

    fn user(&mut self, message: &Message<'_>) {
        let time = message.timestamp.0;
        self.builder.extend_to(time);
        let is_openclaw = self.builder.session.runtime == "openclaw";
        let text = if self.builder.keeps_text() || is_openclaw { said(&message.content.value) } else { None };
        if let Some(text) = text.as_deref().filter(|_| is_openclaw) {
            self.approvals.end(&mut self.builder, text);
        }
        let is_of_program = message.attribution.as_str() == "agent"
            || message.is_synthetic.is_true()
            || (is_openclaw && !is_typed(message.provenance.kind.as_str(), text.as_deref().unwrap_or_default()));
        if is_of_program {
            self.builder.prompted_by_program();
            return;
        }
        let identity =
            time.map_or(Identity::Unique, |time| Identity::Global(format!("pi user {}", time.micros()).into()));
        self.builder.prompt_as(identity, text.as_deref());
    }
}

/// The texts of a message.
fn said<'a>(content: &TextOrBlocks<'a, Block<'a>>) -> Option<Cow<'a, str>> {
    if let Some(text) = &content.text {
        return Some(text.clone());
    }
    let is_text = |it: &&Block<'_>| it.kind.as_str() == "text";
    let texts: Vec<_> = content.blocks.iter().filter(is_text).filter_map(|it| it.text.some()).collect();
    (!texts.is_empty()).then(|| Cow::Owned(texts.join("\n")))
}

/// Whether the user stopped the agent before a call began. A command that ran ends with "Command aborted", which is an error of it.
fn never_began(content: Raw<'_>) -> bool {
    let content: TextOrBlocks<'_, Block<'_>> = content.read();
    said(&content).is_some_and(|text| text == "Operation aborted")
}

/// The HTTP status at the beginning of a provider's error.
pub(crate) fn status_in(message: &str) -> Option<Symbol> {
    let (head, rest) = message.split_at_checked(3)?;
    let is_digit = |it: char| it.is_ascii_digit();
    (head.chars().all(is_digit) && !rest.starts_with(is_digit)).then(|| head.into())
}

/// The exit status at the end of a failed command's output.
fn exit_code_in(text: &str) -> Option<i64> {
    const BEFORE: &str = "Command exited with code ";
    let rest = text.get(memchr::memmem::rfind(text.as_bytes(), BEFORE.as_bytes())? + BEFORE.len()..)?;
    rest.split(|it: char| !it.is_ascii_digit()).next()?.parse().ok()
}

/// The id of a session, from its file name `<time>_<id>.jsonl`.
pub(crate) fn session_of_path(path: &str) -> String {
    let name = base_name(path);
    let name = name.strip_suffix(".jsonl").unwrap_or(name);
    name.rsplit('_').next().unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    /// Invalid escapes do not affect a diff.
    #[test]
    fn diffs_are_counted_with_their_escapes() {
        let lines = |diff: &str| {
            let details = format!(r#"{{"diff":{diff},"exitCode":0}}"#);
            let details: Details<'_> = json::from_slice(details.as_bytes()).unwrap();
            tools::numbered_diff_lines_in(&details.diff).counts()
        };
        assert_eq!(lines(r#""--- a\n+++ b\n+x\n-\"y\"\n \q\n+""#), (2, 1));
        assert_eq!(lines("null"), (0, 0));
        assert_eq!(lines("7"), (0, 0));
    }
}
