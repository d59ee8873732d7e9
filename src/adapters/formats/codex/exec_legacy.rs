//! `codex exec --json` before 0.44: a configuration line, the prompt, then `{id, msg}` records.
//!
//! The configuration contains the model and the directory.
//!
//! # `codex-exec-legacy`
//!
//! `codex exec --json` before 0.44: a configuration line, then `{id, msg}`. Recognised by `id` with `msg.type`, or `workdir`,
//! `model` and `sandbox` together. Not seen in real logs; from Codex's source.
//!
//! | what | from |
//! | --- | --- |
//! | session | `session_configured.session_id`, else a hash of the first prompt, call or answer |
//! | model, provider, effort, cwd | the configuration line |
//! | turn | `token_count`, as in a rollout; in the oldest versions the event itself contains the total |
//! | call, file change | `exec_command_*`, `patch_apply_*`, `mcp_tool_call_*`, `web_search_*`; `changes` |
//! | status | `task_complete`, `turn_aborted`, `error`, else `incomplete` |

use serde::Deserialize;

use super::common::{Counted, Duration, Edit, Invocation, Next, Outcome, aborted};
use super::counts::{Info, Usage};
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, brief};
use crate::adapters::shared::ids::hashed_id;
use crate::adapters::shared::tools;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Maybe, Number, Pairs, Text};
use crate::json::lines::Line;
use crate::model::session::{CallStatus, Capabilities, EventKind, Identity, Operation, SessionResult, Status};

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "codex-exec-legacy",
    runtime: "codex",
    about: "Codex before 0.44, codex exec --json",
    tested: None,
    capabilities: Capabilities::TOOL_CALLS
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::RETRIES)
        .and(Capabilities::COMPACTIONS)
        .and(Capabilities::USER_TURNS)
        .and(Capabilities::PERMISSION_DENIALS),
    places: &[],
    claims,
    parse: fold::<Legacy>,
};

fn claims(probe: &Probe<'_>) -> u32 {
    if probe.has("id") && !probe.object("msg").kind().is_empty() { 2 } else { u32::from(is_configuration(probe)) }
}

fn is_configuration(probe: &Probe<'_>) -> bool {
    probe.has_all(&["workdir", "model", "sandbox"])
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Record<'a> {
    msg: Maybe<Message<'a>>,
    // The configuration line.
    workdir: Text<'a>,
    model: Text<'a>,
    provider: Text<'a>,
    #[serde(rename = "reasoning effort")]
    effort: Text<'a>,
    prompt: Text<'a>,
}

/// Any event: each type uses some of the fields.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Message<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    message: Text<'a>,
    last_agent_message: Text<'a>,
    reason: Text<'a>,
    session_id: Text<'a>,
    model: Text<'a>,
    model_context_window: Count,
    // token_count: either `info`, or in the oldest versions the thread's counts themselves
    info: Maybe<Info>,
    input_tokens: Count,
    cached_input_tokens: Count,
    output_tokens: Count,
    reasoning_output_tokens: Count,
    // calls
    call_id: Text<'a>,
    command: Raw<'a>,
    aggregated_output: Raw<'a>,
    stdout: Raw<'a>,
    exit_code: Number,
    duration: Duration,
    changes: Pairs<'a, Change<'a>>,
    success: Flag,
    invocation: Invocation<'a>,
    result: Raw<'a>,
    query: Raw<'a>,
}

/// `{"add":{"content":…}}`, `{"update":{"unified_diff":…,"move_path":…}}` or `{"delete":{…}}`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Change<'a> {
    add: Maybe<Edit<'a>>,
    update: Maybe<Edit<'a>>,
    delete: Raw<'a>,
}

struct Legacy {
    context: Context,
    runs: Vec<Run>,
}

struct Run {
    builder: Builder,
    has_id: bool,
    next: Next,
}

