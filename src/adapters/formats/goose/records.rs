//! The records of goose.

use serde::Deserialize;

use crate::adapters::engine::{Probe, RecordErrors};
use crate::adapters::shared::blocks::TextBlock;
use crate::adapters::shared::usage::{Included, beyond, uncached};
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Maybe, Number, Text, TextOrBlocks, When};
use crate::model::session::{Operation, Tokens};

/// Whether the content of a message is goose's. Messages of other programs have the same keys, but no block types in camel
/// case.
pub(super) fn is_content(message: &Probe<'_>) -> bool {
    let blocks: TextOrBlocks<'_, Block<'_>> = message.raw("content").read();
    let is_own = |block: &Block<'_>| {
        matches!(
            block.kind.as_str(),
            "text" | "image" | "thinking" | "toolRequest" | "toolResponse" | "redactedThinking"
        )
    };
    blocks.text.is_none() && !blocks.blocks.is_empty() && blocks.blocks.iter().all(is_own)
}

/// A row of any table, or a line of a session file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Record<'a> {
    pub(super) table: Text<'a>,
    /// A number; of a session, a string.
    pub(super) id: Raw<'a>,
    pub(super) session_id: Text<'a>,
    // sessions, and the first line of a file
    pub(super) session_type: Text<'a>,
    pub(super) parent_session_id: Text<'a>,
    pub(super) working_dir: Text<'a>,
    pub(super) created_at: When,
    pub(super) provider_name: Text<'a>,
    pub(super) model_config_json: Maybe<ModelConfig<'a>>,
    /// Its name in an export.
    pub(super) model_config: Maybe<ModelConfig<'a>>,
    // an export
    /// The messages.
    pub(super) conversation: Raw<'a>,
    pub(super) usage: Maybe<ExportedUsage>,
    pub(super) accumulated_usage: Maybe<ExportedUsage>,
    pub(super) message_count: Count,
    pub(super) accumulated_total_tokens: Count,
    pub(super) accumulated_input_tokens: Count,
    pub(super) accumulated_output_tokens: Count,
    pub(super) accumulated_cache_read_tokens: Count,
    pub(super) accumulated_cache_write_tokens: Count,
    pub(super) accumulated_cost: Number,
    // sessions and usage_ledger
    pub(super) total_tokens: Count,
    pub(super) input_tokens: Count,
    pub(super) output_tokens: Count,
    pub(super) cache_read_tokens: Count,
    pub(super) cache_write_tokens: Count,
    pub(super) model: Text<'a>,
    pub(super) cost: Number,
    pub(super) cost_source: Text<'a>,
    pub(super) is_compaction: Number,
    pub(super) created_timestamp: When,
    // messages
    pub(super) role: Text<'a>,
    pub(super) message_id: Text<'a>,
    pub(super) content_json: Raw<'a>,
    pub(super) metadata_json: Maybe<Metadata>,
    // messages of a file
    pub(super) created: When,
    pub(super) content: Raw<'a>,
    pub(super) metadata: Maybe<Metadata>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct ModelConfig<'a> {
    pub(super) model_name: Text<'a>,
}

/// Counts in an export of newer versions (1.46). Before, they are members of the session itself.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct ExportedUsage {
    pub(super) total_tokens: Count,
    pub(super) input_tokens: Count,
    pub(super) output_tokens: Count,
    pub(super) cache_read_input_tokens: Count,
    pub(super) cache_write_input_tokens: Count,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Metadata {
    pub(super) user_visible: Flag,
}

/// A message, from a row or from a line of a session file.
pub(super) struct Message<'a> {
    pub(super) id: &'a str,
    /// Whether the log has its id.
    pub(super) has_stored_id: bool,
    pub(super) role: &'a str,
    pub(super) time: Option<Time>,
    pub(super) content: Raw<'a>,
    pub(super) is_hidden: bool,
}

/// A content block of a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Block<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) text: Text<'a>,
    pub(super) id: Text<'a>,
    pub(super) tool_call: Outcome<'a>,
    pub(super) tool_result: Outcome<'a>,
}

/// A call or a result: `value` if it is valid, else `error`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Outcome<'a> {
    pub(super) status: Text<'a>,
    pub(super) value: Raw<'a>,
    pub(super) error: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Call<'a> {
    pub(super) name: Text<'a>,
    pub(super) arguments: Raw<'a>,
}

