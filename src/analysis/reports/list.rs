//! All reports, with their rows and measures.

use polars::prelude::*;

use super::formulas::{
    cache_hit_rate, cost_per_clean_end, cost_per_session, cost_per_turn, error_rate, has_ended_cleanly,
    of_worst_session, share_of, sum_of_comparable,
};
use super::health::Health;
use super::limits::Limits;
use super::own_rows::{Errors, LOGGED_AT, Reconcile};
use super::spec::{Body, Groups, Report};
use super::trends::Trends;
use crate::analysis::agents::{self, Agents};
use crate::analysis::behaviour::{self, Behaviour};
use crate::analysis::failures::{self, Failures};
use crate::analysis::integrity;
use crate::analysis::outcomes::{self, Outcomes};
use crate::analysis::requests::{self, Requests};
use crate::analysis::rows::measure::{
    Formula, Measure, derived, example, float, max, measure, median, new, not_zero, percentile_90, percentile_95,
    ratio, rows, sum,
};
use crate::analysis::rows::{
    IS_UNPRICED, SESSION_KEY, Sessions, Table, Where, distinct_sessions, failed_calls, known_sum, responses, sum_where,
};
use crate::analysis::shipped::{self, Shipped};
use crate::analysis::skills::{self, Skills};
use crate::analysis::waste::{self, Waste};
use crate::store::frames::{events, file_changes, sessions, tool_calls, turns};

