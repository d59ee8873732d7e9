//! All reports: of which rows they are, and what they measure.

use polars::prelude::*;

use super::{Body, Measure, Of, Report, Rows, SESSION_KEY};

/// All reports, in the order of the contract.
pub static REPORTS: &[Report] = &[
    Report {
        name: "cost",
        about: "What it cost, and the tokens behind it",
        body: Body::Groups {
            rows: Rows::Table("turns"),
            by: &["model"],
            measures: &[
                sum("cost_usd", "US dollars, as --cost says"),
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
                SUCCESSES.wide(),
                derived(
                    "cost_per_success_usd",
                    "cost_usd / successful_sessions: failures are paid for as well",
                    || ratio("cost_usd", "successful_sessions"),
                )
                .of_session()
                .wide(),
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
        about: "Where the tokens went",
        body: Body::Groups {
            rows: Rows::Table("turns"),
            by: &["model"],
            measures: &[
                sum("total_tokens", "Input, output, cache read and cache write"),
                SHARE_OF_TOKENS.wide(),
                sum("input_tokens", "Prompt tokens that were not cached"),
                sum("output_tokens", "Generated tokens, reasoning included"),
                sum("reasoning_tokens", "The part of output_tokens that was reasoning").wide(),
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
        about: "Which tools are called, how long they take, and which fail",
        body: Body::Groups {
            rows: Rows::Table("tool_calls"),
            by: &["tool"],
            measures: &[
                rows("calls", "Calls"),
                derived("share", "Share of all calls", || share_of("calls")).wide(),
                with_status("errors", "Calls that failed", "error"),
                derived("error_rate", "errors / calls", || ratio("errors", "calls")),
                with_status("denied", "Calls that were not permitted", "denied"),
                with_status("incomplete", "Calls without an end", "incomplete").wide(),
                median("p50_duration_ms", "Median duration", "duration_ms"),
                ninth("p90_duration_ms", "Nine of ten were not longer", "duration_ms"),
                sum("duration_ms", "All of their time").wide(),
                sum("args_bytes", "Bytes of arguments").wide(),
                sum("result_bytes", "Bytes returned into the context").wide(),
                ninth("p90_result_bytes", "Nine of ten returned no more", "result_bytes").wide(),
                SESSIONS.wide(),
            ],
        },
    },
    Report {
        name: "turns",
        about: "How large, long and dear single responses are",
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
                ninth("p90_context_tokens", "Nine of ten prompts were not larger", "context_tokens").wide(),
                max("max_context_tokens", "The largest prompt", "context_tokens").wide(),
                median("p50_output_tokens", "Median length of the response", "output_tokens").wide(),
                ninth("p90_output_tokens", "Nine of ten were not longer", "output_tokens").wide(),
                median("p50_duration_ms", "Median duration", "duration_ms"),
                ninth("p90_duration_ms", "Nine of ten did not take longer", "duration_ms").wide(),
                median("p50_cost_usd", "Median cost", "cost_usd"),
                ninth("p90_cost_usd", "Nine of ten did not cost more", "cost_usd").wide(),
                max("max_cost_usd", "The dearest", "cost_usd").wide(),
                sum("tool_calls", "Tool calls that they asked for").wide(),
            ],
        },
    },
    Report {
        name: "sessions",
        about: "How sessions end, how long they are, what they cost",
        body: Body::Groups {
            rows: Rows::Sessions,
            by: &["runtime"],
            measures: &[
                rows("sessions", "Sessions"),
                with_status("success", "That succeeded", "success"),
                with_status("error", "That failed", "error").wide(),
                with_status("aborted", "That the user stopped", "aborted").wide(),
                with_status("incomplete", "Whose log has no end", "incomplete").wide(),
                with_status("unknown", "Whose log does not say", "unknown").wide(),
                derived("success_rate", "success / sessions of known status", || {
                    float("success") / not_zero(col("sessions") - col("unknown"))
                }),
                median("p50_turns", "Median number of turns", "turns"),
                ninth("p90_turns", "Nine of ten have no more", "turns").wide(),
                max("max_turns", "Most turns", "turns").wide(),
                median("p50_duration_ms", "Median duration", "duration_ms"),
                ninth("p90_duration_ms", "Nine of ten are not longer", "duration_ms").wide(),
                max("max_duration_ms", "The longest", "duration_ms").wide(),
                median("p50_cost_usd", "Median cost", "cost_usd").wide(),
                ninth("p90_cost_usd", "Nine of ten do not cost more", "cost_usd").wide(),
                max("max_cost_usd", "The dearest", "cost_usd").wide(),
                sum("cost_usd", "US dollars, as --cost says"),
                sum("total_tokens", "Tokens").wide(),
                sum("user_turns", "Prompts of a human").wide(),
                sum("tool_calls", "Tool calls").wide(),
                sum("tool_errors", "Tool calls that failed").wide(),
                sum("compactions", "Compactions of the context").wide(),
                sum("retries", "Requests made again").wide(),
            ],
        },
    },
    Report {
        name: "models",
        about: "Models side by side: cost, speed, cache, and when they were used",
        body: Body::Groups {
            rows: Rows::Table("turns"),
            by: &["model"],
            measures: &[
                sum("cost_usd", "US dollars, as --cost says"),
                SHARE_OF_COST.wide(),
                sum("total_tokens", "Tokens"),
                measure("cost_per_million_usd", "US dollars per million tokens of rows that have a cost", || {
                    let priced = col("total_tokens").filter(col("cost_usd").is_not_null()).sum();
                    col("cost_usd").sum() / not_zero(priced) * lit(1e6)
                }),
                TURNS.wide(),
                SESSIONS.wide(),
                sum("input_tokens", "Prompt tokens that were not cached").wide(),
                sum("output_tokens", "Generated tokens").wide(),
                sum("cache_read_tokens", "Prompt tokens read from a cache").wide(),
                sum("cache_write_tokens", "Prompt tokens written to a cache").wide(),
                CACHE_HIT_RATE,
                median("p50_duration_ms", "Median duration of a response", "duration_ms").wide(),
                measure("output_tokens_per_second", "Speed of responses whose duration is known", || {
                    let timed = || col("duration_ms").gt(lit(0)).and(col("output_tokens").is_not_null());
                    let seconds = col("duration_ms").filter(timed()).sum().cast(DataType::Float64) / lit(1e3);
                    let tokens = col("output_tokens").filter(timed()).sum();
                    tokens / not_zero(seconds)
                })
                .wide(),
                measure("first_day", "First used, UTC", || col("day").min()).wide(),
                measure("last_day", "Last used, UTC", || col("day").max()).wide(),
                UNPRICED.wide(),
            ],
        },
    },
    Report {
        name: "files",
        about: "Which files were changed, and how often",
        body: Body::Groups {
            rows: Rows::Table("file_changes"),
            by: &["path"],
            measures: &[
                rows("changes", "Changes"),
                sum("lines_added", "Lines added, where shown"),
                sum("lines_removed", "Lines removed, where shown"),
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
        about: "What went wrong: errors, retries, denials, aborts, and sessions that failed",
        body: Body::Groups {
            rows: Rows::Errors,
            by: &["runtime", "kind", "code"],
            measures: &[
                rows(
                    "problems",
                    "Events other than compactions and subagents, and failed sessions without an error event",
                ),
                SESSIONS.wide(),
                measure("failed_sessions", "Of them, sessions that ended in an error", || {
                    distinct_sessions(col("session_status").eq(lit("error")))
                })
                .of_session()
                .wide(),
                measure("last_day", "When last, UTC", || col("day").max()).wide(),
                measure("example", "The latest message", || {
                    // One line of it is enough in a table of many.
                    let message = col("message").str().replace_all(lit(r"\s+"), lit(" "), false).str().head(lit(120));
                    // Rows come in the order of ingests: only their times and texts are the same in every archive.
                    let order = [col("occurred_at"), col("message")];
                    message.sort_by(order, SortMultipleOptions::default()).drop_nulls().last()
                }),
            ],
        },
    },
    Report { name: "health", about: "What was not read, not priced, or cannot be trusted", body: Body::Health },
    Report {
        name: "reconcile",
        about: "Costs that logs report against those computed from tokens and prices",
        body: Body::Groups {
            rows: Rows::Reconcile,
            by: &["runtime", "model"],
            measures: &[
                measure("sessions", "Sessions in which both costs are known", || {
                    distinct_sessions(col("difference_usd").is_not_null())
                })
                .wide(),
                measure("reported_cost_usd", "The sum that logs report", || sum_of_comparable("reported_cost_usd")),
                measure("computed_cost_usd", "The sum of tokens times prices", || {
                    sum_of_comparable("computed_cost_usd")
                })
                .wide(),
                derived("difference_usd", "computed less reported", || {
                    col("computed_cost_usd") - col("reported_cost_usd")
                }),
                derived("difference_rate", "difference_usd / reported_cost_usd", || {
                    ratio("difference_usd", "reported_cost_usd")
                })
                .wide(),
                measure("worst_session", "The session in which they are farthest apart", || {
                    let is_any_known = col("difference_usd").is_not_null().any(true);
                    when(is_any_known).then(of_worst_session("session_id")).otherwise(lit(NULL))
                })
                .wide(),
                measure("worst_difference_usd", "computed less reported in that session", || {
                    of_worst_session("difference_usd")
                })
                .wide(),
                measure("reported_only", "Sessions whose tokens have no price", || {
                    distinct_sessions(col("computed_cost_usd").is_null().and(col("reported_cost_usd").gt(lit(0))))
                })
                .wide(),
                measure(
                    "reported_zero",
                    "Sessions that report 0 for tokens that cost something: subscriptions, proxies",
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
const SUCCESSES: Measure = measure("successful_sessions", "Distinct sessions that succeeded", || {
    distinct_sessions(col("session_status").eq(lit("success")))
})
.of_session();
const UNPRICED: Measure = measure("unpriced_tokens", "Tokens of rows that no cost covers", || {
    col("total_tokens").filter(col("is_unpriced")).sum().fill_null(lit(0)).cast(DataType::Int64)
});
const SHARE_OF_COST: Measure = derived("share", "Share of all cost", || share_of("cost_usd"));
const SHARE_OF_TOKENS: Measure = derived("share", "Share of all tokens", || share_of("total_tokens"));
const CACHE_HIT_RATE: Measure = derived("cache_hit_rate", "Part of the prompts that was read from a cache", || {
    let known = |column: &str| col(column).fill_null(lit(0));
    let prompt = known("input_tokens") + known("cache_read_tokens") + known("cache_write_tokens");
    float("cache_read_tokens") / not_zero(prompt)
});

const fn new(name: &'static str, about: &'static str, of: Of) -> Measure {
    Measure { name, about, of, is_wide: false, needs_session: false, is_part: false }
}

/// Any measure over the rows of a group.
const fn measure(name: &'static str, about: &'static str, of: fn() -> Expr) -> Measure {
    new(name, about, Of::Rows(of))
}

/// A measure over the other measures, one row a group.
const fn derived(name: &'static str, about: &'static str, of: fn() -> Expr) -> Measure {
    new(name, about, Of::Groups(of))
}

/// The sum of the column of that name, NULL if nothing is known.
const fn sum(name: &'static str, about: &'static str) -> Measure {
    new(name, about, Of::Sum(name))
}

const fn rows(name: &'static str, about: &'static str) -> Measure {
    measure(name, about, || len().cast(DataType::Int64))
}

const fn median(name: &'static str, about: &'static str, column: &'static str) -> Measure {
    new(name, about, Of::Quantile(column, 0.5))
}

/// What nine of ten do not exceed.
const fn ninth(name: &'static str, about: &'static str, column: &'static str) -> Measure {
    new(name, about, Of::Quantile(column, 0.9))
}

const fn max(name: &'static str, about: &'static str, column: &'static str) -> Measure {
    new(name, about, Of::Max(column))
}

const fn with_status(name: &'static str, about: &'static str, status: &'static str) -> Measure {
    new(name, about, Of::Where("status", status))
}

const fn with_operation(name: &'static str, operation: &'static str) -> Measure {
    new(name, "Changes of that kind", Of::Where("operation", operation)).wide()
}

/// A part of `cost_usd`, which says nothing of another cost.
const fn part(name: &'static str) -> Measure {
    Measure { is_part: true, is_wide: true, ..sum(name, "The part of cost_usd for these tokens") }
}

fn distinct_sessions(which: Expr) -> Expr {
    col(SESSION_KEY).filter(which).n_unique().cast(DataType::Int64)
}

fn float(column: &str) -> Expr {
    col(column).cast(DataType::Float64)
}

fn ratio(numerator: &str, denominator: &str) -> Expr {
    float(numerator) / not_zero(col(denominator))
}

fn share_of(column: &str) -> Expr {
    float(column) / not_zero(col(column).sum())
}

fn not_zero(value: Expr) -> Expr {
    when(value.clone().neq(lit(0))).then(value).otherwise(lit(NULL))
}

/// The column's value in the row with the largest absolute `difference_usd`; rows without a difference come last.
fn of_worst_session(column: &str) -> Expr {
    let order = SortMultipleOptions::default().with_order_descending_multi([true, false]).with_nulls_last(true);
    col(column).sort_by([col("difference_usd").abs(), col("session_id")], order).first()
}

/// A column of the rows in which both costs are known, and the reported one is one.
fn sum_of_comparable(column: &str) -> Expr {
    let is_known = || col("difference_usd").is_not_null();
    when(is_known().any(true)).then(col(column).filter(is_known()).sum()).otherwise(lit(NULL))
}
