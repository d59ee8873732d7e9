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
    /// When its last record was logged, if the log shows the end of a response apart from `occurred_at`: that may be the time of the first
    /// record of several, or of a count that follows the results of calls. `latency_ms` is up to this time.
    pub ended_at: Option<Time>,
}

impl Turn {
    /// A record, or a copy, of the response that ends at `ended_at`: the latest end counts. `latency_ms` is up to that end; if it is not
    /// known, a known latency grows with the end.
    pub fn end_at(&mut self, ended_at: Option<Time>, latency_ms: Option<NonZeroU32>) {
        let grown = |latency: Option<NonZeroU32>, from: Option<Time>, to: Option<Time>| {
            latency?.checked_add(u32::try_from(to?.since(from?)).ok()?)
        };
        self.latency_ms = if ended_at > self.ended_at {
            latency_ms.or_else(|| grown(self.latency_ms, self.ended_at, ended_at))
        } else {
            self.latency_ms.or_else(|| grown(latency_ms, ended_at, self.ended_at)).or(latency_ms)
        };
        self.ended_at = self.ended_at.max(ended_at);
    }

    /// Takes the times of a copy.
    pub fn time_as(&mut self, copy: &Self) {
        (self.occurred_at, self.ended_at) = (copy.occurred_at, copy.ended_at);
        self.latency_ms = copy.latency_ms.or(self.latency_ms);
    }

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
    /// A second name of the response, by its record: equal in copies of the record in other sessions, and in other states of the log. Only
    /// of responses whose identity is unique within a thread or a session, and of those that have this name as their identity.
    pub record: Option<IdHash>,
    /// Whether it is a part of another response, as the answer of an advisor.
    pub is_part: bool,
    /// A name of the response of a review: equal in the log of the reviewer and in that of the thread which started it.
    pub review: Option<IdHash>,
}

impl Details {
    /// The names of the response besides its identity.
    pub fn names(&self) -> impl Iterator<Item = IdHash> {
        self.record.into_iter().chain(self.review)
    }

    /// Fills in what is unknown so far.
    pub fn fill(&mut self, other: Self) {
        let Self { skill, plugin, agent_type, command, cache_miss_reason, record, is_part, review } = other;
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
        self.review = self.review.or(review);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records of a response, and copies of it that were cut, in any order.
    #[test]
    fn the_latest_end_counts() {
        let record = |second: Option<i64>, latency| {
            (second.map(|it| Time::from_micros(it * 1_000_000)), NonZeroU32::new(latency))
        };
        let ended = |records: &[(Option<i64>, u32)]| {
            let mut turn = Turn::default();
            for (second, latency) in records {
                let (ended_at, latency_ms) = record(*second, *latency);
                turn.end_at(ended_at, latency_ms);
            }
            (turn.ended_at.map(|it| it.micros() / 1_000_000), turn.latency_ms.map(NonZeroU32::get))
        };
        let complete = (Some(40), Some(40_000));
        assert_eq!(ended(&[(Some(10), 10_000), (Some(40), 40_000)]), complete);
        assert_eq!(ended(&[(Some(40), 40_000), (Some(10), 10_000)]), complete);
        assert_eq!(ended(&[(Some(10), 10_000), (Some(40), 0)]), complete, "a copy without the prompt");
        assert_eq!(ended(&[(Some(40), 0), (Some(10), 10_000)]), complete);
        assert_eq!(ended(&[(Some(40), 0), (Some(40), 40_000), (None, 0)]), complete);
        assert_eq!(ended(&[(None, 0), (Some(40), 0)]), (Some(40), None));
        assert_eq!(ended(&[(None, 7), (None, 0)]), (None, Some(7)));
    }
}
