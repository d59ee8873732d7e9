//! The counts of a response or of a model, in messages of chats and in the stats of a run.

use serde::Deserialize;

use crate::adapters::engine::RecordErrors;
use crate::adapters::shared::usage::{Included, thoughts_beside, uncached};
use crate::json::fields::Count;
use crate::model::session::Tokens;

/// The counts as messages name them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Counts {
    pub(super) input: Count,
    pub(super) output: Count,
    pub(super) cached: Count,
    pub(super) thoughts: Count,
    pub(super) tool: Count,
    pub(super) total: Count,
}

impl Counts {
    /// The disjoint tokens.
    pub(super) fn tokens(&self, damage: &mut RecordErrors) -> Tokens {
        damage.note_impossible(&[self.input, self.output, self.cached, self.thoughts, self.tool]);
        let (cached, thoughts) = (self.cached.get(), self.thoughts.get());
        // With other providers, Qwen Code logs their counts, whose output includes the thoughts.
        let [input, output, tool, total] = [self.input, self.output, self.tool, self.total].map(Count::get);
        let beside = thoughts_beside(thoughts, total, input, output, tool);
        Tokens {
            input: uncached(Included::Always, input, cached, None).map(|it| it + tool.unwrap_or(0)),
            output: output.map(|it| it + beside.unwrap_or(0)),
            cache_read: cached,
            reasoning: thoughts,
            ..Tokens::UNKNOWN
        }
    }
}
