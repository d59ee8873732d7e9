//! The records of Cursor.

use serde::Deserialize;

use crate::adapters::engine::RecordErrors;
use crate::adapters::shared::blocks::TextBlock;
use crate::adapters::shared::usage::{Included, uncached};
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Maybe, Number, Pairs, Text, TextOrBlocks, When};
use crate::model::session::{Tokens, add};

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Record<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) subtype: Text<'a>,
    pub(super) session_id: Text<'a>,
    pub(super) timestamp_ms: When,
    // system
    pub(super) model: Text<'a>,
    pub(super) cwd: Text<'a>,
    // user, assistant
    pub(super) message: Message<'a>,
    /// The response to which a text or a call belongs.
    pub(super) model_call_id: Text<'a>,
    // tool_call
    pub(super) call_id: Text<'a>,
    pub(super) tool_call: Pairs<'a, Raw<'a>>,
    // connection, retry
    pub(super) attempt: Number,
    // result
    pub(super) is_error: Flag,
    pub(super) duration_ms: Number,
    pub(super) duration_api_ms: Number,
    pub(super) result: Text<'a>,
    pub(super) request_id: Text<'a>,
    pub(super) usage: Maybe<Usage>,
    /// An object, or a string.
    pub(super) error: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Message<'a> {
    pub(super) content: TextOrBlocks<'a, TextBlock<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Usage {
    pub(super) input_tokens: Count,
    pub(super) output_tokens: Count,
    pub(super) cache_read_tokens: Count,
    pub(super) cache_write_tokens: Count,
}

/// The value under the name of a tool.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct ToolCall<'a> {
    pub(super) args: Raw<'a>,
    pub(super) result: Pairs<'a, Raw<'a>>,
    // Of a tool that the runtime does not know: the name, and the arguments as a JSON string.
    pub(super) name: Text<'a>,
    pub(super) arguments: Raw<'a>,
}

/// The arguments of a call to an MCP server, and of one that starts an agent.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct OwnArguments<'a> {
    pub(super) name: Text<'a>,
    pub(super) tool_name: Text<'a>,
    pub(super) provider_identifier: Text<'a>,
    pub(super) server_identifier: Text<'a>,
    pub(super) subagent_type: Raw<'a>,
}

impl OwnArguments<'_> {
    /// The type of a subagent: a string, or the only key of an object.
    pub(super) fn agent(&self) -> Option<Symbol> {
        let members: Pairs<'_, Raw<'_>> = self.subagent_type.read();
        let key = members.0.first().map(|(key, _)| Symbol::new(key));
        key.or_else(|| self.subagent_type.read::<Text<'_>>().owned())
    }
}

/// The value under the name of an outcome.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Outcome<'a> {
    pub(super) exit_code: Number,
    /// In milliseconds.
    pub(super) execution_time: Number,
    pub(super) is_error: Flag,
    pub(super) reason: Text<'a>,
    pub(super) path: Text<'a>,
    pub(super) lines_added: Count,
    pub(super) lines_removed: Count,
    pub(super) lines_created: Count,
    pub(super) diff_string: Text<'a>,
    pub(super) before_full_file_content: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Failure<'a> {
    pub(super) message: Text<'a>,
}

/// Recordings from this day on exclude cached tokens from the input, 2026-06-15. Those of March 2026 include them.
const EXCLUDED_SINCE: Time = Time::from_micros(1_781_481_600_000_000);

impl Usage {
    /// The tokens, as of the time of the last record before them. Where neither that time nor the counts show whether the input includes
    /// cached tokens, these are subtracted.
    pub(super) fn tokens(&self, time: Option<Time>, damage: &mut RecordErrors) -> Tokens {
        let counts = [self.input_tokens, self.output_tokens, self.cache_read_tokens, self.cache_write_tokens];
        damage.note_impossible(&counts);
        let [input, output, cache_read, cache_write] = counts.map(Count::get);
        let input =
            if self.is_ambiguous(time) { uncached(Included::IfTheyFit, input, cache_read, cache_write) } else { input };
        let tokens = Tokens { input, output, cache_read, cache_write, ..Tokens::UNKNOWN };
        tokens.unless_all_zero()
    }

    /// Whether the input may include cached tokens: it is at least as large, and no record shows a later version.
    pub(super) fn is_ambiguous(&self, time: Option<Time>) -> bool {
        let cached = add(self.cache_read_tokens.get(), self.cache_write_tokens.get()).unwrap_or(0);
        cached > 0 && self.input_tokens.get() >= Some(cached) && time.is_none_or(|time| time < EXCLUDED_SINCE)
    }
}
