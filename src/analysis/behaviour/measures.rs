//! `report behavior`: its measures over groups of sessions. docs/behavior.md defines them.

use polars::prelude::*;

use crate::analysis::rows::measure::{
    Measure, derived, float, max, measure, median, not_zero, percentile_90, ratio, rows, sum,
};
use crate::analysis::rows::{known_sum, sum_where};
use crate::store::frames::sessions;

/// The measures.
pub(in crate::analysis) const MEASURES: &[Measure] = &[
    rows("sessions", "Sessions"),
    sum(sessions::TOOL_CALLS, "Tool calls").wide(),
    sum("explore_calls", "Calls that read, search or fetch").wide(),
    sum("edit_calls", "Calls that change files").wide(),
    sum("verify_calls", "Calls that run tests, build or lint").wide(),
    measure("explore_share", "Share of the calls of known purpose that read, search or fetch", || {
        share_of("explore_calls")
    }),
    measure("edit_share", "Share that changes files", || share_of("edit_calls")),
    measure("verify_share", "Share that runs tests, builds or lints", || share_of("verify_calls")),
    sum("edited_sessions", "Sessions in which a call changed files").wide(),
    median("p50_turns_before_edit", "Median number of responses before the first edit", "turns_before_edit").wide(),
    percentile_90("p90_turns_before_edit", "90th percentile", "turns_before_edit").wide(),
    median("p50_time_before_edit_ms", "Median time from the start to the first edit", "time_before_edit_ms").wide(),
    percentile_90("p90_time_before_edit_ms", "90th percentile", "time_before_edit_ms").wide(),
    median("p50_tokens_before_edit", "Median number of tokens before the first edit", "tokens_before_edit").wide(),
    percentile_90("p90_tokens_before_edit", "90th percentile", "tokens_before_edit").wide(),
    sum("file_edits", "Changes of files other than deletions").wide(),
    sum("edited_files", "Files that were edited, per session").wide(),
    derived("edits_per_file", "file_edits / edited_files", || ratio("file_edits", "edited_files")).wide(),
    sum("files_edited_often", "Files that one session edited three times or more").wide(),
    sum("known_lines_added", "Lines added to files of which all changed lines are known").wide(),
    sum("lines_removed_again", "The most of these lines that the same session can have removed again").wide(),
    derived("removed_again_rate", "lines_removed_again / known_lines_added", || {
        ratio("lines_removed_again", "known_lines_added")
    })
    .wide(),
    sum("repeated_calls", "Calls equal to an earlier one of the session, without an edit in between").wide(),
    max("longest_error_run", "The most calls of a session that failed one after the other", "longest_error_run").wide(),
    sum("test_runs", "Calls that ran tests").wide(),
    measure("failed_test_runs", "Calls that ran tests and failed, by their status or their result", || {
        let known = sum_where("test_runs", col("failed_test_runs").is_not_null());
        let is_unknown = known.eq(lit(0)).and(col("test_runs").sum().gt(lit(0)));
        when(is_unknown).then(lit(NULL)).otherwise(known_sum("failed_test_runs"))
    })
    .wide(),
    sum("verified_sessions", "Sessions with a test, build or linter after the last edit").wide(),
    measure("verified_rate", "Share of these among sessions with edits", || col("verified_sessions").mean()),
    median("p50_end_context_tokens", "Median size of the last prompt of the main agent", "end_context_tokens").wide(),
    percentile_90("p90_end_context_tokens", "90th percentile", "end_context_tokens").wide(),
    measure("context_growth_per_turn", "Mean tokens by which the context grew from one response to the next", || {
        float_sum("context_growth") / not_zero(col("context_steps").sum())
    })
    .wide(),
    sum(sessions::COMPACTIONS, "Compactions of the context").wide(),
    sum("appended_tokens", "Tokens of prompts that no cache had, after the first prompt of each agent").wide(),
    sum("fresh_tokens", "Tokens of these prompts that are new: neither sent before, nor the response before").wide(),
    derived("prefill_amplification", "appended_tokens / fresh_tokens", || {
        let fresh = || col("fresh_tokens");
        float("appended_tokens") / when(fresh().gt(lit(0))).then(fresh()).otherwise(lit(NULL))
    })
    .wide(),
    measure(
        "hit_rate_within_5min",
        "Share of prompts read from a cache, up to 5 minutes after the response before",
        || hit_rate("within_5min"),
    )
    .wide(),
    measure("hit_rate_within_1h", "The same, 5 to 60 minutes after it", || hit_rate("within_1h")).wide(),
    measure("hit_rate_after_1h", "The same, later", || hit_rate("after_1h")).wide(),
    measure("long_call_time_share", "Share of the time of calls in those of a minute or more", || {
        float_sum("long_calls_ms") / not_zero(col("all_calls_ms").sum())
    })
    .wide(),
    sum("model_time_ms", "Time until the model answered").wide(),
    sum("tool_time_ms", "Time in tools").wide(),
    sum("waiting_time_ms", "Time until the next prompt of a human").wide(),
    derived("model_time_share", "model_time_ms / the sum of the three", || time_share("model_time_ms")).wide(),
    derived("tool_time_share", "tool_time_ms / the sum of the three", || time_share("tool_time_ms")).wide(),
    derived("waiting_time_share", "waiting_time_ms / the sum of the three", || time_share("waiting_time_ms")).wide(),
];

fn float_sum(column: &str) -> Expr {
    col(column).sum().cast(DataType::Float64)
}

/// The share of the prompts after pauses of this range that was read from a cache.
fn hit_rate(range: &str) -> Expr {
    float_sum(&format!("cached_tokens_{range}")) / not_zero(col(format!("prompt_tokens_{range}")).sum())
}

/// The share of calls of known purpose.
fn share_of(column: &str) -> Expr {
    float_sum(column) / not_zero(col("known_calls").sum())
}

fn time_share(column: &str) -> Expr {
    float(column) / not_zero(col("model_time_ms") + col("tool_time_ms") + col("waiting_time_ms"))
}
