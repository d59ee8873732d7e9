//! `report agents`: its measures over groups of runs. docs/behavior.md#agents defines them.

use polars::prelude::*;

use super::frame::RUN_COST_USD;
use crate::analysis::rows::measure::{
    Measure, derived, float, measure, median, not_zero, percentile_90, ratio, rows, sum,
};
use crate::analysis::rows::{SESSION_KEY, known_sum};
use crate::store::frames::{sessions, tool_calls, turns};

/// The measures.
pub(in crate::analysis) const MEASURES: &[Measure] = &[
    measure(turns::COST_USD, "US dollars of the runs, by the choice of --cost", || known_sum(RUN_COST_USD)),
    derived("share", "Share of the cost of all subagents", || {
        float(turns::COST_USD) / not_zero(col(turns::COST_USD).sum())
    })
    .wide(),
    rows("runs", "Runs of subagents: in the log of a session, or a session that another one started"),
    measure("sessions", "Sessions that contain them", || col(SESSION_KEY).n_unique().cast(DataType::Int64)).wide(),
    median("p50_cost_usd", "Median cost of a run", RUN_COST_USD),
    percentile_90("p90_cost_usd", "90th percentile", RUN_COST_USD).wide(),
    measure(sessions::TURNS, "Responses", || known_sum("run_turns")),
    measure(sessions::TOOL_CALLS, "Tool calls", || col("run_calls").sum()).wide(),
    measure(turns::TOTAL_TOKENS, "Tokens", || known_sum("run_tokens")).wide(),
    sum(tool_calls::RESULT_BYTES, "Bytes of the results of the calls that started them: what they returned"),
    median("p50_result_bytes", "Median of these bytes", tool_calls::RESULT_BYTES).wide(),
    measure("known_results", "Runs of which the log shows the result", || {
        col(tool_calls::RESULT_BYTES).count().cast(DataType::Int64)
    })
    .wide(),
    sum("reads", "Calls that read a file").wide(),
    sum("repeated_reads", "Those of files that the agent which started the run had read before").wide(),
    derived("repeated_read_rate", "repeated_reads / reads", || ratio("repeated_reads", "reads")),
];
