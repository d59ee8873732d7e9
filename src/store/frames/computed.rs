//! Tables that are computed when a query reads them. They are in no file of an archive.

use polars::prelude::*;

use super::columns::{commits, sessions, turns, verdicts};
use super::schema::{Described, TABLES, schema};

/// The labels of sessions: a column for each key.
pub const LABELS: &str = "labels";
/// The failed sessions with their classes.
pub const FAILURES: &str = "failures";
/// The trials with their outcomes.
pub const OUTCOMES: &str = "outcomes";
/// The shares of sessions in commits and pull requests.
pub const SHIPPED: &str = "shipped";

/// The names of these tables.
pub const COMPUTED_TABLES: [&str; 4] = [LABELS, FAILURES, OUTCOMES, SHIPPED];

/// The tables that SQL can read: those of an archive, and these.
pub fn names_of_tables() -> Vec<&'static str> {
    TABLES.into_iter().chain(COMPUTED_TABLES).collect()
}

/// The columns of these tables.
pub fn all_columns() -> impl Iterator<Item = Described> {
    schema().into_iter().chain(computed_schema())
}

/// The columns of the computed tables, in order. `labels` has further ones: the keys of the labels that an archive contains.
pub fn computed_schema() -> Vec<Described> {
    const SESSION: [(&str, DataType, &str); 2] = [
        (sessions::RUNTIME, DataType::String, "The session's runtime"),
        (sessions::SESSION_ID, DataType::String, "The session"),
    ];
    let of_failures = [
        ("failure_class", DataType::String, "Why the session failed: see docs/failures.md"),
        ("failure_sign", DataType::String, "What shows it"),
        ("failure_path", DataType::String, "The log that shows it"),
        ("failure_line", DataType::Int64, "The line there"),
    ];
    let of_outcomes = [
        (verdicts::TASK, DataType::String, "The task of the trial"),
        (verdicts::TRIAL, DataType::String, "Its name"),
        (verdicts::PASSED, DataType::Boolean, "Whether it passed; NULL if no verdict states it: see docs/verdicts.md"),
        (verdicts::SCORE, DataType::Float64, "Its score"),
        (verdicts::MESSAGE, DataType::String, "The words of the judge"),
        ("sessions", DataType::Int64, "The sessions of the trial: those that it started, too"),
        (sessions::COST_USD, DataType::Float64, "Their cost, US dollars"),
        (turns::TOTAL_TOKENS, DataType::Int64, "Their tokens"),
        (sessions::TURNS, DataType::Int64, "Their responses"),
        (sessions::DURATION_MS, DataType::Int64, "The duration of those that no other one started"),
    ];
    let of_shipped = [
        (sessions::REPOSITORY, DataType::String, "The repository of the commit or pull request"),
        (commits::COMMIT, DataType::String, "The commit in which the work is"),
        (commits::PULL_REQUEST, DataType::String, "The pull request in which the work is"),
        ("branch", DataType::String, "The branch on which the commit was made"),
        ("author", DataType::String, "The author of the commit"),
        ("rule", DataType::String, "The rule that found the work there; NULL for the remainder of a session"),
        ("landed_by", DataType::String, "How it reached the default branch: itself, patch, pull_request or content"),
        ("outcome", DataType::String, "What became of it: merged, open, abandoned and others"),
        ("share", DataType::Float64, "The share of the session"),
        (sessions::COST_USD, DataType::Float64, "The cost of that share, US dollars"),
    ];
    let tables = [(LABELS, &[][..]), (FAILURES, &of_failures), (OUTCOMES, &of_outcomes), (SHIPPED, &of_shipped)];
    let columns = tables.into_iter().flat_map(|(table, columns)| {
        SESSION
            .iter()
            .chain(columns)
            .cloned()
            .map(move |(column, dtype, about)| Described { table, column, dtype, about })
            .collect::<Vec<_>>()
    });
    columns.collect()
}
