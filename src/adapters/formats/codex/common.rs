//! Common parts of Codex's logs: responses, the outcome of an MCP call, errors, edits.

use std::mem;

use serde::Deserialize;

use super::counts::{Running, Spent};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, brief};
use crate::adapters::shared::changed_lines::ChangedLines;
use crate::adapters::shared::tools;
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, LazyText, Pairs, Text};
use crate::model::errors::{self, ErrorKind};
use crate::model::session::{EventKind, Identity, Operation, Tokens, Turn};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Duration {
    secs: Count,
    nanos: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Invocation<'a> {
    pub(crate) server: Text<'a>,
    pub(crate) tool: Text<'a>,
    pub(crate) arguments: Raw<'a>,
}

impl Duration {
    /// Whole milliseconds.
    pub(crate) fn milliseconds(&self) -> Option<i64> {
        let secs = self.secs.get()?.checked_mul(1000)?;
        secs.checked_add(self.nanos.get().unwrap_or(0) / 1_000_000)
    }
}

/// The result of an MCP call: `{"Ok":{…,"isError":…}}` or `{"Err":"…"}`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Outcome<'a> {
    #[serde(rename = "Ok")]
    ok: McpOutput,
    #[serde(rename = "Err")]
    err: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct McpOutput {
    is_error: Flag,
}

impl<'a> Outcome<'a> {
    /// The outcome that a bare result states: `{…,"isError":…}`.
    pub(crate) fn of_result(result: Raw<'a>) -> Self {
        Self { ok: result.read(), err: Raw::default() }
    }

    /// Whether the server failed, or the connection to it.
    pub(crate) fn is_error(&self) -> bool {
        !self.err.is_empty() || self.ok.is_error.is_true()
    }
}

/// The details of an error that Codex names.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ErrorDetails {
    #[serde(alias = "httpStatusCode")]
    http_status_code: Count,
}

/// An error that Codex names: a word, or `{"word":{"http_status_code":…}}`.
pub(crate) struct NamedError {
    pub(crate) name: Option<Symbol>,
    pub(crate) kind: ErrorKind,
    /// Whether it ends a turn. The turn of a request to the client may go on.
    pub(crate) ends_turn: bool,
}

impl NamedError {
    pub(crate) fn of(info: Raw<'_>, message: &str) -> Self {
        let details: Pairs<'_, ErrorDetails> = info.read();
        let (name, status) = match details.0.into_iter().next() {
            Some((name, details)) => (Some(name), details.http_status_code.get()),
            None => (info.len().map(|_| info.text()), None),
        };
        let mut word = name.as_deref().unwrap_or_default().replace('_', "");
        word.make_ascii_lowercase();
        let kind = match word.as_str() {
            "usagelimitexceeded" | "ratelimitexceeded" | "modelcap" => ErrorKind::RateLimit,
            "contextwindowexceeded" => ErrorKind::ContextOverflow,
            "sessionbudgetexceeded" => ErrorKind::Budget,
            "serveroverloaded" | "flexunavailable" => ErrorKind::Overloaded,
            "unauthorized" => ErrorKind::Auth,
            _ => errors::classify(status, message),
        };
        let ends_turn = !matches!(word.as_str(), "threadrollbackfailed" | "activeturnnotsteerable");
        Self { name: name.map(|it| Symbol::new(&brief(&it))), kind, ends_turn }
    }
}

/// Attributes of the next response, from the records before it.
#[derive(Debug, Default)]
pub(crate) struct Next {
    pub(crate) model: Option<Symbol>,
    pub(crate) effort: Option<Symbol>,
    pub(crate) service_tier: Option<Symbol>,
    pub(crate) provider: Option<Symbol>,
    pub(crate) context_window: Option<i64>,
    pub(crate) total: Running,
    /// Calls since the last response, made by the next one.
    pub(crate) calls: Vec<usize>,
    /// The number of these calls before an interruption. If the response before it was not logged, it made them.
    pub(crate) interrupted: usize,
}

/// Where and when a response was counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted {
    pub(crate) window: Option<i64>,
    pub(crate) line: i64,
    pub(crate) time: Option<Time>,
}

