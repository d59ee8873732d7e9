//! The records of SWE-agent.

use serde::Deserialize;

use crate::adapters::shared::chat_completions::ToolCall;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Maybe, Number, Text};

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Document<'a> {
    /// The entries, parsed later, as the line of each is needed.
    pub(super) trajectory: Raw<'a>,
    pub(super) history: Raw<'a>,
    pub(super) info: Info<'a>,
    /// JSON as a string.
    pub(super) replay_config: Raw<'a>,
    pub(super) attempts: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Info<'a> {
    pub(super) model_stats: Maybe<ModelStats>,
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
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct ReplayConfig<'a> {
    pub(super) agent: AgentConfig<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct AgentConfig<'a> {
    pub(super) model: ModelConfig<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct ModelConfig<'a> {
    pub(super) name: Text<'a>,
}

/// An entry of `trajectory`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Step<'a> {
    pub(super) action: Raw<'a>,
    pub(super) observation: Raw<'a>,
    pub(super) response: Text<'a>,
    pub(super) execution_time: Number,
    /// An object, or JSON as a string.
    pub(super) state: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct State<'a> {
    pub(super) open_file: Text<'a>,
    pub(super) working_dir: Text<'a>,
}

/// The arguments of a call that writes a file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Written<'a> {
    pub(super) file_text: Text<'a>,
}

/// An entry of `history`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Message<'a> {
    pub(super) role: Text<'a>,
    pub(super) content: Raw<'a>,
    pub(super) action: Text<'a>,
    /// An example of another run.
    pub(super) is_demo: Flag,
    pub(super) tool_calls: Option<Vec<ToolCall<'a>>>,
}
