//! `report limits`: the windows of subscription limits, as rows.

use polars::prelude::*;

use super::answer::Answer;
use super::listing::listed;
use super::options::Options;
use super::spec::List;
use crate::analysis::limits::{Rates, Window, windows_of};
use crate::analysis::present::{Currency, Roles};
use crate::analysis::rows::measure::{Measure, max};
use crate::analysis::rows::{Frames, round};
use crate::analysis::selection::{Error, LeftOut, Undated};
use crate::base::time::Time;
use crate::store::frames::{limits, sessions, time_type, turns};

/// Columns that tables omit unless `--wide` is given, or they are sorted by.
const WIDE: &[&str] = &[
    limits::LIMIT_ID,
    limits::PLAN,
    "starts_at",
    "is_logged",
    limits::REACHED,
    "turns",
    "tokens_per_minute",
    "cost_usd_per_minute",
    "projected_tokens",
    "projected_cost_usd",
    "projected_used_percent",
];

/// The same of active windows.
const WIDE_OF_ACTIVE: &[&str] = &[
    limits::LIMIT_ID,
    limits::PLAN,
    "starts_at",
    "active",
    "is_logged",
    limits::REACHED,
    "turns",
    turns::TOTAL_TOKENS,
    "tokens_per_minute",
    "cost_usd_per_minute",
    "projected_tokens",
    "projected_used_percent",
];

/// What budgets bound: the largest value of the windows.
const BOUNDED: &[Measure] = &[
    max(limits::USED_PERCENT, "The used part of the limit in percent", limits::USED_PERCENT),
    max("projected_used_percent", "The used part at the end of the window", "projected_used_percent"),
];

/// The report.
#[derive(Debug)]
pub(super) struct Limits;

impl List for Limits {
    fn tables(&self) -> Vec<&'static str> {
        vec![sessions::TABLE, turns::TABLE, limits::TABLE]
    }

    fn roles(&self) -> Roles<'static> {
        Roles { names: Some(3), ..Roles::default() }
    }

    fn run(&self, tables: &Frames, options: &Options) -> Result<Answer, Error> {
        run(tables, options)
    }

    fn bounded(&self) -> &'static [Measure] {
        BOUNDED
    }

    fn totals(&self, tables: &Frames, options: &Options) -> Result<Answer, Error> {
        largest(tables, options)
    }

    fn has_cost(&self) -> bool {
        true
    }

    fn takes_undated(&self) -> bool {
        false
    }

    fn stated(&self, left_out: &LeftOut, currency: Currency) -> Option<String> {
        Some(format!("{}: no window contains them", left_out.stated("row", "time", currency)?))
    }

    fn needs(&self, options: &Options) -> Option<String> {
        options.active.then(|| "none of these windows is current; --active leaves out those that ended".to_owned())
    }

    fn has_active(&self) -> bool {
        true
    }
}

/// The largest values of the windows that have begun and not ended, or of those that the bounds of time touch.
fn largest(tables: &Frames, options: &Options) -> Result<Answer, Error> {
    let scope = &options.scope;
    let now = scope.now.into();
    let (mut windows, left_out) = windows_in_time(tables, options)?;
    if scope.since.is_none() && scope.until.is_none() {
        // The length of a window may be wrong, so that its start is later than its states.
        let has_begun = |window: &Window| window.active || window.last_activity.is_some_and(|last| last <= now);
        windows.retain(|window| window.ends_at.is_some_and(|end| end > now) && has_begun(window));
    }
    let rows = frame(&windows, now)?;
    let values = BOUNDED.iter().filter_map(Measure::of_rows).collect::<Vec<_>>();
    let total = Some(round(rows.clone().lazy().select(values)).collect()?);
    Ok(Answer { rows, dimensions: 0, total, more: 0, left_out, judged: None })
}

/// The windows that the bounds of time touch, the latest first.
fn run(tables: &Frames, options: &Options) -> Result<Answer, Error> {
    let (mut windows, left_out) = windows_in_time(tables, options)?;
    windows.retain(|window| window.active || !options.active);
    let wide = if options.active { WIDE_OF_ACTIVE } else { WIDE };
    let (rows, more) = listed(round(frame(&windows, options.scope.now.into())?.lazy()), wide, options)?;
    Ok(Answer { rows, dimensions: 0, total: None, more, left_out, judged: None })
}

fn windows_in_time(tables: &Frames, options: &Options) -> Result<(Vec<Window>, LeftOut), Error> {
    let scope = &options.scope;
    if !options.by.is_empty() {
        return Err(Error::GroupedLimits);
    }
    if scope.undated.is_some_and(|undated| undated != Undated::Exclude) {
        return Err(Error::UndatedLimits);
    }
    let (since, until) = scope.edges()?;
    let (mut windows, left_out) = windows_of(tables, scope, options.cost)?;
    windows.retain(|window| {
        since.is_none_or(|since| window.ends_at.is_some_and(|end| end > since))
            && until.is_none_or(|until| window.starts_at.is_some_and(|start| start < until))
    });
    Ok((windows, left_out))
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
    let time = |name: &str, of: fn(&Window) -> Option<Time>| {
        let micros: Vec<Option<i64>> = windows.iter().map(|window| of(window).map(Time::micros)).collect();
        Column::new(name.into(), micros).cast(&time_type())
    };
    let float = |name: &str, of: fn(&Window) -> Option<f64>| {
        Column::new(name.into(), windows.iter().map(of).collect::<Vec<Option<f64>>>())
    };
    let rate = |name: &str, of: fn(&Rates) -> Option<f64>| {
        Column::new(name.into(), rates.iter().map(of).collect::<Vec<Option<f64>>>())
    };
    let projected: Vec<Option<i64>> = rates.iter().map(|rates| rates.projected_tokens).collect();
    let columns = vec![
        text(turns::RUNTIME, |window| Some(&window.runtime)),
        text(limits::LIMIT_ID, |window| window.limit_id.as_deref()),
        text(limits::WINDOW_NAME, |window| Some(&window.window_name)),
        text(limits::PLAN, |window| window.plan.as_deref()),
        time("starts_at", |window| window.starts_at)?,
        time("ends_at", |window| window.ends_at)?,
        flag("active", |window| window.active),
        flag("is_logged", |window| window.is_logged),
        float(limits::USED_PERCENT, |window| window.used_percent),
        text(limits::REACHED, |window| window.reached.as_deref()),
        number(sessions::TURNS, |window| window.spent.turns),
        number(turns::TOTAL_TOKENS, |window| window.spent.tokens),
        float(turns::COST_USD, |window| window.spent.cost_usd),
        rate("tokens_per_minute", |rates| rates.tokens_per_minute),
        rate("cost_usd_per_minute", |rates| rates.cost_usd_per_minute),
        Column::new("projected_tokens".into(), projected),
        rate("projected_cost_usd", |rates| rates.projected_cost_usd),
        rate("projected_used_percent", |rates| rates.projected_used_percent),
    ];
    DataFrame::new(windows.len(), columns)
}
