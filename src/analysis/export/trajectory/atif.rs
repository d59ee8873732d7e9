//! The records of ATIF, the Agent Trajectory Interchange Format of Harbor, version 1.7.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// The version of the schema.
pub const VERSION: &str = "ATIF-v1.7";

/// The program whose conventions `metrics` follows.
pub const EXPORTED_BY: &str = concat!("agentlogs ", env!("CARGO_PKG_VERSION"));

/// Additional fields, without those of unknown value.
pub type Extra = BTreeMap<&'static str, Value>;

#[derive(Debug, Serialize)]
pub struct Agent {
    pub name: String,
    pub version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_name: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: Extra,
}

#[derive(Debug, Default, Serialize)]
pub struct Step {
    pub step_id: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    pub source: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
    pub message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<Call>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observation: Option<Observation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Metrics>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: Extra,
}

#[derive(Debug, Serialize)]
pub struct Call {
    pub tool_call_id: String,
    pub function_name: String,
    pub arguments: Value,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: Extra,
}

#[derive(Debug, Serialize)]
pub struct Observation {
    pub results: Vec<Outcome>,
}

#[derive(Debug, Serialize)]
pub struct Outcome {
    pub source_call_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subagent_trajectory_ref: Vec<Reference>,
    pub extra: Extra,
}

#[derive(Debug, Serialize)]
pub struct Reference {
    pub trajectory_id: String,
}

#[derive(Debug, Default, Serialize)]
pub struct Metrics {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_tokens: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: Extra,
}

#[derive(Debug, Default, Serialize)]
pub struct FinalMetrics {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_prompt_tokens: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_completion_tokens: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_cached_tokens: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_cost_usd: Option<f64>,
    pub total_steps: usize,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: Extra,
}

/// The pairs whose value is known.
pub fn extra<const N: usize>(pairs: [(&'static str, Value); N]) -> Extra {
    let is_empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    pairs.into_iter().filter(|(_, value)| !is_empty(value)).collect()
}
