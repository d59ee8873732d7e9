//! `report skills`: its measures over groups of sessions and skills. docs/reports.md#skills defines them.

use polars::prelude::*;

use super::frame::{
    ALL_FAILED, ALL_PASSED, CALLS_WITH_RESULT, FAILED_CALLS, LOAD_BYTES, LOADS, OFFERED_COST_USD, OFFERED_TOKENS,
    OFFERS, USED_CALLS, USED_COST_USD, USED_TOKENS, USED_TURNS, trials_with,
};
use crate::analysis::outcomes::{Interval, wilson_of};
use crate::analysis::rows::measure::{Measure, derived, float, measure, not_zero, sum};
use crate::analysis::rows::{distinct_sessions, known_sum, whole};
use crate::store::frames::{sessions, turns};

/// The pass rate of trials with the skill.
pub(in crate::analysis) const PASS_RATE_WITH: &str = "pass_rate_with";

/// That of the others.
pub(in crate::analysis) const PASS_RATE_WITHOUT: &str = "pass_rate_without";

/// The measures.
pub(in crate::analysis) const MEASURES: &[Measure] = &[
    measure(turns::COST_USD, "US dollars of the responses for which it was in effect", || known_sum(USED_COST_USD)),
    derived("share", "Share of the cost of all rows", || float(turns::COST_USD) / not_zero(col(turns::COST_USD).sum())),
    measure("sessions", "Sessions that loaded or used it", || distinct_sessions(is_used())),
    measure("loaded_sessions", "Sessions with a call that loaded it", || distinct_sessions(col(LOADS).gt(lit(0))))
        .wide(),
    measure("used_sessions", "Sessions with responses or calls for which it was in effect", || {
        distinct_sessions(col(USED_TURNS).gt(lit(0)).or(col(USED_CALLS).gt(lit(0))))
    })
    .wide(),
    sum(LOADS, "Calls that loaded it: of a tool for skills, or a read of its SKILL.md"),
    sum(LOAD_BYTES, "Bytes of their results, which the context carries from then on").wide(),
    measure(sessions::TURNS, "Responses for which it was in effect", || known_sum(USED_TURNS)),
    measure(turns::TOTAL_TOKENS, "Their tokens", || known_sum(USED_TOKENS)).wide(),
    measure(sessions::TOOL_CALLS, "Calls that these responses made; of a server its own", || known_sum(USED_CALLS)),
    measure(sessions::TOOL_ERRORS, "Those that failed", || known_sum(FAILED_CALLS)).wide(),
    measure("error_rate", "tool_errors / tool_calls with a result in the log", || {
        let failed = known_sum(FAILED_CALLS).cast(DataType::Float64);
        failed / not_zero(known_sum(CALLS_WITH_RESULT))
    }),
    measure("offered_sessions", "Sessions whose log lists it among what the model can use", || {
        distinct_sessions(col(OFFERS).gt(lit(0)))
    })
    .wide(),
    measure("cost_per_session_usd", "cost_usd / sessions with a known cost", || {
        let sessions = distinct_sessions(col(USED_COST_USD).is_not_null()).cast(DataType::Float64);
        known_sum(USED_COST_USD) / not_zero(sessions)
    })
    .wide(),
    measure(OFFERED_TOKENS, "Estimated tokens of its part of the lists of skills", || whole(known_sum(OFFERED_TOKENS)))
        .wide(),
    measure(OFFERED_COST_USD, "Estimated cost of these tokens, which are in the context of each response", || {
        known_sum(OFFERED_COST_USD)
    })
    .wide(),
    measure("passed_with", "Trials with it that passed", || trials_with(is_used(), true)).wide(),
    measure("failed_with", "Trials with it that did not", || trials_with(is_used(), false)).wide(),
    derived(PASS_RATE_WITH, "passed_with / (passed_with + failed_with)", || rate("passed_with", "failed_with")).wide(),
    derived("pass_rate_with_low", "Lower end of its 95 % interval (Wilson)", || {
        wilson_of("passed_with", "failed_with", Interval::Low)
    })
    .wide(),
    derived("pass_rate_with_high", "Upper end of the interval", || {
        wilson_of("passed_with", "failed_with", Interval::High)
    })
    .wide(),
    measure("all_passed", "Trials of the sessions in scope that passed, with it or without", || col(ALL_PASSED).max())
        .wide(),
    measure("all_failed", "Those that did not", || col(ALL_FAILED).max()).wide(),
    derived("passed_without", "all_passed - passed_with", || col("all_passed") - col("passed_with")).wide(),
    derived("failed_without", "all_failed - failed_with", || col("all_failed") - col("failed_with")).wide(),
    derived(PASS_RATE_WITHOUT, "The pass rate of the trials without it: a comparison, not an experiment", || {
        rate("passed_without", "failed_without")
    })
    .wide(),
    derived("pass_rate_without_low", "Lower end of its 95 % interval (Wilson)", || {
        wilson_of("passed_without", "failed_without", Interval::Low)
    })
    .wide(),
    derived("pass_rate_without_high", "Upper end of the interval", || {
        wilson_of("passed_without", "failed_without", Interval::High)
    })
    .wide(),
];

/// Whether a session loaded or used it. Totals of sessions count, too.
fn is_used() -> Expr {
    [USED_TURNS, USED_CALLS, LOADS].map(|name| col(name).is_not_null()).into_iter().fold(lit(false), Expr::or)
}

fn rate(passed: &str, failed: &str) -> Expr {
    float(passed) / not_zero(col(passed) + col(failed))
}
