//! All reports, with their rows and measures.

use polars::prelude::*;

use super::behaviour;
use super::outcomes;
use super::spec::{Body, Measure, Of, Report, Rows, sum_of, sum_where};
use super::tables::SESSION_KEY;
use super::waste;

/// All reports, in the order in which the help lists them.
pub static REPORTS: &[Report] = &[
    Report {
        name: "cost",
        about: "Cost and tokens",
        body: Body::Groups {
            rows: Rows::Table("turns"),
            by: &["model"],
            measures: &[
                sum("cost_usd", "US dollars, by the choice of --cost"),
                sum("as_model_usd", "US dollars of the same tokens at the prices of --price-as").of_model(),
                sum("change_usd", "as_model_usd - cost_usd, over rows with both").of_model(),
                sum("uncached_usd", "The same, with cached tokens at the price of input").of_model(),
                sum("as_model_unpriced_tokens", "Tokens of rows with unknown input or output").of_model().wide(),
                SHARE_OF_COST,
                sum("total_tokens", "Input, output, cache read and cache write"),
                sum("input_tokens", "Prompt tokens that were not cached").wide(),
                sum("output_tokens", "Generated tokens").wide(),
                sum("cache_read_tokens", "Prompt tokens read from a cache").wide(),
                sum("cache_write_tokens", "Prompt tokens written to a cache").wide(),
                UNPRICED,
                CACHE_HIT_RATE.wide(),
                SESSIONS.wide(),
                TURNS.wide(),
                derived("cost_per_session_usd", "cost_usd / sessions", || ratio("cost_usd", "sessions")).wide(),
                derived("cost_per_turn_usd", "cost_usd / turns", || ratio("cost_usd", "turns")).wide(),
                CLEAN_ENDS.wide(),
                derived(
                    "cost_per_clean_end_usd",
                    "cost_usd / ended_cleanly: the cost of all other sessions is included",
                    || ratio("cost_usd", "ended_cleanly"),
                )
                .of_session()
                .wide(),
                COST_PER_PASSED.wide(),
                part("input_cost_usd"),
                part("output_cost_usd"),
                part("cache_read_cost_usd"),
                part("cache_write_cost_usd"),
                part("web_search_cost_usd"),
            ],
        },
    },
    Report {
        name: "tokens",
        about: "Tokens by kind",
        body: Body::Groups {
            rows: Rows::Table("turns"),
            by: &["model"],
            measures: &[
                sum("total_tokens", "Input, output, cache read and cache write"),
                SHARE_OF_TOKENS.wide(),
                sum("input_tokens", "Prompt tokens that were not cached"),
                sum("output_tokens", "Generated tokens, reasoning included"),
                sum("reasoning_tokens", "The part of output_tokens that is reasoning").wide(),
                sum("cache_read_tokens", "Prompt tokens read from a cache"),
                sum("cache_write_tokens", "Prompt tokens written to a cache").wide(),
                sum("cache_write_1h_tokens", "The part of cache_write_tokens kept for an hour").wide(),
                CACHE_HIT_RATE.wide(),
                TURNS.wide(),
                SESSIONS.wide(),
            ],
        },
    },
    Report {
        name: "tools",
        about: "Tool calls: number, duration, failures",
        body: Body::Groups {
            rows: Rows::Table("tool_calls"),
            by: &["tool"],
            measures: &[
                rows("calls", "Number of calls"),
                derived("share", "Share of all calls", || share_of("calls")).wide(),
                with_status("errors", "Calls that failed", "error"),
                derived("error_rate", "errors / calls", || ratio("errors", "calls")),
                with_status("denied", "Calls that were not permitted", "denied"),
                with_status("incomplete", "Calls without a result in the log", "incomplete").wide(),
                with_status(
                    "cancelled",
                    "Calls that never ran: another call failed, or the user interrupted",
                    "cancelled",
                )
                .wide(),
                median("p50_duration_ms", "Median duration", "duration_ms"),
                percentile_90("p90_duration_ms", "90th percentile", "duration_ms"),
                sum("duration_ms", "Sum of the durations").wide(),
                sum("args_bytes", "Bytes of the arguments").wide(),
                sum("result_bytes", "Bytes of the results").wide(),
                percentile_90("p90_result_bytes", "90th percentile of the bytes of the result", "result_bytes").wide(),
                SESSIONS.wide(),
            ],
        },
    },
    Report {
        name: "turns",
        about: "Size, duration and cost of single responses",
        body: Body::Groups {
            rows: Rows::Where("turns", || col("grain").eq(lit("turn"))),
            by: &["model"],
            measures: &[
                rows("turns", "Responses"),
                SESSIONS.wide(),
                derived("turns_per_session", "turns / sessions", || ratio("turns", "sessions")).wide(),
                measure("subagent_turns", "Responses to subagents", || col("is_subagent").sum().cast(DataType::Int64))
                    .wide(),
                median("p50_context_tokens", "Median size of the prompt", "context_tokens"),
                percentile_90("p90_context_tokens", "90th percentile of the size of the prompt", "context_tokens")
                    .wide(),
                max("max_context_tokens", "The largest prompt", "context_tokens").wide(),
                median("p50_output_tokens", "Median length of the response", "output_tokens").wide(),
                percentile_90("p90_output_tokens", "90th percentile", "output_tokens").wide(),
                median(
                    "p50_latency_ms",
                    "Median time from the prompt or the last result to the response's end",
                    "latency_ms",
                ),
                percentile_90("p90_latency_ms", "90th percentile of this time", "latency_ms").wide(),
                percentile_95("p95_latency_ms", "95th percentile of this time", "latency_ms").wide(),
                median("p50_duration_ms", "Median duration, as logged", "duration_ms").wide(),
                percentile_90("p90_duration_ms", "90th percentile of the duration", "duration_ms").wide(),
                median("p50_cost_usd", "Median cost", "cost_usd"),
                percentile_90("p90_cost_usd", "90th percentile of the cost", "cost_usd").wide(),
                max("max_cost_usd", "Maximum cost", "cost_usd").wide(),
                sum("tool_calls", "Tool calls that the responses contain").wide(),
            ],
        },
    },
    Report {
        name: "sessions",
        about: "Sessions: outcome, length, cost",
        body: Body::Groups {
            rows: Rows::Sessions,
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
                    float("ended_cleanly") / not_zero(col("sessions") - col("unknown"))
                }),
                median("p50_turns", "Median number of turns", "turns"),
                percentile_90("p90_turns", "90th percentile of the number of turns", "turns").wide(),
                max("max_turns", "Maximum number of turns", "turns").wide(),
                median("p50_duration_ms", "Median duration", "duration_ms"),
                percentile_90("p90_duration_ms", "90th percentile of the duration", "duration_ms").wide(),
                max("max_duration_ms", "Maximum duration", "duration_ms").wide(),
                median("p50_cost_usd", "Median cost", "cost_usd").wide(),
                percentile_90("p90_cost_usd", "90th percentile of the cost", "cost_usd").wide(),
                max("max_cost_usd", "Maximum cost", "cost_usd").wide(),
                sum("cost_usd", "US dollars, by the choice of --cost"),
                COST_PER_PASSED.wide(),
                sum("total_tokens", "Tokens").wide(),
                sum("user_turns", "Prompts of the user").wide(),
                sum("tool_calls", "Tool calls").wide(),
                sum("tool_errors", "Tool calls that failed").wide(),
                sum("compactions", "Compactions of the context").wide(),
                sum("retries", "Repeated requests").wide(),
            ],
        },
    },
    Report {
        name: "models",
        about: "Models: cost, speed, cache hits, period of use",
        body: Body::Groups {
            rows: Rows::Table("turns"),
            by: &["model"],
            measures: &[
                sum("cost_usd", "US dollars, by the choice of --cost"),
                SHARE_OF_COST.wide(),
                sum("total_tokens", "Tokens"),
                measure("cost_per_million_usd", "US dollars per million tokens, over rows with a cost", || {
                    let priced = sum_where("total_tokens", col("cost_usd").is_not_null());
                    sum_of("cost_usd", col("cost_usd")) / not_zero(priced) * lit(1e6)
                }),
                TURNS.wide(),
                SESSIONS.wide(),
                sum("input_tokens", "Prompt tokens that were not cached").wide(),
                sum("output_tokens", "Generated tokens").wide(),
                sum("cache_read_tokens", "Prompt tokens read from a cache").wide(),
                sum("cache_write_tokens", "Prompt tokens written to a cache").wide(),
                CACHE_HIT_RATE,
                median("p50_duration_ms", "Median duration of a response", "duration_ms").wide(),
                measure("output_tokens_per_second", "Speed, over responses with known duration", || {
                    let timed = || col("duration_ms").gt(lit(0)).and(col("output_tokens").is_not_null());
                    let seconds = sum_where("duration_ms", timed()).cast(DataType::Float64) / lit(1e3);
                    let tokens = sum_where("output_tokens", timed());
                    tokens / not_zero(seconds)
                })
                .wide(),
                measure("first_day", "First day of use, UTC", || col("day").min()).wide(),
                measure("last_day", "Last day of use, UTC", || col("day").max()).wide(),
                UNPRICED.wide(),
            ],
        },
    },
    Report {
        name: "files",
        about: "Files that were changed, and how often",
        body: Body::Groups {
            rows: Rows::Table("file_changes"),
            by: &["path"],
            measures: &[
                rows("changes", "Changes"),
                sum("lines_added", "Lines added, if the log contains them"),
                sum("lines_removed", "Lines removed, if the log contains them"),
                with_operation("created", "create"),
                with_operation("updated", "update"),
                with_operation("deleted", "delete"),
                with_operation("moved", "move"),
                SESSIONS,
            ],
        },
    },
    Report {
        name: "errors",
        about: "Errors, retries, denials, aborts, and failed sessions",
        body: Body::Groups {
            rows: Rows::Errors,
            by: &["runtime", "kind", "code"],
            measures: &[
                rows(
                    "problems",
                    "Events other than compactions and subagents, and failed sessions without an error event",
                ),
                SESSIONS.wide(),
                measure("failed_sessions", "Distinct sessions that ended in an error", || {
                    distinct_sessions(col("session_status").eq(lit("error")))
                })
                .of_session()
                .wide(),
                measure("last_day", "Day of the last one, UTC", || col("day").max()).wide(),
                measure("example", "Message of the last one", || {
                    // One line, as a table shows many messages.
                    let message = col("message").str().replace_all(lit(r"\s+"), lit(" "), false).str().head(lit(120));
                    // The order of rows depends on the order of ingests: times and texts do not.
                    let order = [col("occurred_at"), col("message")];
                    message.sort_by(order, SortMultipleOptions::default()).drop_nulls().last()
                }),
            ],
        },
    },
    Report {
        name: "behaviour",
        about: "How agents work: exploring, editing, verifying, repeated calls, time",
        body: Body::Groups { rows: Rows::Behaviour, by: &["runtime"], measures: behaviour::MEASURES },
    },
    Report {
        name: "outcomes",
        about: "Trials by their verdicts: pass rates, pass@k, cost of a success",
        body: Body::Groups { rows: Rows::Outcomes, by: &["model"], measures: outcomes::MEASURES },
    },
    Report {
        name: "waste",
        about: "Dollars that were wasted, by cause: lost caches, repeated calls, carried output and others",
        body: Body::Groups { rows: Rows::Waste, by: &["cause"], measures: waste::MEASURES },
    },
    Report {
        name: "limits",
        about: "Windows of subscription limits: tokens, cost, burn rate, projection",
        body: Body::Limits,
    },
    Report { name: "health", about: "Data that was not read, has no price, or is uncertain", body: Body::Health },
    Report {
        name: "reconcile",
        about: "Reported costs compared to costs computed from tokens and prices",
        body: Body::Groups {
            rows: Rows::Reconcile,
            by: &["runtime", "model"],
            measures: &[
                measure("sessions", "Sessions with both costs", || {
                    distinct_sessions(col("difference_usd").is_not_null())
                })
                .wide(),
                measure("reported_cost_usd", "Sum of the reported costs", || sum_of_comparable("reported_cost_usd")),
                measure("computed_cost_usd", "Sum of tokens times prices", || sum_of_comparable("computed_cost_usd"))
                    .wide(),
                derived("difference_usd", "computed - reported", || {
                    col("computed_cost_usd") - col("reported_cost_usd")
                }),
                derived("difference_rate", "difference_usd / reported_cost_usd", || {
                    ratio("difference_usd", "reported_cost_usd")
                })
                .wide(),
                measure("worst_session", "Session with the largest absolute difference", || {
                    let is_any_known = col("difference_usd").is_not_null().any(true);
                    when(is_any_known).then(of_worst_session("session_id")).otherwise(lit(NULL))
                })
                .wide(),
                measure("worst_difference_usd", "computed - reported in that session", || {
                    of_worst_session("difference_usd")
                })
                .wide(),
                measure("reported_only", "Sessions with a reported cost whose tokens have no price", || {
                    distinct_sessions(col("computed_cost_usd").is_null().and(col("reported_cost_usd").gt(lit(0))))
                })
                .wide(),
                measure(
                    "reported_zero",
                    "Sessions that report 0 for tokens with a price: subscriptions, proxies",
                    || distinct_sessions(col("computed_cost_usd").gt(lit(0)).and(col("reported_cost_usd").eq(lit(0)))),
                )
                .wide(),
            ],
        },
    },
];

