//! The use of each skill, plugin or MCP server in each session.

use polars::prelude::*;

use super::unit::Unit;
use crate::analysis::outcomes::frame::{TRIAL, TRIAL_PASSED, add_outcomes};
use crate::analysis::rows::{Context, Extended, Frames, KEY, ReportRows, Sessions, known_sum};
use crate::store::frames::{sessions, tool_calls, turns, verdicts};

/// Numbers that are added up: see docs/reports.md#skills.
pub(super) const USED_TURNS: &str = "used_turns";
pub(super) const USED_TOKENS: &str = "used_tokens";
pub(super) const USED_CALLS: &str = "used_calls";
pub(super) const FAILED_CALLS: &str = "failed_calls";
pub(super) const CALLS_WITH_RESULT: &str = "calls_with_result";
pub(super) const LOADS: &str = "loads";
pub(super) const LOAD_BYTES: &str = "load_bytes";
pub(super) const OFFERS: &str = "offers";
const COUNTS: [&str; 8] =
    [USED_TURNS, USED_TOKENS, USED_CALLS, FAILED_CALLS, CALLS_WITH_RESULT, LOADS, LOAD_BYTES, OFFERS];
/// The cost of the responses for which it was in effect.
pub(super) const USED_COST_USD: &str = "used_cost_usd";
/// The estimated tokens of its part of the list, and their estimated cost in all responses.
pub(super) const OFFERED_TOKENS: &str = "offered_tokens";
pub(super) const OFFERED_COST_USD: &str = "offered_cost_usd";
const AMOUNTS: [&str; 3] = [USED_COST_USD, OFFERED_TOKENS, OFFERED_COST_USD];
/// The bytes of a token of a list, which is English text.
const BYTES_PER_TOKEN: f64 = 4.0;
/// Over the trials of all sessions in scope: those that passed, and those that did not.
pub(super) const ALL_PASSED: &str = "all_passed";
pub(super) const ALL_FAILED: &str = "all_failed";

/// The sessions, each with the skills, plugins or servers that it loaded or used.
#[derive(Debug)]
pub(in crate::analysis) struct Skills;

impl ReportRows for Skills {
    fn tables(&self) -> Vec<&'static str> {
        vec![sessions::TABLE, turns::TABLE, tool_calls::TABLE, verdicts::TABLE]
    }

    fn has(&self, column: &str) -> bool {
        Sessions.has(column) || Unit::ALL.iter().any(|unit| unit.column() == column)
    }

    fn frame(&self, tables: &Frames) -> PolarsResult<LazyFrame> {
        // Their values are those of `extend`.
        let units = Unit::ALL.map(|unit| lit(NULL).cast(DataType::String).alias(unit.column()));
        Ok(Sessions.frame(tables)?.with_columns(units))
    }

    fn extend(&self, rows: LazyFrame, context: &Context<'_>) -> PolarsResult<Extended> {
        let units = Unit::of(context.by);
        let named = units.iter().map(|unit| col(unit.column()));
        let keys: Vec<Expr> = KEY.map(col).into_iter().chain(named).collect();
        let parts = [
            of_turns(context, &units),
            of_calls(context),
            of_loads(context.tables, &units),
            of_offers(context, Unit::Skill),
            of_offers(context, Unit::Server),
        ];
        let sums = COUNTS.into_iter().chain(AMOUNTS).map(|name| known_sum(name).alias(name));
        let used = concat(parts.map(|part| part.select(columns(&units))), UnionArgs::default())?;
        let used = used.group_by(keys).agg(sums.collect::<Vec<_>>());
        let on = || KEY.map(col);
        let rows = add_outcomes(rows, context.tables)?;
        let of_all = rows
            .clone()
            .select([trials_with(lit(true), true).alias(ALL_PASSED), trials_with(lit(true), false).alias(ALL_FAILED)]);
        let of_all = of_all.collect()?;
        let all =
            |name: &str| -> PolarsResult<Expr> { Ok(lit(of_all.column(name)?.i64()?.get(0).unwrap_or(0)).alias(name)) };
        let rows = rows.drop(cols(Unit::ALL.map(Unit::column)));
        let rows = rows.join(used, on(), on(), JoinType::Inner.into());
        let unknown = Unit::ALL.into_iter().filter(|unit| !units.contains(unit));
        let unknown = unknown.map(|unit| lit(NULL).cast(DataType::String).alias(unit.column()));
        let more: Vec<Expr> = unknown.chain([all(ALL_PASSED)?, all(ALL_FAILED)?]).collect();
        Ok(rows.with_columns(more).into())
    }
}

/// The trials that passed or did not, of which a session fulfils a condition. A trial has several sessions if one started others.
pub(super) fn trials_with(condition: Expr, passed: bool) -> Expr {
    let is_counted = condition.and(col(TRIAL_PASSED).eq(lit(passed)));
    col(TRIAL).filter(is_counted).n_unique().cast(DataType::Int64)
}

/// The columns of the parts, in one order.
fn columns(units: &[Unit]) -> Vec<Expr> {
    let named = units.iter().map(|unit| col(unit.column()));
    let counts = COUNTS.map(|name| col(name).cast(DataType::Int64));
    KEY.map(col).into_iter().chain(named).chain(counts).chain(AMOUNTS.map(col)).collect()
}

