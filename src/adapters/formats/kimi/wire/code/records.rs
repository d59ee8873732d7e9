//! The records of Kimi Code: `{type, time, …}`.

use serde::Deserialize;

use crate::adapters::engine::RecordErrors;
use crate::adapters::formats::kimi::wire::records::Part;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Maybe, Number, Text, TextOrBlocks, When};
use crate::model::session::Tokens;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(in super::super) struct Record<'a> {
    #[serde(borrow, rename = "type")]
    pub(in super::super) kind: Text<'a>,
    pub(super) time: When,
    #[serde(borrow)]
    pub(super) agent_id: Text<'a>,
    // config.update, llm.request, usage.record
    #[serde(borrow)]
    pub(super) model: Text<'a>,
    #[serde(borrow)]
    pub(super) model_alias: Text<'a>,
    #[serde(borrow)]
    pub(super) thinking_effort: Text<'a>,
    #[serde(borrow)]
    pub(super) provider: Text<'a>,
    #[serde(borrow)]
    pub(super) cwd: Text<'a>,
    // turn.prompt, turn.steer
    #[serde(borrow)]
    pub(super) input: TextOrBlocks<'a, Part<'a>>,
    #[serde(borrow)]
    pub(super) origin: Origin<'a>,
    // context.append_message
    #[serde(borrow)]
    pub(super) message: Message<'a>,
    // context.append_loop_event
    #[serde(borrow)]
    pub(super) event: Event<'a>,
    // usage.record
    pub(super) usage: Maybe<Usage>,
    #[serde(borrow)]
    pub(super) usage_scope: Text<'a>,
    // context.apply_compaction, full_compaction.complete
    pub(super) tokens_before: Count,
    pub(super) tokens_after: Count,
    // turn.ended, turn.step.retrying
    #[serde(borrow)]
    pub(super) reason: Text<'a>,
    #[serde(borrow)]
    pub(super) error_message: Text<'a>,
    pub(super) status_code: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Origin<'a> {
    #[serde(borrow)]
    pub(super) kind: Text<'a>,
}

impl Origin<'_> {
    pub(super) fn is_user(&self) -> bool {
        matches!(self.kind.as_str(), "" | "user")
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub(super) role: Text<'a>,
    #[serde(borrow)]
    pub(super) origin: Origin<'a>,
    #[serde(borrow)]
    pub(super) content: TextOrBlocks<'a, Part<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Event<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) uuid: Text<'a>,
    // content.part
    #[serde(borrow)]
    pub(super) part: Part<'a>,
    // tool.call, tool.result
    #[serde(borrow)]
    pub(super) tool_call_id: Text<'a>,
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    pub(super) args: Raw<'a>,
    #[serde(borrow)]
    pub(super) result: Outcome<'a>,
    // step.end
    pub(super) usage: Maybe<Usage>,
    #[serde(borrow)]
    pub(super) finish_reason: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Outcome<'a> {
    #[serde(borrow)]
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
        damage.refuses(&[self.input_other, self.output, self.input_cache_read, self.input_cache_creation]);
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
