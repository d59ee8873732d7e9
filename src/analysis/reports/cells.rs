//! The aggregates of the dashboard, fine enough that its page can filter them.
//!
//! They use the rows and costs of the reports, so that both have the same sums.

use polars::prelude::*;

use super::formulas::prompt_tokens;
use super::own_rows::Errors;
use crate::analysis::behaviour::add_measures;
use crate::analysis::outcomes::frame::{Trial, judged_trials};
use crate::analysis::rows::{
    self, CostBasis, Frames, IS_UNPRICED, NONE, ReportRows, Sessions, Table, Within, count_of, failed_calls, responses,
    sum_where,
};
use crate::analysis::selection::{Error, Grouping, LeftOut, Scope};
use crate::analysis::shipped::{self, Shipped, has_history, rows_of_shares};
use crate::analysis::waste::{CAUSE, Waste, rows_of_waste};
use crate::prices::Catalog;
use crate::store::frames::{events, sessions, tool_calls, turns};

/// The rows that the page adds up.
#[derive(Debug)]
pub struct Cells {
    /// Turns, by session, local day and model.
    pub turns: DataFrame,
    /// Tool calls, by session, local day and tool.
    pub tools: DataFrame,
    /// Turns for which a skill was in effect, by session, local day and skill. `cost` is in billionths of a dollar.
    pub skills: DataFrame,
    /// Errors, retries, denials and aborts, by session, local day, kind and code.
    pub troubles: DataFrame,
    /// Whether `waste` and `behaviour` are left out, as there are more than [`MAX_MEASURED`] sessions.
    pub omits_measured: bool,
    /// The waste of sessions, by local day of their start and cause, where there is any. `waste` is in billionths of a dollar.
    pub waste: DataFrame,
    /// What behaviour is measured from, by session and local day of its start: the columns of `OF_BEHAVIOUR`.
    pub behaviour: DataFrame,
    /// What sessions shipped, by local day of their start, outcome and merged pull request; `None` if no repository was scanned. `cost`
    /// is in billionths of a dollar.
    pub shipped: Option<DataFrame>,
    /// All sessions, in the order of their start. `is_listed` marks those that `report sessions` counts, with
    /// `listed_cost_usd` and `listed_tokens`.
    pub sessions: DataFrame,
    /// The trials of these sessions; empty if none is judged.
    pub(in crate::analysis) trials: Vec<Trial>,
    /// The time zone of the days.
    pub zone: jiff::tz::TimeZone,
    /// Undated turns that are excluded.
    pub left_out: LeftOut,
}

/// The merged pull request of a part of a session.
pub(in crate::analysis) const MERGED_PULL_REQUEST: &str = "merged_pull_request";

/// The maximum number of sessions whose waste and behaviour are in the page: they take seconds and a quarter of its size.
pub const MAX_MEASURED: usize = 10_000;

/// The name of the report in messages.
const NAME: &str = "dashboard";

/// Columns of `sessions` that the page shows.
const OF_SESSION: &[&str] = &[
    sessions::RUNTIME,
    sessions::SESSION_ID,
    sessions::MODEL,
    sessions::PROJECT,
    sessions::STATUS,
    sessions::LABELS,
    sessions::USAGE,
    sessions::ERROR_KIND,
    sessions::ERROR_MESSAGE,
    sessions::STARTED_AT,
    sessions::DURATION_MS,
    sessions::TURNS,
    sessions::TOOL_CALLS,
    sessions::TOOL_ERRORS,
    sessions::COMPACTIONS,
    sessions::RETRIES,
    sessions::SUBAGENTS,
    sessions::DESCENDANTS,
    sessions::MISSING_DESCENDANTS,
    sessions::INCLUSIVE_COST_USD,
];

/// The tokens of prompts of which it is known how many were read from a cache: the denominator of `cache_hit_rate`.
pub(in crate::analysis) const PROMPT_TOKENS: &str = "prompt_tokens";

/// Whether it is known that a session with edits was verified: the denominator of `verified_rate`.
const VERIFIABLE: &str = "verifiable_sessions";

/// The calls that ran tests in a session where it is known how many failed: without one, `failed_test_runs` is unknown.
const KNOWN_TEST_RUNS: &str = "known_test_runs";