const SESSIONS: Measure =
    measure("sessions", "Distinct sessions", || col(SESSION_KEY).n_unique().cast(DataType::Int64));
const TURNS: Measure = measure("turns", "Responses", || col("grain").eq(lit("turn")).sum().cast(DataType::Int64));
const COST_PER_PASSED: Measure =
    measure("cost_per_passed_usd", "Cost of sessions with a verdict / trials that passed", outcomes::cost_per_passed)
        .of_outcome();
const CLEAN_ENDS: Measure = measure("ended_cleanly", "Distinct sessions with status success", || {
    distinct_sessions(col("session_status").eq(lit("success")))
})
.of_session();
const UNPRICED: Measure = measure("unpriced_tokens", "Tokens of rows without a cost", || {
    sum_where("total_tokens", col("is_unpriced")).fill_null(lit(0)).cast(DataType::Int64)
});
const SHARE_OF_COST: Measure = derived("share", "Share of the total cost", || share_of("cost_usd"));
const SHARE_OF_TOKENS: Measure = derived("share", "Share of all tokens", || share_of("total_tokens"));
const CACHE_HIT_RATE: Measure = derived("cache_hit_rate", "Share of the prompts that was read from a cache", || {
    let known = |column: &str| col(column).fill_null(lit(0));
    let prompt = known("input_tokens") + known("cache_read_tokens") + known("cache_write_tokens");
    float("cache_read_tokens") / not_zero(prompt)
});

