//! The results of both programs.

use serde::Deserialize;

use crate::adapters::shared::ids::hashed_id;
use crate::json::Raw;
use crate::json::fields::{Count, Maybe, Number, Pairs, Text, When};
use crate::model::errors::{ErrorKind, classify};

/// A trial of either program, or a run of terminal-bench.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Document<'a> {
    /// The trials of a run.
    pub(super) results: Raw<'a>,
    pub(super) id: Text<'a>,
    pub(super) uuid: Text<'a>,
    pub(super) trial_name: Text<'a>,
    // terminal-bench
    /// In Harbor an object.
    pub(super) task_id: Text<'a>,
    pub(super) is_resolved: Raw<'a>,
    pub(super) failure_mode: Text<'a>,
    pub(super) parser_results: Maybe<Pairs<'a, Text<'a>>>,
    pub(super) total_input_tokens: Count,
    pub(super) total_output_tokens: Count,
    pub(super) trial_started_at: When,
    pub(super) trial_ended_at: When,
    pub(super) agent_started_at: When,
    pub(super) agent_ended_at: When,
    pub(super) test_ended_at: When,
    // Harbor
    pub(super) task_name: Text<'a>,
    pub(super) agent_info: Maybe<AgentInfo<'a>>,
    pub(super) agent_result: Maybe<AgentResult<'a>>,
    pub(super) verifier_result: Maybe<VerifierResult<'a>>,
    pub(super) exception_info: Maybe<ExceptionInfo<'a>>,
    pub(super) started_at: When,
    pub(super) finished_at: When,
    pub(super) agent_execution: Maybe<Timing>,
    pub(super) verifier: Maybe<Timing>,
    /// Of a trial with several steps, which then has neither `agent_result` nor `agent_execution` of its own.
    pub(super) step_results: Raw<'a>,
    /// The dataset.
    pub(super) source: Text<'a>,
    pub(super) trial_uri: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct AgentInfo<'a> {
    pub(super) name: Text<'a>,
    pub(super) version: Text<'a>,
    pub(super) model_info: Maybe<ModelInfo<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct ModelInfo<'a> {
    pub(super) name: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct AgentResult<'a> {
    pub(super) n_input_tokens: Count,
    pub(super) n_cache_tokens: Count,
    pub(super) n_output_tokens: Count,
    pub(super) cost_usd: Number,
    /// Since 0.26.0: the same counts by model.
    pub(super) model_usage: Maybe<Pairs<'a, Maybe<ModelUsage>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ModelUsage {
    pub(super) n_input_tokens: Count,
    pub(super) n_cache_tokens: Count,
    pub(super) n_output_tokens: Count,
    pub(super) cost_usd: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct VerifierResult<'a> {
    pub(super) rewards: Maybe<Pairs<'a, Number>>,
    /// In earlier versions.
    pub(super) reward: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct ExceptionInfo<'a> {
    pub(super) exception_type: Text<'a>,
    pub(super) exception_message: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Timing {
    pub(super) started_at: When,
    pub(super) finished_at: When,
}

/// The result of a step.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Step<'a> {
    pub(super) step_name: Text<'a>,
    pub(super) agent_result: Maybe<AgentResult<'a>>,
    pub(super) verifier_result: Maybe<VerifierResult<'a>>,
    pub(super) exception_info: Maybe<ExceptionInfo<'a>>,
    pub(super) agent_execution: Maybe<Timing>,
    pub(super) verifier: Maybe<Timing>,
}

impl Document<'_> {
    /// The id of the trial; without one, a hash of its names.
    pub(super) fn id(&self, task: &str) -> String {
        let names = || hashed_id(format!("{task} {}", self.trial_name.as_str()).as_bytes());
        self.id.owned().or_else(|| self.uuid.owned()).unwrap_or_else(names)
    }
}

/// The labels that have a value.
pub(super) fn labels<const N: usize>(of: [(&'static str, Option<&str>); N]) -> Vec<(&'static str, String)> {
    of.into_iter().filter_map(|(key, value)| Some((key, value?.to_owned()))).collect()
}

/// The kind of an error by the name of its class, as `AgentTimeoutError` and `agent_timeout`.
pub(super) fn kind_of(words: &str) -> ErrorKind {
    let lower = words.to_ascii_lowercase();
    if lower.contains("timeout") { ErrorKind::Timeout } else { classify(None, words) }
}
