//! OpenCode's recorded stdout, `opencode run --format json`.
//!
//! One finished step is one response. The stream names no model and no folder, shows no child session, and the process may
//! exit before the last `step_finish` is written (accounting B17 to B19).

use serde::Deserialize;

use super::{Adapter, Context, Damage, Fold, Seen, fold};
use crate::builder::{Builder, brief};
use crate::errors::ErrorKind;
use crate::health::Reason;
use crate::json::Raw;
use crate::lines::Line;
use crate::session::{CallStatus, Cost, EventKind, Identity, Operation, SessionResult, Shows, Status, Tokens};
use crate::time::Time;
use crate::tools;
use crate::wire::{Count, Flag, Maybe, Number, Text, When};

pub(super) const ADAPTER: Adapter = Adapter {
    id: "opencode-run",
    runtime: "opencode",
    about: "OpenCode, opencode run --format json",
    shows: Shows::TOOL_CALLS.and(Shows::FILE_CHANGES).and(Shows::SUBAGENTS),
    claims: |probe| {
        let is_event = matches!(
            probe.text("type").as_ref(),
            "step_start" | "step_finish" | "tool_use" | "text" | "reasoning" | "error" | "done"
        );
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

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Part<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow, rename = "messageID")]
    message_id: Text<'a>,
    #[serde(borrow)]
    text: Text<'a>,
    time: Span,
    // tool
    #[serde(borrow, rename = "callID")]
    call_id: Text<'a>,
    #[serde(borrow)]
    tool: Text<'a>,
    #[serde(borrow)]
    state: State<'a>,
    // step-finish
    #[serde(borrow)]
    reason: Text<'a>,
    cost: Number,
    tokens: Maybe<Usage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Usage {
    total: Count,
    input: Count,
    output: Count,
    reasoning: Count,
    cache: Cache,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Cache {
    read: Count,
    write: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct State<'a> {
    #[serde(borrow)]
    status: Text<'a>,
    #[serde(borrow)]
    input: Raw<'a>,
    #[serde(borrow)]
    output: Raw<'a>,
    #[serde(borrow)]
    error: Raw<'a>,
    #[serde(borrow)]
    metadata: Metadata<'a>,
    time: Span,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Span {
    start: When,
    end: When,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata<'a> {
    exit: Number,
    #[serde(borrow)]
    diff: Text<'a>,
    exists: Flag,
    /// Of the `task` tool: the session of the child.
    #[serde(borrow, rename = "sessionId")]
    session_id: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Error<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    message: Text<'a>,
    #[serde(borrow)]
    data: ErrorData<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ErrorData<'a> {
    #[serde(borrow)]
    message: Text<'a>,
    status_code: Number,
}

impl Usage {
    fn tokens(&self, damage: &mut Damage) -> Tokens {
        if [self.input, self.output, self.reasoning, self.cache.read, self.cache.write].contains(&Count::Impossible) {
            damage.note(Reason::BadNumber);
        }
        let reasoning = self.reasoning.get();
        let mut tokens = Tokens {
            input: self.input.get(),
            output: self.output.get(),
            cache_read: self.cache.read.get(),
            cache_write: self.cache.write.get(),
            cache_write_1h: None,
            reasoning,
        };
        // Until 1.2 the output held the reasoning; `total` tells (B18). Without it the reasoning comes on top.
        let is_inside = self.total.get().is_some_and(|it| Some(it) == tokens.total());
        if !is_inside {
            tokens.output = tokens.output.map(|it| it + reasoning.unwrap_or(0));
        }
        tokens
    }
}

struct Run {
    context: Context,
    sessions: Vec<Session>,
}

struct Session {
    builder: Builder,
    /// Calls since the last finished step.
    open_calls: Vec<usize>,
}

impl Fold for Run {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: *context, sessions: Vec::new() }
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
            "error" => session.error(&record.error, line, record.timestamp.0),
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
        let identity = Identity::Session(format!("{} {:?}", part.id.as_str(), time.map(|it| it.0)));
        let index = self.builder.turn(identity, line.number);
        let turn = &mut self.builder.session.turns[index];
        match &part.tokens {
            Maybe::Absent => {}
            Maybe::Wrong => damage.note(Reason::NoUsage),
            Maybe::Present(usage) => {
                let tokens = usage.tokens(damage);
                if !tokens.is_all_zero() {
                    turn.tokens = tokens;
                }
            }
        }
        turn.message_id = part.message_id.owned();
        turn.occurred_at = time;
        turn.stop_reason = part.reason.owned();
        turn.cost = part.cost.money().map(|total| Cost { total, parts: None });
        for call in self.open_calls.drain(..) {
            self.builder.session.tool_calls[call].turn = Some(index);
        }
        self.builder.session.stop_reason = part.reason.owned();
        // Some versions leave the reason out; a step that does not go on to tools is the last.
        if part.reason.as_str() != "tool-calls" {
            self.builder.succeed();
        }
    }

    fn tool_use(&mut self, part: &Part<'_>, line: Line<'_>) {
        let state = &part.state;
        let (start, end) = (state.time.start.0, state.time.end.0);
        if let Some(call) = self.builder.call_index(part.call_id.as_str())
            && self.builder.session.tool_calls[call].occurred_at != start
        {
            // Another call under a masked id.
            self.builder.forget_calls();
        }
        let call = self.builder.call(part.call_id.as_str(), part.tool.as_str(), line.number, start);
        self.open_calls.push(call);
        let arguments = self.builder.arguments(call, state.input);
        let status = match state.status.as_str() {
            "completed" => CallStatus::Ok,
            "error" => CallStatus::Error,
            _ => CallStatus::Incomplete,
        };
        let output = if state.output.is_empty() { state.error } else { state.output };
        self.builder.result(call, output, end, status);
        let row = &mut self.builder.session.tool_calls[call];
        row.exit_code = state.metadata.exit.whole();
        let is_refused = status == CallStatus::Error && is_refusal(&state.error.text());
        match (tools::category(part.tool.as_str()), arguments.patch(), arguments.file()) {
            ("edit", Some(patch), _) => self.builder.patch(call, patch, line.number, start),
            (category @ ("edit" | "write"), _, Some(file)) => {
                let operation = match (category, state.metadata.exists.0) {
                    ("edit", _) | (_, Some(true)) => Some(Operation::Update),
                    (_, Some(false)) => Some(Operation::Create),
                    (_, None) => None,
                };
                let lines = state.metadata.diff.some().map(|it| tools::diff_lines(it.lines()));
                let written = || arguments.written().map(|it| (tools::line_count(it), 0));
                let lines = lines.or_else(|| written().filter(|_| operation == Some(Operation::Create)));
                self.builder.change(call, file, operation, lines, line.number, start);
            }
            _ => {}
        }
        if is_refused {
            self.builder.deny(call, line.number, end, Some(&state.error.text()));
        }
        if let Some(child) = state.metadata.session_id.some()
            && tools::category(part.tool.as_str()) == "subagent"
            && self.builder.session.subagents.insert(child.to_owned())
        {
            let event = self.builder.event(EventKind::Subagent, line.number, start);
            event.code = Some(child.to_owned());
            event.call_id = part.call_id.owned();
            event.agent = arguments.agent();
        }
    }

    fn error(&mut self, error: &Error<'_>, line: Line<'_>, time: Option<Time>) {
        let message = error.data.message.some().or(error.message.some()).unwrap_or(error.name.as_str());
        if error.name.as_str() == "MessageAbortedError" {
            self.builder.fail_as(ErrorKind::Cancelled, message);
            self.builder.session.status = Status::Aborted;
        } else {
            self.builder.fail(error.data.status_code.whole(), message);
        }
        let is_abort = self.builder.session.status == Status::Aborted;
        let event = self.builder.event(if is_abort { EventKind::Abort } else { EventKind::Error }, line.number, time);
        event.code = error.name.owned();
        event.message = Some(brief(message));
    }
}

/// The words of opencode's permission system.
fn is_refusal(error: &str) -> bool {
    error.contains("user rejected permission") || error.contains("prevents you from using this specific tool call")
}
