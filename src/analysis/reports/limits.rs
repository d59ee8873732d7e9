//! `report limits`: the windows of subscription limits, as rows.

use polars::prelude::*;

use super::answer::Answer;
use super::error::{self, Error};
use super::options::Options;
use super::scope::Undated;
use super::tables::Frames;
use crate::analysis::limits::{Rates, Window, windows_of};
use crate::base::time::Time;

/// Columns that tables omit unless `--wide` is given, or they are sorted by.
const WIDE: &[&str] = &[
    "limit_id",
    "plan",
    "starts_at",
    "is_logged",
    "reached",
    "turns",
    "tokens_per_minute",
    "cost_usd_per_minute",
    "projected_tokens",
    "projected_cost_usd",
    "projected_used_percent",
];

/// The same of active windows.
const WIDE_OF_ACTIVE: &[&str] = &[
    "limit_id",
    "plan",
    "starts_at",
    "active",
    "is_logged",
    "reached",
    "turns",
    "total_tokens",
    "tokens_per_minute",
    "cost_usd_per_minute",
    "projected_tokens",
    "projected_used_percent",
];

/// The windows that the bounds of time touch, the latest first.
pub(super) fn run(tables: &Frames, options: &Options) -> Result<Answer, Error> {
    let scope = &options.scope;
    if !options.by.is_empty() {
        return Err(Error::GroupedLimits);
    }
    if scope.undated.is_some_and(|undated| undated != Undated::Exclude) {
        return Err(Error::UndatedLimits);
    }
    let zoned = scope.now()?;
    let now = Time::from_micros(scope.now.as_microsecond());
    let edge = |bound: Option<super::Bound>, is_end| -> Result<Option<Time>, Error> {
        let edge = bound.map(|bound| bound.edge(&zoned, is_end)).transpose()?;
        Ok(edge.map(|edge| Time::from_micros(edge.as_microsecond())))
    };
    let (since, until) = (edge(scope.since, false)?, edge(scope.until, true)?);
    let (mut windows, left_out) = windows_of(tables, scope, now, options.cost)?;
    windows.retain(|window| {
        let is_in_time = since.is_none_or(|since| window.ends_at.is_some_and(|end| end > since))
            && until.is_none_or(|until| window.starts_at.is_some_and(|start| start < until));
        is_in_time && (window.active || !options.active)
    });
    let mut rows = frame(&windows, now)?.lazy();
    let schema = rows.collect_schema()?;
    if let Some(column) = &options.sort {
        if !schema.contains(column) {
            let list = error::names(schema.iter_names().map(PlSmallStr::as_str));
            return Err(Error::Sort { column: column.clone(), list });
        }
        let descending = SortMultipleOptions::default().with_order_descending(true).with_nulls_last(true);
        rows = rows.sort([column.as_str()], descending.with_maintain_order(true));
    }
    if let Some(limit) = options.limit {
        rows = rows.limit(limit);
    }
    if !options.wide {
        let wide = if options.active { WIDE_OF_ACTIVE } else { WIDE };
        let is_shown =
            |name: &&PlSmallStr| !wide.contains(&name.as_str()) || options.sort.as_deref() == Some(name.as_str());
        rows = rows.select(schema.iter_names().filter(is_shown).map(|name| col(name.clone())).collect::<Vec<_>>());
    }
    Ok(Answer { rows: rows.collect()?, dimensions: 0, total: None, left_out })
}

fn frame(windows: &[Window], now: Time) -> PolarsResult<DataFrame> {
    let rates: Vec<Rates> = windows.iter().map(|window| window.rates(now)).collect();
    let text = |name: &str, of: fn(&Window) -> Option<&str>| {
        Column::new(name.into(), windows.iter().map(of).collect::<Vec<Option<&str>>>())
    };
    let flag =
        |name: &str, of: fn(&Window) -> bool| Column::new(name.into(), windows.iter().map(of).collect::<Vec<bool>>());
    let number = |name: &str, of: fn(&Window) -> Option<i64>| {
        Column::new(name.into(), windows.iter().map(of).collect::<Vec<Option<i64>>>())
    };
    let utc = DataType::Datetime(TimeUnit::Microseconds, Some(TimeZone::UTC));
    let time = |name: &str, of: fn(&Window) -> Option<Time>| {
        let micros: Vec<Option<i64>> = windows.iter().map(|window| of(window).map(Time::micros)).collect();
        Column::new(name.into(), micros).cast(&utc)
    };
    let float = |name: &str, of: fn(&Window) -> Option<f64>| {
        Column::new(name.into(), windows.iter().map(|window| of(window).map(rounded)).collect::<Vec<Option<f64>>>())
    };
    let rate = |name: &str, of: fn(&Rates) -> Option<f64>| {
        Column::new(name.into(), rates.iter().map(|rates| of(rates).map(rounded)).collect::<Vec<Option<f64>>>())
    };
    let projected: Vec<Option<i64>> = rates.iter().map(|rates| rates.projected_tokens).collect();
    let columns = vec![
        text("runtime", |window| Some(&window.runtime)),
        text("limit_id", |window| window.limit_id.as_deref()),
        text("window_name", |window| Some(&window.window_name)),
        text("plan", |window| window.plan.as_deref()),
        time("starts_at", |window| window.starts_at)?,
        time("ends_at", |window| window.ends_at)?,
        flag("active", |window| window.active),
        flag("is_logged", |window| window.is_logged),
        float("used_percent", |window| window.used_percent),
        text("reached", |window| window.reached.as_deref()),
        number("turns", |window| window.spent.turns),
        number("total_tokens", |window| window.spent.tokens),
        float("cost_usd", |window| window.spent.cost_usd),
        rate("tokens_per_minute", |rates| rates.tokens_per_minute),
        rate("cost_usd_per_minute", |rates| rates.cost_usd_per_minute),
        Column::new("projected_tokens".into(), projected),
        rate("projected_cost_usd", |rates| rates.projected_cost_usd),
        rate("projected_used_percent", |rates| rates.projected_used_percent),
    ];
    DataFrame::new(windows.len(), columns)
}

/// Ten digits: the last digits of a sum depend on the order of its rows.
fn rounded(value: f64) -> f64 {
    (value * 1e10).round() / 1e10
}