/// Columns that the page adds up to measures of behaviour.
pub(in crate::analysis) const OF_BEHAVIOUR: &[&str] = &[
    "known_calls",
    "explore_calls",
    "edit_calls",
    "verify_calls",
    "repeated_calls",
    VERIFIABLE,
    "verified_sessions",
    "test_runs",
    KNOWN_TEST_RUNS,
    "failed_test_runs",
    "model_time_ms",
    "tool_time_ms",
    "waiting_time_ms",
];

/// The canonical model in place of the logged one: the page has one entry per model.
fn canonical_model() -> Expr {
    col(turns::CANONICAL_MODEL).alias(turns::MODEL)
}

/// The cells of the rows in scope.
///
/// # Errors
/// When a filter names something that does not exist, or the tables cannot be read.
pub fn cells(tables: &Frames, scope: &Scope, cost: CostBasis, catalog: &Catalog) -> Result<Cells, Error> {
    let grouped = |rows: &dyn ReportRows, by: &[&str], measures: &[Expr]| -> Result<(LazyFrame, LeftOut), Error> {
        let mut grouping = Grouping::new(NAME, rows, tables, scope, cost)?;
        let mut keys = vec![col(turns::RUNTIME), col(turns::SESSION_ID), grouping.dimension("day")?];
        for name in by {
            keys.push(grouping.dimension(name)?);
        }
        let order: Vec<&str> =
            [turns::RUNTIME, turns::SESSION_ID, turns::DAY].into_iter().chain(by.iter().copied()).collect();
        let sorted = SortMultipleOptions::default().with_nulls_last(true);
        Ok((grouping.rows.group_by(keys).agg(measures).sort(order, sorted), grouping.left_out))
    };
    let (turns, left_out) = grouped(&Table(turns::TABLE), &["model"], &of_turns())?;
    let (skills, _) = grouped(&Table(turns::TABLE), &["skill"], &of_skills())?;
    let skills = skills.filter(col(turns::SKILL).neq(lit(NONE)));
    let (tools, _) = grouped(&Table(tool_calls::TABLE), &["tool"], &of_tools())?;
    let (troubles, _) = grouped(&Errors, &["kind", "code"], &[number_of_rows()])?;
    let listed = Grouping::new(NAME, &Sessions, tables, scope, cost)?.rows;
    let trials = judged_trials(&listed, tables, cost)?;
    let omits_measured = listed.clone().select([col(turns::SESSION_ID)]).collect()?.height() > MAX_MEASURED;
    let none = omits_measured.then(|| tables.clone().map(|_, rows| rows.limit(0)));
    let (waste, behaviour) = of_sessions(none.as_ref().unwrap_or(tables), scope, cost, catalog)?;
    let sessions = all_sessions(tables, listed, cost);
    let plans = [turns, skills, tools, troubles, waste, behaviour, sessions]
        .into_iter()
        .map(|frame| frame.logical_plan)
        .collect();
    let frames = LazyFrame::collect_all_with_engine(plans, Engine::Streaming, OptFlags::default())?;
    let mut frames = frames.into_iter();
    let mut next = || frames.next().unwrap_or_default();
    let (turns, skills, tools, troubles) = (next(), next(), next(), next());
    let (waste, behaviour, sessions) = (next(), next(), next());
    let shipped = shipped(tables, scope, cost)?;
    let now = scope.zoned()?;
    let zone = now.time_zone().clone();
    Ok(Cells {
        turns,
        tools,
        skills,
        troubles,
        omits_measured,
        waste,
        behaviour,
        shipped,
        sessions,
        trials,
        zone,
        left_out,
    })
}

fn number_of_rows() -> Expr {
    len().cast(DataType::Int64).alias("rows")
}

fn known_sum(column: &str) -> Expr {
    rows::known_sum(column).alias(column)
}

/// The columns of [`Cells::turns`] that are computed.
fn of_turns() -> [Expr; 9] {
    let prompts = when(col(turns::CACHE_READ_TOKENS).count().gt(lit(0))).then(prompt_tokens().sum());
    [
        known_sum(turns::COST_USD),
        known_sum(turns::TOTAL_TOKENS),
        known_sum(turns::INPUT_TOKENS),
        known_sum(turns::OUTPUT_TOKENS),
        known_sum(turns::CACHE_READ_TOKENS),
        known_sum(turns::CACHE_WRITE_TOKENS),
        prompts.otherwise(lit(NULL)).alias(PROMPT_TOKENS),
        sum_where(turns::TOTAL_TOKENS, col(IS_UNPRICED)).cast(DataType::Int64).alias(sessions::UNPRICED_TOKENS),
        responses().alias(sessions::TURNS),
    ]
}