impl Fold for Legacy {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), runs: Vec::new() }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        let is_configuration = record.workdir.is_some();
        let message = match &record.msg {
            Maybe::Present(message) => Some(message),
            _ if is_configuration || record.prompt.is_some() => None,
            _ => return RecordKind::Unknown,
        };
        if is_configuration || self.runs.is_empty() {
            self.runs.push(Run {
                builder: Builder::new(&self.context, "", line.number),
                has_id: false,
                next: Next {
                    model: record.model.owned(),
                    effort: record.effort.owned().filter(|it| it != "none"),
                    provider: record.provider.owned(),
                    ..Next::default()
                },
            });
        }
        let Some(run) = self.runs.last_mut() else { return RecordKind::Known };
        if is_configuration {
            run.builder.session.cwd = record.workdir.owned();
            run.builder.session.model = record.model.owned();
            return RecordKind::Known;
        }
        // Configuration, starts and counts are equal in all runs: the id is made from the other records.
        let kind = message.map(|it| it.kind.as_str());
        let is_constant = matches!(kind, Some("task_started" | "token_count" | "session_configured"));
        if run.builder.session.session_id.is_empty() || (!run.has_id && !is_constant) {
            run.has_id = !is_constant;
            run.builder.session.session_id = hashed_id(line.bytes);
        }
        let Some(message) = message else {
            run.builder.prompt_as(Identity::Session(hashed_id(line.bytes).into()), record.prompt.some());
            return RecordKind::Known;
        };
        let seen = run.message(message, line, damage);
        run.builder.name_events(None, line.bytes);
        seen
    }

    fn finish(self) -> Vec<SessionResult> {
        // A recording that was cut before such a record has no id.
        let is_named = |run: &Run| {
            let session = &run.builder.session;
            let has_tokens = !session.turns.is_empty() || !session.totals.is_empty();
            run.has_id || has_tokens && !session.session_id.is_empty()
        };
        self.runs.into_iter().filter(is_named).map(|it| it.builder.finish()).collect()
    }
}

impl Run {
    fn message(&mut self, message: &Message<'_>, line: Line<'_>, damage: &mut RecordErrors) -> RecordKind {
        let at = At { line: line.number, time: None };
        match message.kind.as_str() {
            "session_configured" => {
                if let Some(id) = message.session_id.owned() {
                    self.builder.session.session_id = id;
                    self.has_id = true;
                }
                self.next.model = message.model.owned().or_else(|| self.next.model.take());
                self.builder.session.model.clone_from(&self.next.model);
            }
            "task_started" => {
                self.builder.session.status = Status::Incomplete;
                self.next.context_window = message.model_context_window.get().or(self.next.context_window);
            }
            "task_complete" => {
                self.builder.succeed();
                self.builder.set_answer(message.last_agent_message.as_str());
            }
            "turn_aborted" => {
                self.next.interrupt();
                aborted(&mut self.builder, &message.reason, at);
            }
            "error" => {
                self.builder.fail(None, message.message.as_str());
                self.builder.event(EventKind::Error, at).message = message.message.some().map(brief);
            }
            "stream_error" => {
                self.builder.event(EventKind::Retry, at).message = message.message.some().map(brief);
            }
            "context_compacted" | "compacted" => {
                self.builder.event(EventKind::Compaction, at);
            }
            "agent_message" => self.builder.set_answer(message.message.as_str()),
            "token_count" => self.token_count(message, line, damage),
            kind if message.call_id.is_some() => return self.call(kind, message, line),
            "agent_reasoning"
            | "agent_reasoning_section_break"
            | "agent_message_delta"
            | "agent_reasoning_delta"
            | "background_event"
            | "turn_diff"
            | "plan_update"
            | "user_message"
            | "shutdown_complete"
            | "exec_command_output_delta"
            | "web_search_begin"
            | "web_search_end"
            | "mcp_list_tools_response" => {}
            _ => return RecordKind::Unknown,
        }
        RecordKind::Known
    }

