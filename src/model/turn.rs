//! A billed response.

use serde::{Deserialize, Serialize};

use crate::base::known::Known;
use crate::base::text::{Shared, Word};
use crate::base::time::Time;
use crate::model::cost::Cost;
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
    pub message_id: Option<Shared>,
    /// The provider's id of the request.
    pub request_id: Option<Shared>,
    /// Name or type of the agent that sent the request.
    pub agent: Option<Word>,
    /// Id of that agent within the session.
    pub agent_id: Option<Word>,
    /// Whether that is not the main agent.
    pub is_subagent: bool,
    /// Provider, as logged.
    pub provider: Option<Word>,
    /// Model, as logged.
    pub model: Option<Word>,
    /// Reasoning effort or thinking level, as logged.
    pub effort: Option<Word>,
    /// When it was answered.
    pub occurred_at: Option<Time>,
    /// Duration, in milliseconds.
    pub duration_ms: Known<i64>,
    /// Why it stopped, in the runtime's words.
    pub stop_reason: Option<Word>,
    /// Service tier, as logged.
    pub service_tier: Option<Word>,
    /// Speed, as logged.
    pub speed: Option<Word>,
    /// Region, as logged: some cost more. The tables have no column for it.
    pub inference_geo: Option<Word>,
    /// Size of the model's context window.
    pub context_window: Known<i64>,
    /// Token counts.
    pub tokens: PackedTokens,
    /// Searches that the provider ran for it.
    pub web_searches: Known<i64>,
    /// Cost as logged, in US dollars.
    pub cost: Option<Box<Cost>>,
    /// Whether only the caller of its agent reports it: it is then the same as another turn with the same prompt.
    pub is_echo: bool,
    /// Whether its agent had earlier responses, as the caller reports.
    pub has_predecessors: bool,
    /// Whether the process was killed before it wrote a total: later totals do not contain the response.
    pub is_of_killed: bool,
}