const fn new(name: &'static str, about: &'static str, of: Of) -> Measure {
    Measure {
        name,
        about,
        of,
        is_wide: false,
        needs_session: false,
        needs_outcome: false,
        needs_model: false,
        is_part: false,
    }
}

/// Any measure over the rows of a group.
pub(super) const fn measure(name: &'static str, about: &'static str, of: fn() -> Expr) -> Measure {
    new(name, about, Of::Rows(of))
}

/// A formula of other measures.
pub(super) const fn derived(name: &'static str, about: &'static str, of: fn() -> Expr) -> Measure {
    new(name, about, Of::Groups(of))
}

/// The sum of the column of that name; NULL if no value is known.
pub(super) const fn sum(name: &'static str, about: &'static str) -> Measure {
    new(name, about, Of::Sum(name))
}

pub(super) const fn rows(name: &'static str, about: &'static str) -> Measure {
    measure(name, about, || len().cast(DataType::Int64))
}

pub(super) const fn median(name: &'static str, about: &'static str, column: &'static str) -> Measure {
    new(name, about, Of::Quantile(column, 0.5))
}

/// The 90th percentile.
pub(super) const fn percentile_90(name: &'static str, about: &'static str, column: &'static str) -> Measure {
    new(name, about, Of::Quantile(column, 0.9))
}

