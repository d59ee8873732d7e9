//! One session of OpenCode while its messages are read, from the database or an export.

use super::common::{Bill, Info, KILO, Message, Part, Usage, compaction, go_on, is_last, reasoning_is_inside};
use super::replay::Replays;
use super::sums::Sums;
use crate::adapters::engine::RecordErrors;
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, money};
use crate::adapters::shared::repository::of_root;
use crate::adapters::shared::usage;
use crate::json::Raw;
use crate::json::fields::{Maybe, Number};
use crate::model::health::Reason;
use crate::model::session::{CallStatus, SessionResult};

/// One session while its messages are read.
pub(super) struct Conversation {
    pub(super) builder: Builder,
    pub(super) sums: Sums,
    /// Whether another session started it.
    is_child: bool,
    /// Whether output includes reasoning in the version that began it.
    reasoning_is_inside: bool,
    /// Whether a compaction was requested whose summary is not logged yet.
    is_compacting: bool,
    replays: Replays,
}

impl Conversation {
    pub(super) fn new(builder: Builder, info: &Info<'_>) -> Self {
        Self {
            builder,
            sums: Sums::default(),
            is_child: info.parent_id.some().is_some(),
            reasoning_is_inside: reasoning_is_inside(info.version.as_str()),
            is_compacting: false,
            replays: Replays::default(),
        }
    }

    /// Whether the output of a message includes reasoning, if its `total` does not show it. Since 2.0 it never does, and there is no total
    /// (`tokens` in `packages/core/src/session/usage.ts`), whatever the version that began the session.
    fn includes_reasoning(&self, message: &Message<'_>) -> bool {
        self.reasoning_is_inside && !message.is_since_2
    }

    pub(super) fn finish(self) -> SessionResult {
        let Self { mut builder, sums, .. } = self;
        sums.finish(&mut builder.session);
        builder.finish()
    }

    /// Adds a message, which is or is in `raw`, with its parts, each with its line.
    pub(super) fn message(
        &mut self,
        message: &Message<'_>,
        raw: Raw<'_>,
        line: i64,
        parts: &[(i64, Part<'_>)],
        damage: &mut RecordErrors,
    ) {
        match message.role.as_str() {
            "user" => self.user(message, parts),
            "assistant" => self.assistant(message, line, parts, damage),
            role => damage.unread_role(role, raw),
        }
    }

    /// Adds a response that is not a part of the conversation: a summary.
    pub(super) fn bill(&mut self, message: &Message<'_>, line: i64, damage: &mut RecordErrors) {
        self.sums.message(message);
        if let Some(usage) = usage::present(&message.tokens, damage).filter(|usage| !usage.is_empty()) {
            let tokens = usage.tokens(self.includes_reasoning(message), damage);
            message.turn(&mut self.builder, &message.bill(usage, None), line, tokens, damage);
        }
    }

    fn user(&mut self, message: &Message<'_>, parts: &[(i64, Part<'_>)]) {
        let time = message.time.start();
        self.builder.extend_to(time);
        for (line, part) in parts.iter().filter(|(_, it)| it.kind.as_str() == "compaction") {
            part.compaction(&mut self.builder, At { line: *line, time });
            self.is_compacting = true;
        }
        if parts.iter().any(|(_, it)| it.is_asked()) {
            go_on(&mut self.builder);
        }
        let said = parts.iter().find(|(_, it)| it.is_said());
        // A file, or a command for another agent, is a prompt as well.
        let is_human = said.is_some()
            || parts.iter().any(|(_, it)| it.kind.as_str() == "subtask")
            || parts.iter().all(|(_, it)| it.kind.as_str() != "text")
                && parts.iter().any(|(_, it)| it.kind.as_str() == "file");
        let is_replay = self.replays.is_replay(parts.iter().map(|(_, it)| it));
        if is_human && !is_replay && !self.is_child {
            message.prompt(&mut self.builder, said.and_then(|(_, it)| it.text.some()));
        }
    }