/// All reports, in the order in which the help lists them.
pub static REPORTS: &[Report] = &[
    Report {
        name: "cost",
        about: "Cost and tokens",
        body: Body::Groups(Groups {
            rows: &Table(turns::TABLE),
            by: &["model"],
            measures: &[
                sum(turns::COST_USD, "US dollars, by the choice of --cost"),
                sum("as_model_usd", "US dollars of the same tokens at the prices of --price-as").of_price_as(),
                sum("change_usd", "as_model_usd - cost_usd, over rows with both").of_price_as(),
                sum("uncached_usd", "The same, with cached tokens at the price of input").of_price_as(),
                measure("as_model_unpriced_tokens", "Tokens of rows with unknown input or output", || {
                    col("as_model_unpriced_tokens").sum()
                })
                .of_price_as()
                .wide(),
                SHARE_OF_COST,
                sum(turns::TOTAL_TOKENS, "Input, output, cache read and cache write"),
                sum(turns::INPUT_TOKENS, "Prompt tokens that were not cached").wide(),
                sum(turns::OUTPUT_TOKENS, "Generated tokens").wide(),
                sum(turns::CACHE_READ_TOKENS, "Prompt tokens read from a cache").wide(),
                sum(turns::CACHE_WRITE_TOKENS, "Prompt tokens written to a cache").wide(),
                UNPRICED,
                CACHE_HIT_RATE.wide(),
                SESSIONS_WITH_RESPONSES.wide(),
                TURNS.wide(),
                measure("cost_per_session_usd", "cost_usd / sessions with a known cost", cost_per_session)
                    .wide(),
                measure("cost_per_turn_usd", "cost_usd / turns, without turns with unpriced_tokens", cost_per_turn).wide(),
                CLEAN_ENDS.wide(),
                measure(
                    "cost_per_clean_end_usd",
                    "Cost of sessions with a known end / those of ended_cleanly with a known cost: failures are included",
                    cost_per_clean_end,
                )
                .of_session()
                .wide(),
                COST_PER_PASSED.wide(),
                part(turns::INPUT_COST_USD),
                part(turns::OUTPUT_COST_USD),
                part(turns::CACHE_READ_COST_USD),
                part(turns::CACHE_WRITE_COST_USD),
                part(turns::WEB_SEARCH_COST_USD),
            ],
            top: None,
        }),
    },
    Report {
        name: "tokens",
        about: "Tokens by kind",
        body: Body::Groups(Groups {
            rows: &Table(turns::TABLE),
            by: &["model"],
            measures: &[
                sum(turns::TOTAL_TOKENS, "Input, output, cache read and cache write"),
                SHARE_OF_TOKENS.wide(),
                sum(turns::INPUT_TOKENS, "Prompt tokens that were not cached"),
                sum(turns::OUTPUT_TOKENS, "Generated tokens, reasoning included"),
                sum(turns::REASONING_TOKENS, "The part of output_tokens that is reasoning").wide(),
                sum(turns::CACHE_READ_TOKENS, "Prompt tokens read from a cache"),
                sum(turns::CACHE_WRITE_TOKENS, "Prompt tokens written to a cache").wide(),
                sum(turns::CACHE_WRITE_1H_TOKENS, "The part of cache_write_tokens kept for an hour").wide(),
                CACHE_HIT_RATE.wide(),
                TURNS.wide(),
                SESSIONS_WITH_RESPONSES.wide(),
            ],
            top: None,
        }),
    },
    Report {
        name: "tools",
        about: "Tool calls: number, duration, failures",
        body: Body::Groups(Groups {
            rows: &Table(tool_calls::TABLE),
            by: &["tool"],
            measures: &[
                rows("calls", "Number of calls"),
                derived("share", "Share of all calls", || share_of("calls")).wide(),
                measure("errors", "Calls that failed; unknown if no call has a result in the log", failed_calls),
                measure("error_rate", "errors / calls with a result in the log", error_rate),
                with_status("denied", "Calls that were not permitted", "denied"),
                with_status("incomplete", "Calls without a result in the log", "incomplete").wide(),
                with_status(
                    "cancelled",
                    "Calls that never ran: another call failed, or the user interrupted",
                    "cancelled",
                )
                .wide(),
                median("p50_duration_ms", "Median duration", tool_calls::DURATION_MS),
                percentile_90("p90_duration_ms", "90th percentile", tool_calls::DURATION_MS),
                sum(tool_calls::DURATION_MS, "Sum of the durations").wide(),
                sum(tool_calls::ARGS_BYTES, "Bytes of the arguments").wide(),
                sum(tool_calls::RESULT_BYTES, "Bytes of the results").wide(),
                percentile_90(
                    "p90_result_bytes",
                    "90th percentile of the bytes of the result",
                    tool_calls::RESULT_BYTES,
                )
                .wide(),
                SESSIONS.wide(),
            ],
            top: None,
        }),
    },
    Report {
        name: "turns",
        about: "Size, duration and cost of single responses",
        body: Body::Groups(Groups {
            rows: &Where(turns::TABLE, || col(turns::GRAIN).eq(lit("turn"))),
            by: &["model"],
            measures: &[
                rows("turns", "Responses"),
                SESSIONS_WITH_RESPONSES.wide(),
                derived("turns_per_session", "turns / sessions", || ratio("turns", "sessions")).wide(),
                measure("subagent_turns", "Responses to subagents", || {
                    col(turns::IS_SUBAGENT).sum().cast(DataType::Int64)
                })
                .wide(),
                median("p50_context_tokens", "Median size of the prompt", turns::CONTEXT_TOKENS),
                percentile_90("p90_context_tokens", "90th percentile of the size of the prompt", turns::CONTEXT_TOKENS)
                    .wide(),
                max("max_context_tokens", "The largest prompt", turns::CONTEXT_TOKENS).wide(),
                median("p50_output_tokens", "Median length of the response", turns::OUTPUT_TOKENS).wide(),
                percentile_90("p90_output_tokens", "90th percentile", turns::OUTPUT_TOKENS).wide(),
                median(
                    "p50_latency_ms",
                    "Median time from the prompt or the last result to the response's end",
                    turns::LATENCY_MS,
                ),
                percentile_90("p90_latency_ms", "90th percentile of this time", turns::LATENCY_MS).wide(),
                percentile_95("p95_latency_ms", "95th percentile of this time", turns::LATENCY_MS).wide(),
                median("p50_duration_ms", "Median duration, as logged", turns::DURATION_MS).wide(),
                percentile_90("p90_duration_ms", "90th percentile of the duration", turns::DURATION_MS).wide(),
                median("p50_cost_usd", "Median cost", turns::COST_USD),
                percentile_90("p90_cost_usd", "90th percentile of the cost", turns::COST_USD).wide(),
                max("max_cost_usd", "Maximum cost", turns::COST_USD).wide(),
                sum(turns::TOOL_CALLS, "Tool calls that the responses contain").wide(),
            ],
            top: None,
        }),
    },
    Report {
        name: "sessions",
        about: "Sessions: outcome, length, cost",
        body: Body::Groups(Groups {
            rows: &Sessions,
            by: &["runtime"],
            measures: &[
                rows("sessions", "Sessions"),
                with_status(
                    "ended_cleanly",
                    "Sessions with status success: whether the task is solved is in verdicts",
                    "success",
                )
                .wide(),
                with_status("error", "Sessions that failed", "error").wide(),
                with_status("aborted", "Sessions that the user stopped", "aborted").wide(),
                with_status("incomplete", "Sessions whose log has no end", "incomplete").wide(),
                with_status("unknown", "Sessions whose log does not contain the outcome", "unknown").wide(),
                derived("ended_cleanly_rate", "ended_cleanly / sessions with known status", || {
                    float("ended_cleanly") / not_zero(col(SESSIONS.name) - col("unknown"))
                }),
                median("p50_turns", "Median number of turns", "turns"),
                percentile_90("p90_turns", "90th percentile of the number of turns", "turns").wide(),
                max("max_turns", "Maximum number of turns", "turns").wide(),
                median("p50_duration_ms", "Median duration", sessions::DURATION_MS),
                percentile_90("p90_duration_ms", "90th percentile of the duration", sessions::DURATION_MS).wide(),
                max("max_duration_ms", "Maximum duration", sessions::DURATION_MS).wide(),
                median("p50_cost_usd", "Median cost", sessions::COST_USD).wide(),
                percentile_90("p90_cost_usd", "90th percentile of the cost", sessions::COST_USD).wide(),
                max("max_cost_usd", "Maximum cost", sessions::COST_USD).wide(),
                sum(sessions::COST_USD, "US dollars, by the choice of --cost"),
                COST_PER_PASSED.wide(),
                sum(sessions::TOTAL_TOKENS, "Tokens").wide(),
                sum(sessions::USER_TURNS, "Prompts of the user").wide(),
                sum(sessions::TOOL_CALLS, "Tool calls").wide(),
                sum(sessions::TOOL_ERRORS, "Tool calls that failed").wide(),
                sum(sessions::COMPACTIONS, "Compactions of the context").wide(),
                sum(sessions::RETRIES, "Repeated requests").wide(),
            ],
            top: None,
        }),
    },
    Report {
        name: "models",
        about: "Models: cost, speed, cache hits, period of use",
        body: Body::Groups(Groups {
            rows: &Table(turns::TABLE),
            by: &["model"],
            measures: &[
                sum(turns::COST_USD, "US dollars, by the choice of --cost"),
                SHARE_OF_COST.wide(),
                sum(turns::TOTAL_TOKENS, "Tokens"),
                measure("cost_per_million_usd", "US dollars per million tokens, over rows with a cost", || {
                    let priced = sum_where(turns::TOTAL_TOKENS, col(turns::COST_USD).is_not_null());
                    known_sum(turns::COST_USD) / not_zero(priced) * lit(1e6)
                }),
                TURNS.wide(),
                SESSIONS_WITH_RESPONSES.wide(),
                sum(turns::INPUT_TOKENS, "Prompt tokens that were not cached").wide(),
                sum(turns::OUTPUT_TOKENS, "Generated tokens").wide(),
                sum(turns::CACHE_READ_TOKENS, "Prompt tokens read from a cache").wide(),
                sum(turns::CACHE_WRITE_TOKENS, "Prompt tokens written to a cache").wide(),
                CACHE_HIT_RATE,
                median("p50_duration_ms", "Median duration of a response", turns::DURATION_MS).wide(),
                measure("output_tokens_per_second", "Speed, over responses with known duration", || {
                    let timed = || col(turns::DURATION_MS).gt(lit(0)).and(col(turns::OUTPUT_TOKENS).is_not_null());
                    let seconds = sum_where(turns::DURATION_MS, timed()).cast(DataType::Float64) / lit(1e3);
                    let tokens = sum_where(turns::OUTPUT_TOKENS, timed());
                    tokens / not_zero(seconds)
                })
                .wide(),
                measure("first_day", "First day of use, UTC", || col(turns::DAY).min()).no_amount().wide(),
                measure("last_day", "Last day of use, UTC", || col(turns::DAY).max()).no_amount().wide(),
                UNPRICED.wide(),
            ],
            top: None,
        }),
    },
    Report {
        name: "files",
        about: "Files that were changed, and how often",
        body: Body::Groups(Groups {
            rows: &Table(file_changes::TABLE),
            by: &["path"],
            measures: &[
                rows("changes", "Changes"),
                sum(file_changes::LINES_ADDED, "Lines added, if the log contains them"),
                sum(file_changes::LINES_REMOVED, "Lines removed, if the log contains them"),
                with_operation("created", "create"),
                with_operation("updated", "update"),
                with_operation("deleted", "delete"),
                with_operation("moved", "move"),
                SESSIONS,
            ],
            top: None,
        }),
    },
    Report {
        name: "integrity",
        about: "Signs that results should not be trusted: verifiers, tests or clocks that were changed, and others",
        body: Body::Groups(Groups { rows: &integrity::ROWS, by: &["sign"], measures: integrity::MEASURES, top: None }),
    },
    Report {
        name: "errors",
        about: "Errors, retries, denials, aborts, and failed sessions",
        body: Body::Groups(Groups {
            rows: &Errors,
            by: &["runtime", "kind", "code"],
            measures: &[
                rows(
                    "events",
                    "Events other than compactions and subagents, and failed sessions without an error event",
                ),
                SESSIONS.wide(),
                measure("failed_sessions", "Distinct sessions that ended in an error", || {
                    distinct_sessions(col("session_status").eq(lit("error")))
                })
                .of_session()
                .wide(),
                measure("last_day", "Day of the last one, UTC", || col(events::DAY).max()).no_amount().wide(),
                example("example", "Message of the last one", || {
                    // One line, as a table shows many messages.
                    let message =
                        col(events::MESSAGE).str().replace_all(lit(r"\s+"), lit(" "), false).str().head(lit(120));
                    // The order of rows depends on the order of ingests: times and texts do not.
                    let order = [col(LOGGED_AT), col(events::MESSAGE)];
                    message.sort_by(order, SortMultipleOptions::default()).drop_nulls().last()
                }),
            ],
            top: None,
        }),
    },
    Report {
        name: "behavior",
        about: "How agents work: exploring, editing, verifying, repeated calls, time",
        body: Body::Groups(Groups { rows: &Behaviour, by: &["runtime"], measures: behaviour::MEASURES, top: None }),
    },
    Report {
        name: "requests",
        about: "Requests of humans, from a prompt to the next: steps, time, cost",
        body: Body::Groups(Groups { rows: &Requests, by: &["runtime"], measures: requests::MEASURES, top: None }),
    },
    Report {
        name: "agents",
        about: "Subagents: cost, results that they returned, files read again",
        body: Body::Groups(Groups { rows: &Agents, by: &["agent"], measures: agents::MEASURES, top: None }),
    },
    Report {
        name: "skills",
        about: "Skills, plugins and MCP servers: use, cost, failures",
        body: Body::Groups(Groups { rows: &Skills, by: &["skill"], measures: skills::MEASURES, top: None }),
    },
    Report {
        name: "shipped",
        about: "What shipped: cost by pull request, commit, branch, author or outcome",
        body: Body::Groups(Groups {
            rows: &Shipped,
            by: &[shipped::PULL_REQUEST],
            measures: shipped::MEASURES,
            top: None,
        }),
    },
    Report {
        name: "outcomes",
        about: "Trials by their verdicts: pass rates, pass@k, cost of a success",
        body: Body::Groups(Groups { rows: &Outcomes, by: &["model"], measures: outcomes::MEASURES, top: None }),
    },
    Report {
        name: "failures",
        about: "Failed sessions by class: limits, timeouts, loops, unverified changes and others",
        body: Body::Groups(Groups { rows: &Failures, by: &["failure_class"], measures: failures::MEASURES, top: None }),
    },
    Report {
        name: "trends",
        about: "When the pass rate, costs, tokens, turns and errors of sessions changed, and what else changed there",
        body: Body::List(&Trends),
    },
    Report {
        name: "waste",
        about: "Dollars that were wasted, by cause: lost caches, repeated calls, carried output and others",
        body: Body::Groups(Groups { rows: &Waste, by: &["cause"], measures: waste::MEASURES, top: Some(waste::TOP) }),
    },
    Report {
        name: "limits",
        about: "Windows of subscription limits: tokens, cost, burn rate, projection",
        body: Body::List(&Limits),
    },
    Report {
        name: "health",
        about: "Data that was not read, has no price, or is uncertain",
        body: Body::List(&Health),
    },
    Report {
        name: "reconcile",
        about: "Reported costs compared to costs computed from tokens and prices",
        body: Body::Groups(Groups {
            rows: &Reconcile,
            by: &["runtime", "model"],
            measures: &[
                measure("sessions", "Sessions with both costs", || {
                    distinct_sessions(col("difference_usd").is_not_null())
                })
                .wide(),
                measure(turns::REPORTED_COST_USD, "Sum of the reported costs", || {
                    sum_of_comparable(turns::REPORTED_COST_USD)
                }),
                measure(turns::COMPUTED_COST_USD, "Sum of tokens times prices", || {
                    sum_of_comparable(turns::COMPUTED_COST_USD)
                })
                .wide(),
                derived("difference_usd", "computed - reported", || {
                    col(turns::COMPUTED_COST_USD) - col(turns::REPORTED_COST_USD)
                }),
                derived("difference_rate", "difference_usd / reported_cost_usd", || {
                    ratio("difference_usd", turns::REPORTED_COST_USD)
                })
                .wide(),
                measure("worst_session", "Session with the largest absolute difference", || {
                    let is_any_known = col("difference_usd").is_not_null().any(true);
                    when(is_any_known).then(of_worst_session(turns::SESSION_ID)).otherwise(lit(NULL))
                })
                .no_amount()
                .wide(),
                measure("worst_difference_usd", "computed - reported in that session", || {
                    of_worst_session("difference_usd")
                })
                .wide(),
                measure("reported_only", "Sessions with a reported cost whose tokens have no price", || {
                    distinct_sessions(
                        col(turns::COMPUTED_COST_USD).is_null().and(col(turns::REPORTED_COST_USD).gt(lit(0))),
                    )
                })
                .wide(),
                measure(
                    "reported_zero",
                    "Sessions that report 0 for tokens with a price: subscriptions, proxies",
                    || {
                        distinct_sessions(
                            col(turns::COMPUTED_COST_USD).gt(lit(0)).and(col(turns::REPORTED_COST_USD).eq(lit(0))),
                        )
                    },
                )
                .wide(),
            ],
            top: None,
        }),
    },
];

