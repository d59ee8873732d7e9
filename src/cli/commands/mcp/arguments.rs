//! The arguments of a call. What is wrong with them is an answer to the agent, which can correct it.

use agentlogs::analysis::reports::Scope;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::cli::commands::compare::cohort;
use crate::cli::settings::Settings;

/// The largest number of rows that a call can ask for.
pub(super) const MAX_ROWS: u32 = 10_000;

/// The arguments of a call by their names.
pub(super) type Arguments = Map<String, Value>;

/// The arguments of a tool.
///
/// # Errors
/// When one is unknown, missing or of another type.
pub(super) fn parsed<T: DeserializeOwned>(arguments: Arguments) -> anyhow::Result<T> {
    let arguments = arguments.into_iter().filter(|(_, value)| !value.is_null()).collect();
    Ok(serde_json::from_value(Value::Object(arguments))?)
}

/// The rows that filters such as `model=claude-*` and `since=7d` select.
///
/// # Errors
/// When one is not a filter.
pub(super) fn scope(filters: &[String], settings: &Settings) -> anyhow::Result<Scope> {
    cohort(filters, None, settings).map_err(anyhow::Error::msg)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoArguments {}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OfReport {
    pub name: String,
    #[serde(default)]
    pub by: Vec<String>,
    #[serde(default)]
    pub filters: Vec<String>,
    pub sort: Option<String>,
    pub limit: Option<u32>,
    #[serde(default)]
    pub wide: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OfQuery {
    pub sql: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OfSessions {
    #[serde(default)]
    pub filters: Vec<String>,
    pub sort: Option<String>,
    pub limit: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OfFailures {
    #[serde(default)]
    pub filters: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OfComparison {
    pub a: Vec<String>,
    pub b: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OfSession {
    pub session: Option<String>,
    pub runtime: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OfExplanation {
    pub session: String,
}
