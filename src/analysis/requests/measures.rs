//! `report requests`: its measures over groups of requests. docs/behavior.md#requests defines them.

use polars::prelude::*;

use super::frame::REQUEST_COST_USD;
use crate::analysis::rows::measure::{
    Measure, derived, max, measure, median, not_zero, percentile_90, ratio, rows, sum,
};
use crate::analysis::rows::{SESSION_KEY, known_sum};
use crate::store::frames::turns;

/// The measures.
pub(in crate::analysis) const MEASURES: &[Measure] = &[
    rows("requests", "Prompts with the responses to them"),
    measure("sessions", "Sessions with such requests", || col(SESSION_KEY).n_unique().cast(DataType::Int64)).wide(),
    derived("requests_per_session", "requests / sessions", || ratio("requests", "sessions")).wide(),
    sum("answered", "Requests whose last response is an answer: it made no call").wide(),
    derived("answered_rate", "answered / requests", || ratio("answered", "requests")).wide(),
    median("p50_steps", "Median number of responses of the main agent", "steps"),
    percentile_90("p90_steps", "90th percentile", "steps"),
    max("max_steps", "Maximum", "steps").wide(),
    sum("subagent_turns", "Responses of subagents").wide(),
    median("p50_calls", "Median number of tool calls", "calls").wide(),
    percentile_90("p90_calls", "90th percentile", "calls").wide(),
    max("max_calls", "Maximum", "calls").wide(),
    median("p50_duration_ms", "Median time from the prompt to the end of the last response", "request_duration_ms"),
    percentile_90("p90_duration_ms", "90th percentile", "request_duration_ms").wide(),
    max("max_duration_ms", "Maximum", "request_duration_ms").wide(),
    median("p50_tokens", "Median number of tokens", "tokens").wide(),
    percentile_90("p90_tokens", "90th percentile", "tokens").wide(),
    max("max_tokens", "Maximum", "tokens").wide(),
    measure(turns::COST_USD, "US dollars of the requests, by the choice of --cost", || known_sum(REQUEST_COST_USD))
        .wide(),
    median("p50_cost_usd", "Median cost of a request", REQUEST_COST_USD),
    percentile_90("p90_cost_usd", "90th percentile", REQUEST_COST_USD).wide(),
    max("max_cost_usd", "Maximum", REQUEST_COST_USD).wide(),
    measure("edited", "Requests in which a call changed files", || col("edits").gt(lit(0)).sum().cast(DataType::Int64))
        .wide(),
    measure("edited_rate", "Share of these among requests whose edits are known", || {
        let known = col("edits").count().cast(DataType::Float64);
        col("edits").gt(lit(0)).sum().cast(DataType::Float64) / not_zero(known)
    })
    .wide(),
    percentile_90("p90_edits", "90th percentile of the number of edits", "edits").wide(),
];