    fn token_count(&mut self, message: &Message<'_>, line: Line<'_>, damage: &mut RecordErrors) {
        let own = Usage {
            input_tokens: message.input_tokens,
            cached_input_tokens: message.cached_input_tokens,
            output_tokens: message.output_tokens,
            reasoning_output_tokens: message.reasoning_output_tokens,
            ..Usage::default()
        };
        let total = match &message.info {
            Maybe::Present(info) => info.total_token_usage.get().copied(),
            // Only rate limits.
            _ => Some(own).filter(|it| *it != Usage::default()),
        };
        let last = message.info.get().and_then(|it| it.last_token_usage.get().copied());
        let Some(spent) = self.next.total.advance(total, last, damage) else { return };
        let window = message.info.get().and_then(|it| it.model_context_window.get());
        let counted = Counted { window, line: line.number, time: None };
        // The thread's totals increase with each response: they identify it.
        self.next.add(&mut self.builder, spent, counted, |_, reached, _| {
            Identity::Session(format!("{:?} {:?}", reached.kinds(), reached.reasoning).into())
        });
    }

    fn call(&mut self, kind: &str, message: &Message<'_>, line: Line<'_>) -> RecordKind {
        let (tool, is_end) = match kind {
            "exec_command_begin" | "exec_approval_request" => ("shell", false),
            "exec_command_end" => ("shell", true),
            "patch_apply_begin" | "apply_patch_approval_request" => ("apply_patch", false),
            "patch_apply_end" => ("apply_patch", true),
            "mcp_tool_call_begin" => (message.invocation.tool.as_str(), false),
            "mcp_tool_call_end" => (message.invocation.tool.as_str(), true),
            "web_search_begin" => ("web_search", false),
            "web_search_end" => ("web_search", true),
            "exec_command_output_delta" => return RecordKind::Known,
            _ => return RecordKind::Unknown,
        };
        let (id, at) = (message.call_id.as_str(), At { line: line.number, time: None });
        let call = if is_end {
            self.builder.call(id, tool, at)
        } else {
            let arguments = if message.command.is_empty() { message.invocation.arguments } else { message.command };
            self.builder.call_of(None, id, tool, arguments, at)
        };
        self.next.made(call);
        match kind {
            "exec_command_begin" => {
                let words: Vec<Text<'_>> = message.command.read();
                self.builder.arguments(call, message.command);
                self.builder.set_subject(call, tools::shell_command_of_words(&words).into());
            }
            "mcp_tool_call_begin" | "mcp_tool_call_end" => {
                self.builder.mcp(call, message.invocation.server.some());
                self.builder.arguments(call, message.invocation.arguments);
            }
            "web_search_end" => drop(self.builder.arguments(call, message.query)),
            _ => {}
        }
        for (path, change) in &message.changes.0 {
            self.change(call, path, change, line);
        }
        if is_end {
            self.call_end(call, kind, message);
        }
        RecordKind::Known
    }

    fn call_end(&mut self, call: usize, kind: &str, message: &Message<'_>) {
        let exit_code = message.exit_code.whole();
        let outcome: Outcome<'_> = message.result.read();
        let is_error = exit_code.is_some_and(|it| it != 0)
            || message.success.0 == Some(false)
            || (kind == "mcp_tool_call_end" && outcome.is_error());
        let output = [message.aggregated_output, message.stdout, message.result].into_iter().find(|it| !it.is_empty());
        self.builder.result(call, output.unwrap_or_default(), None, CallStatus::from_error(is_error));
        let row = &mut self.builder.session.tool_calls[call];
        row.exit_code = exit_code.into();
        row.duration_ms = message.duration.milliseconds().into();
    }

    fn change(&mut self, call: usize, path: &str, change: &Change<'_>, line: Line<'_>) {
        let deleted = Edit::default();
        let (edit, operation) = match (&change.add, &change.update) {
            (Maybe::Present(add), _) => (add, Operation::Create),
            (_, Maybe::Present(update)) => (update, Operation::Update),
            _ if !change.delete.is_empty() => (&deleted, Operation::Delete),
            _ => return,
        };
        edit.change(&mut self.builder, call, path, Some(operation), At { line: line.number, time: None });
    }
}
