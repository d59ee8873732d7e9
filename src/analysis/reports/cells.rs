//! The rows of reports in the grain of the dashboard: fine enough that its page can filter them by itself.
//!
//! They are made as the reports make theirs, of the same rows with the same cost, so that the sums are the same.

use polars::prelude::*;

use super::{Cost, Error, Frames, Grouping, LeftOut, Rows, Scope, count_of, table};

/// What the page adds up.
#[derive(Debug)]
pub struct Cells {
    /// The ledger, by session, local day and model.
    pub turns: DataFrame,
    /// Calls, by session, local day and tool.
    pub tools: DataFrame,
    /// What went wrong, by session, local day, kind and code.
    pub troubles: DataFrame,
    /// All sessions, in the order of their start. `is_listed` are those that the report of sessions counts, with
    /// `listed_cost_usd`.
    pub sessions: DataFrame,
    /// The time zone of the days.
    pub zone: jiff::tz::TimeZone,
    /// Undated rows of the ledger that are left out.
    pub left_out: LeftOut,
}

/// The name under which a dimension that the rows lack is complained about.
const NAME: &str = "dashboard";

/// Columns of `sessions` that the page shows.
const OF_SESSION: &[&str] = &[
    "runtime",
    "session_id",
    "model",
    "project",
    "status",
    "labels",
    "usage",
    "error_kind",
    "error_message",
    "started_at",
    "duration_ms",
    "turns",
    "tool_calls",
    "tool_errors",
    "compactions",
    "retries",
    "subagents",
];

/// The cells of what is in scope.
///
/// # Errors
/// When something is asked for that is not there.
pub fn cells(tables: &Frames, scope: &Scope, cost: Cost) -> Result<Cells, Error> {
    let grouped = |rows: Rows, by: &[&str], measures: &[Expr]| -> Result<(LazyFrame, LeftOut), Error> {
        let mut grouping = Grouping::new(NAME, &rows, tables.clone(), scope, cost)?;
        let mut keys = vec![col("runtime"), col("session_id"), grouping.dimension("day")?];
        for name in by {
            keys.push(grouping.dimension(name)?);
        }
        let order: Vec<&str> = ["runtime", "session_id", "day"].into_iter().chain(by.iter().copied()).collect();
        let sorted = SortMultipleOptions::default().with_nulls_last(true);
        Ok((grouping.rows.group_by(keys).agg(measures).sort(order, sorted), grouping.left_out))
    };
    let rows = || len().cast(DataType::Int64).alias("rows");
    let known_sum = |column: &str| super::known_sum(column).alias(column);
    let with_status = |status: &str| count_of("status", status).alias(status);
    let known = |column: &str| col(column).count().cast(DataType::Int64).alias(format!("{column}_known"));
    let unpriced = col("total_tokens").filter(col("is_unpriced")).sum().cast(DataType::Int64);
    let of_turns = [
        known_sum("cost_usd"),
        known_sum("total_tokens"),
        known_sum("input_tokens"),
        known_sum("output_tokens"),
        known_sum("cache_read_tokens"),
        known_sum("cache_write_tokens"),
        unpriced.alias("unpriced_tokens"),
        count_of("grain", "turn").alias("turns"),
    ];
    let of_tools = [
        rows(),
        with_status("error"),
        with_status("denied"),
        with_status("incomplete"),
        known("duration_ms"),
        known_sum("duration_ms"),
        known_sum("result_bytes"),
    ];
    let (turns, left_out) = grouped(Rows::Table("turns"), &["model"], &of_turns)?;
    let (tools, _) = grouped(Rows::Table("tool_calls"), &["tool"], &of_tools)?;
    let (troubles, _) = grouped(Rows::Errors, &["kind", "code"], &[rows()])?;
    let key = || [col("runtime"), col("session_id")];
    let listed = Grouping::new(NAME, &Rows::Sessions, tables.clone(), scope, cost)?.rows;
    let listed = listed.select([
        col("runtime"),
        col("session_id"),
        col("cost_usd").alias("listed_cost_usd"),
        col("total_tokens").alias("listed_tokens"),
        lit(true).alias("is_listed"),
    ]);
    let sessions = table(tables, "sessions").select(OF_SESSION.iter().map(|it| col(*it)).collect::<Vec<_>>());
    let sessions = sessions.join(listed, key(), key(), JoinType::Left.into());
    let order = SortMultipleOptions::default().with_nulls_last(true);
    let sessions = sessions.sort(["started_at", "runtime", "session_id"], order);
    let plans = [turns, tools, troubles, sessions].into_iter().map(|it| it.logical_plan).collect();
    let frames = LazyFrame::collect_all_with_engine(plans, Engine::InMemory, OptFlags::default())?;
    let mut frames = frames.into_iter();
    let mut next = || frames.next().unwrap_or_default();
    let (turns, tools, troubles, sessions) = (next(), next(), next(), next());
    let now = scope.now()?;
    Ok(Cells { turns, tools, troubles, sessions, zone: now.time_zone().clone(), left_out })
}

/// The turns, calls and events of these sessions, each in order.
///
/// # Errors
/// When the tables cannot be read.
pub fn timelines(tables: &Frames, sessions: &DataFrame, cost: Cost) -> Result<[DataFrame; 3], Error> {
    let key = || [col("runtime"), col("session_id")];
    let of = |name: &str| table(tables, name).join(sessions.clone().lazy(), key(), key(), JoinType::Semi.into());
    let order = SortMultipleOptions::default().with_nulls_last(true).with_maintain_order(true);
    let sorted = |rows: LazyFrame| rows.sort(["runtime", "session_id", "occurred_at", "turn", "line"], order.clone());
    let turns = sorted(of("turns").with_columns(cost.columns()));
    Ok([turns.collect()?, sorted(of("tool_calls")).collect()?, sorted(of("events")).collect()?])
}
