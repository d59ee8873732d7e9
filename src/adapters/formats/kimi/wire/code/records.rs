//! The records of Kimi Code: `{type, time, …}`.

use serde::Deserialize;

use crate::adapters::engine::RecordErrors;
use crate::adapters::formats::kimi::wire::records::Part;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Maybe, Number, Text, TextOrBlocks, When};
use crate::model::session::Tokens;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(in super::super) struct Record<'a> {
    #[serde(rename = "type")]
    pub(in super::super) kind: Text<'a>,
    pub(super) time: When,
    pub(super) agent_id: Text<'a>,
    // config.update, llm.request, usage.record
    pub(super) model: Text<'a>,
    pub(super) model_alias: Text<'a>,
    pub(super) thinking_effort: Text<'a>,
    pub(super) provider: Text<'a>,
    /// Of a repeated request: its number, as `2/10`.
    pub(super) attempt: Text<'a>,
    pub(super) cwd: Text<'a>,
    // config.update, profile.bind
    pub(super) environment_disclosure: Maybe<Environment<'a>>,
    // turn.prompt, turn.steer
    pub(super) input: TextOrBlocks<'a, Part<'a>>,
    pub(super) origin: Origin<'a>,
    // context.append_message
    pub(super) message: Message<'a>,
    // context.append_loop_event
    pub(super) event: Event<'a>,
    // usage.record
    pub(super) usage: Maybe<Usage>,
    pub(super) usage_scope: Text<'a>,
    // context.apply_compaction, full_compaction.complete
    pub(super) tokens_before: Count,
    pub(super) tokens_after: Count,
    // permission.record_approval_result
    pub(super) tool_call_id: Text<'a>,
    pub(super) result: Maybe<Approval<'a>>,
    // turn.cancel: `active` or `queued`
    pub(super) target: Text<'a>,
    // turn.ended, turn.step.retrying
    pub(super) reason: Text<'a>,
    pub(super) error: Maybe<Failure<'a>>,
    pub(super) error_message: Text<'a>,
    pub(super) status_code: Number,
}

/// What the agent knows of its surroundings.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Environment<'a> {
    pub(super) cwd: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Approval<'a> {
    pub(super) decision: Text<'a>,
}

/// Why a turn ended. The code is a name such as `provider.rate_limit`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Failure<'a> {
    pub(super) code: Text<'a>,
    pub(super) message: Text<'a>,
    pub(super) details: Maybe<FailureDetails>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct FailureDetails {
    pub(super) status_code: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Origin<'a> {
    pub(super) kind: Text<'a>,
}

impl Origin<'_> {
    pub(super) fn is_user(&self) -> bool {
        matches!(self.kind.as_str(), "" | "user")
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Message<'a> {
    pub(super) role: Text<'a>,
    pub(super) origin: Origin<'a>,
    pub(super) content: TextOrBlocks<'a, Part<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Event<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) uuid: Text<'a>,
    // content.part
    pub(super) part: Part<'a>,
    // tool.call, tool.result
    pub(super) tool_call_id: Text<'a>,
    pub(super) name: Text<'a>,
    pub(super) args: Raw<'a>,
    pub(super) result: Outcome<'a>,
    // step.end
    pub(super) usage: Maybe<Usage>,
    pub(super) finish_reason: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Outcome<'a> {
    pub(super) output: Raw<'a>,
    pub(super) is_error: Flag,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Usage {
    pub(super) input_other: Count,
    pub(super) output: Count,
    pub(super) input_cache_read: Count,
    pub(super) input_cache_creation: Count,
}

impl Usage {
    /// The counts; `None` if all are 0 or unknown.
    pub(super) fn tokens(&self, damage: &mut RecordErrors) -> Option<Tokens> {
        damage.note_impossible(&[self.input_other, self.output, self.input_cache_read, self.input_cache_creation]);
        let tokens = Tokens {
            input: self.input_other.get(),
            output: self.output.get(),
            cache_read: self.input_cache_read.get(),
            cache_write: self.input_cache_creation.get(),
            ..Tokens::UNKNOWN
        };
        (tokens.total().unwrap_or(0) > 0).then_some(tokens)
    }
}