const SESSIONS: Measure =
    measure("sessions", "Distinct sessions", || col(SESSION_KEY).n_unique().cast(DataType::Int64));
const TURNS: Measure = measure("turns", "Responses", responses);
const COST_PER_PASSED: Measure =
    measure("cost_per_passed_usd", "Cost of sessions with a verdict / trials that passed", outcomes::cost_per_passed)
        .of_outcome();
const SESSIONS_WITH_RESPONSES: Measure = Measure { about: "Distinct sessions with responses", ..SESSIONS };
const CLEAN_ENDS: Measure = measure("ended_cleanly", "Distinct sessions with responses and status success", || {
    distinct_sessions(has_ended_cleanly())
})
.of_session();
const UNPRICED: Measure = measure(sessions::UNPRICED_TOKENS, "Tokens of rows without a cost", || {
    sum_where(turns::TOTAL_TOKENS, col(IS_UNPRICED)).fill_null(lit(0)).cast(DataType::Int64)
});
const SHARE_OF_COST: Measure = derived("share", "Share of the total cost", || share_of(turns::COST_USD));
const SHARE_OF_TOKENS: Measure = derived("share", "Share of all tokens", || share_of(turns::TOTAL_TOKENS));
const CACHE_HIT_RATE: Measure = measure(
    "cache_hit_rate",
    "Share of the prompts that was read from a cache, over rows with known cache_read_tokens",
    cache_hit_rate,
);

const fn with_status(name: &'static str, about: &'static str, status: &'static str) -> Measure {
    new(name, about, Formula::Where(sessions::STATUS, status))
}

const fn with_operation(name: &'static str, operation: &'static str) -> Measure {
    new(name, "Changes of this kind", Formula::Where(file_changes::OPERATION, operation)).wide()
}

/// A part of `cost_usd`, which does not apply to another choice of `--cost`.
const fn part(name: &'static str) -> Measure {
    Measure { is_part: true, is_wide: true, ..sum(name, "The part of cost_usd for these tokens") }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::analysis::selection::DIMENSIONS;

    #[test]
    fn the_tables_are_in_order() {
        assert!(DIMENSIONS.is_sorted_by_key(|dimension| dimension.name));
        for report in REPORTS {
            assert!(!report.about.ends_with('.'), "{}", report.name);
            if let Body::Groups(Groups { by, measures, .. }) = &report.body {
                assert!(
                    by.iter().all(|by| report.dimensions().any(|dimension| dimension.name == *by)),
                    "{}",
                    report.name
                );
                let names: BTreeSet<_> = measures.iter().map(|it| it.name).collect();
                assert_eq!(names.len(), measures.len(), "{}", report.name);
            }
        }
    }
}
