//! What Codex's logs share: usage, running totals, the outcome of an MCP call.
//!
//! `token_count` repeats the thread's running totals; it is a response only where they advance (accounting B12, item 11).

use serde::Deserialize;

use super::Damage;
use crate::builder::Builder;
use crate::json::Raw;
use crate::session::{Identity, Operation, Tokens};
use crate::time::Time;
use crate::tools;
use crate::wire::{Count, Flag, Maybe, Text};

/// Usage as OpenAI counts it: what was cached is in the input, reasoning is in the output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Usage {
    pub input_tokens: Count,
    pub cached_input_tokens: Count,
    pub cache_write_input_tokens: Count,
    pub output_tokens: Count,
    pub reasoning_output_tokens: Count,
}

impl Usage {
    /// The disjoint counts.
    pub(super) fn tokens(&self, damage: &mut Damage) -> Tokens {
        let counts = [self.input_tokens, self.cached_input_tokens, self.cache_write_input_tokens, self.output_tokens];
        damage.refuses(&counts);
        let cached = self.cached_input_tokens.get();
        let written = self.cache_write_input_tokens.get();
        let prompt = self.input_tokens.get();
        Tokens {
            input: prompt.map(|it| (it - cached.unwrap_or(0) - written.unwrap_or(0)).max(0)),
            output: self.output_tokens.get(),
            cache_read: cached,
            cache_write: written,
            cache_write_1h: None,
            reasoning: self.reasoning_output_tokens.get(),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Info {
    pub(super) total_token_usage: Maybe<Usage>,
    pub(super) last_token_usage: Maybe<Usage>,
    pub(super) model_context_window: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Duration {
    secs: Count,
    nanos: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Invocation<'a> {
    #[serde(borrow)]
    pub(super) server: Text<'a>,
    #[serde(borrow)]
    pub(super) tool: Text<'a>,
    #[serde(borrow)]
    pub(super) arguments: Raw<'a>,
}

impl Duration {
    /// Whole milliseconds.
    pub(super) fn milliseconds(&self) -> Option<i64> {
        let secs = self.secs.get()?.checked_mul(1000)?;
        secs.checked_add(self.nanos.get().unwrap_or(0) / 1_000_000)
    }
}

/// The result of an MCP call: `{"Ok":{…,"isError":…}}` or `{"Err":"…"}`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Outcome<'a> {
    #[serde(rename = "Ok")]
    ok: McpOutput,
    #[serde(borrow, rename = "Err")]
    err: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct McpOutput {
    is_error: Flag,
}

impl Outcome<'_> {
    /// Whether the server or the way to it failed.
    pub(super) fn is_error(&self) -> bool {
        !self.err.is_empty() || self.ok.is_error.is_true()
    }
}

/// The totals of a thread so far.
#[derive(Debug)]
pub(super) struct Running(Tokens);

impl Default for Running {
    fn default() -> Self {
        Self(Tokens::UNKNOWN)
    }
}

impl Running {
    /// What was spent since the totals were last told, if anything; `last` is what the log says the last response was.
    pub(super) fn advance(&mut self, total: Option<Usage>, last: Option<Usage>, damage: &mut Damage) -> Option<Tokens> {
        let total = total?.tokens(damage);
        let fell = total.kinds().into_iter().zip(self.0.kinds()).any(|(new, old)| new < old);
        // A total that falls belongs to a new count: what it gives is what came since.
        let response = if fell { last.map_or(total, |it| it.tokens(damage)) } else { total.minus(self.0) };
        self.0 = total;
        (response.total().unwrap_or(0) > 0).then_some(response)
    }

    /// The totals that were told last.
    pub(super) const fn reached(&self) -> Tokens {
        self.0
    }

    /// For a count that goes on from another one: the first total without the last response is what that one had.
    pub(super) fn begin(&mut self, total: Option<Usage>, last: Option<Usage>) {
        let unread = &mut Damage::default();
        if self.0 == Tokens::UNKNOWN
            && let (Some(total), Some(last)) = (total, last)
        {
            self.0 = total.tokens(unread).minus(last.tokens(unread));
        }
    }
}

/// What the next response will be known by, from the records before it.
#[derive(Debug, Default)]
pub(super) struct Next {
    pub(super) model: Option<String>,
    pub(super) effort: Option<String>,
    pub(super) service_tier: Option<String>,
    pub(super) provider: Option<String>,
    pub(super) context_window: Option<i64>,
    pub(super) total: Running,
    /// Calls since the last response: it is the next one that made them.
    pub(super) calls: Vec<usize>,
}

impl Next {
    /// The next response made the call, if no earlier one did.
    pub(super) fn made(&mut self, call: usize) {
        if !self.calls.contains(&call) {
            self.calls.push(call);
        }
    }

    /// Adds the response.
    pub(super) fn add(
        &mut self,
        builder: &mut Builder,
        identity: Identity,
        tokens: Tokens,
        window: Option<i64>,
        line: i64,
        time: Option<Time>,
    ) {
        let index = builder.turn(identity, line);
        let turn = &mut builder.session.turns[index];
        turn.tokens = tokens;
        turn.model.clone_from(&self.model);
        turn.provider.clone_from(&self.provider);
        turn.effort.clone_from(&self.effort);
        turn.service_tier.clone_from(&self.service_tier);
        turn.occurred_at = time;
        turn.context_window = window.or(self.context_window);
        for call in self.calls.drain(..) {
            builder.session.tool_calls[call].turn.get_or_insert(index);
        }
    }
}

/// What was done to a file.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Edit<'a> {
    /// The word for it, where the place does not say.
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    content: Text<'a>,
    #[serde(borrow)]
    unified_diff: Text<'a>,
    #[serde(borrow)]
    move_path: Text<'a>,
}

impl Edit<'_> {
    /// Adds the change of the file at `path`.
    pub(super) fn change(
        &self,
        builder: &mut Builder,
        call: usize,
        path: &str,
        operation: Option<Operation>,
        line: i64,
        time: Option<Time>,
    ) {
        let (path, operation) = match self.move_path.some() {
            Some(path) => (path, Some(Operation::Move)),
            None => (path, operation),
        };
        let lines = match operation {
            Some(Operation::Create) if self.content.is_some() => Some((tools::line_count(self.content.as_str()), 0)),
            _ => self.unified_diff.some().map(|it| tools::diff_lines(it.lines())),
        };
        builder.change(call, path, operation, lines, line, time);
    }
}