/// A result of a tool. A command's exit code is in `structured_content`, and at the end of the text if the command failed.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct ToolResult<'a> {
    pub(super) is_error: Flag,
    content: TextOrBlocks<'a, TextBlock<'a>>,
    structured_content: Maybe<CommandResult>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CommandResult {
    exit_code: Number,
}

impl ToolResult<'_> {
    /// The exit code of a command.
    pub(super) fn exit_code(&self) -> Option<i64> {
        let stated = self.structured_content.get().and_then(|it| it.exit_code.whole());
        stated.or_else(|| {
            let text = self.content.blocks.last()?.text.as_str();
            let (_, code) = text.trim_end().rsplit_once("Command exited with code ")?;
            code.trim_end_matches('.').parse().ok()
        })
    }

    /// What a `write` did, and the number of lines: `Created PATH (N lines)`, `Wrote PATH (N lines)`.
    pub(super) fn written(&self) -> Option<(Operation, i64)> {
        let text = self.content.blocks.first()?.text.as_str();
        let (done, rest) = text.split_once(' ')?;
        let operation = match done {
            "Created" => Operation::Create,
            "Wrote" => Operation::Update,
            _ => return None,
        };
        let (_, lines) = rest.rsplit_once(" (")?;
        Some((operation, lines.trim_end().strip_suffix(" lines)")?.parse().ok()?))
    }
}

/// Arguments of `text_editor`, and the texts of an `edit` (`developer/edit.rs`).
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Editor<'a> {
    pub(super) command: Text<'a>,
    pub(super) before: Text<'a>,
    pub(super) after: Text<'a>,
}

/// The counts of one request, or of all requests of a session.
#[derive(Debug, Clone, Copy)]
pub(super) struct Usage {
    pub(super) total: Count,
    pub(super) input: Count,
    pub(super) output: Count,
    pub(super) cache_read: Count,
    pub(super) cache_write: Count,
}

impl From<&ExportedUsage> for Usage {
    fn from(usage: &ExportedUsage) -> Self {
        Self {
            total: usage.total_tokens,
            input: usage.input_tokens,
            output: usage.output_tokens,
            cache_read: usage.cache_read_input_tokens,
            cache_write: usage.cache_write_input_tokens,
        }
    }
}

impl Usage {
    pub(super) fn of(record: &Record<'_>) -> Self {
        if let Some(usage) = record.usage.get() {
            return usage.into();
        }
        Self {
            total: record.total_tokens,
            input: record.input_tokens,
            output: record.output_tokens,
            cache_read: record.cache_read_tokens,
            cache_write: record.cache_write_tokens,
        }
    }

    pub(super) fn accumulated(record: &Record<'_>) -> Self {
        if let Some(usage) = record.accumulated_usage.get() {
            return usage.into();
        }
        Self {
            total: record.accumulated_total_tokens,
            input: record.accumulated_input_tokens,
            output: record.accumulated_output_tokens,
            cache_read: record.accumulated_cache_read_tokens,
            cache_write: record.accumulated_cache_write_tokens,
        }
    }

    pub(super) fn tokens(self, damage: &mut RecordErrors) -> Tokens {
        damage.note_impossible(&[self.total, self.input, self.output, self.cache_read, self.cache_write]);
        let (cache_read, cache_write) = (self.cache_read.get(), self.cache_write.get());
        let input = uncached(Included::IfTheyFit, self.input.get(), cache_read, cache_write);
        let is_apart = input == self.input.get();
        let apart = if is_apart { [cache_read, cache_write] } else { [None; 2] };
        let reasoning = beyond(self.total.get(), self.input.get(), self.output.get(), apart);
        let output = self.output.get().map(|it| it + reasoning.unwrap_or(0));
        let tokens = Tokens { input, output, cache_read, cache_write, cache_write_1h: None, reasoning };
        tokens.unless_all_zero()
    }
}

/// Whether a message is hidden from the user.
pub(super) fn is_hidden(metadata: &Maybe<Metadata>) -> bool {
    metadata.get().is_some_and(|it| it.user_visible.0 == Some(false))
}