    fn assistant(&mut self, message: &Message<'_>, line: i64, parts: &[(i64, Part<'_>)], damage: &mut RecordErrors) {
        self.sums.message(message);
        self.builder.extend_to(message.time.start());
        self.builder.extend_to(message.time.end());
        let is_summary = message.summary.is_true();
        self.replays.answered(is_summary && message.error.name.some().is_none());
        if is_summary {
            // Older versions compact without a prompt that requests it.
            if !std::mem::take(&mut self.is_compacting) {
                compaction(&mut self.builder, message.parent_id.as_str(), At { line, time: message.time.start() });
            }
        } else {
            let session = &mut self.builder.session;
            session.agent = session.agent.take().or_else(|| message.agent());
            session.cwd = session.cwd.take().or_else(|| message.path.cwd.owned());
            session.repository = session.repository.take().or_else(|| of_root(message.path.root.as_str()));
        }
        let whole = self.whole(message, line, parts, damage);
        let mut open_calls = Vec::new();
        let mut is_open = false;
        let mut calls_last = false;
        for (line, part) in parts {
            match part.kind.as_str() {
                "tool" => {
                    self.builder.extend_to(part.state.time.end().or(part.state.time.start()));
                    // Each part is a call of its own: some exports mask ids, and some models use the same ids again.
                    self.builder.forget_calls();
                    let call = part.call(&mut self.builder, *line);
                    let row = &mut self.builder.session.tool_calls[call];
                    row.turn = whole.turn;
                    row.agent = message.agent();
                    is_open |= row.status == CallStatus::Incomplete;
                    open_calls.push(call);
                    calls_last = true;
                }
                "step-start" => calls_last = false,
                "step-finish" if whole.has_steps => {
                    if let Some(usage) = part.tokens.get().filter(|it| !it.is_empty()) {
                        let tokens = usage.tokens(self.includes_reasoning(message), damage);
                        let turn = message.turn(&mut self.builder, &part.bill(usage), *line, tokens, damage);
                        for call in open_calls.drain(..) {
                            self.builder.session.tool_calls[call].turn = Some(turn);
                        }
                    }
                }
                "text" if part.is_said() && !is_summary => self.builder.set_answer(part.text.as_str()),
                "retry" => part.retry(&mut self.builder, *line),
                _ => {}
            }
        }
        message.end(&mut self.builder, !calls_last, is_open, line);
    }

    /// Adds the response of the whole message, unless the message has several steps, or no billed one.
    fn whole(
        &mut self,
        message: &Message<'_>,
        line: i64,
        parts: &[(i64, Part<'_>)],
        damage: &mut RecordErrors,
    ) -> Whole {
        let of_kind = |kind: &'static str| parts.iter().map(|(_, it)| it).filter(move |it| it.kind.as_str() == kind);
        if message.tokens == Maybe::Wrong || of_kind("step-finish").any(|it| it.tokens == Maybe::Wrong) {
            damage.note(Reason::NoUsage);
        }
        let steps: Vec<_> = of_kind("step-finish").filter_map(|it| Some((it, it.tokens.get()?))).collect();
        if steps.iter().filter(|(_, usage)| !usage.is_empty()).count() > 1 {
            return Whole { turn: None, has_steps: true };
        }
        let last = steps.last().map(|(part, _)| *part);
        // The last step may state zeros.
        let counted = steps.iter().rfind(|(_, usage)| !usage.is_empty()).or_else(|| steps.last());
        let mut stated = message.tokens.get().filter(|it| !it.is_empty()).map(|it| message.bill(it, last));
        // Kilo Code adds the cost of subagents to that of the message (`KiloCostPropagation`), not to those of its steps.
        let own_cost = of_kind("step-finish").filter_map(|it| money(it.cost, damage)).reduce(|a, b| a + b);
        let is_of_kilo =
            self.builder.session.runtime == KILO || of_kind("step-finish").any(|it| it.routed_model().is_some());
        if let (Some(bill), Some(cost), true) = (&mut stated, own_cost, is_of_kilo) {
            bill.cost = Number(Some(cost));
        }
        let step =
            counted.zip(last).map(|((part, usage), last)| Bill { stop_reason: &last.reason, ..part.bill(usage) });
        // An answer without counts and steps: shell commands and starts of agents have no such end.
        let nothing = Usage::default();
        let counts = message.tokens.get().unwrap_or(&nothing);
        let answer = || is_last(message.finish.as_str()).then(|| message.bill(counts, None));
        let bill = match stated.or(step).or_else(answer) {
            // A request that failed without any tokens is not a turn.
            Some(bill) if !(bill.usage.is_empty() && message.error.name.is_some()) => bill,
            _ => {
                // With a started step, the message was cut before its tokens were logged. Without a step there was no
                // request: shell commands of the user and starts of agents are messages too.
                self.builder.session.under_reports |= of_kind("step-start").next().is_some()
                    && (message.error.name.some().is_none() || message.error.is_abort());
                return Whole::default();
            }
        };
        let tokens = bill.usage.tokens(self.includes_reasoning(message), damage);
        Whole { turn: Some(message.turn(&mut self.builder, &bill, line, tokens, damage)), has_steps: false }
    }
}

/// The responses of a message.
#[derive(Debug, Clone, Copy, Default)]
struct Whole {
    /// Its only response.
    turn: Option<usize>,
    /// Whether each of its steps is a response.
    has_steps: bool,
}