/// Those of [`Cells::skills`].
fn of_skills() -> [Expr; 4] {
    [
        billionths(rows::known_sum(turns::COST_USD)).alias("cost"),
        known_sum(turns::TOTAL_TOKENS),
        count_of(turns::GRAIN, "turn").alias(sessions::TURNS),
        known_sum(turns::TOOL_CALLS),
    ]
}

/// Those of [`Cells::tools`].
fn of_tools() -> [Expr; 7] {
    let with_status = |status: &str| count_of(tool_calls::STATUS, status).alias(status);
    [
        number_of_rows(),
        failed_calls().alias("error"),
        with_status("denied"),
        with_status("incomplete"),
        col(turns::DURATION_MS).count().cast(DataType::Int64).alias(format!("{}_known", turns::DURATION_MS)),
        known_sum(turns::DURATION_MS),
        known_sum(tool_calls::RESULT_BYTES),
    ]
}

/// All sessions. `listed` are those that `report sessions` counts.
fn all_sessions(tables: &Frames, listed: LazyFrame, cost: CostBasis) -> LazyFrame {
    let key = || [col(turns::RUNTIME), col(turns::SESSION_ID)];
    let listed = listed.select([
        col(turns::RUNTIME),
        col(turns::SESSION_ID),
        col(turns::COST_USD).alias("listed_cost_usd"),
        col(turns::TOTAL_TOKENS).alias("listed_tokens"),
        lit(true).alias("is_listed"),
    ]);
    let columns = OF_SESSION.iter().map(|name| match *name {
        sessions::MODEL => canonical_model(),
        // The archive has them for this choice of costs only.
        sessions::INCLUSIVE_COST_USD if cost != CostBasis::Auto => lit(NULL).cast(DataType::Float64).alias(*name),
        name => col(name),
    });
    let sessions = tables.table(sessions::TABLE).select(columns.collect::<Vec<_>>());
    let order = SortMultipleOptions::default().with_nulls_last(true);
    sessions
        .join(listed, key(), key(), JoinType::Left.into())
        .sort([sessions::STARTED_AT, sessions::RUNTIME, turns::SESSION_ID], order)
}

/// Dollars as whole billionths of a dollar, of which sums are exact.
fn billionths(dollars: Expr) -> Expr {
    (dollars * lit(1e9)).round(0, RoundMode::HalfAwayFromZero).cast(DataType::Int64)
}

/// The waste and the behaviour of the sessions in scope, at the local day of their start.
fn of_sessions(
    tables: &Frames,
    scope: &Scope,
    cost: CostBasis,
    catalog: &Catalog,
) -> Result<(LazyFrame, LazyFrame), Error> {
    let mut grouping = Grouping::new(NAME, &Waste, tables, scope, cost)?;
    let day = grouping.dimension("day")?.alias("local_day");
    let sessions = grouping.rows.with_column(day);
    let key = || [col(turns::RUNTIME), col(turns::SESSION_ID), col("local_day").alias(turns::DAY)];
    let [waste, _] = rows_of_waste(sessions.clone(), tables, &[CAUSE], &[], cost, catalog)?;
    let nano = billionths(col("waste_usd").sum());
    let waste = waste.filter(col("waste_usd").gt(lit(0.0)));
    let waste = waste.group_by([&key()[..], &[col(CAUSE)]].concat()).agg([nano.alias("waste"), col("cases").sum()]);
    let sorted = SortMultipleOptions::default().with_nulls_last(true);
    let waste = waste.sort([turns::RUNTIME, turns::SESSION_ID, turns::DAY, CAUSE], sorted);
    let measures = OF_BEHAVIOUR.iter().map(|name| col(*name));
    let columns: Vec<Expr> = key().into_iter().chain(measures).collect();
    let is_known = when(col("verified_sessions").is_not_null()).then(lit(1i64)).otherwise(lit(NULL));
    let known_runs = when(col("failed_test_runs").is_not_null()).then(col("test_runs")).otherwise(lit(NULL));
    let known = [is_known.alias(VERIFIABLE), known_runs.alias(KNOWN_TEST_RUNS)];
    let behaviour = add_measures(sessions, tables)?.with_columns(known);
    Ok((waste, behaviour.select(columns)))
}