impl Next {
    /// The next response made the call, if no earlier one did.
    pub(crate) fn made(&mut self, call: usize) {
        if !self.calls.contains(&call) {
            self.calls.push(call);
        }
    }

    /// The user stopped the agent.
    pub(crate) const fn interrupt(&mut self) {
        self.interrupted = self.calls.len();
    }

    /// Adds a turn for each response in `spent`. `identity` returns its identity, from the total that it reached and its calls.
    /// Returns the index of the last turn.
    pub(crate) fn add(
        &mut self,
        builder: &mut Builder,
        spent: Spent,
        counted: Counted,
        identity: impl Fn(&Builder, Tokens, &[usize]) -> Identity,
    ) -> usize {
        let mut calls = mem::take(&mut self.calls);
        let reached = self.total.reached();
        if let Some(tokens) = spent.unlogged {
            let rest = calls.split_off(self.interrupted.min(calls.len()));
            let identity = identity(builder, reached.minus(spent.response), &calls);
            self.response(builder, identity, tokens, counted, &mem::replace(&mut calls, rest));
        }
        self.interrupted = 0;
        let identity = identity(builder, reached, &calls);
        self.response(builder, identity, spent.response, counted, &calls)
    }

    fn response(
        &self,
        builder: &mut Builder,
        identity: Identity,
        tokens: Tokens,
        counted: Counted,
        calls: &[usize],
    ) -> usize {
        let index = builder.turn(identity, counted.line);
        self.describe(&mut builder.session.turns[index], tokens, counted);
        made_by(builder, index, calls.iter().copied());
        index
    }

    /// Sets what is known of a response when it is counted.
    pub(crate) fn describe(&self, turn: &mut Turn, tokens: Tokens, counted: Counted) {
        turn.tokens = tokens.into();
        turn.model.clone_from(&self.model);
        turn.provider.clone_from(&self.provider);
        turn.effort.clone_from(&self.effort);
        turn.service_tier.clone_from(&self.service_tier);
        turn.occurred_at = counted.time;
        turn.context_window = counted.window.or(self.context_window).into();
    }
}

/// The response `turn` made the calls, as far as no earlier one did.
pub(crate) fn made_by(builder: &mut Builder, turn: usize, calls: impl Iterator<Item = usize>) {
    for call in calls {
        let made_by = &mut builder.session.tool_calls[call].turn;
        *made_by = made_by.unwrap_or(turn).into();
    }
}

/// The task was stopped: by the user, by another task, or because the budget is used up.
pub(crate) fn aborted(builder: &mut Builder, reason: &Text<'_>, at: At) {
    if reason.as_str() == "budget_limited" {
        builder.fail_as(ErrorKind::Budget, reason.as_str());
        builder.event(EventKind::Error, at).code = reason.owned();
    } else {
        builder.abort(reason.as_str());
        builder.event(EventKind::Abort, at).message = reason.owned();
    }
}

/// The change of a file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Edit<'a> {
    /// The operation, if it is not the key of the object.
    #[serde(rename = "type")]
    pub(crate) kind: Text<'a>,
    content: LazyText<'a>,
    unified_diff: LazyText<'a>,
    move_path: Text<'a>,
}

impl Edit<'_> {
    /// Adds the change of the file at `path`.
    pub(crate) fn change(&self, builder: &mut Builder, call: usize, path: &str, operation: Option<Operation>, at: At) {
        let (path, operation) = match self.move_path.some() {
            Some(path) => (path, Some(Operation::Move)),
            None => (path, operation),
        };
        let lines = match operation {
            Some(Operation::Create) if self.content.is_some() => Some(tools::written_lines_in(&self.content)),
            Some(Operation::Delete) if self.content.is_some() => {
                let removed = tools::written_lines_in(&self.content).added;
                Some(ChangedLines { removed, ..ChangedLines::none() })
            }
            _ => (!self.unified_diff.escaped().is_empty()).then(|| tools::diff_lines_in(&self.unified_diff)),
        };
        builder.change(call, path, operation, lines, at);
    }
}