/// Rows with values of some of these columns; the others are NULL.
fn with_others(rows: LazyFrame, known: &[&str]) -> LazyFrame {
    let others = COUNTS.into_iter().filter(|name| !known.contains(name));
    let mut others: Vec<Expr> = others.map(|name| lit(NULL).cast(DataType::Int64).alias(name)).collect();
    let amounts = AMOUNTS.into_iter().filter(|name| !known.contains(name));
    others.extend(amounts.map(|name| lit(NULL).cast(DataType::Float64).alias(name)));
    rows.with_columns(others)
}

/// What sessions offer: skills, or servers. Lists of skills have a size, of which each skill is an equal part. The list is in the context
/// of each response, and costs what a token of that context costs on average.
fn of_offers(context: &Context<'_>, kind: Unit) -> LazyFrame {
    const NAMES: &str = "names";
    const PRICE: &str = "price";
    let (names, bytes) = if kind == Unit::Server {
        (sessions::MCP_SERVERS_OFFERED, lit(NULL))
    } else {
        (sessions::SKILLS_OFFERED, col(sessions::SKILLS_OFFERED_BYTES))
    };
    let on = || KEY.map(col);
    let part = bytes.cast(DataType::Float64) / col(names).list().len().cast(DataType::Float64) / lit(BYTES_PER_TOKEN);
    let offers = context.tables.table(sessions::TABLE).filter(col(names).list().len().gt(lit(0)));
    let columns = on().into_iter().chain([col(names).alias(NAMES), part.alias(OFFERED_TOKENS)]);
    let offers = offers.select(columns.collect::<Vec<_>>());
    let is_sized = col(turns::CONTEXT_TOKENS).gt(lit(0));
    let context_cost = col(turns::INPUT_COST_USD) + col(turns::CACHE_READ_COST_USD) + col(turns::CACHE_WRITE_COST_USD);
    let price = context_cost / col(turns::CONTEXT_TOKENS).cast(DataType::Float64);
    let responses = context.tables.table(turns::TABLE).filter(is_sized).with_column(price.alias(PRICE));
    let prices = responses.group_by(on()).agg([known_sum(PRICE).alias(PRICE)]);
    let names = Unit::ALL.map(|unit| unit.of_offer(kind, NAMES));
    let offers = offers
        .join(prices, on(), on(), JoinType::Left.into())
        .with_column((col(OFFERED_TOKENS) * col(PRICE)).alias(OFFERED_COST_USD))
        .explode(by_name([NAMES], true, false), ExplodeOptions { empty_as_null: false, keep_nulls: false })
        .with_columns(names.into_iter().chain([lit(1_i64).alias(OFFERS)]).collect::<Vec<_>>());
    with_others(offers, &[OFFERS, OFFERED_TOKENS, OFFERED_COST_USD])
}

/// The responses for which something was in effect.
fn of_turns(context: &Context<'_>, units: &[Unit]) -> LazyFrame {
    let rows = context.tables.table(turns::TABLE).with_columns(context.cost.columns());
    let named = units.iter().map(|unit| unit.of_turn());
    let values = [
        col(turns::GRAIN).eq(lit("turn")).cast(DataType::Int64).alias(USED_TURNS),
        col(turns::TOTAL_TOKENS).alias(USED_TOKENS),
        col(turns::COST_USD).alias(USED_COST_USD),
    ];
    let columns: Vec<Expr> = KEY.map(col).into_iter().chain(named).chain(values).collect();
    with_others(rows.select(columns), &[USED_TURNS, USED_TOKENS, USED_COST_USD])
}

/// The calls that were made while something was in effect; those of a server are its own.
fn of_calls(context: &Context<'_>) -> LazyFrame {
    let calls = context.tables.table(tool_calls::TABLE);
    let has_result = || col(tool_calls::STATUS).neq(lit("incomplete"));
    let calls = calls.select([
        col(turns::RUNTIME),
        col(turns::SESSION_ID),
        col(turns::TURN),
        Unit::server(),
        // Unknown where the log has no result.
        when(has_result())
            .then(col(tool_calls::STATUS).eq(lit("error")).cast(DataType::Int64))
            .otherwise(lit(NULL))
            .alias(FAILED_CALLS),
        has_result().cast(DataType::Int64).alias(CALLS_WITH_RESULT),
    ]);
    let of_turn = [Unit::Skill, Unit::Plugin].map(Unit::of_turn);
    let on = || [col(turns::RUNTIME), col(turns::SESSION_ID), col(turns::TURN)];
    let turns = context.tables.table(turns::TABLE).filter(col(turns::TURN).is_not_null());
    let turns = turns.select(on().into_iter().chain(of_turn).collect::<Vec<_>>());
    let rows = calls.join(turns, on(), on(), JoinType::Left.into());
    with_others(rows.with_column(lit(1_i64).alias(USED_CALLS)), &[USED_CALLS, FAILED_CALLS, CALLS_WITH_RESULT])
}

/// The calls that loaded something.
fn of_loads(tables: &Frames, units: &[Unit]) -> LazyFrame {
    let loads = tables.table(tool_calls::TABLE);
    let is_load = col(tool_calls::SKILL).is_not_null().and(col(tool_calls::STATUS).eq(lit("ok")));
    let named = units.iter().map(|unit| unit.of_load());
    let columns: Vec<Expr> =
        KEY.map(col).into_iter().chain(named).chain([col(tool_calls::RESULT_BYTES).alias(LOAD_BYTES)]).collect();
    let rows = loads.filter(is_load).select(columns);
    let rows = rows.with_column(lit(1_i64).alias(LOADS));
    with_others(rows, &[LOADS, LOAD_BYTES])
}