/// What the sessions in scope shipped, at the local day of their start; `None` if no repository was scanned.
fn shipped(tables: &Frames, scope: &Scope, cost: CostBasis) -> Result<Option<DataFrame>, Error> {
    if !has_history(tables)? {
        return Ok(None);
    }
    let mut grouping = Grouping::new(NAME, &Shipped, tables, scope, cost)?;
    let day = grouping.dimension("day")?.alias("local_day");
    let rows = rows_of_shares(grouping.rows.with_column(day), tables, Within::default())?;
    let merged = when(col(shipped::IS_MERGED)).then(col(shipped::PULL_REQUEST_KEY)).otherwise(lit(NULL));
    let keys = [
        col(turns::RUNTIME),
        col(turns::SESSION_ID),
        col("local_day").alias(turns::DAY),
        col(shipped::OUTCOME),
        merged.alias(MERGED_PULL_REQUEST),
    ];
    let order = [turns::RUNTIME, turns::SESSION_ID, turns::DAY, shipped::OUTCOME, MERGED_PULL_REQUEST];
    let parts = rows.group_by(keys).agg([billionths(rows::known_sum(shipped::SHARED_COST_USD)).alias("cost")]);
    Ok(Some(parts.sort(order, SortMultipleOptions::default().with_nulls_last(true)).collect()?))
}

/// The columns of timelines, by table.
const OF_TIMELINES: [(&str, &[&str]); 3] = [
    (
        turns::TABLE,
        &[
            turns::MODEL,
            turns::TURN,
            turns::CONTEXT_TOKENS,
            turns::OUTPUT_TOKENS,
            turns::TOTAL_TOKENS,
            turns::DURATION_MS,
            turns::IS_SUBAGENT,
            turns::AGENT,
            turns::COST_USD,
        ],
    ),
    (
        tool_calls::TABLE,
        &[
            tool_calls::TOOL,
            tool_calls::STATUS,
            tool_calls::TURN,
            tool_calls::DURATION_MS,
            tool_calls::RESULT_BYTES,
            tool_calls::IS_SUBAGENT,
            tool_calls::TARGET,
        ],
    ),
    (
        events::TABLE,
        &[
            events::KIND,
            events::CODE,
            events::TURN,
            events::TOKENS_BEFORE,
            events::TOKENS_AFTER,
            events::IS_SUBAGENT,
            events::MESSAGE,
        ],
    ),
];

/// The turns, calls and events of these sessions, each in the order of time.
///
/// # Errors
/// When the tables cannot be read.
pub fn timelines(tables: &Frames, sessions: &DataFrame, cost: CostBasis) -> Result<[DataFrame; 3], Error> {
    let key = || [col(turns::RUNTIME), col(turns::SESSION_ID)];
    // Decided while the files are read, unlike the join, so that the other columns of most rows are skipped.
    let ids = sessions.column(turns::SESSION_ID)?.as_materialized_series().clone();
    let is_of_these = col(turns::SESSION_ID).is_in(lit(ids).implode(true), false);
    let order = SortMultipleOptions::default().with_nulls_last(true).with_maintain_order(true);
    let plans = OF_TIMELINES.into_iter().map(|(name, columns)| {
        let mut rows = tables.table(name).filter(is_of_these.clone());
        if name == turns::TABLE {
            rows = rows.with_columns(cost.columns()).with_column(canonical_model());
        }
        let columns = [turns::RUNTIME, turns::SESSION_ID, turns::OCCURRED_AT, turns::LINE]
            .iter()
            .chain(columns)
            .map(|name| col(*name));
        let rows = rows.select(columns.collect::<Vec<_>>());
        let rows = rows.join(sessions.clone().lazy(), key(), key(), JoinType::Semi.into());
        rows.sort([turns::RUNTIME, turns::SESSION_ID, turns::OCCURRED_AT, turns::TURN, turns::LINE], order.clone())
            .logical_plan
    });
    let frames = LazyFrame::collect_all_with_engine(plans.collect(), Engine::Streaming, OptFlags::default())?;
    let mut frames = frames.into_iter();
    let mut next = || frames.next().unwrap_or_default();
    Ok([next(), next(), next()])
}
