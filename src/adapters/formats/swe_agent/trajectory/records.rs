//! The records of SWE-agent.

use serde::Deserialize;

use crate::adapters::shared::chat_completions::ToolCall;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Maybe, Number, Text};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Document<'a> {
    /// The entries, parsed later, as the line of each is needed.
    #[serde(borrow)]
    pub(super) trajectory: Raw<'a>,
    #[serde(borrow)]
    pub(super) history: Raw<'a>,
    #[serde(borrow)]
    pub(super) info: Info<'a>,
    /// JSON as a string.
    #[serde(borrow)]
    pub(super) replay_config: Raw<'a>,
    #[serde(borrow)]
    pub(super) attempts: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Info<'a> {
    pub(super) model_stats: Maybe<ModelStats>,
    #[serde(borrow)]
    pub(super) exit_status: Text<'a>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct ModelStats {
    pub(super) instance_cost: Number,
    pub(super) tokens_sent: Count,
    pub(super) tokens_received: Count,
    pub(super) api_calls: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ReplayConfig<'a> {
    #[serde(borrow)]
    pub(super) agent: AgentConfig<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct AgentConfig<'a> {
    #[serde(borrow)]
    pub(super) model: ModelConfig<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ModelConfig<'a> {
    #[serde(borrow)]
    pub(super) name: Text<'a>,
}

/// An entry of `trajectory`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Step<'a> {
    #[serde(borrow)]
    pub(super) action: Raw<'a>,
    #[serde(borrow)]
    pub(super) observation: Raw<'a>,
    #[serde(borrow)]
    pub(super) response: Text<'a>,
    pub(super) execution_time: Number,
    /// An object, or JSON as a string.
    #[serde(borrow)]
    pub(super) state: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct State<'a> {
    #[serde(borrow)]
    pub(super) open_file: Text<'a>,
    #[serde(borrow)]
    pub(super) working_dir: Text<'a>,
}

/// An entry of `history`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub(super) role: Text<'a>,
    #[serde(borrow)]
    pub(super) content: Raw<'a>,
    #[serde(borrow)]
    pub(super) action: Text<'a>,
    /// An example of another run.
    pub(super) is_demo: Flag,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<ToolCall<'a>>>,
}
