//! A billed response.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::base::compact_option::CompactOption;
use crate::base::text::{SharedStr, Symbol};
use crate::base::time::Time;
use crate::model::cost::Cost;
use crate::model::id_hash::IdHash;
use crate::model::identity::Identity;
use crate::model::tokens::PackedTokens;

/// One billed response.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Turn {
    /// The line of its first record.
    pub line: i64,
    /// Equal in all copies of the response.
    pub identity: Identity,
    /// The provider's id of the response.
    pub message_id: Option<SharedStr>,
    /// The provider's id of the request.
    pub request_id: Option<SharedStr>,
    /// Name or type of the agent that sent the request.
    pub agent: Option<Symbol>,
    /// Id of that agent within the session.
    pub agent_id: Option<Symbol>,
    /// Whether that is not the main agent.
    pub is_subagent: bool,
    /// Provider, as logged.
    pub provider: Option<Symbol>,
    /// Model, as logged.
    pub model: Option<Symbol>,
    /// Reasoning effort or thinking level, as logged.
    pub effort: Option<Symbol>,
    /// When it was answered.
    pub occurred_at: Option<Time>,
    /// Duration, in milliseconds.
    pub duration_ms: CompactOption,
    /// Why it stopped, in the runtime's words.
    pub stop_reason: Option<Symbol>,
    /// Service tier, as logged.
    pub service_tier: Option<Symbol>,
    /// Speed, as logged.
    pub speed: Option<Symbol>,
    /// Region, as logged: some cost more. The tables have no column for it.
    pub inference_geo: Option<Symbol>,
    /// Size of the model's context window.
    pub context_window: CompactOption,
    /// Token counts.
    pub tokens: PackedTokens,
    /// Searches that the provider ran for it.
    pub web_searches: CompactOption,
    /// Cost as logged, in US dollars.
    pub cost: Option<Box<Cost>>,
    /// Whether only the caller of its agent reports it: it is then the same as another turn with the same prompt.
    pub is_echo: bool,
    /// Whether its agent had earlier responses, as the caller reports.
    pub has_predecessors: bool,
    /// Whether the process was killed before it wrote a total, or was not recorded: no total contains the response.
    pub is_of_killed: bool,
    /// Milliseconds from the prompt or the last result that the request takes up to the end of the response. Equal times are those of a
    /// copy, so that it is never 0.
    pub latency_ms: Option<NonZeroU32>,
    /// What is known of few responses.
    pub details: Option<Box<Details>>,
}

impl Turn {
    /// What is known of few responses, to be filled in.
    pub fn details_mut(&mut self) -> &mut Details {
        self.details.get_or_insert_default()
    }
}

/// What is known of few responses: what the request was for, as the log states it, else by the rule of docs/accounting.md#attribution;
/// why its prompt was not in the cache; and what identifies it besides its identity.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Details {
    /// The skill in effect.
    pub skill: Option<Symbol>,
    /// The plugin that provides the skill or the agent.
    pub plugin: Option<Symbol>,
    /// The type of the subagent.
    pub agent_type: Option<Symbol>,
    /// The slash command that started the work, without its slash.
    pub command: Option<Symbol>,
    /// Why the provider did not find the prompt in its cache, in its words.
    pub cache_miss_reason: Option<Symbol>,
    /// A second name of the response, by its record: equal in copies of the record in other sessions. Only of responses whose identity
    /// is unique within a thread.
    pub record: Option<IdHash>,
    /// Whether it is a part of another response, as the answer of an advisor.
    pub is_part: bool,
}

impl Details {
    /// Fills in what is unknown so far.
    pub fn fill(&mut self, other: Self) {
        let Self { skill, plugin, agent_type, command, cache_miss_reason, record, is_part } = other;
        // A plugin belongs to its skill or agent.
        if self.skill.is_none() && self.plugin.is_none() {
            self.plugin = plugin;
        }
        self.skill = self.skill.take().or(skill);
        self.agent_type = self.agent_type.take().or(agent_type);
        self.command = self.command.take().or(command);
        self.cache_miss_reason = self.cache_miss_reason.take().or(cache_miss_reason);
        self.record = self.record.or(record);
        self.is_part |= is_part;
    }
}