/// The 95th percentile.
pub(super) const fn percentile_95(name: &'static str, about: &'static str, column: &'static str) -> Measure {
    new(name, about, Of::Quantile(column, 0.95))
}

pub(super) const fn max(name: &'static str, about: &'static str, column: &'static str) -> Measure {
    new(name, about, Of::Max(column))
}

const fn with_status(name: &'static str, about: &'static str, status: &'static str) -> Measure {
    new(name, about, Of::Where("status", status))
}

const fn with_operation(name: &'static str, operation: &'static str) -> Measure {
    new(name, "Changes of this kind", Of::Where("operation", operation)).wide()
}

/// A part of `cost_usd`, which does not apply to another choice of `--cost`.
const fn part(name: &'static str) -> Measure {
    Measure { is_part: true, is_wide: true, ..sum(name, "The part of cost_usd for these tokens") }
}

fn distinct_sessions(which: Expr) -> Expr {
    col(SESSION_KEY).filter(which).n_unique().cast(DataType::Int64)
}

pub(super) fn float(column: &str) -> Expr {
    col(column).cast(DataType::Float64)
}

pub(super) fn ratio(numerator: &str, denominator: &str) -> Expr {
    float(numerator) / not_zero(col(denominator))
}

fn share_of(column: &str) -> Expr {
    float(column) / not_zero(col(column).sum())
}

pub(super) fn not_zero(value: Expr) -> Expr {
    when(value.clone().neq(lit(0))).then(value).otherwise(lit(NULL))
}

/// The column's value in the row with the largest absolute `difference_usd`; rows without a difference come last.
fn of_worst_session(column: &str) -> Expr {
    let order = SortMultipleOptions::default().with_order_descending_multi([true, false, false]).with_nulls_last(true);
    col(column).sort_by([col("difference_usd").abs(), col("session_id"), col("difference_usd")], order).first()
}

/// The sum of a column over rows with both costs, if the reported one is not 0.
fn sum_of_comparable(column: &str) -> Expr {
    let is_known = || col("difference_usd").is_not_null();
    when(is_known().any(true)).then(sum_where(column, is_known())).otherwise(lit(NULL))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::analysis::reports::DIMENSIONS;

    #[test]
    fn the_tables_are_in_order() {
        assert!(DIMENSIONS.is_sorted_by_key(|dimension| dimension.name));
        for report in REPORTS {
            assert!(!report.about.ends_with('.'), "{}", report.name);
            if let Body::Groups { by, measures, .. } = &report.body {
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
